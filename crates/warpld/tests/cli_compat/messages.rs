//! What people read when a link fails, complaint by complaint.

use crate::WARPLD;
use crate::fixtures::{self, Toolkit};
use std::fs;
use std::path::PathBuf;

struct Bench {
    folder: PathBuf,
}

impl Bench {
    /// A folder with the inputs; `None` without a toolkit.
    fn new(name: &str) -> Option<Self> {
        let inputs = fixtures::build(&Toolkit::from_env()?);
        let folder = WARPLD.folder(&format!("messages-{name}"));
        for entry in fs::read_dir(&inputs).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
        }
        Some(Self { folder })
    }

    /// Exit status and standard error of a link for sm_90.
    fn link(&self, line: &str) -> (i32, String) {
        let output = WARPLD
            .command()
            .args(["-arch=sm_90", "-o", "o"])
            .args(line.split_whitespace())
            .current_dir(&self.folder)
            .env_remove("LIBRARY_PATH")
            .output()
            .unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }

    fn check(&self, line: &str, status: i32, text: &str) {
        let (actual_status, actual) = self.link(line);
        assert_eq!(actual, text, "warpld {line}");
        assert_eq!(actual_status, status, "warpld {line}");
    }
}

/// Undefined references: names as in the source, who refers to them, which
/// name may have been meant.
#[test]
fn undefined_symbols() {
    let Some(bench) = Bench::new("undefined") else { return };
    bench.check(
        "und.cubin a.cubin d.cubin",
        255,
        "warpld error   : Undefined reference to '_Z3fooi' in 'und.cubin' [undefined-symbol]\n\
         \x20   = _Z3fooi is foo(int)\n\
         \x20   = referred to by ku(int*) (und.cubin)\n\
         \x20   = referred to by ka(int*) (a.cubin)\n\
         warpld error   : Undefined reference to '_Z16missing_functioni' in 'und.cubin' [undefined-symbol]\n\
         \x20   = _Z16missing_functioni is missing_function(int)\n\
         \x20   = referred to by ku(int*) (und.cubin)\n\
         warpld error   : Undefined reference to 'missing_variable' in 'und.cubin' [undefined-symbol]\n\
         \x20   = referred to by ku(int*) (und.cubin)\n",
    );
    bench.check(
        "near.cubin b.cubin",
        255,
        "warpld error   : Undefined reference to '_Z3fool' in 'near.cubin' [undefined-symbol]\n\
         \x20   = _Z3fool is foo(long)\n\
         \x20   = referred to by kn(int*) (near.cubin)\n\
         \x20   = did you mean foo(int) [_Z3fooi], defined in b.cubin?\n",
    );
}

/// With line information the place is a line of the source.
#[test]
fn undefined_symbols_with_lines() {
    let Some(bench) = Bench::new("lines") else { return };
    let (status, text) = bench.link("lines.cubin b.cubin");
    assert_eq!(status, 255);
    assert!(text.contains("= referred to by ku(int*) at "), "{text}");
    assert!(text.contains("inputs/und.cu:4 (lines.cubin)"), "{text}");
}

/// The definition is there, for another target.
#[test]
fn defined_for_another_target() {
    let Some(bench) = Bench::new("elsewhere") else { return };
    bench.check(
        "a.o b80.o",
        255,
        "warpld warning : SM Arch ('sm_90') not found in 'b80.o' [arch-not-found]\n\
         \x20   = it has sm_80\n\
         \x20   = add the target when you compile (-gencode), or pass --suppress-arch-warning\n\
         warpld error   : Undefined reference to '_Z3fooi' in 'a.o' [undefined-symbol]\n\
         \x20   = _Z3fooi is foo(int)\n\
         \x20   = referred to by ka(int*) (a.o)\n\
         \x20   = b80.o defines foo(int), but for sm_80 only; compile it for sm_90 too\n",
    );
}

