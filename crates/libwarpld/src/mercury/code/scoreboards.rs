//! Reallocates scoreboards (`--rescoreboard`, the default): in kernels that call nothing, and in all functions of
//! objects whose compiler has other rules than the linker.
//!
//! A compiler that does not see the whole program keeps a board for the load of the stack pointer,
//! R1. If nothing is called and R1 is not used, nvlink drops it and reallocates all other boards as
//! if it had never been there. In a link for a debugger (`-g`) it keeps that board, but the barriers that nvlink
//! inserts before every EXIT take time, and boards are allocated again with it. The input's control
//! bits say who sets a board and who waits for it; those pairs are preserved under any numbering, so the result is safe even if it differs from
//! nvlink's. The new numbers follow from the allocator's rule ([`super::board_choice`]).

use super::board_check::is_safe;
use super::board_choice::Allocator;
use super::board_stalls::{stalls, yields};
use super::board_waits::Waits;
use super::dependences::Dependences;
use super::instruction::Instruction;
use super::kernel::{Change, Jumps, Kernel};
use super::lost_fences::without_lost_waits;
use super::registers::Registers;
use super::untimed::is_unoptimised;
use crate::dialect::BoardRules;

/// The function with new boards; `None` if they stay, or if changing them may not be safe.
/// The rules are those of the code's compiler, and of the release that links.
pub fn rescoreboard(
    code: &[u8],
    jumps: &Jumps,
    change: &Change,
    rules: [BoardRules; 2],
) -> Option<Vec<u8>> {
    let old = Instruction::all(code)?;
    let lost = without_lost_waits(&old, jumps, change);
    let code = lost.as_ref().unwrap_or(&old);
    let new = reallocated(code, jumps, change, rules).or_else(|| lost.clone())?;
    (new != old).then(|| new.iter().flat_map(|i| i.0.to_le_bytes()).collect())
}

/// The same for instructions.
fn reallocated(
    code: &[Instruction],
    jumps: &Jumps,
    change: &Change,
    rules: [BoardRules; 2],
) -> Option<Vec<Instruction>> {
    let end = code.iter().rposition(|i| i.essence() != Instruction::NOP.essence())? + 1;
    let body = code.get(..end)?;
    let is_alone = !body.iter().any(|i| i.leaves_function());
    let may_drop = is_alone && !change.keeps_stack_pointer && loads_stack_pointer(body);
    let has_barriers =
        (change.keeps_stack_pointer || !is_alone) && !change.stalls_before.is_empty();
    let [old, new] = rules;
    let changes = (old != new || has_barriers) && !is_unoptimised(body);
    if !may_drop && !changes {
        return None;
    }
    let registers = Registers::of_all(body);
    let drops = may_drop && !reads_stack_pointer(body.get(1..)?, registers.as_deref());
    if !drops && !changes {
        return None;
    }
    let mut kernel = Kernel::read(body, registers, jumps, change)?;
    if !drops {
        kernel.dropped = None;
        kernel.dependences.as_ref()?;
    }
    kernel.follow(new);
    let allocator = Allocator::new(&kernel, rules);
    let allocation = allocator.run()?;
    if !allocator.keeps_counted(&allocation.boards) {
        return None;
    }
    let waits = Waits::new(&kernel, &allocator, &allocation)?.run()?;
    let stalls = stalls(&kernel, &allocation, &waits);
    let exhausted = kernel.dependences.as_ref().is_some_and(Dependences::is_exhausted);
    if exhausted || !is_safe(&kernel, &allocation, &waits, &stalls) {
        return None;
    }
    let mut out = code.to_vec();
    let yields = yields(&kernel, &stalls);
    for (((instruction, waits), stall), yields) in out.iter_mut().zip(waits).zip(stalls).zip(yields)
    {
        *instruction = instruction.waiting(waits).stalling(stall);
        if let Some(yields) = yields {
            *instruction = instruction.with_yield(yields);
        }
    }
    for (event, choice) in kernel.events.iter().zip(&allocation.boards) {
        let instruction = out.get_mut(event.at)?;
        *instruction = match (event.writes, choice) {
            (true, choice) => instruction.writing(choice.map(|c| c.board)),
            (false, Some(choice)) => instruction.reading(choice.board),
            (false, None) => return None,
        };
    }
    for i in 0..body.len() {
        if let Some(event) = kernel.named_by(i) {
            let board = allocation.boards.get(event)?.as_ref()?.board;
            *out.get_mut(i)? = out.get(i)?.counting(board);
        }
    }
    Some(out)
}

