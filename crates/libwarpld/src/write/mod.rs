//! The output: which sections and symbols are live, their order and indices, the contents of
//! everything the linker creates, and the writer of all files.

mod blocks;
pub mod classic;
pub(crate) mod contents;
mod copy;
mod divide;
pub(crate) mod headers;
mod notes;
pub(crate) mod numbering;
mod offsets;
mod plan;
mod records;
pub(crate) mod summary;
pub(crate) mod symbols;
pub(crate) mod tables;
mod unified;
pub(crate) mod writer;

use crate::ids::SectionId;
use crate::linked::Linked;
use crate::merge::Section;
pub use blocks::{BUFFER_SIZE, Blocks, Destination, whole};
pub(crate) use blocks::{Extent, even_ends};
pub use contents::Contents;
use cubin::consts::{shf, shn};
pub use notes::ToolNotes;
pub use numbering::Numbering;
pub(crate) use offsets::FileCursor;
pub use offsets::{FinalSection, Ordered};
pub use plan::Plan;
pub use summary::{Bucket, ContentSource, SectionSummary, bucket, extent};
pub(crate) use writer::{OutputFile, check_proportion, most_bytes, write};

/// Plans the file.
pub fn plan<'a>(linked: Linked<'a, '_>) -> Plan<'a> {
    let mut summaries = summary::collect(linked);
    let numbering = symbols::number(linked, &summaries);
    let contents = contents::contents(linked, &numbering, &mut summaries, None);
    let (order, mut index_of) = order(&summaries);
    keep_common_number(linked, &mut index_of);
    Plan::new(linked, order, index_of, numbering, contents)
}

/// Quirk: in a relocatable file, the section created with index SHN_COMMON keeps that index in
/// every reference to it. [4,685 objects of five functions behind 0 to 7 others that moved the
/// numbers] [`a_relocatable_file_and_the_number_of_common_symbols`]
fn keep_common_number(linked: Linked<'_, '_>, index_of: &mut [u32]) {
    if !linked.cx.config.relocatable || !linked.merged.needs_symbol_sections() {
        return;
    }
    let common = |(section, _): &(&Section, &mut u32)| section.creation_index == shn::COMMON;
    if let Some((_, index)) = linked.merged.sections.iter().zip(index_of).find(common)
        && *index > 0
    {
        *index = shn::COMMON;
    }
}

/// The sections of the file in order, and the index of each section. nvlink sorts sections into
/// buckets and keeps creation order within each.
pub(crate) fn order(summaries: &[SectionSummary]) -> (Vec<Ordered>, Vec<u32>) {
    // Where the sections of each bucket start.
    let mut next = [0; Bucket::Gone as usize + 2];
    for summary in summaries {
        next[summary.bucket as usize + 1] += 1;
    }
    for i in 1..next.len() {
        next[i] += next[i - 1];
    }
    let count = next[Bucket::Gone as usize];
    let mut order =
        vec![Ordered { id: SectionId::new(0), summary: SectionSummary::default() }; count];
    let mut index_of = vec![0; summaries.len()];
    for (i, &summary) in summaries.iter().enumerate().filter(|(_, summary)| summary.exists()) {
        let at = &mut next[summary.bucket as usize];
        order[*at] = Ordered { id: SectionId::new(i), summary };
        *at += 1;
        index_of[i] = *at as u32;
    }
    (order, index_of)
}

/// Section flags in the file: barriers that became an attribute are cleared.
#[inline]
pub(crate) fn flags(linked: Linked<'_, '_>, section: &Section) -> u64 {
    if section.flags() & shf::EXECINSTR == 0 || section.flags() & shf::BARRIERS_MASK == 0 {
        return section.flags();
    }
    let function = section.function.get().and_then(|f| linked.cx.graph.function(f));
    let changes = function.and_then(|f| linked.properties.attributes.get(&f));
    match changes {
        Some(changes) if changes.took_barriers => section.flags() & !shf::BARRIERS_MASK,
        _ => section.flags(),
    }
}
