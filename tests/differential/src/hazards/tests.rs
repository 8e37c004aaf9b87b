//! On listings of small kernels (`hazards/*.ptx`, linked by nvlink) and on code made up here.

use super::check::{self, Originals};
use super::flow::Flow;
use super::listing::{self, Function, Instruction};
use super::pairs;
use super::proof::{Kind, Proof};
use super::registers::{File, Registers};
use super::seeded::{self, Seeds, Wanted};
use super::stalls;
use std::collections::BTreeMap;

const LOOP: &str = include_str!("../../hazards/loop.lst");
const TEXTURES: &str = include_str!("../../hazards/textures.lst");
const COPIES: &str = include_str!("../../hazards/copies.lst");
const FORGOTTEN: &str = include_str!("../../hazards/forgotten.lst");

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
    originals.add(vec![input.clone()], 100, true);
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
    for (listing, least) in [(LOOP, 15), (TEXTURES, 8), (COPIES, 6)] {
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
            let (missed, tally) = check::seed(&function, 100, &mut Seeds::new(seed), &each(8));
            assert_eq!(missed, Vec::<String>::new());
            for (kind, (sown, _)) in tally.seeded {
                *all.entry(kind).or_default() += sown;
            }
        }
    }
    assert!(all.len() >= 10, "{all:?}");
}

/// So many of every kind.
fn each(count: usize) -> Wanted {
    seeded::kinds().map(|kind| (kind, count)).collect()
}

