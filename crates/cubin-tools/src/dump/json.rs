//! The JSON form. Its keys are stable; new ones may be added.

use super::attributes::{Tables, attribute_name, compat_name, hex, record_json};
use super::functions::{Function, kept_functions};
use super::options::{Options, Part};
use super::{capsule, code, lines, names};
use cubin::classify::{self, SectionClass};
use cubin::flags::{CodeState, Flags, Identity};
use cubin::note::{self, CudaInfo, NoteType, ToolInfo};
use cubin::relaction::RelActions;
use cubin::{Cubin, RelocKind, SectionRef, SectionType, SymbolTable, callgraph, info};
use libwarpld::driver::is_meant;
use serde_json::{Map, Value, json};

/// Version of the form; incremented when a key changes its meaning or is removed.
pub const FORMAT: u32 = 1;

/// Describes one file.
pub fn describe(name: &str, cubin: &Cubin<'_>) -> Value {
    describe_with(name, cubin, &Options::default())
}

/// Describes one file: what passes the filter, in the order that is asked for, and lines, code and
/// bytes if they are. The other parts are always there.
pub fn describe_with(name: &str, cubin: &Cubin<'_>, options: &Options) -> Value {
    let filter = &options.filter;
    let mut out = Map::new();
    out.insert("file".into(), name.into());
    out.insert("identity".into(), identity(cubin));
    out.insert("notes".into(), notes(cubin));
    let kept = |s: &SectionRef<'_>| filter.is_empty() || filter.has_section(cubin, s);
    let sections: Vec<_> = cubin.sections().iter().filter(kept).collect();
    let mut sorted = sections.clone();
    options.sort.apply(&mut sorted, |s| (s.name, s.size));
    out.insert("sections".into(), sorted.iter().map(section).collect());
    out.insert("segments".into(), segments(cubin));
    let tables = Tables::of(cubin);
    out.insert("symbols".into(), symbols(cubin, &tables, SectionType::SYMTAB, options));
    let mercury = symbols(cubin, &tables, SectionType::CUDA_MERCURY_SYMTAB, options);
    out.insert("mercury_symbols".into(), mercury);
    let each = |f: &dyn Fn(&SectionRef<'_>) -> Option<Value>| -> Value {
        sections.iter().filter_map(f).collect()
    };
    out.insert("relocations".into(), each(&|s| relocations(cubin, &tables, s)));
    out.insert("attributes".into(), each(&|s| attributes(&tables, s)));
    out.insert("compat".into(), each(&compat));
    out.insert("callgraph".into(), each(&|s| call_graph(&tables, s)));
    out.insert("prototypes".into(), each(&|s| prototypes(&tables, s)));
    out.insert("rel_actions".into(), each(&rel_actions));
    out.insert(
        "capsules".into(),
        each(&|s| Some(capsule::shown(cubin, &tables, &cubin.section(s.index.0)?)?.json())),
    );
    out.insert("functions".into(), kept_functions(cubin, options).iter().map(function).collect());
    if options.only.contains(&Part::Lines) {
        out.insert("lines".into(), lines::json(cubin, filter));
    }
    if options.only.contains(&Part::Code) {
        out.insert("code".into(), code::json(cubin, options));
    }
    if !options.hex.is_empty() {
        let meant = |s: &SectionRef<'_>| is_meant(&names::lossy(s.name), &options.hex);
        let meant = cubin.sections().iter().filter(meant);
        let bytes = |s: SectionRef<'_>| json!({ "section": s.index.0, "name": names::lossy(s.name), "bytes": hex(s.data) });
        out.insert("hex".into(), meant.map(bytes).collect());
    }
    Value::Object(out)
}

fn identity(cubin: &Cubin<'_>) -> Value {
    let header = cubin.header();
    let state = Flags::decode(&header).state();
    let mut out = json!({
        "class": match header.class { cubin::Class::Elf32 => 32, cubin::Class::Elf64 => 64 },
        "type": names::file_type(header.file_type),
        "osabi": header.osabi(),
        "abi": header.abi_version(),
        "version": header.version,
        "flags": header.flags,
        "state": match state {
            CodeState::Sass => "sass",
            CodeState::CapsuleMercury => "capsule-mercury",
            CodeState::Mercury => "mercury",
        },
    });
    if let Ok(identity) = Identity::of(cubin) {
        out["arch"] = json!(identity.arch.to_string());
        out["sm"] = json!(identity.arch.number);
        out["virtual_sm"] = json!(identity.virtual_sm);
        out["toolkit"] = json!(identity.toolkit.map(names::toolkit));
        out["address_bits"] = json!(identity.address_bits);
    }
    out
}

