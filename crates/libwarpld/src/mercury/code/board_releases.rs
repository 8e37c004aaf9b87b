//! Tests of scoreboards as releases since 13.1 choose them, on code of ptxas 13.0.88 and 13.4.92.

use super::board_choice::Allocator;
use super::board_reserved::Reserved;
use super::board_times::Times;
use super::event::NEVER;
use super::instruction::Instruction;
use super::kernel::{Change, Jumps, Kernel};
use super::registers::Registers;
use super::scoreboards::rescoreboard;
use crate::dialect::BoardRules;

const OLD: BoardRules = BoardRules::CUDA_13_0;
const NEW: BoardRules = BoardRules::CUDA_13_1;

/// A store before a loop, `L: R0 -= 1; @P0 EXIT; @P1 BRA L`, as 13.0 compiles it.
const LOOP: [u128; 15] = [
    0x000e_3000_0000_0800_0000_df00_ff01_7b82,
    0x000e_6200_0000_0a00_0000_e000_ff02_7b82,
    0x000e_6e00_0800_0a00_0000_6b00_ff04_77ac,
    0x000e_6400_0000_0a00_0000_e200_ff04_7b82,
    0x0023_e200_0c11_5904_0000_0004_0200_7986,
    0x000f_c400_03f0_4270_0000_0006_0500_780c,
    0x001f_d600_078e_c0ff_0000_03ff_0400_7812,
    0x000f_c800_07ff_e0ff_ffff_ffff_0000_7810,
    0x000f_e200_03f2_4270_0000_00ff_0000_720c,
    0x000f_d800_0380_0000_0000_0000_0000_094d,
    0x000f_ea00_0383_ffff_ffff_fffc_00f0_1947,
    0x002e_2400_0000_0a00_0000_e000_ff02_7b82,
    0x001e_a800_0c1f_5900_0000_0404_0205_7981,
    0x004f_e200_0c11_5904_0000_0005_0200_7986,
    0x000f_ea00_0380_0000_0000_0000_0000_794d,
];

/// Stores of R5 and R4, `@P0 EXIT`, and `R5 = R5 * R4`, as 13.0 compiles it.
const STORES: [u128; 15] = [
    0x000e_3000_0000_0800_0000_df00_ff01_7b82,
    0x000e_6200_0000_0a00_0000_e200_ff04_7b82,
    0x000e_ae00_0800_0a00_0000_6b00_ff04_77ac,
    0x000e_a200_0000_0a00_0000_e000_ff02_7b82,
    0x002f_e200_03f0_4270_0000_0006_0500_780c,
    0x0043_e800_0c11_5904_0000_0005_0200_7986,
    0x0003_f000_0c11_5904_0000_0404_0200_7986,
    0x001f_ea00_0380_0000_0000_0000_0000_094d,
    0x000e_2200_0000_2100_0000_0000_0007_7919,
    0x002f_e200_078e_02ff_0000_0004_0505_7224,
    0x000f_c800_0000_5000_0000_0000_0009_7805,
    0x000f_e800_0c11_5904_0000_0c05_0200_7986,
    0x001f_e800_0c11_5904_0000_0c07_0200_7986,
    0x000f_e200_0c11_5904_0000_0809_0200_7986,
    0x000f_ea00_0380_0000_0000_0000_0000_794d,
];

fn linked(code: &[u128], rules: [BoardRules; 2]) -> Vec<Instruction> {
    let bytes: Vec<u8> = code.iter().flat_map(|i| i.to_le_bytes()).collect();
    Instruction::all(&rescoreboard(&bytes, &Jumps::default(), &Change::default(), rules).unwrap())
        .unwrap()
}

/// The first block of a loop waits at its end for operands of a store before the loop, as they come round, too.
/// After the loop they are waited for again.
#[test]
fn loops_since_13_1_wait_for_operands_from_before() {
    let old = linked(&LOOP, [OLD; 2]);
    assert_eq!((old[4].read_board(), old[9].waits(), old[11].waits()), (Some(0), 0, 1));
    // The same code by 13.4: `@P0 EXIT` waits.
    let mut compiled = LOOP;
    compiled[9] = Instruction(compiled[9]).waiting(2).0;
    let new = linked(&compiled, [NEW; 2]);
    assert_eq!((new[4].read_board(), new[9].waits(), new[11].waits()), (Some(0), 1, 1));
    assert_eq!(linked(&LOOP, [OLD, NEW]), new, "as from code of 13.0");
}

/// R5 is overwritten in the next block, so its store keeps a scoreboard to itself. Nor does the end of a block wait
/// for what is over.
#[test]
fn stores_since_13_1_share_boards_that_the_next_block_does_not_need() {
    let boards = |code: &[Instruction]| {
        (code[5].read_board(), code[6].read_board(), code[8].write_board(), code[9].waits())
    };
    let old = linked(&STORES, [OLD; 2]);
    assert_eq!(boards(&old), (Some(0), Some(0), Some(1), 1));
    let new = linked(&STORES, [OLD, NEW]);
    assert_eq!(boards(&new), (Some(0), Some(1), Some(2), 1));
    // The same code by 13.4.
    let mut compiled = STORES.map(Instruction);
    compiled[6] = compiled[6].reading(2);
    compiled[7] = compiled[7].waiting(0);
    compiled[8] = compiled[8].writing(Some(3));
    compiled[12] = compiled[12].waiting(8);
    assert_eq!(linked(&compiled.map(|i| i.0), [NEW; 2]), new);
}