/// Two results, of which the second one's scoreboard proves the first over: without it nothing waits.
#[test]
fn faults_are_no_faults_where_something_else_waits() {
    let count = |text: &str, kind: &str| {
        let (missed, tally) = check::seed(&code(text), 100, &mut Seeds::new(1), &each(4));
        assert_eq!(missed, Vec::<String>::new());
        tally.seeded.get(kind).map_or(0, |(sown, _)| *sown)
    };
    let ordered = "- - - 2 SHFL R0 | R0 | R9
                   - - 1 2 SHFL R1 | R1 | R8
                   1 - - 4 FADD R7 | R7 | R0";
    assert_eq!(count(ordered, "later one's board removed"), 1);
    // The producer's own scoreboard is waited for, too: nothing that happens to the later one matters.
    let both = ordered.replacen("- - - 2", "- - 2 2", 1).replacen("1 - - 4", "12 - - 4", 1);
    assert_eq!(count(&both, "later one's board removed"), 0);
    assert_eq!(count(&both, "result: board removed"), 0);
    // Several ways: the wait on one of them is dropped.
    let ways = "- - 1 4 LDG R0 | R0 | R2
                - - - 5 @P0 BRA `(.L_x_1)
                1 - - 4 FADD R7 | R7 | R0
                - - - 5 EXIT
                .L_x_1:
                1 - - 4 FADD R8 | R8 | R0
                - - - 5 EXIT";
    assert_eq!(count(ways, "wait on one path dropped"), 1);
}

#[test]
fn operands_stay_only_where_the_compiler_said_so() {
    let input = code("- - - 4 FADD R7 | R7 | R0\n - - - 4 FMUL R8 | R8 | R0");
    let mut output = input.clone();
    output.code[0].set_kept(1);
    assert_eq!(faults_of(&output, &input).len(), 1);
    assert_eq!(faults_of(&input, &output).len(), 0);
}

#[test]
fn every_kind_of_fault_is_wanted_until_there_are_enough() {
    let mut tally = check::Tally::default();
    assert_eq!(tally.lacking(1000).len(), seeded::kinds().count());
    tally.seeded.insert("stall shortened", (999, 999));
    assert_eq!(tally.lacking(1000).get("stall shortened"), Some(&1));
    tally.seeded.insert("stall shortened", (1000, 1000));
    assert_eq!(tally.lacking(1000).get("stall shortened"), None);
    assert!(tally.is_good());
    tally.seeded.insert("stall shortened", (1000, 999));
    assert!(!tally.is_good());
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

#[test]
fn the_condition_of_a_copy_is_no_result() {
    // nvdisasm marks P0 of `LDGSTS [R9], desc[UR8][R2.64], P0` as read and written.
    let function = only(COPIES);
    let copies: Vec<_> = function.code.iter().filter(|i| i.operation() == "LDGSTS").collect();
    assert_eq!(copies.len(), 2);
    for copy in copies {
        assert!(copy.writes.is_empty(), "{}", copy.writes);
        assert!(copy.reads.to_string().contains("P0"));
    }
    assert_eq!(faults_of(&function, &function), Vec::<String>::new());
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
            ("B", File::Barrier),
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
    faults_on(100, text)
}

fn faults_on(sm: u16, text: &str) -> Vec<(usize, Kind, usize)> {
    let function = code(text);
    let flow = Flow::of(&function);
    let proof = Proof::new(&function, &flow, sm);
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
    let (missed, tally) = check::seed(&input, 100, &mut Seeds::new(1), &each(3));
    assert_eq!((missed.len(), tally.seeded.get("group not counted")), (0, Some(&(3, 3))));
    // Groups of bulk copies are on the scoreboard of the operands.
    let bulk = |board: u8| format!("- {board} - 2 UTMACMDFLUSH\n - - - 4 DEPBAR.LE SB0, 0x0");
    assert_eq!(faults_of(&code(&bulk(0)), &code(&bulk(0))).len(), 0);
    assert_eq!(faults_of(&code(&bulk(1)), &code(&bulk(0))).len(), 1);
}

#[test]
fn faults_of_the_compiler_are_not_the_linker_s() {
    // ptxas forgets some results that come over a back edge of a loop that can be left early.
    let function = only(FORGOTTEN);
    let (words, _) = check::faults(&function, 120, &Originals::default());
    assert!(words.iter().any(|w| w.contains("IMAD R3, R0, R5, RZ does not wait")), "{words:?}");
    assert_eq!(faults_of(&function, &function), Vec::<String>::new());
    let text = |first: &str, second: &str| {
        format!(
            ".L_x_1:
             {first} - - 4 IMAD R3 | R3 | R11
             - - - 5 @P0 EXIT
             {first} - 5 4 LDG R11 | R11 | R4 R5
             - - 4 4 LDS R6 | R6 |
             {second} - - 4 IADD3 R7 | R7 | R6
             - - - 5 @P1 BRA `(.L_x_1)
             - - - 5 EXIT"
        )
    };
    let mut originals = Originals::default();
    originals.add(vec![code(&text("-", "4"))], 100, true);
    let checked = |first, second| check::faults(&code(&text(first, second)), 100, &originals);
    let (words, tally) = checked("-", "4");
    assert_eq!((words.len(), tally.inherited, tally.rejected), (0, 2, 0), "{words:?}");
    let (words, tally) = checked("5", "4");
    assert_eq!((words.len(), tally.inherited), (0, 0));
    // The linker's own fault next to it.
    let (words, tally) = checked("-", "-");
    assert_eq!((words.len(), tally.inherited, tally.rejected), (1, 2, 1), "{words:?}");
    // Without the fault in the input it is the linker's.
    assert_eq!(faults_of(&code(&text("-", "4")), &code(&text("5", "4"))).len(), 2);
}

/// Kernels with a reciprocal and an exponential that one instruction uses: compilers for sm_103 and sm_110 let it wait
/// for both.
#[test]
fn exponentials_have_a_unit_of_their_own_on_some_targets() {
    let text = "- - - 2 MUFU.RCP R0 | R0 | R9
                - - 1 2 MUFU.EX2 R1 | R1 | R8
                1 - - 4 FADD R7 | R7 | R0 R1";
    for (sm, count) in [(100, 0), (103, 1), (110, 1), (120, 0)] {
        assert_eq!(faults_on(sm, text).len(), count, "sm_{sm}");
    }
}

#[test]
fn reductions_and_checks_answer_in_order() {
    let text = |first: &str, second: &str| {
        format!(
            "- - - 2 {first} | UR4 P0 | R9
             - - 1 2 {second} | UR5 | R8
             1 - - 4 MOV | R7 | UR4 P0"
        )
    };
    assert_eq!(faults(&text("REDUX", "REDUX")), []);
    assert_eq!(faults(&text("FCHK", "MUFU")), []);
    assert_eq!(faults(&text("REDUX", "MUFU")).len(), 1);
    assert_eq!(faults(&text("MATCH", "MATCH")).len(), 1);
}

