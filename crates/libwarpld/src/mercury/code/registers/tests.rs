use super::*;

/// The names of registers, as a listing has them.
fn names(set: &RegisterSet) -> String {
    let name = |number: usize| match number {
        0..256 => format!("R{number}"),
        256..384 => format!("UR{}", number - 256),
        384..392 => format!("P{}", number - 384),
        _ => format!("UP{}", number - 392),
    };
    let mut names: Vec<String> = set.iter().map(name).collect();
    names.sort();
    names.join(" ")
}