/// Whether the kernel starts with a load of R1 that sets a board.
/// (Unoptimized code waits everywhere and is left alone.)
fn loads_stack_pointer(body: &[Instruction]) -> bool {
    const LOAD: u128 = 0xb82;
    let Some(first) = body.first() else { return false };
    let loads = first.0 & 0xfff == LOAD && first.0 >> 16 & 0xff == 1;
    let sets = first.write_board().is_some() && first.read_board().is_none();
    loads && sets && first.waits() == 0
}

/// Whether an instruction behind the first reads R1, or may do so because it is not known.
fn reads_stack_pointer(rest: &[Instruction], registers: Option<&[Registers]>) -> bool {
    const R1: usize = 1;
    if let Some(registers) = registers {
        return registers.iter().skip(1).any(|registers| registers.reads.has(R1));
    }
    rest.iter().any(|i| match Registers::of(i.0) {
        Some(registers) => registers.reads.has(R1),
        None => may_read_r1(*i),
    })
}

/// Whether a field that may be a source register is R1.
fn may_read_r1(instruction: Instruction) -> bool {
    let field = |bit: u32| instruction.0 >> bit & 0xff == 1;
    let operation = instruction.operation();
    // Loads, stores and the like have a register where others may have an immediate.
    let second = operation & 0x100 != 0 || instruction.0 >> 9 & 7 == 1;
    !(0x140..0x160).contains(&operation) && (field(24) || field(64) || field(32) && second)
}

#[cfg(test)]
mod tests {
    use super::super::board_reserved::Reserved;
    use super::*;

    /// Those of 13.0.
    const RULES: [BoardRules; 2] = [BoardRules::CUDA_13_0; 2];

    /// A load, a comparison and a branch over a store.
    const KERNEL: [u128; 8] = [
        0x000e_3000_0000_0800_0000_df00_ff01_7b82,
        0x000e_6200_0000_0a00_0000_e000_ff02_7b82,
        0x000e_6400_0800_0a00_0000_6b00_ff04_77ac,
        0x002e_a400_0c1e_1900_0000_0004_0200_7981,
        0x004f_da00_03f0_5070_0000_0007_0000_780c,
        0x001f_ea00_0380_0000_0000_0000_0004_8947,
        0x000f_e200_0c10_1904_0000_0405_0200_7986,
        0x000f_ea00_0380_0000_0000_0000_0000_794d,
    ];

    fn changed(code: &[u128]) -> Option<Vec<u128>> {
        let bytes: Vec<u8> = code.iter().flat_map(|i| i.to_le_bytes()).collect();
        let out = rescoreboard(&bytes, &Jumps::default(), &Change::default(), RULES)?;
        Some(Instruction::all(&out).unwrap().iter().map(|i| i.0).collect())
    }

    #[test]
    fn boards_are_those_of_a_kernel_that_does_not_load_the_stack_pointer() {
        let out = changed(&KERNEL).unwrap();
        assert_eq!(out[0], 0x000f_f000_0000_0800_0000_df00_ff01_7b82, "no board");
        assert_eq!(out[1], 0x000e_2200_0000_0a00_0000_e000_ff02_7b82, "board 0 in place of 1");
        assert_eq!(out[2], 0x000e_2400_0800_0a00_0000_6b00_ff04_77ac, "shared as before");
        assert_eq!(out[3], 0x001e_a400_0c1e_1900_0000_0004_0200_7981, "a load keeps board 2");
        assert_eq!(out[4], KERNEL[4]);
        assert_eq!(Instruction(out[5]).waits(), 0, "nothing waits for the stack pointer");
        assert_eq!(out[6..], KERNEL[6..]);
    }

