//! Suggests similar names.

use crate::context::Analysis;
use crate::demangle::{demangle, readable, text};

/// If there are more names, they are not compared letter by letter.
const COMPARED: usize = 20_000;

/// Number of single-letter edits and swaps of adjacent letters between two words; `None` if it
/// exceeds `limit`.
pub fn edit_distance(a: &str, b: &str, limit: usize) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let mut rows: [Vec<usize>; 3] = [vec![], vec![], (0..=b.len()).collect()];
    for (i, x) in a.iter().enumerate() {
        rows.rotate_left(1);
        let [older, old, new] = &mut rows;
        new.clear();
        new.push(i + 1);
        for (j, y) in b.iter().enumerate() {
            let at = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(usize::MAX - 1);
            let changed = at(old, j) + usize::from(x != y);
            let mut cost = changed.min(at(new, j) + 1).min(at(old, j + 1) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                cost = cost.min(at(older, j - 1) + 1);
            }
            new.push(cost);
        }
    }
    rows[2].last().copied().filter(|&distance| distance <= limit)
}

/// The candidate closest to `word`, if any is close.
pub fn closest<'c>(word: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let limit = (word.len() / 3).clamp(1, 3);
    candidates
        .filter_map(|candidate| Some((edit_distance(word, candidate, limit)?, candidate)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// A definition with a similar name: other parameters, other case, a typo.
pub fn did_you_mean(cx: Analysis<'_, '_>, missing: &str) -> Option<String> {
    let wanted = demangle(missing);
    let base = base_name(wanted.as_deref().unwrap_or(missing)).to_owned();
    let mut near: Option<(usize, String)> = None;
    let ids = cx.resolution.symbols.ids();
    for id in ids.take(COMPARED) {
        let symbol = cx.resolution.get(id);
        let Some(at) = symbol.definition else { continue };
        let name = text(symbol.name);
        let source = readable(&name);
        let distance = match base_name(&source) {
            other if other == base => 0,
            other => match edit_distance(other, &base, (base.len() / 4).clamp(1, 3)) {
                Some(distance) if base.len() > 2 => distance,
                _ => continue,
            },
        };
        if near.as_ref().is_none_or(|(best, _)| distance < *best) {
            let file = cx.objects.get(at.object).map_or("", |object| object.name);
            let shown = crate::demangle::described(&name);
            near = Some((distance, format!("did you mean {shown}, defined in {file}?")));
        }
    }
    near.map(|(_, note)| note)
}

/// `ns::foo` of `ns::foo(int)`.
fn base_name(name: &str) -> &str {
    name.split('(').next().unwrap_or(name)
}

/// The library that defines a well-known symbol.
pub fn missing_library(missing: &str) -> Option<String> {
    let library = [
        ("cudaCDP", "-lcudadevrt"),
        ("__cudaCDP", "-lcudadevrt"),
        ("cudaLaunchDevice", "-lcudadevrt"),
        ("cudaGetParameterBuffer", "-lcudadevrt"),
        ("nvshmem", "-lnvshmem_device"),
        ("__kmpc_", "clang's OpenMP device runtime (-lomptarget-nvptx)"),
        ("__nv_", "libdevice, when the code is compiled"),
    ]
    .into_iter()
    .find(|(prefix, _)| missing.starts_with(prefix))?;
    Some(format!("this function comes from {}", library.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, distance) in [
            ("", "", 0),
            ("foo", "foo", 0),
            ("foo", "fo", 1),
            ("foo", "fooo", 1),
            ("abc", "axc", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(edit_distance(a, b, 5), Some(distance), "{a} {b}");
        }
        assert_eq!(edit_distance("abcdef", "uvwxyz", 3), None);
        assert_eq!(edit_distance("a", "abcdef", 3), None);
    }

    #[test]
    fn closest_name() {
        let names = ["output-file", "options-file", "arch"];
        assert_eq!(closest("output-fil", names.into_iter()), Some("output-file"));
        assert_eq!(closest("zzz", names.into_iter()), None);
    }

    #[test]
    fn libraries() {
        assert!(missing_library("__cudaCDP2LaunchDeviceV2").unwrap().contains("-lcudadevrt"));
        assert_eq!(missing_library("_Z3fooi"), None);
    }
}
