//! How much of nvlink's allocation of scoreboards warpld reproduces, and where it first differs.
//!
//! nvlink's finalizer allocates scoreboards anew in kernels that call nothing. A link counts for
//! its target with and without `--no-rescoreboard`; a kernel whose code differs is a miss, listed with
//! the first field that differs and with what the kernel has that could be the reason.

use crate::hazards::{Flow, Function, Instruction, Lister, is_known};
use crate::mercury;
use crate::program::Sm;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::AddAssign;

/// The files that one link made.
pub struct Outputs<'a> {
    pub nvlink: &'a [u8],
    /// By warpld with `--no-rescoreboard`.
    pub kept: &'a [u8],
    /// By warpld.
    pub rescored: &'a [u8],
}

/// A kernel whose code is not nvlink's.
#[derive(Clone, Debug)]
pub struct Miss {
    sm: Sm,
    case: String,
    kernel: String,
    /// Instructions, and how many of them differ.
    size: usize,
    differing: usize,
    /// Whether the option changed nothing.
    left_alone: bool,
    /// Fields of the first instruction that differs.
    cause: String,
    /// That instruction, with nvlink's and warpld's values.
    first: String,
    features: BTreeSet<&'static str>,
}

/// What is counted for a target.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    links: usize,
    links_kept: usize,
    links_rescored: usize,
    kernels: usize,
    kernels_kept: usize,
    kernels_rescored: usize,
}

impl AddAssign for Row {
    fn add_assign(&mut self, other: Self) {
        self.links += other.links;
        self.links_kept += other.links_kept;
        self.links_rescored += other.links_rescored;
        self.kernels += other.kernels;
        self.kernels_kept += other.kernels_kept;
        self.kernels_rescored += other.kernels_rescored;
    }
}

/// The scores of many links.
#[derive(Clone, Debug, Default)]
pub struct Scores {
    rows: BTreeMap<Sm, Row>,
    misses: Vec<Miss>,
}

impl Scores {
    /// Scores one link of a case whose sources are our own.
    pub fn add(
        &mut self,
        lister: &Lister,
        (sm, case): (Sm, &str),
        outputs: &Outputs<'_>,
    ) -> Result<(), String> {
        let [Some(theirs), Some(kept), Some(rescored)] =
            [outputs.nvlink, outputs.kept, outputs.rescored].map(mercury::kernels_without_calls)
        else {
            return Ok(());
        };
        let row = self.rows.entry(sm).or_default();
        row.links += 1;
        row.links_kept += usize::from(outputs.nvlink == outputs.kept);
        row.links_rescored += usize::from(outputs.nvlink == outputs.rescored);
        let mut missed = Vec::new();
        for (name, code) in &theirs {
            row.kernels += 1;
            row.kernels_kept += usize::from(kept.get(name) == Some(code));
            if rescored.get(name) == Some(code) {
                row.kernels_rescored += 1;
            } else {
                missed.push((name, kept.get(name) == rescored.get(name)));
            }
        }
        if missed.is_empty() {
            return Ok(());
        }
        let listings = (lister.listing(outputs.nvlink)?, lister.listing(outputs.rescored)?);
        let find = |all: &[Function], name: &str| all.iter().find(|f| f.name == name).cloned();
        for (name, left_alone) in missed {
            let name = name.trim_start_matches(".text.");
            let functions = (find(&listings.0, name), find(&listings.1, name));
            let (Some(theirs), Some(ours)) = functions else { continue };
            let found = Found::between(&theirs, &ours);
            self.misses.push(Miss {
                sm,
                case: case.to_owned(),
                kernel: name.to_owned(),
                size: theirs.code.len(),
                differing: found.differing,
                left_alone,
                cause: found.cause,
                first: found.first,
                features: features(&theirs, sm.number),
            });
        }
        Ok(())
    }
}

impl AddAssign for Scores {
    fn add_assign(&mut self, other: Self) {
        for (sm, row) in other.rows {
            *self.rows.entry(sm).or_default() += row;
        }
        self.misses.extend(other.misses);
    }
}

/// Where two versions of a function differ.
struct Found {
    differing: usize,
    cause: String,
    first: String,
}

impl Found {
    fn between(theirs: &Function, ours: &Function) -> Self {
        let pairs = || theirs.code.iter().zip(&ours.code);
        let differing = pairs().filter(|(a, b)| a.bits != b.bits).count();
        let Some((a, b)) = pairs().find(|(a, b)| a.bits != b.bits) else {
            let lengths = format!("{} and {} instructions", theirs.code.len(), ours.code.len());
            return Self { differing, cause: "length".into(), first: lengths };
        };
        let fields = fields(a, b);
        let names: Vec<&str> = fields.iter().map(|(name, ..)| *name).collect();
        let values: Vec<String> =
            fields.iter().map(|(name, a, b)| format!("{name} {a}, not {b}")).collect();
        let cause = format!("{}: {}", names.join(" and "), a.operation());
        let first = format!("{:04x} {}: {}", a.offset, a.full_text(), values.join("; "));
        Self { differing, cause, first }
    }
}