    #[test]
    fn what_is_not_certain_stays() {
        let mut uses_r1 = KERNEL;
        uses_r1[6] = 0x000f_e200_0c10_1904_0000_0401_0200_7986;
        assert_eq!(changed(&uses_r1), None, "R1 is stored");
        let mut calls = KERNEL;
        calls[6] = 0x000f_e200_0000_0000_0000_0000_0000_7943;
        assert_eq!(changed(&calls), None);
        let mut waits_too_soon = KERNEL;
        waits_too_soon[3] = 0x002e_a200_0c1e_1900_0000_0004_0200_7981;
        assert_eq!(changed(&waits_too_soon), None, "one cycle after the load");
        let mut waits_for_nothing = KERNEL;
        waits_for_nothing[7] |= 1 << (105 + 11 + 4);
        assert_eq!(changed(&waits_for_nothing), None);
        assert_eq!(changed(&changed(&KERNEL).unwrap()), None, "there is nothing more to do");
    }

    /// `LDC R1; BPT.TRAP`, which waits for it.
    #[test]
    fn nothing_waits_longer_for_the_stack_pointer() {
        let trap = Instruction(0x000f_ea00_0030_0000_0000_0000_0000_795c).waiting(1);
        let code = [Instruction(KERNEL[0]).stalling(2).0, trap.0, KERNEL[7]];
        let out = changed(&code).unwrap();
        assert_eq!((Instruction(out[0]).stall(), Instruction(out[1]).waits()), (1, 0));
    }

    /// `LDC R0; SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R9], R5; @!P0 NANOSLEEP.SYNCS R0`: a wait for the load of R1 before the
    /// last is the end of a block.
    #[test]
    fn a_sleep_starts_a_block() {
        const TRY: u128 = 0x000e_4400_0800_11ff_0000_0005_0900_75a7;
        const SLEEP: u128 = 0x004f_ea00_0390_0000_0000_0000_0000_835d;
        assert!(Instruction(SLEEP).sleeps_for_barrier());
        let body = [LOAD_R1, TRY, SLEEP, EXIT].map(Instruction);
        let registers = Registers::of_all(&body);
        let kernel = Kernel::read(&body, registers, &Jumps::default(), &Change::default()).unwrap();
        assert!(kernel.ends_block(1));
    }

    /// `DEPBAR.LE SB0, 0x1` where the load of R1 has board 0, and `DEPBAR.LE SB1, 0x36; UTCATOMSWS.ALIGN UP0, UR4, UR4`.
    #[test]
    fn a_count_of_nothing_does_not_matter() {
        let mut counts = KERNEL;
        counts[6] = 0x000f_c800_0000_0000_0000_8040_0000_791a;
        let out = changed(&counts).unwrap();
        assert_eq!((Instruction(out[1]).write_board(), out[6]), (Some(0), counts[6]));
        for counted_or_listed in [0x9040_u128, 0x0002] {
            counts[6] = 0x000f_c800_0000_0000_0000_0000_0000_791a | counted_or_listed << 32;
            let out = changed(&counts).unwrap();
            assert_eq!(Instruction(out[1]).write_board(), Some(1), "loads keep their board");
        }
        let limit = Instruction(0x000f_c800_0000_0000_0000_8d80_0000_791a).counting(1);
        let take = Instruction(0x000e_2400_0800_0000_0000_0004_0004_75e3).writing(Some(1));
        let user = Instruction(0x000f_e200_0f8e_02ff_0000_0004_0024_7c24).waiting(2);
        let code = [KERNEL[0], limit.0, take.stalling(2).0, user.0, KERNEL[7]];
        let out = changed(&code).unwrap();
        assert_eq!(Instruction(out[2]).write_board(), Some(0));
        assert_eq!(out[1], limit.counting(0).0, "it names the same board");
        assert_eq!(Instruction(out[3]).waits(), 1);
    }

