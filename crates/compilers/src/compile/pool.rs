//! Several compilers at once.

use crate::host::Interruptions;
use crate::jobserver::Slots;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How often a worker asks the jobserver for a token.
const PATIENCE: Duration = Duration::from_millis(10);

/// Carries out one task; it is asked to stop by the function that it gets.
type Task<'t, T> = dyn Fn(usize, &(dyn Fn() -> bool + Sync)) -> Option<T> + Sync + 't;

/// Carries out the tasks in this order, as many at once as there are slots; the results stand
/// where the numbers of the tasks say. After a task has failed only those with lower numbers are
/// carried out to the end: of all failures, the first is reported.
pub(super) fn run<T: Send>(
    order: &[usize],
    slots: &Slots,
    interruptions: &dyn Interruptions,
    task: &Task<'_, T>,
    failed: &(dyn Fn(&T) -> bool + Sync),
) -> Vec<Option<T>> {
    let results: Vec<Mutex<Option<T>>> = order.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let first_failed = AtomicUsize::new(usize::MAX);
    let work = |worker: usize| {
        while next.load(Ordering::Relaxed) < order.len() && !interruptions.is_interrupted() {
            let Some(_token) = slots.take(worker) else {
                thread::sleep(PATIENCE);
                continue;
            };
            let Some(&number) = order.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
            let stop = || first_failed.load(Ordering::Relaxed) < number;
            if stop() {
                continue;
            }
            let Some(result) = task(number, &stop) else { continue };
            if failed(&result) {
                first_failed.fetch_min(number, Ordering::Relaxed);
            }
            if let Some(place) = results.get(number) {
                *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            }
        }
    };
    thread::scope(|scope| {
        let work = &work;
        for worker in 1..slots.workers(order.len()) {
            // Fewer workers are enough.
            let spawned = thread::Builder::new().spawn_scoped(scope, move || work(worker));
            if spawned.is_err() {
                break;
            }
        }
        work(0);
    });
    results
        .into_iter()
        .map(|place| place.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Host;
    use std::sync::Barrier;

    fn odd_ones_out(order: &[usize], threads: usize, bad: &[usize]) -> Vec<Option<usize>> {
        let host = Host::default();
        let task = |number: usize, _: &(dyn Fn() -> bool + Sync)| Some(number);
        run(order, &Slots::new(threads), host.interruptions, &task, &|number| bad.contains(number))
    }

    #[test]
    fn results_have_the_order_of_the_numbers() {
        for threads in [1, 3, 8] {
            let results = odd_ones_out(&[4, 2, 0, 1, 3], threads, &[]);
            assert_eq!(results, [Some(0), Some(1), Some(2), Some(3), Some(4)]);
        }
        assert!(odd_ones_out(&[], 4, &[]).is_empty());
    }

    #[test]
    fn what_comes_before_a_failure_is_carried_out() {
        for threads in [1, 4] {
            let results = odd_ones_out(&[3, 2, 1, 0, 4], threads, &[2, 3]);
            assert_eq!(results[..3], [Some(0), Some(1), Some(2)]);
        }
        assert_eq!(odd_ones_out(&[0, 1, 2], 1, &[0]), [Some(0), None, None]);
    }

    #[test]
    fn a_failure_stops_the_tasks_after_it() {
        let host = Host::default();
        let both_run = Barrier::new(2);
        let task = |number: usize, stop: &(dyn Fn() -> bool + Sync)| {
            both_run.wait();
            while number == 1 && !stop() {
                thread::yield_now();
            }
            (number == 0).then_some(number)
        };
        let results = run(&[1, 0], &Slots::new(2), host.interruptions, &task, &|_| true);
        assert_eq!(results, [Some(0), None]);
    }
}
