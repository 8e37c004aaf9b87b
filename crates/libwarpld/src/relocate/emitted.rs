//! Emitted relocations in a compact encoding: links have hundreds of thousands.

use crate::ids::OutSymbolId;
use cubin::RelocKind;
use cubin::reloc::MERCURY_BASE;
use std::ops::Range;

/// A relocation of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct OutReloc {
    pub offset: u64,
    pub kind: RelocKind,
    pub symbol: OutSymbolId,
    pub addend: i64,
}

/// A growing list of relocations.
#[derive(Debug, Default)]
pub(super) struct EmittedList {
    list: Vec<Packed>,
    /// Relocations that do not fit the compact form.
    wide: Vec<OutReloc>,
}

/// A list of relocations, or a part of one.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmittedRelocs<'r> {
    list: &'r [Packed],
    wide: &'r [OutReloc],
}

/// A relocation.
#[derive(Clone, Copy, Debug)]
struct Packed {
    /// The offset, or the index among the wide ones.
    offset: u32,
    addend: i32,
    symbol: OutSymbolId,
    /// With the flag [`MERCURY`], or [`WIDE`].
    kind: u16,
}

const _: () = assert!(size_of::<Packed>() <= 16);

/// Flags the kinds of the Mercury half.
const MERCURY: u16 = 1 << 15;
/// The kind of wide ones.
const WIDE: u16 = u16::MAX;

impl Packed {
    /// The compact relocation, and whether it fits.
    #[inline]
    fn new(reloc: &OutReloc) -> (Self, bool) {
        let (base, mark) =
            if reloc.kind.0 >= MERCURY_BASE { (MERCURY_BASE, MERCURY) } else { (0, 0) };
        let (offset, addend) = (reloc.offset as u32, reloc.addend as i32);
        let number = reloc.kind.0 - base;
        let fits = u64::from(offset) == reloc.offset
            && i64::from(addend) == reloc.addend
            && number < u32::from(MERCURY) - 1;
        (Self { offset, addend, symbol: reloc.symbol, kind: number as u16 | mark }, fits)
    }

    #[inline]
    fn unpack(self, wide: &[OutReloc]) -> OutReloc {
        let Self { offset, addend, symbol, kind } = self;
        if kind == WIDE {
            return wide[offset as usize];
        }
        let base = if kind & MERCURY == 0 { 0 } else { MERCURY_BASE };
        let kind = RelocKind(base + u32::from(kind & !MERCURY));
        OutReloc { offset: offset.into(), kind, symbol, addend: addend.into() }
    }
}

impl EmittedList {
    /// Appends a relocation.
    #[inline]
    pub fn push(&mut self, reloc: OutReloc) {
        let (packed, fits) = Packed::new(&reloc);
        let packed = if fits { packed } else { self.widen(reloc) };
        self.list.push(packed);
    }

    #[cold]
    fn widen(&mut self, reloc: OutReloc) -> Packed {
        let offset = self.wide.len() as u32;
        self.wide.push(reloc);
        Packed { offset, addend: 0, symbol: reloc.symbol, kind: WIDE }
    }

    /// Makes room for `count` more.
    pub fn reserve(&mut self, count: usize) {
        self.list.reserve(count);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Drops those from `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.list.truncate(len);
    }

    /// Reverses the order of those from `since` on.
    pub fn reverse(&mut self, since: usize) {
        self.list.get_mut(since..).unwrap_or_default().reverse();
    }

    /// Appends another list.
    pub fn append(&mut self, other: &mut Self) {
        let before = self.wide.len() as u32;
        if !other.wide.is_empty() && before != 0 {
            let wide = other.list.iter_mut().filter(|packed| packed.kind == WIDE);
            wide.for_each(|packed| packed.offset += before);
        }
        self.list.append(&mut other.list);
        self.wide.append(&mut other.wide);
    }

    /// Frees unused capacity.
    pub fn shrink(&mut self) {
        self.list.shrink_to_fit();
    }

    /// The symbols that they refer to.
    pub fn symbols(&self) -> impl Iterator<Item = OutSymbolId> {
        self.list.iter().map(|packed| packed.symbol)
    }

    /// Some of them.
    #[inline]
    pub fn part(&self, range: Range<usize>) -> EmittedRelocs<'_> {
        EmittedRelocs { list: &self.list[range], wide: &self.wide }
    }

    /// All of them.
    pub fn all(&self) -> EmittedRelocs<'_> {
        EmittedRelocs { list: &self.list, wide: &self.wide }
    }
}

impl<'r> EmittedRelocs<'r> {
    /// How many there are.
    #[inline]
    pub fn len(self) -> usize {
        self.list.len()
    }

    /// Some of them.
    pub fn part(self, range: Range<usize>) -> Self {
        Self { list: &self.list[range], ..self }
    }

    /// Iterates over them.
    #[inline]
    pub fn iter(
        self,
    ) -> impl ExactSizeIterator<Item = OutReloc> + DoubleEndedIterator<Item = OutReloc> + 'r {
        self.list.iter().map(move |packed| packed.unpack(self.wide))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All values survive the round trip.
    #[test]
    fn numbers_of_any_size() {
        let kinds = [0, 1, 0x7ffe, 0x7fff, 0x8000, 0xffff, MERCURY_BASE, MERCURY_BASE + 0x7fff];
        let offsets = [0, u32::MAX.into(), 1 << 32, u64::MAX];
        let addends = [0, -1, i32::MIN.into(), 1 << 31, i64::MIN];
        let mut all = Vec::new();
        for kind in kinds.map(RelocKind) {
            for offset in offsets {
                for addend in addends {
                    let symbol = OutSymbolId::new(all.len());
                    all.push(OutReloc { offset, kind, symbol, addend });
                }
            }
        }
        let list = |relocs: &[OutReloc]| {
            let mut list = EmittedList::default();
            relocs.iter().for_each(|reloc| list.push(*reloc));
            list
        };
        let mut joined = list(&all[..70]);
        joined.append(&mut list(&all[70..]));
        assert!(joined.all().iter().eq(all.iter().copied()));
        assert!(joined.symbols().eq(all.iter().map(|reloc| reloc.symbol)));
        joined.reverse(100);
        all[100..].reverse();
        assert!(joined.part(50..150).part(10..90).iter().eq(all[60..140].iter().copied()));
    }
}