    /// A store that another instruction overwrites an operand of, and a load that is used twice.
    #[test]
    fn instructions_wait_for_what_they_need_and_not_for_what_shares_a_board() {
        let code = [
            KERNEL[0],
            // LDC.64 R2 and LDC R6 set board 1; R2 is needed first
            0x000e_6200_0000_0a00_0000_e000_ff02_7b82,
            0x000e_6400_0000_0800_0000_e200_ff06_7b82,
            // IADD3 R4 = R2 waits for both, IADD3 R7 = R6 has no need to
            0x002f_e200_07ff_e0ff_0000_0001_0204_7810,
            0x000f_e200_07ff_e0ff_0000_0001_0607_7810,
            0x000f_ea00_0380_0000_0000_0000_0000_794d,
        ];
        let out = changed(&code).unwrap();
        assert_eq!(Instruction(out[1]).write_board(), Some(0));
        let boards: Vec<_> = out.iter().map(|&w| Instruction(w).write_board()).collect();
        let waits: Vec<_> = out.iter().map(|&w| Instruction(w).waits()).collect();
        let second = boards[2].unwrap();
        assert_eq!(waits[3] & 1, 1, "R2 is waited for where it is used");
        assert!((waits[3] | waits[4]) >> second & 1 == 1, "and R6 where it is, or before");
    }

    /// `LDC R3` before a loop and the store of R3 in it get one board. The store's comes over the back edge with
    /// a register that is known there, so the header, instruction 11, does not wait for it.
    #[test]
    fn a_loop_does_not_wait_for_registers_that_are_known() {
        let code = [
            0x000e_3000_0000_0800_0000_df00_ff01_7b82,
            0x000e_6200_0000_8800_0000_0000_0006_79c3,
            0x000f_e200_0000_0000_0000_0000_0004_7882,
            0x000f_c400_0000_0000_0000_0400_0005_7882,
            0x000f_c800_0fff_e0ff_0000_0005_0404_7290,
            0x000e_b000_0000_0800_0000_e600_ff00_7b82,
            0x000e_e200_0000_0800_0000_eb00_ff02_7b82,
            0x002f_ce00_0f8e_c0ff_0000_0004_0604_7291,
            0x000e_6400_0000_0800_0000_eb00_ff03_7b82,
            0x0045_e400_0800_0804_0000_c800_ff00_7988,
            0x00df_da00_03f0_4270_0000_0006_0200_780c,
            0x001f_ea00_0380_0000_0000_0000_0000_094d,
            0x000e_2200_0000_8800_0000_0000_0006_79c3,
            0x000f_e200_0000_0000_0000_0000_0004_7882,
            0x000f_e400_0000_0000_0000_0400_0005_7882,
            0x000f_c800_0fff_e0ff_0000_0005_0404_7290,
            0x001f_d200_0f8e_c0ff_0000_0004_0604_7291,
            0x0021_e200_0800_0804_0000_8803_ff00_7988,
            0x000f_ea00_0380_0000_0000_0000_0000_094d,
            0x000f_ea00_0383_ffff_ffff_fffc_00dc_0947,
            0x000f_ea00_0380_0000_0000_0000_0000_794d,
        ];
        let out = changed(&code).unwrap();
        let at = |i: usize| Instruction(out[i]);
        assert_eq!((at(8).write_board(), at(17).read_board()), (Some(0), Some(0)));
        assert_eq!((at(11).waits(), at(17).waits()), (0, 1));
    }

