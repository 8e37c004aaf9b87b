//! The map of `--map` as text and as JSON.

use super::{Data, FORMAT, LinkMap, LinkReport};
use crate::collections::Map;
use crate::demangle::described;
use crate::json::{joined, json_option, json_string};
use cubin::words::shown;
use std::fmt::Write;

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
    variables_text(&mut out, report);
    for (index, node) in report.callgraph.iter().filter(|node| node.removed).enumerate() {
        if index == 0 {
            out.push_str("\nRemoved functions\n");
        }
        let file = shown(node.file.as_deref().unwrap_or("nowhere"));
        let _ = writeln!(out, "{:>12}  {} from {file}", node.size, described(&node.name));
    }
    out
}

/// Variables that have a place, by section.
fn variables(report: &LinkReport) -> Vec<(&str, &Data)> {
    let placed = report.data.iter().filter_map(|data| Some((data.section.as_deref()?, data)));
    let mut placed: Vec<(&str, &Data)> = placed.collect();
    placed.sort_by_key(|(section, data)| (*section, data.offset));
    placed
}

fn variables_text(out: &mut String, report: &LinkReport) {
    let variables = variables(report);
    if variables.is_empty() {
        return;
    }
    out.push_str("\nVariables\n      offset        size  name\n");
    for (section, data) in variables {
        let offset = format!("+{:#x}", data.offset);
        let file = shown(data.file.as_deref().unwrap_or("nowhere"));
        let (name, section) = (described(&data.name), shown(section));
        let _ = writeln!(out, "{offset:>12}  {:>10}  {name} in {section}, from {file}", data.size);
    }
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
    let Some(map) = &report.map else {
        return format!("{{\"format\":{FORMAT},\"report\":\"map\"}}\n");
    };
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
        let file = json_option(node.file.as_deref());
        format!("{{\"symbol\":{},\"size\":{},\"file\":{file}}}", json_string(&node.name), node.size)
    });
    let variables = variables(report).into_iter().map(|(section, data)| {
        format!(
            "{{\"symbol\":{},\"size\":{},\"file\":{},\"section\":{},\"offset\":{}}}",
            json_string(&data.name),
            data.size,
            json_option(data.file.as_deref()),
            json_string(section),
            data.offset
        )
    });
    format!(
        "{{\"format\":{FORMAT},\"report\":\"map\",\"size\":{},\"inputs\":[{}],\"sections\":[{}],\
         \"variables\":[{}],\"removed\":[{}]}}\n",
        map.size,
        joined(inputs),
        joined(sections),
        joined(variables),
        joined(removed)
    )
}

#[cfg(test)]
mod tests {
    use super::super::{CallGraphNode, MapPart, MapSection};
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
            data: vec![Data {
                name: "gv".into(),
                file: Some("b.o".into()),
                section: Some(".nv.global".into()),
                offset: 8,
                size: 4,
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
             Variables\n      offset        size  name\n        \
             +0x8           4  gv in .nv.global, from b.o\n\n\
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
        assert!(json.starts_with("{\"format\":1,\"report\":\"map\",\"size\":1000,\"inputs\":[{\"file\":\"a.o\",\"bytes\":128},"));
        let variable = "\"variables\":[{\"symbol\":\"gv\",\"size\":4,\"file\":\"b.o\",\
                        \"section\":\".nv.global\",\"offset\":8}]";
        assert!(json.contains(variable), "{json}");
        assert!(
            json.ends_with(
                "\"removed\":[{\"symbol\":\"_Z3fooi\",\"size\":64,\"file\":\"a.o\"}]}\n"
            )
        );
    }
}
