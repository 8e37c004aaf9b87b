//! Bank 3 where it would overflow and unused constants went: laid out one by one.

use super::sort::{Ties, alternating_merge_sort};
use crate::merge::{Context, InputSection, align_up};
use crate::resolve::SymbolId;
use std::cmp::Reverse;

/// The constants that stay, by offset.
#[derive(Debug)]
pub struct Constants {
    placed: Vec<Constant>,
}

/// A constant and its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Constant {
    id: SymbolId,
    /// Where it was.
    pub from: InputSection,
    /// Its offset there.
    pub start: u64,
    /// Size.
    pub size: u64,
    /// Where it is now.
    pub offset: u64,
}

/// The section is aligned to this, whatever its constants ask for.
const ALIGN: u64 = 8;

/// Places the constants by falling alignment and rising size. Quirk: alignments are
/// not those declared but the size up to 8, power of two or not (a constant of seven
/// bytes lies at a multiple of 7).
pub fn layout(cx: Context<'_, '_>, used: &[SymbolId]) -> Constants {
    let mut placed: Vec<Constant> = used.iter().filter_map(|&id| constant(cx, id)).collect();
    let align = |c: &Constant| c.size.min(ALIGN);
    alternating_merge_sort(&mut placed, Ties::A, |c| (Reverse(align(c)), c.size));
    let mut end: u64 = 0;
    for constant in &mut placed {
        constant.offset = align_up(end, align(constant));
        end = constant.offset.saturating_add(constant.size);
    }
    Constants { placed }
}

fn constant(cx: Context<'_, '_>, id: SymbolId) -> Option<Constant> {
    let at = cx.resolution.get(id).definition?;
    let symbol = cx.input_symbol(at)?;
    let from = InputSection { object: at.object, section: symbol.shndx };
    Some(Constant { id, from, start: symbol.value, size: symbol.size, offset: 0 })
}

impl Constants {
    /// Size and alignment of the bank.
    pub fn extent(&self) -> (u64, u64) {
        (self.placed.last().map_or(0, |c| c.offset.saturating_add(c.size)), ALIGN)
    }

    /// Where a constant is.
    pub fn offset(&self, id: SymbolId) -> Option<u64> {
        self.placed.iter().find(|c| c.id == id).map(|c| c.offset)
    }

    /// Where an offset of an input's bank went, if its constant stays.
    pub fn moved(&self, from: InputSection, offset: u64) -> Option<u64> {
        self.placed.iter().filter(|c| c.from == from).find_map(|c| {
            let inside = offset.checked_sub(c.start).filter(|&inside| inside < c.size)?;
            c.offset.checked_add(inside)
        })
    }

    /// The constants with their bytes.
    pub fn bytes<'a>(&self, cx: Context<'a, '_>) -> impl Iterator<Item = (&Constant, &'a [u8])> {
        self.placed.iter().filter_map(move |c| {
            let input = cx.objects[c.from.object.0 as usize].cubin.section(c.from.section)?;
            let start = usize::try_from(c.start).ok()?;
            Some((c, input.data.get(start..start.checked_add(usize::try_from(c.size).ok()?)?)?))
        })
    }

    /// One byte of the bank, before relocation.
    pub fn byte(&self, cx: Context<'_, '_>, at: u64) -> Option<u8> {
        self.bytes(cx).find_map(|(c, bytes)| {
            bytes.get(usize::try_from(at.checked_sub(c.offset)?).ok()?).copied()
        })
    }
}
