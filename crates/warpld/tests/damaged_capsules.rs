//! Files with capsules that contradict themselves: each ends in a message of its
//! own, never in a crash and never in an output. nvlink refuses most of them, too,
//! or ends with a signal; `$WARPLD_TOOLKIT` names a toolkit to ask it.

use std::fs;
use std::process::Command;
use support::{Program, stderr};

const WARPLD: Program = support::warpld!();
/// Exit status of a panic.
const PANIC: i32 = 101;

/// A kernel with calls, weak functions, constants and data.
fn fixture() -> Vec<u8> {
    support::fixture("weak.sm_100.cubin")
}

/// Where a section lies in the file.
fn section(image: &[u8], name: &str) -> usize {
    let cubin = cubin::Cubin::parse(image).expect("a fixture");
    let found = cubin.sections().iter().find(|s| s.name == name.as_bytes());
    found.unwrap_or_else(|| panic!("no section {name}")).offset as usize
}

/// Links the damaged file and returns what warpld says.
fn refused(name: &str, image: &[u8]) -> String {
    let dir = WARPLD.folder(name);
    fs::write(dir.join("in.cubin"), image).expect("an input");
    let arguments = |output| ["-arch=sm_100", "in.cubin", "-o", output];
    let output = WARPLD.run(&dir, arguments("w.cubin"));
    let text = stderr(&output);
    let status = output.status.code();
    assert!(status.is_some_and(|s| s != 0 && s != PANIC), "{name}: {status:?} {text}");
    assert!(!dir.join("w.cubin").exists(), "{name}: an output was left");
    if let Some(toolkit) = support::toolkit() {
        let mut nvlink = Command::new(toolkit.join("bin/nvlink"));
        let asked = nvlink.args(arguments("n.cubin")).current_dir(&dir).output();
        let asked = asked.expect("nvlink runs");
        assert!(!asked.status.success(), "{name}: nvlink accepts it");
    }
    text
}