#[test]
fn bulk_copies_read_uniform_registers_late() {
    let text = |first: &str, board: &str, wait: &str| {
        format!(
            "- {board} - 2 {first} | | UR4 UR5
             - 2 - 2 UTMASTG [UR8], [UR12] | | UR8 UR12
             {wait} - - 1 UMOV UR5 | UR5 |"
        )
    };
    for name in ["UTMALDG.2D", "UBLKCP.S.G", "UTCHMMA", "UTCBAR", "SYNCS.EXCH.64 URZ, [UR4], UR5"] {
        assert_eq!(faults(&text(name, "1", "-")), [(0, Kind::Read, 2)], "{name}");
        assert_eq!(faults(&text(name, "1", "1")), [], "{name}");
    }
    // Copies of tensors read their operands in order, other units in their own.
    assert_eq!(faults(&text("UTMASTG", "-", "2")), []);
    assert_eq!(faults(&text("UTCBAR", "-", "2")).len(), 1);
    // Others read them at once.
    for name in ["SYNCS.ARRIVE R2, [UR4], R3", "LDTM R2, tmem[UR4]", "UGETNEXTWORKID"] {
        assert_eq!(faults(&text(name, "-", "-")), [], "{name}");
    }
}

#[test]
fn a_row_of_registers_stands_behind_the_second_half() {
    // With debug information the first half has a row of another instruction.
    let blank = LOOP.lines().map(|line| match line.split_once("// | ") {
        Some((body, row)) if body.contains("/*0") && body.contains(';') => {
            format!("{body}// | {}", row.replacen("   ", " ^x", 1))
        }
        _ => line.to_owned(),
    });
    let strange = only(&blank.collect::<Vec<_>>().join("\n"));
    assert_eq!(strange.code, only(LOOP).code);
}

#[test]
fn a_copy_reads_its_operands_before_later_loads_do() {
    // In a function that saves R16: nothing else waits for the copy to read it.
    let text = |board: &str| {
        format!(
            "- - - 4 LDGSTS [R3], desc[UR6][R16.64] | | R3 R16 R17
             - {board} 2 2 LDL R16, [R1+0x4] | R16 | R1
             12 - - 5 RET.ABS.NODEC R20 0x0 | | R20"
        )
    };
    assert_eq!(faults(&text("1")), []);
    assert_eq!(faults("- - - 4 LDGSTS | | R16\n - - - 4 MOV R16 | R16 |").len(), 1);
}

