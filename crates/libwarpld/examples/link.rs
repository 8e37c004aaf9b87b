//! Links files in memory, prints what each kernel needs, and writes the cubin:
//!
//!     cargo run -p libwarpld --example link -- sm_90 out.cubin a.cubin libb.a c.o

use libwarpld::{Config, Diagnostic, Input, link};
use std::process::ExitCode;

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [arch, out, files @ ..] = args.as_slice() else {
        return Err("usage: link ARCH OUTPUT INPUT...".into());
    };
    let mut inputs = Vec::new();
    for file in files {
        inputs.push(Input::new(file.as_str(), std::fs::read(file)?));
    }
    let config = Config::builder(arch.parse()?).report(true).build();
    let output = match link(&inputs, &config) {
        Ok(output) => output,
        Err(error) => {
            error.diagnostics().iter().for_each(say);
            return Ok(ExitCode::FAILURE);
        }
    };
    output.warnings.iter().for_each(say);
    for kernel in output.report.iter().flat_map(|report| &report.kernels) {
        println!("{}: {} registers", kernel.name, kernel.registers);
    }
    std::fs::write(out, output.cubin)?;
    Ok(ExitCode::SUCCESS)
}

fn say(diagnostic: &Diagnostic) {
    eprintln!("{}: {}", diagnostic.code, diagnostic.message);
    for note in &diagnostic.notes {
        eprintln!("    {note}");
    }
}
