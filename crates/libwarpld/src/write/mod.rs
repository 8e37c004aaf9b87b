//! The final shape: which sections and symbols remain, their order and
//! numbers, and the bytes of everything the linker itself writes.

mod blocks;
pub(crate) mod contents;
mod divide;
mod notes;
mod places;
mod plan;
mod records;
pub mod serialize;
pub(crate) mod summary;
pub(crate) mod symbols;
pub(crate) mod tables;
mod unified;

use crate::ids::SectionId;
use crate::linked::Linked;
use crate::merge::Section;
pub use contents::Contents;
use cubin::consts::{shf, shn};
use cubin::raw::Shdr64;
pub use notes::ToolNotes;
pub use places::{FinalSection, Ordered};
pub use plan::Plan;
use std::ops::Range;
pub use summary::{ContentSource, SectionSummary, bucket, extent};
pub use symbols::Numbering;

/// Plans the file.
pub fn finalize<'a>(parts: Linked<'a, '_>) -> Plan<'a> {
    let mut facts = summary::collect(parts);
    let numbering = symbols::number(parts, &facts);
    let contents = contents::contents(parts, &numbering, &mut facts);
    let (order, mut index_of) = order(&facts);
    keep_common_number(parts, &mut index_of);
    Plan::new(parts, order, index_of, numbering, contents)
}

/// Quirk: in a relocatable file the section that was created with the number that stands
/// for common symbols keeps that, wherever it is referred to.
/// [4,685 objects of five functions behind 0 to 7 others that moved the numbers]
fn keep_common_number(parts: Linked<'_, '_>, index_of: &mut [u32]) {
    if !parts.cx.config.relocatable || !parts.merged.needs_symbol_sections() {
        return;
    }
    let common = |(section, _): &(&Section, &mut u32)| section.creation_index == shn::COMMON;
    if let Some((_, index)) = parts.merged.sections.iter().zip(index_of).find(common)
        && *index > 0
    {
        *index = shn::COMMON;
    }
}

/// The sections of the file in order, and the number of each section.
/// nvlink sorts sections into buckets and keeps creation order within each.
pub(crate) fn order(facts: &[SectionSummary]) -> (Vec<Ordered>, Vec<u32>) {
    // Where the sections of each bucket go.
    let mut next = [0; summary::GONE as usize + 2];
    for facts in facts {
        next[facts.bucket as usize + 1] += 1;
    }
    for i in 1..next.len() {
        next[i] += next[i - 1];
    }
    let count = next[summary::GONE as usize];
    let mut order = vec![Ordered { id: SectionId(0), facts: SectionSummary::default() }; count];
    let mut index_of = vec![0; facts.len()];
    for (i, &facts) in facts.iter().enumerate().filter(|(_, facts)| facts.exists()) {
        let at = &mut next[facts.bucket as usize];
        order[*at] = Ordered { id: SectionId(i as u32), facts };
        *at += 1;
        index_of[i] = *at as u32;
    }
    (order, index_of)
}

/// Flags in the file: barriers that became an attribute are gone.
#[inline]
pub(crate) fn flags(parts: Linked<'_, '_>, section: &Section) -> u64 {
    if section.flags() & shf::EXECINSTR == 0 || section.flags() & shf::BARRIERS_MASK == 0 {
        return section.flags();
    }
    let function = section.function.get().and_then(|f| parts.cx.graph.function(f));
    let changes = function.and_then(|f| parts.properties.attributes.get(&f));
    match changes {
        Some(changes) if changes.took_barriers => section.flags() & !shf::BARRIERS_MASK,
        _ => section.flags(),
    }
}

/// Hands over the headers of these sections in their order.
///
/// Sections that follow each other in the file lie far apart in memory, and so does what leads
/// from them to those they are about. To look that up for a number of them first lets the
/// processor wait for all at once.
#[inline]
pub fn headers(
    parts: Linked<'_, '_>,
    plan: &Plan<'_>,
    sections: Range<usize>,
    mut take: impl FnMut(Shdr64),
) {
    const TOGETHER: usize = 16;
    let mut sections = plan.sections(sections);
    let (mut some, mut subjects) = (Vec::with_capacity(TOGETHER), [0; TOGETHER]);
    while sections.advance(TOGETHER, &mut some) {
        for (subject, section) in subjects.iter_mut().zip(&some) {
            *subject = tables::subject(parts, section.id, &plan.index_of);
        }
        for (&subject, section) in subjects.iter().zip(&some) {
            take(header(parts, plan, section, subject));
        }
    }
}

/// The header of a section that is about the one with the number `subject`.
#[inline]
fn header(parts: Linked<'_, '_>, plan: &Plan<'_>, of: &FinalSection, subject: u32) -> Shdr64 {
    let section = parts.merged.section(of.id);
    let (link, info) =
        tables::link_and_info(parts, (of.id, subject), &plan.numbering, &plan.index_of);
    Shdr64 {
        sh_name: section.name.into(),
        sh_type: section.kind.0.into(),
        sh_flags: flags(parts, section).into(),
        sh_addr: 0.into(),
        sh_offset: of.offset.into(),
        sh_size: of.size.into(),
        sh_link: link.into(),
        sh_info: info.into(),
        sh_addralign: of.align.into(),
        sh_entsize: section.entsize().into(),
    }
}
