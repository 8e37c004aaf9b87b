//! Whether a device ELF may take part in a link for a target.

use super::compat::machine_code_fits;
use crate::diag::Diagnostic;
use cubin::compat::Compat;
use cubin::note::{CudaInfo, NoteType, notes};
use cubin::{Arch, Cubin, Header, ReadError, SectionRef, Variant};

/// Toolkit this linker speaks for: code of newer ones is refused.
const TOOLKIT: u32 = 130;
/// Oldest toolkit whose code is linked.
const OLDEST_TOOLKIT: u32 = 120;
/// Value of the cuinfo index in `e_flags` for an index that does not fit.
const INDEX_ELSEWHERE: u32 = 0xFF;
const CUINFO: &[u8] = b".note.nv.cuinfo";

/// Generation of the file format, told by `EI_OSABI` and `EI_ABIVERSION`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Abi {
    /// Up to CUDA 12: the architecture is in the low byte of `e_flags`.
    V7,
    /// CUDA 13: in the second byte.
    V8,
}

impl Abi {
    fn of(header: &Header) -> Option<Self> {
        match header.ident[7..9] {
            [0x33, 7] => Some(Self::V7),
            [0x41, 8] => Some(Self::V8),
            _ => None,
        }
    }
    fn sm(self, header: &Header) -> u16 {
        let byte = match self {
            Self::V7 => header.flags & 0xFF,
            Self::V8 => header.flags >> 8 & 0xFF,
        };
        byte as u16
    }
}

/// Checks `image` as nvlink does before it merges it.
pub fn check(name: &str, image: &[u8], target: Arch) -> Result<(), Diagnostic> {
    let file = |rest: String| format!("Input file '{name}' {rest}");
    let cubin = Cubin::parse(image).map_err(|error| unreadable(name, &error))?;
    let header = cubin.header();
    let Some(abi) = Abi::of(header) else {
        return Err(Diagnostic::fatal("abi-mismatch", file("abi does not match".into())));
    };
    let arch = arch_in(&cubin, abi);
    if arch.number == 0 {
        return Err(Diagnostic::fatal("unknown-arch", "Unknown arch name 'sm_0'")
            .note(format_args!("in '{name}'")));
    }
    if !machine_code_fits(arch, target) {
        let message = file(format!("arch does not match target '{target}'"));
        return Err(Diagnostic::fatal("arch-mismatch", message)
            .note(format_args!("it was compiled for {arch}")));
    }
    match toolkit(&cubin, abi) {
        Some(toolkit) if toolkit > TOOLKIT => {
            let message = file(format!("newer than toolkit ({toolkit} vs {TOOLKIT})"));
            Err(Diagnostic::fatal("newer-toolkit", message))
        }
        Some(toolkit) if toolkit >= OLDEST_TOOLKIT => Ok(()),
        _ => {
            let message = file("must be recompiled with toolkit >= Cuda 12.0".into());
            Err(Diagnostic::fatal("older-toolkit", message))
        }
    }
}

/// The architecture of a device ELF, if it can be read.
pub fn arch_of(image: &[u8]) -> Option<Arch> {
    let cubin = Cubin::parse(image).ok()?;
    Some(arch_in(&cubin, Abi::of(cubin.header())?))
}

fn arch_in(cubin: &Cubin<'_>, abi: Abi) -> Arch {
    Arch { number: abi.sm(cubin.header()), variant: variant(cubin) }
}

/// nvlink drops such files without a word; losing code that way is no
/// service, so warpld stops.
fn unreadable(name: &str, error: &ReadError) -> Diagnostic {
    let message = match error {
        ReadError::NotElf | ReadError::NotDevice { .. } => {
            format!("Input file '{name}' size does not match target '-m64'")
        }
        ReadError::Unsupported { field: "e_ident[EI_CLASS]", .. } => {
            format!("Input file '{name}' size does not match target '-m64'")
        }
        _ => format!("Input file '{name}' is damaged"),
    };
    Diagnostic::fatal("damaged-image", message).note(error)
}

/// The letter of the architecture, as far as the file tells it: code with
/// `f` and without a letter is the same.
fn variant(cubin: &Cubin<'_>) -> Variant {
    match cubin::compat::value(cubin, Compat::CUDA_ACCELERATOR_TARGET) {
        Ok(Some(value)) if value & 0xFF != 0 => Variant::Accelerated,
        _ => Variant::Plain,
    }
}

/// The toolkit that compiled the file. ABI 8 files point to the note by the
/// top byte of `e_flags`; where that points elsewhere nvlink finds no note.
fn toolkit(cubin: &Cubin<'_>, abi: Abi) -> Option<u32> {
    let index = cubin.header().flags >> 24;
    let section = match abi {
        Abi::V8 if index != INDEX_ELSEWHERE => cubin.section(index).filter(|s| s.name == CUINFO),
        _ => cubin.section_by_name(CUINFO),
    };
    toolkit_in(section?)
}

fn toolkit_in(section: &SectionRef<'_>) -> Option<u32> {
    let note = notes(section.data).filter_map(Result::ok).find(|n| n.kind == NoteType::CUINFO)?;
    Some(CudaInfo::parse(note.desc).ok()?.toolkit.get())
}