/// Nothing is left to link.
#[test]
fn nothing_for_the_target() {
    let Some(bench) = Bench::new("nothing") else { return };
    bench.check(
        "b80.o",
        0,
        "warpld warning : SM Arch ('sm_90') not found in 'b80.o' [arch-not-found]\n\
         \x20   = it has sm_80\n\
         \x20   = no input has code for sm_90: the output will be empty\n\
         \x20   = add the target when you compile (-gencode), or pass --suppress-arch-warning\n",
    );
}

/// A library that is known to have the symbol.
#[test]
fn missing_library() {
    let Some(bench) = Bench::new("library") else { return };
    let (status, text) = bench.link("cdp.o");
    assert_eq!(status, 255);
    assert!(text.contains("= referred to by parent(int*) (cdp.o)"), "{text}");
    assert!(text.contains("= this function comes from -lcudadevrt"), "{text}");
}

/// Both definitions, and what to do.
#[test]
fn multiple_definitions() {
    let Some(bench) = Bench::new("multiple") else { return };
    bench.check(
        "b.cubin libbd.a",
        1,
        "warpld error   : Multiple definition of '_Z3fooi' in 'libbd.a:b.o', first defined in 'b.cubin' [multiple-definition]\n\
         \x20   = _Z3fooi is foo(int)\n\
         \x20   = if it stands in a header, make it inline or static; if an input is named twice, name it once\n\
         warpld fatal   : merge_elf failed [merge-failed]\n",
    );
}

/// With line information, the lines of both.
#[test]
fn multiple_definitions_with_lines() {
    let Some(bench) = Bench::new("twice") else { return };
    let (status, text) = bench.link("blines.cubin b2lines.cubin");
    assert_eq!(status, 1);
    assert!(text.contains("    = first defined at ") && text.contains("inputs/b.cu:"), "{text}");
    assert!(text.contains("    = defined again at ") && text.contains("inputs/b2.cu:"), "{text}");
    let (_, text) = bench.link("blines.cubin blines.cubin");
    assert!(text.contains("    = both come from "), "{text}");
}

#[test]
fn conflicting_declarations() {
    let Some(bench) = Bench::new("conflicts") else { return };
    let (status, text) = bench.link("a.cubin b.cubin size.cubin");
    assert_eq!(status, 1);
    assert!(text.starts_with(
        "warpld error   : Size doesn't match for 'gv' in 'size.cubin', first specified in 'a.cubin' [size-mismatch]\n    = declare it the same way everywhere\n"
    ), "{text}");
    let (status, text) = bench.link("global.cubin device.cubin");
    assert_eq!(status, 1);
    assert!(text.starts_with(
        "warpld error   : Function 'both' not declared __global__ in all source files [kernel-mismatch]\n"
    ), "{text}");
}

/// One error per callee with the way to it, not one per kernel.
#[test]
fn register_bounds() {
    let Some(bench) = Bench::new("registers") else { return };
    let (status, text) = bench.link("bound.cubin heavy2.cubin");
    assert_eq!(status, 255);
    assert!(text.contains("= by way of between(int*)\n"), "{text}");
    assert_eq!(text.matches("too-many-registers").count(), 1, "{text}");
}

/// The largest contributors to a memory that is full.
#[test]
fn limits() {
    let Some(bench) = Bench::new("limits") else { return };
    bench.check(
        "const.cubin const2.cubin",
        255,
        "warpld error   : File uses too much global constant data (0x17700 bytes, 0x10000 max) [too-much-constant]\n\
         \x20   = 48000 bytes: more in const2.cubin\n\
         \x20   = 48000 bytes: many in const.cubin\n",
    );
    let (status, text) = bench.link("smem.cubin b.cubin");
    assert_eq!(status, 255);
    assert!(text.contains("= 52000 bytes: big in smem.cubin\n"), "{text}");
}

