//! The stable codes of messages: what each means and what to do. The guide's
//! list is made from this table.

use std::fmt::Write;

/// One kind of message.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    /// The name that messages carry.
    pub name: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// What to do, printed under the message; empty if that depends.
    pub advice: &'static str,
}

const fn code(name: &'static str, meaning: &'static str, advice: &'static str) -> Code {
    Code { name, meaning, advice }
}

/// All codes, by name.
pub const CODES: &[Code] = &[
    code("abi-mismatch", "A cubin has an ABI version that this linker does not know.", ""),
    code("after-system-library", "An object with missing functions follows libcudadevrt.a.", ""),
    code("already-linked", "An input is the result of a link, not relocatable.", ""),
    code("arch-mismatch", "A cubin is for a target that does not run on the one linked for.", ""),
    code(
        "arch-not-found",
        "An object has no code for the target; it contributes nothing to the link.",
        "add the target when you compile (-gencode), or pass --suppress-arch-warning",
    ),
    code("bad-option-value", "An option got a value it does not take.", ""),
    code("bad-relocation", "A relocation of an input makes no sense.", ""),
    code("bad-uidx", "The file given to --uidx-file is no index.", ""),
    code("beside-whole-program", "An object compiled with -ewp is linked with others.", ""),
    code("cannot-open-input", "An input does not exist, cannot be read or is too short.", ""),
    code("cannot-open-output", "The output, or a side file, cannot be created.", ""),
    code("code-over-ptx", "Machine code was taken although newer PTX is there too.", ""),
    code("common-too-large", "A common symbol is larger than the definition it meets.", ""),
    code("conflicting-options", "Two options exclude each other, or one needs another.", ""),
    code("damaged-archive", "An archive is cut off or malformed.", ""),
    code("damaged-fatbin", "A fatbin is cut off, malformed or does not decompress.", ""),
    code("damaged-image", "A cubin is cut off or malformed.", ""),
    code("damaged-input", "A cubin has tables that make no sense.", ""),
    code("damaged-member", "A member of an archive is malformed and was passed over.", ""),
    code("dead-alias", "An alias is unused while the function behind it is in use.", ""),
    code("finalizer-failed", "Mercury code cannot be turned into machine code.", ""),
    code("fnlzr-trace", "A line of --fnlzr-trace.", ""),
    code("host-linker-script", "The host linker did not give its script.", ""),
    code(
        "incompatible-library",
        "A library found by -l holds nothing for this host; the search went on.",
        "",
    ),
    code("input-changed", "An input was changed while it was being linked.", ""),
    code("input-kind", "An input is not what its name says.", ""),
    code("kernel-mismatch", "A function is a kernel in one file and not in another.", ""),
    code("limited-output", "An input lacks the attribute that lets the output run elsewhere.", ""),
    code("lto-only", "An input holds LTO-IR and no machine code for the target.", ""),
    code("lto-unsupported", "-dlto was given; machine code is linked in its place.", ""),
    code(
        "managed-mismatch",
        "A variable is __managed__ in one file and not in another.",
        "declare it the same way everywhere",
    ),
    code("merge-failed", "The link stopped because of the errors above.", ""),
    code(
        "mixed-cta-groups",
        "A kernel uses tensor memory for single CTAs and, itself or in what it calls, for pairs.",
        "use one `.cta_group` in all that a kernel calls",
    ),
    code("module-ids", "The module ids of a host object make no sense.", ""),
    code(
        "multiple-definition",
        "Two inputs define the same function or variable.",
        "if it stands in a header, make it inline or static; \
         if an input is named twice, name it once",
    ),
    code("needs-compiler", "The input must be compiled again for this target.", ""),
    code(
        "never-called",
        "The address of a function is taken, but no indirect call has its type.",
        "",
    ),
    code(
        "newer-toolkit",
        "An input was compiled by a newer CUDA toolkit than this linker stands in for.",
        "compile it with CUDA 13.0 or older, or link with the toolkit it was compiled with",
    ),
    code("no-arch", "No target was named.", ""),
    code("no-fatbin", "A host object promises device code and has none.", ""),
    code("no-inputs", "There is nothing to link.", ""),
    code("no-libnvvm", "Link-time optimisation was asked for and libnvvm is not there.", ""),
    code("no-output-name", "No output was named.", ""),
    code("no-threads", "The threads of a link cannot be started.", ""),
    code("no-uidx", "There are unified functions or variables and no index of them.", ""),
    code("not-64-bit", "A device image is not a 64-bit one.", ""),
    code("not-lto", "-dlto was given; an input has no LTO-IR, its machine code is linked.", ""),
    code("nothing-to-link", "No input of a link has relocatable device code for the target.", ""),
    code(
        "older-toolkit",
        "An input was compiled by a toolkit before CUDA 12.0.",
        "compile it again",
    ),
    code(
        "older-whole-program",
        "A whole program (`-ewp`) was compiled by a toolkit before CUDA 13.0.",
        "compile it again",
    ),
    code("option-argument", "An option lacks its value, or a flag has one.", ""),
    code("option-ignored", "An option has no effect beside another.", ""),
    code("options-file", "An options file cannot be read, or they name each other.", ""),
    code("out-of-memory", "The output does not fit in memory.", ""),
    code(
        "parameter-mismatch",
        "A function takes other parameters in one file than in another.",
        "declare it the same way everywhere",
    ),
    code("preserve-relocs", "--preserve-relocs is incomplete for this target, as in nvlink.", ""),
    code(
        "prototype-mismatch",
        "A function has other parameters in one file than in another.",
        "declare it the same way everywhere",
    ),
    code("ptx-only", "An input has PTX for the target and no machine code.", ""),
    code("pure-mercury", "An input has Mercury code that only NVIDIA's finalizer can use.", ""),
    code("redefined-option", "An option was given twice; the last value counts.", ""),
    code(
        "reserved-shared",
        "A function uses the shared memory that --disable-smem-reservation takes away.",
        "",
    ),
    code("resource-usage", "A line of -v.", ""),
    code(
        "size-mismatch",
        "A variable has another size in one file than in another.",
        "declare it the same way everywhere",
    ),
    code(
        "space-mismatch",
        "A variable is in another memory in one file than in another.",
        "declare it the same way everywhere",
    ),
    code(
        "tensor-memory-mismatch",
        "Two inputs share out tensor memory in different ways: compilers of CUDA 12 and 13 made them.",
        "compile the older one again",
    ),
    code(
        "too-many-images",
        "The link has more texture, sampler or surface references than a kernel has handles for.",
        "use texture and surface objects (`cudaTextureObject_t`)",
    ),
    code(
        "too-many-registers",
        "A callee needs more registers than the launch bounds of a kernel allow.",
        "",
    ),
    code("too-much-constant", "The constants of all inputs exceed 64 KiB.", ""),
    code("too-much-shared", "A kernel has more static shared memory than allowed.", ""),
    code("undefined-symbol", "Nothing defines a function or variable that code refers to.", ""),
    code(
        "unified-capsules",
        "Unified functions or variables of a Blackwell input, whose tables warpld does not link.",
        "link these inputs with nvlink",
    ),
    code("unknown-arch", "A cubin names no target.", ""),
    code("unknown-option", "No such option.", ""),
    code("unknown-stack", "Recursion: the stack of a kernel has no bound.", ""),
    code("verify-failed", "The output is malformed: a fault of the linker.", ""),
    code("virtual-target", "The target is none that can be linked for.", ""),
    code("write-failed", "A file could not be written to the end.", ""),
    code("wrong-mode-bits", "A cubin claims to be machine code and Mercury code at once.", ""),
];

