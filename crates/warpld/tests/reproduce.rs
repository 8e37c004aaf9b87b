//! `--reproduce` and `--print-input-hash`.

use std::fs;
use std::path::Path;
use std::process::Command;
use support::{Program, archive, example, stderr, thin_archive};

const WARPLD: Program = support::warpld!();

fn copy(name: &str, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::copy(example(name), to).unwrap();
}

fn unpack(tar: &Path, into: &Path) {
    tar::Archive::new(fs::File::open(tar).unwrap()).unpack(into).unwrap();
}

/// A folder with a kernel in `in/a b.cubin` and its function in files of several kinds.
fn sources(name: &str) -> std::path::PathBuf {
    let folder = WARPLD.folder(name);
    let scale = fs::read(example("scale.sm_90.cubin")).unwrap();
    copy("saxpy.sm_90.cubin", &folder.join("in/a b.cubin"));
    copy("scale.sm_90.cubin", &folder.join("in/scale.cubin"));
    fs::create_dir_all(folder.join("lib")).unwrap();
    fs::write(folder.join("lib/libscale.a"), archive(&[("x.o", scale)])).unwrap();
    fs::write(folder.join("in/thin.a"), thin_archive(&["scale.cubin"])).unwrap();
    fs::write(folder.join("words"), "\"in/a b.cubin\" -Llib").unwrap();
    folder
}

#[test]
fn the_unpacked_folder_links_to_the_same_bytes() {
    let folder = sources("same");
    for (number, more) in [
        &["in/scale.cubin"][..],
        &["-lscale", "-lnothere"],
        &["in/thin.a", "-g", "--map=m"],
        &["in/scale.cubin", "./in/../in/thin.a", "--kernels-used=saxpy,other", "--lazy-archives"],
        &["-r", "-lscale", "--identity=nvlink", "--cuda-release=13.0"],
        &["-lscale", "-lscale", "--verbose-tkinfo=true", "--threads=2"],
    ]
    .iter()
    .enumerate()
    {
        let tar = format!("--reproduce=r{number}.tar");
        let args = ["-arch=sm_90", "@words", "-o", "out/o.cubin", &tar];
        fs::create_dir_all(folder.join("out")).unwrap();
        let output = WARPLD.run(&folder, args.iter().chain(*more));
        assert!(output.status.success(), "{more:?} {}", stderr(&output));
        let elsewhere = WARPLD.folder(&format!("elsewhere{number}"));
        unpack(&folder.join(format!("r{number}.tar")), &elsewhere);
        let inside = elsewhere.join(format!("r{number}"));
        let output = WARPLD.run(&inside, ["@response.txt"]);
        assert!(output.status.success(), "{more:?} {}", stderr(&output));
        let (a, b) = (fs::read(folder.join("out/o.cubin")), fs::read(inside.join("o.cubin")));
        assert_eq!(a.unwrap(), b.unwrap(), "{more:?}");
        let version = fs::read_to_string(inside.join("version.txt")).unwrap();
        assert!(version.starts_with(&format!("warpld {}", env!("CARGO_PKG_VERSION"))));
    }
}

/// Thin archives may name their members by paths that lead elsewhere once they are unpacked.
#[test]
fn members_of_thin_archives_are_found_wherever_they_were() {
    let folder = sources("thin");
    let member = folder.join("in/scale.cubin");
    let depth = member.components().count();
    let absolute = member.to_str().unwrap().to_owned();
    let past_the_root = format!("{}{absolute}", "../".repeat(depth + 3).trim_end_matches('/'));
    for (number, name) in [&*absolute, &past_the_root, "../in/scale.cubin"].iter().enumerate() {
        fs::write(folder.join("lib/libthin.a"), thin_archive(&[name])).unwrap();
        let tar = format!("--reproduce=r{number}.tar");
        let args = ["-arch=sm_90", "in/a b.cubin", "-Llib", "-lthin", "-o", "o.cubin", &tar];
        let output = WARPLD.run(&folder, args);
        assert!(output.status.success(), "{name}: {}", stderr(&output));
        let elsewhere = WARPLD.folder(&format!("thin-elsewhere{number}"));
        unpack(&folder.join(format!("r{number}.tar")), &elsewhere);
        // The file that was linked is not there any more.
        fs::rename(&member, folder.join("away")).unwrap();
        let inside = elsewhere.join(format!("r{number}"));
        let output = WARPLD.run(&inside, ["@response.txt"]);
        fs::rename(folder.join("away"), &member).unwrap();
        assert!(output.status.success(), "{name}: {}", stderr(&output));
        let (a, b) = (fs::read(folder.join("o.cubin")), fs::read(inside.join("o.cubin")));
        assert_eq!(a.unwrap(), b.unwrap(), "{name}");
    }
}

