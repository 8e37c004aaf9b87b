//! Pairs of an event and the first instructions on each path that must not issue before it is over.

use super::flow::Flow;
use super::listing::Instruction;
use super::proof::{Event, Proof};
use super::registers::Registers;

/// Registers that a block uses at all.
struct Summary {
    any: Registers,
    leaves: bool,
}

/// The pairs of a function: event and instruction.
pub fn pairs(code: &[Instruction], flow: &Flow, proof: &Proof<'_>) -> Vec<(usize, usize)> {
    let summary = |block: usize| {
        let part = &code[flow.blocks[block]..flow.end(block)];
        let add = |all: Registers, i: &Instruction| all | i.reads | i.writes;
        let leaves = part.iter().any(|i| matches!(i.operation(), "RET" | "CALL"));
        Summary { any: part.iter().fold(Registers::NONE, add), leaves }
    };
    let summaries: Vec<Summary> = (0..flow.blocks.len()).map(summary).collect();
    let mut all = Vec::new();
    for (number, event) in proof.events.iter().enumerate() {
        let mut seen = vec![false; flow.blocks.len()];
        let mut work: Vec<usize> = flow.next[event.at].clone();
        while let Some(start) = work.pop() {
            let block = flow.block_of(start);
            if start == flow.blocks[block] && std::mem::replace(&mut seen[block], true) {
                continue;
            }
            let end = flow.end(block);
            match first(proof, event, &summaries[block], start..end) {
                Some(consumer) => all.push((number, consumer)),
                None => work.extend(&flow.next[end - 1]),
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

fn first(
    proof: &Proof<'_>,
    event: &Event,
    block: &Summary,
    mut range: std::ops::Range<usize>,
) -> Option<usize> {
    if !block.leaves && !block.any.meets(&event.registers) {
        return None;
    }
    range.find(|&at| !proof.conflict(event, at).is_empty() && !proof.excludes(event.at, at))
}
