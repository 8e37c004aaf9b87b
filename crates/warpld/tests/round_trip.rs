//! `--self-check` as a library call: files in memory, what is checked and what is said.

use cubin::{Arch, Cubin, SectionType};
use libwarpld::Release;
use libwarpld::internals::{
    Linker, MercuryError, Trace, compare, linker, needs_compiler, round_trip,
};
use support::{Random, fixture, mutate};

const FLAGS: usize = 48;
const TYPE: usize = 16;

fn arch(name: &str) -> Arch {
    name.parse().expect("a target")
}

/// Number of the result, 0 for success.
fn code(image: &[u8]) -> u32 {
    let result = round_trip(image, arch("sm_100"), Release::OLDEST, &mut Trace::default());
    result.map_or_else(|error| error.code(), |()| 0)
}

fn linked() -> Vec<u8> {
    fixture("linked-vec.sm_100.cubin")
}

/// Offset of the bytes of the first section of a kind.
fn offset(image: &[u8], wanted: SectionType) -> usize {
    let cubin = Cubin::parse(image).expect("a fixture");
    let section = cubin.sections().iter().find(|s| s.kind == wanted && !s.data.is_empty());
    section.expect("the section").data.as_ptr() as usize - image.as_ptr() as usize
}

#[test]
fn a_linked_file_is_its_own_round_trip() {
    let mut trace = Trace::new(true, true);
    assert_eq!(round_trip(&linked(), arch("sm_100"), Release::OLDEST, &mut trace), Ok(()));
    let expected = [
        "FNLZR: Input ELF: self-check",
        "FNLZR: Post-Link Mode",
        "FNLZR: Flags [ 1 | 0 ]",
        "FNLZR: Starting self-check",
        "FNLZR: Linked before by Nvlink",
        "FNLZR: Ending self-check",
    ];
    assert_eq!(trace.lines, expected);
}

#[test]
fn every_refusal_has_its_number() {
    assert_eq!(code(&linked()), 0);
    assert_eq!(code(&fixture("linked-vec.sm_90.cubin")), 5);
    assert_eq!(code(&fixture("data.sm_50.cuda12.exec.cubin")), 5);
    assert_eq!(code(b"no file"), 6);
    let mut odd_type = linked();
    odd_type[TYPE] = 3;
    assert_eq!(code(&odd_type), 6);
    let kinds = [(1, 6), (2, 0), (4, 5), (6, 6)];
    for (kind, expected) in kinds {
        let mut image = linked();
        image[FLAGS] = kind;
        assert_eq!(code(&image), expected, "kind {kind}");
    }
    let mut newer = linked();
    let compat = offset(&newer, SectionType::CUDA_COMPAT_INFO);
    let at = newer[compat..].windows(4).position(|w| w == [3, 7, 1, 1]).expect("the version");
    newer[compat + at + 2] = 2;
    assert_eq!(code(&newer), 25);
    // sm_121 could run it, but it is not what was linked for.
    let other = fixture("shared.sm_120.lines.cubin");
    let refused = MercuryError::NeedsCompiler { from: 120, to: 121 };
    assert_eq!(
        round_trip(&other, arch("sm_121"), Release::OLDEST, &mut Trace::default()),
        Err(refused.clone())
    );
    assert_eq!(refused.code(), 4);
}

#[test]
fn a_failure_is_traced_with_its_number() {
    let mut trace = Trace::new(true, false);
    let image = fixture("linked-vec.sm_90.cubin");
    assert_eq!(
        round_trip(&image, arch("sm_100"), Release::OLDEST, &mut trace),
        Err(MercuryError::NotCapsule)
    );
    let last = "FNLZR: Failed self-check: 5 (the file holds machine code without capsules)";
    assert_eq!(trace.lines.last().map(String::as_str), Some(last));
}

#[test]
fn a_comparison_tells_three_kinds_apart() {
    let image = linked();
    let kind = |section: SectionType| {
        let mut other = image.clone();
        let at = offset(&other, section);
        other[at + 24] ^= 1;
        compare(&image, &other).map_err(|e| e.code())
    };
    assert_eq!(compare(&image, &image), Ok(()));
    assert_eq!(kind(SectionType::CUDA_CAPMERC), Err(17));
    assert_eq!(kind(SectionType::CUDA_MERCURY_RELA), Err(18));
    assert_eq!(kind(SectionType::CUDA_MERCURY_SYMTAB), Err(19));
}

#[test]
fn code_that_needs_a_compiler_is_named() {
    let mut trace = Trace::new(false, true);
    let image = fixture("object.sm_100.cubin");
    assert_eq!(needs_compiler(&image, arch("sm_100"), &mut trace), None);
    let reason = needs_compiler(&image, arch("sm_110"), &mut trace).expect("another family");
    assert!(reason.to_string().contains("--cuda-path"), "{reason}");
    assert!(trace.lines.iter().any(|l| l == "FNLZR: can_finalize 100 -> 110: false"));
    assert_eq!(needs_compiler(&fixture("object.sm_90.cubin"), arch("sm_100"), &mut trace), None);
    let fit = fixture("shared.sm_120.lines.cubin");
    assert_eq!(needs_compiler(&fit, arch("sm_121"), &mut trace), None);
}

#[test]
fn a_linker_is_known_by_its_note() {
    let image = linked();
    assert_eq!(linker(&Cubin::parse(&image).expect("a fixture")), Some(Linker::Nvlink));
    let image = fixture("object.sm_100.cubin");
    assert_eq!(linker(&Cubin::parse(&image).expect("a fixture")), None);
}

#[test]
fn damaged_files_are_errors() {
    let image = linked();
    let mut random = Random::new(6);
    for _ in 0..300 {
        // Whether it is refused or not, nothing panics.
        let _ = code(&mutate(&image, &mut random));
    }
}
