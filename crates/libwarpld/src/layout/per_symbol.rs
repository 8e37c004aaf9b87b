//! Sections that are laid out symbol by symbol: bank 3 if it would overflow, and the tables of
//! unified functions and variables.

use crate::align::align_up;
use crate::collections::Map;
use crate::context::Analysis;
use crate::ids::{InputSection, SectionId, SymbolId};
use crate::merge::Merged;
use crate::usage::sort::{Ties, alternating_merge_sort};
use cubin::SectionType;
use std::cmp::Reverse;

/// The symbols of a section with their offsets.
#[derive(Debug)]
pub struct Pieces {
    placed: Vec<Piece>,
    by_symbol: Map<SymbolId, usize>,
    by_input: Map<InputSection, Vec<usize>>,
    /// Size and alignment of the section.
    pub extent: (u64, u64),
    /// Quirk: relocations of unified variables keep their offsets. [`unified-variables`]
    moves_relocations: bool,
}

/// A symbol and its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    id: SymbolId,
    /// Its input section.
    pub from: InputSection,
    start: u64,
    size: u64,
    /// Its new offset.
    pub offset: u64,
}

/// Maximum alignment of constants, whatever they declare.
const ALIGN: u64 = 8;

/// Places constants by descending alignment and ascending size. Quirk: their alignment is not the
/// declared one but their size up to 8, power of two or not (a constant of seven bytes is at a
/// multiple of 7). [`constants-unused-go`]
pub fn constants(cx: Analysis<'_, '_>, used: &[SymbolId]) -> Pieces {
    let mut placed: Vec<Piece> = used.iter().filter_map(|&id| piece(cx, id)).collect();
    let align = |c: &Piece| c.size.min(ALIGN);
    alternating_merge_sort(&mut placed, Ties::A, |c| (Reverse(align(c)), c.size));
    let mut end: u64 = 0;
    for constant in &mut placed {
        constant.offset = align_up(end, align(constant));
        end = constant.offset.saturating_add(constant.size);
    }
    let most = placed.iter().map(align).max().unwrap_or(ALIGN);
    Pieces::new(placed, (end, most), true)
}

/// The tables of unified functions and variables, in the order of the index file.
pub fn unified(cx: Analysis<'_, '_>, merged: &Merged) -> Vec<(SectionId, Pieces)> {
    let unified = cx.unified;
    let mut out = Vec::new();
    if unified.offset_of.is_empty() {
        return out;
    }
    for (id, section) in merged.sections.enumerated() {
        let moves_relocations = section.kind == SectionType::CUDA_UFT;
        let ids: Vec<SymbolId> = match section.kind {
            SectionType::CUDA_UFT => unified.stubs.values().map(|stub| stub.id).collect(),
            SectionType::CUDA_UDT => unified.variables.clone(),
            _ => continue,
        };
        let mut placed: Vec<Piece> = ids.into_iter().filter_map(|id| piece(cx, id)).collect();
        let mut end: u64 = 0;
        for piece in &mut placed {
            // Symbols that the index lacks keep their offsets, below the others.
            let natural = merged.placement(piece.from.object, piece.from.section);
            piece.offset = natural.map_or(0, |p| p.offset).saturating_add(piece.start);
            if let Some(&offset) = unified.offset_of.get(&piece.id) {
                piece.offset = offset;
                end = end.max(offset.saturating_add(piece.size));
            }
        }
        placed.sort_by_key(|p| (unified.offset_of.contains_key(&p.id), p.from.object, p.id));
        let pieces = Pieces::new(placed, (end, section.align()), moves_relocations);
        out.push((id, pieces));
    }
    out
}

fn piece(cx: Analysis<'_, '_>, id: SymbolId) -> Option<Piece> {
    let at = cx.resolution.get(id).definition?;
    let symbol = cx.input_symbol(at)?;
    let from = InputSection { object: at.object, section: symbol.shndx };
    Some(Piece { id, from, start: symbol.value, size: symbol.size, offset: 0 })
}

impl Pieces {
    fn new(placed: Vec<Piece>, extent: (u64, u64), moves_relocations: bool) -> Self {
        let by_symbol = placed.iter().enumerate().map(|(i, p)| (p.id, i)).collect();
        let mut by_input: Map<InputSection, Vec<usize>> = Map::default();
        for (i, piece) in placed.iter().enumerate() {
            by_input.entry(piece.from).or_default().push(i);
        }
        Self { placed, by_symbol, by_input, extent, moves_relocations }
    }

    /// The offset of a symbol.
    pub fn offset(&self, id: SymbolId) -> Option<u64> {
        self.by_symbol.get(&id).and_then(|&i| self.placed.get(i)).map(|piece| piece.offset)
    }

    /// The new offset of a relocation in an input section that would otherwise be at `unmoved`;
    /// `None` if its symbol was dropped.
    pub fn moved(&self, from: InputSection, offset: u64, unmoved: u64) -> Option<u64> {
        if !self.moves_relocations {
            return Some(unmoved);
        }
        let pieces = self.by_input.get(&from)?;
        pieces.iter().filter_map(|&i| self.placed.get(i)).find_map(|piece| {
            let inside = offset.checked_sub(piece.start).filter(|&inside| inside < piece.size)?;
            piece.offset.checked_add(inside)
        })
    }

    /// The symbols with their contents, in output order.
    pub fn bytes<'a>(&self, cx: Analysis<'a, '_>) -> impl Iterator<Item = (&Piece, &'a [u8])> {
        self.placed.iter().filter_map(move |piece| {
            let object = &cx.objects[piece.from.object];
            let input = object.cubin.section(piece.from.section)?;
            let start = usize::try_from(piece.start).ok()?;
            let end = start.checked_add(usize::try_from(piece.size).ok()?)?;
            Some((piece, input.data.get(start..end)?))
        })
    }

    /// One byte of the section, before relocation.
    pub fn byte(&self, cx: Analysis<'_, '_>, at: u64) -> Option<u8> {
        self.bytes(cx)
            .filter_map(|(piece, bytes)| {
                bytes.get(usize::try_from(at.checked_sub(piece.offset)?).ok()?).copied()
            })
            .last()
    }
}
