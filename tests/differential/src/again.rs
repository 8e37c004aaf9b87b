//! More runs of links that differ: some of nvlink's files are not the same from run to run.

use crate::compare;
use crate::mercury::{self, Split};
use crate::release::Release;
use crate::verdict::{self, Run, Verdict};
use std::io;

/// How many more runs of each linker there are for LTO-IR. Of the links in which nvlink orders
/// equal tables or strings by chance, most have two or four outcomes.
const AGAIN: usize = 4;

/// How many more runs of nvlink there are for machine code with system calls. Of 20 runs on a busy
/// machine with two cores 1 to 8 had the order of the file (`system-calls-order`).
const UNTIL_IN_ORDER: usize = 40;

/// What the driver's functions are called that machine code for sm_107 calls.
const SYSTEM_CALL: &[u8] = b"__cuda_syscall_bw_";

/// A linker on the same inputs once more.
pub type Linker<'a> = dyn FnMut() -> io::Result<Run> + 'a;

/// What a link comes to whose first runs differ.
#[derive(Clone, Copy, Debug)]
pub struct Differing<'a> {
    /// The first run of nvlink.
    pub nvlink: &'a Run,
    /// The first run of warpld.
    pub warpld: &'a Run,
    /// Release of nvlink.
    pub release: Release,
}

impl Differing<'_> {
    /// Machine code: nvlink writes stale memory in some places, and numbers the functions that only
    /// machine code calls in the order in which its threads come to them.
    pub fn machine_code(self, nvlink: &mut Linker<'_>) -> io::Result<Verdict> {
        let second = nvlink()?;
        let outputs = [self.nvlink, &second, self.warpld].map(|run| run.output.as_deref());
        let [Some(first), Some(again), Some(ours)] = outputs else { return Ok(Verdict::Different) };
        let cleared = compare::without_stale_memory(first, again, ours);
        let same =
            |file: Vec<u8>| file == ours || mercury::split(&file, ours).is_some_and(Split::agrees);
        if cleared.is_some_and(same) {
            return Ok(Verdict::NvlinkVaries);
        }
        if !first.windows(SYSTEM_CALL.len()).any(|name| name == SYSTEM_CALL) {
            return Ok(Verdict::Different);
        }
        for _ in 0..UNTIL_IN_ORDER {
            if verdict::compare(&nvlink()?, self.warpld, self.release).verdict.agrees() {
                return Ok(Verdict::NvlinkVaries);
            }
        }
        Ok(Verdict::Different)
    }

    /// LTO-IR: the optimizer orders some data by chance, in nvlink as in the text that warpld has
    /// of it. Any run of one that equals any of the other will do.
    pub fn lto(self, nvlink: &mut Linker<'_>, warpld: &mut Linker<'_>) -> io::Result<Verdict> {
        let agrees = |a: &Run, b: &Run| verdict::compare(a, b, self.release).verdict.agrees();
        let mut theirs = vec![self.nvlink.clone()];
        for _ in 0..AGAIN {
            let run = nvlink()?;
            if agrees(&run, self.warpld) {
                return Ok(Verdict::NvlinkVaries);
            }
            theirs.push(run);
        }
        let mut ours = vec![self.warpld.clone()];
        for _ in 0..AGAIN {
            let run = warpld()?;
            if theirs.iter().any(|theirs| agrees(theirs, &run)) {
                return Ok(Verdict::NvlinkVaries);
            }
            ours.push(run);
        }
        let varies = varies(&theirs) || varies(&ours);
        Ok(if varies { Verdict::Unsettled } else { Verdict::Different })
    }
}

fn varies(runs: &[Run]) -> bool {
    runs.windows(2).any(|pair| pair[0].output != pair[1].output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Outcome;
    use std::time::Duration;

    fn wrote(output: &str) -> Run {
        Run {
            outcome: Outcome { status: Some(0), text: String::new(), time: Duration::ZERO },
            output: Some(output.into()),
            side_file: None,
        }
    }

    /// Calls the linkers, each of which writes these one after another, the last one for ever.
    fn judged(
        (theirs, ours): (&[&str], &[&str]),
        judge: impl FnOnce(Differing<'_>, &mut Linker<'_>, &mut Linker<'_>) -> io::Result<Verdict>,
    ) -> Verdict {
        let (nvlink, warpld) = (wrote(theirs[0]), wrote(ours[0]));
        let next = |outputs: &[&str], at: &mut usize| {
            *at += 1;
            Ok(wrote(outputs[(*at).min(outputs.len() - 1)]))
        };
        let (mut i, mut j) = (0, 0);
        let differing = Differing { nvlink: &nvlink, warpld: &warpld, release: Release::BASE };
        judge(differing, &mut || next(theirs, &mut i), &mut || next(ours, &mut j)).unwrap()
    }

    fn verdict(theirs: &[&str], ours: &[&str]) -> Verdict {
        judged((theirs, ours), |differing, nvlink, warpld| differing.lto(nvlink, warpld))
    }

    #[test]
    fn system_calls_may_be_in_any_order() {
        let verdict = |theirs: &[&str], ours: &str| {
            judged((theirs, &[ours]), |differing, nvlink, _| differing.machine_code(nvlink))
        };
        let [ab, ba] = ["a __cuda_syscall_bw_b", "b __cuda_syscall_bw_a"];
        assert_eq!(verdict(&[ab, ab, ab, ba], ba), Verdict::NvlinkVaries);
        assert_eq!(verdict(&[ab], ba), Verdict::Different);
        assert_eq!(verdict(&["ab", "ab", "ab", "ba"], "ba"), Verdict::Different);
    }

    #[test]
    fn any_run_that_is_equal_will_do() {
        assert_eq!(verdict(&["ab", "ba"], &["ba"]), Verdict::NvlinkVaries);
        assert_eq!(verdict(&["ab", "ab", "ab", "ab", "ba"], &["ba"]), Verdict::NvlinkVaries);
        // warpld's text is of nvlink and varies with it.
        assert_eq!(verdict(&["ab"], &["ba", "ba", "ab"]), Verdict::NvlinkVaries);
    }

    #[test]
    fn what_no_run_settles_is_no_agreement() {
        assert_eq!(verdict(&["ab"], &["ba"]), Verdict::Different);
        assert_eq!(verdict(&["abc", "acb"], &["cab"]), Verdict::Unsettled);
        assert_eq!(verdict(&["abc"], &["cab", "cba"]), Verdict::Unsettled);
        assert!(!Verdict::Unsettled.agrees());
    }
}
