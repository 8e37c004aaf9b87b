//! The writer of all files: the plan becomes consecutive blocks, which all available threads fill
//! independently. [`OutputFile`] supplies what differs between files with one half and with two.

use super::blocks::{Block, Blocks, Destination, Extent, cut, too_large};
use super::extent;
use crate::diag::Diagnostic;
use crate::ids::SectionId;
use crate::linked::Linked;
use cubin::encode::{HeaderTables, SectionHeader};
use cubin::raw::{Ehdr64, Phdr64, Shdr64};
use cubin::{Header, Segment};
use rayon::prelude::*;
use std::ops::Range;
use zerocopy::IntoBytes;

/// The complete plan of a file. Section indices do not count the null section.
pub(crate) trait OutputFile: Sync {
    /// The link's results.
    fn linked(&self) -> Linked<'_, '_>;
    /// The header.
    fn header(&self) -> Header;
    /// Offsets of the header tables.
    fn tables(&self) -> HeaderTables;
    /// The segments.
    fn segments(&self) -> &[Segment];
    /// The file ranges of sections, sorted by offset.
    fn extents(&self) -> impl Iterator<Item = Extent>;
    /// Where the parts of a large section end; empty if it has to be written as a whole.
    fn ends(&self, section: usize) -> Vec<u64>;
    /// Writes these sections with zeros between them; `out` is the file starting at `start`.
    fn write_sections(
        &self,
        sections: Range<usize>,
        start: u64,
        out: &mut [u8],
    ) -> Result<(), Diagnostic>;
    /// Writes a part of a section that ends where [`OutputFile::ends`] says.
    fn write_part(
        &self,
        section: usize,
        part: Range<usize>,
        out: &mut [u8],
    ) -> Result<(), Diagnostic>;
    /// Passes on the headers of these sections in order.
    fn section_headers(&self, sections: Range<usize>, take: impl FnMut(SectionHeader));
}

/// Writes a file.
pub(crate) fn write(
    file: &impl OutputFile,
    destination: &mut dyn Destination,
) -> Result<(), Diagnostic> {
    let tables = file.tables();
    check_size(file.linked(), tables.end())?;
    let (blocks, ranges) = cut(file.extents(), |section| file.ends(section), &tables);
    let fill = |block: usize, out: &mut [u8]| match &blocks[block] {
        Block::Sections(sections) => {
            let start = ranges[block].start;
            let header = if start == 0 { size_of::<Ehdr64>() } else { 0 };
            let (header, out) = out.split_at_mut(header);
            if !header.is_empty() {
                header.copy_from_slice(file.header().elf64().as_bytes());
            }
            file.write_sections(sections.clone(), start + header.len() as u64, out)
        }
        Block::Part(section, part) => file.write_part(*section, part.clone(), out),
        Block::Headers(headers) => {
            write_section_headers(file, headers.clone(), out);
            Ok(())
        }
        Block::Segments => {
            let records: Vec<Phdr64> = file.segments().iter().map(Segment::elf64).collect();
            out.copy_from_slice(records.as_bytes());
            Ok(())
        }
    };
    destination.take(&Blocks::new(&ranges, &fill))
}

/// Writes these section headers; the first is the null section's.
fn write_section_headers(file: &impl OutputFile, headers: Range<usize>, out: &mut [u8]) {
    let mut out = out.chunks_exact_mut(size_of::<Shdr64>());
    let mut write = |header: SectionHeader| {
        if let Some(out) = out.next() {
            out.copy_from_slice(header.elf64().as_bytes());
        }
    };
    if headers.start == 0 {
        write(SectionHeader::null(file.tables().sections));
    }
    file.section_headers(headers.start.saturating_sub(1)..headers.end - 1, write);
}

/// Refuses an output out of proportion to its inputs. Only damaged inputs ask for one: a NOBITS
/// section of any size there that has bytes here. Each kernel has a copy of the constants (64 KiB
/// at most) of what it calls.
pub(crate) fn check_proportion(linked: Linked<'_, '_>) -> Result<(), Diagnostic> {
    let sections = (0..linked.merged.sections.len()).into_par_iter().map(SectionId::new);
    let with_bytes = sections.filter(|&id| !linked.merged.section(id).is_nobits());
    let sizes = with_bytes.map(|id| {
        let (size, align) = extent(linked, id);
        size.saturating_add(align)
    });
    check_size(linked, sizes.reduce(|| 0, u64::saturating_add))
}

/// Refuses an output larger than any in proportion to the inputs.
fn check_size(linked: Linked<'_, '_>, size: u64) -> Result<(), Diagnostic> {
    // Most are small; then the inputs need not be examined.
    if size > ALWAYS && size > most_bytes(linked) { Err(too_large(size)) } else { Ok(()) }
}

/// Outputs up to this size are in proportion to any inputs. (A self-check takes as much again.)
const ALWAYS: u64 = 32 << 20;

/// The largest output that is in proportion to the inputs.
pub(crate) fn most_bytes(linked: Linked<'_, '_>) -> u64 {
    const MOST: u64 = 128;
    let inputs = linked.cx.objects.iter().map(|o| o.cubin.bytes().len() as u64);
    inputs.sum::<u64>().saturating_mul(MOST).saturating_add(ALWAYS)
}
