//! Smaller cases with the same disagreement.

use crate::judge::{self, Verdict};
use crate::program::{Case, Link};
use crate::tools::Tools;
use std::fs;

/// Drops links, then modules, then whole functions, as long as the first
/// disagreement stays. The result lies in `reduced/` below the work folder.
pub fn reduce(tools: &Tools, case: &Case) -> std::io::Result<String> {
    let Some((link, verdict)) = first_disagreement(tools, case)? else {
        return Ok("\n  the disagreement did not come back".into());
    };
    let mut best = case.clone();
    best.name = format!("{}-reduced", case.name);
    keep_only(&mut best, &link);
    if first_disagreement(tools, &best)?.is_none() {
        best = case.clone();
    }
    loop {
        let before = size(&best);
        for candidate in candidates(&best) {
            if size(&candidate) < size(&best)
                && first_disagreement(tools, &candidate)?.is_some_and(|found| found.1 == verdict)
            {
                best = candidate;
                break;
            }
        }
        if size(&best) == before {
            break;
        }
    }
    let folder = tools.work.join("reduced").join(&best.name);
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
        for line in &judged.detail {
            text += &format!("\n    {line}");
        }
    }
    Ok(text)
}

fn size(case: &Case) -> usize {
    case.modules.iter().map(|m| m.ptx.len() + 1000).sum()
}

/// Keeps the link called `label` and those it takes inputs from.
fn keep_only(case: &mut Case, label: &str) {
    let Some(last) = case.links.iter().find(|l| l.label == label).cloned() else { return };
    case.links.retain(|link| link.label == label || last.inputs.contains(&link.output));
}

fn first_disagreement(tools: &Tools, case: &Case) -> std::io::Result<Option<(String, Verdict)>> {
    let folder = tools.work.join("run").join(format!("{}-try", case.name));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let mut found = None;
    if tools.prepare(case, &folder).is_ok() {
        for link in &case.links {
            let judged = judge::judge(tools, link, &folder)?;
            if !judged.verdict.agrees() {
                found = Some((link.label.clone(), judged.verdict));
                break;
            }
        }
    }
    fs::remove_dir_all(&folder)?;
    Ok(found)
}

fn candidates(case: &Case) -> Vec<Case> {
    let mut out = Vec::new();
    for m in 0..case.modules.len() {
        if case.modules.len() > 1 {
            let mut smaller = case.clone();
            let gone = smaller.modules.remove(m).file();
            if !smaller.modules.iter().any(|module| module.file() == gone) {
                for Link { inputs, .. } in &mut smaller.links {
                    inputs.retain(|input| *input != gone);
                }
            }
            out.push(smaller);
        }
    }
    for m in 0..case.modules.len() {
        for ptx in without_one_item(&case.modules[m].ptx) {
            let mut smaller = case.clone();
            smaller.modules[m].ptx = ptx;
            out.push(smaller);
        }
    }
    out
}

/// The text without one of its top-level items, or one line of a body.
fn without_one_item(ptx: &str) -> Vec<String> {
    let lines: Vec<&str> = ptx.lines().collect();
    let mut items = Vec::new();
    let mut i = 3;
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
    let mut cuts: Vec<std::ops::Range<usize>> = items.clone();
    cuts.extend((3..lines.len()).filter(|&l| lines[l].starts_with('\t')).map(|l| l..l + 1));
    cuts.iter()
        .map(|cut| {
            let kept = lines.iter().enumerate().filter(|(l, _)| !cut.contains(l));
            kept.map(|(_, line)| format!("{line}\n")).collect()
        })
        .collect()
}
