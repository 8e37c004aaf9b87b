//! A file as consecutive blocks, and its destination.

use crate::diag::Code;
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

/// A file in consecutive blocks without gaps.
pub struct Blocks<'p> {
    ranges: &'p [Range<u64>],
    fill: &'p Fill<'p>,
}

/// Writes all bytes of the block with this index.
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
    /// The file range of a block.
    pub fn range(&self, block: usize) -> Range<u64> {
        self.ranges[block].clone()
    }
    /// Writes a block; `out` has its size and arbitrary contents.
    pub fn fill(&self, block: usize, out: &mut [u8]) -> Result<(), Diagnostic> {
        (self.fill)(block, out)
    }
    /// Writes all blocks on this thread; `out` has the size of the file.
    pub fn fill_all(&self, mut out: &mut [u8]) -> Result<(), Diagnostic> {
        for (block, range) in self.ranges.iter().enumerate() {
            let (bytes, rest) = out.split_at_mut((range.end - range.start) as usize);
            self.fill(block, bytes)?;
            out = rest;
        }
        Ok(())
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

/// Passes on a file that was produced elsewhere.
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

/// Target size of blocks, except for larger sections: small enough for a core's own cache, large
/// enough to be worth a system call. A multiple of the entry size of every table (4, 8, 16, 24
/// bytes).
pub(super) const BLOCK_SIZE: u64 = 480 << 10;

/// Many small sections within this many bytes form one extent, so a block may exceed its target
/// size by that.
pub(super) const GROUP: u64 = BUFFER_SIZE as u64 - BLOCK_SIZE;

/// All blocks fit in this, except larger sections that cannot be divided.
pub const BUFFER_SIZE: usize = 512 << 10;

/// Contents of a block.
pub enum Block {
    /// These sections, with the file header before the first.
    Sections(Range<usize>),
    /// Part of a large section: its index and the range of its bytes.
    Part(usize, Range<usize>),
    /// The headers of these sections; the null section is the first.
    Headers(Range<usize>),
    /// The program headers.
    Segments,
}

/// The file range of one section, or of several small adjacent ones.
pub struct Extent {
    /// Their indices, not counting the null section.
    pub sections: Range<usize>,
    /// Their range in the file.
    pub range: Range<u64>,
}

/// Where to divide a large table of this size.
pub fn even_ends(size: u64) -> Vec<u64> {
    (1..=size.div_ceil(BLOCK_SIZE)).map(|part| size.min(part * BLOCK_SIZE)).collect()
}

/// Divides an output into blocks. Sections are sorted by offset. Large ones are written in separate
/// parts if `ends` divides them.
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
        if range.end - start > BUFFER_SIZE as u64 && first < section {
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

/// Reports an output that exceeds the limit.
pub fn too_large(size: u64) -> Diagnostic {
    Diagnostic::fatal(
        Code::OutOfMemory,
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
