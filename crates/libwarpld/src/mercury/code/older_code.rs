//! Code of CUDA 12 as later finalizers write it: the order of NOPs that delay, and what code of
//! warps that have split waits for. (`code-of-cuda-12`)

use super::instruction::{Flow, Instruction, NO_GUARD};

/// The longest stall.
const MOST: u8 = 15;
const NOP: u16 = 0x918;
/// ENDCOLLECTIVE.
const END: u16 = 0x91b;
/// SHF with a number as its second operand.
const SHIFT: u16 = 0x819;
/// The register that reads as zero.
const RZ: u8 = 0xff;

/// Code of CUDA 12 in the form of CUDA 13; `None` if it has it already.
pub fn renew(code: &[u8]) -> Option<Vec<u8>> {
    let old = Instruction::all(code)?;
    let mut code = old.clone();
    order_delays(&mut code);
    renew_collectives(&mut code);
    (code != old).then(|| code.iter().flat_map(|i| i.0.to_le_bytes()).collect())
}

/// A row of NOPs that delay ends with what is left of the delay; CUDA 12 starts it with that.
fn order_delays(code: &mut [Instruction]) {
    let is_nop = |i: &Instruction| i.opcode() == NOP && i.guard() == NO_GUARD && i.stall() != 0;
    for row in code.chunk_by_mut(|a, b| is_nop(a) && is_nop(b)) {
        let [first, rest @ ..] = row else { continue };
        if rest.is_empty() || first.stall() == MOST || rest.iter().any(|i| i.stall() != MOST) {
            continue;
        }
        // The last of the others, with another stall count: none of them yields.
        let last = rest[rest.len() - 1].stalling(first.stall());
        row.rotate_left(1);
        if let Some(end) = row.last_mut() {
            *end = last;
        }
    }
}

/// Code of warps that have split waits at its end for all that it waits for at its start, and
/// shifts a word right without a zero above it.
fn renew_collectives(code: &mut [Instruction]) {
    let mut waits = None;
    for instruction in code {
        if instruction.is_collective() {
            waits = Some(instruction.waits());
        } else if let Some(boards) = waits {
            *instruction = match instruction.opcode() {
                END => instruction.waiting(instruction.waits() | boards),
                SHIFT => plain_shift(*instruction),
                _ => *instruction,
            };
            if instruction.opcode() == END {
                waits = None;
            }
        }
    }
}

/// Whether a barrier follows behind the NOP of a WARPSYNC that would come too soon after a load of a constant
/// without it: compilers keep 8 cycles between the two. [`a_barrier_keeps_its_distance_from_a_load`]
pub(super) fn needs_delay(code: &[Instruction], warpsync: usize) -> bool {
    const LEAST: u32 = 8;
    const LOAD: u16 = 0x182;
    const BARRIER: u16 = 0x11d;
    if code.get(warpsync + 2).is_none_or(|i| i.operation() != BARRIER) {
        return false;
    }
    let mut cycles = 0;
    for instruction in code.get(..=warpsync).unwrap_or_default().iter().rev() {
        cycles += u32::from(instruction.stall());
        if cycles >= LEAST || instruction.flow(0) != Flow::Next {
            return false;
        }
        if instruction.operation() == LOAD {
            return true;
        }
    }
    false
}

/// `SHF.R.U32 R1, R1, 0x10, RZ` in place of `SHF.R.U32.HI R1, RZ, 0x10, R1`.
fn plain_shift(shift: Instruction) -> Instruction {
    const HIGH: u128 = 1 << 80;
    const RIGHT: u128 = 1 << 76;
    let [low, _, high] = shift.sources();
    match (low, high) {
        (Some(RZ), Some(word)) if shift.0 & (HIGH | RIGHT) == HIGH | RIGHT => {
            let others = shift.0 & !(HIGH | 0xff << 24 | 0xff << 64);
            Instruction(others | u128::from(word) << 24 | u128::from(RZ) << 64)
        }
        _ => shift,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: u128 = 0x000f_de00_0000_0000_0000_0000_0000_7918;
    const START: u128 = 0x003f_ea00_03c0_0000_0000_0000_0f08_7348;
    const STOP: u128 = 0x000f_ea00_0380_0000_0000_0000_0000_791b;
    const SHIFTED: u128 = 0x001f_c800_0001_160d_0000_0010_ff0d_7819;

    fn renewed(code: &[u128]) -> Option<Vec<u128>> {
        let bytes: Vec<u8> = code.iter().flat_map(|i| i.to_le_bytes()).collect();
        let code = Instruction::all(&renew(&bytes)?)?;
        Some(code.iter().map(|i| i.0).collect())
    }

    #[test]
    fn delays_end_with_what_is_left() {
        let short = Instruction(LONG).stalling(4).0;
        let yields = short & !(1 << 109) | 1 << 109;
        let filler = Instruction::NOP.0;
        let out = renewed(&[STOP, yields, LONG, LONG, STOP, filler, filler]).unwrap();
        assert_eq!(out, [STOP, LONG, LONG, short, STOP, filler, filler]);
        assert_eq!(renewed(&out), None);
        assert_eq!(renewed(&[short, STOP, short, short]), None, "not a delay of its own");
    }

    #[test]
    fn collectives_wait_at_their_end() {
        let out = renewed(&[START, LONG, SHIFTED, STOP, SHIFTED]).unwrap();
        assert_eq!(Instruction(out[3]).waits(), Instruction(START).waits());
        assert_eq!(out[2], 0x001f_c800_0000_16ff_0000_0010_0d0d_7819);
        assert_eq!(out[4], SHIFTED, "only code of split warps");
    }

    /// `LDC.64 R2; IADD3 R4; WARPSYNC.ALL; NOP; BAR.SYNC R4` of ptxas 12.9.86: 1, 1, 5 and 1 cycles, of which nvlink
    /// gives the last to WARPSYNC (s65030135 for sm_100).
    #[test]
    fn a_barrier_keeps_its_distance_from_a_load() {
        let load = Instruction(0x000e_6200_0000_0a00_0000_e000_ff02_7b82);
        let add = Instruction(0x000f_e200_07ff_e0ff_0000_0001_0204_7810);
        let warpsync = Instruction(0x000f_ea00_0380_0000_0000_0000_0000_7948);
        let delay = Instruction(0x000f_e200_0000_0000_0000_0000_0000_7918);
        let barrier = Instruction(0x000f_ec00_0001_0000_0000_0000_0000_7b1d);
        assert_eq!((load.stall(), add.stall(), warpsync.stall()), (1, 1, 5));
        assert!(needs_delay(&[load, add, warpsync, delay, barrier], 2));
        assert!(!needs_delay(&[load, add.stalling(2), warpsync, delay, barrier], 2), "8 cycles");
        assert!(!needs_delay(&[add, add, warpsync, delay, barrier], 2), "no load");
        assert!(!needs_delay(&[load, add, warpsync, delay, add], 2), "no barrier");
        let branch = Instruction(0x000f_ea00_0380_0000_0000_0000_0004_8947);
        assert!(!needs_delay(&[load, branch, warpsync, delay, barrier], 2), "another block");
    }
}
