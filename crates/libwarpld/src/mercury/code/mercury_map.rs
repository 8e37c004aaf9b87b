//! Maps offsets in Mercury code to offsets in machine code.
//!
//! Mercury instructions have 16, 32 or 48 bytes. The ones stored in a capsule say which; those present
//! only as machine code have 32 if an operand does not fit. The rule in [`size`] was found by
//! experiment: nvlink translates offsets in a Mercury attribute, so a list of all multiples of 16
//! yields the whole map (27,094 different instructions of random programs and NCCL, without an
//! exception).

use super::instruction::Instruction;
use cubin::capsule::{Capsule, ItemForm};

/// Size of the smaller Mercury instructions; all start at a multiple of it.
const UNIT: u64 = 16;

/// Where each Mercury instruction of a function is in its machine code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MercuryMap {
    /// By Mercury offset in units of 16: the main machine instruction, if one starts there.
    places: Vec<Option<u32>>,
    /// The same, but the first machine instruction of each.
    starts: Vec<Option<u32>>,
    /// Machine instructions within groups that count by themselves, in order.
    parts: Vec<u32>,
    /// Groups that start with `WARPSYNC.COLLECTIVE`, in order.
    collective: Vec<u32>,
    /// Machine instructions that stand for a MOV of Mercury, which also reads special registers and what
    /// the driver gives, in order.
    moves: Vec<u32>,
    /// Machine instructions before the filler.
    end: u32,
}

impl MercuryMap {
    /// The map of a function; `None` if its capsule does not fit its code.
    pub fn new(code: &[u8], capsule: &Capsule<'_>) -> Option<Self> {
        let code = Instruction::all(code)?;
        let mut items = capsule.items.iter();
        let (mut places, mut starts, mut first, mut end) = (Vec::new(), Vec::new(), 0_usize, 0);
        let (mut parts, mut collective, mut moves) = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..capsule.count {
            let (size, count, main) = if capsule.is_sass_only(i) {
                (size(*code.get(first)?), 1, 0)
            } else {
                let item = items.next()?;
                let count = usize::from(item.sass_instructions());
                let group = code.get(first..first.checked_add(count)?)?;
                if let Some(part) = part(group) {
                    parts.push(u32::try_from(first + part).ok()?);
                }
                if group.first().is_some_and(|i| i.is_collective()) {
                    collective.push(u32::try_from(first).ok()?);
                }
                if is_move(item.form) {
                    moves.push(u32::try_from(first + main(group)).ok()?);
                }
                match item.form {
                    ItemForm::Full(bytes) => (bytes.len() as u64, count, main(group)),
                    ItemForm::Short(bytes) => (short_size(bytes)?, count, main(group)),
                    ItemForm::Note(bytes) => (bytes.len() as u64, count, 0),
                    ItemForm::Filler(_) => (0, count, 0),
                }
            };
            if size != 0 {
                places.push(Some(u32::try_from(first + main).ok()?));
                starts.push(Some(u32::try_from(first).ok()?));
                places.resize(places.len() + (size / UNIT - 1) as usize, None);
                starts.resize(places.len(), None);
                end = u32::try_from(first + count).ok()?;
            }
            first = first.checked_add(count)?;
        }
        (first == code.len()).then_some(Self { places, starts, parts, collective, moves, end })
    }

    /// The machine-code offset of the instruction at this Mercury offset; the end of the Mercury
    /// code maps to the end of the machine code.
    pub fn place(&self, offset: u64) -> Option<u64> {
        let index = usize::try_from(offset / UNIT).ok().filter(|_| offset.is_multiple_of(UNIT))?;
        let place = match index == self.places.len() {
            true => self.end,
            false => (*self.places.get(index)?)?,
        };
        Some(u64::from(place) * Instruction::SIZE as u64)
    }

    /// The machine-code offset of the instruction at this Mercury offset; the end is none.
    pub fn instruction(&self, offset: u64) -> Option<u64> {
        self.place(offset).filter(|_| offset < self.size())
    }

    /// The same of the instruction before it; `None` for the first.
    pub fn before(&self, offset: u64) -> Option<u64> {
        let end = usize::try_from(offset / UNIT).ok()?.min(self.places.len());
        let place = self.places[..end].iter().rev().find_map(|place| *place)?;
        Some(u64::from(place) * Instruction::SIZE as u64)
    }

    /// The same of the instruction after it, or the end.
    pub fn next(&self, offset: u64) -> Option<u64> {
        self.instruction(offset)?;
        let behind = (1..).map(|units| offset + units * UNIT);
        behind.take_while(|&at| at <= self.size()).find_map(|at| self.place(at))
    }

    /// The same, including the instructions that prepare it.
    pub fn next_start(&self, offset: u64) -> Option<u64> {
        self.instruction(offset)?;
        let end = u64::from(self.end) * Instruction::SIZE as u64;
        Some(self.place_from(offset + UNIT).unwrap_or(end))
    }