fn put32(image: &mut [u8], at: usize, value: u32) {
    image[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

#[test]
fn the_undamaged_file_links() {
    let dir = WARPLD.folder("undamaged");
    fs::write(dir.join("in.cubin"), fixture()).expect("an input");
    let output = WARPLD.run(&dir, ["-arch=sm_100", "in.cubin", "-o", "w.cubin"]);
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn a_capsule_names_a_section_that_is_not_its_code() {
    let mut image = fixture();
    let at = section(&image, ".nv.capmerc.text.call_all");
    put32(&mut image, at, 0xffff);
    assert!(refused("section", &image).contains("text section of a capsule"));
}

#[test]
fn a_capsule_counts_more_instructions_than_it_has() {
    let mut image = fixture();
    let at = section(&image, ".nv.capmerc.text.call_all");
    put32(&mut image, at + 8, 0x00ff_ffff);
    assert!(refused("count", &image).contains("capsule"));
}

#[test]
fn a_capsule_says_more_or_less_than_the_code_has() {
    let mut image = fixture();
    let at = section(&image, ".nv.capmerc.text.call_all");
    // One more instruction that only the machine code has.
    image[at + 12] ^= 1;
    assert!(refused("mask", &image).contains("capsule"));
}

#[test]
fn the_items_of_a_capsule_make_no_sense() {
    let mut image = fixture();
    let at = section(&image, ".nv.capmerc.text.call_all");
    image[at + 16..at + 48].fill(0xff);
    assert!(refused("items", &image).contains("capsule"));
}

#[test]
fn the_mode_bits_contradict_each_other() {
    const FLAGS: usize = 48;
    for (bits, what) in [(0x06, "both machine code and Mercury"), (0x01, "without machine code")] {
        let mut image = fixture();
        image[FLAGS] = bits;
        assert!(refused(&format!("mode-{bits}"), &image).contains(what));
    }
}

#[test]
fn a_version_above_the_ceiling() {
    let mut image = fixture();
    let at = section(&image, ".nv.compat");
    let end = at + 0x24;
    let record = (at..end).find(|&i| image[i..i + 4] == [3, 7, 1, 1]);
    image[record.expect("a version") + 2] = 2;
    assert!(refused("version", &image).contains("Internal FNLZR error 'in.cubin'"));
}

#[test]
fn a_version_that_is_too_new_is_explained() {
    let mut image = fixture();
    let at = section(&image, ".nv.compat");
    let record = (at..at + 0x24).find(|&i| image[i..i + 4] == [3, 7, 1, 1]).expect("a version");
    for (release, code, version, links) in
        [("13.1", 7, 2, false), ("13.2", 7, 2, true), ("13.2", 7, 3, false), ("13.3", 7, 9, true)]
            .into_iter()
            .chain([("13.3", 13, 3, true), ("13.3", 13, 4, false), ("13.4", 13, 4, true)])
            .chain([("13.4", 13, 5, false)])
    {
        image[record + 1] = code;
        image[record + 2] = version;
        let dir = WARPLD.folder(&format!("version-{release}-{code}-{version}"));
        fs::write(dir.join("in.cubin"), &image).expect("an input");
        let release = format!("--cuda-release={release}");
        let output = WARPLD.run(&dir, [&release, "-arch=sm_100", "in.cubin", "-o", "w.cubin"]);
        let said = stderr(&output);
        assert_eq!(output.status.success(), links, "{release} {code} {version}: {said}");
        assert_eq!(said.contains("Finalization failed: 'unsupported binary'"), !links, "{said}");
    }
}

#[test]
fn relocations_past_the_end() {
    let mut image = fixture();
    let at = section(&image, ".nv.merc.rela.text.call_all");
    put32(&mut image, at, 0x0010_0000);
    assert!(refused("past-the-end", &image).contains("relocation is past end of offset"));
}

#[test]
fn relocations_of_the_other_side() {
    let mut image = fixture();
    let at = section(&image, ".nv.merc.rela.text.call_all");
    // R_CUDA_ABS32_32 where only Mercury's types may be.
    put32(&mut image, at + 8, 55);
    assert!(refused("type", &image).contains("unknown relocation type"));
}

#[test]
fn relocations_against_no_symbol() {
    let mut image = fixture();
    let at = section(&image, ".nv.merc.rela.text.call_all");
    put32(&mut image, at + 12, 0x0fff_ffff);
    refused("no-symbol", &image);
}

#[test]
fn no_symbol_table_on_the_mercury_side() {
    let mut image = fixture();
    let cubin = cubin::Cubin::parse(&image).expect("a fixture");
    let index = cubin.sections().len() - 1;
    let headers = u64::from_le_bytes(image[40..48].try_into().expect("eight bytes")) as usize;
    put32(&mut image, headers + 64 * index + 4, 1);
    assert!(refused("no-table", &image).contains("Mercury symbol table"));
}

/// Not damaged: machine code for sm_107 calls the system for a texture, and its Mercury code has a
/// texture instruction. Without the call's relocation the output would be wrong.
#[test]
fn a_call_that_only_machine_code_has_is_kept() {
    for name in ["texref.sm_107.cubin", "texture_object.sm_107.cubin"] {
        let dir = WARPLD.folder(name);
        let input = support::fixture(name);
        fs::write(dir.join("in.cubin"), &input).expect("an input");
        let output = WARPLD.run(&dir, ["-arch=sm_107", "in.cubin", "-o", "w.cubin"]);
        assert!(output.status.success(), "{name}: {}", stderr(&output));
        let linked = fs::read(dir.join("w.cubin")).expect("an output");
        assert!(!system_calls(&input).is_empty(), "{name}");
        assert_eq!(system_calls(&linked), system_calls(&input), "{name}");
    }
}

/// The places of calls of the system: section, offset, function.
fn system_calls(image: &[u8]) -> Vec<(String, u64, String)> {
    let cubin = cubin::Cubin::parse(image).expect("a device file");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut calls = Vec::new();
    for section in cubin.sections().iter().filter(|s| s.kind == cubin::SectionType::RELA) {
        for reloc in cubin.reloc_table(&section).expect("relocations").iter() {
            let function = cubin.symbol(reloc.symbol.0).map_or(String::new(), |s| text(s.name));
            if function.starts_with("__cuda_syscall_bw_") {
                calls.push((text(section.name), reloc.offset, function));
            }
        }
    }
    calls
}
