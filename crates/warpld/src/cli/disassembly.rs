//! The texts of instructions, by NVIDIA's disassembler where it is installed.

use crate::files::guard;
use cubin_tools::dump::Disassembly;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use warpld_compilers::compile::Folder;
use warpld_compilers::toolkit::{Hints, Search};

/// A disassembler.
pub(super) struct Disassembler {
    path: PathBuf,
}

impl Disassembler {
    /// The one that is named, else that of a toolkit.
    pub(super) fn find(named: Option<&Path>) -> Option<Self> {
        let found = || Search::new(Hints::default()).nvdisasm().map(|tool| tool.path().to_owned());
        named.map(Path::to_owned).or_else(found).map(|path| Self { path })
    }

    /// The texts of all instructions of an image.
    pub(super) fn texts(&self, image: &[u8]) -> Result<Disassembly, String> {
        let failed = |what: &dyn std::fmt::Display| format!("'{}': {what}", self.path.display());
        let folder = Folder::new(&guard::host()).map_err(|error| failed(&error))?;
        let file = folder.path().join("image.cubin");
        fs::write(&file, image).map_err(|error| failed(&error))?;
        let mut command = Command::new(&self.path);
        command.arg("-c").arg(&file).stdin(Stdio::null());
        let output = command.output().map_err(|error| failed(&error))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(failed(&format!("{}: {}", output.status, said.trim())));
        }
        Ok(parsed(&String::from_utf8_lossy(&output.stdout)))
    }
}

/// Reads lines such as `/*0010*/  MOV R1, R2 ;` below `.section .text.f,"ax",@progbits`.
fn parsed(text: &str) -> Disassembly {
    let mut all = Disassembly::new();
    let mut section = String::new();
    for line in text.lines().map(str::trim) {
        if let Some((".section", name)) = line.split_once(char::is_whitespace) {
            let name = name.trim().split(',').next().unwrap_or_default();
            section = name.trim_matches('"').to_owned();
        } else if let Some((offset, text)) = instruction(line) {
            all.entry(section.clone()).or_default().insert(offset, text.to_owned());
        }
    }
    all
}

fn instruction(line: &str) -> Option<(u64, &str)> {
    let (offset, text) = line.strip_prefix("/*")?.split_once("*/")?;
    let offset = u64::from_str_radix(offset, 16).ok()?;
    let text = text.split(';').next()?.trim();
    (!text.is_empty()).then_some((offset, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_and_sections() {
        let text = "\t.target\tsm_90\n//---- .text.f ----\n\t.section\t.text.f,\"ax\",@progbits\n\
                    \t.sectioninfo\t@\"SHI_REGISTERS=24\"\n.text.f:\n        /*0000*/                   S2R R0, SR_TID.X ;\n.L_x_0:\n        \
                    /*0080*/              @!P0 BRA `(.L_x_0);\n\t.section\t.text.g,\"ax\"\n        \
                    /*0000*/                   NOP;\n";
        let all = parsed(text);
        assert_eq!(all[".text.f"][&0], "S2R R0, SR_TID.X");
        assert_eq!(all[".text.f"][&0x80], "@!P0 BRA `(.L_x_0)");
        assert_eq!(all[".text.g"][&0], "NOP");
        assert_eq!((all.len(), all[".text.f"].len()), (2, 2));
    }
}
