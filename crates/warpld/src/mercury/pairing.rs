//! Which relocation of the machine-code side goes with which of the Mercury
//! side. Both lists of an input are in the same order and name symbols by the
//! same numbers; some Mercury relocations have no counterpart (jump tables, the
//! size of reserved shared memory).

use super::{Both, damaged};
use crate::diag::Diagnostic;
use crate::merge::InputSection;
use crate::relocate::kind;
use cubin::Reloc;

/// The relocations of one input section, side by side.
#[derive(Debug, Default)]
pub struct Pairs {
    /// Of the Mercury side, and the counterpart.
    pub list: Vec<(Reloc, Option<Reloc>)>,
}

/// Pairs the relocations of an input's relocation section.
pub fn pair(both: &Both<'_, '_>, from: InputSection) -> Result<Pairs, Diagnostic> {
    let index = from.object.0 as usize;
    let object = &both.parts.cx.objects[index];
    let bad = |what: &dyn std::fmt::Display| damaged(both.parts, index, &what.to_string());
    let (Some(halves), Some(section)) = (&object.halves, object.cubin.section(from.section)) else {
        return Ok(Pairs::default());
    };
    let mercury = object.cubin.relocs(section).map_err(|e| bad(&e))?;
    let machine = match halves.twin(from.section) {
        Some(twin) => halves.sass.relocs(twin).map_err(|e| bad(&e))?,
        None => Vec::new(),
    };
    let mut rest = machine.iter().peekable();
    let list = mercury.into_iter().map(|reloc| {
        let twin = rest.next_if(|other| goes_with(&reloc, other));
        (reloc, twin.copied())
    });
    let list: Vec<_> = list.collect();
    match rest.next() {
        Some(left) => Err(bad(&format_args!(
            "the relocations of its two halves differ (section {}, offset {:#x})",
            from.section, left.offset
        ))),
        None => Ok(Pairs { list }),
    }
}

fn goes_with(mercury: &Reloc, machine: &Reloc) -> bool {
    let clears = mercury.kind == kind::MERCURY_UNUSED_CLEAR64;
    mercury.symbol == machine.symbol && clears == (machine.kind == kind::UNUSED_CLEAR64)
}
