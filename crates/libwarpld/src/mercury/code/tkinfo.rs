//! Which linker has been at a file, by its tool notes.

use cubin::Cubin;
use cubin::note::{NoteType, ToolInfo, notes};

/// A linker that left its note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlierLinker {
    /// NVIDIA's.
    Nvlink,
    /// NVIDIA's, called as a library.
    NvJit,
    /// This one.
    Warpld,
}

/// The linker of a file, if one has linked it.
pub fn earlier_linker(cubin: &Cubin<'_>) -> Option<EarlierLinker> {
    let section = cubin.section_by_name(b".note.nv.tkinfo")?;
    notes(section.data).map_while(Result::ok).filter(|n| n.kind == NoteType::TKINFO).find_map(
        |note| match ToolInfo::parse(note.desc).ok()?.tool {
            b"nvlink" => Some(EarlierLinker::Nvlink),
            b"nvJIT API" => Some(EarlierLinker::NvJit),
            b"warpld" => Some(EarlierLinker::Warpld),
            _ => None,
        },
    )
}
