//! On listings of two small kernels (`hazards/*.ptx`, linked by nvlink for sm_100) and on code made up here.

use super::check::{self, Originals};
use super::flow::Flow;
use super::listing::{self, Function, Instruction};
use super::pairs;
use super::proof::{Kind, Proof};
use super::registers::{File, Registers};
use super::seeded::Seeds;
use super::stalls;
use std::collections::BTreeMap;

const LOOP: &str = include_str!("../../hazards/loop.lst");
const TEXTURES: &str = include_str!("../../hazards/textures.lst");

fn only(listing: &str) -> Function {
    let mut functions = listing::functions(listing);
    assert_eq!(functions.len(), 1);
    functions.remove(0)
}

fn find(function: &Function, text: &str) -> usize {
    let at = function.code.iter().position(|i| i.text.starts_with(text));
    at.unwrap_or_else(|| panic!("no {text}"))
}

/// What is wrong with `function` if it was linked from `input`.
fn faults_of(function: &Function, input: &Function) -> Vec<String> {
    let mut originals = Originals::default();
    originals.add(vec![input.clone()], 100);
    check::faults(function, 100, &originals).0
}

#[test]
fn a_listing_is_read() {
    let function = only(LOOP);
    assert_eq!(function.name, "loop");
    let store = &function.code[find(&function, "STG.E.STRONG")];
    assert!(store.is_guarded());
    assert_eq!(store.read_board(), Some(0));
    assert_eq!(store.write_board(), None);
    assert!(store.writes.is_empty());
    assert!(store.reads.to_string().contains(" P0"));
    let load = &function.code[find(&function, "LDG")];
    assert_eq!((load.write_board(), load.stall()), (Some(2), 4));
    assert_eq!(super::target(LOOP), Some(100));
}

#[test]
fn control_bits_are_written_as_they_are_read() {
    let mut instruction = Instruction { bits: u128::MAX, ..Instruction::default() };
    instruction.set_stall(9);
    instruction.set_waits(0b10_0101);
    instruction.set_write_board(Some(3));
    instruction.set_read_board(None);
    let read = (instruction.stall(), instruction.waits());
    assert_eq!(read, (9, 0b10_0101));
    assert_eq!((instruction.write_board(), instruction.read_board()), (Some(3), None));
    let others = !((1_u128 << 122) - (1 << 105)) | 1 << 109;
    assert_eq!(instruction.bits & others, others);
}

#[test]
fn the_linker_s_code_is_accepted() {
    for (listing, least) in [(LOOP, 15), (TEXTURES, 8)] {
        let function = only(listing);
        assert_eq!(faults_of(&function, &function), Vec::<String>::new());
        let flow = Flow::of(&function);
        let proof = Proof::new(&function, &flow, 100);
        assert!(pairs::pairs(&function.code, &flow, &proof).len() >= least);
        assert_eq!(proof.unknown().count(), 0);
    }
}

#[test]
fn seeded_faults_are_rejected() {
    let mut all = BTreeMap::<&str, usize>::new();
    for listing in [LOOP, TEXTURES] {
        let function = only(listing);
        for seed in 0..5 {
            let (missed, tally) = check::seed(&function, 100, &mut Seeds::new(seed), 8);
            assert_eq!(missed, Vec::<String>::new());
            for (kind, (sown, _)) in tally.seeded {
                *all.entry(kind).or_default() += sown;
            }
        }
    }
    assert_eq!(all.len(), 8, "{all:?}");
    assert!(all.values().all(|&count| count >= 5), "{all:?}");
}

#[test]
fn a_count_depends_on_every_texture() {
    let input = only(TEXTURES);
    let mut function = input.clone();
    let second = find(&function, "TEX.LL RZ, R7");
    // DEPBAR allows one to be under way: without the second, that may be the first.
    function.code[second].set_write_board(Some(4));
    let faults = faults_of(&function, &input);
    assert!(faults.iter().any(|f| f.contains("FMUL") && f.contains("R5")), "{faults:?}");
}

