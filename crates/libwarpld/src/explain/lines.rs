//! Source lines of code addresses, read from `.debug_line`, and lines of PTX from
//! `.nv_debug_line_sass`, which has the same form.
//!
//! ptxas writes DWARF 2 line programs whose addresses are relocated against the text sections; the
//! relocation determines the function of a sequence.

use crate::collections::Map;
use crate::demangle::text;
use cubin::classify::{self, SectionClass};
use cubin::{Cubin, SectionRef};

/// A row: the line and file for code starting at this offset.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    offset: u64,
    file: usize,
    line: u64,
}

/// Line tables by text section.
#[derive(Debug, Default)]
pub struct LineTable {
    files: Vec<String>,
    rows: Map<u32, Vec<Row>>,
}

impl LineTable {
    /// Reads all tables of a section; nothing if one is malformed.
    pub fn read(cubin: &Cubin<'_>, section: &[u8]) -> Self {
        Self::try_read(cubin, section).unwrap_or_default()
    }

    fn try_read(cubin: &Cubin<'_>, section: &[u8]) -> Option<Self> {
        let section = cubin.section_by_name(section)?;
        let mut out = Self::default();
        let targets = address_targets(cubin, &section);
        let mut reader = Reader { data: section.data, at: 0 };
        while reader.at < section.data.len() {
            reader.at = out.unit(&mut reader, &targets)?;
        }
        for rows in out.rows.values_mut() {
            rows.sort_by_key(|row| row.offset);
        }
        Some(out)
    }

    /// The rows of a text section, by offset: offset, file and line.
    pub fn rows(&self, section: u32) -> impl Iterator<Item = (u64, &str, u64)> {
        let rows = self.rows.get(&section).into_iter().flatten();
        rows.filter_map(|row| Some((row.offset, self.files.get(row.file)?.as_str(), row.line)))
    }

    /// `file:line` of an offset in a text section.
    pub fn find(&self, section: u32, offset: u64) -> Option<String> {
        let rows = self.rows.get(&section)?;
        let at = rows.partition_point(|row| row.offset <= offset).checked_sub(1)?;
        let row = rows.get(at)?;
        Some(format!("{}:{}", self.files.get(row.file)?, row.line))
    }

    /// Reads a unit and returns its end.
    fn unit(&mut self, reader: &mut Reader<'_>, targets: &Map<u64, u32>) -> Option<usize> {
        let length = reader.u32()? as usize;
        let end = reader.at.checked_add(length)?;
        // The unit must not read past its end: in a damaged table of tiny units, each would
        // otherwise read the file names of all units after it.
        let reader = &mut Reader { data: reader.data.get(..end)?, at: reader.at };
        let version = reader.u16()?;
        if !(2..=4).contains(&version) {
            return None;
        }
        let header_length = reader.u32()? as usize;
        let program = reader.at.checked_add(header_length).filter(|&at| at <= end)?;
        let header = Header::read(reader, version)?;
        let first_file = self.files.len();
        self.files.extend(header.files(reader)?);
        reader.at = program;
        self.program(reader, end, &header, first_file, targets)?;
        Some(end)
    }

    fn program(
        &mut self,
        reader: &mut Reader<'_>,
        end: usize,
        header: &Header,
        first_file: usize,
        targets: &Map<u64, u32>,
    ) -> Option<()> {
        let mut state = State::default();
        while reader.at < end {
            let opcode = reader.u8()?;
            if opcode >= header.opcode_base && header.line_range != 0 {
                let adjusted = opcode - header.opcode_base;
                state.advance(u64::from(adjusted / header.line_range), header);
                let step = i64::from(header.line_base) + i64::from(adjusted % header.line_range);
                state.line = state.line.checked_add_signed(step)?;
                self.emit(&state, first_file);
                continue;
            }
            match opcode {
                0 => self.extended(reader, &mut state, first_file, targets)?,
                1 => self.emit(&state, first_file),
                2 => state.advance(reader.uleb()?, header),
                3 => state.line = state.line.checked_add_signed(reader.sleb()?)?,
                4 => state.file = usize::try_from(reader.uleb()?).ok()?,
                8 if header.line_range != 0 => {
                    let adjusted = 255 - header.opcode_base;
                    state.advance(u64::from(adjusted / header.line_range), header);
                }
                9 => state.offset = state.offset.checked_add(reader.u16()?.into())?,
                other => {
                    for _ in 0..header.operands(other) {
                        reader.uleb()?;
                    }
                }
            }
        }
        Some(())
    }

    fn extended(
        &mut self,
        reader: &mut Reader<'_>,
        state: &mut State,
        first_file: usize,
        targets: &Map<u64, u32>,
    ) -> Option<()> {
        let length = usize::try_from(reader.uleb()?).ok()?;
        let next = reader.at.checked_add(length)?;
        match reader.u8()? {
            1 => {
                self.emit(state, first_file);
                *state = State::default();
            }
            2 => {
                state.section = targets.get(&(reader.at as u64)).copied();
                state.offset = reader.u64()?;
            }
            _ => {}
        }
        reader.at = next;
        Some(())
    }

    fn emit(&mut self, state: &State, first_file: usize) {
        if let (Some(section), Some(file)) = (state.section, state.file.checked_sub(1)) {
            let row = Row { offset: state.offset, file: first_file + file, line: state.line };
            self.rows.entry(section).or_default().push(row);
        }
    }
}

