//! Sequences: a number of literals, then a copy of a number of bytes from an offset back.

use super::Damage;
use super::bits::Backward;
use super::fse::{Frequencies, MOST_STATES, Meaning, State, Table};
use super::output::{Output, Sequence};
use std::hint::select_unpredictable;

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
                    *last = self.states(states).sequence(&mut bits, &mut recent);
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

    /// The states with these numbers.
    #[inline(always)]
    fn states(&self, [literals, offset, matches]: [usize; 3]) -> States<'_> {
        States {
            literals: self.literals.table.state(literals),
            offset: self.offsets.table.state(offset),
            matches: self.matches.table.state(matches),
        }
    }

    /// Decodes sequences that are not the last ones.
    #[inline(never)]
    fn decode(
        &self,
        states: &mut [usize; 3],
        stream: &mut Backward<'_>,
        recent: &mut [usize; 3],
        sequences: &mut [Sequence],
    ) {
        let (mut bits, mut latest) = (stream.clone(), *recent);
        let [mut literals, mut offset, mut matches] = states.map(|number| number % MOST_STATES);
        for next in sequences {
            let now = self.states([literals, offset, matches]);
            *next = now.sequence(&mut bits, &mut latest);
            let start = bits.used();
            let first = u32::from(now.literals.bits);
            let both = first + u32::from(now.matches.bits);
            let all = both + u32::from(now.offset.bits);
            literals = now.literals.next(&bits, start.wrapping_add(first));
            matches = now.matches.next(&bits, start.wrapping_add(both));
            offset = now.offset.next(&bits, start.wrapping_add(all));
            bits.skip(all);
        }
        *states = [literals, offset, matches];
        (*stream, *recent) = (bits, latest);
    }
}

/// The states of the three codes.
#[derive(Clone, Copy)]
struct States<'t> {
    literals: &'t State,
    offset: &'t State,
    matches: &'t State,
}

impl States<'_> {
    /// The sequence of these states. Afterwards there are bits for the next ones.
    #[inline(always)]
    fn sequence(self, bits: &mut Backward<'_>, recent: &mut [usize; 3]) -> Sequence {
        /// Bits for at most three next states.
        const STATES: u32 = 9 + 9 + 8;
        let Self { literals, offset, matches } = self;
        bits.refill();
        // Where the bits of each end. These sums do not wait for one another.
        let start = bits.used();
        let both = u32::from(offset.extra) + u32::from(matches.extra);
        let all = both + u32::from(literals.extra);
        let end_of_offset = start.wrapping_add(offset.extra.into());
        let value = offset.value(bits, end_of_offset);
        let (length, before);
        if all + STATES > Backward::READY {
            bits.skip_to(end_of_offset);
            bits.refill();
            let end_of_matches = bits.used().wrapping_add(matches.extra.into());
            let end = end_of_matches.wrapping_add(literals.extra.into());
            length = matches.value(bits, end_of_matches);
            before = literals.value(bits, end);
            bits.skip_to(end);
            bits.refill();
        } else {
            length = matches.value(bits, start.wrapping_add(both));
            before = literals.value(bits, start.wrapping_add(all));
            bits.skip(all);
        }
        let offset = real_offset(value as usize, before == 0, recent);
        Sequence { before, length, offset }
    }
}

/// How many sequences are decoded before they are executed.
const TOGETHER: usize = 64;

/// Small values refer to recent offsets; if there are no literals, the latest one is not among
/// them. Which of them it is cannot be predicted, so there are no branches here: they would take a
/// tenth of the time of unpacking.
#[inline(always)]
fn real_offset(value: usize, no_literals: bool, recent: &mut [usize; 3]) -> usize {
    let [first, second, third] = *recent;
    // 1 to 3 are recent, 4 is one less than the latest.
    let number = value + usize::from(no_literals);
    let early = select_unpredictable(number == 2, second, first);
    let late = select_unpredictable(number == 3, third, first.wrapping_sub(1));
    let known = select_unpredictable(number < 3, early, late);
    let offset = select_unpredictable(value > 3, value.wrapping_sub(3), known);
    *recent = [
        offset,
        select_unpredictable(number == 1, second, first),
        select_unpredictable(number >= 3, second, third),
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
