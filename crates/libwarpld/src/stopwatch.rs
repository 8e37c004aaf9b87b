//! How long the phases of a link take, if somebody asks.

use std::time::{Duration, Instant};

/// One phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lap {
    /// What was done.
    pub name: &'static str,
    /// How long it took.
    pub time: Duration,
}

/// A clock that is read between phases. One that is off costs nothing.
#[derive(Clone, Debug, Default)]
pub struct Stopwatch {
    since: Option<Instant>,
    laps: Vec<Lap>,
}

impl Stopwatch {
    /// A clock that runs, or one that is off.
    pub fn start(on: bool) -> Self {
        Self { since: on.then(Instant::now), laps: Vec::new() }
    }

    /// Everything since the last call was this phase.
    #[inline]
    pub fn lap(&mut self, name: &'static str) {
        if let Some(since) = self.since {
            let now = Instant::now();
            self.laps.push(Lap { name, time: now.duration_since(since) });
            self.since = Some(now);
        }
    }

    /// The phases in order; none if the clock is off.
    pub fn laps(self) -> Vec<Lap> {
        self.laps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clock_that_runs_has_laps() {
        for on in [true, false] {
            let mut clock = Stopwatch::start(on);
            clock.lap("read");
            clock.lap("write");
            let names: Vec<&str> = clock.laps().iter().map(|lap| lap.name).collect();
            assert_eq!(names, if on { &["read", "write"][..] } else { &[] });
        }
    }
}