    /// Whether the machine instruction at an offset is part of another one's group and still the one
    /// that follows what comes before it, where ranges of registers start. [`registers-at-parts`]
    pub fn is_part(&self, at: u64) -> bool {
        has(&self.parts, at)
    }

    /// Whether the machine instruction at an offset is a `WARPSYNC.COLLECTIVE` with a group.
    pub fn is_collective(&self, at: u64) -> bool {
        has(&self.collective, at)
    }

    /// Whether the machine instruction at an offset stands for a MOV that the capsule stores.
    pub fn is_move(&self, at: u64) -> bool {
        has(&self.moves, at)
    }

    /// Size of the Mercury code.
    fn size(&self) -> u64 {
        self.places.len() as u64 * UNIT
    }

    /// The machine-code offset of the first instruction at or after this Mercury offset, including
    /// the instructions that prepare it (as in the rows of line tables).
    pub fn place_from(&self, offset: u64) -> Option<u64> {
        let index = usize::try_from(offset.div_ceil(UNIT)).ok()?;
        let place = self.starts.get(index..)?.iter().find_map(|place| *place)?;
        Some(u64::from(place) * Instruction::SIZE as u64)
    }
}

/// Whether an item is Mercury's MOV.
fn is_move(form: ItemForm<'_>) -> bool {
    const MOV: u8 = 0x0b;
    matches!(form, ItemForm::Full(bytes) | ItemForm::Short(bytes) if bytes.get(1) == Some(&MOV))
}

/// Number of bytes that a short item stands for.
fn short_size(item: &[u8]) -> Option<u64> {
    match item.first()? & 0x0f {
        1 => Some(UNIT),
        size @ 2..=3 => Some(u64::from(size) * UNIT),
        _ => None,
    }
}

/// Mercury size of a machine instruction that no item stands for.
fn size(instruction: Instruction) -> u64 {
    let bit = |at: u32| instruction.0 >> at & 1 != 0;
    let third_operand = (instruction.0 >> 64) as u8;
    let predicate = (instruction.0 >> 87) as u8 & 0xf;
    // Kinds of operands: immediate as third or as second one.
    let has_immediate = matches!(instruction.0 >> 9 & 7, 2 | 4);
    let long = match instruction.operation() {
        // BSSY, unless it says how it reconverges
        0x145 => !bit(72) && !bit(73),
        // calls, branches and other instructions that depend on their offset; memory
        0x143 | 0x144 | 0x147 | 0x149 | 0x14e | 0x158 | 0x180..=0x18f | 0x1aa => true,
        0x100.. => false,
        // MOV and what sets predicates from a mask; add 0x80 for the uniform ones
        0x02 | 0x06 | 0x82 | 0x86 => false,
        _ if has_immediate => true,
        // comparisons with a carry or a second condition; FSET, FSETP and DSETP; HSET2 and HSETP2
        0x0c | 0x8c => bit(72) || bit(74) || predicate != 7,
        0x0a | 0x0b | 0x2a => predicate != 7,
        0x33 | 0x34 => true,
        // sums of three, or with a carry
        0x10 | 0x90 => third_operand != 0xff || bit(74),
        0x12 | 0x92 => third_operand != 0xff,
        0x24 | 0x91 | 0xa4 => bit(74),
        0x11 | 0x23 | 0x25 | 0x27 | 0x2b | 0x31 => true,
        0xa3 | 0xa5 | 0xa7 => true,
        _ => false,
    };
    if long { 2 * UNIT } else { UNIT }
}

/// Which machine instruction of a group stands for the Mercury instruction: not one that prepares
/// or protects it. (Ranges of registers at all offsets of 69 kinds of groups: `offsets-in-groups`;
/// `registers-at-delays`.)
fn main(group: &[Instruction]) -> usize {
    let operations: Vec<u16> = group.iter().map(|i| i.operation()).collect();
    match operations.as_slice() {
        [_] | [] => 0,
        [0x148, 0x019, 0x012, ..] => 3,
        [0x148 | 0x1c6, ..] if group[0].0 & 0xe00 == 0x200 => 1,
        [0x152, ..] | [NOP, BSYNC] => 1,
        [LDS | MEMBAR, ..] => fenced(&operations),
        _ => 0,
    }
}

/// Whether a list of machine instructions has the one at an offset.
fn has(list: &[u32], at: u64) -> bool {
    let index = u32::try_from(at / Instruction::SIZE as u64).unwrap_or(u32::MAX);
    list.binary_search(&index).is_ok()
}