/// The text section that the address at an offset of a line table is in.
fn address_targets(cubin: &Cubin<'_>, lines: &SectionRef<'_>) -> Map<u64, u32> {
    let mut targets = Map::default();
    for section in cubin.sections() {
        let class = classify::section(&section).class;
        let is_for_lines = class == SectionClass::Relocations { target: lines.index.0 };
        if !is_for_lines || section.size == 0 || lines.data.is_empty() {
            continue;
        }
        for reloc in cubin.relocs(&section).unwrap_or_default() {
            if let Some(symbol) = cubin.symbol(reloc.symbol.0) {
                targets.insert(reloc.offset, symbol.shndx);
            }
        }
    }
    targets
}

#[derive(Clone, Debug)]
struct State {
    section: Option<u32>,
    offset: u64,
    file: usize,
    line: u64,
}

impl Default for State {
    fn default() -> Self {
        Self { section: None, offset: 0, file: 1, line: 1 }
    }
}

impl State {
    fn advance(&mut self, operations: u64, header: &Header) {
        let step = operations.saturating_mul(header.minimum_length.into());
        self.offset = self.offset.saturating_add(step);
    }
}

/// The fixed part of a line program's header.
#[derive(Debug)]
struct Header {
    minimum_length: u8,
    line_base: i8,
    line_range: u8,
    opcode_base: u8,
    operands: Vec<u8>,
}

impl Header {
    fn read(reader: &mut Reader<'_>, version: u16) -> Option<Self> {
        let minimum_length = reader.u8()?;
        if version >= 4 {
            reader.u8()?;
        }
        reader.u8()?;
        let line_base = reader.u8()? as i8;
        let line_range = reader.u8()?;
        let opcode_base = reader.u8()?;
        let operands = (1..opcode_base).map(|_| reader.u8()).collect::<Option<_>>()?;
        Some(Self { minimum_length, line_base, line_range, opcode_base, operands })
    }

    fn operands(&self, opcode: u8) -> u8 {
        usize::from(opcode).checked_sub(1).and_then(|i| self.operands.get(i)).copied().unwrap_or(0)
    }

    /// Names of the files, with their folders.
    fn files(&self, reader: &mut Reader<'_>) -> Option<Vec<String>> {
        let mut folders = Vec::new();
        loop {
            match reader.text()? {
                folder if folder.is_empty() => break,
                folder => folders.push(folder),
            }
        }
        let mut files = Vec::new();
        loop {
            let name = reader.text()?;
            if name.is_empty() {
                return Some(files);
            }
            let folder = usize::try_from(reader.uleb()?).ok()?;
            reader.uleb()?;
            reader.uleb()?;
            let folder = folder.checked_sub(1).and_then(|i| folders.get(i));
            files.push(match folder {
                Some(folder) if !name.starts_with('/') => format!("{folder}/{name}"),
                _ => name,
            });
        }
    }
}

struct Reader<'d> {
    data: &'d [u8],
    at: usize,
}

impl Reader<'_> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let end = self.at.checked_add(N)?;
        let bytes = self.data.get(self.at..end)?.try_into().ok()?;
        self.at = end;
        Some(bytes)
    }
    fn u8(&mut self) -> Option<u8> {
        self.bytes::<1>().map(|[byte]| byte)
    }
    fn u16(&mut self) -> Option<u16> {
        self.bytes().map(u16::from_le_bytes)
    }
    fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_le_bytes)
    }
    fn u64(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_le_bytes)
    }
    fn uleb(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
    fn sleb(&mut self) -> Option<i64> {
        let mut value = 0i64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            value |= i64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                let sign = byte & 0x40 != 0 && shift + 7 < 64;
                return Some(if sign { value | (-1i64 << (shift + 7)) } else { value });
            }
        }
        None
    }
    fn text(&mut self) -> Option<String> {
        let rest = self.data.get(self.at..)?;
        let length = rest.iter().position(|&b| b == 0)?;
        self.at += length + 1;
        Some(text(rest.get(..length)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One file, one sequence at section 7: line 10 from 0, line 12 from 16.
    fn program() -> Vec<u8> {
        let mut header = vec![1, 1, 0xfb, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1];
        header.extend(b"src\0\0a.cu\0\x01\0\0\0");
        let mut code = vec![0, 9, 2];
        code.extend(0u64.to_le_bytes());
        code.extend([3, 9, 1, 2, 16, 3, 2, 1, 2, 16, 0, 1, 1]);
        let mut unit = 2u16.to_le_bytes().to_vec();
        unit.extend((header.len() as u32).to_le_bytes());
        unit.extend(header);
        unit.extend(code);
        let mut section = (unit.len() as u32).to_le_bytes().to_vec();
        section.extend(unit);
        section
    }

    fn read(data: &[u8]) -> Option<LineTable> {
        let address = data.len().checked_sub(13 + 8)? as u64;
        let targets = Map::from_iter([(address, 7)]);
        let mut table = LineTable::default();
        table.unit(&mut Reader { data, at: 0 }, &targets)?;
        Some(table)
    }

    #[test]
    fn finds_lines() {
        let table = read(&program()).unwrap();
        for (offset, line) in [(0, "src/a.cu:10"), (15, "src/a.cu:10"), (16, "src/a.cu:12")] {
            assert_eq!(table.find(7, offset).as_deref(), Some(line), "{offset}");
        }
        assert_eq!(table.find(8, 0), None);
    }

    #[test]
    fn a_unit_has_its_own_files_alone() {
        // A header whose length is 0 ends before its files.
        let mut short = program();
        assert!(read(&short).is_some());
        short[..4].copy_from_slice(&6_u32.to_le_bytes());
        short[6..10].fill(0);
        assert!(read(&short).is_none());
    }

    #[test]
    fn any_prefix_and_any_byte_is_safe() {
        let whole = program();
        for end in 0..whole.len() {
            let _ = read(&whole[..end]);
        }
        for at in 0..whole.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut changed = whole.clone();
                changed[at] = value;
                let _ = read(&changed);
            }
        }
    }
}
