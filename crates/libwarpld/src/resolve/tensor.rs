//! Tensor memory (`tcgen05.alloc`), which compilers of CUDA 12 and 13 manage in two incompatible
//! ways.

use super::{ObjectId, Pass, Role};
use crate::diag::Code;
use crate::diag::Diagnostic;
use crate::ids::SymbolRefId;
use crate::object::{MergeClass, Object};
use cubin::{Attr, Binding, SectionRef, SectionType, info};

/// How tensor memory is managed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accounts {
    /// As CUDA 12 does.
    Cuda12,
    /// As CUDA 13 does.
    Cuda13,
}

impl Accounts {
    /// By the objects in reserved shared memory. [eleven names]
    fn by_name(name: &[u8]) -> Option<Self> {
        match name.strip_prefix(b"__nv_reservedSMEM_")? {
            b"allocation_mask"
            | b"allocation_phase"
            | b"tmem_allocation_pipeline_mbarrier"
            | b"tmem_allocation_pipeline_mbarrier_parity" => Some(Self::Cuda12),
            b"tcgen05_partition" => Some(Self::Cuda13),
            _ => None,
        }
    }

    /// By the code that runs when a kernel starts. [0 to 10]
    fn by_fragment(fragment: u32) -> Option<Self> {
        match fragment {
            4 | 5 => Some(Self::Cuda12),
            6 | 7 => Some(Self::Cuda13),
            _ => None,
        }
    }
}

impl<'a> Pass<'a, '_> {
    /// An input that uses tensor memory must do so like those before it. Its symbols are checked
    /// before its attributes; those of discarded weak copies do not count (`tensor-memory-mix`).
    pub(super) fn tensor_memory(&mut self, id: ObjectId, object: &Object<'a>) {
        let mut data = object.of_class(|class| class == MergeClass::Data);
        let is_reserve =
            |section: &SectionRef<'_>| section.kind == SectionType::CUDA_RESERVED_SHARED;
        if object.halves.is_none() || !data.any(|(section, _)| is_reserve(&section)) {
            return;
        }
        let names = object.data.iter().map(|named| object.name_of(named));
        let mut found: Vec<Accounts> = names.filter_map(Accounts::by_name).collect();
        for (section, class) in object.of_class(|class| matches!(class, MergeClass::Info(_))) {
            let MergeClass::Info(function) = class else { continue };
            if self.is_discarded(SymbolRefId { object: id, symbol: function }, object) {
                continue;
            }
            let records = info::records(section.data).flatten();
            let records = records.filter(|record| record.attr() == Attr::AT_ENTRY_FRAGMENTS);
            found.extend(records.flat_map(|r| r.words()).filter_map(Accounts::by_fragment));
        }
        for accounts in found {
            if *self.known.accounts.get_or_insert(accounts) != accounts {
                self.known.errors.push(mismatch(object.name));
            }
        }
    }

    /// Whether a weak copy of a function is not the selected one.
    fn is_discarded(&self, at: SymbolRefId, object: &Object<'a>) -> bool {
        let binding = object.cubin.unnamed_symbol(at.symbol).map(|symbol| symbol.binding());
        let role = |id| self.known.out.role(id, at, true);
        let role = self.known.out.id(at.object, at.symbol).map(role);
        binding == Some(Binding::WEAK) && role == Some(Role::Discarded)
    }
}

fn mismatch(file: &str) -> Diagnostic {
    let message = format_args!(
        "Object '{file}' cannot be linked due to version mismatch. Objects using tcgen05 in 12.x \
         cannot be linked with 13.0 or later, they must be rebuilt with latest compiler"
    );
    Diagnostic::error(Code::TensorMemoryMismatch, message)
}
