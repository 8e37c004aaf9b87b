//! Tables of finite-state entropy codes.

use super::Damage;
use super::bits::{Backward, Forward};

/// Maximum number of states of a table.
pub(super) const MOST_STATES: usize = 512;

/// A state of a code: its value and how to get to the next state. It has eight bytes, so that the instruction that
/// loads from it computes its address: sequences are decoded as fast as one state leads to the next.
#[derive(Clone, Copy, Default)]
pub(super) struct State {
    /// The value if the extra bits are zero.
    base: u32,
    /// The next state if its bits are zero.
    next: u16,
    /// Number of bits to add to the value.
    pub(super) extra: u8,
    /// Number of bits to add to `next`.
    pub(super) bits: u8,
}

impl State {
    fn new((base, extra): (u32, u8), next: u16, bits: u8) -> Self {
        Self { base, next, extra, bits }
    }

    /// The value, with the bits that end at `end`.
    #[inline(always)]
    pub(super) fn value(&self, bits: &Backward<'_>, end: u32) -> u32 {
        self.base + bits.ending_at(end, self.extra) as u32
    }

    /// The number of the next state, with the bits that end at `end`.
    #[inline(always)]
    pub(super) fn next(&self, bits: &Backward<'_>, end: u32) -> usize {
        (usize::from(self.next) + bits.ending_at(end, self.bits) as usize) % MOST_STATES
    }
}

/// A table with its states.
pub(super) struct Table {
    states: [State; MOST_STATES],
    log: u32,
}

/// The meaning of a code's symbols: a value and the number of bits to add to it.
pub(super) type Meaning = fn(symbol: u8) -> (u32, u8);

/// Frequency of each symbol, −1 for less than one, and the log2 of the sum.
pub(super) struct Frequencies {
    pub(super) log: u32,
    pub(super) counts: Vec<i16>,
}

impl Frequencies {
    /// Reads the frequencies of at most `symbols` symbols, and returns the rest.
    pub(super) fn read(
        data: &[u8],
        symbols: usize,
        most_log: u32,
    ) -> Result<(Self, &[u8]), Damage> {
        let mut bits = Forward::new(data);
        let log = bits.take(4) + 5;
        if log > most_log {
            return Err(Damage::BadTable);
        }
        let mut counts: Vec<i16> = Vec::with_capacity(symbols);
        let mut left = 1 << log;
        while left > 0 {
            if counts.len() >= symbols {
                return Err(Damage::BadTable);
            }
            let count = Self::count(&mut bits, left);
            left -= i32::from(count.abs());
            counts.push(count);
            let mut more = count == 0;
            while more {
                let zeros = bits.take(2) as usize;
                counts.resize((counts.len() + zeros).min(symbols + 1), 0);
                more = zeros == 3 && counts.len() <= symbols;
            }
        }
        if left < 0 || counts.len() > symbols {
            return Err(Damage::BadTable);
        }
        Ok((Self { log, counts }, bits.rest()?))
    }

    /// A count up to `left` takes as many bits as needed; small ones take one bit less if not all
    /// values of that many bits are needed.
    fn count(bits: &mut Forward<'_>, left: i32) -> i16 {
        let values = left as u32 + 2;
        let width = u32::BITS - (values - 1).leading_zeros();
        let short = (1 << width) - values;
        let low = bits.peek(width - 1);
        let value = if low < short {
            bits.take(width - 1)
        } else {
            let value = bits.take(width);
            if value >> (width - 1) == 1 { value - short } else { value }
        };
        value as i16 - 1
    }
}

impl Table {
    pub(super) fn empty() -> Self {
        Self { states: [State::default(); MOST_STATES], log: 0 }
    }

    /// A table with a single state, for `symbol`.
    pub(super) fn set_single(&mut self, symbol: u8, meaning: Meaning) {
        self.states[0] = State::new(meaning(symbol), 0, 0);
        self.log = 0;
    }

    /// Spreads the symbols over the states as often as they occur.
    pub(super) fn set(
        &mut self,
        frequencies: &Frequencies,
        meaning: Meaning,
    ) -> Result<(), Damage> {
        let Frequencies { log, counts } = frequencies;
        let size = 1usize << log;
        let (mut symbols, mut occurred) = ([0u8; MOST_STATES], [0u16; 256]);
        let mut end = size;
        for (symbol, &count) in counts.iter().enumerate() {
            if count == -1 {
                end = end.checked_sub(1).ok_or(Damage::BadTable)?;
                symbols[end] = symbol as u8;
                occurred[symbol] = 1;
            }
        }
        let (step, mut place) = ((size >> 1) + (size >> 3) + 3, 0);
        for (symbol, &count) in counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
            occurred[symbol] = count as u16;
            for _ in 0..count {
                symbols[place] = symbol as u8;
                place = (place + step) & (size - 1);
                while place >= end {
                    place = (place + step) & (size - 1);
                }
            }
        }
        for (state, &symbol) in self.states.iter_mut().zip(&symbols[..size]) {
            let number = occurred[usize::from(symbol)];
            occurred[usize::from(symbol)] += 1;
            let bits = log - number.checked_ilog2().ok_or(Damage::BadTable)?;
            let next = (usize::from(number) << bits) - size;
            *state = State::new(meaning(symbol), next as u16, bits as u8);
        }
        self.log = *log;
        Ok(())
    }

    /// The number of a stream's initial state.
    pub(super) fn first(&self, bits: &mut Backward<'_>) -> usize {
        bits.take(self.log) as usize % MOST_STATES
    }

    #[inline(always)]
    pub(super) fn state(&self, number: usize) -> &State {
        &self.states[number % MOST_STATES]
    }
}
