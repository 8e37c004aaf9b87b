//! `--map`: where the contents of the output come from.

use super::LinkReport;
use crate::collections::Map;
use crate::demangle::{described, text};
use crate::ids::{FunctionId, InputSection, SectionId};
use crate::json::json_string;
use crate::linked::Linked;
use crate::merge::Content;
use crate::write::Plan;
use cubin::names::prefix;
use cubin::words::shown;
use cubin::{Cubin, half};
use std::fmt::Write;

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

/// The map as text.
pub fn map_text(report: &LinkReport) -> String {
    let Some(map) = &report.map else { return String::new() };
    let mut out = format!("Output: {} bytes\n\nInputs\n", map.size);
    for (file, size) in totals(map) {
        let _ = writeln!(out, "{size:>12}  {}", shown(file));
    }
    out.push_str("\nSections\n      offset        size  name\n");
    for section in &map.sections {
        let _ = writeln!(
            out,
            "{:#12x}  {:>10}  {}",
            section.offset,
            section.size,
            shown(&section.name)
        );
        for part in &section.parts {
            let offset = match part.copied {
                true => format!("+{:#x}", part.offset),
                false => "from".into(),
            };
            let (size, section, file) = (part.size, shown(&part.section), shown(&part.file));
            let _ = writeln!(out, "{offset:>12}  {size:>10}      {section} of {file}");
        }
    }
    for (index, node) in report.callgraph.iter().filter(|node| node.removed).enumerate() {
        if index == 0 {
            out.push_str("\nRemoved functions\n");
        }
        let file = shown(node.file.as_deref().unwrap_or("nowhere"));
        let _ = writeln!(out, "{:>12}  {} from {file}", node.size, described(&node.name));
    }
    out
}

/// Bytes that each input contributed.
fn totals(map: &LinkMap) -> Vec<(&str, u64)> {
    let mut totals: Vec<(&str, u64)> = map.inputs.iter().map(|file| (file.as_str(), 0)).collect();
    let mut index = Map::default();
    for (i, file) in map.inputs.iter().enumerate() {
        index.entry(file.as_str()).or_insert(i);
    }
    let copied = map.sections.iter().flat_map(|section| &section.parts).filter(|part| part.copied);
    for part in copied {
        if let Some(total) = index.get(part.file.as_str()).and_then(|&i| totals.get_mut(i)) {
            total.1 = total.1.saturating_add(part.size);
        }
    }
    totals
}

/// The map as JSON.
pub fn map_json(report: &LinkReport) -> String {
    let Some(map) = &report.map else { return "{}\n".into() };
    let inputs = totals(map)
        .into_iter()
        .map(|(file, size)| format!("{{\"file\":{},\"bytes\":{size}}}", json_string(file)));
    let sections = map.sections.iter().map(|section| {
        let parts = section.parts.iter().map(|part| {
            format!(
                "{{\"file\":{},\"section\":{},\"offset\":{},\"size\":{},\"copied\":{}}}",
                json_string(&part.file),
                json_string(&part.section),
                part.offset,
                part.size,
                part.copied
            )
        });
        format!(
            "{{\"index\":{},\"name\":{},\"offset\":{},\"size\":{},\"parts\":[{}]}}",
            section.index,
            json_string(&section.name),
            section.offset,
            section.size,
            joined(parts)
        )
    });
    let removed = report.callgraph.iter().filter(|node| node.removed).map(|node| {
        let file = node.file.as_deref().map_or("null".into(), json_string);
        format!("{{\"symbol\":{},\"size\":{},\"file\":{file}}}", json_string(&node.name), node.size)
    });
    format!(
        "{{\"size\":{},\"inputs\":[{}],\"sections\":[{}],\"removed\":[{}]}}\n",
        map.size,
        joined(inputs),
        joined(sections),
        joined(removed)
    )
}

fn joined(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::super::CallGraphNode;
    use super::*;

    fn report() -> LinkReport {
        let part = |file: &str, offset, size| MapPart {
            file: file.into(),
            section: ".text.k".into(),
            offset,
            size,
            copied: true,
        };
        let section = MapSection {
            index: 1,
            name: ".text.k".into(),
            offset: 0x40,
            size: 384,
            in_file: true,
            function: None,
            parts: vec![part("a.o", 0, 128), part("b.o", 128, 256)],
        };
        LinkReport {
            map: Some(LinkMap {
                size: 1000,
                inputs: vec!["a.o".into(), "b.o".into()],
                sections: vec![section],
            }),
            callgraph: vec![CallGraphNode {
                name: "_Z3fooi".into(),
                removed: true,
                size: 64,
                file: Some("a.o".into()),
                ..CallGraphNode::default()
            }],
            ..LinkReport::default()
        }
    }

    #[test]
    fn text_for_people() {
        assert_eq!(
            map_text(&report()),
            "Output: 1000 bytes\n\nInputs\n         128  a.o\n         256  b.o\n\n\
             Sections\n      offset        size  name\n        0x40         384  .text.k\n        \
             +0x0         128      .text.k of a.o\n       \
             +0x80         256      .text.k of b.o\n\n\
             Removed functions\n          64  foo(int) [_Z3fooi] from a.o\n"
        );
    }

    /// NOBITS sections can claim any size.
    #[test]
    fn sizes_out_of_all_proportion() {
        let mut report = report();
        let sections = report.map.as_mut().map(|map| &mut map.sections);
        for part in sections.into_iter().flatten().flat_map(|section| &mut section.parts) {
            (part.file, part.size) = ("a.o".into(), u64::MAX - 1);
        }
        assert!(map_text(&report).contains(&format!("{}  a.o", u64::MAX)));
    }

    #[test]
    fn json_for_programs() {
        let json = map_json(&report());
        assert!(json.starts_with("{\"size\":1000,\"inputs\":[{\"file\":\"a.o\",\"bytes\":128},"));
        assert!(
            json.ends_with(
                "\"removed\":[{\"symbol\":\"_Z3fooi\",\"size\":64,\"file\":\"a.o\"}]}\n"
            )
        );
    }
}
