//! Offsets: shared memory, constant banks, commons, and with them the value of
//! every symbol.

mod constants;
mod images;
mod per_symbol;
mod relocatable;
mod shared;

pub use constants::Bank2;
pub use images::{Form, HANDLE, Images, Slot};
pub use per_symbol::Pieces;
pub use relocatable::Instances;
pub use shared::SharedLayout;

use crate::align::align_up;
use crate::callgraph::reach::Pruning;
use crate::collections::Map;
use crate::context::Analysis;
use crate::demangle::text;
use crate::diag::Code;
use crate::diag::{Diagnostic, Diagnostics};
use crate::dialect::target::MAX_CONSTANT;
use crate::ids::{InputSection, ObjectId, SectionId, SymbolId};
use crate::merge::{Chunk, Chunks, Content, Merged};
use crate::usage::Usage;
use cubin::SymbolRef;

/// The memory layout of the output.
#[derive(Debug)]
pub struct Layout {
    /// Shared memory.
    pub shared: SharedLayout,
    /// Bank 2.
    pub bank2: Bank2,
    /// Sections whose contents are not just the merged chunks.
    pub chunks: Map<SectionId, Vec<Chunk>>,
    /// Sections whose size and alignment the layout determined.
    pub extents: Map<SectionId, (u64, u64)>,
    /// Sections that were laid out symbol by symbol.
    pub pieces: Map<SectionId, Pieces>,
    /// Offsets of common symbols in `.nv.global`.
    pub commons: Map<SymbolId, (SectionId, u64)>,
    /// Texture, sampler and surface handles.
    pub images: Images,
    /// Dynamic arrays in a relocatable output.
    pub instances: Instances,
    /// `st_value` of the null symbol (see the quirks in `constants`).
    pub null_value: u64,
}

/// The address of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Output section.
    pub section: SectionId,
    /// Offset in it.
    pub value: u64,
}

/// Lays out memory and checks limits. Exceeding some of them ends the link at once.
/// [`constants-too-large`, `shared-too-large`]
pub fn layout(
    cx: Analysis<'_, '_>,
    usage: &Usage,
    merged: &Merged,
    diags: &mut Diagnostics,
) -> Result<Layout, Diagnostic> {
    let mut out = Layout {
        shared: SharedLayout::default(),
        bank2: Bank2::default(),
        chunks: Map::default(),
        extents: Map::default(),
        pieces: Map::default(),
        commons: Map::default(),
        images: Images::default(),
        instances: Instances::default(),
        null_value: 0,
    };
    place_commons(cx, merged, &mut out);
    if cx.config.relocatable {
        relocatable::layout_shared(cx, usage, merged, &mut out);
    } else {
        out.images = images::layout_images(cx, usage, merged);
        images::check_images(cx, merged, &out.images)?;
        for &bank in out.images.banks.keys() {
            out.extents.insert(bank, (out.images.bank_size, merged.section(bank).align()));
        }
        out.shared = shared::layout_shared(cx, usage, merged);
        out.bank2 = constants::layout_bank2(cx, merged);
        apply_bank2(merged, &mut out);
        compact_constants(cx, merged, &mut out);
        out.null_value = out.shared.null_value.unwrap_or(out.null_value);
        for (section, pieces) in per_symbol::unified(cx, merged) {
            out.add_pieces(section, pieces);
        }
        check_shared(cx, merged, &out, diags);
    }
    check_constants(merged, &out, diags);
    Ok(out)
}

impl Layout {
    fn add_pieces(&mut self, section: SectionId, pieces: Pieces) {
        self.extents.insert(section, pieces.extent);
        self.chunks.insert(section, Vec::new());
        self.pieces.insert(section, pieces);
    }

    /// Writes the contents of a section that was laid out symbol by symbol.
    #[inline]
    pub fn write_pieces(&self, cx: Analysis<'_, '_>, id: SectionId, out: &mut [u8]) {
        let Some(pieces) = self.pieces.get(&id) else { return };
        for (piece, bytes) in pieces.bytes(cx) {
            let start = usize::try_from(piece.offset).unwrap_or(usize::MAX);
            if let Some(place) = out.get_mut(start..start.saturating_add(bytes.len())) {
                place.copy_from_slice(bytes);
            }
        }
    }

    /// Size and alignment of a section made of chunks.
    #[inline]
    pub fn extent(&self, merged: &Merged, id: SectionId) -> (u64, u64) {
        let section = merged.section(id);
        self.extents.get(&id).copied().unwrap_or((section.size(), section.align()))
    }

    /// The chunks of a section in the output.
    #[inline]
    pub fn chunks<'m>(&'m self, merged: &'m Merged, id: SectionId) -> Chunks<'m> {
        match (self.chunks.get(&id), merged.section(id).content()) {
            (Some(chunks), _) => Chunks::Many(chunks),
            (None, Content::Chunks(chunks)) => chunks,
            _ => Chunks::Many(&[]),
        }
    }

    /// The value of `.nv.ptx.const0.size`: the size of the user's constants, all ones if there are
    /// none (seen with libcudadevrt next to files with and without them). [`constant-window`]
    pub fn user_constants(&self, merged: &Merged) -> u64 {
        merged.constant3.map_or(u64::MAX, |section| self.extent(merged, section).0)
    }

    /// Copies the contents of an output section before relocation; bytes outside its chunks are
    /// zero.
    pub fn read(
        &self,
        cx: Analysis<'_, '_>,
        merged: &Merged,
        section: SectionId,
        offset: u64,
        to: &mut [u8],
    ) {
        for (at, byte) in (0..).zip(to) {
            let at = offset.checked_add(at);
            *byte = at.and_then(|at| self.byte(cx, merged, section, at)).unwrap_or(0);
        }
    }

