//! Sequences: a number of literals, then a copy of a number of bytes from an offset back.

use super::Damage;
use super::bits::Backward;
use super::fse::{Frequencies, Meaning, State, Table};
use super::output::{Output, Sequence};

/// The tables of a frame; blocks may use those of the previous block.
pub(super) struct Sequences {
    literals: Code,
    offsets: Code,
    matches: Code,
    /// The last three offsets, which have short codes.
    recent: [usize; 3],
}

/// One of the three codes of a sequence.
struct Code {
    table: Table,
    known: bool,
    kind: &'static Kind,
}

struct Kind {
    symbols: usize,
    most_log: u32,
    usual_log: u32,
    usual: &'static [i16],
    meaning: Meaning,
}

static LITERALS: Kind = Kind {
    symbols: 36,
    most_log: 9,
    usual_log: 6,
    usual: &[
        4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1,
        1, 1, -1, -1, -1, -1,
    ],
    meaning: |symbol| match symbol {
        0..16 => (symbol.into(), 0),
        16..20 => (16 + 2 * u32::from(symbol - 16), 1),
        20..22 => (24 + 4 * u32::from(symbol - 20), 2),
        22..24 => (32 + 8 * u32::from(symbol - 22), 3),
        24 => (48, 4),
        _ => (64 << (symbol - 25), symbol - 19),
    },
};

static OFFSETS: Kind = Kind {
    symbols: 32,
    most_log: 8,
    usual_log: 5,
    usual: &[
        1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1,
    ],
    meaning: |symbol| (1 << symbol, symbol),
};

static MATCHES: Kind = Kind {
    symbols: 53,
    most_log: 9,
    usual_log: 6,
    usual: &[
        1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
    ],
    meaning: |symbol| match symbol {
        0..32 => (3 + u32::from(symbol), 0),
        32..36 => (35 + 2 * u32::from(symbol - 32), 1),
        36..38 => (43 + 4 * u32::from(symbol - 36), 2),
        38..40 => (51 + 8 * u32::from(symbol - 38), 3),
        40..42 => (67 + 16 * u32::from(symbol - 40), 4),
        42 => (99, 5),
        _ => (3 + (128 << (symbol - 43)), symbol - 36),
    },
};

impl Code {
    fn new(kind: &'static Kind) -> Self {
        Self { table: Table::empty(), known: false, kind }
    }

    /// Reads the table unless it is a known one, and returns the rest.
    fn read<'a>(&mut self, mode: u8, data: &'a [u8]) -> Result<&'a [u8], Damage> {
        let Kind { symbols, most_log, usual_log, usual, meaning } = *self.kind;
        let mut rest = data;
        match mode {
            0 => {
                let usual = Frequencies { log: usual_log, counts: usual.to_vec() };
                self.table.set(&usual, meaning)?;
            }
            1 => {
                let (&symbol, after) = data.split_first().ok_or(Damage::CutShort)?;
                if usize::from(symbol) >= symbols {
                    return Err(Damage::BadTable);
                }
                self.table.set_single(symbol, meaning);
                rest = after;
            }
            2 => {
                let (frequencies, after) = Frequencies::read(data, symbols, most_log)?;
                self.table.set(&frequencies, meaning)?;
                rest = after;
            }
            _ if !self.known => return Err(Damage::NothingToRepeat),
            _ => {}
        }
        self.known = true;
        Ok(rest)
    }
}

impl Sequences {
    pub(super) fn new() -> Self {
        Self {
            literals: Code::new(&LITERALS),
            offsets: Code::new(&OFFSETS),
            matches: Code::new(&MATCHES),
            recent: [1, 4, 8],
        }
    }

    /// A new frame has no tables.
    pub(super) fn forget(&mut self) {
        for code in [&mut self.literals, &mut self.offsets, &mut self.matches] {
            code.known = false;
        }
        self.recent = [1, 4, 8];
    }

    /// Executes the sequences of a block (`data`) on its literals.
    pub(super) fn write(
        &mut self,
        data: &[u8],
        literals: &mut super::Literals<'_>,
        output: &mut Output<'_>,
    ) -> Result<(), Damage> {
        let (count, data) = count(data)?;
        if count == 0 {
            return if data.is_empty() { Ok(()) } else { Err(Damage::BitsLeft) };
        }
        let (&modes, data) = data.split_first().ok_or(Damage::CutShort)?;
        if modes & 3 != 0 {
            return Err(Damage::Reserved);
        }
        let data = self.literals.read(modes >> 6, data)?;
        let data = self.offsets.read(modes >> 4 & 3, data)?;
        let data = self.matches.read(modes >> 2 & 3, data)?;
        self.follow(count, Backward::new(data)?, literals, output)
    }

