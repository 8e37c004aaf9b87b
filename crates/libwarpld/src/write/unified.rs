//! The lists of unified functions and variables, and their index.

use super::numbering::Numbering;
use crate::ids::SymbolId;
use crate::linked::Linked;
use crate::merge::Chunk;
use cubin::SectionType;
use cubin::unified::{self, Entry};
use zerocopy::IntoBytes;

/// Appends the records of all inputs, with the output's symbols and offsets.
pub fn entries(linked: Linked<'_, '_>, numbering: &Numbering, list: &[Chunk], out: &mut Vec<u8>) {
    for chunk in list {
        let object = &linked.cx.objects[chunk.from.object];
        let Some(section) = object.cubin.section(chunk.from.section) else { continue };
        for entry in unified::entries(section.data) {
            let symbol = entry.symbol.get();
            let id = linked.cx.resolution.id(chunk.from.object, symbol);
            let stub = linked.cx.unified.stubs.get(&(chunk.from.object, symbol));
            // In a relocatable file each stub has a separate section.
            let placed = match section.kind {
                SectionType::CUDA_UFT_ENTRY if linked.cx.config.relocatable => None,
                SectionType::CUDA_UFT_ENTRY => stub.map(|stub| stub.id),
                _ => id,
            };
            let entry = Entry {
                symbol: number(linked, numbering, id).into(),
                flags: (entry.flags.get() | flags(linked, placed)).into(),
                offset: placed.map_or(entry.offset.get(), |id| value(linked, id)).into(),
                ..*entry
            };
            out.extend_from_slice(entry.as_bytes());
        }
    }
}

fn flags(linked: Linked<'_, '_>, placed: Option<SymbolId>) -> u32 {
    let known = placed.is_none_or(|id| linked.cx.unified.offset_of.contains_key(&id));
    Entry::LINKED | if known || linked.cx.config.relocatable { 0 } else { Entry::ABSENT }
}

fn value(linked: Linked<'_, '_>, id: SymbolId) -> u64 {
    linked.layout.address(linked.cx, linked.merged, id).map_or(0, |address| address.value)
}

fn number(linked: Linked<'_, '_>, numbering: &Numbering, id: Option<SymbolId>) -> u32 {
    let symbol = id.and_then(|id| linked.merged.symbol_of[id].get());
    symbol.map_or(0, |symbol| numbering.index[symbol.index()])
}

/// The index file, followed by those of inputs that were linked with one.
pub fn index(linked: Linked<'_, '_>) -> Vec<u8> {
    let mut out = linked.cx.config.uidx.clone().unwrap_or_default();
    for object in linked.cx.objects {
        let sections = object.cubin.sections().iter();
        for section in sections.filter(|s| s.kind == SectionType::CUDA_UFT_INDEX) {
            out.extend_from_slice(section.data);
        }
    }
    out
}
