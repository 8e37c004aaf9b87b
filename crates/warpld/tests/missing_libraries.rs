//! Libraries that a link goes without, inputs that have nothing, references of dead code: nvlink is
//! silent about them.

use std::fs;
use std::path::Path;
use std::process::Command;
use support::{Program, example, stderr};

const WARPLD: Program = support::warpld!();

fn archive(path: &Path, member: &str) {
    let member = fs::read(example(member)).unwrap();
    fs::write(path, support::archive(&[("x.o", member)])).unwrap();
}

#[test]
fn libraries_that_are_missing_or_hidden_are_named() {
    let folder = WARPLD.folder("libraries");
    let (a, b) = (example("saxpy.sm_90.cubin"), example("scale.sm_90.cubin"));
    archive(&folder.join("libscale.a"), "scale.sm_90.cubin");
    fs::write(folder.join("libscale.so"), "").unwrap();
    fs::write(folder.join("libhost.so"), "").unwrap();
    let libraries = ["-L.", "-lscale", "-lnothere", "-lhost"];
    let notes = [
        "-lscale: './libscale.a' was not linked because of './libscale.so'",
        "-lnothere: libnothere.a was not found",
    ];
    let args = ["-arch=sm_90", &a, "-o", "o"];
    let output = WARPLD.run(&folder, args.iter().chain(&libraries));
    assert_eq!(output.status.code(), Some(255));
    let text = stderr(&output);
    assert!(text.starts_with("warpld error   : Undefined reference to '_Z5scalef'"), "{text}");
    for note in notes {
        assert!(text.contains(&format!("    = {note}\n")), "{text}");
    }
    assert!(!text.contains("-lhost"), "{text}");
    // Nothing is missing: nothing is said, unless asked.
    let args = ["-arch=sm_90", &a, &b, "-o", "o"];
    let output = WARPLD.run(&folder, args.iter().chain(&libraries));
    assert!(output.status.success() && output.stderr.is_empty(), "{}", stderr(&output));
    let traced = WARPLD.run(&folder, args.iter().chain(&libraries).chain(&["--trace"]));
    for note in notes {
        assert!(stderr(&traced).contains(&format!("trace: {note}\n")), "{}", stderr(&traced));
    }
    fs::remove_file(folder.join("libscale.so")).unwrap();
    let args = ["-arch=sm_90", &a, "-o", "o"];
    assert!(WARPLD.run(&folder, args.iter().chain(&libraries)).status.success());
}

#[test]
#[cfg(unix)]
fn an_empty_output_is_worth_a_warning() {
    use object::write::Object;
    let folder = WARPLD.folder("empty");
    let (elf, x86) = (object::BinaryFormat::Elf, object::Architecture::X86_64);
    let host = Object::new(elf, x86, object::Endianness::Little);
    fs::write(folder.join("host.o"), host.write().unwrap()).unwrap();
    let nvlink = folder.join("nvlink");
    std::os::unix::fs::symlink(WARPLD.path(), &nvlink).unwrap();
    for more in [&[][..], &["-Werror"]] {
        let args: Vec<&str> =
            ["-arch=sm_90", "host.o", "-o", "o"].into_iter().chain(more.iter().copied()).collect();
        let output = WARPLD.run(&folder, &args);
        assert!(output.status.success(), "{}", stderr(&output));
        let text = "warpld warning : No input has device code to link [empty-output]\n";
        assert!(stderr(&output).starts_with(text), "{}", stderr(&output));
        let output = Command::new(&nvlink).args(&args).current_dir(&folder).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{}", stderr(&output));
    }
    fs::copy(example("saxpy.cu"), folder.join("saxpy.cu")).unwrap();
    let text = stderr(&WARPLD.run(&folder, ["-arch=sm_90", "saxpy.cu", "-o", "o"]));
    assert!(text.contains("\n    = 'saxpy.cu' is source code; nvcc -dc compiles it\n"), "{text}");
}

/// From `tests/differential/cases/undefined-globals-of-dead-code.case`: nvlink wants the variable
/// defined although only a function that nobody calls uses it.
#[test]
fn dead_code_is_named_where_no_other_refers_to_a_variable() {
    let folder = WARPLD.folder("dead");
    let input = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/inputs/dead-global.sm_90.cubin");
    let output = WARPLD.run(&folder, ["-arch=sm_90", input, "-o", "o"]);
    assert_eq!(output.status.code(), Some(255));
    let text = stderr(&output);
    let note = format!("    = referred to by dead ({input}), which is not in the output\n");
    assert!(text.contains("Undefined reference to 'nowhere'") && text.contains(&note), "{text}");
}

/// make runs a link again when a file changes that only the dependency file names.
#[test]
fn make_reads_the_dependency_file() {
    let folder = WARPLD.folder("dependencies");
    fs::copy(example("saxpy.sm_90.cubin"), folder.join("a b.cubin")).unwrap();
    archive(&folder.join("libscale.a"), "scale.sm_90.cubin");
    fs::write(folder.join("words"), "-lscale").unwrap();
    let args = ["-arch=sm_90", "a b.cubin", "@words", "-L.", "-o", "o", "--dependency-file=o.d"];
    let output = WARPLD.run(&folder, args);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = fs::read_to_string(folder.join("o.d")).unwrap();
    assert_eq!(
        text,
        "o: \\\n  a\\ b.cubin \\\n  ./libscale.a \\\n  words\na\\ b.cubin:\n./libscale.a:\nwords:\n"
    );
    // What ninja deletes after the link is no dependency.
    fs::write(folder.join("o.rsp"), "-lscale").unwrap();
    let with_rsp = args.map(|arg| if arg == "@words" { "@o.rsp" } else { arg });
    assert!(WARPLD.run(&folder, with_rsp).status.success());
    let without = fs::read_to_string(folder.join("o.d")).unwrap();
    assert_eq!(without, "o: \\\n  a\\ b.cubin \\\n  ./libscale.a\na\\ b.cubin:\n./libscale.a:\n");
    // A failed link leaves none.
    fs::remove_file(folder.join("o.d")).unwrap();
    let failed = ["-arch=sm_90", "a b.cubin", "-o", "o", "--dependency-file=o.d"];
    assert!(!WARPLD.run(&folder, failed).status.success());
    assert!(!folder.join("o.d").exists());
    WARPLD.run(&folder, args);
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    for name in ["a b.cubin", "libscale.a", "words"] {
        fs::File::options()
            .append(true)
            .open(folder.join(name))
            .unwrap()
            .set_modified(old)
            .unwrap();
    }
    fs::write(folder.join("Makefile"), "o:\n\t@echo linked\n-include o.d\n").unwrap();
    let Ok(made) = Command::new("make").current_dir(&folder).output() else { return };
    assert!(String::from_utf8_lossy(&made.stdout).contains("up to date"), "{made:?}");
    let now = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    for name in ["a b.cubin", "libscale.a", "words"] {
        let file = fs::File::options().append(true).open(folder.join(name)).unwrap();
        file.set_modified(now).unwrap();
        let made = Command::new("make").current_dir(&folder).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&made.stdout), "linked\n", "{name}");
        file.set_modified(old).unwrap();
    }
    // A library that is gone is a reason to link, not to give up.
    fs::remove_file(folder.join("libscale.a")).unwrap();
    let made = Command::new("make").current_dir(&folder).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&made.stdout), "linked\n", "{made:?}");
}
