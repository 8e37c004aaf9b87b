//! Jump tables on the machine-code side: words that name places of code, which
//! Mercury relocates and the compiler has filled in for machine code.

use super::Both;
use super::edited::{moves_of_symbol, target};
use crate::merge::InputSection;
use cubin::SectionType;

/// Bank of jump tables.
pub const BANK: u8 = 2;

/// Lets the words of an input's table follow the code that moved.
pub fn follow_code(both: &Both<'_, '_>, from: InputSection, table: &mut [u8]) {
    if both.edited.is_empty() {
        return;
    }
    let object = &both.parts.cx.objects[from.object.0 as usize];
    let sections = object.cubin.sections().iter();
    let relocs = sections.filter(|s| s.info == from.section && is_relocs(s.kind));
    for reloc in relocs.filter_map(|s| object.cubin.relocs(s).ok()).flatten() {
        let start = usize::try_from(reloc.offset).unwrap_or(usize::MAX);
        let word = start.checked_add(4).and_then(|end| table.get_mut(start..end));
        let moves = moves_of_symbol(both.parts, &both.edited, from.object, reloc.symbol.0);
        if let (Some(word), Some(moves)) = (word, moves) {
            target(word, moves);
        }
    }
}

fn is_relocs(kind: SectionType) -> bool {
    matches!(kind, SectionType::RELA | SectionType::CUDA_MERCURY_RELA)
}
