//! Links at once in one process do not disturb each other.

use crate::files::cubin;
use libwarpld::{Config, Diagnostic, Error, Input, Output, link};
use rayon::prelude::*;
use std::thread;

/// What a link must come to again.
type Outcome = Result<(Vec<u8>, Vec<Diagnostic>), Error>;

struct Case {
    inputs: Vec<Input<'static>>,
    config: Config,
}

impl Case {
    fn link(&self) -> Outcome {
        link(&self.inputs, &self.config).map(|Output { cubin, warnings, .. }| (cubin, warnings))
    }
}

/// Links of different inputs, targets and settings; some fail. One has so many inputs that it
/// is not small.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for arch in ["sm_90", "sm_100"] {
        for names in [
            &["saxpy", "scale"][..],
            &["object", "data"],
            &["switch_a", "switch_b"],
            &["lines_a", "lines_b"],
            &["weak"],
            &["textures"],
            &["sync"],
            &["saxpy"],
            &["scale", "scale"],
        ] {
            let cubins = names.iter().map(|name| cubin(&format!("{name}.{arch}.cubin")));
            let inputs: Vec<_> =
                names.iter().zip(cubins).map(|(name, data)| Input::new(*name, data)).collect();
            let plain = Config::builder(arch.parse().unwrap());
            for config in [plain.clone(), plain.clone().relocatable(true), plain.threads(3)] {
                cases.push(Case { inputs: inputs.clone(), config: config.build() });
            }
        }
    }
    let sync = cubin("sync.sm_90.cubin");
    let many = (0..40).map(|number| Input::new(format!("{number}"), sync.clone()));
    let config = Config::builder("sm_90".parse().unwrap());
    cases.push(Case { inputs: many.collect(), config: config.build() });
    cases
}

fn one_after_the_other(cases: &[Case]) -> Vec<Outcome> {
    let outcomes: Vec<Outcome> = cases.iter().map(Case::link).collect();
    let linked = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert!(linked > 20 && linked < outcomes.len() - 5, "{linked} of {}", outcomes.len());
    outcomes
}

#[test]
fn links_on_many_threads_come_to_the_same() {
    let cases = cases();
    let expected = one_after_the_other(&cases);
    thread::scope(|scope| {
        for first in 0..6 {
            let (cases, expected) = (&cases, &expected);
            scope.spawn(move || {
                // Each thread begins elsewhere, so that different links meet.
                for at in (0..cases.len()).map(|n| (n + first * 7) % cases.len()) {
                    assert!(cases[at].link() == expected[at], "case {at}");
                }
            });
        }
    });
}

#[test]
fn links_on_one_pool_come_to_the_same() {
    let cases = cases();
    let expected = one_after_the_other(&cases);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    for _ in 0..4 {
        let outcomes: Vec<Outcome> = pool.install(|| cases.par_iter().map(Case::link).collect());
        for (at, (outcome, expected)) in outcomes.iter().zip(&expected).enumerate() {
            assert!(outcome == expected, "case {at}");
        }
    }
}

/// A link on the caller's pool starts no thread, and one elsewhere leaves none behind: a global
/// pool of rayon's would stay.
#[test]
#[cfg(target_os = "linux")]
fn no_thread_is_left_behind() {
    let program = std::env::current_exe().unwrap();
    let alone = std::process::Command::new(program)
        .args(["--exact", "at_once::alone_in_its_process", "--ignored", "--test-threads=1"])
        .output()
        .unwrap();
    assert!(alone.status.success(), "{}", String::from_utf8_lossy(&alone.stdout));
}

/// Run by the test before it, as it counts the threads of its process.
#[test]
#[ignore]
#[cfg(target_os = "linux")]
fn alone_in_its_process() {
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let before = threads();
    let settled = || {
        // A thread that has been joined may still be listed.
        (0..1000).any(|_| {
            thread::sleep(std::time::Duration::from_millis(1));
            threads() == before
        })
    };
    for case in cases() {
        let _ = case.link();
    }
    assert!(settled(), "{} threads, {before} before", threads());
}