#[test]
fn a_jump_table_does_not_lead_to_the_start() {
    // In code that is not linked the jump names what it is relative to.
    let mut function = code(
        ".text.f:
         - - 0 2 LDC R2 | R2 | R0
         0 - - 5 BRX R2 `(((.text.f - .) - 0x10)) (*\"BRANCH_TARGETS .L_x_1\"*) | | R2
         .L_x_1:
         - - - 5 EXIT",
    );
    function.labels.insert(".text.f".into(), 0);
    assert_eq!(Flow::of(&function).next[1], [2]);
}

#[test]
fn tensor_memory_answers_in_order() {
    let text = |wait: &str| {
        format!(
            "- - - 2 LDTM.x2 R4, tmem[UR4] | R4 R5 | UR4
             - - 1 2 LDTM.x2 R6, tmem[UR5] | R6 R7 | UR5
             {wait} - - 4 IADD3 | R8 | R4 R6"
        )
    };
    assert_eq!(faults(&text("1")), []);
    assert_eq!(faults(&text("-")).len(), 2);
}

#[test]
fn a_barrier_is_moved_in_fixed_time() {
    let text = |stall: u8| {
        format!("- 0 - {stall} BMOV.32 B10, R50 | | R50\n - - - 5 BSYNC.RECONVERGENT B10")
    };
    assert_eq!(faults(&text(5)), []);
    assert_eq!(faults_of(&code(&text(5)), &code(&text(5))).len(), 0);
    assert_eq!(faults_of(&code(&text(4)), &code(&text(5))).len(), 1);
    assert_eq!(faults("- - - 5 BMOV.32 B10, R50 | | R50\n - - - 5 MOV | R50 |").len(), 1);
}

#[test]
fn the_finalizer_may_take_cycles_that_are_over() {
    let text = |stall: u8, user: &str| {
        format!("- - - {stall} UIADD3 | UR5 | UR4\n- - - 4 {user} | R3 | UR5")
    };
    let faults = |stall, user: &str| faults_of(&code(&text(stall, user)), &code(&text(7, user)));
    assert_eq!(faults(6, "IMAD.U32").len(), 0);
    assert_eq!(faults(5, "IMAD.U32").len(), 1);
    // An address takes longer.
    assert_eq!(faults(6, "LDS").len(), 1);
    let sums = |name: &str, stall: u8| {
        code(&format!("- - - {stall} {name} R0 | R0 | R0\n- - - 4 ISETP | P0 | R0"))
    };
    let faults = |name, stall| faults_of(&sums(name, stall), &sums(name, 8)).len();
    assert_eq!(["IADD", "IADD3", "IADD.64"].map(|name| faults(name, 6)), [0, 0, 1]);
    assert_eq!(["IADD", "IADD3"].map(|name| faults(name, 5)), [1, 1]);
}

#[test]
fn code_is_compared_with_that_for_its_own_target() {
    // An object can hold code for several targets of a family, with other stall counts.
    let text = |stall: u8| format!("- - - {stall} UPOPC | UR7 | UR6\n- - - 4 IMAD | R11 | R7 UR7");
    for exact in [0, 1] {
        let mut originals = Originals::default();
        for (number, stall) in [6, 9].into_iter().enumerate() {
            originals.add(vec![code(&text(stall))], 100, number == exact);
        }
        let words = |stall| check::faults(&code(&text(stall)), 100, &originals).0;
        assert_eq!(words([6, 9][exact]), Vec::<String>::new());
        assert_eq!(words([5, 8][exact]).len(), 1);
    }
}

#[test]
fn operations_of_blackwell_are_known() {
    let names = "CREDUX FADD2 FFMA2 FMNMX3 FMUL2 HMNMX2 LDGMC LDTM OMMA PREEXIT QMMA RPCMOV STTM \
                 UBLKPF UBLKRED UFADD UFFMA UFMUL UFSEL UFSETP UGETNEXTWORKID UI2F UIMNMX UP2UR \
                 UTCATOMSWS UTCBAR UTCCP UTCHMMA UTCIMMA UTCOMMA UTCQMMA UTCSHIFT UTMACMDFLUSH \
                 UTMALDG UTMAPF UTMAREDG UTMASTG UVIRTCOUNT VABSDIFF4 VIMNMX3";
    for name in names.split_whitespace() {
        assert!(super::is_known(&listing::instruction(name), 100), "{name}");
    }
}

/// Code of `-O0` since 13.3 has no timing. Optimised code that has lost its own is another matter.
#[test]
fn code_without_timing_is_counted_apart() {
    let bare = code("- - - 0 LDG R2 | R2 | R4 R5\n- - - 0 IADD3 R3 | R3 | R2");
    let timed = code("- - 0 2 LDG R2 | R2 | R4 R5\n0 - - 5 IADD3 R3 | R3 | R2");
    let mut waits_first = timed.clone();
    waits_first.code[0].set_stall(15);
    waits_first.code[0].set_waits(0x3f);
    let checked = |original: &Function| {
        let mut originals = Originals::default();
        originals.add(vec![original.clone()], 100, true);
        let (words, tally) = check::faults(&bare, 100, &originals);
        (words.len(), tally.untimed)
    };
    assert_eq!(checked(&bare), (0, 1));
    assert_eq!(checked(&waits_first), (0, 1));
    let (words, untimed) = checked(&timed);
    assert!(words > 0 && untimed == 0, "{words} faults");
    // What is never executed before a MEMBAR has a cycle, and is taken out.
    let filled =
        code("- - - 0 LDG R2 | R2 | R4 R5\n- - - 1 @!PT LDS RZ | |\n- - - 0 IADD3 R3 | R3 | R2");
    assert_eq!(checked(&filled), (0, 1));
}
