//! The lists of an input's `.nv.callgraph`. They are borrowed: most inputs have few entries, which
//! are not worth copying.

use super::lists::MAX_RESERVE;
use crate::name_hash::{NameHash, ShortHash};
use cubin::callgraph::List;
use cubin::raw::Pair;
use cubin::string_at;

/// The parts of lists that have more than one; no compiler writes these.
type More<'a> = Box<[(List, &'a [Pair])]>;

/// The lists of `.nv.callgraph`.
#[derive(Clone, Debug, Default)]
pub struct CallLists<'a> {
    first: [&'a [Pair]; 4],
    more: More<'a>,
}

impl<'a> CallLists<'a> {
    /// Adds the entries of a section after checking each.
    pub fn add<E>(
        &mut self,
        section: &'a [Pair],
        mut check: impl FnMut(Option<List>, (u32, u32)) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut list, mut start) = (None, 0);
        for (i, entry) in section.iter().enumerate() {
            match List::opened_by(*entry) {
                None => check(list, numbers(entry))?,
                opened => {
                    self.add_part(list, &section[start..i]);
                    (list, start) = (opened, i + 1);
                }
            }
        }
        self.add_part(list, &section[start..]);
        Ok(())
    }

    fn add_part(&mut self, list: Option<List>, part: &'a [Pair]) {
        let Some(list) = list.filter(|_| !part.is_empty()) else { return };
        match &mut self.first[list as usize] {
            first if first.is_empty() => *first = part,
            _ => self.more = self.more.iter().copied().chain([(list, part)]).collect(),
        }
    }

    /// The entries of a list.
    pub fn of(&self, list: List) -> impl Iterator<Item = (u32, u32)> + '_ {
        let (mut part, mut more) = (self.first[list as usize].iter(), self.more.iter());
        std::iter::from_fn(move || {
            loop {
                // Usually there is one part.
                match part.next() {
                    Some(entry) => return Some(numbers(entry)),
                    None => part = more.find(|(other, _)| *other == list)?.1.iter(),
                }
            }
        })
    }
}

/// A prototype in the string table of its input. Prototypes are compared by name, usually without
/// reading the name.
#[derive(Clone, Copy, Debug)]
pub struct Prototype {
    offset: u32,
    length: u32,
    /// The hash of its name.
    pub hash: ShortHash,
}

impl Prototype {
    /// The prototype with a name, which starts at `offset`.
    pub fn new(offset: u32, name: &[u8]) -> Self {
        // A string table is smaller than 4 GiB, because offsets in it have 32 bits.
        let length = u32::try_from(name.len()).unwrap_or(u32::MAX);
        Self { offset, length, hash: NameHash::of(name).short() }
    }

    /// Whether another prototype of the same input has the same offset, and is therefore equal.
    pub fn is_at(&self, other: &Prototype) -> bool {
        self.offset == other.offset
    }

    /// The prototype at the same offset in another string table, where the name is usually the
    /// same.
    fn repeated(self, others: &[u8], strings: &[u8]) -> Self {
        let place = self.offset as usize..self.offset as usize + self.length as usize + 1;
        match (others.get(place.clone()), strings.get(place)) {
            (Some(other), Some(name)) if name == other => self,
            _ => Self::new(self.offset, string_at(strings, self.offset).unwrap_or_default()),
        }
    }

    /// The compact form.
    pub fn kept(&self) -> KeptPrototype {
        KeptPrototype { offset: self.offset, hash: self.hash }
    }

    /// Its name in the string table.
    pub fn of<'a>(&self, strings: &'a [u8]) -> &'a [u8] {
        let rest = strings.get(self.offset as usize..).unwrap_or_default();
        rest.get(..self.length as usize).unwrap_or(rest)
    }
}

/// A prototype in compact form, without the length.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeptPrototype {
    offset: u32,
    hash: ShortHash,
}

