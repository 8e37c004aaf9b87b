//! `.nv.callgraph` and `.nv.prototype`: pairs of words. In the call graph a
//! pair `(0, -1)` … `(0, -4)` opens each of four lists.

use crate::raw::Pair;
use zerocopy::FromBytes;

/// The lists of `.nv.callgraph`, in the order in which tools write them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum List {
    /// -1: caller symbol, callee symbol.
    Calls,
    /// -2: function whose address is taken, string offset of its prototype.
    AddressTaken,
    /// -3: calling function, string offset of the prototype it calls through.
    IndirectCalls,
    /// -4: function, function whose address it takes.
    TakesAddress,
}

impl List {
    /// All lists in file order.
    pub const ALL: [Self; 4] =
        [Self::Calls, Self::AddressTaken, Self::IndirectCalls, Self::TakesAddress];

    /// The second word of the pair that opens the list.
    #[inline]
    pub const fn sentinel(self) -> u32 {
        (-1 - self as i32) as u32
    }

    /// The list that a pair opens.
    #[inline]
    pub fn opened_by(pair: Pair) -> Option<Self> {
        if pair.first.get() != 0 {
            return None;
        }
        match pair.second.get() as i32 {
            -1 => Some(Self::Calls),
            -2 => Some(Self::AddressTaken),
            -3 => Some(Self::IndirectCalls),
            -4 => Some(Self::TakesAddress),
            _ => None,
        }
    }

    /// Whether the second word of its pairs is a symbol (otherwise it is an
    /// offset in the symbol string table).
    #[inline]
    pub fn second_is_symbol(self) -> bool {
        matches!(self, Self::Calls | Self::TakesAddress)
    }
}

/// Why a section of pairs could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PairError {
    #[error("section of pairs has {size} bytes, not a multiple of 8")]
    Size { size: usize },
    /// A pair comes before the first list.
    #[error("call graph entry {index} stands before the first list")]
    NoList { index: usize },
}

/// The pairs of either section.
pub fn pairs(data: &[u8]) -> Result<&[Pair], PairError> {
    <[Pair]>::ref_from_bytes(data).map_err(|_| PairError::Size { size: data.len() })
}

/// The entries of `.nv.callgraph` with their lists; sentinels are left out.
pub fn entries(
    data: &[u8],
) -> Result<impl Iterator<Item = Result<(List, Pair), PairError>> + '_, PairError> {
    let mut list = None;
    Ok(pairs(data)?.iter().enumerate().filter_map(move |(index, &pair)| {
        match List::opened_by(pair) {
            Some(opened) => {
                list = Some(opened);
                None
            }
            None => Some(list.map(|l| (l, pair)).ok_or(PairError::NoList { index })),
        }
    }))
}

/// The pair that opens `list`.
pub fn sentinel(list: List) -> Pair {
    Pair { first: 0.into(), second: list.sentinel().into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::IntoBytes;

    #[test]
    fn lists_are_opened_by_sentinels() {
        let pair = |a: u32, b: u32| Pair { first: a.into(), second: b.into() };
        let mut graph = Vec::new();
        for list in List::ALL {
            graph.push(sentinel(list));
            graph.push(pair(4, 5));
        }
        let read: Vec<_> = entries(graph.as_bytes()).unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(read, List::ALL.map(|list| (list, pair(4, 5))));
        let orphan = [pair(4, 5)];
        assert_eq!(
            entries(orphan.as_bytes()).unwrap().next(),
            Some(Err(PairError::NoList { index: 0 }))
        );
        for list in List::ALL {
            assert_eq!(List::opened_by(sentinel(list)), Some(list));
        }
        assert_eq!(List::opened_by(pair(0, 0)), None);
        assert_eq!(List::opened_by(pair(0, -5_i32 as u32)), None);
        assert_eq!(pairs(&[0; 9]), Err(PairError::Size { size: 9 }));
    }
}
