//! What a person sees who does not know the command: usage, help, completions, man pages, hints.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};
use support::{Program, example, stderr};

const WARPLD: Program = support::warpld!();

const COMMANDS: [&str; 10] = [
    "compare",
    "completions",
    "diff",
    "dump",
    "extract",
    "help",
    "man",
    "shim",
    "toolkit",
    "version",
];

fn run(args: &[&str]) -> Output {
    WARPLD.run(Path::new("."), args)
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn without_arguments_there_is_a_short_usage() {
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(text.starts_with("Usage: warpld [options] -arch=TARGET"), "{text}");
    assert!(text.lines().count() < 24 && text.lines().all(|line| line.len() <= 80), "{text}");
    for command in COMMANDS {
        assert!(text.contains(&format!("\n  {command}")), "{command}: {text}");
    }
}

/// nvlink has neither: under its name these words are inputs, and no words are nvlink's error.
#[test]
#[cfg(unix)]
fn under_the_name_nvlink_nothing_of_it_exists() {
    let folder = WARPLD.folder("nvlink");
    let nvlink = folder.join("nvlink");
    std::os::unix::fs::symlink(WARPLD.path(), &nvlink).unwrap();
    for args in [&[][..], &["help"], &["version"], &["man"], &["completions", "bash"]] {
        let output = Command::new(&nvlink).args(args).output().unwrap();
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(text.starts_with("nvlink fatal   : Unknown arch name '(null)'\n"), "{text}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn every_command_explains_itself() {
    let all = stdout(&run(&["help"]));
    assert!(all.contains("--print-resources"), "{all}");
    assert_eq!(all, stdout(&run(&["--help"])));
    for command in COMMANDS {
        let output = run(&["help", command]);
        assert!(output.status.success() && output.stderr.is_empty(), "{command}");
        let text = stdout(&output);
        assert!(text.contains(&format!("Usage: warpld {command}")), "{text}");
        assert_eq!(text, stdout(&run(&[command, "--help"])), "{command}");
    }
    let output = run(&["help", "dmup"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stderr(&output), "warpld fatal   : no command 'dmup'; did you mean 'dump'?\n");
    assert_eq!(stdout(&run(&["version"])), stdout(&run(&["--version"])));
}

#[test]
fn wrong_arguments_have_one_form_of_message() {
    for (args, first, status) in [
        (&["dump"][..], "the following required arguments were not provided: <FILE>...", 2),
        (&["dump", "--jsn", "x"], "unexpected argument '--jsn' found", 2),
        (&["diff", "a"], "the following required arguments were not provided: <B>", 2),
        (&["shim"], "the following required arguments were not provided: <CUDA_DIR> <DEST>", 2),
        (&["shim", "/", "x"], "'/' is no CUDA toolkit: it has no bin/nvcc", 1),
        (&["completions", "tcsh"], "invalid value 'tcsh' for '<SHELL>'", 2),
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(status), "{args:?}");
        let text = stderr(&output);
        assert!(text.starts_with(&format!("warpld fatal   : {first}")), "{text}");
        let notes = text.lines().skip(1).all(|line| line.starts_with("    = "));
        assert!(notes, "{text}");
    }
    let text = stderr(&run(&["dump", "nothere.cubin"]));
    assert!(text.starts_with("warpld error   : nothere.cubin: "), "{text}");
}

/// A bash that has read the completions completes words of commands, options and values.
#[test]
fn bash_completes() {
    let folder = WARPLD.folder("bash");
    let script = run(&["completions", "bash"]).stdout;
    fs::write(folder.join("completions"), script).unwrap();
    fs::write(folder.join("some file.cubin"), "").unwrap();
    let complete = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let line = format!(
            "source ./completions; COMP_WORDS=({}); COMP_CWORD={}; _warpld; printf '%s\\n' \
             \"${{COMPREPLY[@]}}\"",
            words.join(" "),
            words.len() - 1
        );
        let output =
            Command::new("bash").args(["-euc", &line]).current_dir(&folder).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    assert_eq!(complete(&["warpld", "du"]), "dump\n");
    assert_eq!(complete(&["warpld", "dump", "--js"]), "--json\n");
    assert_eq!(complete(&["warpld", "-arch", "=", "sm_10"]).lines().count(), 9);
    assert_eq!(complete(&["warpld", "a.o", "--error-fo"]), "--error-format\n");
    assert_eq!(complete(&["warpld", "a.o", "--error-format", "j"]), "json\n");
    assert_eq!(complete(&["warpld", "completions", "z"]), "zsh\n");
    assert!(complete(&["warpld", "help", "e"]).contains("extract"));
    assert!(complete(&["warpld", "dump", "--only", "sym"]).contains("symbols"));
    assert_eq!(complete(&["warpld", "-o", "some"]), "some file.cubin\n");
}

#[test]
fn every_shell_knows_every_option() {
    let help = stdout(&run(&["help"]));
    let options: Vec<&str> = help
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("--")?.split([',', '=']).next())
        .filter(|word| word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'))
        .collect();
    assert!(options.len() > 60);
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&run(&["completions", shell]));
        for option in &options {
            assert!(script.contains(option), "{shell}: {option}");
        }
        for command in COMMANDS {
            assert!(script.contains(command), "{shell}: {command}");
        }
        // The shell can read its script, where it is installed.
        let path = WARPLD.folder(&format!("completions-{shell}")).join("script");
        fs::write(&path, script).unwrap();
        if let Ok(output) = Command::new(shell).arg("-n").arg(&path).output() {
            assert!(output.status.success() && output.stderr.is_empty(), "{}", stderr(&output));
        } else {
            // Not by eprintln!, which is not shown of a test that passes; .ci/run collects such lines.
            let line = format!("not run: completions for {shell} ({shell} cannot be started)");
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }
    // A shell's answer, by the way in which it asks itself.
    let script = WARPLD.folder("completions-fish").join("script");
    fs::write(&script, stdout(&run(&["completions", "fish"]))).unwrap();
    let ask = format!("source '{}'; complete -C 'warpld du'", script.display());
    if let Ok(output) = Command::new("fish").args(["--no-config", "-c", &ask]).output() {
        assert!(stdout(&output).starts_with("dump\t"), "{output:?}");
    }
}

/// The pages are in one file, or in one each; groff has nothing to say about them.
#[test]
fn man_pages_are_printed_or_installed() {
    let folder = WARPLD.folder("man");
    let all = stdout(&run(&["man"]));
    assert!(WARPLD.run(&folder, ["man", "share/man1"]).status.success());
    let pages: Vec<_> = fs::read_dir(folder.join("share/man1")).unwrap().collect();
    assert_eq!(pages.len(), COMMANDS.len() + 1);
    for page in pages {
        let path = page.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        assert!(all.contains(&text), "{}", path.display());
        // For apropos: one line, in small letters.
        let name = text.split(".SH NAME\n").nth(1).unwrap().lines().next().unwrap();
        let (_, what) = name.split_once(" \\- ").unwrap();
        let short = what.len() < 60 && !what.ends_with('.');
        assert!(
            short && (what.starts_with("CUDA") || what.starts_with(char::is_lowercase)),
            "{name}"
        );
        let Ok(groff) = Command::new("groff").args(["-man", "-ww", "-Tutf8"]).arg(&path).output()
        else {
            continue;
        };
        assert!(groff.stderr.is_empty(), "{}", stderr(&groff));
        assert!(groff.status.success() && !groff.stdout.is_empty());
    }
    assert!(all.contains(".SH ENVIRONMENT") && all.contains("LIBRARY_PATH"), "{all}");
    for command in COMMANDS {
        assert!(
            all.contains(&format!("\n.BR warpld\\-{command} (1)")),
            "no reference to {command}"
        );
    }
    // A folder that cannot be made is a message.
    fs::write(folder.join("file"), "").unwrap();
    let output = WARPLD.run(&folder, ["man", "file"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).starts_with("warpld fatal   : 'file': "));
}

#[test]
fn habits_of_other_programs_are_answered() {
    let (a, b) = (example("saxpy.sm_90.cubin"), example("scale.sm_90.cubin"));
    for (word, note) in [
        ("-arch=90", "did you mean 'sm_90'?"),
        ("-arch=SM_90", "did you mean 'sm_90'?"),
        ("-arch=native", "only nvcc resolves it; name one target, for example -arch=sm_90"),
        ("-arch=sm_70", "CUDA 13 dropped sm_70; the oldest target is sm_75"),
        ("-c", "this is a linker; nvcc -c or nvcc -dc compiles"),
        ("-O3", "machine code is linked as it is; give -O3 to the compiler"),
        ("--output", "did you mean '--output-file'?"),
        ("--gc-sections", "code that no kernel reaches is dropped anyway"),
        ("-j8", "--threads=N sets the number of threads"),
        ("-s", "debug information is there if the objects have it"),
        ("-optf=nowhere", "No such file or directory"),
    ] {
        let output = run(&[word, &a, &b]);
        assert_eq!(output.status.code(), Some(1));
        let text = stderr(&output);
        assert!(text.contains(&format!("\n    = {note}")), "{word}: {text}");
    }
    // One word that is no file was meant as a command.
    for (word, note) in [
        ("dmup", "did you mean 'warpld dump'?"),
        ("objdump", "'objdump' is neither a file nor a command; 'warpld help' lists commands"),
    ] {
        let text = stderr(&run(&[word]));
        assert!(text.ends_with(&format!("\n    = {note}\n")), "{word}: {text}");
    }
    assert!(!stderr(&run(&["a.cubin"])).contains("command"));
    let text = stderr(&run(&["-arch=sm_90", "-o", "", &a, &b]));
    assert!(text.starts_with("warpld fatal   : Could not open output file ''"), "{text}");
    assert!(text.contains("\n    = the name after -o is empty\n"), "{text}");
}

#[test]
fn growth_between_two_links_is_shown() {
    let folder = WARPLD.folder("compare");
    let (a, b) = (example("saxpy.sm_90.cubin"), example("scale.sm_90.cubin"));
    for (inputs, output) in [(&[&b][..], "old"), (&[&a, &b], "new")] {
        let args =
            inputs.iter().map(|input| input.as_str()).chain(["-arch=sm_90", "-g", "-o", output]);
        assert!(WARPLD.run(&folder, args).status.success());
    }
    let compare = |args: &[&str]| {
        let output = WARPLD.run(&folder, ["compare"].iter().chain(args));
        (output.status.code(), stdout(&output))
    };
    let (status, text) = compare(&["old", "new"]);
    assert_eq!(status, Some(1));
    assert!(text.contains("        +768            -          768"), "{text}");
    assert!(text.contains("saxpy(int, float, float const*, float*)"), "{text}");
    assert_eq!(compare(&["old", "old"]).0, Some(0));
    let (_, json) = compare(&["new", "old", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["format"], 1);
    assert_eq!(json["kernels"][0]["name"], "_Z5saxpyifPKfPf");
    assert_eq!(json["kernels"][0]["growth"], -768);
    assert_eq!(json["functions"].as_array().map(Vec::len), Some(0));
    let (_, markdown) = compare(&["old", "new", "--markdown"]);
    assert!(
        markdown.contains("| kernels | old | new | growth | registers |\n|---|--:|"),
        "{markdown}"
    );
    // Sections have no registers.
    assert!(text.contains("         new  sections\n"), "{text}");
    assert!(
        markdown.contains("| sections | old | new | growth |\n|---|--:|--:|--:|\n"),
        "{markdown}"
    );
    assert_eq!(compare(&["old", "/dev/null"]).0, Some(2));
}
