//! Determines what a file is from its contents.

use crate::raw::CONTAINER_MAGIC;
use cubin::EM_CUDA;

/// The type of a file, determined from its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Content {
    /// An empty file.
    Empty,
    DeviceElf,
    /// An ELF file for a host.
    HostElf,
    HostCoff,
    /// An archive, regular or thin.
    Archive,
    Fatbin,
    Ptx,
    /// NVVM IR for link-time optimization.
    LtoIr,
    Bitcode,
    Unknown,
}

/// First bytes of a plain `.ltoir` file.
const LTO_IR_MAGIC: [u8; 4] = [0xED, 0x43, 0x4E, 0x7F];
/// LLVM bitcode, and the wrapper around it.
const BITCODE_MAGICS: [[u8; 4]; 2] = [*b"BC\xC0\xDE", [0xDE, 0xC0, 0x17, 0x0B]];
/// Number of bytes to search for `.version`.
const PTX_PROBE: usize = 64 << 10;
/// COFF machine numbers of the hosts that CUDA supports: AMD64 and ARM64.
const COFF_MACHINES: [[u8; 2]; 2] = [[0x64, 0x86], [0x64, 0xAA]];
/// Start of a COFF "bigobj".
const COFF_BIG: [u8; 6] = [0, 0, 0xFF, 0xFF, 2, 0];

impl Content {
    /// Classifies `data`.
    pub fn of(data: &[u8]) -> Self {
        if data.is_empty() {
            return Self::Empty;
        }
        if data.starts_with(b"\x7fELF") {
            let device = data.get(18..20) == Some(&EM_CUDA.to_le_bytes());
            return if device { Self::DeviceElf } else { Self::HostElf };
        }
        if data.starts_with(b"!<arch>\n") || data.starts_with(b"!<thin>\n") {
            return Self::Archive;
        }
        if data.starts_with(&CONTAINER_MAGIC.to_le_bytes()) {
            return Self::Fatbin;
        }
        if data.starts_with(&LTO_IR_MAGIC) {
            return Self::LtoIr;
        }
        if BITCODE_MAGICS.iter().any(|magic| data.starts_with(magic)) {
            return Self::Bitcode;
        }
        if data.starts_with(&COFF_BIG) || COFF_MACHINES.iter().any(|m| data.starts_with(m)) {
            return Self::HostCoff;
        }
        if is_ptx(data.get(..PTX_PROBE).unwrap_or(data)) { Self::Ptx } else { Self::Unknown }
    }
}

/// PTX begins with `.version`, after whitespace and comments.
fn is_ptx(mut text: &[u8]) -> bool {
    loop {
        text = text.trim_ascii_start();
        let comment_end = if text.starts_with(b"//") {
            text.iter().position(|&b| b == b'\n')
        } else if text.starts_with(b"/*") {
            text.windows(2).skip(2).position(|w| w == b"*/").map(|at| at + 4)
        } else {
            return text.starts_with(b".version");
        };
        let Some(rest) = comment_end.and_then(|end| text.get(end..)) else { return false };
        text = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_files_apart() {
        let mut elf = vec![0u8; 64];
        elf[..4].copy_from_slice(b"\x7fELF");
        elf[18] = 62;
        assert_eq!(Content::of(&elf), Content::HostElf);
        elf[18] = 190;
        assert_eq!(Content::of(&elf), Content::DeviceElf);
        for (bytes, expected) in [
            (&b""[..], Content::Empty),
            (b"!<arch>\n", Content::Archive),
            (b"!<thin>\n", Content::Archive),
            (b"!<arch>", Content::Unknown),
            (b"\x50\xED\x55\xBA", Content::Fatbin),
            (b"\n// c\n/* .x */ .version 9.0", Content::Ptx),
            (b"/* .version", Content::Unknown),
            (b"/*/ .version", Content::Unknown),
            (b"/**/.version", Content::Ptx),
            (b"// .version", Content::Unknown),
            (b".target sm_90", Content::Unknown),
            (b"\xED\x43\x4E\x7F", Content::LtoIr),
            (b"BC\xC0\xDE", Content::Bitcode),
        ] {
            assert_eq!(Content::of(bytes), expected, "{bytes:?}");
        }
    }
}
