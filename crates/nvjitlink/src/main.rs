//! `warpld-nvjitlink FOLDER`: the command `warpld` starts it to have LTO-IR compiled by NVIDIA's
//! libnvJitLink. A static program cannot load a library, and one that crashes must not take the
//! link along.
#![forbid(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;

const USAGE: &str = "warpld-nvjitlink FOLDER\n\n\
    Carries out the request in a folder, by NVIDIA's libnvJitLink. The command warpld starts this\n\
    program for links with -dlto; it is of no use by itself.";

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let failure = match (args.next(), args.next()) {
        (Some(folder), None) if folder == "--version" => {
            // Nothing can be done if the console is gone.
            let _ = writeln!(std::io::stdout(), "warpld-nvjitlink {}", env!("CARGO_PKG_VERSION"));
            return ExitCode::SUCCESS;
        }
        (Some(folder), None) => warpld_nvjitlink::helper::carry_out(folder.as_ref()),
        _ => Err((2, USAGE.to_owned())),
    };
    match failure {
        Ok(()) => ExitCode::SUCCESS,
        Err((status, message)) => {
            let _ = writeln!(std::io::stderr(), "{message}");
            ExitCode::from(u8::try_from(status).unwrap_or(1))
        }
    }
}
