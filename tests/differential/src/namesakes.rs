//! Programs whose static functions share names, with names of their own instead.
//!
//! In a link of a relinked Blackwell file nvlink gives all functions of one name the relocations and
//! jump tables of the first, with addresses in the middle of other instructions. warpld gives each its
//! own. Whether a link differs for this reason alone is found by experiment: the same program with
//! different names must come out alike.

use crate::judge;
use crate::program::{Case, Link};
use crate::tools::Tools;
use crate::verdict::Verdict;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Whether a link of a relinked file differs only because functions share names.
pub fn are_mixed_up(
    tools: &Tools,
    case: &Case,
    link: &Link,
    folder: &Path,
) -> std::io::Result<bool> {
    let Some(apart) = told_apart(case, link) else { return Ok(false) };
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder)?;
    if tools.prepare(&apart, folder).is_err() {
        return Ok(false);
    }
    let mut last = None;
    for link in &apart.links {
        last = Some(judge::judge(tools, link, folder)?.comparison.verdict);
    }
    fs::remove_dir_all(folder)?;
    Ok(matches!(last, Some(Verdict::Identical | Verdict::ControlBits | Verdict::NvlinkVaries)))
}

/// The case with a name of its own for each static function that shares one, up to this link; `None` if
/// no function does, or the link takes no relinked file.
fn told_apart(case: &Case, link: &Link) -> Option<Case> {
    let relinked = |other: &&Link| other.is_relocatable() && link.inputs.contains(&other.output);
    if !link.sm.is_mercury() || !case.links.iter().any(|other| relinked(&other)) {
        return None;
    }
    let mut users: BTreeMap<&str, usize> = BTreeMap::new();
    let functions: Vec<Vec<Function<'_>>> =
        case.modules.iter().map(|module| functions(&module.ptx)).collect();
    for function in functions.iter().flatten() {
        *users.entry(function.name).or_default() += 1;
    }
    let mut apart = case.clone();
    let mut renamed = false;
    for (i, (module, functions)) in apart.modules.iter_mut().zip(&functions).enumerate() {
        let shared =
            |function: &&Function<'_>| function.is_static && users.get(function.name) > Some(&1);
        for function in functions.iter().filter(shared) {
            module.ptx = with_name(&module.ptx, function.name, &format!("{}_m{i}", function.name));
            renamed = true;
        }
    }
    let at = apart.links.iter().position(|other| other == link)?;
    apart.links.truncate(at + 1);
    apart.links.retain(|other| other == link || other.is_relocatable());
    renamed.then_some(apart)
}

/// A function that a module defines.
struct Function<'a> {
    name: &'a str,
    is_static: bool,
}

/// The functions and kernels that a text of PTX defines.
fn functions(ptx: &str) -> Vec<Function<'_>> {
    let mut out: Vec<Function<'_>> = Vec::new();
    let mut rest = ptx;
    while let Some((head, after)) = rest.split_once('{') {
        let head = head.rsplit([';', '}']).next().unwrap_or(head);
        let keyword = [".func", ".entry"].into_iter().find_map(|word| head.find(word));
        if let Some(at) = keyword {
            out.extend(name(&head[at..]).map(|name| {
                Function {
                    name,
                    is_static: ![".visible", ".weak", ".extern", ".entry"]
                        .iter()
                        .any(|word| head.contains(word)),
                }
            }));
        }
        rest = if keyword.is_some() { behind_body(after) } else { after };
    }
    out
}

/// The name in `.func (.param .b32 r) name (...)`.
fn name(head: &str) -> Option<&str> {
    let after = head.split_once(char::is_whitespace)?.1.trim_start();
    let after = match after.strip_prefix('(') {
        Some(results) => results.split_once(')')?.1.trim_start(),
        None => after,
    };
    let end = after.find(|c: char| !is_of_name(c)).unwrap_or(after.len());
    Some(&after[..end]).filter(|name| !name.is_empty())
}

fn behind_body(text: &str) -> &str {
    let mut depth = 1;
    for (i, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[i + 1..];
        }
    }
    ""
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$')
}

/// The text with another name in place of one.
fn with_name(text: &str, old: &str, new: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for (at, _) in text.match_indices(old) {
        let (before, after) = (&text[..at], &text[at + old.len()..]);
        // Registers and directives have names of other kinds.
        let starts = !before.ends_with(|c| is_of_name(c) || c == '%' || c == '.');
        if starts && !after.starts_with(is_of_name) {
            out += &text[copied..at];
            out += new;
            copied = at + old.len();
        }
    }
    out + &text[copied..]
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = ".extern .func (.param .b32 r0) f2 (.param .b32 p0);\n\
        .func (.param .b32 r0) f1 (.param .b32 p0)\n{\n{ call (q), f1, (p); }\nmov.u32 %f1, f11;\n}\n\
        .global .b32 f1_t[2] = {1, 2};\n.visible .func f3 () { call f1; ret; }\n\
        .visible .entry k (.param .u64 o) { ret; }\n";

    #[test]
    fn functions_of_a_text_are_found() {
        let found = functions(TEXT);
        let list: Vec<_> = found.iter().map(|f| (f.name, f.is_static)).collect();
        assert_eq!(list, [("f1", true), ("f3", false), ("k", false)]);
    }

    #[test]
    fn only_whole_names_change() {
        let text = with_name(TEXT, "f1", "f1_m0");
        assert!(text.contains("r0) f1_m0 (") && text.contains("(q), f1_m0, (p)"), "{text}");
        assert!(text.contains("%f1, f11") && text.contains("f1_t[2]"), "{text}");
        assert_eq!(text.matches("f1_m0").count(), 3);
    }
}