/// The machine instruction of a group that counts beside the main one: the fence before an mbarrier's
/// instruction, R2UR behind the PLOP3 that lets one value at a time pass, and what
/// `WARPSYNC.COLLECTIVE` is there for.
fn part(group: &[Instruction]) -> Option<usize> {
    match group {
        [fence, second, ..] if fence.operation() == 0x1c6 && second.operation() == SYNCS => Some(0),
        [first, second, ..] if (first.operation(), second.operation()) == (PLOP3, R2UR) => Some(1),
        [first, rest @ ..] if first.is_collective() && !rest.is_empty() => Some(1 + main(rest)),
        _ => None,
    }
}

const PLOP3: u16 = 0x01c;
const R2UR: u16 = 0x0ca;
const SYNCS: u16 = 0x1b2;
const NOP: u16 = 0x118;
const BSYNC: u16 = 0x141;
const LDS: u16 = 0x184;
const MEMBAR: u16 = 0x192;

/// The same behind loads and fences: what they protect, or the last fence if nothing follows but
/// error barriers and what completes a fence (NOP, CCTL, FENCE.VIEW, UCGABAR, ENDCOLLECTIVE).
fn fenced(operations: &[u16]) -> usize {
    const ERROR_BARRIER: u16 = 0x1ab;
    let run = |from: usize, operation: u16| {
        let rest = operations.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|&&o| o == operation).count()
    };
    let reads = run(0, LDS);
    let fences = run(reads, MEMBAR);
    let protected = run(fences, ERROR_BARRIER);
    match operations.get(protected) {
        None | Some(0x118 | 0x11b | 0x18f | 0x1c6 | 0x1c7) if fences > reads => fences - 1,
        _ => protected.min(operations.len().saturating_sub(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes by the offset of a kernel's EXIT in both halves (sm_100 and sm_120, 13.0.88).
    #[test]
    fn comparisons_with_a_condition_have_32_bytes() {
        let rows: [(u64, u64, u64); 9] = [
            (0x004f_c400_0380_2080, 0x0000_0011_0011_7233, 32), // HSET2.BF.EQ.AND R17, R0, R17, PT
            (0x004f_e400_0000_2080, 0x0000_0011_0011_7233, 32), // HSET2.BF.EQ.AND R17, R0, R17, P0
            (0x004f_da00_0390_2000, 0x0000_0011_0000_7234, 32), // HSETP2.EQ.AND P0, P1, R0, R17, PT
            (0x008f_d200_0380_2000, 0x0000_0013_0013_720a, 16), // FSET.BF.EQ.AND R19, R0, R19, PT
            (0x008f_ca00_0000_2000, 0x0000_0013_0013_720a, 32), // FSET.BF.EQ.AND R19, R0, R19, P0
            (0x008f_da00_03f0_4000, 0x0000_0000_1300_720b, 16), // FSETP.GT.AND P0, PT, R19, R0, PT
            (0x008f_da00_0070_4000, 0x0000_0000_1300_720b, 32), // FSETP.GT.AND P0, PT, R19, R0, P0
            (0x010f_dc00_03f0_4000, 0x0000_0006_0400_722a, 16), // DSETP.GT.AND P0, PT, R4, R6, PT
            (0x010f_dc00_0070_4000, 0x0000_0006_0400_722a, 32), // DSETP.GT.AND P0, PT, R4, R6, P0
        ];
        for (high, low, bytes) in rows {
            let instruction = Instruction(u128::from(high) << 64 | u128::from(low));
            assert_eq!(size(instruction), bytes, "{:#x}", instruction.0);
        }
    }

    /// Since 13.2 the NOP stays (`registers-at-delays`).
    #[test]
    fn a_barrier_behind_a_delay_stands_for_both() {
        let delay = Instruction(0x000f_c000_0000_0000_0000_0000_0000_7918);
        let barrier = Instruction(0x000f_ea00_0380_0200_0000_0000_0000_7941);
        assert_eq!(main(&[delay, barrier]), 1);
        assert_eq!(main(&[barrier, delay]), 0);
    }

    #[test]
    fn parts_of_groups_count_by_themselves() {
        let part =
            |codes: &[u128]| part(&codes.iter().map(|&code| Instruction(code)).collect::<Vec<_>>());
        assert_eq!(part(&[0x73c6, 0x75b2]), Some(0)); // FENCE.VIEW.ASYNC; SYNCS.EXCH
        assert_eq!(part(&[0x781c, 0x12ca]), Some(1)); // PLOP3; R2UR
        assert_eq!(part(&[0x12ca, 0x781c]), None);
        let collective = 0x7348 | 1 << 86;
        // Reads and two fences, then error barriers, UCGABAR_ARV and ENDCOLLECTIVE.
        let group = [collective, 0x7984, 0x7984, 0x7992, 0x7992, 0x79ab, 0x75ab, 0x79c7, 0x7818];
        assert_eq!(part(&group), Some(4));
        assert_eq!(part(&[collective]), None);
    }
}