    /// `LDC R1; S2R R0; ISETP; @P0 MEMBAR; @P0 ERRBAR; @P0 CGAERRBAR; @P0 EXIT`: with the barriers that `-g` inserts, the
    /// load of R1 is over when the EXIT comes (`ticket` of atomics.cu), and its board is free behind it.
    #[test]
    fn barriers_give_results_time_to_arrive() {
        let code = [
            0x000e_2200_0000_0800_0000_df00_ff01_7b82,
            0x000e_6400_0000_2100_0000_0000_0000_7919,
            0x002f_da00_03f0_5270_0000_00ff_0000_720c,
            0x000f_c000_0000_5000_0000_0000_0000_0992,
            0x000f_c000_0000_0000_0000_0000_0000_09ab,
            0x000f_ec00_0000_0000_0000_0000_0000_05ab,
            0x000f_ea00_0380_0000_0000_0000_0000_094d,
            // LDC.64 R2 and its use, on board 1 in the input
            0x000e_6400_0000_0a00_0000_e000_ff02_7b82,
            0x002f_e200_07ff_e0ff_0000_0001_0204_7810,
            0x000f_ea00_0380_0000_0000_0000_0000_794d,
        ];
        let bytes: Vec<u8> = code.iter().flat_map(|i: &u128| i.to_le_bytes()).collect();
        let inserted = 3..6;
        let stall = |i: usize| (!inserted.contains(&i)).then(|| Instruction(code[i]).stall());
        let stalls_before: Vec<_> = (0..code.len()).map(stall).collect();
        let change = Change { stalls_before, keeps_stack_pointer: true, ..Change::default() };
        let out = rescoreboard(&bytes, &Jumps::default(), &change, RULES).unwrap();
        let out = Instruction::all(&out).unwrap();
        assert_eq!(out[0].write_board(), Some(0), "R1 keeps its board");
        assert_eq!((out[6].waits(), out[7].write_board(), out[8].waits()), (1, Some(0), 1));
        let nothing = Change { keeps_stack_pointer: true, ..Change::default() };
        assert_eq!(
            rescoreboard(&bytes, &Jumps::default(), &nothing, RULES),
            None,
            "nothing inserted"
        );
    }

    #[test]
    fn what_is_waited_for_at_once_takes_a_second_cycle() {
        let body: Vec<_> = KERNEL.iter().map(|&w| Instruction(w)).collect();
        let registers = Registers::of_all(&body);
        let kernel = Kernel::read(&body, registers, &Jumps::default(), &Change::default()).unwrap();
        let allocation = Allocator::new(&kernel, RULES).run().unwrap();
        let mut waits = vec![0, 0, 1, 1, 4, 0, 0, 0];
        let found = stalls(&kernel, &allocation, &waits);
        assert_eq!((body[1].stall(), found[1]), (1, 2), "instruction 1 sets board 0");
        assert_eq!(found[2..], body[2..].iter().map(|i| i.stall()).collect::<Vec<_>>());
        waits[3] = 0;
        let found = stalls(&kernel, &allocation, &waits);
        assert_eq!((body[2].stall(), found[2]), (2, 1), "nothing waits for instruction 2 at once");
    }

    #[test]
    fn a_missing_wait_is_found() {
        let body: Vec<_> = KERNEL.iter().map(|&w| Instruction(w)).collect();
        let registers = Registers::of_all(&body);
        let kernel = Kernel::read(&body, registers, &Jumps::default(), &Change::default()).unwrap();
        let allocator = Allocator::new(&kernel, RULES);
        let allocation = allocator.run().unwrap();
        let waits = Waits::new(&kernel, &allocator, &allocation).unwrap().run().unwrap();
        let stalls = stalls(&kernel, &allocation, &waits);
        assert!(is_safe(&kernel, &allocation, &waits, &stalls));
        let mut found = 0;
        for i in (0..waits.len()).filter(|&i| waits[i] != 0) {
            let mut fewer = waits.clone();
            fewer[i] = 0;
            assert!(!is_safe(&kernel, &allocation, &fewer, &stalls), "instruction {i}");
            found += 1;
        }
        assert_eq!(found, 2);
    }

