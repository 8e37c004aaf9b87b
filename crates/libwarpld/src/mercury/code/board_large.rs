//! Tests of large code, which must not take time in proportion to the square of its size.

use super::instruction::Instruction;
use super::kernel::{Change, Jumps};
use super::scoreboards::rescoreboard;
use crate::dialect::BoardRules;

/// `LDC R1`, which nothing reads, and `LDC R2`.
const LOADS: [u128; 2] =
    [0x000e_3000_0000_0800_0000_df00_ff01_7b82, 0x000e_6200_0000_0a00_0000_e000_ff02_7b82];
/// `@P0 BRA`
const BRANCH: Instruction = Instruction(0x000f_ea00_0383_ffff_ffff_fffc_00f0_0947);
/// `STG [R2], R5` that waits for R2, and EXIT.
const END: [u128; 2] =
    [0x002f_e200_0c11_5904_0000_0005_0200_7986, 0x000f_ea00_0380_0000_0000_0000_0000_794d];

/// Loads, branches, a store.
fn kernel(branches: &[(usize, usize)]) -> Vec<u8> {
    let branch = |&(at, target): &(usize, usize)| {
        let offset = |i: usize| (i * Instruction::SIZE) as i64;
        BRANCH.towards(offset(at), offset(target)).0
    };
    let code = LOADS.into_iter().chain(branches.iter().map(branch)).chain(END);
    code.flat_map(u128::to_le_bytes).collect()
}

/// Whether the load of R1 is gone and the store waits for the other, now on the first board.
fn is_linked(code: &[u8]) -> bool {
    [BoardRules::CUDA_13_0, BoardRules::CUDA_13_1].into_iter().all(|rules| {
        let out = rescoreboard(code, &Jumps::default(), &Change::default(), [rules; 2]).unwrap();
        let out = Instruction::all(&out).unwrap();
        let store = out[out.len() - END.len()];
        (out[0].write_board(), out[1].write_board(), store.waits()) == (None, Some(0), 1)
    })
}

const MANY: usize = 200_000;
const DEEP: usize = 50_000;

#[test]
fn many_branches_may_lead_to_one_place() {
    let end = LOADS.len() + MANY;
    let branches: Vec<_> = (LOADS.len()..end).map(|at| (at, end)).collect();
    assert!(is_linked(&kernel(&branches)));
}

/// Each branch closes a loop around those of the branches before it.
#[test]
fn loops_may_be_deep() {
    let first = LOADS.len();
    let deep = |k: usize| [(first + k, first + k + 1), (first + 2 * DEEP - 1 - k, first + k)];
    let mut branches: Vec<_> = (0..DEEP).flat_map(deep).collect();
    branches.sort_unstable();
    assert!(is_linked(&kernel(&branches)));
}

/// A chain of loads of R2, each of which waits for the one before: 33,288 instructions of a test of latencies, most of
/// which set a board, were once too many.
#[test]
fn kernels_may_have_many_events() {
    let load = Instruction(LOADS[1]).waiting(0).stalling(2);
    let chain = [load.0].into_iter().chain(std::iter::repeat_n(load.waiting(2).0, DEEP));
    let code = LOADS.into_iter().chain(chain).chain(END);
    let code: Vec<u8> = code.flat_map(u128::to_le_bytes).collect();
    assert!(is_linked(&code));
}
