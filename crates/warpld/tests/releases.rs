//! Which release of CUDA a link stands for, and what follows from it. Needs no toolkit; the
//! inputs are the repository's examples, made to come from other toolkits.

use cubin::{Cubin, note};
use libwarpld::Release;
use std::fs;
use std::path::Path;
use std::process::Command;
use support::{Program, example, stderr};

const WARPLD: Program = support::warpld!();

/// Copies an example into a folder, as if a toolkit with this number had compiled it.
fn compiled_by(toolkit: u16, name: &str, folder: &Path) {
    let mut bytes = fs::read(example(&format!("{name}.sm_90.cubin"))).unwrap();
    // The u16 at offset 4 of the note's description, behind a header and a name of 12 bytes each.
    let at = {
        let cubin = Cubin::parse(&bytes).unwrap();
        let note = cubin.section_by_name(b".note.nv.cuinfo").unwrap().data;
        note.as_ptr() as usize - bytes.as_ptr() as usize + 24 + 4
    };
    bytes[at..at + 2].copy_from_slice(&toolkit.to_le_bytes());
    fs::write(folder.join(format!("{name}.cubin")), bytes).unwrap();
}

/// The toolkit and the linker's version line in the notes of an output.
fn identity(file: &Path) -> (u32, String) {
    let bytes = fs::read(file).unwrap();
    let cubin = Cubin::parse(&bytes).unwrap();
    let toolkit = cubin::flags::Identity::of(&cubin).unwrap().toolkit.unwrap();
    let tools = cubin.section_by_name(b".note.nv.tkinfo").unwrap().data;
    let first = note::notes(tools).next().unwrap().unwrap();
    let tool = note::ToolInfo::parse(first.desc).unwrap();
    (toolkit, String::from_utf8(tool.release.to_vec()).unwrap())
}

#[test]
fn the_newest_input_decides() {
    let folder = WARPLD.folder("newest-input");
    for (toolkit, version, reason) in [
        (120, "13.0.88", "the oldest that can be written; the newest input, 'saxpy.cubin', was"),
        (130, "13.0.88", "the newest input, 'saxpy.cubin', was compiled by CUDA 13.0"),
        (131, "13.1.115", "the newest input, 'scale.cubin', was compiled by CUDA 13.1"),
        (134, "13.4.92", "the newest input, 'scale.cubin', was compiled by CUDA 13.4"),
    ] {
        compiled_by(toolkit.min(130), "saxpy", &folder);
        compiled_by(toolkit, "scale", &folder);
        let args = ["-arch=sm_90", "saxpy.cubin", "scale.cubin", "-o", "o", "--identity=nvlink"];
        let output = WARPLD.run(&folder, args.into_iter().chain(["--print-cuda-release"]));
        assert!(output.status.success(), "{}", stderr(&output));
        let line = String::from_utf8(output.stdout).unwrap();
        assert!(line.starts_with(&format!("CUDA {version}: {reason}")), "{line}");
        assert_eq!(line.lines().count(), 1);
        let release = Release::named(version).unwrap();
        assert_eq!(identity(&folder.join("o")), (release.toolkit, release.note_version.into()));
    }
}

#[test]
fn newer_inputs_are_refused_with_a_remedy() {
    let folder = WARPLD.folder("newer");
    compiled_by(130, "saxpy", &folder);
    compiled_by(134, "scale", &folder);
    let args = ["-arch=sm_90", "saxpy.cubin", "scale.cubin", "-o", "o"];
    let output = WARPLD.run(&folder, args.into_iter().chain(["--cuda-release=13.2"]));
    assert_eq!(output.status.code(), Some(1));
    let expected = "warpld fatal   : Input file 'scale.cubin' newer than toolkit (134 vs 132) \
                    [newer-toolkit]\n    = it was compiled by CUDA 13.4: link with \
                    --cuda-release=13.4\n";
    assert_eq!(stderr(&output), expected);
    assert!(!folder.join("o").exists());
}

#[test]
fn inputs_of_unknown_releases_are_linked_on_demand() {
    let folder = WARPLD.folder("unknown");
    compiled_by(199, "saxpy", &folder);
    compiled_by(134, "scale", &folder);
    let args = ["-arch=sm_90", "saxpy.cubin", "scale.cubin", "-o", "o"];
    let output = WARPLD.run(&folder, args);
    assert_eq!(output.status.code(), Some(1));
    let newest = Release::NEWEST;
    let expected = format!(
        "warpld fatal   : Input file 'saxpy.cubin' newer than toolkit (199 vs {}) [newer-toolkit]\n    \
         = it was compiled by CUDA 19.9; the newest release that is known here is {}, whose rules \
         --allow-newer-inputs applies\n",
        newest.toolkit, newest.version
    );
    assert_eq!(stderr(&output), expected);
    let output = WARPLD.run(&folder, args.into_iter().chain(["--allow-newer-inputs"]));
    assert!(output.status.success(), "{}", stderr(&output));
    let warning = format!(
        "warpld warning : linking 'saxpy.cubin' of CUDA 19.9 as CUDA {} [newer-toolkit]\n",
        newest.version
    );
    assert!(stderr(&output).starts_with(&warning), "{}", stderr(&output));
    assert_eq!(stderr(&output).matches("warning").count(), 1);
    assert_eq!(identity(&folder.join("o")).0, newest.toolkit);
}

