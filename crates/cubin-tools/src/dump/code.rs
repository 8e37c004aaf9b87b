//! Instructions, with the fields that control when they are issued.

use super::names;
use super::options::{Filter, Options};
use super::table::{Align, Table};
use cubin::classify::{self, SectionClass};
use cubin::flags::Flags;
use cubin::{Cubin, SectionRef};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Bytes of an instruction.
const SIZE: usize = 16;

/// The first target with instructions of this form.
const FIRST: u32 = 70;

/// First bit of the control fields.
const CONTROL: u32 = 105;

/// The value of a board field that names none.
const NO_BOARD: u8 = 7;

/// What says when an instruction is issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Control {
    /// Cycles before the next instruction.
    stall: u8,
    /// Whether another warp is preferred: a cleared bit says so.
    yields: bool,
    /// The board that is released when results are written.
    write_board: Option<u8>,
    /// The board that is released when operands have been read.
    read_board: Option<u8>,
    /// Boards to wait for, one bit each.
    wait: u8,
    /// Operands that stay in the reuse cache, one bit each.
    reuse: u8,
}

impl Control {
    fn of(instruction: u128) -> Self {
        let field = |first: u32, bits: u32| {
            (instruction >> (CONTROL + first)) as u8 & ((1u16 << bits) - 1) as u8
        };
        let board = |board: u8| (board != NO_BOARD).then_some(board);
        Self {
            stall: field(0, 4),
            yields: field(4, 1) == 0,
            write_board: board(field(5, 3)),
            read_board: board(field(8, 3)),
            wait: field(11, 6),
            reuse: field(17, 4),
        }
    }

    fn cells(self) -> [String; 6] {
        let board = |board: Option<u8>| board.map_or("-".into(), |board| board.to_string());
        let bits = |mask: u8, count: u8| -> String {
            let bit = |i: u8| if mask & (1 << i) == 0 { '-' } else { char::from(b'0' + i) };
            (0..count).map(bit).collect()
        };
        [
            self.stall.to_string(),
            if self.yields { "Y" } else { "-" }.into(),
            board(self.write_board),
            board(self.read_board),
            bits(self.wait, 6),
            bits(self.reuse, 4),
        ]
    }
}

/// The instructions of a section.
pub(super) fn instructions(text: &SectionRef<'_>) -> impl Iterator<Item = (u64, u128)> {
    let chunks = text.data.chunks_exact(SIZE).filter_map(|chunk| chunk.try_into().ok());
    (0u64..).step_by(SIZE).zip(chunks.map(u128::from_le_bytes))
}

/// The machine code that is shown, unless it is of a target whose instructions have another form.
pub(super) fn sections<'a>(cubin: &Cubin<'a>, filter: &Filter) -> Option<Vec<SectionRef<'a>>> {
    if u32::from(Flags::decode(&cubin.header()).sm()) < FIRST {
        return None;
    }
    let is_code = |section: &SectionRef<'_>| {
        let found = classify::section(section);
        matches!(found.class, SectionClass::Text(_)) && !found.mercury
    };
    let sections = cubin.sections().iter().filter(is_code);
    Some(sections.filter(|section| filter.has_section(cubin, section)).collect())
}

/// Writes the instructions of one section. Without a disassembler, they are numbers.
pub(super) fn write(
    out: &mut impl Write,
    text: &SectionRef<'_>,
    options: &Options,
) -> io::Result<()> {
    let name = names::lossy(text.name);
    let words = options.disassembly.get(name.as_ref());
    let mut table = Table::new(&[
        ("offset", Align::Right),
        ("stall", Align::Right),
        ("yield", Align::Left),
        ("write", Align::Left),
        ("read", Align::Left),
        ("wait", Align::Left),
        ("reuse", Align::Left),
        ("instruction", Align::Left),
    ]);
    for (offset, instruction) in instructions(text) {
        let word = words.and_then(|words| words.get(&offset)).cloned();
        let word = word.unwrap_or_else(|| format!("{instruction:032x}"));
        let mut cells = vec![format!("{offset:x}")];
        cells.extend(Control::of(instruction).cells());
        cells.push(word);
        table.row(cells);
    }
    table.write(out, options.width)
}

/// The instructions as JSON.
pub(super) fn json(cubin: &Cubin<'_>, options: &Options) -> Value {
    let section = |text: &SectionRef<'_>| {
        let name = names::lossy(text.name);
        let words = options.disassembly.get(name.as_ref());
        let entry = |(offset, instruction): (u64, u128)| {
            let control = Control::of(instruction);
            json!({
                "offset": offset,
                "encoding": format!("{instruction:032x}"),
                "stall": control.stall,
                "yield": control.yields,
                "write_board": control.write_board,
                "read_board": control.read_board,
                "wait": control.wait,
                "reuse": control.reuse,
                "text": words.and_then(|words| words.get(&offset)),
            })
        };
        let entries: Value = instructions(text).map(entry).collect();
        json!({ "section": text.index.0, "name": name, "instructions": entries })
    };
    sections(cubin, &options.filter).unwrap_or_default().iter().map(section).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As public descriptions of sm_70 and later have the fields.
    #[test]
    fn control_fields() {
        let of = |control: u128| Control::of(control << CONTROL | 0x7918).cells().join(" ");
        assert_eq!(of(0x7f1), "1 - - - ------ ----");
        assert_eq!(of(0x7e0), "0 Y - - ------ ----");
        assert_eq!(of(10 << 17 | 33 << 11 | 2 << 8 | 1 << 5 | 1 << 4 | 15), "15 - 1 2 0----5 -1-3");
    }
}
