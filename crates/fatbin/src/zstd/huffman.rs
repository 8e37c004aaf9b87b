//! Huffman-coded literals.

use super::Damage;
use super::bits::Backward;
use super::fse::{Frequencies, Table};

/// Maximum length of a code.
const MOST_BITS: u32 = 11;
/// Codes of weights, and how many symbols these have.
const MOST_LOG_OF_WEIGHTS: u32 = 6;
const WEIGHTS: usize = MOST_BITS as usize + 1;
/// From this value on, the first byte gives the number of uncompressed weights that follow.
const PLAIN_WEIGHTS: u8 = 128;
/// Number of codes that can be read from a stream between refills.
const TOGETHER: usize = (Backward::READY / MOST_BITS) as usize;

/// By the next eleven bits: the symbol, and in the high byte the length of its code.
pub(super) struct Codes([u16; 1 << MOST_BITS]);

impl Codes {
    pub(super) fn empty() -> Self {
        Self([0; 1 << MOST_BITS])
    }

    /// Reads the lengths of the codes, and returns the rest.
    pub(super) fn read<'a>(&mut self, data: &'a [u8]) -> Result<&'a [u8], Damage> {
        let (&first, data) = data.split_first().ok_or(Damage::CutShort)?;
        let mut weights = Vec::with_capacity(256);
        let rest = if first < PLAIN_WEIGHTS {
            let (coded, rest) = data.split_at_checked(first.into()).ok_or(Damage::CutShort)?;
            read_weights(coded, &mut weights)?;
            rest
        } else {
            let count = usize::from(first - PLAIN_WEIGHTS) + 1;
            let (pairs, rest) = data.split_at_checked(count.div_ceil(2)).ok_or(Damage::CutShort)?;
            weights.extend(pairs.iter().flat_map(|pair| [pair >> 4, pair & 15]).take(count));
            rest
        };
        self.set(weights)?;
        Ok(rest)
    }

    /// A symbol of weight n has 2^(n−1) of all codes, one of weight 0 has none. The last symbol has
    /// what is missing to a power of two.
    fn set(&mut self, mut weights: Vec<u8>) -> Result<(), Damage> {
        if weights.iter().any(|&weight| u32::from(weight) > MOST_BITS) {
            return Err(Damage::BadTable);
        }
        let share = |weight: u8| (1usize << weight) >> 1;
        let sum: usize = weights.iter().map(|&weight| share(weight)).sum();
        let longest = sum.checked_ilog2().ok_or(Damage::BadTable)? + 1;
        let missing = (1 << longest) - sum;
        if longest > MOST_BITS || !missing.is_power_of_two() {
            return Err(Damage::BadTable);
        }
        weights.push(missing.ilog2() as u8 + 1);
        // Long codes come first, and those of one length in symbol order.
        let stretch = 1 << (MOST_BITS - longest);
        let mut starts = [0; WEIGHTS + 1];
        for &weight in &weights {
            starts[usize::from(weight) + 1] += share(weight) * stretch;
        }
        for weight in 1..starts.len() {
            starts[weight] += starts[weight - 1];
        }
        for (symbol, &weight) in weights.iter().enumerate().filter(|&(_, &weight)| weight > 0) {
            let start = &mut starts[usize::from(weight)];
            let end = *start + share(weight) * stretch;
            let length = longest + 1 - u32::from(weight);
            let codes = self.0.get_mut(*start..end).ok_or(Damage::BadTable)?;
            codes.fill(symbol as u16 | (length as u16) << 8);
            *start = end;
        }
        Ok(())
    }

    /// Fills `literals` from one stream.
    pub(super) fn one(&self, data: &[u8], literals: &mut [u8]) -> Result<(), Damage> {
        self.last(Backward::new(data)?, literals)
    }

    /// Fills `literals` from four streams, a quarter from each.
    pub(super) fn four(&self, data: &[u8], literals: &mut [u8]) -> Result<(), Damage> {
        let (sizes, data) = data.split_at_checked(6).ok_or(Damage::CutShort)?;
        let size = |n: usize| usize::from(sizes[2 * n]) | usize::from(sizes[2 * n + 1]) << 8;
        let (a, data) = data.split_at_checked(size(0)).ok_or(Damage::CutShort)?;
        let (b, data) = data.split_at_checked(size(1)).ok_or(Damage::CutShort)?;
        let (c, d) = data.split_at_checked(size(2)).ok_or(Damage::CutShort)?;
        let quarter = literals.len().div_ceil(4);
        let too_few = Damage::BadLiterals;
        let (to_a, rest) = literals.split_at_mut_checked(quarter).ok_or(too_few)?;
        let (to_b, rest) = rest.split_at_mut_checked(quarter).ok_or(Damage::BadLiterals)?;
        let (to_c, to_d) = rest.split_at_mut_checked(quarter).ok_or(Damage::BadLiterals)?;
        let [mut a, mut b, mut c, mut d] =
            [Backward::new(a)?, Backward::new(b)?, Backward::new(c)?, Backward::new(d)?];
        let rounds = to_d.len() / TOGETHER;
        let parts = to_a.chunks_exact_mut(TOGETHER).zip(to_b.chunks_exact_mut(TOGETHER));
        let others = to_c.chunks_exact_mut(TOGETHER).zip(to_d.chunks_exact_mut(TOGETHER));
        for ((part_a, part_b), (part_c, part_d)) in parts.zip(others) {
            self.some(&mut a, part_a);
            self.some(&mut b, part_b);
            self.some(&mut c, part_c);
            self.some(&mut d, part_d);
        }
        let done = rounds * TOGETHER;
        self.last(a, &mut to_a[done..])?;
        self.last(b, &mut to_b[done..])?;
        self.last(c, &mut to_c[done..])?;
        self.last(d, &mut to_d[done..])
    }

    #[inline(always)]
    fn some(&self, bits: &mut Backward<'_>, literals: &mut [u8]) {
        bits.refill();
        let (mut word, mut used) = (bits.ahead(), bits.used());
        for literal in literals {
            let code = self.0[(word >> (u64::BITS - MOST_BITS)) as usize];
            *literal = code as u8;
            let length = u32::from(code >> 8);
            word = word.wrapping_shl(length);
            used = used.wrapping_add(length);
        }
        bits.skip_to(used);
    }

    /// Fills the rest from a stream, which must end there.
    fn last(&self, mut bits: Backward<'_>, literals: &mut [u8]) -> Result<(), Damage> {
        for part in literals.chunks_mut(TOGETHER) {
            self.some(&mut bits, part);
        }
        bits.finish()
    }
}

/// Compressed weights: two states alternate in one stream.
fn read_weights(data: &[u8], weights: &mut Vec<u8>) -> Result<(), Damage> {
    let (frequencies, stream) = Frequencies::read(data, WEIGHTS, MOST_LOG_OF_WEIGHTS)?;
    let mut table = Table::empty();
    table.set(&frequencies, |weight| (weight.into(), 0))?;
    let mut bits = Backward::new(stream)?;
    bits.refill();
    let (mut this, mut other) = (table.first(&mut bits), table.first(&mut bits));
    while weights.len() < 254 {
        let state = table.state(this);
        weights.push(state.value(&bits, 0) as u8);
        bits.refill();
        bits.skip(state.bits.into());
        this = state.next(&bits, bits.used());
        if bits.overrun() {
            weights.push(table.state(other).value(&bits, 0) as u8);
            return Ok(());
        }
        std::mem::swap(&mut this, &mut other);
    }
    Err(Damage::BadTable)
}
