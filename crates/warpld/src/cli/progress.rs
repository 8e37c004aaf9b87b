//! A sign of life for links that take long, on a terminal only.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(1);
const PERIOD: Duration = Duration::from_millis(200);

/// Shows a line after [`PATIENCE`] and clears it when dropped.
pub struct Progress {
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Starts the clock. Nothing is shown unless standard error is a terminal and messages are
    /// text.
    pub fn start(tool: &str, inputs: usize, for_people: bool) -> Self {
        if !for_people || !io::stderr().is_terminal() {
            return Self { running: None };
        }
        let (stop, stopped) = mpsc::channel();
        let label = label(tool, inputs);
        let thread = thread::spawn(move || {
            let begun = Instant::now();
            let mut shown = false;
            let mut wait = PATIENCE;
            while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                show(&format!("\r{label}, {} s", begun.elapsed().as_secs()));
                shown = true;
                wait = PERIOD;
            }
            if shown {
                show("\r\x1b[K");
            }
        });
        Self { running: Some((stop, thread)) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}

fn label(tool: &str, inputs: usize) -> String {
    format!("{tool}: linking {inputs} input{}", if inputs == 1 { "" } else { "s" })
}

fn show(text: &str) {
    let mut out = io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_counted_in_words() {
        assert_eq!(label("warpld", 1), "warpld: linking 1 input");
        assert_eq!(label("warpld", 2), "warpld: linking 2 inputs");
    }
}