    /// Code that nobody compiles must not take long: all loads share a board or a register.
    #[test]
    fn odd_code_takes_no_longer_than_other_code() {
        const LOAD: u128 = 0x000e_6200_0000_0800_0000_e000_ff02_7b82;
        const USE: u128 = 0x002f_e200_07ff_e0ff_0000_0001_0204_7810;
        const BRANCH: u128 = 0x000f_ea00_0380_0000_0000_0000_0004_8947;
        for pattern in [&[LOAD][..], &[LOAD, LOAD, USE], &[LOAD, BRANCH], &[LOAD, USE, BRANCH]] {
            let mut code = vec![KERNEL[0]];
            code.extend(pattern.iter().cycle().take(3000));
            code.push(KERNEL[7]);
            let start = std::time::Instant::now();
            _ = changed(&code);
            assert!(start.elapsed().as_secs() < 60, "{pattern:x?}");
        }
    }

    const LOAD_R1: u128 = KERNEL[0];
    const EXIT: u128 = KERNEL[7];

    /// `LDC.64 R2; STG [R2], R5; MEMBAR` that waits for all; `IADD3 R5`: that waits for the store's operands as if
    /// nothing had, by the rules of any release.
    #[test]
    fn a_wait_for_all_ends_nothing() {
        let store = Instruction(0x000f_e200_0c10_1904_0000_0405_0200_7986);
        let code = [
            LOAD_R1,
            Instruction(0x000e_6200_0000_0a00_0000_e000_ff02_7b82).stalling(2).0,
            store.waiting(2).reading(1).stalling(2).0,
            Instruction(0x000f_ec00_0000_a000_0000_0000_0000_7992).waiting(0x3f).0,
            0x002f_e200_07ff_e0ff_0000_0001_0205_7810,
            EXIT,
        ];
        let bytes: Vec<u8> = code.iter().flat_map(|i: &u128| i.to_le_bytes()).collect();
        for rules in [BoardRules::CUDA_13_0, BoardRules::CUDA_13_1] {
            let change = Change::default();
            let out = rescoreboard(&bytes, &Jumps::default(), &change, [rules; 2]).unwrap();
            let out = Instruction::all(&out).unwrap();
            assert_eq!((out[1].write_board(), out[2].read_board()), (Some(0), Some(0)));
            let waits: Vec<_> = out.iter().map(|i| i.waits()).collect();
            assert_eq!(waits, [0, 0, 1, 0x3f, 1, 0]);
        }
    }

    /// `LDC R4; L: IADD3 R5; YIELD; IADD3 R7, R4; STG [R2], R5; @P0 BRA L`: IADD3 waits for the store before it, on the
    /// board on which R4 is, and YIELD for R4.
    #[test]
    fn a_yield_waits_in_the_first_phase() {
        let store = Instruction(0x000f_e200_0c10_1904_0000_0405_0200_7986);
        let code = [
            LOAD_R1,
            Instruction(0x000e_6200_0000_0800_0000_e200_ff04_7b82).stalling(2).0,
            0x002f_e200_07ff_e0ff_0000_0001_0305_7810,
            Instruction(0x000f_ea00_0380_0000_0000_0000_0000_7946).waiting(2).0,
            0x000f_e200_07ff_e0ff_0000_0001_0407_7810,
            store.reading(1).stalling(2).0,
            0x000f_ea00_0383_ffff_ffff_fffc_00ec_0947,
            EXIT,
        ];
        let bytes: Vec<u8> = code.iter().flat_map(|i: &u128| i.to_le_bytes()).collect();
        let rules = [BoardRules::CUDA_13_1; 2];
        let out = rescoreboard(&bytes, &Jumps::default(), &Change::default(), rules).unwrap();
        let out = Instruction::all(&out).unwrap();
        assert_eq!((out[1].write_board(), out[5].read_board()), (Some(0), Some(0)));
        let waits: Vec<_> = out.iter().map(|i| i.waits()).collect();
        assert_eq!(waits, [0, 0, 1, 1, 0, 0, 0, 0]);
    }

