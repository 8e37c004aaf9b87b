//! Tests of scoreboards in functions with calls, on code of ptxas 13.0.88 as nvlink of a later release links it.

use super::board_choice::Allocator;
use super::board_kernels::samples;
use super::instruction::Instruction;
use super::kernel::{Change, Jumps, Kernel};
use super::registers::Registers;
use super::scoreboards::rescoreboard;
use crate::dialect::BoardRules;

const OLD: BoardRules = BoardRules::CUDA_13_0;
const NEW: BoardRules = BoardRules::CUDA_13_1;

/// A function that saves R2 to R21 and B6, returns early (10), calls another (15) and loads what it saved (20 to 24).
const FUNCTION: [u128; 28] = [
    0x000f_ca00_07ff_e0ff_ffff_fff0_0101_7810,
    0x000f_e800_0010_0800_0000_0c15_0100_7387,
    0x000f_e800_0010_0800_0000_0814_0100_7387,
    0x0001_e800_0010_0800_0000_0410_0100_7387,
    0x0003_e200_0010_0800_0000_0002_0100_7387,
    0x001e_2a00_0010_0000_0000_0000_0610_7355,
    0x000f_e200_0380_0200_0000_00d0_0006_7945,
    0x000f_ca00_078e_0205_0000_d3f1_0500_7824,
    0x002f_c800_078e_3cff_0000_0000_0502_7212,
    0x000f_da00_03f0_4070_0000_03e8_0200_780c,
    0x001f_ea00_0380_0000_0000_0000_0000_094d,
    0x000f_e400_0000_0f00_0000_0008_0004_7202,
    0x000f_e400_0000_0f00_0000_0009_0005_7202,
    0x000f_e400_0000_0f00_0000_0000_0014_7802,
    0x000f_ce00_0000_0f00_0000_0000_0015_7802,
    0x000f_ea00_03c0_0000_0000_0000_0000_7943,
    0x000f_e200_0000_0f00_0000_0002_0006_7202,
    0x000f_ec00_0380_0000_0000_0000_0000_7947,
    0x000f_e200_0000_0000_0000_0000_0000_7918,
    0x000f_ea00_0380_0200_0000_0000_0006_7941,
    0x000e_a200_0010_0800_0000_0800_0114_7983,
    0x0001_ea00_0000_0000_0000_0010_0600_7356,
    0x000e_a800_0010_0800_0000_0c00_0115_7983,
    0x000e_a800_0010_0800_0000_0000_0102_7983,
    0x0010_a400_0010_0800_0000_0400_0110_7983,
    0x001f_e200_07ff_e0ff_0000_0010_0101_7810,
    0x004f_ec00_03e0_0000_0000_0000_1400_7950,
    0x000f_c000_0383_ffff_ffff_fffc_00fc_7947,
];

fn linked(code: &[Instruction], rules: [BoardRules; 2]) -> Option<Vec<Instruction>> {
    let bytes: Vec<u8> = code.iter().flat_map(|i| i.0.to_le_bytes()).collect();
    let out = rescoreboard(&bytes, &Jumps::default(), &Change::default(), rules)?;
    Instruction::all(&out)
}

/// The early exit no longer waits for B6 to be saved (board 0), which is over by then; the call does.
#[test]
fn calls_wait_for_what_ends_of_blocks_no_longer_wait_for() {
    let code = FUNCTION.map(Instruction);
    let mut expected = code;
    expected[10] = code[10].waiting(0);
    expected[15] = code[15].waiting(1);
    assert_eq!(linked(&code, [OLD, NEW]).unwrap(), expected);
    assert_eq!(linked(&code, [OLD; 2]), None, "the same release keeps the code");
}

/// Code of warps that have split is behind the function (`BAR.WARP.SYNC` as a NOP): the wait there goes, too.
#[test]
fn instructions_that_do_nothing_do_not_wait() {
    let mut code = FUNCTION.map(Instruction);
    code[10] = code[10].waiting(0);
    code[11] = Instruction::NOP.stalling(2).waiting(1);
    let out = linked(&code, [OLD, NEW]).unwrap();
    assert_eq!((out[11].waits(), out[15].waits()), (0, 1));
}

/// Loads of what the caller expects have one waiter, the RET, and are slow: all take 2, although 0 and 1 are free.
#[test]
fn loads_for_the_caller_share_a_board() {
    let body = FUNCTION.map(Instruction);
    let change = Change { keeps_stack_pointer: true, ..Change::default() };
    let registers = Registers::of_all(&body);
    let kernel = Kernel::read(&body, registers, &Jumps::default(), &change).unwrap();
    let allocation = Allocator::new(&kernel, [OLD, NEW]).run().unwrap();
    assert!(allocation.unexplained.is_empty(), "{:?}", allocation.unexplained);
}

/// Waits for memory, atomics whose predicate comes with the operands, RET, narrow fences that get a board.
#[test]
fn functions_since_13_1_get_the_boards_of_nvlink() {
    let samples = samples(include_str!("board_functions.txt"));
    assert_eq!(samples.len(), 8);
    for sample in samples {
        let bytes: Vec<u8> = sample.code.iter().flat_map(|word| word.to_le_bytes()).collect();
        let out = rescoreboard(&bytes, &sample.jumps, &Change::default(), [OLD, NEW]).unwrap();
        let out = Instruction::all(&out).unwrap();
        for (i, (out, linked)) in out.iter().zip(&sample.linked).enumerate() {
            assert_eq!(out.0, *linked, "{}, instruction {i}", sample.name);
        }
    }
}

/// A wait for a board that nothing has set on any path ends nothing: the compiler took it for one of a loop.
#[test]
fn waits_for_nothing_go() {
    let mut code = FUNCTION.map(Instruction);
    code[7] = code[7].waiting(8);
    assert_eq!(linked(&code, [OLD, NEW]).unwrap()[7].waits(), 0);
}
