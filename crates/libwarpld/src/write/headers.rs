//! File header and section headers: what all kinds of files share, and the section headers of a
//! file with one half. [`cubin::encode`] encodes them.

use super::{FinalSection, Plan, flags, tables};
use crate::linked::Linked;
use crate::merge::Synthetic;
use cubin::encode::{HeaderTables, SectionHeader};
use cubin::flags::FlagsV8;
use cubin::{FileType, Header};
use std::ops::Range;

/// The header of a file with code of this kind (see [`cubin::flags::v8`]), whose sections have the
/// indices `index_of`.
pub(crate) fn file_header(
    linked: Linked<'_, '_>,
    kind: u8,
    index_of: &[u32],
    tables: &HeaderTables,
) -> Header {
    let config = linked.cx.config;
    let file_type = if config.relocatable { FileType::REL } else { FileType::EXEC };
    let note = linked.merged.synthetic(Synthetic::VersionNote);
    let note = note.map_or(0, |id| index_of[id.index()]);
    Header::v8(file_type, FlagsV8::new(kind, config.arch.number, note), tables)
}

/// Passes on the headers of these sections in order.
///
/// Sections that are adjacent in the file are far apart in memory, and so are the links to the
/// sections they refer to. Looking those up for a whole batch first lets the processor overlap the
/// cache misses.
#[inline]
pub(super) fn section_headers(
    linked: Linked<'_, '_>,
    plan: &Plan<'_>,
    sections: Range<usize>,
    mut take: impl FnMut(SectionHeader),
) {
    let mut sections = plan.sections(sections);
    let (mut batch, mut subjects) = (Vec::new(), Vec::new());
    while sections.next_batch(&mut batch) {
        subjects.clear();
        subjects.extend(batch.iter().map(|s| tables::subject(linked, s.id, &plan.index_of)));
        for (&subject, section) in subjects.iter().zip(&batch) {
            take(section_header(linked, plan, section, subject));
        }
    }
}

/// The header of a section that refers to the one with index `subject`.
#[inline]
fn section_header(
    linked: Linked<'_, '_>,
    plan: &Plan<'_>,
    of: &FinalSection,
    subject: u32,
) -> SectionHeader {
    let section = linked.merged.section(of.id);
    let (link, info) =
        tables::link_and_info(linked, (of.id, subject), &plan.numbering, &plan.index_of);
    SectionHeader {
        name: section.name,
        kind: section.kind,
        flags: flags(linked, section),
        addr: 0,
        offset: of.offset,
        size: of.size,
        link,
        info,
        align: of.align,
        entsize: section.entsize(),
    }
}
