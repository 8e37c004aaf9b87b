//! Calls that only machine code has.
//!
//! For sm_107 ptxas turns textures and surfaces into calls of functions that the driver provides
//! (`__cuda_syscall_bw_do_2d_tex_level`). The Mercury code has the texture instruction. nvlink's finalizer
//! adds such a function to the symbols, relocations, attributes and call graph of the machine-code half, with frames
//! and registers of its own. This is not reproduced: without the relocation the code would call address 0,
//! so the link is refused, as one that nvlink can do (test `a_call_that_only_machine_code_has_is_refused`).

use super::MercuryError;
use super::eligibility::refusal;
use crate::diag::Diagnostic;
use crate::ids::{InputSection, ObjectId};
use crate::linked::Linked;
use cubin::{Reloc, SymbolType};

/// Fails if the machine code of a live function has such a call, and the Mercury code no relocation.
pub fn check(linked: Linked<'_, '_>, code: InputSection) -> Result<(), Diagnostic> {
    let object = &linked.cx.objects[code.object];
    let relocs = object.halves.as_ref().and_then(|halves| {
        let section = halves.machine_relocs(halves.counterpart(code.section)?.index.0)?;
        halves.sass.reloc_table(&section).ok()
    });
    let found =
        relocs.and_then(|relocs| relocs.iter().find_map(|reloc| call(linked, code.object, &reloc)));
    found.map_or(Ok(()), Err)
}

/// The refusal of a relocation without counterpart, if it is such a call.
pub fn call(linked: Linked<'_, '_>, object: ObjectId, reloc: &Reloc) -> Option<Diagnostic> {
    let object = &linked.cx.objects[object];
    let halves = object.halves.as_ref()?;
    // Symbols have the same indices in both halves; those of machine code alone come last.
    let is_of_machine = reloc.symbol.0 as usize >= halves.mercury.symbol_count();
    let symbol = halves.sass.symbol(reloc.symbol.0).filter(|_| is_of_machine)?;
    if !symbol.is_undefined() || symbol.kind() != SymbolType::FUNC {
        return None;
    }
    let name = String::from_utf8_lossy(symbol.name).into_owned();
    Some(refusal(object.name, linked.cx.dialect.arch(), &MercuryError::MachineOnlyCall(name)))
}