fn notes(cubin: &Cubin<'_>) -> Value {
    let mut out = Vec::new();
    for section in cubin.sections().iter().filter(|s| s.kind == SectionType::NOTE) {
        for note in note::notes(section.data).map_while(Result::ok) {
            let mut entry = json!({
                "section": section.index.0,
                "owner": names::lossy(note.owner.strip_suffix(b"\0").unwrap_or(note.owner)),
                "type": note.kind.0,
            });
            note_content(&note, &mut entry);
            out.push(entry);
        }
    }
    out.into()
}

fn note_content(note: &note::Note<'_>, entry: &mut Value) {
    match note.kind {
        NoteType::TKINFO => {
            if let Ok(tool) = ToolInfo::parse(note.desc) {
                entry["version"] = json!(tool.version);
                entry["object"] = json!(names::reference(tool.object));
                entry["tool"] = json!(names::reference(tool.tool));
                entry["release"] = json!(names::reference(tool.release));
                entry["build"] = json!(names::reference(tool.build));
                entry["options"] = json!(names::reference(tool.options));
                return;
            }
        }
        NoteType::CUINFO => {
            if let Ok(cuda) = CudaInfo::parse(note.desc) {
                entry["version"] = json!(cuda.version.get());
                entry["virtual_sm"] = json!(cuda.virtual_sm.get());
                entry["toolkit"] = json!(names::toolkit(cuda.toolkit.get()));
                return;
            }
        }
        _ => {}
    }
    entry["bytes"] = json!(hex(note.desc));
}

fn section(s: &SectionRef<'_>) -> Value {
    let classified = classify::section(s);
    json!({
        "index": s.index.0,
        "name": names::lossy(s.name),
        "type": names::section_type(s.kind),
        "type_number": s.kind.0,
        "flags": s.flags,
        "address": s.addr,
        "offset": s.offset,
        "size": s.size,
        "link": s.link,
        "info": s.info,
        "align": s.align,
        "entry_size": s.entsize,
        "class": names::section_class(classified.class),
        "mercury": classified.mercury,
    })
}

fn segments(cubin: &Cubin<'_>) -> Value {
    let segments = cubin.segments().unwrap_or_default();
    let segment = |s: &cubin::Segment| {
        json!({
            "type": s.kind.0,
            "flags": s.flags,
            "offset": s.offset,
            "address": s.vaddr,
            "file_size": s.filesz,
            "memory_size": s.memsz,
            "align": s.align,
        })
    };
    segments.iter().map(segment).collect()
}

/// The first table of this type.
fn symbols<'a>(
    cubin: &Cubin<'a>,
    tables: &Tables<'_, 'a>,
    kind: SectionType,
    options: &Options,
) -> Value {
    let symbol = |s: &cubin::SymbolRef<'a>| {
        let mut out = json!({
            "index": s.index.0,
            "name": names::lossy(s.name),
            "value": s.value,
            "size": s.size,
            "info": s.info,
            "binding": names::binding(s.binding()),
            "type": names::symbol_type(s.kind()),
            "other": s.other,
            "section": s.shndx,
            "class": names::symbol_class(classify::symbol(cubin, s)),
        });
        if let Some(demangled) = names::demangled(s.name) {
            out["demangled"] = json!(demangled);
        }
        out
    };
    let of_kind =
        |t: &&SymbolTable<'a>| cubin.section(t.section().0).is_some_and(|s| s.kind == kind);
    let all = tables.iter().find(of_kind).into_iter().flat_map(|t| t.iter());
    let mut kept: Vec<_> = all.filter(|s| options.filter.has_symbol(cubin, s)).collect();
    options.sort.apply(&mut kept, |s| (s.name, s.size));
    kept.iter().map(symbol).collect()
}

fn relocations(cubin: &Cubin<'_>, tables: &Tables<'_, '_>, s: &SectionRef<'_>) -> Option<Value> {
    let section = cubin.section(s.index.0)?;
    if !matches!(
        classify::section(&section).class,
        SectionClass::Relocations { .. } | SectionClass::ResolvedRela
    ) {
        return None;
    }
    let symbols = tables.linked(&section);
    let entry = |r: &cubin::Reloc| {
        json!({
            "offset": r.offset,
            "type": names::reloc_kind(r.kind),
            "type_number": r.kind.0,
            "symbol": r.symbol.0,
            "name": names::symbol_reference(cubin, symbols.table.as_ref(), r.symbol.0),
            "addend": r.addend,
        })
    };
    let entries: Value = cubin.relocs(&section).unwrap_or_default().iter().map(entry).collect();
    Some(json!({ "section": section.index.0, "target": section.info, "entries": entries }))
}

