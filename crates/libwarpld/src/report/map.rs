//! Where the contents of the output come from, for `--map`.

use crate::collections::Map;
use crate::demangle::text;
use crate::ids::{FunctionId, InputSection, SectionId};
use crate::linked::Linked;
use crate::merge::Content;
use crate::write::Plan;
use cubin::names::prefix;
use cubin::{Cubin, half};

/// A part of an output section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapPart {
    /// The input it comes from.
    pub file: String,
    /// Its section there.
    pub section: String,
    /// Offset in the output section.
    pub offset: u64,
    /// Bytes of the input section.
    pub size: u64,
    /// Whether the bytes are copied; otherwise the linker builds records or relocations from them.
    pub copied: bool,
}

/// An output section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapSection {
    /// Index in the file.
    pub index: usize,
    /// Name.
    pub name: String,
    /// Offset in the file.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Whether the file has these bytes; some sections only claim memory.
    pub in_file: bool,
    /// The function it belongs to, by its index in the call graph.
    pub function: Option<usize>,
    /// Its parts in order; empty if the linker created it.
    pub parts: Vec<MapPart>,
}

/// Where the contents of the output come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkMap {
    /// Bytes of the whole file.
    pub size: u64,
    /// Inputs in link order.
    pub inputs: Vec<String>,
    /// Sections in file order.
    pub sections: Vec<MapSection>,
}

/// Collects the map of a planned file.
pub fn collect_map(linked: Linked<'_, '_>, plan: &Plan<'_>) -> LinkMap {
    let sections = plan.sections(0..plan.section_count()).enumerate();
    let sections = sections.map(|(index, section)| MapSection {
        index: index + 1,
        name: text(linked.merged.section_name(section.id)),
        offset: section.offset,
        size: section.size,
        in_file: section.has_bytes,
        function: owner(linked, section.id),
        parts: pieces(linked, section.id, Half::Only),
    });
    LinkMap {
        size: plan.tables.end(),
        inputs: linked.cx.objects.iter().map(|object| object.name.to_owned()).collect(),
        sections: sections.collect(),
    }
}

/// Collects the map of a capsule file from its bytes. Both halves of an output section come from
/// the halves of the same inputs.
pub fn collect_map_of_halves(linked: Linked<'_, '_>, image: &[u8]) -> Option<LinkMap> {
    let file = Cubin::parse(image).ok()?;
    let merged = linked.merged;
    let ids = merged.sections.ids();
    let ids = ids.filter(|&id| merged.section(id).name > 0);
    let by_name: Map<&[u8], SectionId> = ids.map(|id| (merged.section_name(id), id)).collect();
    let sections = file.sections().iter().skip(1).map(|section| {
        let (half, name) = match half::is_mercury(&section) {
            false => (Half::Machine, section.name),
            true => match section.name.strip_prefix(prefix::CAPSULE) {
                Some(name) => (Half::Mercury, name),
                None => {
                    (Half::Shared, section.name.strip_prefix(prefix::MERCURY).unwrap_or_default())
                }
            },
        };
        let id = by_name.get(name).copied();
        MapSection {
            index: section.index.0 as usize,
            name: text(section.name),
            offset: section.offset,
            size: section.size,
            in_file: !section.kind.is_nobits(),
            function: id.and_then(|id| owner(linked, id)),
            parts: id.map(|id| pieces(linked, id, half)).unwrap_or_default(),
        }
    });
    Some(LinkMap {
        size: image.len() as u64,
        inputs: linked.cx.objects.iter().map(|object| object.name.to_owned()).collect(),
        sections: sections.collect(),
    })
}

/// The function that a section, or the section that it relocates, belongs to.
fn owner(linked: Linked<'_, '_>, id: SectionId) -> Option<usize> {
    let section = linked.merged.section(id);
    let of_target = || linked.merged.section(section.relocates()?).function.get();
    let symbol = section.function.get().or_else(of_target)?;
    linked.cx.graph.function(symbol).map(FunctionId::index)
}

/// Which half of an output, and of its inputs, a section belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    /// The file has one half.
    Only,
    /// Machine code, and data of both halves.
    Machine,
    /// Capsules.
    Mercury,
    /// The Mercury counterpart of a section of the machine half.
    Shared,
}

fn pieces(linked: Linked<'_, '_>, id: SectionId, half: Half) -> Vec<MapPart> {
    let piece = |from, offset, copied| piece(linked, from, offset, copied, half);
    match linked.merged.section(id).content() {
        Content::Chunks(_) => linked
            .layout
            .chunks(linked.merged, id)
            .iter()
            .filter_map(|chunk| piece(chunk.from, chunk.offset, half != Half::Shared))
            .collect(),
        Content::Attributes(sources) | Content::Relocs(_, sources) => {
            sources.iter().filter_map(|&from| piece(from, 0, false)).collect()
        }
        _ => Vec::new(),
    }
}

fn piece(
    linked: Linked<'_, '_>,
    from: InputSection,
    offset: u64,
    copied: bool,
    half: Half,
) -> Option<MapPart> {
    let object = linked.cx.objects.get(from.object)?;
    let machine = match half {
        Half::Machine => object.halves.as_ref().and_then(|halves| halves.counterpart(from.section)),
        _ => None,
    };
    let section = machine.or_else(|| object.cubin.section(from.section))?;
    Some(MapPart {
        file: object.name.to_owned(),
        section: text(section.name),
        offset,
        size: section.size,
        copied,
    })
}
