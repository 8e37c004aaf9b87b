//! Joins the rules in docs/rules, the cases that fail without them, and the code that implements
//! them. The key is the name of the case: a rule names its cases in brackets, a function names
//! them in its comments, and `tests/differential/cases` has one file for each.
//!
//! The table of quirks in docs/rules/quirks.md is made from the comments that start with
//! *Quirk*; `WARPLD_BLESS=1` writes it anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

type Names = BTreeSet<String>;

/// A list item of a page of rules.
struct Rule {
    /// `merge.md:12`.
    place: String,
    text: String,
    /// What it names in backquotes.
    names: Names,
}

/// A comment of several lines, with the function that it belongs to.
struct Comment {
    /// `libwarpld/src/merge/mod.rs`.
    file: String,
    function: String,
    text: String,
}

#[test]
fn every_rule_has_its_case_and_its_code() {
    let (rules, cases, tests) = (rules(), cases(), tests());
    let code = names_in_code();
    let mut missing = Vec::new();
    for rule in &rules {
        let own: Vec<&String> = rule.names.intersection(&cases).collect();
        let tested = rule.names.iter().any(|name| tests.contains(name));
        if own.is_empty() && !tested {
            missing.push(format!("{}: no case fails without it: {}", rule.place, rule.text));
        } else if !own.is_empty() && !own.iter().any(|case| code.contains_key(*case)) {
            missing.push(format!("{}: no code names {own:?}: {}", rule.place, rule.text));
        }
    }
    let with_case = rules.iter().filter(|rule| !rule.names.is_disjoint(&cases)).count();
    println!(
        "{} rules, {with_case} with a case, {} with a test alone",
        rules.len(),
        rules.len() - with_case
    );
    assert!(rules.len() > 150, "only {} rules were found", rules.len());
    assert!(missing.is_empty(), "{} rules are not joined:\n{}", missing.len(), missing.join("\n"));
}

#[test]
fn every_case_has_its_rule() {
    let cases = cases();
    // Tables and introductions of lists name cases, too.
    let pages = files(&root().join("docs/rules"), "md");
    let pages = pages.iter().filter(|page| !page.ends_with("quirks.md"));
    let named: Names = pages.flat_map(|page| names(&fs::read_to_string(page).unwrap())).collect();
    let missing: Vec<&String> = cases.difference(&named).collect();
    println!("{} cases, {} named by rules", cases.len(), cases.len() - missing.len());
    assert!(missing.is_empty(), "{} cases belong to no rule: {missing:#?}", missing.len());
}

#[test]
fn quirks_name_their_cases_and_are_listed() {
    let (cases, tests) = (cases(), tests());
    let quirks: Vec<Comment> =
        comments().into_iter().filter(|c| c.text.contains("Quirk:")).collect();
    let known = |name: &String| cases.contains(name) || tests.contains(name);
    let bare: Vec<String> = quirks
        .iter()
        .filter(|quirk| !names(&quirk.text).iter().any(known))
        .map(|quirk| format!("{} {}: {}", quirk.file, quirk.function, quirk.text))
        .collect();
    println!("{} quirks", quirks.len());
    assert!(quirks.len() > 30, "only {} quirks were found", quirks.len());
    assert!(bare.is_empty(), "{} quirks name no case:\n{}", bare.len(), bare.join("\n"));
    let page = quirk_page(&quirks, &cases);
    let path = root().join("docs/rules/quirks.md");
    if std::env::var_os("WARPLD_BLESS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let current = fs::read_to_string(&path).unwrap_or_default();
    assert!(current == page, "quirks.md is out of date: run this test with WARPLD_BLESS=1");
}

fn quirk_page(quirks: &[Comment], cases: &Names) -> String {
    let mut out = String::from(
        "# Quirks\n\nWhat nvlink does that nobody would design. This page is generated from the \
         comments in the code that start with *Quirk*; a test keeps it current.\n\n\
         | quirk | cases | code |\n|---|---|---|\n",
    );
    for quirk in quirks {
        let text = quirk.text.split("Quirk:").nth(1).unwrap_or_default();
        let end = text.find(". ").map_or(text.len(), |at| at + 1);
        let sentence = text[..end].trim().trim_end_matches(['.', ':']).replace('|', "\\|");
        let sentence = sentence.split(" [`").next().unwrap_or_default().trim_end_matches('.');
        let of = names(&quirk.text);
        let of: Vec<String> = of.intersection(cases).map(|case| format!("`{case}`")).collect();
        let file = quirk.file.split("/src/").nth(1).unwrap_or(&quirk.file);
        let _ = writeln!(out, "| {sentence} | {} | `{file}` `{}` |", of.join(" "), quirk.function);
    }
    out
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Names in backquotes that may be those of cases or tests.
fn names(text: &str) -> Names {
    let is_name = |word: &&str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b))
    };
    text.split('`').skip(1).step_by(2).filter(is_name).map(str::to_owned).collect()
}

