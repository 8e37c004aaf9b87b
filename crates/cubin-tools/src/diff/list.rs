//! Pairs and compares two lists of named things.

use super::report::{Area, Change, Difference, Side};
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// How two lists pair up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pairing {
    /// Indices of pairs, in A's order.
    pub(crate) both: Vec<(usize, usize)>,
    pub(crate) only_a: Vec<usize>,
    pub(crate) only_b: Vec<usize>,
}

/// Pairs by key: the n-th of a key with the n-th.
pub(crate) fn pair<K: Hash + Eq>(a: &[K], b: &[K]) -> Pairing {
    let mut waiting: HashMap<&K, VecDeque<usize>> = HashMap::with_capacity(b.len());
    for (j, key) in b.iter().enumerate() {
        waiting.entry(key).or_default().push_back(j);
    }
    let mut pairing = Pairing::default();
    for (i, key) in a.iter().enumerate() {
        match waiting.get_mut(key).and_then(VecDeque::pop_front) {
            Some(j) => pairing.both.push((i, j)),
            None => pairing.only_a.push(i),
        }
    }
    pairing.only_b = waiting.into_values().flatten().collect();
    pairing.only_b.sort_unstable();
    pairing
}

impl Pairing {
    /// The fewest pairs that must move to bring both lists into one order:
    /// all but a longest increasing run.
    pub(crate) fn moved(&self) -> Vec<(usize, usize)> {
        if self.both.is_sorted_by_key(|&(_, j)| j) {
            return Vec::new();
        }
        // Patience sorting: the top of each pile, and the predecessor of each pair.
        let mut tops: Vec<usize> = Vec::new();
        let mut behind: Vec<Option<usize>> = Vec::with_capacity(self.both.len());
        for (at, &(_, j)) in self.both.iter().enumerate() {
            let pile = tops.partition_point(|&top| self.both[top].1 < j);
            behind.push(pile.checked_sub(1).map(|below| tops[below]));
            match tops.get_mut(pile) {
                Some(top) => *top = at,
                None => tops.push(at),
            }
        }
        let mut stays = vec![false; self.both.len()];
        let mut next = tops.last().copied();
        while let Some(at) = next {
            stays[at] = true;
            next = behind[at];
        }
        self.both.iter().zip(stays).filter(|(_, stays)| !stays).map(|(&pair, _)| pair).collect()
    }
}

/// An entry of a table: its name and fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) fields: Vec<(&'static str, String)>,
}

impl Entry {
    pub(crate) fn new(key: impl Into<String>) -> Self {
        Self { key: key.into(), fields: Vec::new() }
    }
    pub(crate) fn with(mut self, field: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((field, value.into()));
        self
    }
    fn summary(&self) -> String {
        let known = self.fields.iter().filter(|(_, value)| !value.is_empty());
        known.map(|(field, value)| format!("{field} {value}")).collect::<Vec<_>>().join(", ")
    }
}

/// Compares two tables. `place` precedes every key.
pub(crate) fn compare(
    area: Area,
    place: &str,
    a: &[Entry],
    b: &[Entry],
    out: &mut Vec<Difference>,
) {
    let keys = |entries: &[Entry]| entries.iter().map(|e| e.key.clone()).collect::<Vec<_>>();
    let pairing = pair(&keys(a), &keys(b));
    let mut add = |key: &str, change| {
        let place = match (place.is_empty(), key.is_empty()) {
            (true, _) => key.to_owned(),
            (_, true) => place.to_owned(),
            _ => format!("{place} {key}"),
        };
        out.push(Difference { area, place, change });
    };
    for (side, entries, only) in [(Side::A, a, &pairing.only_a), (Side::B, b, &pairing.only_b)] {
        for entry in only.iter().map(|&i| &entries[i]) {
            add(&entry.key, Change::OnlyIn { side, what: entry.summary() });
        }
    }
    for &(i, j) in &pairing.both {
        for (field, x, y) in differing(&a[i], &b[j]) {
            add(&a[i].key, Change::Field { field, a: x, b: y });
        }
    }
    for (i, j) in pairing.moved() {
        add(&a[i].key, Change::Moved { a: i, b: j });
    }
}

/// Fields with two values; a field that only one has is `none` in the other.
fn differing(a: &Entry, b: &Entry) -> Vec<(&'static str, String, String)> {
    let names = |entry: &Entry| entry.fields.iter().map(|f| f.0).collect::<Vec<_>>();
    let pairing = pair(&names(a), &names(b));
    let value = |text: &String| match text.is_empty() {
        true => "empty".to_owned(),
        false => text.clone(),
    };
    let none = || "none".to_owned();
    let both = pairing.both.iter().map(|&(i, j)| (&a.fields[i], &b.fields[j]));
    let changed = both.filter(|(x, y)| x.1 != y.1).map(|(x, y)| (x.0, value(&x.1), value(&y.1)));
    let only_a = pairing.only_a.iter().map(|&i| (a.fields[i].0, value(&a.fields[i].1), none()));
    let only_b = pairing.only_b.iter().map(|&j| (b.fields[j].0, none(), value(&b.fields[j].1)));
    changed.chain(only_a).chain(only_b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nth_goes_with_nth() {
        let pairing = pair(&["a", "b", "a", "c"], &["a", "a", "d", "b"]);
        assert_eq!(pairing.both, [(0, 0), (1, 3), (2, 1)]);
        assert_eq!((pairing.only_a, pairing.only_b), (vec![3], vec![2]));
    }

    #[test]
    fn one_that_moved_does_not_drag_the_others_along() {
        let pairing = pair(&[1, 2, 3, 4, 5, 6], &[1, 3, 4, 5, 2, 6]);
        assert_eq!(pairing.moved(), [(1, 4)]);
        let pairing = pair(&[1, 2, 3, 9], &[8, 1, 2, 3]);
        assert_eq!(pairing.moved(), []);
        let reversed = pair(&[1, 2, 3], &[3, 2, 1]);
        assert_eq!(reversed.moved().len(), 2);
    }

    #[test]
    fn words_of_a_table() {
        let a = [Entry::new("f").with("size", "1"), Entry::new("g").with("size", "2")];
        let b = [Entry::new("f").with("size", "3"), Entry::new("h").with("size", "")];
        let mut out = Vec::new();
        compare(Area::Symbol, "", &a, &b, &mut out);
        let lines: Vec<_> = out.iter().map(Difference::to_string).collect();
        assert_eq!(
            lines,
            [
                "symbol g: only in A: size 2",
                "symbol h: only in B",
                "symbol f: size is 1 in A, 3 in B"
            ]
        );
    }
}
