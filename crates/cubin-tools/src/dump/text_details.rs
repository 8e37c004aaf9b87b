//! The text form of what has tables of its own: capsules, program headers, relocation actions, lines,
//! code, bytes.

use super::attributes::hex as hex_text;
use super::table::Table;
use super::text::{NUMBER, TEXT, View};
use super::{capsule, code, hex, lines, names};
use cubin::RelocKind;
use cubin::classify::{self, SectionClass};
use cubin::relaction::RelActions;
use libwarpld::driver::is_meant;
use std::io::{self, Write};

impl<W: Write> View<'_, '_, '_, W> {
    pub(super) fn capsules(&mut self) -> io::Result<()> {
        for section in self.kept() {
            let Some(found) = capsule::shown(self.cubin, &self.tables, &section) else { continue };
            self.heading(&format!("Capsule of {}", found.function))?;
            let capsule = &found.capsule;
            let header = found.header().map_or("none".into(), |word| format!("{word:#x}"));
            self.line(&format!(
                "code in section {}, header {header}, {} Mercury for {} machine instructions, {} items",
                capsule.text_section,
                capsule.count,
                capsule.sass_instructions(),
                capsule.items.len()
            ))?;
            self.line(&format!("mask {}", hex_text(capsule.mask)))?;
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
                    hex_text(item.bytes),
                ]);
            }
            self.table(&table)?;
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
                self.table(&table)?;
            }
        }
        Ok(())
    }
}

impl<W: Write> View<'_, '_, '_, W> {
    /// Program headers.
    pub(super) fn segments(&mut self) -> io::Result<()> {
        let segments = self.cubin.segments().unwrap_or_default();
        if segments.is_empty() || !self.options.filter.is_empty() {
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
        self.table(&table)
    }

    /// Recipes for relocation types that a driver may not know.
    pub(super) fn actions(&mut self) -> io::Result<()> {
        for s in self.kept() {
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
            self.table(&table)?;
        }
        Ok(())
    }
}

impl<W: Write> View<'_, '_, '_, W> {
    /// Source lines and lines of PTX of each function.
    pub(super) fn lines(&mut self) -> io::Result<()> {
        let mut found = false;
        for (kind, ptx) in [("Source lines", false), ("PTX lines", true)] {
            for lines in lines::tables(self.cubin, &self.options.filter, ptx) {
                found = true;
                self.heading(&format!("{kind} of {}", names::reference(lines.text.name)))?;
                lines::write(self.out, &lines, self.options)?;
            }
        }
        match found {
            true => Ok(()),
            false => {
                self.heading("No line tables")?;
                self.line("code compiled with -lineinfo has them")
            }
        }
    }

    /// Instructions of each function.
    pub(super) fn code(&mut self) -> io::Result<()> {
        let Some(sections) = code::sections(self.cubin, &self.options.filter) else {
            self.heading("Code")?;
            return self.line("instructions of targets before sm_70 are not decoded");
        };
        for text in sections {
            self.heading(&format!("Code of {}", names::reference(text.name)))?;
            code::write(self.out, &text, self.options)?;
        }
        Ok(())
    }

    /// Sections that were asked for by name.
    pub(super) fn bytes(&mut self) -> io::Result<()> {
        for section in self.cubin.sections() {
            if !is_meant(&names::lossy(section.name), &self.options.hex) {
                continue;
            }
            let (name, size) = (names::reference(section.name), section.size);
            self.heading(&format!("Bytes of {name}"))?;
            match section.data.is_empty() && size > 0 {
                true => self.line(&format!("{size} bytes that are not in the file"))?,
                false => hex::write(self.out, section.data, self.options.width)?,
            }
        }
        Ok(())
    }
}
