//! Links in which more sections are created than 16 bits count, most of them for
//! functions that are removed: the numbers they had show in `.symtab_shndx`.

use std::fs;
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::process::Command;

const WARPLD: &str = env!("CARGO_BIN_EXE_warpld");

/// Each object creates 15 sections or more.
const OBJECTS: usize = 4600;

/// A folder with many copies of a fixture, each under names of its own.
fn objects(fixture: &str, folder: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).expect("a folder for the test");
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures");
    let mut image = fs::read(format!("{fixtures}/{fixture}")).expect("a fixture");
    let is_number = |window: &[u8]| window == b"x00000x";
    let places: Vec<usize> =
        image.windows(7).enumerate().filter(|(_, w)| is_number(w)).map(|(at, _)| at).collect();
    assert!(!places.is_empty(), "{fixture} has no numbered names");
    let mut names = String::new();
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
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
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
fn compare(fixture: &str, folder: &str, words: &[&str], answer: u64) {
    let dir = objects(fixture, folder);
    let ours = [words, &["--identity=nvlink"]].concat();
    let output = linked(Path::new(WARPLD), &dir, &ours, "out");
    if let Some(toolkit) = std::env::var_os("WARPLD_TOOLKIT") {
        let nvlink = Path::new(&toolkit).join("bin/nvlink");
        let theirs = linked(&nvlink, &dir, words, "out.nvlink");
        println!("{fixture} {words:?}: nvlink's output is {:#x}", hash(&theirs));
        assert!(output == theirs, "the output is not nvlink's");
    }
    assert_eq!(hash(&output), answer, "{fixture} {words:?}");
    fs::remove_dir_all(&dir).expect("the folder goes");
}

#[test]
fn an_executable() {
    compare("dead.sm_90.cubin", "large-executable", &["-arch=sm_90"], 0x875a_35d4_a754_cf12);
}

#[test]
fn a_relocatable_file() {
    compare("dead.sm_90.cubin", "large-relocatable", &["-arch=sm_90", "-r"], 0x600d_48b0_105e_427b);
}

#[test]
fn an_executable_with_capsules() {
    compare("dead.sm_100.cubin", "large-capsules", &["-arch=sm_100"], 0x28b3_97aa_c034_6e5e);
}
