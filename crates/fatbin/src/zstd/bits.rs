//! Bit streams: backward for codes, forward for tables.

use super::Damage;

/// Masks of so many bits. A table, because one instruction looks it up and applies it.
static MASKS: [u32; 256] = {
    let (mut masks, mut count) = ([u32::MAX; 256], 0);
    while count < 32 {
        masks[count] = (1 << count) - 1;
        count += 1;
    }
    masks
};

/// Reads a stream from its end, which the highest set bit of the last byte marks.
#[derive(Clone)]
pub(super) struct Backward<'a> {
    /// The stream up to the end of `word`.
    left: &'a [u8],
    /// The last eight bytes of `left`; a shorter stream is in the high bits.
    word: u64,
    /// Number of bits of `word` consumed, from the top.
    used: u32,
}

impl<'a> Backward<'a> {
    /// After [`Self::refill`] this many bits can be read.
    pub(super) const READY: u32 = 57;

    pub(super) fn new(data: &'a [u8]) -> Result<Self, Damage> {
        let last = data.last().copied().unwrap_or(0);
        if last == 0 {
            return Err(Damage::NoEndMark);
        }
        let used = last.leading_zeros() + 1;
        let bytes = data.iter().rev().take(8);
        let (word, _) = bytes.fold((0, u64::BITS), |(word, shift), &byte| {
            let shift = shift.saturating_sub(8);
            (word | u64::from(byte) << shift, shift)
        });
        Ok(Self { left: data, word, used })
    }

    /// Makes [`Self::READY`] bits available, or all that are left. Bits before the stream's start
    /// are arbitrary; [`Self::finish`] detects that.
    #[inline(always)]
    pub(super) fn refill(&mut self) {
        let left = self.left.len().wrapping_sub((self.used >> 3) as usize);
        if let Some(left) = self.left.get(..left)
            && let Some(word) = left.last_chunk()
        {
            self.left = left;
            self.word = u64::from_le_bytes(*word);
            self.used &= 7;
        } else {
            self.refill_at_start();
        }
    }

    /// The first eight bytes remain in the word until the end.
    #[cold]
    fn refill_at_start(&mut self) {
        if let Some(word) = self.left.first_chunk() {
            let bytes = self.left.len() - word.len();
            self.left = word;
            self.word = u64::from_le_bytes(*word);
            self.used -= 8 * bytes as u32;
        }
    }

    /// The next `count` bits, at most 56.
    #[inline(always)]
    pub(super) fn peek(&self, count: u32) -> u64 {
        // Two shifts, because a shift by 64 is a shift by 0.
        self.word.wrapping_shl(self.used) >> 1 >> (63 - count)
    }

    #[inline(always)]
    pub(super) fn skip(&mut self, count: u32) {
        self.used = self.used.wrapping_add(count);
    }

    #[inline(always)]
    pub(super) fn take(&mut self, count: u32) -> u64 {
        let bits = self.peek(count);
        self.skip(count);
        bits
    }

    /// The bits of the word that have not been read, from the top.
    #[inline(always)]
    pub(super) fn ahead(&self) -> u64 {
        self.word.wrapping_shl(self.used)
    }

    /// How many bits of the word have been read.
    #[inline(always)]
    pub(super) fn used(&self) -> u32 {
        self.used
    }

    /// So many bits of the word have been read.
    #[inline(always)]
    pub(super) fn skip_to(&mut self, used: u32) {
        self.used = used;
    }

    /// The `count` bits of the word that end at `end`, at most 31.
    #[inline(always)]
    pub(super) fn ending_at(&self, end: u32, count: u8) -> u64 {
        self.word.rotate_left(end) & u64::from(MASKS[usize::from(count)])
    }

    /// Number of bits up to the start of the stream, if the word reaches it.
    #[inline(always)]
    fn end(&self) -> Option<u32> {
        (self.left.len() <= 8).then_some(8 * self.left.len() as u32)
    }

    /// More bits were read than there are.
    #[inline(always)]
    pub(super) fn overrun(&self) -> bool {
        self.end().is_some_and(|end| self.used > end)
    }

    /// Exactly all bits must have been read.
    pub(super) fn finish(&self) -> Result<(), Damage> {
        if self.end() == Some(self.used) { Ok(()) } else { Err(Damage::BitsLeft) }
    }
}

/// Reads a stream from its beginning.
pub(super) struct Forward<'a> {
    data: &'a [u8],
    position: usize,
}

impl<'a> Forward<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self { data, position: 0 }
    }

    /// The next `count` bits, at most 16. Zeros follow the end.
    pub(super) fn peek(&self, count: u32) -> u32 {
        let start = self.position / 8;
        let byte = |n: usize| u32::from(self.data.get(start + n).copied().unwrap_or(0));
        let word = byte(0) | byte(1) << 8 | byte(2) << 16;
        word >> (self.position % 8) & ((1 << count) - 1)
    }

    pub(super) fn take(&mut self, count: u32) -> u32 {
        let bits = self.peek(count);
        self.position += count as usize;
        bits
    }

    /// The rest, starting at the next whole byte.
    pub(super) fn rest(self) -> Result<&'a [u8], Damage> {
        self.data.get(self.position.div_ceil(8)..).ok_or(Damage::CutShort)
    }
}