    /// Decodes `count` sequences and executes them, some at a time: what both need does not fit into
    /// registers at once.
    fn follow(
        &mut self,
        count: usize,
        mut bits: Backward<'_>,
        literals: &mut super::Literals<'_>,
        output: &mut Output<'_>,
    ) -> Result<(), Damage> {
        bits.refill();
        let mut states = [
            self.literals.table.first(&mut bits),
            self.offsets.table.first(&mut bits),
            self.matches.table.first(&mut bits),
        ];
        let mut some = [Sequence::default(); TOGETHER];
        let (mut left, mut recent) = (count, self.recent);
        while left > 0 {
            let now = left.min(TOGETHER);
            left -= now;
            let some = some.get_mut(..now).unwrap_or_default();
            match (left, some.split_last_mut()) {
                (0, Some((last, some))) => {
                    self.decode(&mut states, &mut bits, &mut recent, some);
                    *last = sequence(&states, &mut bits, &mut recent);
                    output.follow(some, literals)?;
                    output.follow(&[*last], literals)?;
                }
                _ => {
                    self.decode(&mut states, &mut bits, &mut recent, some);
                    output.follow(some, literals)?;
                }
            }
        }
        self.recent = recent;
        bits.finish()
    }

    /// Decodes sequences that are not the last ones.
    #[inline(never)]
    fn decode<'t>(
        &'t self,
        states: &mut [&'t State; 3],
        stream: &mut Backward<'_>,
        recent: &mut [usize; 3],
        sequences: &mut [Sequence],
    ) {
        let (mut bits, mut latest) = (stream.clone(), *recent);
        let [mut of_literals, mut of_offset, mut of_match] = *states;
        for next in sequences {
            *next = sequence(&[of_literals, of_offset, of_match], &mut bits, &mut latest);
            of_literals = self.literals.table.after(of_literals, &mut bits);
            of_match = self.matches.table.after(of_match, &mut bits);
            of_offset = self.offsets.table.after(of_offset, &mut bits);
        }
        *states = [of_literals, of_offset, of_match];
        (*stream, *recent) = (bits, latest);
    }
}

/// The sequence of these states. Afterwards there are bits for the next ones.
#[inline(always)]
fn sequence(
    [of_literals, of_offset, of_match]: &[&State; 3],
    bits: &mut Backward<'_>,
    recent: &mut [usize; 3],
) -> Sequence {
    /// Bits for at most three next states.
    const STATES: u32 = 9 + 9 + 8;
    bits.refill();
    let extra =
        u32::from(of_offset.extra) + u32::from(of_match.extra) + u32::from(of_literals.extra);
    let offset = of_offset.value(bits);
    if extra > Backward::READY {
        bits.refill();
    }
    let length = of_match.value(bits);
    let before = of_literals.value(bits);
    if extra + STATES > Backward::READY {
        bits.refill();
    }
    let offset = real_offset(offset as usize, before == 0, recent);
    Sequence { before, length, offset }
}

/// How many sequences are decoded before they are executed.
const TOGETHER: usize = 64;

/// Small values refer to recent offsets; if there are no literals, the latest one is not among
/// them. Which of them it is cannot be predicted, so there are no branches here: they would take a
/// tenth of the time of unpacking.
#[inline(always)]
fn real_offset(value: usize, no_literals: bool, recent: &mut [usize; 3]) -> usize {
    let [first, second, third] = *recent;
    let choices = [first, second, third, first.wrapping_sub(1), value.wrapping_sub(3)];
    let number = if value > 3 { 4 } else { (value + usize::from(no_literals)).wrapping_sub(1) & 3 };
    let offset = choices[number];
    *recent = [
        offset,
        if number >= 1 { first } else { second },
        if number >= 2 { second } else { third },
    ];
    offset
}

/// The number of sequences, and the rest.
fn count(data: &[u8]) -> Result<(usize, &[u8]), Damage> {
    let byte = |n: usize| data.get(n).map(|&byte| usize::from(byte)).ok_or(Damage::CutShort);
    let (count, size) = match byte(0)? {
        few @ 0..128 => (few, 1),
        255 => (byte(1)? + (byte(2)? << 8) + 0x7f00, 3),
        more => (((more - 128) << 8) + byte(1)?, 2),
    };
    Ok((count, &data[size..]))
}