#[test]
fn missing_host_code_is_told_since_13_3() {
    let folder = WARPLD.folder("host-code");
    compiled_by(130, "saxpy", &folder);
    compiled_by(130, "scale", &folder);
    let args = ["-arch=sm_90", "saxpy.cubin", "scale.cubin", "-o", "o"];
    let info = |name: &str| {
        format!(
            "warpld info    : Input '{name}' has no host code, which could cause later host link \
             error if there is a reference to it\n"
        )
    };
    for (release, register, expected) in [
        ("13.2", true, String::new()),
        ("13.3", true, info("saxpy.cubin") + &info("scale.cubin")),
        ("13.3", false, String::new()),
    ] {
        let register = register.then_some("--register-link-binaries=r");
        let release = format!("--cuda-release={release}");
        let output =
            WARPLD.run(&folder, args.into_iter().chain([release.as_str()]).chain(register));
        assert_eq!(stderr(&output), expected, "{release}");
    }
}

#[test]
fn functions_that_are_no_patches_are_refused() {
    let folder = WARPLD.folder("tools-patch");
    compiled_by(130, "saxpy", &folder);
    compiled_by(130, "scale", &folder);
    let args = ["-arch=sm_90", "scale.cubin", "saxpy.cubin", "-o", "o", "-astoolspatch"];
    for (release, option) in [("13.3", "--astoolspatch"), ("13.4", "-astoolspatch")] {
        let release = format!("--cuda-release={release}");
        let output = WARPLD.run(&folder, args.into_iter().chain([release.as_str()]));
        assert_eq!(output.status.code(), Some(1));
        let expected = format!(
            "warpld fatal   : Function '_Z5scalef' in 'scale.cubin' is missing \
             EIATTR_TOOLS_PATCH_FUNC attribute required by {option} option [not-tools-patch]\n"
        );
        assert!(stderr(&output).starts_with(&expected), "{}", stderr(&output));
    }
    let output = WARPLD.run(&folder, args.into_iter().chain(["--cuda-release=13.2"]));
    let expected = "warpld fatal   : Unknown option 'astoolspatch' [unknown-option]\n    = CUDA \
                    13.3 and later have it; --cuda-release chooses the release\n";
    assert_eq!(stderr(&output), expected);
}

/// nvlink tells that an object has no Mercury code before it looks at the architecture.
#[test]
fn limits_are_told_before_a_refusal() {
    let folder = WARPLD.folder("limits");
    compiled_by(130, "scale", &folder);
    let output = WARPLD.run(&folder, ["-arch=sm_100", "scale.cubin", "-o", "o"]);
    assert_eq!(output.status.code(), Some(1));
    let expected = "warpld warning : Output is limited to run on SM Arch '100' only due to \
                    limitations in input file scale.cubin [limited-output]\n\
                    warpld fatal   : Input file 'scale.cubin' arch does not match target 'sm_100' \
                    [arch-mismatch]\n";
    assert!(stderr(&output).starts_with(expected), "{}", stderr(&output));
}

/// A toolkit of nothing but names, whose linker says who it is.
#[cfg(unix)]
fn toolkit(folder: &Path, release: &Release) {
    use std::os::unix::fs::PermissionsExt;
    fs::create_dir_all(folder.join("bin")).unwrap();
    fs::write(folder.join("bin/nvcc"), "").unwrap();
    let nvlink = folder.join("bin/nvlink");
    let (version, build) = (release.note_version, release.note_build);
    fs::write(&nvlink, format!("#!/bin/sh\necho '{version}'\necho '{build}'\n")).unwrap();
    fs::set_permissions(&nvlink, fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(unix)]
#[test]
fn links_through_a_shim_stand_for_its_toolkit() {
    let folder = WARPLD.folder("shims");
    compiled_by(130, "saxpy", &folder);
    compiled_by(130, "scale", &folder);
    let link = ["-arch=sm_90", "saxpy.cubin", "scale.cubin", "-o", "o", "--print-cuda-release"];
    for release in Release::ALL {
        let (cuda, shim) = (format!("cuda-{}", release.version), format!("s-{}", release.version));
        toolkit(&folder.join(&cuda), release);
        let made = WARPLD.run(&folder, ["shim", &cuda, &shim]);
        assert!(made.status.success() && made.stderr.is_empty(), "{}", stderr(&made));
        let bin = folder.join(&shim).join("bin");
        // By its path and, as nvcc calls it, by its name.
        let mut by_path = Command::new(bin.join("nvlink"));
        let mut by_name = Command::new("nvlink");
        by_name.env("PATH", &bin);
        for command in [&mut by_path, &mut by_name] {
            let version = command.arg("--version").output().unwrap();
            let text = String::from_utf8(version.stdout).unwrap();
            let lines: Vec<_> = text.lines().collect();
            assert_eq!(&lines[1..], [release.note_version, release.note_build]);
        }
        let done = Command::new(bin.join("nvlink")).current_dir(&folder).args(link).output();
        let done = done.unwrap();
        let line = String::from_utf8(done.stdout).unwrap();
        let expected = format!("CUDA {}: the shim '", release.version);
        assert!(line.starts_with(&expected) && line.contains(&shim), "{line}");
        assert_eq!(identity(&folder.join("o")).0, release.toolkit);
    }
    let newer = Command::new(folder.join("s-13.0.88/bin/nvlink")).arg("-v2").output().unwrap();
    assert!(stderr(&newer).starts_with("nvlink fatal   : Unknown option 'v2'\n"));
    let own = ["-arch=sm_90", "saxpy.cubin", "-o", "o", "--cuda-release=13.1", "-v2"];
    let shim = folder.join("s-13.4.92/bin/nvlink");
    let older = Command::new(shim).current_dir(&folder).args(own).output().unwrap();
    assert!(stderr(&older).starts_with("nvlink fatal   : Unknown option 'v2'\n"));
}