/// The standing advice for messages with this code.
pub fn advice(name: &str) -> Option<&'static str> {
    let at = CODES.binary_search_by_key(&name, |code| code.name).ok()?;
    Some(CODES.get(at)?.advice).filter(|advice| !advice.is_empty())
}

/// What the guide says where a message itself says nothing, or more than that,
/// in its notes.
fn remedy(name: &str) -> &'static str {
    match name {
        "abi-mismatch" => "compile it again with CUDA 12 or 13",
        "after-system-library" => "name libcudadevrt.a after all objects",
        "already-linked" => "link the relocatable objects that it was made from",
        "arch-mismatch" => "link for the target it was compiled for, or compile it for this one",
        "bad-option-value" | "option-argument" | "unknown-option" => {
            "the notes may say what was meant; [options](options.md) lists all"
        }
        "bad-relocation" | "damaged-archive" | "damaged-fatbin" | "damaged-image"
        | "damaged-input" | "damaged-member" | "module-ids" | "no-fatbin" | "wrong-mode-bits" => {
            "build the file again; if it comes from a compiler as it is, report it"
        }
        "beside-whole-program" => "compile it with -rdc=true or -dc in place of -ewp",
        "cannot-open-input" | "cannot-open-output" | "options-file" | "write-failed" => {
            "the notes have the system's reason: name, rights, space"
        }
        "code-over-ptx" | "fnlzr-trace" | "not-lto" | "redefined-option" | "resource-usage" => {
            "nothing, it is a remark"
        }
        "common-too-large" => "declare it the same way everywhere",
        "dead-alias" => "call the function by that name too, or take the alias away",
        "input-changed" => "link after whatever writes it is done; the build may lack a dependency",
        "kernel-mismatch" => "declare it `__global__` everywhere or nowhere",
        "lto-only" | "needs-compiler" | "ptx-only" | "pure-mercury" => {
            "compile it to machine code for the target (`-gencode arch=compute_90,code=sm_90`)"
        }
        "merge-failed" => "see the errors before it",
        "no-arch" | "virtual-target" => "name a target, for example `-arch=sm_90`",
        "nothing-to-link" => "compile with -dc (or -rdc=true) for the target",
        "no-inputs" => "name the objects to link",
        "no-libnvvm" => "`-nvvmpath` names the nvvm folder of the CUDA toolkit",
        "no-output-name" => "name the output with `-o`",
        "out-of-memory" => "use a machine with more memory, or link fewer inputs",
        "too-many-registers" => {
            "raise the kernel's bound (`-maxrregcount`, `__launch_bounds__`) or lower the callee's"
        }
        "too-much-constant" => "move the largest ones to `__device__` memory",
        "too-much-shared" => "allocate it when the kernel is launched (`extern __shared__`)",
        "undefined-symbol" => "name the object or library that defines it, compiled with `-dc`",
        "unknown-stack" => "set `cudaLimitStackSize`, or pass `--suppress-stack-size-warning`",
        "verify-failed" => "report it with the inputs",
        _ => "see the notes",
    }
}