/// One warning for all kernels, with the recursion.
#[test]
fn unknown_stacks() {
    let Some(bench) = Bench::new("stacks") else { return };
    bench.check(
        "recs.cubin",
        0,
        "warpld warning : Stack size for entry function '_Z3kr2Pi' cannot be statically determined [unknown-stack]\n\
         \x20   = _Z3kr2Pi is kr2(int*)\n\
         \x20   = even(int) may call itself by way of odd(int)\n\
         \x20   = the same holds for kr1(int*)\n\
         \x20   = set cudaLimitStackSize for such kernels, or pass --suppress-stack-size-warning\n",
    );
}

/// Objects of a newer toolkit are explained.
#[test]
fn newer_toolkit() {
    let Some(bench) = Bench::new("newer") else { return };
    let path = bench.folder.join("b.cubin");
    let mut bytes = fs::read(&path).unwrap();
    // The u16 at offset 4 of the description of .note.nv.cuinfo, which
    // follows a header of 12 bytes and a name of 12.
    let at = {
        let cubin = cubin::Cubin::parse(&bytes).unwrap();
        let note = cubin.section_by_name(b".note.nv.cuinfo").unwrap().data;
        note.as_ptr() as usize - bytes.as_ptr() as usize + 24 + 4
    };
    bytes[at..at + 2].copy_from_slice(&134u16.to_le_bytes());
    fs::write(&path, bytes).unwrap();
    bench.check(
        "a.cubin b.cubin --cuda-release=13.0",
        1,
        "warpld fatal   : Input file 'b.cubin' newer than toolkit (134 vs 130) [newer-toolkit]\n\
         \x20   = it was compiled by CUDA 13.4: link with --cuda-release=13.4\n",
    );
}

/// Where a relocation stands that nobody knows: section, offset, type and symbol.
#[test]
fn unknown_relocations() {
    let Some(bench) = Bench::new("relocations") else { return };
    let path = bench.folder.join("a.cubin");
    let mut bytes = fs::read(&path).unwrap();
    let table = {
        let cubin = cubin::Cubin::parse(&bytes).unwrap();
        let names = [&b".rela.text._Z2kaPi"[..], b".rel.text._Z2kaPi"];
        let found = cubin.sections().iter().find(|s| names.contains(&s.name)).unwrap();
        found.offset as usize
    };
    // The type is behind the offset.
    bytes[table + 8..table + 12].copy_from_slice(&250_u32.to_le_bytes());
    fs::write(&path, bytes).unwrap();
    bench.check(
        "a.cubin b.cubin",
        1,
        "warpld fatal   : unknown relocation type in 'a.cubin' [bad-relocation]\n\
         \x20   = section .text._Z2kaPi, offset 0x80, type 250 (unknown), symbol 18 'gv'\n",
    );
}

/// Host-only and empty archives are no reason to complain.
#[test]
fn host_libraries_are_quiet() {
    let Some(bench) = Bench::new("quiet") else { return };
    bench.check("a.o b.o libplain.a -lpthread -lrt -ldl -L. -lplain", 0, "");
    bench.check("a.o b.o empty.a", 0, "");
}

/// Device code is recognised by content.
#[test]
fn cubins_under_other_names_are_linked() {
    let Some(bench) = Bench::new("names") else { return };
    fs::copy(bench.folder.join("b.cubin"), bench.folder.join("b.img")).unwrap();
    bench.check("a.cubin b.img", 0, "");
    bench.check("a.cubin libcubin.a", 0, "");
}

/// Both are one JSON object per line.
#[test]
fn messages_for_programs() {
    let Some(bench) = Bench::new("json") else { return };
    let (status, text) = bench.link("--error-format=json und.cubin rec.cubin");
    assert_eq!(status, 255);
    assert_eq!(text.lines().count(), 4, "{text}");
    for line in text.lines() {
        assert!(
            line.starts_with("{\"format\":1,\"tool\":\"warpld\",\"severity\":\"")
                && line.ends_with("]}"),
            "{line}"
        );
    }
    assert!(
        text.contains("\"code\":\"unknown-stack\"") && text.contains("\"demangled\":\"foo(int)\"")
    );
}
