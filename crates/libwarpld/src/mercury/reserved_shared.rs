//! Objects that compilers put in the system's part of shared memory: since CUDA 13 the partition of
//! tensor memory, before that three or more objects (`tensor-memory`).

use super::CapsuleFile;
use crate::align::align_up;
use crate::collections::Map;
use crate::ids::{ObjectId, SymbolId};
use crate::linked::Linked;
use crate::relocate::Source;
use cubin::Reloc;
use cubin::consts::sto;
use std::cmp::Reverse;

/// Where they start in a kernel's shared memory.
pub const START: u64 = 0x40;

/// Offsets of the objects in it.
#[derive(Debug, Default)]
pub struct ReservedShared(Map<SymbolId, u64>);

impl ReservedShared {
    /// Assigns offsets. As in all shared memory, a symbol's value is its alignment until then, and
    /// the largest alignment comes first. A relocatable output assigns none.
    pub fn place(linked: Linked<'_, '_>) -> Self {
        let mut out = Self::default();
        if linked.cx.config.relocatable {
            return out;
        }
        let mut objects = Vec::new();
        for (i, input) in linked.cx.objects.iter().enumerate() {
            let named = input.data.iter().filter(|n| n.other & sto::SPACE == sto::RESERVED_SHARED);
            let symbols = named.filter_map(|named| input.cubin.symbol(named.symbol));
            for symbol in symbols.filter(|symbol| !symbol.is_undefined()) {
                let id = linked.cx.resolution.id(ObjectId::new(i), symbol.index.0);
                if let Some(id) = id.filter(|&id| out.0.insert(id, 0).is_none()) {
                    objects.push((id, symbol.value, symbol.size));
                }
            }
        }
        objects.sort_by_key(|&(_, align, _)| Reverse(align));
        let mut end = 0;
        for (id, align, size) in objects {
            let start = align_up(end, align);
            out.0.insert(id, start);
            end = start.saturating_add(size);
        }
        out
    }

    /// The offset of an object in the system's part.
    pub fn offset(&self, id: SymbolId) -> Option<u64> {
        self.0.get(&id).copied()
    }

    /// The offset of an object in a kernel's shared memory.
    pub fn address(&self, id: SymbolId) -> Option<u64> {
        self.offset(id).map(|offset| offset.saturating_add(START))
    }
}

/// The value of a relocation against such an object: it is applied in machine code and emitted in
/// the Mercury half.
pub fn value(file: &CapsuleFile<'_, '_>, source: &Source, machine: &Reloc) -> Option<u64> {
    let id = file.linked.cx.resolution.id(source.from.object, machine.symbol.0)?;
    let addend = machine.addend.unwrap_or(0) as u64;
    file.reserved_shared.address(id).map(|address| address.wrapping_add(addend))
}
