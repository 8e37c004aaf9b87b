//! The text form.

use super::attributes::{Tables, attribute_name, compat_name, edge, hex, value_text};
use super::capsule;
use super::functions::{Function, functions};
use super::names;
use super::table::{Align, Table};
use cubin::callgraph;
use cubin::classify::{self, SectionClass, SymbolClass};
use cubin::flags::{Flags, Identity};
use cubin::note::{self, NoteType, ToolInfo};
use cubin::relaction::RelActions;
use cubin::words::shown;
use cubin::{Cubin, FileType, RelocKind, SectionRef, SectionType, info};
use std::io::{self, Write};

/// Whether to colour headings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Text only.
    Plain,
    /// With escape sequences for a terminal.
    Colour,
}

/// What can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Part {
    Identity,
    Sections,
    Symbols,
    Relocations,
    Attributes,
    Callgraph,
    Capsules,
    Functions,
    Segments,
    Actions,
}

impl Part {
    /// All parts.
    pub const ALL: [Self; 10] = [
        Self::Identity,
        Self::Sections,
        Self::Symbols,
        Self::Relocations,
        Self::Attributes,
        Self::Callgraph,
        Self::Capsules,
        Self::Functions,
        Self::Segments,
        Self::Actions,
    ];

    /// Its name in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Sections => "sections",
            Self::Symbols => "symbols",
            Self::Relocations => "relocations",
            Self::Attributes => "attributes",
            Self::Callgraph => "callgraph",
            Self::Capsules => "capsules",
            Self::Functions => "functions",
            Self::Segments => "segments",
            Self::Actions => "actions",
        }
    }
}

/// Writes one file's view; all parts if `only` is empty.
pub fn render(
    out: &mut impl Write,
    name: &str,
    cubin: &Cubin<'_>,
    only: &[Part],
    style: Style,
) -> io::Result<()> {
    let mut view = View { out, cubin, tables: Tables::of(cubin), style };
    let wanted = |part| only.is_empty() || only.contains(&part);
    if wanted(Part::Identity) {
        view.identity(name)?;
    }
    if wanted(Part::Functions) {
        view.functions()?;
    }
    if wanted(Part::Sections) {
        view.sections()?;
    }
    if wanted(Part::Segments) {
        view.segments()?;
    }
    if wanted(Part::Symbols) {
        view.symbols()?;
    }
    if wanted(Part::Relocations) {
        view.relocations()?;
    }
    if wanted(Part::Actions) {
        view.actions()?;
    }
    if wanted(Part::Attributes) {
        view.attributes()?;
    }
    if wanted(Part::Callgraph) {
        view.call_graph()?;
    }
    // There are many items: only on request.
    if only.contains(&Part::Capsules) {
        view.capsules()?;
    }
    Ok(())
}

struct View<'o, 'c, 'a, W> {
    out: &'o mut W,
    cubin: &'c Cubin<'a>,
    tables: Tables<'c, 'a>,
    style: Style,
}

const NUMBER: Align = Align::Right;
const TEXT: Align = Align::Left;

