//! Links of the fixtures against what nvlink made of them (`scripts/fixtures.sh`).

use std::path::Path;
use std::process::Command;

const WARPLD: &str = env!("CARGO_BIN_EXE_warpld");
const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures");

fn compare(inputs: &[&str], words: &[&str], answer: &str) {
    for target in ["sm_75", "sm_90", "sm_100"] {
        let fixture = |name: &str| format!("{FIXTURES}/{name}.{target}.cubin");
        let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{answer}.{target}"));
        let mut command = Command::new(WARPLD);
        command.args(["-arch", target, "--identity=nvlink", "--rescoreboard"]).args(words);
        command.args(inputs.iter().map(|name| fixture(name))).arg("-o").arg(&output);
        let done = command.output().expect("warpld runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let ours = std::fs::read(output).expect("an output");
        let theirs = std::fs::read(fixture(answer)).expect("nvlink's answer");
        assert!(ours == theirs, "{answer}.{target} is not nvlink's");
    }
}

#[test]
fn a_function_from_another_file() {
    compare(&["vec", "scale"], &[], "linked-vec");
}

/// On sm_100 the symbols of jump tables are not in the order of the tables.
#[test]
fn virtual_functions_data_and_jump_tables() {
    compare(&["object", "data", "sync"], &[], "linked-object");
}

#[test]
fn weak_functions_in_a_relocatable_file() {
    compare(&["weak", "shared"], &["-r"], "partial");
}
