//! A file as blocks that follow each other, and where it goes.

use crate::diag::Diagnostic;
use cubin::encode::HeaderTables;
use cubin::raw::Shdr64;
use rayon::prelude::*;
use std::ops::Range;

/// Where a finished file goes.
pub trait Destination {
    /// Takes the whole file.
    fn take(&mut self, blocks: &Blocks<'_>) -> Result<(), Diagnostic>;
}

/// A file in blocks that follow each other without gaps.
pub struct Blocks<'p> {
    ranges: &'p [Range<u64>],
    fill: &'p Fill<'p>,
}

/// Writes the block with this number, all its bytes.
pub type Fill<'p> = dyn Fn(usize, &mut [u8]) -> Result<(), Diagnostic> + Sync + 'p;

impl<'p> Blocks<'p> {
    /// A file in blocks.
    pub fn new(ranges: &'p [Range<u64>], fill: &'p Fill<'p>) -> Self {
        Self { ranges, fill }
    }
    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.size() == 0
    }
    /// Size of the file.
    pub fn size(&self) -> u64 {
        self.ranges.last().map_or(0, |last| last.end)
    }
    /// Where a block lies.
    pub fn range(&self, block: usize) -> Range<u64> {
        self.ranges[block].clone()
    }
    /// Writes a block; `out` has its size and may hold anything.
    pub fn fill(&self, block: usize, out: &mut [u8]) -> Result<(), Diagnostic> {
        (self.fill)(block, out)
    }
}

/// A file in memory.
impl Destination for Vec<u8> {
    fn take(&mut self, blocks: &Blocks<'_>) -> Result<(), Diagnostic> {
        let size = usize::try_from(blocks.size()).map_err(|_| too_large(blocks.size()))?;
        self.clear();
        self.try_reserve_exact(size).map_err(|_| too_large(blocks.size()))?;
        self.resize(size, 0);
        let mut slices = Vec::with_capacity(blocks.len());
        let mut rest = &mut self[..];
        for range in blocks.ranges {
            let (block, after) = rest.split_at_mut((range.end - range.start) as usize);
            slices.push(block);
            rest = after;
        }
        slices.into_par_iter().enumerate().try_for_each(|(block, out)| blocks.fill(block, out))
    }
}

/// Hands over a file that was made elsewhere.
pub fn whole(image: &[u8], destination: &mut dyn Destination) -> Result<(), Diagnostic> {
    let ranges: Vec<Range<u64>> = (0..image.len() as u64)
        .step_by(BLOCK_SIZE as usize)
        .map(|start| start..(start + BLOCK_SIZE).min(image.len() as u64))
        .collect();
    let fill = |block: usize, out: &mut [u8]| {
        out.copy_from_slice(&image[block * BLOCK_SIZE as usize..][..out.len()]);
        Ok(())
    };
    destination.take(&Blocks::new(&ranges, &fill))
}

/// How large blocks are, but for sections that are larger: small enough for a
/// processor's own cache, large enough to be worth a call of the system. Entries
/// of all tables (4, 8, 16, 24 bytes) fit in a whole number of times.
pub(super) const BLOCK_SIZE: u64 = 480 << 10;

/// Sections are not told apart where so many bytes have many: a block may be larger by that.
pub(super) const GROUP: u64 = ROOM as u64 - BLOCK_SIZE;

/// All blocks fit in this but sections that are larger and cannot be divided.
pub const ROOM: usize = 512 << 10;

/// What a block of an output holds.
pub enum Block {
    /// These sections, and the file's header before the first.
    Sections(Range<usize>),
    /// A part of a large section: its number, and which of its bytes.
    Part(usize, Range<usize>),
    /// The headers of these sections, the null section being the first.
    Headers(Range<usize>),
    /// The program headers.
    Segments,
}

