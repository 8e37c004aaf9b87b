//! The named cases, linked again and compared with nvlink's recorded answers: no toolkit needed.
//!
//! `WARPLD_CASE=TEXT` replays the cases with TEXT in their name. After a change of a case file
//! `scripts/record.sh` records it anew.

use differential::recorded::{Replay, Replayed, replay};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use support::Program;

const WARPLD: Program = support::warpld!();

fn cases() -> PathBuf {
    support::root().join("tests/differential/cases")
}

fn recorded() -> PathBuf {
    support::root().join("tests/recorded")
}

fn replayed(cases: &Path, recorded: &Path, work: &str, only: Option<&str>) -> Replayed {
    let jobs = std::thread::available_parallelism().map_or(2, usize::from);
    let (warpld, work) = (WARPLD.path(), &WARPLD.folder(work));
    replay(&Replay { warpld, cases, recorded, work, only, jobs }).expect("a replay")
}

#[test]
fn cases_link_as_recorded() {
    let only = std::env::var("WARPLD_CASE").ok();
    let replayed = replayed(&cases(), &recorded(), "all", only.as_deref());
    // Not by println!, which is not shown of a test that passes.
    let _ = writeln!(std::io::stderr(), "{replayed}");
    let failures = &replayed.failures;
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
    assert!(replayed.links() > 0, "no such case");
    for link in &replayed.not_recorded {
        assert!(link.starts_with("case-device-runtime-"), "{link} is not recorded");
    }
}

/// A folder with a changed copy of one case, which is replayed from what is recorded of it.
fn failures_after(name: &str, change: impl FnOnce(String) -> String) -> Vec<String> {
    let case = "call-across-files";
    let folder = WARPLD.folder(name);
    let [cases_folder, recorded_folder] = ["cases", "recorded"].map(|name| folder.join(name));
    fs::create_dir_all(&cases_folder).expect("a folder");
    fs::create_dir_all(&recorded_folder).expect("a folder");
    let text = fs::read_to_string(cases().join(format!("{case}.case"))).expect("a case");
    fs::write(cases_folder.join(format!("{case}.case")), change(text)).expect("a copy");
    for file in ["links.txt", &format!("{case}.pack")] {
        fs::copy(recorded().join(file), recorded_folder.join(file)).expect("a copy");
    }
    replayed(&cases_folder, &recorded_folder, &format!("{name}-work"), Some(case)).failures
}

#[test]
fn a_changed_case_must_be_recorded_anew() {
    assert_eq!(failures_after("comment", |text| format!("# More is said.\n{text}")), [""; 0]);
    let told = failures_after("changed", |text| text.replacen("ret;", "bar.sync 0; ret;", 1));
    assert_eq!(told.len(), 2, "{told:#?}");
    for failure in told {
        assert!(failure.ends_with("changed since it was recorded; scripts/record.sh records it"));
    }
}
