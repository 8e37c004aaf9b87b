//! Parameter banks of the machine-code half.

use super::damaged;
use crate::diag::Diagnostic;
use crate::ids::SectionId;
use crate::linked::Linked;

/// Contents and alignment of a kernel's parameter bank: those of its input.
pub fn parameter_bank<'a>(
    linked: Linked<'a, '_>,
    text: SectionId,
) -> Result<(&'a [u8], u64), Diagnostic> {
    let chunks = linked.layout.chunks(linked.merged, text);
    let Some(chunk) = chunks.first() else { return Ok((&[], 4)) };
    let object = &linked.cx.objects[chunk.from.object];
    let halves = object.halves.as_ref();
    let text = halves.and_then(|h| h.counterpart(chunk.from.section)).map_or(0, |s| s.index.0);
    let bank = halves.and_then(|h| h.parameter_bank(text));
    let missing = || damaged(linked, chunk.from.object, "a kernel has no parameter bank");
    bank.map(|b| (b.data, b.align)).ok_or_else(missing)
}
