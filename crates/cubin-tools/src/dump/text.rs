//! The text form.

use super::attributes::{Tables, attribute_name, compat_name, edge, value_text};
use super::functions::{Function, kept_functions};
use super::names;
use super::options::{Filter, Options, Part, Style};
use super::table::{Align, Table};
use super::wrap::wrapped;
use cubin::callgraph;
use cubin::classify::{self, SectionClass, SymbolClass};
use cubin::flags::{Flags, Identity};
use cubin::note::{self, NoteType, ToolInfo};
use cubin::words::shown;
use cubin::{Cubin, FileType, SectionRef, SectionType, info};
use std::io::{self, Write};

/// Writes one file's view.
pub fn render(
    out: &mut impl Write,
    name: &str,
    cubin: &Cubin<'_>,
    options: &Options,
) -> io::Result<()> {
    let mut view = View { out, cubin, tables: Tables::of(cubin), options };
    let wanted = |part| options.wants(part);
    if wanted(Part::Identity) {
        view.identity(name)?;
    } else if options.named {
        let name = view.strong(name);
        writeln!(view.out, "{name}:")?;
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
    if wanted(Part::Capsules) {
        view.capsules()?;
    }
    if wanted(Part::Lines) {
        view.lines()?;
    }
    if wanted(Part::Code) {
        view.code()?;
    }
    if wanted(Part::Hex) {
        view.bytes()?;
    }
    Ok(())
}

pub(super) struct View<'o, 'c, 'a, W> {
    pub(super) out: &'o mut W,
    pub(super) cubin: &'c Cubin<'a>,
    pub(super) tables: Tables<'c, 'a>,
    pub(super) options: &'o Options,
}

pub(super) const NUMBER: Align = Align::Right;
pub(super) const TEXT: Align = Align::Left;

impl<'a, W: Write> View<'_, '_, 'a, W> {
    pub(super) fn heading(&mut self, text: &str) -> io::Result<()> {
        let text = self.fitting(&shown(text), 0, 2);
        match self.options.style {
            Style::Plain => writeln!(self.out, "\n{text}"),
            Style::Colour => writeln!(self.out, "\n\x1b[1;36m{text}\x1b[0m"),
        }
    }

    /// A line of the terminal's width, or several. The first has `first` columns less.
    fn fitting(&self, text: &str, first: usize, indent: usize) -> String {
        match self.options.width {
            Some(width) => wrapped(text, width, first, indent),
            None => text.to_owned(),
        }
    }

    /// Writes a line below a heading.
    pub(super) fn line(&mut self, text: &str) -> io::Result<()> {
        let text = self.fitting(&format!("  {}", shown(text)), 0, 6);
        writeln!(self.out, "{text}")
    }

    pub(super) fn table(&mut self, table: &Table) -> io::Result<()> {
        table.write(self.out, self.options.width)
    }