impl<W: Write> View<'_, '_, '_, W> {
    fn heading(&mut self, text: &str) -> io::Result<()> {
        let text = shown(text);
        match self.style {
            Style::Plain => writeln!(self.out, "\n{text}"),
            Style::Colour => writeln!(self.out, "\n\x1b[1;36m{text}\x1b[0m"),
        }
    }

    fn strong(&self, text: &str) -> String {
        let text = shown(text);
        match self.style {
            Style::Plain => text.into_owned(),
            Style::Colour => format!("\x1b[1m{text}\x1b[0m"),
        }
    }

    fn identity(&mut self, name: &str) -> io::Result<()> {
        let header = self.cubin.header();
        let kind = match header.file_type {
            FileType::REL => "relocatable".to_owned(),
            FileType::EXEC => "executable".to_owned(),
            FileType::EWP => "extensible whole program".to_owned(),
            other => format!("type {}", names::file_type(other)),
        };
        let flags = Flags::decode(&header);
        let mut line = match Identity::of(self.cubin) {
            Ok(identity) => {
                let toolkit = identity.toolkit.map_or("?".into(), names::toolkit);
                let compute = identity.virtual_sm.map_or("?".into(), |n| n.to_string());
                format!(
                    "{kind} for {}, {}, compute_{compute}, CUDA {toolkit}, {}-bit addresses",
                    identity.arch,
                    names::state(identity.state),
                    identity.address_bits
                )
            }
            Err(error) => format!("{kind} for sm_{} ({error})", flags.sm()),
        };
        line.push_str(&format!(
            ", ABI {:#x}/{}, flags {:#x}",
            header.osabi(),
            header.abi_version(),
            header.flags
        ));
        let name = self.strong(name);
        writeln!(self.out, "{name}: {line}")?;
        self.producers()
    }

    fn producers(&mut self) -> io::Result<()> {
        for section in self.cubin.sections().iter().filter(|s| s.kind == SectionType::NOTE) {
            let notes = note::notes(section.data).map_while(Result::ok);
            for note in notes.filter(|n| n.kind == NoteType::TKINFO) {
                let Ok(tool) = ToolInfo::parse(note.desc) else { continue };
                let words = [tool.tool, tool.release, tool.build, tool.object, tool.options];
                let words: Vec<_> = words
                    .iter()
                    .map(|w| names::reference(w.trim_ascii()))
                    .filter(|w| !w.is_empty())
                    .collect();
                writeln!(self.out, "  made by {}", shown(&words.join(" | ")))?;
            }
        }
        Ok(())
    }

    fn functions(&mut self) -> io::Result<()> {
        let all = functions(self.cubin);
        for (heading, kernel) in [("Kernels", true), ("Device functions", false)] {
            let list: Vec<_> = all.iter().filter(|f| f.kernel == kernel).collect();
            if list.is_empty() {
                continue;
            }
            self.heading(heading)?;
            let mut table = Table::new(&[
                ("regs", NUMBER),
                ("bars", NUMBER),
                ("frame", NUMBER),
                ("stack", NUMBER),
                ("shared", NUMBER),
                ("local", NUMBER),
                ("constant", TEXT),
                ("params", NUMBER),
                ("code", NUMBER),
                ("name", TEXT),
            ]);
            for f in &list {
                table.row(function_row(f));
            }
            table.write(self.out)?;
            for f in list {
                self.parameters(f)?;
            }
        }
        Ok(())
    }

    fn parameters(&mut self, f: &Function<'_>) -> io::Result<()> {
        if f.parameters.is_empty() {
            return Ok(());
        }
        let base = f.parameter_bank.map_or(0, |b| b.offset.get());
        writeln!(self.out, "  parameters of {}", shown(&names::reference(f.name)))?;
        for p in &f.parameters {
            let (ordinal, offset, size) = (p.ordinal.get(), p.offset.get(), p.size());
            let place = u32::from(base) + u32::from(offset);
            writeln!(self.out, "    {ordinal}: {size} bytes at {offset:#x} (c[0][{place:#x}])")?;
        }
        Ok(())
    }

    fn sections(&mut self) -> io::Result<()> {
        self.heading("Sections")?;
        let mut table = Table::new(&[
            ("index", NUMBER),
            ("offset", NUMBER),
            ("size", NUMBER),
            ("align", NUMBER),
            ("entry", NUMBER),
            ("flags", NUMBER),
            ("link", NUMBER),
            ("info", NUMBER),
            ("type", TEXT),
            ("name", TEXT),
        ]);
        for s in self.cubin.sections().iter().skip(1) {
            table.row(vec![
                s.index.0.to_string(),
                format!("{:x}", s.offset),
                format!("{:x}", s.size),
                s.align.to_string(),
                s.entsize.to_string(),
                format!("{:x}", s.flags),
                s.link.to_string(),
                s.info.to_string(),
                names::section_type(s.kind),
                names::lossy(s.name).into_owned(),
            ]);
        }
        table.write(self.out)
    }

    fn symbols(&mut self) -> io::Result<()> {
        let tables = self.cubin.sections().iter();
        for s in tables.filter(|s| classify::section(s).class == SectionClass::Symbols) {
            let Ok(symbols) = self.cubin.symbol_table(&s) else { continue };
            self.heading(&format!("Symbols of {}", names::lossy(s.name)))?;
            let mut table = Table::new(&[
                ("index", NUMBER),
                ("value", NUMBER),
                ("size", NUMBER),
                ("bind", TEXT),
                ("class", TEXT),
                ("other", NUMBER),
                ("section", NUMBER),
                ("name", TEXT),
            ]);
            for symbol in symbols.iter().skip(1) {
                let section = match symbol.reserved {
                    true => names::reserved_section(symbol.shndx),
                    false => symbol.shndx.to_string(),
                };
                let class = classify::symbol(self.cubin, &symbol);
                table.row(vec![
                    symbol.index.0.to_string(),
                    format!("{:x}", symbol.value),
                    format!("{:x}", symbol.size),
                    names::binding(symbol.binding()),
                    names::symbol_class(class),
                    format!("{:x}", symbol.other),
                    section,
                    with_source_name(symbol.name, class),
                ]);
            }
            table.write(self.out)?;
        }
        Ok(())
    }

    fn relocations(&mut self) -> io::Result<()> {
        for s in self.cubin.sections() {
            if !matches!(
                classify::section(&s).class,
                SectionClass::Relocations { .. } | SectionClass::ResolvedRela
            ) {
                continue;
            }
            let target = self.cubin.section(s.info).map_or(&b"?"[..], |t| t.name);
            let (name, target) = (names::reference(s.name), names::reference(target));
            self.heading(&format!("Relocations {name} for {target}"))?;
            let mut table = Table::new(&[("offset", NUMBER), ("type", TEXT), ("symbol", TEXT)]);
            let symbols = self.tables.linked(&s);
            for r in self.cubin.relocs(&s).unwrap_or_default() {
                let symbol = symbols.name(r.symbol.0);
                let value = match r.addend {
                    Some(addend) if addend < 0 => {
                        format!("{symbol} - {:#x}", addend.unsigned_abs())
                    }
                    Some(addend) if addend > 0 => format!("{symbol} + {addend:#x}"),
                    _ => symbol,
                };
                table.row(vec![format!("{:x}", r.offset), names::reloc_kind(r.kind), value]);
            }
            table.write(self.out)?;
        }
        Ok(())
    }

    fn attributes(&mut self) -> io::Result<()> {
        for s in self.cubin.sections() {
            let name_of = match classify::section(&s).class {
                SectionClass::Info(_) => attribute_name,
                SectionClass::Compat => compat_name,
                _ => continue,
            };
            self.heading(&format!("Attributes of {}", names::reference(s.name)))?;
            self.records(&s, name_of)?;
        }
        Ok(())
    }

    fn records(&mut self, s: &SectionRef<'_>, name_of: fn(u8) -> String) -> io::Result<()> {
        let mut table = Table::new(&[("attribute", TEXT), ("value", TEXT)]);
        let symbols = self.tables.linked(s);
        let mut problem = None;
        for record in info::records(s.data) {
            match record {
                Ok(r) if s.kind == SectionType::CUDA_COMPAT_INFO => {
                    let value = match r.words().len() {
                        0 => r.value.to_string(),
                        _ => r.words().map(|w| format!("{w:#x}")).collect::<Vec<_>>().join(" "),
                    };
                    table.row(vec![name_of(r.code), value]);
                }
                Ok(r) => table.row(vec![name_of(r.code), value_text(&r, &symbols)]),
                Err(error) => problem = Some(error),
            }
        }
        if !table.is_empty() {
            table.write(self.out)?;
        }
        match problem {
            Some(error) => writeln!(self.out, "  {error}"),
            None => Ok(()),
        }
    }

    fn call_graph(&mut self) -> io::Result<()> {
        for s in self.cubin.sections() {
            let class = classify::section(&s).class;
            let symbols = self.tables.linked(&s);
            let mut lines = Vec::new();
            match class {
                SectionClass::CallGraph => {
                    let Ok(entries) = callgraph::entries(s.data) else { continue };
                    for (list, pair) in entries.map_while(Result::ok) {
                        let (first, second) = (pair.first.get(), pair.second.get());
                        lines.push(edge(list, first, second, &symbols));
                    }
                }
                SectionClass::Prototype => {
                    for pair in callgraph::pairs(s.data).unwrap_or_default() {
                        let prototype = symbols.string(pair.second.get()).unwrap_or_default();
                        lines.push(format!("{}: {prototype}", symbols.name(pair.first.get())));
                    }
                }
                _ => continue,
            }
            if lines.is_empty() {
                continue;
            }
            self.heading(match class {
                SectionClass::Prototype => "Prototypes",
                _ => "Call graph",
            })?;
            for line in lines {
                writeln!(self.out, "  {}", shown(&line))?;
            }
        }
        Ok(())
    }
}

