//! How long the phases of a link take.

use std::time::{Duration, Instant};

/// A phase and the time it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseTime {
    /// What it does.
    pub name: &'static str,
    /// How long it took.
    pub time: Duration,
}

/// Takes the time between calls; does not even look at the clock unless it is wanted.
#[derive(Debug, Default)]
pub struct Stopwatch {
    last: Option<Instant>,
    phases: Vec<PhaseTime>,
}

impl Stopwatch {
    /// Starts, if the times are wanted.
    pub fn start(wanted: bool) -> Self {
        Self { last: wanted.then(Instant::now), phases: Vec::new() }
    }

    /// Ends a phase that began with the end of the one before. Phases of one name add up.
    pub fn ends(&mut self, name: &'static str) {
        let Some(last) = self.last.as_mut() else { return };
        let now = Instant::now();
        let time = now.saturating_duration_since(*last);
        *last = now;
        match self.phases.iter_mut().find(|phase| phase.name == name) {
            Some(phase) => phase.time = phase.time.saturating_add(time),
            None => self.phases.push(PhaseTime { name, time }),
        }
    }

    /// The phases in the order in which they first ended.
    pub fn finish(self) -> Vec<PhaseTime> {
        self.phases
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_add_up_by_name() {
        let mut watch = Stopwatch::start(true);
        ["parse", "write", "parse"].into_iter().for_each(|name| watch.ends(name));
        let names: Vec<_> = watch.finish().iter().map(|phase| phase.name).collect();
        assert_eq!(names, ["parse", "write"]);
    }

    #[test]
    fn nothing_is_timed_unasked() {
        let mut watch = Stopwatch::start(false);
        watch.ends("parse");
        assert!(watch.finish().is_empty());
    }
}