    /// The sections that are shown.
    pub(super) fn kept(&self) -> Vec<SectionRef<'a>> {
        let (cubin, filter) = (self.cubin, &self.options.filter);
        let sections = cubin.sections().iter();
        sections.filter(|section| filter.is_empty() || filter.has_section(cubin, section)).collect()
    }

    fn strong(&self, text: &str) -> String {
        let text = shown(text);
        match self.options.style {
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
        let taken = shown(name).chars().count() + 2;
        let line = match self.options.width {
            Some(width) if taken > width / 2 => {
                format!("\n  {}", wrapped(&line, width, 2, 2))
            }
            _ => format!(" {}", self.fitting(&line, taken, 2)),
        };
        let name = self.strong(name);
        writeln!(self.out, "{name}:{line}")?;
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
                self.line(&format!("made by {}", words.join(" | ")))?;
            }
        }
        Ok(())
    }

    fn functions(&mut self) -> io::Result<()> {
        let all = kept_functions(self.cubin, self.options);
        for (heading, kernel) in [("Kernels", true), ("Device functions", false)] {
            let list: Vec<_> = all.iter().filter(|f| f.kernel == kernel).collect();
            if list.is_empty() {
                continue;
            }
            self.heading(heading)?;
            let images = list.iter().any(|f| f.images.iter().any(|count| *count > 0));
            let mut columns = vec![
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
            ];
            if images {
                columns.splice(8..8, IMAGES);
            }
            let mut table = Table::new(&columns);
            for f in &list {
                table.row(function_row(f, images));
            }
            self.table(&table)?;
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
        self.line(&format!("parameters of {}", names::reference(f.name)))?;
        for p in &f.parameters {
            let (ordinal, offset, size) = (p.ordinal.get(), p.offset.get(), p.size());
            let place = u32::from(base) + u32::from(offset);
            writeln!(self.out, "    {ordinal}: {size} bytes at {offset:#x} (c[0][{place:#x}])")?;
        }
        Ok(())
    }

    fn sections(&mut self) -> io::Result<()> {
        let mut sections: Vec<_> = self.kept().into_iter().filter(|s| s.index.0 != 0).collect();
        if sections.is_empty() {
            return Ok(());
        }
        self.options.sort.apply(&mut sections, |s| (s.name, s.size));
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
        for s in sections {
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
        self.table(&table)
    }

    fn symbols(&mut self) -> io::Result<()> {
        let tables = self.cubin.sections().iter();
        for s in tables.filter(|s| classify::section(s).class == SectionClass::Symbols) {
            let Ok(symbols) = self.cubin.symbol_table(&s) else { continue };
            let filter = &self.options.filter;
            let kept = symbols.iter().skip(1).filter(|s| filter.has_symbol(self.cubin, s));
            let mut kept: Vec<_> = kept.collect();
            if kept.is_empty() && !filter.is_empty() {
                continue;
            }
            self.options.sort.apply(&mut kept, |symbol| (symbol.name, symbol.size));
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
            for symbol in kept {
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
            self.table(&table)?;
        }
        Ok(())
    }

    fn relocations(&mut self) -> io::Result<()> {
        for s in self.kept() {
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
            self.table(&table)?;
        }
        Ok(())
    }

    fn attributes(&mut self) -> io::Result<()> {
        for s in self.kept() {
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
            self.table(&table)?;
        }
        match problem {
            Some(error) => writeln!(self.out, "  {error}"),
            None => Ok(()),
        }
    }

    fn call_graph(&mut self) -> io::Result<()> {
        let filter = &self.options.filter;
        // The graph is of all functions, so it belongs to none.
        let whole = Filter { functions: Vec::new(), ..filter.clone() };
        for s in self.cubin.sections() {
            if !whole.has_section(self.cubin, &s) {
                continue;
            }
            let class = classify::section(&s).class;
            let symbols = self.tables.linked(&s);
            let name = |index: u32| symbols.name(index);
            let is_kept = |index: u32| filter.has_name(name(index).as_bytes());
            let mut lines = Vec::new();
            match class {
                SectionClass::CallGraph => {
                    let Ok(entries) = callgraph::entries(s.data) else { continue };
                    for (list, pair) in entries.map_while(Result::ok) {
                        let (first, second) = (pair.first.get(), pair.second.get());
                        if is_kept(first) || list.second_is_symbol() && is_kept(second) {
                            lines.push(edge(list, first, second, &symbols));
                        }
                    }
                }
                SectionClass::Prototype => {
                    for pair in callgraph::pairs(s.data).unwrap_or_default() {
                        if !is_kept(pair.first.get()) {
                            continue;
                        }
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
                self.line(&line)?;
            }
        }
        Ok(())
    }
}

/// The columns of functions that use images.
const IMAGES: [(&str, Align); 3] = [("tex", NUMBER), ("surf", NUMBER), ("samp", NUMBER)];

fn function_row(f: &Function<'_>, images: bool) -> Vec<String> {
    let amount = |value: Option<u32>| match value {
        Some(u32::MAX) => "?".to_owned(),
        Some(value) => value.to_string(),
        None => "-".to_owned(),
    };
    let banks: Vec<_> = f.constant.iter().map(|(bank, size)| format!("c{bank}:{size}")).collect();
    let mut cells = vec![
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
    ];
    if images {
        cells.splice(8..8, f.images.iter().map(ToString::to_string));
    }
    cells
}

/// The name, and its source form where that differs.
fn with_source_name(name: &[u8], class: SymbolClass) -> String {
    let symbol = names::lossy(name);
    match names::demangled(name).filter(|_| class != SymbolClass::Section) {
        Some(source) => format!("{symbol}  {source}"),
        None => symbol.into_owned(),
    }
}