/// Stores and loads behind a jump table, then an mbarrier, as 13.4 compiles it. SYNCS.EXCH (45) has a result in URZ,
/// and its scoreboard in the input is that of a store whose operand the next SYNCS overwrites.
const BARRIER: [u128; 51] = [
    0x000e_3000_0000_0800_0000_df00_ff01_7b82,
    0x000e_6200_0000_0a00_0000_e000_ff04_7b82,
    0x000e_6200_0800_0a00_0000_6b00_ff0a_77ac,
    0x000e_a200_0800_0800_0000_7100_ff04_77ac,
    0x000e_a200_0800_0800_0000_7600_ff05_77ac,
    0x000f_e200_0000_0000_0000_0000_0006_7882,
    0x000f_e200_0000_0000_0000_0000_0007_7882,
    0x000f_c400_0800_0f00_0000_0006_0002_7c02,
    0x000f_ca00_0800_0f00_0000_0007_0003_7c02,
    0x0023_e200_0c10_1b0a_0000_0002_0400_7985,
    0x004f_c800_0f8e_3cff_0000_0005_0404_7292,
    0x000f_e400_0bf0_6070_0000_0007_0400_788c,
    0x000f_ce00_0800_0f00_0000_0004_0007_7c02,
    0x000f_ea00_0b80_0000_0000_0001_0054_7547,
    0x000f_ca00_078e_00ff_0000_0004_0700_7824,
    0x000f_c800_07ff_e0ff_0000_8000_0000_7810,
    0x002e_6400_0000_0800_0080_0000_0002_7b82,
    0x002f_c800_0001_1402_0000_001f_ff03_7819,
    0x000f_ea00_0383_ffff_ffff_fffc_02b4_7949,
    0x000f_ca00_0000_01ff_0000_c34c_ff00_7431,
    0x000f_e200_078e_0200_0000_0005_0707_7424,
    0x000f_ec00_0380_0000_0000_0000_0034_7947,
    0x0005_e200_0c11_590a_0000_0407_0400_7985,
    0x000f_ea00_0380_0000_0000_0000_002c_7947,
    0x0003_6200_0c11_5900_0000_080a_0407_7980,
    0x000f_ea00_0380_0000_0000_0000_0024_7947,
    0x000f_ca00_0000_0f00_0000_aa38_0000_7802,
    0x000f_e200_078e_0200_0000_0005_0707_7424,
    0x000f_ec00_0380_0000_0000_0000_0018_7947,
    0x0007_e200_0c11_590a_0000_1007_0400_7985,
    0x000f_ea00_0380_0000_0000_0000_0010_7947,
    0x0009_6200_0c11_5900_0000_140a_0407_7980,
    0x000f_ea00_0380_0000_0000_0000_0008_7947,
    0x000f_ca00_0000_01ff_0000_f4f3_ff00_7431,
    0x000f_ce00_078e_0200_0000_0005_0707_7424,
    0x000e_2200_0000_8800_0000_0000_0007_79c3,
    0x020f_e200_000e_0000_0000_0000_0708_72ca,
    0x000f_e200_0000_0000_0000_0000_0004_7882,
    0x000f_e400_0000_0000_0000_0400_0005_7882,
    0x000f_d200_0fff_e0ff_0000_0005_0406_7290,
    0x000f_c800_0fff_e1ff_0010_0000_0804_7890,
    0x000f_e400_0800_06ff_0000_000b_0405_7899,
    0x000f_e400_0800_06ff_0000_0001_0404_7899,
    0x001f_e200_0f8e_c0ff_0000_0006_0706_7291,
    0x000e_3600_0000_0000_0000_0000_0000_73c6,
    0x0010_6400_0800_0100_0000_0004_06ff_75b2,
    0x002e_6400_0810_0006_0000_00ff_ff02_79a7,
    0x002f_ca00_078e_3cff_0000_0002_0703_7212,
    0x000f_e200_0c10_190a_0000_0003_0400_7985,
    0x001f_ea00_0380_0000_0000_0000_0000_794d,
    0x000f_c000_0383_ffff_ffff_fffc_00fc_7947,
];

/// No register tells that a SYNCS waits for the one before it, but the input does.
#[test]
fn barriers_are_waited_for_where_the_input_waits() {
    let bytes: Vec<u8> = BARRIER.iter().flat_map(|i| i.to_le_bytes()).collect();
    let jumps = Jumps::from_iter([(0x12, vec![0x13, 0x16, 0x18, 0x1a, 0x1d, 0x1f, 0x21])]);
    let out = rescoreboard(&bytes, &jumps, &Change::default(), [NEW; 2]).unwrap();
    let out = Instruction::all(&out).unwrap();
    assert_eq!((out[45].write_board(), out[46].waits()), (Some(1), 2));
}