#[test]
fn the_tar_is_the_same_each_time_and_of_failed_links_too() {
    let folder = sources("failed");
    let link = |tar: &str| {
        let args = ["-arch=sm_90", "in/a b.cubin", "none.o", "-o", "o"];
        let output = WARPLD.run(&folder, args.iter().chain(&[&*format!("--reproduce={tar}")]));
        assert!(!output.status.success());
        fs::read(folder.join(tar)).unwrap()
    };
    fs::create_dir_all(folder.join("again")).unwrap();
    let first = link("r.tar");
    let input = fs::File::options().append(true).open(folder.join("in/a b.cubin")).unwrap();
    input.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    assert!(first == link("again/r.tar"));
    let elsewhere = WARPLD.folder("failed-elsewhere");
    unpack(&folder.join("r.tar"), &elsewhere);
    let output = WARPLD.run(&elsewhere.join("r"), ["@response.txt"]);
    assert!(stderr(&output).contains("/none.o'"), "{}", stderr(&output));
    // A tar that cannot be written ends the link.
    let args = ["-arch=sm_90", "in/a b.cubin", "in/scale.cubin", "-o", "p", "--reproduce=no/r.tar"];
    let output = WARPLD.run(&folder, args);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("Could not open output file 'no/r.tar'"));
    assert!(!folder.join("p").exists());
}

fn hash(folder: &Path, args: &[&str]) -> String {
    let args = ["--print-input-hash", "-arch=sm_90", "-o", "o"].iter().chain(args);
    let output = WARPLD.run(folder, args);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.len() == 65 && text.ends_with('\n'), "{text}");
    text
}

#[test]
fn the_hash_is_of_what_decides_the_output() {
    let folder = sources("hash");
    let plain = hash(&folder, &["in/a b.cubin", "in/scale.cubin"]);
    assert!(!folder.join("o").exists(), "nothing is linked");
    copy("saxpy.sm_90.cubin", &folder.join("other/a b.cubin"));
    for same in [
        &["other/a b.cubin", "in/scale.cubin"][..],
        &["@words2", "in/scale.cubin"],
        &["in/a b.cubin", "in/scale.cubin", "--threads=2", "--trace", "--error-limit=3"],
    ] {
        fs::write(folder.join("words2"), "'in/a b.cubin'").unwrap();
        assert_eq!(hash(&folder, same), plain, "{same:?}");
    }
    let mut seen = vec![plain];
    for other in [
        &["in/scale.cubin", "in/a b.cubin"][..],
        &["in/a b.cubin"],
        &["in/a b.cubin", "in/scale.cubin", "-r"],
        &["in/a b.cubin", "in/scale.cubin", "--identity=nvlink"],
        &["in/a b.cubin", "in/scale.cubin", "--cuda-release=13.1"],
        &["in/a b.cubin", "in/thin.a"],
        &["in/a b.cubin", "-Llib", "-lscale"],
        &["in/a b.cubin", "in/scale.cubin", "--nv-host=words"],
    ] {
        let hash = hash(&folder, other);
        assert!(!seen.contains(&hash), "{other:?}");
        seen.push(hash);
    }
    fs::write(folder.join("words"), "other").unwrap();
    let changed = hash(&folder, &["in/a b.cubin", "in/scale.cubin", "--nv-host=words"]);
    assert!(!seen.contains(&changed));
}

