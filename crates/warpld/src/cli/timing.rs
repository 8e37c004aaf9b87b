//! `--time`: a table of comma-separated values.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use warpld_compilers::compile::{Phase, Timed};

const HEADER: &str = "source file name , phase name , phase input files , phase output file , \
                      arch , tool, metric , unit\n";

/// Opens the table before the link, as nvlink does. A new file and standard
/// output get the header; one that exists does not, even if it is empty. Only
/// phases that run a compiler have rows, and a plain link has none.
pub fn begin(path: &Path) -> io::Result<()> {
    if path.as_os_str() == "-" {
        return io::stdout().lock().write_all(HEADER.as_bytes());
    }
    let is_new = !path.exists();
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    if is_new {
        file.write_all(HEADER.as_bytes())?;
    }
    Ok(())
}

/// Adds a row for each input that was compiled, as nvlink does it.
pub fn add(path: &Path, times: &[Timed]) -> io::Result<()> {
    let text: String = times.iter().map(row).collect();
    if text.is_empty() {
        return Ok(());
    }
    if path.as_os_str() == "-" {
        return io::stdout().lock().write_all(text.as_bytes());
    }
    OpenOptions::new().append(true).create(true).open(path)?.write_all(text.as_bytes())
}

fn row(Timed { phase, name, target, time }: &Timed) -> String {
    let (source, tool, input, output) = match phase {
        Phase::Optimize => ("lto.nvvm", "cicc", "", "lto.ptx"),
        Phase::Assemble => ("lto.ptx", "ptxas", "", "lto.cubin"),
        Phase::Ptx if name.ends_with(".ptx") => (&**name, "ptxas", &**name, ""),
        Phase::Ptx => ("ptx", "ptxas", &**name, "cubin"),
    };
    let milliseconds = time.as_secs_f64() * 1e3;
    format!("{source} , {tool} , {input} , {output} , {target} , nvlink , {milliseconds:.4} , ms\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn rows_are_nvlinks() {
        let target = "sm_90".parse().unwrap();
        let time = Duration::from_micros(55_020);
        let row = |phase, name: &str| row(&Timed { phase, name: name.into(), target, time });
        assert_eq!(
            row(Phase::Ptx, "b.ptx"),
            "b.ptx , ptxas , b.ptx ,  , sm_90 , nvlink , 55.0200 , ms\n"
        );
        assert_eq!(
            row(Phase::Ptx, "m.o"),
            "ptx , ptxas , m.o , cubin , sm_90 , nvlink , 55.0200 , ms\n"
        );
        assert_eq!(
            row(Phase::Optimize, "lto.ptx"),
            "lto.nvvm , cicc ,  , lto.ptx , sm_90 , nvlink , 55.0200 , ms\n"
        );
        assert_eq!(
            row(Phase::Assemble, "lto.ptx"),
            "lto.ptx , ptxas ,  , lto.cubin , sm_90 , nvlink , 55.0200 , ms\n"
        );
    }
}
