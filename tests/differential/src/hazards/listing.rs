//! Functions of a listing by `nvdisasm -c -hex -plr -lrm narrow`: encodings, and the registers that
//! each instruction reads and writes.

use super::registers::{File, Registers};
use std::collections::HashMap;

/// One instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instruction {
    /// Its 128 bits.
    pub bits: u128,
    /// Offset in the section.
    pub offset: usize,
    /// Text without the guard.
    pub text: String,
    /// Predicate that it is guarded by, and whether it is negated.
    pub guard: Option<Guard>,
    /// Registers written.
    pub writes: Registers,
    /// Registers read, the guard included.
    pub reads: Registers,
}

/// The guard of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate, or nothing for PT and UPT.
    pub predicate: Registers,
    /// `@!P0`.
    pub negated: bool,
}

impl Guard {
    /// `@!PT`: the instruction is never executed.
    pub fn is_never(&self) -> bool {
        self.predicate.is_empty() && self.negated
    }
}

/// Number of scoreboards.
pub const BOARDS: u32 = 6;
/// Control bits of an instruction: stall count, turn, scoreboards, and operands kept for the next one.
pub const CONTROL: u128 = ((1 << 21) - 1) << 105;

impl Instruction {
    fn field(&self, low: u32, bits: u32) -> u8 {
        (self.bits >> low & ((1 << bits) - 1)) as u8
    }

    fn set_field(&mut self, low: u32, bits: u32, value: u8) {
        let mask = ((1_u128 << bits) - 1) << low;
        self.bits = self.bits & !mask | (u128::from(value) << low & mask);
    }

    /// Cycles until the next instruction may issue.
    pub fn stall(&self) -> u8 {
        self.field(105, 4)
    }

    /// Whether another warp may have the next turn.
    pub fn yields(&self) -> bool {
        self.field(109, 1) == 0
    }

    /// The scoreboard that is released when the result is there.
    pub fn write_board(&self) -> Option<u8> {
        Some(self.field(110, 3)).filter(|&board| board != 7)
    }

    /// The scoreboard that is released when the operands have been read.
    pub fn read_board(&self) -> Option<u8> {
        Some(self.field(113, 3)).filter(|&board| board != 7)
    }

    /// The scoreboards that it waits for, a bit each.
    pub fn waits(&self) -> u8 {
        self.field(116, 6)
    }

    /// Changes the stall count.
    pub fn set_stall(&mut self, cycles: u8) {
        self.set_field(105, 4, cycles);
    }

    /// Changes the scoreboard of the result.
    pub fn set_write_board(&mut self, board: Option<u8>) {
        self.set_field(110, 3, board.unwrap_or(7));
    }

    /// Changes the scoreboard of the operands.
    pub fn set_read_board(&mut self, board: Option<u8>) {
        self.set_field(113, 3, board.unwrap_or(7));
    }

    /// Changes the scoreboards to wait for.
    pub fn set_waits(&mut self, boards: u8) {
        self.set_field(116, 6, boards);
    }

    /// Operands that stay for the next instruction (`.reuse`), a bit for each place.
    pub fn kept(&self) -> u8 {
        self.field(122, 4)
    }

    /// Changes which operands stay.
    pub fn set_kept(&mut self, places: u8) {
        self.set_field(122, 4, places);
    }

    /// `LDG.E.64`.
    pub fn name(&self) -> &str {
        self.text.split_whitespace().next().unwrap_or_default()
    }

    /// `LDG`.
    pub fn operation(&self) -> &str {
        self.name().split('.').next().unwrap_or_default()
    }

    /// Whether one of the words after the operation's name is `modifier`.
    pub fn has(&self, modifier: &str) -> bool {
        self.name().split('.').skip(1).any(|word| word == modifier)
    }

    /// What follows the name.
    pub fn operands(&self) -> &str {
        self.text.split_once(char::is_whitespace).map_or("", |(_, operands)| operands.trim())
    }

    /// Whether it can leave its thread's state alone: it has a guard that may be false.
    pub fn is_guarded(&self) -> bool {
        self.guard.is_some_and(|guard| !guard.predicate.is_empty() || guard.negated)
    }

    /// Its text with guard.
    pub fn full_text(&self) -> String {
        match &self.guard {
            Some(guard) => {
                let not = if guard.negated { "!" } else { "" };
                let name = guard.predicate.to_string();
                format!("@{not}{} {}", if name.is_empty() { "PT" } else { &name }, self.text)
            }
            None => self.text.clone(),
        }
    }
}

/// The code of a section.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// Name of the section after `.text.`.
    pub name: String,
    /// In the order of addresses, padding at the end included.
    pub code: Vec<Instruction>,
    /// Index of the instruction at each label.
    pub labels: HashMap<String, usize>,
}

/// A column of the register table.
type Column = (usize, File, usize);

#[derive(Default)]
struct Reader {
    functions: Vec<Function>,
    inside: bool,
    labels: Vec<String>,
    files: Vec<Option<File>>,
    digits: Vec<String>,
    columns: Vec<Column>,
}

/// Reads a listing.
pub fn functions(listing: &str) -> Vec<Function> {
    let mut reader = Reader::default();
    listing.lines().for_each(|line| reader.line(line));
    let mut functions = reader.functions;
    functions.retain(|function| !function.code.is_empty());
    functions
}