impl KeptPrototype {
    /// Whether it equals a prototype of another input, given both string tables.
    pub fn is(self, strings: &[u8], other: Prototype, others: &[u8]) -> bool {
        let rest = strings.get(self.offset as usize..).unwrap_or_default();
        self.hash == other.hash
            && rest.strip_prefix(other.of(others)).is_some_and(|rest| rest.first() == Some(&0))
    }
}

/// The calls of a batch of inputs. They are read with the inputs and dropped once the inputs are
/// resolved.
#[derive(Debug, Default)]
pub struct Calls<'a> {
    /// By input: the lists of `.nv.callgraph`, and the end of its prototypes.
    inputs: Vec<(CallLists<'a>, usize)>,
    /// `.nv.prototype`: functions and their prototypes.
    prototypes: Vec<(u32, Prototype)>,
}

impl<'a> Calls<'a> {
    /// With capacity for this many inputs.
    pub fn of(inputs: usize) -> Self {
        Self { inputs: Vec::with_capacity(inputs), prototypes: Vec::new() }
    }

    /// Reserves memory for the inputs after the first, assuming that all have as many prototypes.
    pub fn reserve_after_first(&mut self, inputs: usize) {
        let room = self.prototypes.len().saturating_mul(inputs).min(MAX_RESERVE);
        self.prototypes.reserve_exact(room);
    }

    /// Adds a prototype of the next input.
    pub fn add_prototype(&mut self, function: u32, prototype: Prototype) {
        self.prototypes.push((function, prototype));
    }

    /// Adds the next input after its prototypes have been added.
    pub fn add(&mut self, lists: CallLists<'a>) {
        self.inputs.push((lists, self.prototypes.len()));
    }

    /// Adds the next input, which has the same lists as the previous one and prototypes at the same
    /// offsets of its own string table.
    pub fn repeat(&mut self, others: &[u8], strings: &[u8]) {
        let Some((lists, end)) = self.inputs.last() else { return };
        let (lists, end) = (lists.clone(), *end);
        let start = self.inputs.len().checked_sub(2).map_or(0, |before| self.inputs[before].1);
        for at in start..end {
            let (function, prototype) = self.prototypes[at];
            self.add_prototype(function, prototype.repeated(others, strings));
        }
        self.add(lists);
    }

    /// By input: its lists, then functions and their prototypes.
    pub fn iter(&self) -> impl Iterator<Item = (&CallLists<'a>, &[(u32, Prototype)])> {
        let mut start = 0;
        self.inputs.iter().map(move |(lists, end)| {
            let prototypes = self.prototypes.get(start..*end).unwrap_or_default();
            start = *end;
            (lists, prototypes)
        })
    }
}

fn numbers(entry: &Pair) -> (u32, u32) {
    (entry.first.get(), entry.second.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(first: u32, second: i32) -> Pair {
        Pair { first: first.into(), second: (second as u32).into() }
    }

    #[test]
    fn lists_may_come_in_any_order_and_sections() {
        let sections = [
            vec![pair(0, -3), pair(7, 100), pair(0, -1), pair(7, 8), pair(0, 9)],
            vec![pair(0, -1), pair(8, 9), pair(0, -4), pair(0, -2)],
        ];
        let mut lists = CallLists::default();
        for section in &sections {
            assert_eq!(lists.add(section, |list, _| list.map(|_| ()).ok_or(())), Ok(()));
        }
        let of = |list| lists.of(list).collect::<Vec<_>>();
        assert_eq!(of(List::Calls), [(7, 8), (0, 9), (8, 9)]);
        assert_eq!(of(List::IndirectCalls), [(7, 100)]);
        assert!(of(List::TakesAddress).is_empty() && of(List::AddressTaken).is_empty());
        let stray = [pair(5, 6), pair(0, -1)];
        assert_eq!(lists.add(&stray, |list, entry| list.map(|_| ()).ok_or(entry)), Err((5, 6)));
    }
}
