//! The sort nvlink uses for memory objects.

/// Which half an equal pair is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// The even-numbered half.
    A,
    /// The odd-numbered half.
    B,
}

/// A merge sort on lists that is not stable: elements are dealt out alternately
/// to two lists by prepending, each is sorted, and the two are merged. Found by
/// comparing the order of equal elements over more than a hundred layouts.
/// [`shared-declared-sorted`]
pub fn alternating_merge_sort<T: Copy, K: Ord>(
    list: &mut [T],
    ties: Ties,
    key: impl Fn(&T) -> K + Copy,
) {
    if list.len() <= 1 {
        return;
    }
    let mut a: Vec<T> = list.iter().copied().step_by(2).collect();
    let mut b: Vec<T> = list.iter().copied().skip(1).step_by(2).collect();
    a.reverse();
    b.reverse();
    alternating_merge_sort(&mut a, ties, key);
    alternating_merge_sort(&mut b, ties, key);
    let (mut i, mut j) = (0, 0);
    for slot in list.iter_mut() {
        let from_a = match (a.get(i), b.get(j)) {
            (Some(x), Some(y)) => match ties {
                Ties::A => key(x) <= key(y),
                Ties::B => key(x) < key(y),
            },
            (x, _) => x.is_some(),
        };
        let (half, at) = if from_a { (&a, &mut i) } else { (&b, &mut j) };
        *slot = half[*at];
        *at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_and_orders_ties_by_half() {
        let mut list = vec![(2, 'a'), (1, 'b'), (2, 'c'), (1, 'd')];
        alternating_merge_sort(&mut list, Ties::A, |x| x.0);
        assert_eq!(list, [(1, 'd'), (1, 'b'), (2, 'c'), (2, 'a')]);
        let mut list = vec![(1, 'a'), (1, 'b'), (1, 'c')];
        alternating_merge_sort(&mut list, Ties::A, |x| x.0);
        let by_a: String = list.iter().map(|x| x.1).collect();
        let mut list = vec![(1, 'a'), (1, 'b'), (1, 'c')];
        alternating_merge_sort(&mut list, Ties::B, |x| x.0);
        let by_b: String = list.iter().map(|x| x.1).collect();
        assert_ne!(by_a, by_b);
    }
}