    /// `LDCU UR4; WARPSYNC.ALL`.
    #[test]
    fn warps_meet_without_waits_in_13_0() {
        let body = [KERNEL[2], 0x000f_ea00_0380_0000_0000_0000_0000_7948, EXIT].map(Instruction);
        let change = Change { keeps_stack_pointer: true, ..Change::default() };
        let mut kernel =
            Kernel::read(&body, Registers::of_all(&body), &Jumps::default(), &change).unwrap();
        for (rules, waits) in [(BoardRules::CUDA_13_0, false), (BoardRules::CUDA_13_1, true)] {
            kernel.follow(rules);
            assert_eq!(kernel.needed(1, &kernel.pending[1]).has(0), waits);
            assert!(kernel.needed(2, &kernel.pending[2]).has(0), "EXIT waits");
        }
    }

    /// The kernel of some instructions, and what is pending at one of them that it needs.
    fn needed(body: &[Instruction], i: usize) -> Vec<usize> {
        let (jumps, change) = (Jumps::default(), Change::default());
        let kernel = Kernel::read(body, Registers::of_all(body), &jumps, &change).unwrap();
        kernel.needed(i, &kernel.pending[i]).iter().collect()
    }

    /// `@!P0 LDC R2; @P0 LDC R2` and `@!UP0 LDCU UR4; @UP0 LDCU UR4`.
    #[test]
    fn only_uniform_guards_do_not_exclude_each_other() {
        for (load, needs) in [(KERNEL[1], false), (KERNEL[2], true)] {
            let guarded = |guard: u128| Instruction(load & !(0xf << 12) | guard << 12).stalling(2);
            let body = [guarded(8), guarded(0), Instruction(EXIT)];
            assert_eq!(needed(&body, 1), if needs { vec![0] } else { vec![] });
        }
    }

    /// `SYNCS.EXCH.64 URZ, [UR6], UR4; UMOV UR4, 0x400; UMOV UR5, 0x400`.
    #[test]
    fn barriers_read_uniform_operands_late() {
        const EXCHANGE: u128 = 0x0010_6400_0800_0100_0000_0004_06ff_75b2;
        const MOVE: u128 = 0x000f_e200_0000_0000_0000_0400_0004_7882;
        let body = [
            Instruction(EXCHANGE),
            Instruction(MOVE),
            Instruction(MOVE ^ 1 << 16),
            Instruction(EXIT),
        ];
        let events = [body[0].read_board(), body[0].write_board()].iter().flatten().count();
        assert_eq!(events, 2, "operands and the result in URZ");
        assert_eq!((needed(&body, 1), needed(&body, 2)), (vec![0], vec![0]));
    }

    /// `DMMA R4, R2, R4, R4` with the last board, and with another.
    #[test]
    fn matrices_have_boards_for_themselves_where_the_compiler_gave_them() {
        const MATRIX: u128 = 0x000f_e200_0000_0004_0000_0002_0204_723f;
        for (result, first) in [(5, [5, 4]), (3, [6, 6])] {
            let multiply = Instruction(MATRIX).writing(Some(result)).reading(4);
            let body = [multiply, Instruction(EXIT)];
            let (jumps, change) = (Jumps::default(), Change::default());
            let kernel = Kernel::read(&body, Registers::of_all(&body), &jumps, &change).unwrap();
            for (reserves_matrix_operands, first) in [(false, first[0]), (true, first[1])] {
                let rules = BoardRules { reserves_matrix_operands, ..BoardRules::CUDA_13_0 };
                let reserved = Reserved::of(&kernel, rules);
                let boards: Vec<_> =
                    kernel.events.iter().map(|event| reserved.board(event, multiply)).collect();
                let of_result = (result == 5).then_some(5);
                let of_operands = of_result.filter(|_| reserves_matrix_operands).map(|_| 4);
                assert_eq!((reserved.first(), boards), (first, vec![of_operands, of_result]));
            }
        }
    }
}
