//! Waits for narrow fences that are gone.

use super::instruction::Instruction;
use super::kernel::{Change, Jumps, Kernel};
use super::registers::Registers;

/// Code in which no fence waits for a board that nothing has set on any path: since 13.1 a wide fence waits for the
/// narrow one before it, which nvlink removes from kernels without calls. A wait without an event ends
/// nothing. (13.0 does not wait for narrow fences; what else fences wait for stays, `fences-and-mbarriers`.)
pub fn without_lost_waits(
    body: &[Instruction],
    jumps: &Jumps,
    change: &Change,
) -> Option<Vec<Instruction>> {
    if change.lost_waits.is_empty() {
        return None;
    }
    let kernel = Kernel::read(body, Registers::of_all(body), jumps, change)?;
    let mut out = body.to_vec();
    for &(i, board) in &change.lost_waits {
        let instruction = out.get_mut(i)?;
        if !kernel.pending[i].iter().any(|e| kernel.events[e].board == board) {
            *instruction = instruction.waiting(instruction.waits() & !(1 << board));
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::super::scoreboards::rescoreboard;
    use super::*;
    use crate::dialect::BoardRules;

    /// `S2R R6` on board 1, MEMBAR.ALL.GPU, whose narrow fence was on board 3, a use of R6, EXIT.
    const KERNEL: [u128; 4] = [
        0x000e_6e00_0000_2100_0000_0000_0006_79c3 & !0xff | 0x19,
        0x008f_ec00_0000_a000_0000_0000_0000_7992,
        0x002f_e200_07ff_e0ff_0000_0001_0604_7810,
        0x000f_ea00_0380_0000_0000_0000_0000_794d,
    ];

    fn linked(code: &[u128], board: u8) -> Option<Vec<Instruction>> {
        let bytes: Vec<u8> = code.iter().flat_map(|i| i.to_le_bytes()).collect();
        let rules = [BoardRules::CUDA_13_1; 2];
        let change = Change { lost_waits: vec![(1, board)], ..Change::default() };
        Instruction::all(&rescoreboard(&bytes, &Jumps::default(), &change, rules)?)
    }

    #[test]
    fn wide_fences_do_not_wait_for_lost_narrow_ones() {
        let out = linked(&KERNEL, 3).unwrap();
        assert_eq!((out[1].waits(), out[2].waits()), (0, 2));
        let mut needed = KERNEL;
        needed[1] = Instruction(KERNEL[1]).waiting(2).0;
        assert_eq!(linked(&needed, 1), None, "something is under way on that board");
        let bytes: Vec<u8> = KERNEL.iter().flat_map(|i| i.to_le_bytes()).collect();
        let rules = [BoardRules::CUDA_13_1; 2];
        let other = rescoreboard(&bytes, &Jumps::default(), &Change::default(), rules);
        assert_eq!(other, None, "no fence was removed");
    }

    /// `LDC R1; S2R R6; MEMBAR.ALL.GPU; S2R R7` and uses of R6 and R7. The narrow fence shared board 1 with R6, so the
    /// input's wide fence ended that, too, and R7 got the same board. [`dsmem_hist`, a histogram over a cluster]
    #[test]
    fn wide_fences_leave_what_shared_the_board_of_a_lost_one() {
        let read = KERNEL[0] & !0x79c3 | 0x7919;
        let code = [
            0x000e_3000_0000_0800_0000_df00_ff01_7b82,
            read,
            Instruction(KERNEL[1]).waiting(2).0,
            read | 1 << 16,
            Instruction(KERNEL[2]).waiting(0).0,
            KERNEL[2] & !0xffff_0000 | 0x0705_0000,
            KERNEL[3],
        ];
        let bytes: Vec<u8> = code.iter().flat_map(|i: &u128| i.to_le_bytes()).collect();
        let change = Change { lost_waits: vec![(2, 1)], ..Change::default() };
        let rules = [BoardRules::CUDA_13_1; 2];
        let out = rescoreboard(&bytes, &Jumps::default(), &change, rules).unwrap();
        let out = Instruction::all(&out).unwrap();
        assert_eq!((out[1].write_board(), out[3].write_board()), (Some(0), Some(1)));
        let waits: Vec<_> = out.iter().map(|i| i.waits()).collect();
        assert_eq!(waits, [0, 0, 0, 0, 1, 2, 0]);
    }
}
