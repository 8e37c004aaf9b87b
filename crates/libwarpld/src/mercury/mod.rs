//! Links of capsule files (sm_100 and later): files with two halves.
//!
//! The link itself works on the Mercury half of the inputs, with the same phases as any other. This
//! phase then makes the machine-code half follow it, relocation by relocation and record by record,
//! and lays out the file that has both. Decisions are made once, in the Mercury half; the input's
//! machine code supplies the bytes.

mod attributes;
pub mod code;
mod code_edits;
mod compatibility;
mod data;
mod debug_blocks;
mod debug_tables;
mod eligibility;
mod error;
mod fastpath;
mod file;
mod frames;
mod functions;
mod handles;
mod jump_tables;
mod line_copies;
mod line_units;
mod lines;
mod names;
mod nobits_bytes;
mod pairing;
mod parameters;
mod preexit;
mod rebuilt_names;
mod registers;
mod replaced_copies;
mod reserved_shared;
mod round_trip;
mod section_plan;
mod sections;
mod stacks;
mod symbols;
mod system_calls;
mod trace;

pub use eligibility::{half_of, is_scheduled_anew, needs_compiler};
pub use error::{MercuryError, Mismatch};
pub use line_copies::translate_sequence;
pub use round_trip::{Linker, check_output, compare, linker, round_trip};
pub use trace::Trace;

use crate::collections::{Map, Set};
use crate::diag::Code;
use crate::diag::Diagnostic;
use crate::ids::{ObjectId, SectionId};
use crate::linked::Linked;
use crate::write::{Destination, check_proportion, most_bytes};
use code::Edited;
use data::MachinePlaces;
use debug_blocks::DebugTable;
use preexit::PreexitUse;
use replaced_copies::AttributeSections;
use reserved_shared::ReservedShared;
use section_plan::CapsulePlan;

/// A capsule file: everything that its parts are computed from.
pub(crate) struct CapsuleFile<'a, 'o> {
    linked: Linked<'a, 'o>,
    plan: CapsulePlan<'a>,
    places: MachinePlaces,
    debug_tables: Map<SectionId, DebugTable>,
    edited: Map<SectionId, Edited>,
    /// Where texture handles start in parameter banks.
    handles: u64,
    /// Where they start in the code of each input; empty without any.
    input_starts: Vec<u64>,
    clobbered_names: Set<u32>,
    /// The largest output that is in proportion to the inputs.
    most_bytes: u64,
    attributes: AttributeSections,
    reserved_shared: ReservedShared,
    preexit: PreexitUse,
}

impl CapsuleFile<'_, '_> {
    /// A buffer of `size` zeros, if that is in proportion to the inputs.
    fn zeros(&self, size: u64) -> Result<Vec<u8>, Diagnostic> {
        let too_large = || {
            let message = format_args!("A section of {size} bytes is too large");
            Diagnostic::fatal(Code::OutOfMemory, message)
        };
        if size > self.most_bytes {
            return Err(too_large());
        }
        let size = usize::try_from(size).map_err(|_| too_large())?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).map_err(|_| too_large())?;
        bytes.resize(size, 0);
        Ok(bytes)
    }
}

/// Writes both halves.
pub fn write(linked: Linked<'_, '_>, destination: &mut dyn Destination) -> Result<(), Diagnostic> {
    check_proportion(linked)?;
    let plan = section_plan::plan(linked)?;
    let places = data::machine_places(linked);
    let edited = code_edits::edited(linked, &plan);
    let debug_tables = debug_tables::rebuild(linked, &plan.numbering, &edited)?;
    let handles = handles::start(linked, &plan.machine)?;
    let clobbered_names = jump_tables::clobbered_names(linked, &plan.machine);
    let most_bytes = most_bytes(linked);
    let attributes = AttributeSections::new(linked.cx.objects.len());
    let file = CapsuleFile {
        linked,
        plan,
        places,
        debug_tables,
        edited,
        handles,
        input_starts: handles::input_starts(linked, handles),
        clobbered_names,
        most_bytes,
        attributes,
        reserved_shared: ReservedShared::place(linked),
        preexit: PreexitUse::find(linked),
    };
    file::write(&file, destination)
}

/// Reports an input that contradicts itself.
pub(crate) fn damaged(linked: Linked<'_, '_>, object: ObjectId, what: &str) -> Diagnostic {
    let name = linked.cx.objects.get(object).map_or("?", |o| o.name);
    Diagnostic::fatal(Code::DamagedInput, format_args!("Input file '{name}' is damaged: {what}"))
}
