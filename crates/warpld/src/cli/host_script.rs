//! `--gen-host-linker-script`: makes the host linker keep device code together.

use super::{Console, output, print_out};
use crate::options::HostScript;
use libwarpld::Code;
use libwarpld::Diagnostic;
use std::process::{Command, Stdio};

/// What is added to a host link. The trailing blank is nvlink's.
const SECTIONS: &str = "SECTIONS\n{\n\
                        \t.nvFatBinSegment : { *(.nvFatBinSegment) }\n\
                        \t__nv_relfatbin : { *(__nv_relfatbin) } \n\
                        \t.nv_fatbin : { *(.nv_fatbin) }\n}\n";

/// Writes the script; returns the exit status.
pub fn write(request: &HostScript, console: &mut Console) -> i32 {
    let host =
        if request.absolute { default_script(&request.compiler) } else { Some(String::new()) };
    let Some(mut script) = host else {
        console.print(
            &Diagnostic::fatal(Code::HostLinkerScript, "Host linker script creation failed.")
                .note("'ld --verbose' does not print a script"),
        );
        return console.status();
    };
    script.push_str(SECTIONS);
    let Some(path) = &request.output else {
        return print_out(console, script.as_bytes());
    };
    if let Err(error) = output::write_atomically(path, script.as_bytes()) {
        console.print(&Diagnostic::fatal(error.code(), &error).note(error.reason()));
    }
    console.status()
}

/// The host linker's default script for the kind of link its compiler does by default: what `ld
/// --verbose` prints between two lines of `=`. If the compiler cannot be run, the linker keeps its
/// defaults.
fn default_script(compiler: &str) -> Option<String> {
    let steps =
        printed(Command::new(compiler).args(["-###", "/dev/null", "-m64"])).unwrap_or_default();
    let words: Vec<_> = steps.split_ascii_whitespace().map(|w| w.trim_matches('"')).collect();
    let mut ld = Command::new("ld");
    ld.arg("--verbose");
    if let Some(emulation) = words.iter().position(|w| *w == "-m").and_then(|at| words.get(at + 1))
    {
        ld.args(["-m", emulation]);
    }
    if words.contains(&"-pie") {
        ld.arg("-pie");
    }
    let text = printed(&mut ld)?;
    let mut parts = text.split("==================================================\n");
    let script = parts.nth(1)?;
    Some(format!("{}\n\n\n", script.trim_end_matches('\n')))
}

/// All output of a command, if it can be run.
fn printed(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    Some(text)
}
