//! `.github/workflows`, as far as they can be checked by reading: the structure of jobs and steps,
//! and that what they name exists. actionlint, where it can be had, checks more
//! (`scripts/ci-release.sh workflows`).

use std::fs;
use std::path::Path;
use support::root;

const AT_TOP: &[&str] = &["name", "on", "permissions", "concurrency", "env", "jobs"];
const IN_JOBS: &[&str] =
    &["needs", "if", "runs-on", "timeout-minutes", "permissions", "strategy", "env", "steps"];
const IN_STEPS: &[&str] = &["name", "id", "if", "uses", "with", "run", "env", "shell"];
const CONTEXTS: &[&str] =
    &["github", "env", "matrix", "steps", "needs", "runner", "secrets", "inputs"];

/// A line that is neither empty nor a comment.
#[derive(Clone, Copy, Debug)]
struct Line<'t> {
    number: usize,
    indent: usize,
    /// Whether it begins an item of a list; `indent` is then that of what follows the dash.
    item: bool,
    key: &'t str,
    value: &'t str,
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let number = at + 1;
        assert!(!line.contains('\t') && line.trim_end() == line, "line {number}: blanks");
        let words = line.trim_start();
        if words.is_empty() || words.starts_with('#') {
            continue;
        }
        let item = words.starts_with("- ");
        let words = words.strip_prefix("- ").unwrap_or(words);
        let (key, value) = words.split_once(':').unwrap_or((words, ""));
        lines.push(Line {
            number,
            indent: line.len() - words.len(),
            item,
            key,
            value: value.trim(),
        });
    }
    lines
}

/// The lines below each line of this indentation.
fn blocks<'l, 't>(lines: &'l [Line<'t>], indent: usize) -> Vec<(Line<'t>, &'l [Line<'t>])> {
    let mut found: Vec<(Line<'t>, &'l [Line<'t>])> = Vec::new();
    let starts: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].indent == indent).collect();
    assert!(starts.first().is_none_or(|&first| first == 0), "{:?} is too far right", lines[0]);
    for (at, &start) in starts.iter().enumerate() {
        let end = starts.get(at + 1).copied().unwrap_or(lines.len());
        found.push((lines[start], &lines[start + 1..end]));
    }
    found
}

fn keys_are(known: &[&str], blocks: &[(Line<'_>, &[Line<'_>])]) {
    for (line, _) in blocks {
        assert!(known.contains(&line.key), "line {}: '{}'", line.number, line.key);
    }
}

fn value<'t>(blocks: &[(Line<'t>, &[Line<'t>])], key: &str) -> Option<&'t str> {
    blocks.iter().find(|(line, _)| line.key == key).map(|(line, _)| line.value)
}

fn check(text: &str) {
    let lines = lines(text);
    lines.iter().for_each(expressions);
    let top = blocks(&lines, 0);
    keys_are(AT_TOP, &top);
    for key in ["name", "on", "permissions", "jobs"] {
        assert!(value(&top, key).is_some(), "'{key}' is missing");
    }
    let (_, jobs) = top.iter().find(|(line, _)| line.key == "jobs").unwrap();
    let jobs = blocks(jobs, 2);
    let names: Vec<&str> = jobs.iter().map(|(line, _)| line.key).collect();
    let (mut stored, mut fetched) = (Vec::new(), Vec::new());
    for (job, body) in &jobs {
        let parts = blocks(body, 4);
        keys_are(IN_JOBS, &parts);
        assert!(value(&parts, "runs-on").is_some_and(|on| !on.is_empty()), "{job:?}");
        assert!(value(&parts, "needs").is_none_or(|needed| names.contains(&needed)), "{job:?}");
        let (_, steps) = parts.iter().find(|(line, _)| line.key == "steps").unwrap();
        for step in split_steps(steps) {
            let parts = blocks(step, 8);
            keys_are(IN_STEPS, &parts);
            let with = parts.iter().find(|(line, _)| line.key == "with");
            let artifact = with.and_then(|(_, with)| value(&blocks(with, 10), "name"));
            match (value(&parts, "uses"), value(&parts, "run")) {
                (Some(action), None) => {
                    let (name, version) = action.split_once('@').unwrap_or_default();
                    assert!(name.contains('/') && version.starts_with('v'), "{action}");
                    stored.extend(artifact.filter(|_| name.ends_with("/upload-artifact")));
                    fetched.extend(artifact.filter(|_| name.ends_with("/download-artifact")));
                }
                (None, Some(command)) => programs_exist(command),
                _ => panic!("line {}: a step either uses or runs", step[0].number),
            }
        }
    }
    assert!(fetched.iter().all(|name| stored.contains(name)), "{fetched:?} of {stored:?}");
}

fn split_steps<'l, 't>(lines: &'l [Line<'t>]) -> Vec<&'l [Line<'t>]> {
    let starts: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].item).collect();
    assert_eq!(starts.first(), Some(&0), "steps are a list");
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    starts.iter().zip(ends).map(|(&start, end)| &lines[start..end]).collect()
}

/// `${{ … }}` ends on its line, and begins with something that GitHub has.
fn expressions(line: &Line<'_>) {
    for part in line.value.split("${{").skip(1) {
        let (inside, _) = part.split_once("}}").unwrap_or_else(|| panic!("{line:?} has no end"));
        let context = inside.trim().split(['.', ' ', '[']).next().unwrap_or_default();
        assert!(CONTEXTS.contains(&context), "{line:?}: {context}");
    }
}

/// What a command names of this repository: scripts, and steps of `.ci/run`.
fn programs_exist(command: &str) {
    let words: Vec<&str> = command.split_whitespace().collect();
    let ci = fs::read_to_string(root().join(".ci/run")).unwrap();
    for (at, word) in words.iter().enumerate() {
        if word.starts_with("scripts/") || word.starts_with(".ci/") {
            assert!(root().join(word).is_file(), "{command}: there is no {word}");
        }
        if *word == ".ci/run" {
            for step in &words[at + 1..] {
                assert!(ci.contains(&format!("step_{step}() ")), "{command}: no step {step}");
            }
        }
    }
}

#[test]
fn workflows_make_sense() {
    let folder = root().join(".github/workflows");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        println!("{}", path.display());
        check(&fs::read_to_string(&path).unwrap());
        count += 1;
    }
    assert!(count >= 2, "{count}");
}

/// The check sees what can be wrong.
#[test]
fn faults_are_seen() {
    let path = Path::new(".github/workflows/release.yml");
    let good = fs::read_to_string(root().join(path)).unwrap();
    check(&good);
    for (from, to) in [
        ("needs: build", "needs: bild"),
        ("run: scripts/release.sh", "run: scripts/relaese.sh"),
        ("runs-on: ubuntu-24.04", "run-on: ubuntu-24.04"),
        (
            "if: github.ref_type == 'tag'\n        run:",
            "if: github.ref_type == 'tag'\n        ran:",
        ),
        ("actions/checkout@v5", "actions/checkout"),
        ("permissions:\n  contents: read\n", ""),
        (
            "download-artifact@v4\n        with:\n          name: release",
            "download-artifact@v4\n        with:\n          name: other",
        ),
        ("    steps:\n", "\tsteps:\n"),
    ] {
        assert!(good.contains(from), "{from}");
        let bad = good.replacen(from, to, 1);
        let seen = std::panic::catch_unwind(|| check(&bad)).is_err();
        assert!(seen, "{to}");
    }
}