/// `WAITS READ WRITE STALL [@P0] NAME | WRITTEN | READ`, with `LABEL:` alone on a line.
fn code(text: &str) -> Function {
    let mut function = Function { name: "f".into(), ..Function::default() };
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(label) = line.strip_suffix(':') {
            function.labels.insert(label.to_owned(), function.code.len());
            continue;
        }
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let mut words = parts[0].splitn(5, ' ');
        let mut word = || words.next().expect("five words");
        let board = |word: &str| word.parse::<u8>().ok();
        let (waits, read, write, stall) = (word(), word(), word(), word());
        let mut instruction = listing::instruction(word());
        let bits = waits.bytes().filter(u8::is_ascii_digit).fold(0, |all, c| all | 1 << (c - b'0'));
        instruction.set_waits(bits);
        instruction.set_read_board(board(read));
        instruction.set_write_board(board(write));
        instruction.set_stall(stall.parse().expect("cycles"));
        instruction.writes |= registers(parts.get(1).copied().unwrap_or_default());
        instruction.reads |= registers(parts.get(2).copied().unwrap_or_default());
        instruction.offset = 16 * function.code.len();
        function.code.push(instruction);
    }
    function
}

fn registers(text: &str) -> Registers {
    let mut all = Registers::NONE;
    for name in text.split_whitespace() {
        let files = [
            ("UR", File::Uniform),
            ("UP", File::UniformPredicate),
            ("R", File::General),
            ("P", File::Predicate),
        ];
        let (file, number) = files
            .iter()
            .find_map(|(prefix, file)| Some((*file, name.strip_prefix(prefix)?)))
            .expect("a register");
        all.add(file, number.parse().expect("a number"));
    }
    all
}

/// Producers and consumers of faults.
fn faults(text: &str) -> Vec<(usize, Kind, usize)> {
    let function = code(text);
    let flow = Flow::of(&function);
    let proof = Proof::new(&function, &flow, 100);
    proof.faults().iter().map(|f| (f.producer, f.kind, f.consumer)).collect()
}

#[test]
fn a_wait_must_be_on_every_path() {
    let text = |wait: &str| {
        format!(
            "- - 2 4 LDG R0 | R0 | R2 R3
             - - - 13 ISETP P0 | P0 | R4
             - - - 5 @P0 BRA `(.L_x_1)
             2 - - 1 MOV R5 | R5 | R6
             .L_x_1:
             {wait} - - 4 FADD R7 | R7 | R0
             - - - 5 EXIT"
        )
    };
    assert_eq!(faults(&text("-")), [(0, Kind::Write, 4)]);
    assert_eq!(faults(&text("2")), []);
    assert_eq!(faults(&text("3")), [(0, Kind::Write, 4)]);
}

#[test]
fn a_loop_brings_events_back() {
    let text = |wait: &str| {
        format!(
            ".L_x_1:
             {wait} - - 4 MOV R4 | R4 | R5
             - 1 - 4 STG R4 | | R2 R3 R4
             - - - 5 @P0 BRA `(.L_x_1)
             - - - 5 EXIT"
        )
    };
    assert_eq!(faults(&text("-")), [(1, Kind::Read, 0)]);
    assert_eq!(faults(&text("1")), []);
}

#[test]
fn units_answer_in_order() {
    let text = |second: &str| {
        format!(
            "- - - 2 SHFL R0 | R0 | R9
             - - 1 2 {second} R1 | R1 | R8
             1 - - 4 FADD R7 | R7 | R0 R1"
        )
    };
    assert_eq!(faults(&text("SHFL")), []);
    assert_eq!(faults(&text("LDS")), []);
    // Another unit, and one that answers in any order.
    assert_eq!(faults(&text("MUFU")), [(0, Kind::Write, 2)]);
    assert_eq!(
        faults("- - - 2 LDG R0 | R0 |\n - - 1 2 LDG R1 | R1 |\n 1 - - 4 FADD R7 | R7 | R0").len(),
        1
    );
    // The other way round the first one's scoreboard says nothing of the second.
    let early = "- - 1 2 SHFL R0 | R0 | R9\n - - - 2 SHFL R1 | R1 | R8\n 1 - - 4 FADD R7 | R7 | R1";
    assert_eq!(faults(early), [(1, Kind::Write, 2)]);
}

