//! What took how long: the steps of the command, the phases of the link, the compilers.

use libwarpld::driver::Lap;
use libwarpld::driver::shown;
use serde_json::{Value, json};
use std::time::Duration;
use warpld_compilers::compile::{Phase, Timed};

/// What took how long. Compilers run side by side, within the step that chooses images.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// Before the link.
    pub before: Vec<Lap>,
    /// The link.
    pub link: Vec<Lap>,
    /// Each run of a compiler.
    pub compilers: Vec<Timed>,
}

impl Times {
    /// `[["step"|"compiler", name, milliseconds], ...]`
    pub(super) fn json(&self) -> Value {
        let steps = self.before.iter().chain(&self.link);
        let steps = steps.map(|phase| json!(["step", phase.name, milliseconds(phase.time)]));
        let compilers = self.compilers.iter().map(|timed| {
            let tool = match timed.phase {
                Phase::Optimize => "link-time optimizer",
                Phase::Assemble | Phase::Ptx => "ptxas",
            };
            let name = format!("{tool}: {}", shown(&timed.name));
            json!(["compiler", name, milliseconds(timed.time)])
        });
        Value::Array(steps.chain(compilers).collect())
    }
}

/// To the microsecond.
fn milliseconds(time: Duration) -> f64 {
    time.as_micros() as f64 / 1e3
}