/// The bytes of a section in the file, or of some small ones that follow each other.
pub struct Extent {
    /// Their numbers, the null section left out.
    pub sections: Range<usize>,
    /// Where they lie.
    pub range: Range<u64>,
}

/// Where the parts of a large table of this size end.
pub fn even_ends(size: u64) -> Vec<u64> {
    (1..=size.div_ceil(BLOCK_SIZE)).map(|part| size.min(part * BLOCK_SIZE)).collect()
}

/// Cuts an output into blocks. Sections come in the order of their offsets. The parts of large
/// ones can be written on their own, if they have `ends`.
pub fn cut(
    extents: impl Iterator<Item = Extent>,
    ends: impl Fn(usize) -> Vec<u64>,
    tables: &HeaderTables,
) -> (Vec<Block>, Vec<Range<u64>>) {
    let mut out = (Vec::new(), Vec::new());
    let mut push = |block: Block, range: Range<u64>| {
        out.0.push(block);
        out.1.push(range);
    };
    let (mut first, mut start) = (0, 0);
    for Extent { sections: Range { start: section, end: after }, range } in extents {
        let size = range.end - range.start;
        let ends = if size > BLOCK_SIZE { ends(section) } else { Vec::new() };
        if !ends.is_empty() {
            push(Block::Sections(first..section), start..range.start);
            let mut at = 0;
            for end in ends {
                let part = range.start + at..range.start + end;
                push(Block::Part(section, at as usize..end as usize), part);
                at = end;
            }
            (first, start) = (after, range.end);
            continue;
        }
        if range.end - start > ROOM as u64 && first < section {
            push(Block::Sections(first..section), start..range.start);
            (first, start) = (section, range.start);
        }
        if range.end - start >= BLOCK_SIZE {
            push(Block::Sections(first..after), start..range.end);
            (first, start) = (after, range.end);
        }
    }
    push(Block::Sections(first..tables.sections - 1), start..tables.section_headers);
    const HEADERS: usize = BLOCK_SIZE as usize / size_of::<Shdr64>();
    let at = |header: usize| tables.section_headers + (header * size_of::<Shdr64>()) as u64;
    for first in (0..tables.sections).step_by(HEADERS) {
        let last = (first + HEADERS).min(tables.sections);
        push(Block::Headers(first..last), at(first)..at(last));
    }
    push(Block::Segments, at(tables.sections)..tables.end());
    out
}

/// The output is larger than it can be.
pub fn too_large(size: u64) -> Diagnostic {
    Diagnostic::fatal(
        "out-of-memory",
        format_args!("Output of {size} bytes does not fit in memory"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Large tables are divided, other large sections are not, and nothing is left out.
    #[test]
    fn blocks_follow_each_other_without_gaps() {
        let headers = 7 * BLOCK_SIZE + 64;
        let extents = [
            64..100,
            128..128 + 3 * BLOCK_SIZE,
            4 * BLOCK_SIZE..6 * BLOCK_SIZE,
            6 * BLOCK_SIZE..headers,
        ];
        let sections = extents.into_iter().enumerate();
        let sections = sections.map(|(i, range)| Extent { sections: i..i + 1, range });
        let size = headers + 5 * size_of::<Shdr64>() as u64;
        let tables = HeaderTables::after(headers, 5, 0);
        let ends = |section| if section == 1 { even_ends(3 * BLOCK_SIZE) } else { Vec::new() };
        let (blocks, ranges) = cut(sections, ends, &tables);
        assert_eq!(ranges.first().map(|range| range.start), Some(0));
        assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(ranges.last().map(|range| range.end), Some(size));
        let parts: Vec<_> = blocks
            .iter()
            .filter_map(|block| match block {
                Block::Part(1, part) => Some(part.clone()),
                Block::Part(..) => panic!("another section was divided"),
                _ => None,
            })
            .collect();
        let step = BLOCK_SIZE as usize;
        assert_eq!(parts, [0..step, step..2 * step, 2 * step..3 * step]);
    }
}