#[test]
fn a_hash_of_missing_files_is_an_error() {
    let folder = WARPLD.folder("missing");
    let args = ["--print-input-hash=h", "-arch=sm_90", "none.o", "-o", "o"];
    let output = WARPLD.run(&folder, args);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).starts_with("warpld fatal   : Could not open input file 'none.o'"));
    assert!(!folder.join("h").exists());
}

/// The value is that of sha256sum's kind: a cache of a shell script can use it as a name.
#[test]
fn a_file_can_take_the_hash() {
    let folder = sources("file");
    let inputs = ["in/a b.cubin", "in/scale.cubin"];
    let expected = hash(&folder, &inputs);
    let args = ["--print-input-hash=h", "-arch=sm_90", "-o", "o"];
    let output = WARPLD.run(&folder, args.iter().chain(&inputs));
    assert!(output.status.success() && output.stdout.is_empty());
    assert_eq!(fs::read_to_string(folder.join("h")).unwrap(), expected);
    // Never in the place of an input.
    let args = ["--print-input-hash=in/scale.cubin", "-arch=sm_90", "-o", "o"];
    let output = WARPLD.run(&folder, args.iter().chain(&inputs));
    assert!(stderr(&output).contains("is also an input"), "{}", stderr(&output));
}

/// The tar is one that other programs read.
#[test]
fn tar_lists_it() {
    let folder = sources("list");
    let args = ["-arch=sm_90", "@words", "-lscale", "-o", "o", "--reproduce=r.tar"];
    assert!(WARPLD.run(&folder, args).status.success());
    let Ok(listed) = Command::new("tar").args(["tf", "r.tar"]).current_dir(&folder).output() else {
        return;
    };
    let text = String::from_utf8(listed.stdout).unwrap();
    assert!(text.starts_with("r/response.txt\nr/version.txt\nr/files/"), "{text}");
    assert!(text.contains("/lib/libscale.a\n") && text.contains("/in/a b.cubin\n"), "{text}");
}

/// `-` is standard output for everything that is written beside the cubin.
#[test]
fn dashes_are_standard_output() {
    let folder = sources("dash");
    let args = |more: &'static str| ["-arch=sm_90", "@words", "-lscale", "-o", "o", more];
    assert!(WARPLD.run(&folder, args("--reproduce=reproduce.tar")).status.success());
    let output = WARPLD.run(&folder, args("--reproduce=-"));
    assert!(output.status.success());
    assert_eq!(output.stdout, fs::read(folder.join("reproduce.tar")).unwrap());
    assert!(WARPLD.run(&folder, args("--dependency-file=o.d")).status.success());
    let output = WARPLD.run(&folder, args("--dependency-file=-"));
    assert!(output.status.success());
    assert_eq!(output.stdout, fs::read(folder.join("o.d")).unwrap());
    assert!(!folder.join("-").exists());
}

/// The script of the guide: the second link comes from the cache, and a changed input does not.
#[test]
#[cfg(unix)]
fn the_guide_s_cache_works() {
    let folder = sources("cache");
    let page = fs::read_to_string(support::root().join("docs/guide/build-systems.md")).unwrap();
    let script = page.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    fs::write(folder.join("devlink.sh"), script).unwrap();
    std::os::unix::fs::symlink(WARPLD.path(), folder.join("warpld")).unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let run = |out: &str| {
        let args = ["devlink.sh", out, "-arch=sm_90", "in/a b.cubin", "in/scale.cubin"];
        let mut command = Command::new("sh");
        command.args(args).env("PATH", &path).env("DEVLINK_CACHE", folder.join("kept"));
        let output = command.current_dir(&folder).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        fs::read(folder.join(out)).unwrap()
    };
    let kept = || fs::read_dir(folder.join("kept")).unwrap().count();
    let first = run("one");
    assert_eq!(kept(), 1);
    assert!(first == run("two") && kept() == 1);
    let mut bytes = fs::read(folder.join("in/scale.cubin")).unwrap();
    bytes.push(0);
    fs::write(folder.join("in/scale.cubin"), bytes).unwrap();
    run("three");
    assert_eq!(kept(), 2);
}