impl Reader {
    fn line(&mut self, line: &str) {
        if let Some(rest) = line.trim_start().strip_prefix(".section") {
            let name = rest.split(',').next().unwrap_or_default().trim().trim_matches('"');
            let function = name.strip_prefix(".text.");
            self.inside = function.is_some();
            if let Some(name) = function {
                self.functions.push(Function { name: name.to_owned(), ..Function::default() });
                self.labels.clear();
                self.columns.clear();
                self.digits.clear();
            }
            return;
        }
        if !self.inside {
            return;
        }
        let at = line.rfind("// |").or_else(|| line.rfind("// +"));
        let (body, table) = at.map_or((line, ""), |at| (&line[..at], &line[at + 3..]));
        if body.contains("/*") {
            self.code(body, table);
        } else if let Some(label) = body.trim_end().strip_suffix(':') {
            self.labels.push(label.trim().to_owned());
        } else if self.columns.is_empty() && body.trim().is_empty() {
            self.header(table);
        }
    }

    /// The lines above the register table: files, then the digits of numbers from top to bottom.
    fn header(&mut self, table: &str) {
        if table.contains("GPR") || table.contains("PRED") {
            let file = |name: &str| match name.trim() {
                "GPR" => Some(File::General),
                "PRED" => Some(File::Predicate),
                "UGPR" => Some(File::Uniform),
                "UPRED" => Some(File::UniformPredicate),
                _ => None,
            };
            self.files = table.trim_matches('|').split('|').map(file).collect();
            self.digits.clear();
        } else if table.starts_with('|') {
            self.digits.push(table.to_owned());
            if table.contains('#') {
                self.columns = self.number();
            }
        }
    }

    fn number(&self) -> Vec<Column> {
        let Some(last) = self.digits.last() else { return Vec::new() };
        let mut columns = Vec::new();
        let mut part = 0;
        for (at, c) in last.bytes().enumerate() {
            if c == b'|' {
                part += 1;
            } else if c.is_ascii_digit() {
                let digit = |row: &String| {
                    row.as_bytes().get(at).filter(|c| c.is_ascii_digit()).map(|c| c - b'0')
                };
                let number =
                    self.digits.iter().filter_map(digit).fold(0, |n, d| n * 10 + usize::from(d));
                if let Some(Some(file)) = self.files.get(part - 1) {
                    columns.push((at, *file, number));
                }
            }
        }
        columns
    }

    fn code(&mut self, body: &str, table: &str) {
        let Some(function) = self.functions.last_mut() else { return };
        let mut comments = body.split("/*").skip(1).map(|part| part.split("*/").next());
        let hex = |text: &str| u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok();
        let last = body.rsplit("/*").next().and_then(|part| part.split("*/").next());
        let Some(word) = last.and_then(hex) else { return };
        if body.trim_start().starts_with("/* 0x") {
            // The second half of an encoding stands alone on its line.
            if let Some(instruction) = function.code.last_mut() {
                instruction.bits |= u128::from(word) << 64;
                mark(instruction, table, &self.columns);
            }
            return;
        }
        let Some(offset) = comments.next().flatten().and_then(hex) else { return };
        let text = body.split_once("*/").map_or("", |(_, rest)| rest);
        let text = text.rsplit_once(';').map_or(text, |(text, _)| text).trim();
        for label in self.labels.drain(..) {
            function.labels.insert(label, function.code.len());
        }
        let mut instruction = instruction(text);
        instruction.bits = u128::from(word);
        instruction.offset = offset as usize;
        function.code.push(instruction);
    }
}

/// Takes the guard off a text. Barriers are not in the table of registers.
pub fn instruction(text: &str) -> Instruction {
    let (guard, text) = match text.strip_prefix('@') {
        Some(rest) => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        None => ("", text),
    };
    let mut instruction = Instruction { text: text.trim().to_owned(), ..Instruction::default() };
    if !guard.is_empty() {
        let mut predicate = Registers::NONE;
        let name = guard.trim_start_matches('!');
        let parts = name.strip_prefix("UP").map(|number| (File::UniformPredicate, number));
        if let Some((file, number)) =
            parts.or_else(|| name.strip_prefix('P').map(|number| (File::Predicate, number)))
            && let Ok(number) = number.parse()
        {
            predicate.add(file, number);
        }
        instruction.guard = Some(Guard { predicate, negated: guard.starts_with('!') });
        instruction.reads |= predicate;
    }
    barriers(&mut instruction);
    instruction
}

fn barriers(instruction: &mut Instruction) {
    if !matches!(instruction.operation(), "BMOV" | "BSSY" | "BSYNC" | "BREAK") {
        return;
    }
    let operands: Vec<String> =
        instruction.operands().split(',').map(|operand| operand.trim().to_owned()).collect();
    for (at, operand) in operands.iter().enumerate() {
        let Some(number) = operand.strip_prefix('B').and_then(|n| n.parse().ok()) else { continue };
        let writes = at == 0 && matches!(instruction.operation(), "BMOV" | "BSSY");
        let set = if writes { &mut instruction.writes } else { &mut instruction.reads };
        set.add(File::Barrier, number);
    }
}

/// Takes registers from the table's row, which stands behind the second half of an encoding. (Behind the
/// first half there is nothing, or with debug information a row of some other instruction.)
fn mark(instruction: &mut Instruction, table: &str, columns: &[Column]) {
    let table = table.as_bytes();
    for &(at, file, number) in columns {
        let c = table.get(at).copied().unwrap_or(b' ');
        if matches!(c, b'^' | b'x') {
            instruction.writes.add(file, number);
        }
        if matches!(c, b'v' | b'x') {
            instruction.reads.add(file, number);
        }
    }
    // The table has the condition of `LDGSTS [R9], desc[UR6][R2.64], P0` as written, too.
    if instruction.operation() == "LDGSTS" {
        let conditions = instruction.writes.of(File::Predicate);
        instruction.writes = instruction.writes.without(&conditions);
    }
}