fn attributes(tables: &Tables<'_, '_>, s: &SectionRef<'_>) -> Option<Value> {
    let classified = classify::section(s);
    let SectionClass::Info(function) = classified.class else { return None };
    let symbols = tables.linked(s);
    let records: Value = info::records(s.data)
        .map_while(Result::ok)
        .map(|r| record_json(&r, attribute_name(r.code), Some(&symbols)))
        .collect();
    Some(json!({
        "section": s.index.0,
        "function": function.map(names::reference),
        "mercury": classified.mercury,
        "records": records,
    }))
}

fn compat(s: &SectionRef<'_>) -> Option<Value> {
    if classify::section(s).class != SectionClass::Compat {
        return None;
    }
    let records: Value = info::records(s.data)
        .map_while(Result::ok)
        .map(|r| record_json(&r, compat_name(r.code), None))
        .collect();
    Some(json!({ "section": s.index.0, "records": records }))
}

fn call_graph(tables: &Tables<'_, '_>, s: &SectionRef<'_>) -> Option<Value> {
    if classify::section(s).class != SectionClass::CallGraph {
        return None;
    }
    let symbols = tables.linked(s);
    let entry = |(list, pair): (callgraph::List, cubin::raw::Pair)| {
        let (first, second) = (pair.first.get(), pair.second.get());
        let kind = match list {
            callgraph::List::Calls => "calls",
            callgraph::List::AddressTaken => "address-taken",
            callgraph::List::IndirectCalls => "calls-through",
            callgraph::List::TakesAddress => "takes-address",
        };
        match list.second_is_symbol() {
            true => json!({ "kind": kind, "from": first, "to": second }),
            false => {
                json!({ "kind": kind, "from": first, "prototype": symbols.string(second) })
            }
        }
    };
    let entries: Value =
        callgraph::entries(s.data).ok()?.map_while(Result::ok).map(entry).collect();
    Some(json!({ "section": s.index.0, "entries": entries }))
}

fn prototypes(tables: &Tables<'_, '_>, s: &SectionRef<'_>) -> Option<Value> {
    if classify::section(s).class != SectionClass::Prototype {
        return None;
    }
    let symbols = tables.linked(s);
    let entry = |p: &cubin::raw::Pair| json!({ "function": p.first.get(), "prototype": symbols.string(p.second.get()) });
    let entries: Value = callgraph::pairs(s.data).ok()?.iter().map(entry).collect();
    Some(json!({ "section": s.index.0, "entries": entries }))
}

fn rel_actions(s: &SectionRef<'_>) -> Option<Value> {
    if classify::section(s).class != SectionClass::RelAction {
        return None;
    }
    let actions = RelActions::parse(s.data).ok()?;
    let entry = |(i, a): (usize, &cubin::relaction::Action)| {
        let number = actions.first.saturating_add(i as u64);
        json!({
            "type": names::reloc_kind(RelocKind(u32::try_from(number).unwrap_or(u32::MAX))),
            "type_number": number,
            "space": a.space,
            "fields": [
                { "start": a.start, "width": a.width, "shift": a.shift },
                { "start": a.second_start, "width": a.second_width, "shift": a.second_shift },
            ],
        })
    };
    let entries: Value = actions.actions.iter().enumerate().map(entry).collect();
    Some(json!({ "section": s.index.0, "entries": entries }))
}

fn function(f: &Function<'_>) -> Value {
    let parameter = |p: &cubin::attr::KernelParam| json!({ "ordinal": p.ordinal.get(), "offset": p.offset.get(), "size": p.size() });
    let banks: Map<String, Value> =
        f.constant.iter().map(|(bank, size)| (bank.to_string(), json!(size))).collect();
    json!({
        "name": names::lossy(f.name),
        "demangled": names::demangled(f.name),
        "kernel": f.kernel,
        "code_size": f.code,
        "registers": f.registers,
        "barriers": f.barriers.unwrap_or(0),
        "frame_size": f.frame,
        "min_stack_size": f.min_stack,
        "shared_size": f.shared,
        "local_size": f.local,
        "constant_sizes": banks,
        "parameter_offset": f.parameter_bank.map(|b| b.offset.get()),
        "parameter_size": f.parameter_bank.map(|b| b.size.get()),
        "textures": f.images[0],
        "surfaces": f.images[1],
        "samplers": f.images[2],
        "parameters": f.parameters.iter().map(parameter).collect::<Vec<_>>(),
    })
}
