//! Estimated times: when the instructions of a block issue, and when their events are over.

use super::board_choice::Allocator;
use super::board_times::{Clock, Times};
use super::event::NEVER;
use super::registers::RegisterSet;
use super::units::{has_fixed_latency, is_fixed_latency, latency};
use std::collections::BTreeMap;

/// Cycles from the barriers before an EXIT (`-g`) to the EXIT, if waits before them made the block longer. (In
/// `S2R; ISETP; STS; @P0 MEMBAR; @P0 ERRBAR; @P0 CGAERRBAR; @P0 EXIT` the result of LDC, which takes 48 cycles, is over
/// and the operand of STS is not, which leaves cycle 48 alone. Without waits all of their 6 cycles count.)
const BARRIERS: i64 = 2;

impl Allocator<'_> {
    /// When instructions issue, from stall counts and waits, and when events are over. A stall count that
    /// only keeps a distance to an earlier instruction of fixed latency does not add to a wait in between.
    pub fn clock(&self, block: usize, Times { stalls: each, done }: &mut Times) -> Clock {
        let (start, end) = self.blocks.range(block);
        let stall = |i: usize| i64::from(each[i]);
        let mut issue: Vec<i64> = Vec::new();
        let mut stalls: Vec<i64> = Vec::new();
        let mut ready = BTreeMap::new();
        let mut writers = vec![NEVER; RegisterSet::BOUND];
        let mut total = 0;
        for i in start..=end {
            let k = i - start;
            stalls.push(total);
            total += i64::from(self.kernel.stalls_before[i].unwrap_or(0));
            let mut now = ready.get(&i).copied().unwrap_or(0);
            if k > 0 {
                let distances = self.distances(i, start, &writers, &stalls);
                let kept = distances.iter().map(|(p, distance)| issue[p - start] + distance);
                let step = if self.kernel.is_inserted(i - 1) {
                    now = now.max((start..i).map(stall).sum());
                    stall(i - 1).min(BARRIERS)
                } else if distances.is_empty() {
                    stall(i - 1)
                } else {
                    stall(i - 1).min(1)
                };
                now = kept.chain([now, issue[k - 1] + step]).max().unwrap_or(now);
            }
            issue.push(now);
            for &e in &self.at[i] {
                done[e] = now + latency(self.body[i], self.events[e].writes);
                let until = ready.entry(self.waiter[e]).or_insert(0);
                *until = done[e].max(*until);
            }
            if let Some(dependences) = &self.kernel.dependences {
                dependences.registers(i).writes.iter().for_each(|register| writers[register] = i);
            }
        }
        // What is left of events when the block ends follows from all stall counts (`ISETP; LDG; EXIT` with a wait in
        // between: k291 of seed 501).
        let last = issue.last().copied().unwrap_or(0);
        let before = (start..end).rev().find(|&i| !self.kernel.is_inserted(i));
        let before = before.map_or(0, |i| issue[i - start] + (i..end).map(stall).sum::<i64>());
        Clock { start, issue, end: last.max(before) + stall(end) }
    }

    /// Instructions of fixed latency, not the one before, whose results an instruction reads as soon as
    /// it may, and after how many cycles.
    fn distances(
        &self,
        i: usize,
        start: usize,
        writers: &[usize],
        stalls: &[i64],
    ) -> Vec<(usize, i64)> {
        let Some(dependences) = &self.kernel.dependences else { return Vec::new() };
        let mut out = Vec::new();
        let distance = |p: usize| stalls[i - start] - stalls[p - start];
        for register in dependences.registers(i).reads.iter() {
            let p = writers[register];
            if p != NEVER
                && p + 1 < i
                && has_fixed_latency(self.body[p])
                && is_fixed_latency(self.body[p], self.body[i], register, distance(p))
            {
                out.push((p, distance(p)));
            }
        }
        out
    }
}