#[test]
fn a_scoreboard_counts_after_two_cycles() {
    let text = |stall: u8, wait: &str| {
        format!(
            "- - 2 {stall} LDG R0 | R0 | R2 R3
             2 - - 2 MOV R5 | R5 | R6
             {wait} - - 4 FADD R7 | R7 | R0"
        )
    };
    assert_eq!(faults(&text(2, "-")), []);
    assert_eq!(faults(&text(1, "-")), [(0, Kind::Write, 2)]);
    assert_eq!(faults(&text(1, "2")), []);
}

#[test]
fn opposite_guards_exclude_each_other_until_the_predicate_changes() {
    let text = |between: &str| {
        format!(
            "- - 2 4 @P0 LDG R0 | R0 | R2 R3
             {between}
             - - - 4 @!P0 MOV R0 | R0 | R9"
        )
    };
    assert_eq!(faults(&text("- - - 4 NOP")), []);
    assert_eq!(faults(&text("- - - 13 ISETP P0 | P0 | R4")), [(0, Kind::Write, 2)]);
}

#[test]
fn calls_and_returns_need_everything() {
    assert_eq!(faults("- 1 - 4 STL R4 | | R1 R4\n - - - 5 RET R20"), [(0, Kind::Read, 1)]);
    assert_eq!(faults("- 1 - 4 STL R4 | | R1 R4\n 1 - - 5 RET R20"), []);
    assert_eq!(faults("- - 1 4 S2R R4 | R4 |\n - - - 5 CALL.ABS `(g)\n - - - 5 EXIT").len(), 1);
}

#[test]
fn unknown_operations_are_no_faults() {
    let function = code("- - 1 4 NEWOP R4 | R4 |\n - - - 5 MOV R5 | R5 | R4");
    let (words, tally) = check::faults(&function, 100, &Originals::default());
    assert!(words.is_empty());
    assert_eq!((tally.doubtful, tally.unknown.get("NEWOP")), (1, Some(&1)));
}

#[test]
fn stalls_are_those_of_the_input() {
    let text = |first: u8, fence: &str| {
        format!(
            "- - - {first} ISETP P0 | P0 | R4
             {fence}
             - - - 4 MOV R5 | R5 | R6
             - - - 5 @P0 EXIT"
        )
    };
    let input = code(&text(9, "- - - 4 NOP"));
    assert_eq!(faults_of(&input, &input), Vec::<String>::new());
    // 13 cycles are enough although a fence of four is gone.
    assert_eq!(faults_of(&code(&text(9, "")), &input).len(), 0);
    assert_eq!(faults_of(&code(&text(8, "")), &input).len(), 1);
    let origins = stalls::origins(&code(&text(9, "")).code, &input.code);
    assert_eq!(origins, [Some(0), Some(2), Some(3)]);
}

#[test]
fn a_count_keeps_its_groups() {
    let text = |board: &str| {
        format!(
            "- - {board} 2 LDGDEPBAR
             - - - 4 DEPBAR.LE SB0, 0x2
             - - - 5 EXIT"
        )
    };
    let input = code(&text("0"));
    assert_eq!(faults_of(&input, &input).len(), 0);
    assert_eq!(faults_of(&code(&text("1")), &input).len(), 1);
    let (missed, tally) = check::seed(&input, 100, &mut Seeds::new(1), 3);
    assert_eq!((missed.len(), tally.seeded.get("group not counted")), (0, Some(&(3, 3))));
}