impl<W: Write> View<'_, '_, '_, W> {
    fn capsules(&mut self) -> io::Result<()> {
        for section in self.cubin.sections() {
            let Some(found) = capsule::shown(self.cubin, &self.tables, &section) else { continue };
            self.heading(&format!("Capsule of {}", found.function))?;
            let capsule = &found.capsule;
            let header = found.header().map_or("none".into(), |word| format!("{word:#x}"));
            writeln!(
                self.out,
                "  code in section {}, header {header}, {} Mercury for {} machine instructions, {} items",
                capsule.text_section,
                capsule.count,
                capsule.sass_instructions(),
                capsule.items.len()
            )?;
            writeln!(self.out, "  mask {}", hex(capsule.mask))?;
            let mut table = Table::new(&[
                ("instruction", NUMBER),
                ("code", NUMBER),
                ("count", NUMBER),
                ("form", TEXT),
                ("bytes", TEXT),
            ]);
            for item in found.items() {
                table.row(vec![
                    item.instruction.to_string(),
                    format!("{:#x}", item.offset),
                    item.count.to_string(),
                    item.form.to_owned(),
                    hex(item.bytes),
                ]);
            }
            table.write(self.out)?;
            let mut table = Table::new(&[
                ("relocation", NUMBER),
                ("code", NUMBER),
                ("type", TEXT),
                ("symbol", TEXT),
            ]);
            for (reloc, place, name) in &found.relocs {
                table.row(vec![
                    format!("{:#x}", reloc.offset),
                    place.map_or("-".into(), |p| format!("{p:#x}")),
                    names::reloc_kind(reloc.kind),
                    name.clone(),
                ]);
            }
            if !table.is_empty() {
                table.write(self.out)?;
            }
        }
        Ok(())
    }
}

