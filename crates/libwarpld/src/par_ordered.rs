//! Parallel work whose results are consumed in order.

use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Maps each part in parallel and passes the results on in order, a few parts at a time: later
/// results reuse the memory of earlier ones.
pub fn map_in_order<P: Sync, T: Send>(
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

/// Maps each part in parallel and passes the results on in order, each as soon as those before it
/// have been passed on. One thread passes results on while the others continue; no thread waits for
/// another.
pub fn pipeline<P: Send, T: Send>(
    parts: impl Iterator<Item = P> + Send,
    make: impl Fn(P) -> T + Sync,
    take: impl FnMut(T) + Send,
) {
    let parts = Mutex::new(parts.enumerate());
    let made = Mutex::new(BTreeMap::new());
    let taken = Mutex::new((0, take));
    let next = || parts.lock().ok()?.next();
    let hand_over = || {
        // The thread that holds the lock passes on all results that are ready; one that comes too
        // late is passed on with the next part.
        let Ok(mut taken) = taken.try_lock() else { return };
        let (number, take) = &mut *taken;
        while let Some(one) = made.lock().ok().and_then(|mut made| made.remove(number)) {
            take(one);
            *number += 1;
        }
    };
    let work = |_| {
        while let Some((number, part)) = next() {
            let one = make(part);
            if let Ok(mut made) = made.lock() {
                made.insert(number, one);
            }
            hand_over();
        }
    };
    (0..rayon::current_num_threads()).into_par_iter().with_max_len(1).for_each(work);
    hand_over();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_are_handed_over_in_order() {
        let list: Vec<u32> = (0..1000).collect();
        let mut out = Vec::new();
        map_in_order(list.chunks(7), |part| part.to_vec(), |part| out.extend(part));
        assert_eq!(out, list);
        let mut out = Vec::new();
        pipeline(list.chunks(7), <[u32]>::to_vec, |part| out.extend(part));
        assert_eq!(out, list);
    }
}