    fn byte(&self, cx: Analysis<'_, '_>, merged: &Merged, id: SectionId, at: u64) -> Option<u8> {
        if let Some(pieces) = self.pieces.get(&id) {
            return pieces.byte(cx, at);
        }
        let chunks = self.chunks(merged, id);
        let chunk = chunks.get(chunks.partition_point(|c| c.offset <= at).checked_sub(1)?)?;
        let data = cx.linked_bytes(chunk.from);
        data.get(usize::try_from(at - chunk.offset).ok()?).copied()
    }

    /// The address of a defined symbol, `None` if it has none in the output.
    pub fn address(&self, cx: Analysis<'_, '_>, merged: &Merged, id: SymbolId) -> Option<Address> {
        let definition = cx.resolution.get(id).definition;
        let symbol = definition.and_then(|at| Some((at.object, cx.unnamed_symbol(at)?)));
        self.address_of(cx, merged, id, symbol.as_ref().map(|(object, symbol)| (*object, symbol)))
    }

    /// The same, if the definition has been looked up.
    pub fn address_of(
        &self,
        cx: Analysis<'_, '_>,
        merged: &Merged,
        id: SymbolId,
        definition: Option<(ObjectId, &SymbolRef<'_>)>,
    ) -> Option<Address> {
        if let Some(&(section, value)) = self.commons.get(&id) {
            return Some(Address { section, value });
        }
        let (object, symbol) = definition?;
        if symbol.reserved {
            return None;
        }
        if symbol.is_shared() && !cx.config.relocatable {
            let &(section, value) = self.shared.objects.get(&id)?;
            return Some(Address { section, value });
        }
        let address = self.input_address(merged, object, symbol.shndx, symbol.value)?;
        match self.pieces.get(&address.section) {
            Some(pieces) => Some(Address { value: pieces.offset(id)?, ..address }),
            None => Some(address),
        }
    }

    /// Offset and bank of a symbol in constant memory.
    pub fn constant(
        &self,
        cx: Analysis<'_, '_>,
        merged: &Merged,
        id: SymbolId,
    ) -> Option<(u64, u8)> {
        if let Some(address) = self.address(cx, merged, id) {
            return Some((address.value, merged.section(address.section).bank()?));
        }
        let at = cx.resolution.get(id).definition?;
        let symbol = cx.unnamed_symbol(at)?;
        let offset =
            self.bank2.offset_of.get(&InputSection { object: at.object, section: symbol.shndx })?;
        Some((offset.wrapping_add(symbol.value), 2))
    }

    /// The output address of an offset in an input section.
    pub fn input_address(
        &self,
        merged: &Merged,
        object: ObjectId,
        section: u32,
        offset: u64,
    ) -> Option<Address> {
        let placement = merged.placement(object, section)?;
        Some(Address { section: placement.section, value: placement.offset.wrapping_add(offset) })
    }
}

/// Commons go to the end of `.nv.global`, last seen first. [`commons`]
fn place_commons(cx: Analysis<'_, '_>, merged: &Merged, out: &mut Layout) {
    let Some(section) = merged.common_storage else { return };
    let (mut size, mut align) = (merged.section(section).size(), merged.section(section).align());
    for &id in merged.commons.iter().rev() {
        let Some(common) = &cx.resolution.get(id).common else { continue };
        let offset = align_up(size, common.align);
        out.commons.insert(id, (section, offset));
        size = offset.saturating_add(common.size);
        align = align.max(common.align);
    }
    out.extents.insert(section, (size, align));
}

fn compact_constants(cx: Analysis<'_, '_>, merged: &Merged, out: &mut Layout) {
    if cx.reach.pruning == Pruning::None {
        return;
    }
    let Some(section) = merged.constant3 else { return };
    if let Some(used) = &merged.used_constants {
        out.add_pieces(section, per_symbol::constants(cx, used));
        return;
    }
    let bank = constants::compact_bank3(cx, merged, section);
    out.extents.insert(section, (bank.size, merged.section(section).align()));
    out.chunks.insert(section, bank.chunks);
    out.null_value = bank.null_value.unwrap_or(out.null_value);
}

fn apply_bank2(merged: &Merged, out: &mut Layout) {
    for (&section, copies) in &out.bank2.copies {
        let mut chunks = match merged.section(section).content() {
            Content::Chunks(own) => own.to_vec(),
            _ => Vec::new(),
        };
        chunks.extend_from_slice(copies);
        out.chunks.insert(section, chunks);
        out.extents.insert(section, out.bank2.extents[&section]);
    }
    out.null_value = out.bank2.null_value.unwrap_or(out.null_value);
}

fn check_constants(merged: &Merged, out: &Layout, diags: &mut Diagnostics) {
    let Some(section) = merged.constant3 else { return };
    let size = out.extent(merged, section).0;
    if size > MAX_CONSTANT {
        diags.push(Diagnostic::error(
            Code::TooMuchConstant,
            format_args!(
                "File uses too much global constant data ({size:#x} bytes, {MAX_CONSTANT:#x} max)"
            ),
        ));
    }
}

fn check_shared(cx: Analysis<'_, '_>, merged: &Merged, out: &Layout, diags: &mut Diagnostics) {
    let max = cx.dialect.max_static_shared(cx.config.extended_smem);
    for &function in &merged.function_order {
        let Some(&size) = out.shared.static_bytes.get(&function) else { continue };
        if size > max {
            let name = text(cx.resolution.get(cx.graph.symbol(function)).name);
            let message = format!(
                "Entry function '{name}' uses too much shared data ({size:#x} bytes, {max:#x} max)"
            );
            diags.push(Diagnostic::error(Code::TooMuchShared, message).about(name));
        }
    }
}
