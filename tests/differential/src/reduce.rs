//! Smaller cases with the same disagreement.

use crate::judge;
use crate::program::{Case, Link};
use crate::tools::Tools;
use crate::verdict::Verdict;
use std::fs;
use std::ops::Range;

/// Drops links, then modules, then whole functions, as long as the first
/// disagreement stays. The result lies in `reduced/` below the work folder.
pub fn reduce(tools: &Tools, case: &Case) -> std::io::Result<String> {
    let Some(found) = first_disagreement(tools, case)? else {
        return Ok("\n  the disagreement did not come back".into());
    };
    let mut best = case.clone();
    best.name = format!("{}-reduced", case.name);
    keep_only(&mut best, &found.label);
    if first_disagreement(tools, &best)?.is_none() {
        best = case.clone();
    }
    let mut keeps = |smaller: &Case| -> std::io::Result<bool> {
        let now = first_disagreement(tools, smaller)?;
        Ok(now.is_some_and(|now| now.verdict == found.verdict && now.kind == found.kind))
    };
    loop {
        let before = size(&best);
        drop_modules(&mut best, &mut keeps)?;
        for m in 0..best.modules.len() {
            shrink(&mut best, m, items, &mut keeps)?;
        }
        for m in 0..best.modules.len() {
            shrink(&mut best, m, body_lines, &mut keeps)?;
        }
        if size(&best) == before {
            break;
        }
    }
    let folder = tools.cases("reduced").join(&best.name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    tools.prepare(&best, &folder).map_err(std::io::Error::other)?;
    for module in &best.modules {
        fs::write(folder.join(format!("{}.ptx", module.name)), &module.ptx)?;
    }
    fs::write(folder.join("cmd"), judge::command_lines(tools, &best))?;
    let mut text = format!("\n  reduced to {} modules: {}", best.modules.len(), folder.display());
    for link in &best.links {
        let judged = judge::judge(tools, link, &folder)?;
        for line in &judged.comparison.detail {
            text += &format!("\n    {line}");
        }
    }
    Ok(text)
}

/// A disagreement.
struct Found {
    label: String,
    verdict: Verdict,
    kind: String,
}

/// What differs first, without names and numbers: a reduction that ends with
/// another kind of difference would be about something else.
fn kind(detail: &[String]) -> String {
    let first = detail.iter().find(|line| !line.starts_with("sizes:"));
    let words = first.map_or("", |line| line.split(": ").next().unwrap_or_default());
    let stem: Vec<&str> = words.splitn(4, '.').take(3).collect();
    stem.join(".").chars().filter(|c| !c.is_ascii_digit()).collect()
}

fn size(case: &Case) -> usize {
    case.modules.iter().map(|m| m.ptx.len() + 1000).sum()
}

/// Keeps the link called `label` and those it takes inputs from.
fn keep_only(case: &mut Case, label: &str) {
    let Some(last) = case.links.iter().find(|l| l.label == label).cloned() else { return };
    case.links.retain(|link| link.label == label || last.inputs.contains(&link.output));
}

fn first_disagreement(tools: &Tools, case: &Case) -> std::io::Result<Option<Found>> {
    let folder = tools.cases("run").join(format!("{}-try", case.name));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let mut found = None;
    if tools.prepare(case, &folder).is_ok() {
        for link in &case.links {
            let judged = judge::judge(tools, link, &folder)?;
            if !judged.comparison.verdict.agrees() {
                found = Some(Found {
                    label: link.label.clone(),
                    verdict: judged.comparison.verdict,
                    kind: kind(&judged.comparison.detail),
                });
                break;
            }
        }
    }
    fs::remove_dir_all(&folder)?;
    Ok(found)
}

type Keeps<'a> = dyn FnMut(&Case) -> std::io::Result<bool> + 'a;

fn drop_modules(best: &mut Case, keeps: &mut Keeps<'_>) -> std::io::Result<()> {
    let mut m = 0;
    while m < best.modules.len() && best.modules.len() > 1 {
        let mut smaller = best.clone();
        let gone = smaller.modules.remove(m).file();
        if !smaller.modules.iter().any(|module| module.file() == gone) {
            for Link { inputs, .. } in &mut smaller.links {
                inputs.retain(|input| *input != gone);
            }
        }
        if keeps(&smaller)? {
            *best = smaller;
        } else {
            m += 1;
        }
    }
    Ok(())
}

/// Removes parts of a module's text, many at once first, then single ones.
fn shrink(
    best: &mut Case,
    m: usize,
    parts: fn(&[&str]) -> Vec<Range<usize>>,
    keeps: &mut Keeps<'_>,
) -> std::io::Result<()> {
    let count = parts(&best.modules[m].ptx.lines().collect::<Vec<_>>()).len();
    let mut chunk = (count / 2).max(1);
    loop {
        let mut at = 0;
        loop {
            let ptx = best.modules[m].ptx.clone();
            let lines: Vec<&str> = ptx.lines().collect();
            let cuts = parts(&lines);
            if at >= cuts.len() {
                break;
            }
            let cut = &cuts[at..(at + chunk).min(cuts.len())];
            let kept = lines.iter().enumerate().filter(|(l, _)| !cut.iter().any(|c| c.contains(l)));
            let mut smaller = best.clone();
            smaller.modules[m].ptx = kept.map(|(_, line)| format!("{line}\n")).collect();
            if keeps(&smaller)? {
                *best = smaller;
            } else {
                at += chunk;
            }
        }
        if chunk == 1 {
            return Ok(());
        }
        chunk /= 2;
    }
}

/// Lines of the header that no PTX text can do without.
const HEADER: usize = 3;

/// Top-level items: declarations, variables, whole functions.
fn items(lines: &[&str]) -> Vec<Range<usize>> {
    let mut items = Vec::new();
    let mut i = HEADER;
    while i < lines.len() {
        let start = i;
        if lines.get(i + 1) == Some(&"{") {
            while i < lines.len() && lines[i] != "}" {
                i += 1;
            }
        }
        items.push(start..i + 1);
        i += 1;
    }
    items
}

/// Lines of function bodies; a block in braces counts as one.
fn body_lines(lines: &[&str]) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut i = HEADER;
    while i < lines.len() {
        let start = i;
        if lines[i] == "\t{" {
            while i < lines.len() && lines[i] != "\t}" {
                i += 1;
            }
        }
        if lines[start].starts_with('\t') {
            parts.push(start..i + 1);
        }
        i += 1;
    }
    parts
}