fn cases() -> Names {
    let files = files(&root().join("tests/differential/cases"), "case");
    let stem = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    files.iter().map(stem).collect()
}

/// Names of test functions, and of the large programs that CI's step `large` links.
fn tests() -> Names {
    let steps = fs::read_to_string(root().join(".ci/run")).unwrap();
    let large = steps.split("--only ").skip(1).filter_map(|rest| rest.split_whitespace().next());
    let mut found: Names = large.map(str::to_owned).collect();
    for path in files(&root().join("crates"), "rs") {
        let text = fs::read_to_string(path).unwrap();
        for rest in text.split("#[test]").skip(1) {
            let name = rest.split("fn ").nth(1).and_then(|rest| rest.split('(').next());
            found.extend(name.map(|name| name.trim().to_owned()));
        }
    }
    found
}

fn rules() -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    for path in files(&root().join("docs/rules"), "md") {
        let page = path.file_name().unwrap().to_string_lossy().into_owned();
        if page == "README.md" || page == "quirks.md" {
            continue;
        }
        let (mut open, mut code) = (false, false);
        for (number, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
            code ^= line.starts_with("```");
            if is_item(line) && !code {
                let place = format!("{page}:{}", number + 1);
                rules.push(Rule { place, text: line.to_owned(), names: Names::new() });
                open = true;
            } else if open && line.starts_with("  ") {
                let text = &mut rules.last_mut().unwrap().text;
                text.push(' ');
                text.push_str(line.trim());
            } else if !line.trim().is_empty() {
                open = false;
            }
        }
    }
    for rule in &mut rules {
        rule.names = names(&rule.text);
    }
    rules
}

/// Whether a line begins an item of a list: `- ` or `1. `.
fn is_item(line: &str) -> bool {
    line.starts_with("- ")
        || line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok())
}

/// Where the code names what, in comments.
fn names_in_code() -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for comment in comments() {
        for name in names(&comment.text) {
            found.entry(name).or_default().push(format!("{} {}", comment.file, comment.function));
        }
    }
    found
}

/// All comments of the sources. A comment belongs to the next function if it stands before one,
/// else to the one around it.
fn comments() -> Vec<Comment> {
    let crates = root().join("crates");
    let mut comments = Vec::new();
    for path in files(&crates, "rs") {
        let file = path.strip_prefix(&crates).unwrap().to_string_lossy().into_owned();
        if !file.contains("/src/") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let mut around = String::new();
        let mut at = 0;
        while at < lines.len() {
            let start = at;
            while at < lines.len() && lines[at].starts_with("//") {
                at += 1;
            }
            if at > start {
                let words =
                    lines[start..at].iter().map(|l| l.trim_start_matches(['/', '!']).trim());
                let next = lines[at..].iter().find(|l| !l.starts_with("#[")).and_then(|l| item(l));
                comments.push(Comment {
                    file: file.clone(),
                    function: next.unwrap_or_else(|| around.clone()),
                    text: words.collect::<Vec<_>>().join(" "),
                });
                continue;
            }
            if let Some(name) = item(lines[at]) {
                around = name;
            }
            at += 1;
        }
    }
    comments
}

/// The name of the function, type or constant that a line declares.
fn item(line: &str) -> Option<String> {
    let mut words =
        line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty());
    let keyword =
        words.find(|word| !matches!(*word, "pub" | "crate" | "super" | "async" | "unsafe"))?;
    let is_item =
        matches!(keyword, "fn" | "struct" | "enum" | "const" | "static" | "trait" | "mod");
    is_item.then(|| words.next().map(str::to_owned)).flatten()
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            out.extend(files(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            out.push(path);
        }
    }
    out
}
