//! Links in which more sections are created than 16 bits count, most of them for
//! functions that are removed: the numbers they had show in `.symtab_shndx`.

use std::fs;
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Program, stderr};

const WARPLD: Program = support::warpld!();

/// Each object creates 15 sections or more.
const OBJECTS: usize = 4680;

/// A folder with many copies of a fixture, each under names of its own, and a list of
/// them behind the fixtures `first`.
fn objects(fixture: &str, folder: &str, first: &[&str]) -> PathBuf {
    let dir = WARPLD.folder(folder);
    let mut image = support::fixture(fixture);
    let is_number = |window: &[u8]| window == b"x00000x";
    let places: Vec<usize> =
        image.windows(7).enumerate().filter(|(_, w)| is_number(w)).map(|(at, _)| at).collect();
    assert!(!places.is_empty(), "{fixture} has no numbered names");
    let mut names = String::new();
    for name in first {
        fs::write(dir.join(name), support::fixture(name)).expect("an object");
        names += &format!("{name}\n");
    }
    for number in 0..OBJECTS {
        for &at in &places {
            image[at..at + 7].copy_from_slice(format!("x{number:05}x").as_bytes());
        }
        fs::write(dir.join(format!("{number}.cubin")), &image).expect("an object");
        names += &format!("{number}.cubin\n");
    }
    fs::write(dir.join("inputs.txt"), names).expect("a list");
    dir
}

fn linked(program: &Path, dir: &Path, words: &[&str], output: &str) -> Vec<u8> {
    let mut command = Command::new(program);
    command.args(words).args(["-optf", "inputs.txt", "-o", output]).current_dir(dir);
    let done = command.env_remove("MAKEFLAGS").output().expect("the linker runs");
    assert!(done.status.success(), "{}", stderr(&done));
    fs::read(dir.join(output)).expect("an output")
}

fn hash(bytes: &[u8]) -> u64 {
    struct Fnv(u64);
    impl Hasher for Fnv {
        fn finish(&self) -> u64 {
            self.0
        }
        fn write(&mut self, bytes: &[u8]) {
            for &byte in bytes {
                self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
    let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
    hasher.write(bytes);
    hasher.finish()
}

/// Compares with the hash of what nvlink wrote, and with nvlink if `WARPLD_TOOLKIT` has it.
fn compare(fixture: &str, folder: &str, first: &[&str], words: &[&str], answer: u64) {
    let dir = objects(fixture, folder, first);
    let ours = [words, &["--identity=nvlink"]].concat();
    let output = linked(WARPLD.path(), &dir, &ours, "out");
    if let Some(toolkit) = support::toolkit() {
        let theirs = linked(&toolkit.join("bin/nvlink"), &dir, words, "out.nvlink");
        println!("{fixture} {words:?}: nvlink's output is {:#x}", hash(&theirs));
        if let Some(difference) = differential::difference(&theirs, &output) {
            panic!("{fixture} {words:?}: the output is not nvlink's:\n{difference}");
        }
    }
    let found = hash(&output);
    assert!(
        found == answer,
        "{fixture} {words:?}: the hash of the output is {found:#x}, nvlink's is {answer:#x}; \
         WARPLD_TOOLKIT=$(scripts/toolkit.sh) cargo test --test large_links tells what differs"
    );
    fs::remove_dir_all(&dir).expect("the folder goes");
}

#[test]
fn an_executable() {
    compare("dead.sm_90.cubin", "large-executable", &[], &["-arch=sm_90"], 0x8659_c5db_721b_9364);
}

#[test]
fn an_executable_with_textures_and_jump_tables() {
    let words = ["-arch=sm_90"];
    compare(
        "dead.sm_90.cubin",
        "large-textures",
        &["texref.sm_90.cubin", "switch_a.sm_90.cubin"],
        &words,
        0xeb29_b7e4_8267_30de,
    );
}

#[test]
fn an_executable_that_keeps_relocations() {
    let words = ["-arch=sm_90", "--preserve-relocs"];
    compare("dead.sm_90.cubin", "large-preserved", &[], &words, 0xe0c6_8c7a_f4a6_7b47);
}

#[test]
fn a_relocatable_file() {
    compare(
        "dead.sm_90.cubin",
        "large-relocatable",
        &[],
        &["-arch=sm_90", "-r"],
        0xab5f_fa1f_024b_94b5,
    );
}

/// The section that is created as number 0xfff2 has symbols here.
#[test]
fn a_relocatable_file_and_the_number_of_common_symbols() {
    let words = ["-arch=sm_90", "-r"];
    compare(
        "dead.sm_90.cubin",
        "large-common",
        &["sync.sm_90.cubin"],
        &words,
        0xd1be_bc1b_bc16_eadf,
    );
}

#[test]
fn an_executable_with_capsules() {
    compare("dead.sm_100.cubin", "large-capsules", &[], &["-arch=sm_100"], 0xe280_01ad_0694_84b2);
}