impl<W: Write> View<'_, '_, '_, W> {
    /// Program headers.
    fn segments(&mut self) -> io::Result<()> {
        let segments = self.cubin.segments().unwrap_or_default();
        if segments.is_empty() {
            return Ok(());
        }
        self.heading("Program headers")?;
        let mut table = Table::new(&[
            ("offset", NUMBER),
            ("address", NUMBER),
            ("file", NUMBER),
            ("memory", NUMBER),
            ("align", NUMBER),
            ("flags", NUMBER),
            ("type", TEXT),
            ("sections", TEXT),
        ]);
        for s in &segments {
            let end = s.offset.saturating_add(s.filesz.max(s.memsz));
            let inside = |at: u64, size: u64| at >= s.offset && at.saturating_add(size) <= end;
            let sections = self.cubin.sections().iter().skip(1);
            let inside =
                sections.filter(|section| section.size > 0 && inside(section.offset, section.size));
            let sections: Vec<_> = inside.map(|section| section.index.0.to_string()).collect();
            table.row(vec![
                format!("{:x}", s.offset),
                format!("{:x}", s.vaddr),
                format!("{:x}", s.filesz),
                format!("{:x}", s.memsz),
                s.align.to_string(),
                format!("{:x}", s.flags),
                names::segment_type(s.kind),
                sections.join(" "),
            ]);
        }
        table.write(self.out)
    }

    /// Recipes for relocation types that a driver may not know.
    fn actions(&mut self) -> io::Result<()> {
        for s in self.cubin.sections() {
            let Ok(actions) = RelActions::parse(s.data) else { continue };
            if classify::section(&s).class != SectionClass::RelAction {
                continue;
            }
            self.heading(&format!("Relocation actions of {}", names::reference(s.name)))?;
            let mut table = Table::new(&[
                ("type", TEXT),
                ("space", NUMBER),
                ("bits", TEXT),
                ("shift", NUMBER),
                ("then", TEXT),
                ("shift", NUMBER),
            ]);
            for (number, a) in (actions.first..).zip(actions.actions) {
                let kind = RelocKind(u32::try_from(number).unwrap_or(u32::MAX));
                let bits = |start: u8, width: u8| match width {
                    0 => "-".to_owned(),
                    _ => format!("{start}..{}", u16::from(start) + u16::from(width)),
                };
                table.row(vec![
                    names::reloc_kind(kind),
                    a.space.to_string(),
                    bits(a.start, a.width),
                    a.shift.to_string(),
                    bits(a.second_start, a.second_width),
                    a.second_shift.to_string(),
                ]);
            }
            table.write(self.out)?;
        }
        Ok(())
    }
}

fn function_row(f: &Function<'_>) -> Vec<String> {
    let amount = |value: Option<u32>| match value {
        Some(u32::MAX) => "?".to_owned(),
        Some(value) => value.to_string(),
        None => "-".to_owned(),
    };
    let banks: Vec<_> = f.constant.iter().map(|(bank, size)| format!("c{bank}:{size}")).collect();
    vec![
        amount(f.registers),
        f.barriers.unwrap_or(0).to_string(),
        amount(f.frame),
        amount(f.min_stack),
        f.shared.to_string(),
        f.local.to_string(),
        if banks.is_empty() { "-".to_owned() } else { banks.join(" ") },
        f.parameter_bank.map_or("-".to_owned(), |b| b.size.to_string()),
        f.code.to_string(),
        with_source_name(f.name, SymbolClass::Function),
    ]
}

/// The name, and its source form where that differs.
fn with_source_name(name: &[u8], class: SymbolClass) -> String {
    let symbol = names::lossy(name);
    match names::demangled(name).filter(|_| class != SymbolClass::Section) {
        Some(source) => format!("{symbol}  {source}"),
        None => symbol.into_owned(),
    }
}
