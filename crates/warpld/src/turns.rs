//! Work on parts of a list, in parallel and yet in their order.

use rayon::prelude::*;

/// Makes something of each part and hands it over in order. That is done for a few parts at a
/// time: what is made of them takes memory, which those after them use again.
pub fn in_turns<P: Sync, T: Send>(
    parts: impl Iterator<Item = P>,
    make: impl Fn(&P) -> T + Sync,
    mut take: impl FnMut(T),
) {
    let parts: Vec<P> = parts.collect();
    for turn in parts.chunks(4 * rayon::current_num_threads()) {
        let made: Vec<T> = turn.par_iter().map(&make).collect();
        made.into_iter().for_each(&mut take);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_are_handed_over_in_order() {
        let list: Vec<u32> = (0..1000).collect();
        let mut out = Vec::new();
        in_turns(list.chunks(7), |part| part.to_vec(), |part| out.extend(part));
        assert_eq!(out, list);
    }
}
