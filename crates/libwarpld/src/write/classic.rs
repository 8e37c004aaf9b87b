//! A file with one half, of machine code: where its bytes come from.

use super::blocks::{BLOCK_SIZE, Destination, Extent, GROUP, even_ends};
use super::contents::table;
use super::copy::{Sources, apply, clear, copy, patches};
use super::writer::{self, OutputFile};
use super::{ContentSource, FinalSection, Plan, divide, headers};
use crate::diag::Diagnostic;
use crate::linked::Linked;
use cubin::encode::{HeaderTables, SectionHeader};
use cubin::flags::v8;
use cubin::{Header, Segment};
use std::ops::Range;

/// Writes the planned file.
pub fn write(
    linked: Linked<'_, '_>,
    plan: &Plan<'_>,
    destination: &mut dyn Destination,
) -> Result<(), Diagnostic> {
    writer::write(&ClassicFile { linked, plan }, destination)
}

/// A file with one half.
struct ClassicFile<'a, 'o, 'p> {
    linked: Linked<'a, 'o>,
    plan: &'p Plan<'a>,
}

impl OutputFile for ClassicFile<'_, '_, '_> {
    fn linked(&self) -> Linked<'_, '_> {
        self.linked
    }

    fn header(&self) -> Header {
        headers::file_header(self.linked, v8::SASS, &self.plan.index_of, &self.plan.tables)
    }

    fn tables(&self) -> HeaderTables {
        self.plan.tables
    }

    fn segments(&self) -> &[Segment] {
        &self.plan.segments
    }

    fn extents(&self) -> impl Iterator<Item = Extent> {
        self.plan.extents(GROUP).map(|(sections, range)| Extent { sections, range })
    }

    fn ends(&self, section: usize) -> Vec<u64> {
        match self.plan.section(section) {
            Some(section) if section.source == ContentSource::Copied => {
                divide::ends(self.linked, &section, BLOCK_SIZE)
            }
            Some(table) => even_ends(table.size),
            None => Vec::new(),
        }
    }

    /// Looks up the sources of a batch of sections before writing the first. Each lookup is a chain
    /// of loads from cold memory; the processor overlaps several of them if no bytes are copied in
    /// between.
    fn write_sections(
        &self,
        sections: Range<usize>,
        start: u64,
        out: &mut [u8],
    ) -> Result<(), Diagnostic> {
        let (linked, plan) = (self.linked, self.plan);
        let mut written = 0;
        let mut sections = plan.sections(sections);
        let (mut batch, mut sources) = (Vec::new(), Vec::new());
        while sections.next_batch(&mut batch) {
            let with_bytes = || batch.iter().filter(|section| section.has_bytes);
            let copied = with_bytes().filter(|section| section.source == ContentSource::Copied);
            sources.clear();
            sources.extend(copied.map(|section| Sources::of(linked, section)));
            let mut sources = sources.iter();
            for section in with_bytes() {
                let at = (section.offset - start) as usize;
                clear(&mut out[written..at]);
                written = at + section.size as usize;
                let place = &mut out[at..written];
                match table(linked, &plan.contents, section.id, section.source) {
                    Some(table) => table.write(linked, plan.indices(), 0..place.len(), place),
                    None => sources
                        .next()
                        .map_or(Ok(()), |sources| write_section(linked, section, sources, place))?,
                }
            }
        }
        out[written..].fill(0);
        Ok(())
    }

    fn write_part(
        &self,
        section: usize,
        part: Range<usize>,
        out: &mut [u8],
    ) -> Result<(), Diagnostic> {
        let Some(section) = self.plan.section(section) else { return Ok(()) };
        match table(self.linked, &self.plan.contents, section.id, section.source) {
            Some(table) => table.write(self.linked, self.plan.indices(), part, out),
            None => divide::write(self.linked, &section, &part, out)?,
        }
        Ok(())
    }

    #[inline]
    fn section_headers(&self, sections: Range<usize>, take: impl FnMut(SectionHeader)) {
        headers::section_headers(self.linked, self.plan, sections, take);
    }
}

fn write_section(
    linked: Linked<'_, '_>,
    section: &FinalSection,
    sources: &Sources<'_, '_>,
    out: &mut [u8],
) -> Result<(), Diagnostic> {
    copy(linked, sources, 0, out);
    linked.layout.write_pieces(linked.cx, section.id, out);
    for patches in patches(linked, section.id) {
        for patch in patches {
            apply(patch, 0, out)?;
        }
    }
    Ok(())
}