/// The control fields in which two instructions differ, with both values.
fn fields(a: &Instruction, b: &Instruction) -> Vec<(&'static str, String, String)> {
    let board = |board: Option<u8>| board.map_or("-".to_owned(), |board| board.to_string());
    let list = |mask: u8| {
        let set = (0..6).filter(|board| mask >> board & 1 != 0).map(|board| board.to_string());
        format!("{{{}}}", set.collect::<Vec<_>>().join(" "))
    };
    let essence = |i: &Instruction| i.bits & !(((1_u128 << 17) - 1) << 105);
    let all = [
        ("wait", list(a.waits()), list(b.waits())),
        ("read board", board(a.read_board()), board(b.read_board())),
        ("write board", board(a.write_board()), board(b.write_board())),
        ("stall", a.stall().to_string(), b.stall().to_string()),
        ("yield", a.yields().to_string(), b.yields().to_string()),
        ("operands", format!("{:x}", essence(a)), format!("{:x}", essence(b))),
    ];
    all.into_iter().filter(|(_, a, b)| a != b).collect()
}

/// What a kernel has that the allocation may depend on.
fn features(function: &Function, sm: u16) -> BTreeSet<&'static str> {
    let flow = Flow::of(function);
    let mut all = BTreeSet::new();
    for (at, instruction) in function.code.iter().enumerate() {
        if flow.next[at].iter().any(|&to| to < at) {
            all.insert("loop");
        }
        let own_end = matches!(instruction.operation(), "EXIT" | "BRA");
        if own_end && instruction.is_guarded() {
            all.insert("branch");
        }
        if !is_known(instruction, sm) {
            all.insert("unknown operation");
        }
        if at > 0 && instruction.reads.names().any(|name| name == "R1") {
            all.insert("R1 used");
        }
        all.extend(feature(instruction));
    }
    all
}

fn feature(instruction: &Instruction) -> Option<&'static str> {
    Some(match instruction.operation() {
        "BRX" | "BRXU" => "jump table",
        "DEPBAR" => "DEPBAR",
        "WARPSYNC" if instruction.has("COLLECTIVE") => "collective",
        "BRA" if instruction.has("DIV") => "BRA.DIV",
        "MEMBAR" | "FENCE" => "fence",
        "LDGSTS" => "LDGSTS",
        "SYNCS" => "mbarrier",
        "BMOV" => "BMOV",
        "DADD" | "DMUL" | "DFMA" | "DSETP" | "DMMA" => "FP64",
        "TEX" | "TLD" | "TLD4" | "TXD" | "TXQ" => "texture",
        "SULD" | "SUST" | "SURED" => "surface",
        name if name.starts_with("UTC") || matches!(name, "LDTM" | "STTM") => "tensor memory",
        name if name.starts_with("UTMA") || name.starts_with("UBLK") => "bulk copy",
        name if name.ends_with("MMA") => "tensor core",
        _ => return None,
    })
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = 100.0 * self.kernels_rescored as f64 / self.kernels.max(1) as f64;
        write!(
            f,
            "{} | {} | {} | {} | {} | {} | {share:.1} %",
            self.links,
            self.links_kept,
            self.links_rescored,
            self.kernels,
            self.kernels_kept,
            self.kernels_rescored,
        )
    }
}

impl Scores {
    /// Prints the table of targets, the causes and the misses.
    pub fn print(&self) {
        println!(
            "\n| target | links | with --no-rescoreboard | identical | call-free kernels \
             | with --no-rescoreboard | identical | share |\n|---|---|---|---|---|---|---|---|"
        );
        let mut total = Row::default();
        for (sm, row) in &self.rows {
            println!("| {sm} | {row} |");
            total += *row;
        }
        println!("| all | {total} |");
        let mut causes: BTreeMap<&str, usize> = BTreeMap::new();
        for miss in &self.misses {
            *causes.entry(&miss.cause).or_default() += 1;
        }
        let mut causes: Vec<_> = causes.into_iter().collect();
        causes.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        println!("\nfirst difference, kernels:");
        causes.iter().for_each(|(cause, count)| println!("  {count:>4} {cause}"));
        println!("\nkernels that differ:");
        let mut misses: Vec<&Miss> = self.misses.iter().collect();
        misses.sort_by_key(|miss| (&miss.kernel, &miss.case, miss.sm));
        misses.iter().for_each(|miss| println!("{miss}"));
    }
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let features: Vec<&str> = self.features.iter().copied().collect();
        let kept = if self.left_alone { "; left as it was" } else { "" };
        write!(
            f,
            "- {} {} {}: {} of {} instructions{kept}; first {} [{}]",
            self.sm,
            self.case,
            self.kernel,
            self.differing,
            self.size,
            self.first,
            features.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instruction(text: &str, bits: u128) -> Instruction {
        Instruction { bits, text: text.into(), ..Instruction::default() }
    }

    #[test]
    fn the_first_field_that_differs_is_the_cause() {
        let none = 0x3f_u128 << 110;
        let function = |bits: [u128; 2]| Function {
            code: vec![instruction("MOV R2, R3", bits[0]), instruction("LDG R4, [R2]", bits[1])],
            ..Function::default()
        };
        let theirs = function([none, none & !(7 << 110) | 2 << 110]);
        let ours = function([none, none & !(7 << 110) | 3 << 110 | 1 << 116]);
        let found = Found::between(&theirs, &ours);
        assert_eq!(found.differing, 1);
        assert_eq!(found.cause, "wait and write board: LDG");
        assert!(found.first.ends_with("wait {}, not {0}; write board 2, not 3"), "{}", found.first);
        assert_eq!(Found::between(&theirs, &theirs).cause, "length");
    }

    #[test]
    fn features_are_those_of_the_instructions() {
        let code = vec![
            instruction("LDC R1, c[0x0][0x37c]", 0),
            instruction("DADD R2, R2, R4", 0),
            instruction("NOVELTY R2", 0),
        ];
        let function = Function { code, ..Function::default() };
        let all: Vec<&str> = features(&function, 100).into_iter().collect();
        assert_eq!(all, ["FP64", "unknown operation"]);
    }
}
