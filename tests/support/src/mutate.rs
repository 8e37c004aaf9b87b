//! Damaged copies of files.

/// A small deterministic generator (xorshift64*), so that a failing input can
/// be made again from its seed.
pub struct Random(u64);

impl Random {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
    /// A number below `limit`, 0 if that is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.number() % limit.max(1) as u64) as usize
    }
}

/// Damages a file: single bits and bytes, whole fields with awkward values,
/// pieces copied elsewhere, and cuts. Half of the damage hits the headers,
/// where it hurts most.
pub fn mutate(original: &[u8], random: &mut Random) -> Vec<u8> {
    const AWKWARD: [u64; 12] = [
        0,
        1,
        3,
        0x7f,
        0xff00,
        0xffff,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x7fff_ffff_ffff_ffff,
        0x8000_0000_0000_0000,
        u64::MAX,
    ];
    let mut bytes = original.to_vec();
    for _ in 0..=random.below(4) {
        if bytes.is_empty() {
            break;
        }
        let at = interesting_offset(&bytes, random);
        match random.below(6) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.number() as u8,
            2 | 3 => {
                let width = [2, 4, 8][random.below(3)];
                let at = at & !(width - 1);
                let value = match random.below(3) {
                    0 => random.below(bytes.len() * 2) as u64,
                    _ => AWKWARD[random.below(AWKWARD.len())],
                };
                if let Some(field) = bytes.get_mut(at..at + width) {
                    field.copy_from_slice(&value.to_le_bytes()[..width]);
                }
            }
            4 => {
                let from = random.below(bytes.len());
                let size = random.below(64).min(bytes.len() - from).min(bytes.len() - at);
                bytes.copy_within(from..from + size, at);
            }
            _ => {
                if random.below(8) == 0 {
                    bytes.truncate(at);
                }
            }
        }
    }
    bytes
}

fn interesting_offset(bytes: &[u8], random: &mut Random) -> usize {
    let table = bytes
        .get(40..48)
        .map_or(0, |b| u64::from_le_bytes(b.try_into().expect("eight bytes")) as usize);
    match random.below(4) {
        0 => random.below(64.min(bytes.len())),
        1 if table < bytes.len() => table + random.below(bytes.len() - table),
        _ => random.below(bytes.len()),
    }
}
