//! Sections in the form most phases need. Headers have 64 bytes each and are no longer in the cache
//! when a phase gets to them, so what is needed is recorded once, in eight bytes.

use super::Object;
use cubin::Relocs;
use cubin::{ReadError, SectionRef, SectionType};

/// A section without its name and links.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    /// Its index.
    pub index: u32,
    /// `sh_type`.
    pub kind: SectionType,
    /// `sh_flags`.
    pub flags: u64,
    /// `sh_size`.
    pub size: u64,
    /// `sh_addralign`.
    pub align: u64,
    /// `sh_entsize`.
    pub entsize: u64,
    /// Its bytes; empty for NOBITS.
    pub data: &'a [u8],
}

/// Where a section is, and the index of its shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    start: u32,
    /// The size, and the index of the shape in the high bits.
    size_and_shape: u32,
}

/// The other recorded properties of sections. Many inputs share a few different shapes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Shape {
    kind: SectionType,
    flags: u64,
    align: u64,
    entsize: u64,
}

/// The shapes of a batch of inputs.
#[derive(Clone, Debug)]
pub(super) struct Shapes {
    list: [Shape; SHAPES as usize],
    count: u32,
    /// The index of the latest shape with each hash.
    recent: [u8; RECENT],
}

/// Instead of an offset: there are no bytes.
const NO_BYTES: u32 = u32::MAX;
/// Bits of a size; those of the shape's index follow. Larger sections are unusual.
const SIZE_BITS: u32 = 27;
/// Number of shapes that an index can distinguish.
const SHAPES: u32 = 1 << (u32::BITS - SIZE_BITS);
/// The last one stands for sections whose size, offset or shape is not recorded.
const UNUSUAL: u32 = SHAPES - 1;
/// Number of hashes of shapes: twice the shapes, so that few collide.
const RECENT: usize = 2 * SHAPES as usize;

impl Extent {
    /// Records a section.
    #[inline]
    pub(super) fn new(section: &SectionRef<'_>, shapes: &mut Shapes) -> Self {
        let has_bytes = section.kind.has_bytes() && section.data.len() as u64 == section.size;
        let start = if has_bytes { start(section.offset) } else { Some(NO_BYTES) };
        match start {
            Some(start) if section.size < 1 << SIZE_BITS => {
                let shape = shapes.number(section);
                Self { start, size_and_shape: section.size as u32 | shape << SIZE_BITS }
            }
            _ => Self { start: 0, size_and_shape: UNUSUAL << SIZE_BITS },
        }
    }

    /// The extent of a section of the same type and shape; `None` if it is too large.
    #[inline]
    pub(super) fn moved(self, section: &SectionRef<'_>) -> Option<Self> {
        let start = match self.start {
            NO_BYTES => NO_BYTES,
            _ => start(section.offset)?,
        };
        if section.size >= 1 << SIZE_BITS || self.shape() == UNUSUAL {
            return None;
        }
        let size_and_shape = section.size as u32 | self.shape() << SIZE_BITS;
        Some(Self { start, size_and_shape })
    }

    /// The bytes in the file; `None` for a section whose extent is not recorded.
    #[inline]
    pub(super) fn bytes(self, file: &[u8]) -> Option<&[u8]> {
        match (self.start, self.shape()) {
            (_, UNUSUAL) => None,
            (NO_BYTES, _) => Some(&[]),
            (start, _) => {
                let (start, size) = (start as usize, self.size() as usize);
                Some(file.get(start..start.saturating_add(size)).unwrap_or_default())
            }
        }
    }

    #[inline]
    fn size(self) -> u32 {
        self.size_and_shape & ((1 << SIZE_BITS) - 1)
    }

    #[inline]
    fn shape(self) -> u32 {
        self.size_and_shape >> SIZE_BITS
    }
}

impl Shape {
    /// A hash. One section in a hundred finds another shape's index under it.
    #[inline]
    fn slot(&self) -> usize {
        let flags = (self.flags as u32).rotate_left(8);
        let mixed = self.kind.0 ^ flags ^ (self.align as u32) << 20;
        (mixed.wrapping_mul(0x9e37_79b1) >> (u32::BITS - RECENT.ilog2())) as usize
    }
}

impl Default for Shapes {
    fn default() -> Self {
        Self { list: Default::default(), count: 0, recent: [0; RECENT] }
    }
}

impl Shapes {
    /// The index of a section's shape.
    #[inline]
    fn number(&mut self, section: &SectionRef<'_>) -> u32 {
        let &SectionRef { kind, flags, align, entsize, .. } = section;
        let shape = Shape { kind, flags, align, entsize };
        let slot = shape.slot();
        let recent = u32::from(self.recent[slot]);
        if recent < self.count && self.list[recent as usize] == shape {
            return recent;
        }
        let number = self.find(shape);
        self.recent[slot] = number as u8;
        number
    }

    #[inline(never)]
    fn find(&mut self, shape: Shape) -> u32 {
        let known = self.list.iter().take(self.count as usize).position(|other| *other == shape);
        if let Some(known) = known {
            return known as u32;
        }
        let number = self.count;
        if number < UNUSUAL {
            self.list[number as usize] = shape;
            self.count += 1;
        }
        number
    }
}

#[inline]
fn start(offset: u64) -> Option<u32> {
    u32::try_from(offset).ok().filter(|&start| start != NO_BYTES)
}

impl<'a> Object<'a> {
    /// The section with this index, without reading its header.
    #[inline]
    pub fn section(&self, index: u32) -> Option<Section<'a>> {
        let extent = *self.extents.get(index as usize)?;
        let Some(data) = extent.bytes(self.file) else { return self.unusual_section(index) };
        let Shape { kind, flags, align, entsize } = self.shapes.list[extent.shape() as usize];
        Some(Section { index, kind, flags, size: extent.size().into(), align, entsize, data })
    }

    /// The bytes of the section with this index, without reading its header; `None` if there is no
    /// such section.
    #[inline]
    pub fn section_data(&self, index: u32) -> &'a [u8] {
        let Some(extent) = self.extents.get(index as usize) else { return &[] };
        match extent.bytes(self.file) {
            Some(bytes) => bytes,
            None => self.unusual_section(index).map_or(&[], |section| section.data),
        }
    }

    /// The relocations of a REL or RELA section, decoded on demand.
    #[inline]
    pub fn relocs(&self, section: &Section<'a>) -> Result<Relocs<'a>, ReadError> {
        self.cubin.relocs_in(section.index, section.entsize, section.data)
    }

    #[cold]
    fn unusual_section(&self, index: u32) -> Option<Section<'a>> {
        let SectionRef { kind, flags, size, align, entsize, data, .. } =
            self.cubin.unnamed_section(index)?;
        Some(Section { index, kind, flags, size, align, entsize, data })
    }
}
