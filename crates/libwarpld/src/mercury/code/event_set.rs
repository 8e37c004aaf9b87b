//! Sets of events.

use smallvec::SmallVec;
use std::ops::Index;

/// Events by number, in ascending order. In compiled code few events are pending at once, however many a kernel
/// has, so lists cost less than a bit for each of them (a link of 10.6 MB of attention kernels: 8.4 against 19.4
/// thousand million instructions, with what else changed then).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventSet(SmallVec<[u32; 14]>);

impl EventSet {
    /// Adds an event.
    pub fn add(&mut self, event: usize) {
        let event = event as u32;
        match self.0.last() {
            Some(&last) if last >= event => {
                if let Err(at) = self.0.binary_search(&event) {
                    self.0.insert(at, event);
                }
            }
            _ => self.0.push(event),
        }
    }

    /// Removes the events that do not answer a question.
    pub fn retain(&mut self, is: impl Fn(usize) -> bool) {
        self.0.retain(|event| is(*event as usize));
    }

    /// Removes all events.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether the set contains no event.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many events the set contains.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the set contains an event.
    pub fn has(&self, event: usize) -> bool {
        self.0.binary_search(&(event as u32)).is_ok()
    }

    /// Adds all events of another set and returns whether that changed anything.
    pub fn merge(&mut self, other: &Self) -> bool {
        let Some(first) = other.0.first() else { return false };
        match self.0.last() {
            None => {
                self.0 = SmallVec::from_slice(&other.0);
                return true;
            }
            Some(last) if last < first => {
                self.0.extend_from_slice(&other.0);
                return true;
            }
            _ if other.contained_in(self) => return false,
            _ => {}
        }
        let mut both = SmallVec::with_capacity(self.0.len() + other.0.len());
        let (mut ours, mut theirs) = (&self.0[..], &other.0[..]);
        while let (Some((&a, rest)), Some((&b, others))) =
            (ours.split_first(), theirs.split_first())
        {
            both.push(a.min(b));
            ours = if a <= b { rest } else { ours };
            theirs = if b <= a { others } else { theirs };
        }
        both.extend_from_slice(ours);
        both.extend_from_slice(theirs);
        self.0 = both;
        true
    }

    /// Whether another set contains all events of this one.
    fn contained_in(&self, other: &Self) -> bool {
        let mut rest = other.0.iter();
        self.0.iter().all(|event| rest.find(|other| *other >= event) == Some(event))
    }

    /// The events that answer a question.
    #[must_use]
    pub fn filtered(&self, is: impl Fn(usize) -> bool) -> Self {
        let mut out = Self::default();
        for &event in &self.0 {
            if is(event as usize) {
                out.0.push(event);
            }
        }
        out
    }

    /// The intersection.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        self.filtered(|event| other.has(event))
    }

    /// Whether the sets intersect.
    pub fn meets(&self, other: &Self) -> bool {
        self.iter().any(|event| other.has(event))
    }

    /// The events in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().map(|&event| event as usize)
    }
}

/// Events that may be pending before each instruction. Most instructions neither set nor end one, so they share
/// the set of the one before.
#[derive(Debug, Default)]
pub struct PendingAt {
    sets: Vec<EventSet>,
    /// The set of each instruction.
    at: Vec<u32>,
    /// How many more events the sets may have in all.
    room: usize,
}

impl PendingAt {
    /// For code of some length. Compiled code has at most 52 events per instruction (of 8,400 functions of public sources),
    /// mostly a few; other code must not take all memory.
    pub fn with_room_for(instructions: usize) -> Self {
        const EACH: usize = 150;
        Self { room: EACH * (instructions + 100), ..Self::default() }
    }

    /// Notes what is pending at the next instruction; `None` if there are too many.
    pub fn push(&mut self, events: &EventSet, is_same: bool) -> Option<()> {
        if !is_same {
            self.room = self.room.checked_sub(events.len())?;
            self.sets.push(events.clone());
        }
        self.at.push(u32::try_from(self.sets.len().checked_sub(1)?).ok()?);
        Some(())
    }
}

impl Index<usize> for PendingAt {
    type Output = EventSet;

    fn index(&self, i: usize) -> &EventSet {
        &self.sets[self.at[i] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn set(events: &[usize]) -> EventSet {
        let mut out = EventSet::default();
        events.iter().for_each(|&event| out.add(event));
        out
    }

    /// All pairs of sets of five events.
    #[test]
    fn sets_are_those_of_the_standard_library() {
        let members =
            |mask: u32| (0..5).filter(move |bit| mask >> bit & 1 == 1).map(|b| b as usize * 3);
        for (a, b) in (0..32).flat_map(|a| (0..32).map(move |b| (a, b))) {
            let [left, right] = [a, b].map(|mask| members(mask).rev().collect::<Vec<_>>());
            let (ours, theirs) = (set(&left), set(&right));
            let [left, right] = [left, right].map(|list| list.into_iter().collect::<BTreeSet<_>>());
            let listed = |set: &EventSet| set.iter().collect::<Vec<_>>();
            let mut merged = ours.clone();
            let changed = merged.merge(&theirs);
            assert_eq!(listed(&merged), left.union(&right).copied().collect::<Vec<_>>());
            assert_eq!(changed, !right.is_subset(&left));
            assert_eq!(
                listed(&ours.and(&theirs)),
                left.intersection(&right).copied().collect::<Vec<_>>()
            );
            assert_eq!(ours.meets(&theirs), !left.is_disjoint(&right));
            assert_eq!((ours.len(), ours.is_empty()), (left.len(), left.is_empty()));
            let mut rest = ours.clone();
            rest.retain(|event| !theirs.has(event));
            assert_eq!(listed(&rest), left.difference(&right).copied().collect::<Vec<_>>());
            assert_eq!(ours.filtered(|event| !theirs.has(event)), rest);
        }
    }
}
