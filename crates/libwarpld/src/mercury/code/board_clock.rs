//! Estimated times: when the instructions of a block issue, and when their events are over.

use super::board_choice::Allocator;
use super::board_times::{Clock, Times};
use super::units::{ARITHMETIC, has_fixed_latency, is_fixed_latency, is_matrix, latency};
use std::rc::Rc;

/// Cycles from the barriers before an EXIT (`-g`) to the EXIT, if waits before them made the block longer. (In
/// `S2R; ISETP; STS; @P0 MEMBAR; @P0 ERRBAR; @P0 CGAERRBAR; @P0 EXIT` the result of LDC, which takes 48 cycles, is over
/// and the operand of STS is not, which leaves cycle 48 alone. Without waits all of their 6 cycles count.)
const BARRIERS: i64 = 2;

/// BAR counts as one cycle, whatever its stall count. (In 8,600 functions of public sources that leaves 816 choices of 13.4
/// unexplained, the stall count 875; 13.0: 1,357 and 1,355.)
const BAR: u16 = 0x11d;

impl Allocator<'_> {
    /// The clocks of a block in the input and in the new allocation. With the same stall counts they are the same.
    pub fn clocks(&self, block: usize, [old, new]: [&mut Times; 2]) -> [Rc<Clock>; 2] {
        let (start, end) = self.blocks.range(block);
        let own = self.kernel.set_in((start, end));
        let clock = Rc::new(self.clock(block, old));
        if old.stalls[start..=end] != new.stalls[start..=end] {
            return [clock, Rc::new(self.clock(block, new))];
        }
        new.done[own.clone()].copy_from_slice(&old.done[own]);
        [Rc::clone(&clock), clock]
    }

    /// When instructions issue, from stall counts and waits, and when events are over. A stall count that
    /// only keeps a distance to an earlier instruction of fixed latency does not add to a wait in between.
    fn clock(&self, block: usize, Times { stalls: each, done, writers }: &mut Times) -> Clock {
        let (start, end) = self.blocks.range(block);
        let stall = |i: usize| i64::from(each[i]);
        let mut issue: Vec<i64> = Vec::with_capacity(end - start + 1);
        let mut stalls: Vec<i64> = Vec::with_capacity(end - start + 1);
        // When what each instruction waits for is over.
        let mut ready = vec![0; end - start + 1];
        let (mut total, mut sum) = (0, 0);
        for i in start..=end {
            let k = i - start;
            stalls.push(total);
            total += i64::from(self.kernel.stalls_before[i].unwrap_or(0));
            let mut now = ready[k];
            if k > 0 {
                let kept = self.kept(i, start, writers, &stalls, &issue);
                let step = if self.kernel.is_inserted(i - 1) {
                    now = now.max(sum);
                    stall(i - 1).min(BARRIERS)
                } else if kept.is_none() && self.body[i - 1].operation() != BAR {
                    stall(i - 1)
                } else {
                    stall(i - 1).min(1)
                };
                now = now.max(issue[k - 1] + step).max(kept.unwrap_or(now));
            }
            issue.push(now);
            sum += stall(i);
            for e in self.kernel.set_by(i) {
                done[e] = now + self.latency_of(e);
                let waiter = self.waiter[e].checked_sub(start);
                if let Some(until) = waiter.and_then(|k| ready.get_mut(k)) {
                    *until = done[e].max(*until);
                }
            }
            if let Some(dependences) = &self.kernel.dependences {
                dependences.registers(i).writes.iter().for_each(|register| writers[register] = i);
            }
        }
        // The last instruction may come sooner than stall counts say: after a wait, they only keep a distance to an
        // instruction before it (`STG` with stall 12 in `LDC; ISETP; STG; @P0 BRA`: nothing waits for its operands
        // before the loop that follows; k48 of 150 kernels).
        let end = issue.last().copied().unwrap_or(0) + stall(end);
        Clock { start, issue, end }
    }

    /// Estimated cycles until an event is over.
    fn latency_of(&self, e: usize) -> i64 {
        const CONVERSIONS: [u16; 2] = [0x110, 0x111];
        const LONG: i64 = 64;
        let event = &self.events[e];
        let instruction = self.body[event.at];
        let [rules, _] = self.rules;
        match rules.has_few_double_units {
            true if CONVERSIONS.contains(&instruction.operation()) => ARITHMETIC,
            true if event.writes && is_matrix(instruction) => LONG,
            _ => latency(instruction, event.writes),
        }
    }

    /// The earliest issue of an instruction that keeps its distances to instructions of fixed latency, not the one before,
    /// whose results it reads as soon as it may; `None` if there are none.
    fn kept(
        &self,
        i: usize,
        start: usize,
        writers: &[usize],
        stalls: &[i64],
        issue: &[i64],
    ) -> Option<i64> {
        let dependences = self.kernel.dependences.as_ref()?;
        let mut out = None;
        for register in dependences.registers(i).reads.iter() {
            let p = writers[register];
            if p < start || p.saturating_add(1) >= i || !has_fixed_latency(self.body[p]) {
                continue;
            }
            let distance = stalls[i - start] - stalls[p - start];
            if is_fixed_latency(self.body[p], self.body[i], register, distance) {
                out = out.max(Some(issue[p - start] + distance));
            }
        }
        out
    }
}