/// `S2UR UR5; LDCU UR8; ISETP; @P0 EXIT` and uses of UR5 and UR8 behind it.
const ENDED: [u128; 11] = [
    0x000e_3000_0000_0800_0000_df00_ff01_7b82,
    0x000e_6200_0800_0800_0000_7100_ff04_77ac,
    0x000e_a200_0000_2600_0000_0000_0005_79c3,
    0x000e_a200_0800_0800_0000_7180_ff08_77ac,
    0x002f_da00_0bf0_6270_0000_0004_ff00_7c0c,
    0x004f_ea00_0380_0000_0000_0000_0000_094d,
    0x000f_2a00_0800_0a00_0000_6b00_ff06_77ac,
    0x000f_6200_0000_0a00_0000_e000_ff02_7b82,
    0x000f_c600_0f8e_0205_0000_0008_0504_72a4,
    0x020f_e200_0c10_1906_0000_0005_0200_7986,
    0x000f_ea00_0380_0000_0000_0000_0000_794d,
];

/// Results in uniform registers leave a block that ends with EXIT, but since 13.1 they count as needed there: those of one
/// unit set one scoreboard, and others share it.
#[test]
fn exits_since_13_1_need_uniform_registers() {
    let body: Vec<_> = ENDED.map(Instruction).to_vec();
    let (jumps, change) = (Jumps::default(), Change::default());
    let kernel = Kernel::read(&body, Registers::of_all(&body), &jumps, &change).unwrap();
    let waiters = |rules| Allocator::new(&kernel, [rules; 2]).waiter[2..4].to_vec();
    assert_eq!(waiters(OLD), [NEVER, NEVER]);
    assert_eq!(waiters(NEW), [5, 5]);
    // The same for WARPSYNC.ALL, though not at the end of a block.
    let mut synced = body.clone();
    synced[5] = Instruction(body[5].0 & !0xfff | 0x948);
    let kernel = Kernel::read(&synced, Registers::of_all(&synced), &jumps, &change).unwrap();
    let dependences = kernel.dependences.as_ref().unwrap();
    let needs = |e: usize| dependences.needs(&kernel.events[e], &kernel.subjects[e], 5, true);
    assert!([2, 3].into_iter().all(needs));
}

/// Estimated times by which boards were chosen behind 5,400 jump tables: a conversion of a double and DMMA have others where
/// double precision has few units.
#[test]
fn events_take_the_time_of_their_operation_and_target() {
    const CONVERSION: Instruction = Instruction(0x004e_a400_0030_d100_0000_0004_0004_7311);
    const DMMA: Instruction = Instruction(0x008e_6400_0000_0004_0000_000c_0c04_723f);
    const REDUX: Instruction = Instruction(0x000e_6200_0000_c000_0000_0000_040d_73c4);
    const LOAD: Instruction = Instruction(0x000e_a200_0c10_1900_0000_0008_0402_7980);
    const EXIT: Instruction = Instruction(0x000f_ea00_0380_0000_0000_0000_0000_794d);
    let times = [
        (CONVERSION.writing(Some(0)), [17, 1]),
        (DMMA.writing(Some(0)), [15, 64]),
        (DMMA.writing(None).reading(0), [1, 1]),
        (REDUX.writing(Some(0)), [23, 23]),
        (REDUX.writing(None).reading(0), [8, 8]),
        (LOAD.writing(None).reading(0), [10, 10]),
    ];
    for (instruction, expected) in times {
        let body = [instruction, EXIT];
        let (jumps, change) = (Jumps::default(), Change::default());
        let kernel = Kernel::read(&body, Registers::of_all(&body), &jumps, &change).unwrap();
        let done = |has_few_double_units: bool| {
            let stalls = || body.iter().map(|i| i.stall()).collect();
            let times = || Times::new(stalls(), kernel.events.len());
            let (mut old, mut new) = (times(), times());
            let rules = BoardRules { has_few_double_units, ..NEW };
            Allocator::new(&kernel, [rules; 2]).clocks(0, [&mut old, &mut new]);
            assert_eq!(old.done, new.done);
            old.done[0]
        };
        assert_eq!([false, true].map(done), expected, "{:03x}", instruction.operation());
    }
}

/// The last board is for DMMA alone if all its results are there, and nothing else.
#[test]
fn boards_are_reserved_only_if_nothing_else_has_them() {
    const DMMA: Instruction = Instruction(0x008e_6400_0000_0004_0000_000c_0c04_723f);
    const LOAD: Instruction = Instruction(0x000e_a200_0c10_1900_0000_0008_0402_7980);
    const EXIT: Instruction = Instruction(0x000f_ea00_0380_0000_0000_0000_0000_794d);
    let first = |board: u8| {
        let body = [DMMA.writing(Some(5)), LOAD.writing(Some(board)), EXIT];
        let (jumps, change) = (Jumps::default(), Change::default());
        let kernel = Kernel::read(&body, Registers::of_all(&body), &jumps, &change).unwrap();
        Reserved::of(&kernel, NEW).first()
    };
    assert_eq!([4, 5].map(first), [5, 6]);
}
