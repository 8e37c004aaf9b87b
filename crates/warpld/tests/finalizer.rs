//! The finalizer as a library: files in memory, what it checks and what it says.

#[path = "../../cubin/tests/common/mod.rs"]
mod common;

use common::{Random, fixture, mutate};
use cubin::{Arch, Cubin, SectionType};
use libwarpld::mercury::code::{
    BinaryKind, EarlierLinker, Fastpath, FinalizerConfig, FinalizerError, IN_MEMORY, Mode, Trace,
    compare, earlier_linker, finalize, needs_compiler, self_check,
};

const FLAGS: usize = 48;
const TYPE: usize = 16;

fn arch(name: &str) -> Arch {
    name.parse().expect("a target")
}

fn run(image: &[u8], target: &str, config: &FinalizerConfig) -> Result<Vec<u8>, FinalizerError> {
    finalize(image, None, arch(target), config, &mut Trace::default())
}

/// Number of the result, 0 for success.
fn code(image: &[u8], config: &FinalizerConfig) -> u32 {
    run(image, "sm_100", config).map_or_else(|error| error.code(), |_| 0)
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
fn a_file_for_the_target_is_checked_and_written_anew() {
    let config = FinalizerConfig { self_check: true, ..FinalizerConfig::default() };
    let mut trace = Trace::new(true, true);
    let image = linked();
    let out = finalize(&image, None, arch("sm_100"), &config, &mut trace).expect("success");
    assert_eq!(out, image);
    assert_eq!(trace.lines[0], format!("FNLZR: Input ELF: {IN_MEMORY}"));
    assert_eq!(trace.lines[1], "FNLZR: Post-Link Mode");
    assert_eq!(trace.lines[2], "FNLZR: Flags [ 1 | 0 ]");
    assert!(trace.lines.iter().any(|l| l.contains("Linked before by Nvlink")), "{:?}", trace.lines);
    assert_eq!(trace.lines.last().map(String::as_str), Some("FNLZR: Ending in-memory-ELF-image"));
}

#[test]
fn every_refusal_has_its_number() {
    let plain = FinalizerConfig::default();
    let before = FinalizerConfig { mode: Mode::PreLink, ..plain };
    assert_eq!(code(&linked(), &plain), 0);
    let machine_code = fixture("linked-vec.sm_90.cubin");
    assert_eq!(code(&machine_code, &before), 4);
    assert_eq!(code(&machine_code, &plain), 5);
    let sass = FinalizerConfig { binary_kind: BinaryKind::Sass, ..plain };
    assert_eq!(code(&linked(), &sass), 4);
    assert_eq!(code(b"no file", &plain), 6);
    let mut odd_type = linked();
    odd_type[TYPE] = 3;
    assert_eq!(code(&odd_type, &plain), 6);
    let mut mercury_alone = linked();
    mercury_alone[FLAGS] = 1;
    assert_eq!(code(&mercury_alone, &plain), 6);
    assert_eq!(code(&fixture("data.sm_75.cubin"), &plain), 5);
    assert_eq!(code(&fixture("data.sm_50.cuda12.exec.cubin"), &plain), 7);
    let mut newer = linked();
    let compat = offset(&newer, SectionType::CUDA_COMPAT_INFO);
    let at = newer[compat..].windows(4).position(|w| w == [3, 7, 1, 1]).expect("the version");
    newer[compat + at + 2] = 2;
    assert_eq!(code(&newer, &plain), 25);
    assert_eq!(FinalizerError::Memory.code(), 11);
}

#[test]
fn the_self_check_tells_three_kinds_apart() {
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
    let config = FinalizerConfig::default();
    assert_eq!(self_check(&image, arch("sm_100"), &config, &mut Trace::default()), Ok(()));
}

#[test]
fn code_that_declares_itself_fit_is_copied() {
    let image = fixture("shared.sm_120.lines.cubin");
    let config = FinalizerConfig { mode: Mode::PreLink, ..FinalizerConfig::default() };
    let out = run(&image, "sm_121", &config).expect("sm_120 runs on sm_121");
    let changed: Vec<usize> = (0..image.len()).filter(|&i| image[i] != out[i]).collect();
    assert_eq!(changed, [FLAGS + 1], "the number of the target alone");
    let off = FinalizerConfig { fastpath: Fastpath::Off, ..config };
    let refused = FinalizerError::NeedsCompiler { from: 120, to: 121 };
    assert_eq!(run(&image, "sm_121", &off), Err(refused));
}

#[test]
fn code_that_needs_a_compiler_is_named() {
    let mut trace = Trace::new(false, true);
    let image = fixture("object.sm_100.cubin");
    assert_eq!(needs_compiler(&image, arch("sm_100"), &mut trace), None);
    let reason = needs_compiler(&image, arch("sm_110"), &mut trace).expect("another family");
    assert!(reason.to_string().contains("--finalizer"), "{reason}");
    assert!(trace.lines.iter().any(|l| l == "FNLZR: can_finalize 100 -> 110: false"));
    assert_eq!(needs_compiler(&fixture("object.sm_90.cubin"), arch("sm_100"), &mut trace), None);
}

#[test]
fn an_earlier_linker_is_known_by_its_note() {
    let image = linked();
    let found = earlier_linker(&Cubin::parse(&image).expect("a fixture"));
    assert_eq!(found, Some(EarlierLinker::Nvlink));
    let image = fixture("object.sm_100.cubin");
    assert_eq!(earlier_linker(&Cubin::parse(&image).expect("a fixture")), None);
}

#[test]
fn damaged_files_are_errors() {
    let image = linked();
    let config = FinalizerConfig { self_check: true, ..FinalizerConfig::default() };
    let mut random = Random::new(6);
    for _ in 0..300 {
        // Whether it is refused or not, nothing panics.
        let _ = run(&mutate(&image, &mut random), "sm_100", &config);
    }
}
