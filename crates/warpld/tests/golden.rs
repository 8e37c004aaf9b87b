//! Links of the fixtures against what nvlink made of them (`scripts/fixtures.sh`).

use support::{Program, fixture, fixture_path, stderr};

const WARPLD: Program = support::warpld!();

fn compare(inputs: &[&str], words: &[&str], answer: &str) {
    let folder = WARPLD.folder(answer);
    for target in ["sm_75", "sm_90", "sm_100"] {
        let name = |name: &str| format!("{name}.{target}.cubin");
        let output = name(answer);
        let mut command = WARPLD.command();
        command.args(["-arch", target, "--identity=nvlink"]).args(words);
        command.args(inputs.iter().map(|input| fixture_path(&name(input))));
        let done = command.arg("-o").arg(&output).current_dir(&folder).output();
        let done = done.expect("warpld runs");
        assert!(done.status.success(), "{}", stderr(&done));
        let ours = std::fs::read(folder.join(&output)).expect("an output");
        if let Some(words) = differential::difference(&fixture(&output), &ours) {
            panic!("{output} is not nvlink's:\n{words}");
        }
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

/// On sm_100 the kernels' scoreboards depend on the registers of their instructions.
#[test]
fn kernels_whose_waits_follow_from_registers() {
    compare(&["waits"], &[], "linked-waits");
}

/// On sm_100 the kernels' scoreboards are not those of the object.
#[test]
fn kernels_that_call_nothing() {
    compare(&["boards"], &[], "linked-boards");
}

#[test]
fn weak_functions_in_a_relocatable_file() {
    compare(&["weak", "shared"], &["-r"], "partial");
}
