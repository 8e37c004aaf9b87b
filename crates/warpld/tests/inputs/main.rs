//! Which inputs a link takes and what it says about them, compared with
//! nvlink. `expected.txt` and `matrix-*.txt` hold nvlink's answers. With
//! `WARPLD_TOOLKIT` set (a folder with `bin/nvlink`) those of its release are
//! checked against the tool itself, and with `WARPLD_BLESS` also set they are
//! written anew.

mod answer;
mod cut;
mod images;
mod make;
mod matrix;
mod packed;
mod scenarios;
mod trace;

use answer::Answer;
use libwarpld::Release;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether to write the expectations anew.
pub fn bless() -> bool {
    std::env::var_os("WARPLD_BLESS").is_some()
}

/// The release of a toolkit.
pub fn release_of(toolkit: &Path) -> &'static Release {
    let nvlink = Command::new(toolkit.join("bin/nvlink")).arg("--version").output().unwrap();
    let text = String::from_utf8(nvlink.stdout).unwrap();
    let mut words = text.split([' ', '\n']);
    words.find_map(|word| Release::named(word.strip_prefix('V')?)).expect("an unknown release")
}

/// A file next to this one.
pub fn data_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs").join(name)
}

const HEADER: &str = "# What nvlink V13.0.88 answers to each scenario of the folder scenarios.\n";

/// One test, because the scenarios set the working directory.
#[test]
fn scenarios_match_nvlink() {
    let images = images::load();
    let mut nvlink_answers = BTreeMap::new();
    let mut failures = String::new();
    let expected = parse(&std::fs::read_to_string(data_file("expected.txt")).unwrap_or_default());
    let list = scenarios::all();
    let toolkit = support::toolkit().filter(|t| release_of(t) == &Release::CUDA_13_0);
    for scenario in &list {
        let folder = tempfile::tempdir().unwrap();
        // Canonical, as nvlink registers paths below the real folder.
        let root = folder.path().canonicalize().unwrap();
        make::write_all(&root, &scenario.files, &images);
        let mut known = expected.get(scenario.name).cloned();
        if let Some(toolkit) = &toolkit {
            let real = answer::ask_nvlink(toolkit, &root, scenario);
            if !bless() && known.as_ref().map(Answer::to_string) != Some(real.to_string()) {
                writeln!(failures, "{}: nvlink now says\n{real}", scenario.name).unwrap();
            }
            nvlink_answers.insert(scenario.name, real.to_string());
            known = Some(real);
        }
        let ours = answer::ask_warpld(&root, scenario);
        let known = known.unwrap_or_else(|| panic!("{} is not in expected.txt", scenario.name));
        let wanted = match &scenario.differs {
            Some(difference) => {
                assert!(*difference != known.to_string(), "{} no longer differs", scenario.name);
                difference.clone()
            }
            None => known.to_string(),
        };
        if ours.to_string() != wanted {
            writeln!(failures, "{}: expected\n{wanted}got\n{ours}", scenario.name).unwrap();
        }
    }
    if toolkit.is_some() && bless() {
        let mut text = String::from(HEADER);
        for scenario in &list {
            write!(text, "\n[{}]\n{}", scenario.name, nvlink_answers[scenario.name]).unwrap();
        }
        std::fs::write(data_file("expected.txt"), text).unwrap();
    }
    assert!(failures.is_empty(), "{failures}");
    println!("{} scenarios agree with nvlink", list.len());
}

fn parse(text: &str) -> BTreeMap<String, Answer> {
    let mut answers = BTreeMap::new();
    for block in text.split("\n[").skip(1) {
        let (name, body) = block.split_once("]\n").unwrap();
        let body = body.trim_end_matches('\n');
        answers.insert(name.to_owned(), Answer::parse(body));
    }
    answers
}
