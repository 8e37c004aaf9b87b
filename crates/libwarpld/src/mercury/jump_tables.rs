//! Jump tables in the machine-code half: words with code offsets, which are relocated in the
//! Mercury half and already filled in by the compiler in machine code.

use super::CapsuleFile;
use super::pairing::{PairCache, pair_at};
use super::replaced_copies::SelectedCodeCache;
use crate::collections::Set;
use crate::diag::Diagnostic;
use crate::ids::SectionId;
use crate::linked::Linked;
use cubin::bank;

/// Bank of jump tables.
pub const BANK: u8 = bank::OPTIMIZER;

/// Size of a word.
const WORD: usize = 4;

/// Writes the words of a bank that hold code offsets, in the order of its relocations, so that the
/// later of two for one word wins: the selected copy's offset if it jumps there too, otherwise 0.
/// The compiler's values are ignored, because after `-r` words of replaced copies may have
/// overwritten them (`relink-jump-tables`). Quirk: if two sections have one name, which renaming
/// clobbers (see `names`), all words are 0; with `-r` only if both belong to one function.
/// [`jump-tables-of-copies`, `relink-jump-tables`, `bank2-strays`, `bank2-kept`]
pub fn fill(file: &CapsuleFile<'_, '_>, id: SectionId, bytes: &mut [u8]) -> Result<(), Diagnostic> {
    let linked = file.linked;
    let Some(relocs) = linked.merged.section(id).rela() else { return Ok(()) };
    let relocs = linked.relocated.of(relocs);
    let clobbered = file.clobbered_names.contains(&linked.merged.section(id).name);
    let (mut pairs, mut copies) = (PairCache::default(), SelectedCodeCache::default());
    for (emitted, source) in relocs.emitted.iter().zip(relocs.emitted_from) {
        let Some((mercury, _)) = pair_at(linked, &mut pairs, *source)? else { continue };
        let (object, symbol) = (source.from.object, mercury.symbol.0);
        let Some(function) = copies.of_symbol(file, object, symbol) else { continue };
        let target = mercury.addend.unwrap_or(0) as u64;
        let word = match clobbered {
            true => None,
            false => function.jump_target(file, target).map(|at| at as u32),
        };
        let start = usize::try_from(emitted.offset).unwrap_or(usize::MAX);
        if let Some(place) = bytes.get_mut(start..start.saturating_add(WORD)) {
            place.copy_from_slice(&word.unwrap_or(0).to_le_bytes());
        }
    }
    Ok(())
}

/// Names that two jump table sections share, as offsets in the name table; with `-r` only those that two of one
/// function share, not those of functions with one name.
pub fn clobbered_names(linked: Linked<'_, '_>, machine: &[SectionId]) -> Set<u32> {
    let mut seen = Set::default();
    let banks = machine.iter().map(|&id| linked.merged.section(id));
    let banks = banks.filter(|section| section.bank() == Some(BANK));
    let repeated = banks.filter(|section| {
        let function = section.function.get().filter(|_| linked.cx.config.relocatable);
        !seen.insert((section.name, function))
    });
    repeated.map(|section| section.name).collect()
}
