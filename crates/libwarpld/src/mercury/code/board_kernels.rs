//! Tests of scoreboards as releases since 13.1 and CUDA 12 choose them, on whole kernels (`board_kernels.txt`,
//! `board_kernels_12.txt`).

use super::instruction::Instruction;
use super::kernel::{Change, Jumps};
use super::older_code::renew;
use super::scoreboards::rescoreboard;
use crate::dialect::BoardRules;

/// A kernel or function of a file.
#[derive(Default)]
pub struct Sample {
    pub name: &'static str,
    pub jumps: Jumps,
    pub code: Vec<u128>,
    pub linked: Vec<u128>,
}

pub fn samples(text: &'static str) -> Vec<Sample> {
    const CONTROL: u128 = 0x1f_ffff << 105;
    let mut out: Vec<Sample> = Vec::new();
    for line in text.lines() {
        let mut words = line.split(' ').filter(|word| !word.is_empty());
        match words.next() {
            None | Some("#") => {}
            Some("kernel") => {
                let name = words.next().unwrap();
                let jumps = words.flat_map(|word| word.split(';')).map(jump).collect();
                out.push(Sample { name, jumps, ..Sample::default() });
            }
            Some(word) => {
                let word = u128::from_str_radix(word, 16).unwrap();
                let control = words.next().map(|bits| u128::from_str_radix(bits, 16).unwrap());
                let sample = out.last_mut().unwrap();
                sample.code.push(word);
                sample.linked.push(control.map_or(word, |bits| word & !CONTROL | bits << 105));
            }
        }
    }
    out
}

/// A branch and where its table leads.
fn jump(text: &str) -> (usize, Vec<usize>) {
    let (at, targets) = text.split_once(':').unwrap();
    (at.parse().unwrap(), targets.split(',').map(|target| target.parse().unwrap()).collect())
}

/// The first instruction with other bits than nvlink's.
fn difference(sample: &Sample, rules: [BoardRules; 2]) -> Option<usize> {
    let bytes: Vec<u8> = sample.code.iter().flat_map(|word| word.to_le_bytes()).collect();
    let bytes = if rules[0].ends_at_collectives { renew(&bytes).unwrap_or(bytes) } else { bytes };
    let out = rescoreboard(&bytes, &sample.jumps, &Change::default(), rules).unwrap_or(bytes);
    let out = Instruction::all(&out).unwrap();
    out.iter().zip(&sample.linked).position(|(out, linked)| out.0 != *linked)
}

#[test]
fn kernels_since_13_1_get_the_boards_of_nvlink() {
    let samples = samples(include_str!("board_kernels.txt"));
    assert_eq!(samples.len(), 9);
    for sample in &samples {
        assert_eq!(difference(sample, [BoardRules::CUDA_13_1; 2]), None, "{}", sample.name);
    }
}

/// Each needs one rule of CUDA 12 or 13.0.
#[test]
fn code_of_cuda_12_gets_the_boards_of_nvlink() {
    let (old, new) = (BoardRules::CUDA_12, BoardRules::CUDA_13_0);
    let without = [
        [BoardRules { counts_spare_time: true, ..old }, new],
        [BoardRules { shares_with_other_blocks: true, ..old }, new],
        [BoardRules { clears_for_slow: false, ..old }, new],
        [BoardRules { ends_at_collectives: false, ..old }, new],
        [old, BoardRules { returns_need_all: false, ..new }],
    ];
    let samples = samples(include_str!("board_kernels_12.txt"));
    assert_eq!(samples.len(), without.len());
    for (sample, without) in samples.iter().zip(without) {
        assert_eq!(difference(sample, [old, new]), None, "{}", sample.name);
        assert!(difference(sample, without).is_some(), "{}", sample.name);
    }
}