/// The guide's list of messages in Markdown.
pub fn guide_page() -> String {
    let mut out = String::from(
        "# Messages\n\nThis page comes from the table of codes; a test keeps it current.\n\n\
         Every message is one line in nvlink's words, followed by notes that begin with `=`. \
         Under its own name warpld ends the line with the code in brackets; \
         `--error-format=json` prints one object per message with the fields `tool`, `severity`, \
         `code`, `message`, `symbol`, `demangled`, `kernel`, `target` and `notes`.\n\n\
         `fatal` messages end the link at once with exit status 1, `error` messages at its end \
         with 255. `warning` and `info` messages leave it at 0.\n\n\
         | code | meaning | what to do |\n|---|---|---|\n",
    );
    for code in CODES {
        let advice = if code.advice.is_empty() { remedy(code.name) } else { code.advice };
        let _ = writeln!(out, "| `{}` | {} | {advice} |", code.name, code.meaning);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, out);
            } else if path.extension().is_some_and(|e| e == "rs") {
                out.push(path);
            }
        }
    }

    fn is_code(word: &str) -> bool {
        word.contains('-')
            && !word.starts_with('-')
            && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    }

    /// String literals that follow one of `before`.
    fn literals(text: &str, before: &[&str]) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for opener in before {
            for (at, _) in text.match_indices(opener) {
                let rest = text[at + opener.len()..].trim_start();
                if let Some(word) = rest.strip_prefix('"').and_then(|r| r.split('"').next())
                    && is_code(word)
                {
                    found.insert(word.to_owned());
                }
            }
        }
        found
    }

    #[test]
    fn codes_are_sorted_and_unique() {
        assert!(CODES.is_sorted_by(|a, b| a.name < b.name));
    }

    #[test]
    fn every_code_in_the_source_is_listed_and_the_other_way_round() {
        let mut files = Vec::new();
        for folder in ["src", "../warpld/src"] {
            sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut files);
        }
        let openers = [
            "Diagnostic::fatal(",
            "Diagnostic::error(",
            "Diagnostic::warning(",
            "Diagnostic::info(",
            " fatal(",
            "(fatal(",
            "mismatch(",
        ];
        let mut everything = String::new();
        let listed: BTreeSet<&str> = CODES.iter().map(|code| code.name).collect();
        for file in files.iter().filter(|f| !f.ends_with("codes.rs")) {
            let text = std::fs::read_to_string(file).unwrap();
            for name in literals(&text, &openers) {
                assert!(listed.contains(name.as_str()), "{name} in {}", file.display());
            }
            everything.push_str(&text);
        }
        for name in listed {
            assert!(everything.contains(&format!("\"{name}\"")), "{name} is never used");
        }
    }
}
