//! A signal ends the link, the compiler that it waits for and what the compiler has started.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use support::Program;

const WARPLD: Program = support::warpld!();

/// Hangs, as does what it starts, whose id it writes down.
const PTXAS: &str = "#!/bin/sh\nsleep 1000 & echo $! >\"$(dirname \"$0\")/hangs\"; wait\n";

const PTX: &str = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";

/// A bit for each signal that this process and those it starts ignore.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap()
}

/// Whether a process has ended, or does so soon: a signal takes its time to arrive.
fn is_gone(id: &str) -> bool {
    // A zombie that nobody has waited for yet is gone, too.
    let ended = || {
        let state = fs::read_to_string(format!("/proc/{}/stat", id.trim()));
        state.map_or(true, |state| state.contains(") Z ") || state.contains(") X "))
    };
    let tries = std::iter::repeat_n((), 2000);
    tries.map(|()| std::thread::sleep(Duration::from_millis(5))).any(|()| ended())
}

fn files_in(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.to_string_lossy().into_owned()).collect()
}

#[test]
fn nothing_is_left_behind() {
    const SIGNALS: [(i32, &str); 3] = [(2, "INT"), (15, "TERM"), (1, "HUP")];
    let ignored = ignored_signals();
    for (number, name) in SIGNALS {
        // nohup and shells let the programs they start ignore some.
        if ignored & (1 << (number - 1)) != 0 {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("toolkit/bin")).unwrap();
        fs::create_dir_all(at("temporary")).unwrap();
        fs::write(at("toolkit/bin/ptxas"), PTXAS).unwrap();
        fs::set_permissions(at("toolkit/bin/ptxas"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(at("a.ptx"), PTX).unwrap();
        let mut child = Command::new(WARPLD.path())
            .args(["-arch=sm_90", "--cuda-path=toolkit", "a.ptx", "-o", "out.cubin"])
            .current_dir(folder.path())
            .env("TMPDIR", at("temporary"))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let hangs = at("toolkit/bin/hangs");
        let begun = || fs::read_to_string(&hangs).is_ok_and(|id| id.ends_with('\n'));
        while !begun() {
            assert!(child.try_wait().unwrap().is_none(), "it does not wait for its compiler");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(files_in(&at("temporary")).len(), 1);
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().signal(), Some(number), "{name}");
        assert_eq!(files_in(&at("temporary")), [""; 0]);
        assert!(!at("out.cubin").exists());
        assert!(is_gone(&fs::read_to_string(&hangs).unwrap()));
    }
}
