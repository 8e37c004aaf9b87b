use super::*;
use std::collections::BTreeMap;

/// Instructions of our own sources with the registers that a listing marks (`tests/registers`).
const LISTING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/registers/listing.txt");

/// The names of registers, as the listing has them.
fn names(set: &RegisterSet) -> String {
    let name = |number: usize| match number {
        0..256 => format!("R{number}"),
        256..384 => format!("UR{}", number - 256),
        384..392 => format!("P{}", number - 384),
        _ => format!("UP{}", number - 392),
    };
    let mut names: Vec<String> = set.iter().map(name).collect();
    names.sort();
    if names.is_empty() { "-".into() } else { names.join(",") }
}

/// Names without the uniform registers that listings do not have.
fn listed(names: &str) -> String {
    let is_listed = |name: &&str| match name.strip_prefix("UR") {
        Some(number) => number.parse::<u8>().is_ok_and(|number| number < 63),
        None => true,
    };
    let kept: Vec<&str> = names.split(',').filter(is_listed).collect();
    if kept.is_empty() { "-".into() } else { kept.join(",") }
}

/// What listings leave out: the predicates of P2R, R2P and UP2UR, the fourth component of a texture and the
/// second half of its handle, uniform registers from UR63 on. They mark the condition of LDGSTS as written.
fn is_gap(w: u128, registers: &Registers, [writes, reads]: [&str; 2]) -> bool {
    let holds = |ours: &str, listed: &str| {
        listed == "-" || listed.split(',').all(|name| ours.split(',').any(|other| other == name))
    };
    let (ours, read) = (names(&registers.writes), names(&registers.reads));
    match w & 0x1ff {
        0x003 | 0x083 => listed(&ours) == writes && holds(&read, reads),
        0x004 | 0x084 => holds(&ours, writes) && listed(&read) == reads,
        0x160..=0x16f => holds(&ours, writes) && holds(&read, reads),
        0x1ae => ours == "-" && holds(reads, writes) && read == reads,
        _ => listed(&ours) == writes && listed(&read) == reads,
    }
}

/// `$WARPLD_LISTING` names another listing. A file next to it, `.report`, then says how many instructions
/// of each operation agree, and which are unknown.
#[test]
fn registers_are_those_of_a_listing() {
    let path = std::env::var("WARPLD_LISTING");
    let listing = std::fs::read_to_string(path.as_deref().unwrap_or(LISTING)).unwrap();
    let mut operations: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    let (mut wrong, mut unknown) = (Vec::new(), Vec::new());
    for line in listing.lines() {
        let [code, name, writes, reads] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let w = u128::from_str_radix(code, 16).unwrap();
        let verdict = match Registers::of(w) {
            None => {
                unknown.push(format!("unknown: {line}\n"));
                1
            }
            Some(r) if names(&r.writes) == writes && names(&r.reads) == reads => 0,
            Some(r) if is_gap(w, &r, [writes, reads]) => 0,
            Some(r) => {
                wrong.push(format!("{line}: {} <- {}", names(&r.writes), names(&r.reads)));
                2
            }
        };
        operations.entry(name).or_default()[verdict] += 1;
    }
    let total = operations.values().fold([0; 3], |a, b| [a[0] + b[0], a[1] + b[1], a[2] + b[2]]);
    if let Ok(path) = path {
        let line = |(name, [agree, unknown, wrong]): (&str, [usize; 3])| {
            format!("{name}: {agree} agree, {unknown} unknown, {wrong} wrong\n")
        };
        let rows: String =
            operations.into_iter().chain([("all", total)]).map(line).chain(unknown).collect();
        std::fs::write(format!("{path}.report"), rows).unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(total[1] * 100 < total[0], "{} are unknown", total[1]);
}

#[test]
fn rows_are_sorted() {
    let rows = Row::all();
    assert!(rows.windows(2).all(|pair| pair[0].operation() <= pair[1].operation()));
}

#[test]
fn what_is_not_known_has_no_registers() {
    // CALL.REL
    const CALL: u128 = 0x03c0_0000_0000_0000_0000_7944;
    assert_eq!(Registers::of(CALL), None);
    // IADD3 with a constant for an operand, which these targets do not have
    const IADD3: u128 = 0x07ff_e0ff_0000_0004_0402_7210;
    assert!(Registers::of(IADD3).is_some());
    assert_eq!(Registers::of(IADD3 & !0xe00 | 5 << 9), None);
    // LDG.128 R252, of which only three are there
    assert_eq!(Registers::of(0x0c1e_1d00_0000_0004_02fd_7981), None);
}

/// Operations that compilers rarely choose, with the registers that nvdisasm marks.
#[test]
fn rare_operations_have_their_registers() {
    let rare = [
        // SEL.64 R8, R6, UR10, P0
        (0x0800_0000_0000_000a_0608_7e07, "R8,R9", "P0,R6,R7,UR10,UR11"),
        // USEL.64 UR8, UR6, 0x1, UP2
        (0x0d00_0000_0000_0001_0608_7487, "UR8,UR9", "UP2,UR6,UR7"),
        // UIMAD.HI.U32 UR8, UR12, UR11, UR4
        (0x0f8e_0004_0000_000b_0c08_72a6, "UR8", "UR11,UR12,UR4,UR5"),
        // VHMNMX.BF16_V2 R9, R13, R14, R11, !PT
        (0x07a0_000b_0000_000e_0d09_7247, "R9", "R11,R13,R14"),
        // @UP0 UGETNEXTWORKID.SELFCAST [UR6], [UR7]
        (0x0800_0000_0000_0000_0600_03ca, "-", "UP0,UR6,UR7"),
        // RPCMOV.32 Rpc.LO, R2, and back
        (0x0000_0000_0000_0002_0000_7352, "-", "R2"),
        (0x0000_0000_0000_0000_0002_7353, "R2", "-"),
    ];
    for (word, writes, reads) in rare {
        let registers = Registers::of(word).unwrap();
        assert_eq!((&*names(&registers.writes), &*names(&registers.reads)), (writes, reads));
    }
}

/// `USEL.64 UR4, UR6, -0x1, !UP0`, which only sm_120 and sm_121 have (`clipped` of scalars.cu).
#[test]
fn a_uniform_choice_of_64_bits_may_have_an_immediate() {
    const CHOICE: u128 = 0x0c00_0001_ffff_ffff_0604_7487;
    let found = Registers::of(CHOICE).unwrap();
    assert_eq!(names(&found.writes), "UR4,UR5");
    assert_eq!(names(&found.reads), "UP0,UR6,UR7");
    assert_eq!(Registers::of(CHOICE & !(1 << 91)), None, "general registers are SEL.64's");
}

/// Any bits may come in.
#[test]
fn no_bits_are_too_odd() {
    let mut w = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834_u128;
    for _ in 0..200_000 {
        w = w.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(1);
        _ = Registers::of(w >> 3 ^ w);
    }
}
