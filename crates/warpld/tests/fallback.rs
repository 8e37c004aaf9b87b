//! Which links are handed over to nvlink, and how. A script stands for nvlink.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::{Program, example, fixture, stderr};

const WARPLD: Program = support::warpld!();

/// What the script answers to `--version`.
const NVLINK: &str =
    "nvlink: NVIDIA (R) Cuda linker\nCuda compilation tools, release 13.9, V13.9.1";

/// The same of a release that warpld knows.
const NVLINK_13_4: &str =
    "nvlink: NVIDIA (R) Cuda linker\nCuda compilation tools, release 13.4, V13.4.92";

/// A link of code that must be compiled again.
const COMPILED: &str = "-arch=sm_107 object.sm_100.cubin -o o";

/// The exit status of the script.
const STATUS: i32 = 7;

/// A toolkit whose nvlink writes down its arguments and then does `what`.
fn toolkit(folder: &Path, answer: &str, what: &str) -> PathBuf {
    let root = folder.join("cuda");
    fs::create_dir_all(root.join("bin")).unwrap();
    let nvlink = root.join("bin/nvlink");
    let text = format!(
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo '{answer}'; exit; fi\n\
         printf '%s\\n' \"$@\" > arguments\n{what}\n"
    );
    fs::write(&nvlink, text).unwrap();
    fs::set_permissions(&nvlink, fs::Permissions::from_mode(0o755)).unwrap();
    root
}

struct Case {
    folder: PathBuf,
}

impl Case {
    /// A folder with a toolkit and some inputs: two that fit together and PTX.
    fn new(name: &str) -> Self {
        let folder = WARPLD.folder(name);
        toolkit(&folder, NVLINK, &format!("echo nvlink was here >&2; exit {STATUS}"));
        for name in ["saxpy", "scale"] {
            let image = fs::read(example(&format!("{name}.sm_90.cubin"))).unwrap();
            fs::write(folder.join(format!("{name}.cubin")), image).unwrap();
        }
        let ptx = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";
        fs::write(folder.join("k.ptx"), ptx).unwrap();
        Self { folder }
    }

    /// A folder for the link [`COMPILED`].
    fn needing_a_compiler(name: &str) -> Self {
        let case = Self::new(name);
        toolkit(&case.folder, NVLINK_13_4, &format!("exit {STATUS}"));
        for name in ["object.sm_100.cubin", "texref.sm_107.cubin"] {
            fs::write(case.folder.join(name), fixture(name)).unwrap();
        }
        case
    }

    /// Runs a program on these words, separated by blanks.
    fn run(&self, program: &Path, words: &str) -> Output {
        let _ = fs::remove_file(self.folder.join("arguments"));
        Command::new(program)
            .args(words.split_whitespace())
            .current_dir(&self.folder)
            .env_remove("MAKEFLAGS")
            .env_remove("WARPLD_CUDA_PATH")
            .output()
            .unwrap()
    }

    /// Runs warpld; what it says must be all there is to say without a toolkit.
    fn link(&self, words: &str) -> Output {
        self.run(WARPLD.path(), &format!("--fallback=nvlink --cuda-path=cuda {words}"))
    }

    /// What nvlink was called with.
    fn arguments(&self) -> Option<String> {
        let text = fs::read_to_string(self.folder.join("arguments")).ok()?;
        Some(text.trim_end().replace('\n', " "))
    }

    fn shim(&self) -> PathBuf {
        fs::write(self.folder.join("cuda/bin/nvcc"), "").unwrap();
        let made = self.run(WARPLD.path(), "shim cuda shim");
        assert!(made.status.success(), "{}", stderr(&made));
        self.folder.join("shim/bin/nvlink")
    }
}

/// Sets the toolkit that a cubin says it was compiled by.
fn compiled_by(toolkit: u16, file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let at = {
        let cubin = cubin::Cubin::parse(&bytes).unwrap();
        let note = cubin.section_by_name(b".note.nv.cuinfo").unwrap().data;
        note.as_ptr() as usize - bytes.as_ptr() as usize + 24 + 4
    };
    bytes[at..at + 2].copy_from_slice(&toolkit.to_le_bytes());
    fs::write(file, bytes).unwrap();
}

#[test]
fn nvlink_gets_what_warpld_does_not_have() {
    let case = Case::new("missing");
    compiled_by(199, &{
        let newer = case.folder.join("newer.cubin");
        fs::copy(case.folder.join("scale.cubin"), &newer).unwrap();
        newer
    });
    for (words, why) in [
        ("-arch=sm_90 saxpy.cubin --new-thing=3 scale.cubin -o o", "Unknown option '-new-thing'"),
        ("-arch=sm_130 saxpy.cubin -o o", "Value 'sm_130' is not defined for option 'arch'"),
        ("-arch=sm_90 saxpy.cubin newer.cubin -o o", "Input file 'newer.cubin' newer than toolkit"),
        // There is no ptxas in this toolkit.
        ("-arch=sm_90 saxpy.cubin k.ptx -o o", "'k.ptx' has "),
    ] {
        let output = case.link(&format!("{words} --verify"));
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(STATUS), "{text}");
        assert_eq!(case.arguments().as_deref(), Some(words), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        let line =
            format!("warpld info    : warpld hands this link over to 'cuda/bin/nvlink': {why}");
        assert!(lines[0].starts_with(&line), "{text}");
        assert_eq!(lines[1..], ["nvlink was here"], "{text}");
    }
}

#[test]
fn errors_of_the_user_are_not_handed_over() {
    let case = Case::new("errors");
    fs::write(case.folder.join("cut.cubin"), &fixture("object.sm_90.cubin")[..997]).unwrap();
    for words in [
        "-arch=sm_90 saxpy.cubin saxpy.cubin -o o",
        "-arch=sm_90 cut.cubin -o o",
        "-arch=sm_90 none.cubin -o o",
        "-arch=sm_90 saxpy.cubin scale.cubin -o none/o",
        "-arch=sm_75 saxpy.cubin scale.cubin -o o",
        "-arch=sm_90 saxpy.cubin",
        "saxpy.cubin -o o",
        "-arch=sm_90 -o o",
        "-arch=lto_90 saxpy.cubin -o o",
        "-arch=sm_90 saxpy.cubin -o o -use-host-info -ignore-host-info",
        "-arch=sm_90 saxpy.cubin -o o -maxrregcount=x",
        "-arch=sm_90 saxpy.cubin -o o --verbose=3",
        "-arch=sm_90 saxpy.cubin -o o -optf none",
        "-arch=sm_90 saxpy.cubin -o o -lto -nvvmpath=none",
        // Values of warpld's own options are unknown to nvlink, too.
        "-arch=sm_90 saxpy.cubin -o o --identity=me",
        // nvlink of 13.0 does not have this option.
        "-arch=sm_90 saxpy.cubin -o o --cuda-release=13.0 -astoolspatch",
    ] {
        let output = case.link(words);
        let text = stderr(&output);
        assert_eq!(case.arguments(), None, "{words}: {text}");
        assert!(!output.status.success() && output.status.code() != Some(STATUS), "{words}");
        assert!(!text.contains("nvlink was here") && !text.contains("hands"), "{text}");
        let alone = case.run(WARPLD.path(), words);
        assert_eq!((alone.status, stderr(&alone)), (output.status, text), "{words}");
    }
    // An undefined symbol is one of them, beside what is fine.
    let output = case.link("-arch=sm_90 saxpy.cubin -o o");
    assert!(stderr(&output).contains("Undefined reference"), "{}", stderr(&output));
    assert_eq!((output.status.code(), case.arguments()), (Some(255), None));
    // A link that works is not handed over.
    assert!(case.link("-arch=sm_90 saxpy.cubin scale.cubin -o o").status.success());
    assert_eq!(case.arguments(), None);
}

/// An older release that the link stands for by request does not know newer inputs either.
#[test]
fn a_chosen_release_decides_about_newer_inputs() {
    let case = Case::new("release");
    compiled_by(134, &case.folder.join("scale.cubin"));
    let output = case.link("-arch=sm_90 saxpy.cubin scale.cubin -o o --cuda-release=13.2");
    assert!(stderr(&output).contains("newer than toolkit (134 vs 132)"));
    assert_eq!((output.status.code(), case.arguments()), (Some(1), None));
}

#[test]
fn a_shim_hands_over_unless_forbidden() {
    let case = Case::new("shim");
    let nvlink = case.shim();
    let words = "-arch=sm_90 saxpy.cubin --new-thing -o o";
    let output = case.run(&nvlink, words);
    let text = stderr(&output);
    assert_eq!((output.status.code(), case.arguments().as_deref()), (Some(STATUS), Some(words)));
    let real = fs::canonicalize(case.folder.join("cuda/bin/nvlink")).unwrap();
    let line = format!(
        "nvlink info    : warpld hands this link over to '{}': Unknown option '-new-thing'\n",
        real.display()
    );
    assert!(text.starts_with(&line), "{text}");
    for words in [format!("{words} --no-fallback"), format!("--no-fallback {words} -w")] {
        let output = case.run(&nvlink, &words);
        assert_eq!((output.status.code(), case.arguments()), (Some(1), None), "{words}");
        assert!(stderr(&output).starts_with("nvlink fatal   : Unknown option '-new-thing'"));
    }
    // Nor is it done unasked under warpld's own name.
    let output = case.run(WARPLD.path(), words);
    assert_eq!((output.status.code(), case.arguments()), (Some(1), None));
}

#[test]
fn the_line_is_printed_whatever_is_hidden() {
    let case = Case::new("line");
    let words = "-arch=sm_90 k.ptx -o o -disable-infos -w -Werror";
    let output = case.link(words);
    assert!(stderr(&output).starts_with("warpld info    : warpld hands"), "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(STATUS));
    let output = case.link(&format!("{words} --error-format=json"));
    assert!(
        stderr(&output).starts_with("{\"format\":1,\"tool\":\"warpld\""),
        "{}",
        stderr(&output)
    );
    assert!(stderr(&output).contains("\"code\":\"handed-over\""), "{}", stderr(&output));
    assert_eq!(case.arguments().as_deref(), Some(words));
}

#[test]
fn files_and_signals_are_nvlinks() {
    let case = Case::new("signals");
    toolkit(&case.folder, NVLINK, "echo made > o; kill -TERM $$");
    let before = fs::read_dir(&case.folder).unwrap().count();
    let output = case.link("-arch=sm_90 saxpy.cubin k.ptx -o o");
    assert_eq!(output.status.signal(), Some(15), "{}", stderr(&output));
    assert_eq!(fs::read(case.folder.join("o")).unwrap(), b"made\n");
    // The output and the script's own file, nothing of warpld's.
    assert_eq!(fs::read_dir(&case.folder).unwrap().count(), before + 2);
}

#[test]
fn options_in_files_reach_nvlink() {
    let case = Case::new("files");
    fs::write(case.folder.join("plain"), "-new-thing k.ptx").unwrap();
    fs::write(case.folder.join("mixed"), "k.ptx --error-limit 3 -v").unwrap();
    let output = case.link("-arch=sm_90 -o o -optf plain -optf mixed @plain");
    assert_eq!(output.status.code(), Some(STATUS), "{}", stderr(&output));
    let words = "-arch=sm_90 -o o -optf plain k.ptx -v -new-thing k.ptx";
    assert_eq!(case.arguments().as_deref(), Some(words));
}

/// Never to warpld, and never twice.
#[test]
fn no_link_goes_in_circles() {
    let words = "-arch=sm_90 k.ptx -o o";
    let case = Case::new("circles");
    let nvlink = case.folder.join("cuda/bin/nvlink");
    toolkit(&case.folder, "warpld 0.0.1: the open CUDA device linker", "exit 7");
    let output = case.link(words);
    assert_ne!(output.status.code(), Some(STATUS));
    let text = stderr(&output);
    assert_eq!(case.arguments(), None, "{text}");
    assert!(text.contains("there is no nvlink that could do this link"), "{text}");
    assert!(text.contains("    = looked in --cuda-path=cuda\n"), "{text}");
    fs::remove_file(&nvlink).unwrap();
    symlink(WARPLD.path(), &nvlink).unwrap();
    let output = case.link(words);
    assert!(stderr(&output).contains("there is no nvlink"), "{}", stderr(&output));
    // A script that says it is nvlink and starts warpld.
    fs::remove_file(&nvlink).unwrap();
    let again =
        format!("exec {} --fallback=nvlink --cuda-path=cuda \"$@\"", WARPLD.path().display());
    toolkit(&case.folder, NVLINK, &again);
    let output = case.link(words);
    let text = stderr(&output);
    assert_eq!(text.matches("hands this link over").count(), 1, "{text}");
    assert!(!output.status.success());
}

#[test]
fn without_an_nvlink_everything_is_as_before() {
    let case = Case::new("none");
    fs::remove_file(case.folder.join("cuda/bin/nvlink")).unwrap();
    for words in ["-arch=sm_90 saxpy.cubin --new-thing -o o", "-arch=sm_130 saxpy.cubin -o o"] {
        let (with, without) = (case.link(words), case.run(WARPLD.path(), words));
        assert_eq!((with.status, stderr(&with)), (without.status, stderr(&without)));
    }
    // One that cannot be started.
    let nvlink = case.folder.join("cuda/bin/nvlink");
    fs::write(&nvlink, "#!/no/such/program\n").unwrap();
    fs::set_permissions(&nvlink, fs::Permissions::from_mode(0o755)).unwrap();
    let output = case.link("-arch=sm_90 saxpy.cubin --new-thing -o o");
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(text.contains("cannot run 'cuda/bin/nvlink'"), "{text}");
    assert!(text.contains("Unknown option '-new-thing'"), "{text}");
}

/// Code for sm_100 must be scheduled anew for sm_107: nvlink gets the whole link without being asked.
#[test]
fn a_link_with_code_that_needs_a_compiler_goes_to_the_toolkit() {
    let case = Case::needing_a_compiler("unasked");
    let refused = case.run(WARPLD.path(), &format!("--cuda-path=nowhere {COMPILED}"));
    let text = stderr(&refused);
    assert!(!refused.status.success() && text.contains("[needs-compiler]"), "{text}");
    assert!(
        text.contains("there is no nvlink that could translate") && text.contains("looked in"),
        "{text}"
    );
    for own in [
        "--fallback=nvlink",
        "",
        "--cuda-release=13.4 --identity=nvlink --verify --threads 1 --fnlzr-trace",
        "--cuda-release=13.4.92 --binary-kind=capmerc --fastpath=auto --self-check",
    ] {
        let output = case.run(WARPLD.path(), &format!("--cuda-path=cuda {own} {COMPILED}"));
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(STATUS), "{own}: {text}");
        assert_eq!(case.arguments().as_deref(), Some(COMPILED), "{own}");
        assert!(text.contains("hands this link over to 'cuda/bin/nvlink': Input file"), "{text}");
    }
}

/// Otherwise nvlink compiles that input, and warpld links.
#[test]
fn code_that_needs_a_compiler_is_translated_if_the_link_is_warplds() {
    let case = Case::needing_a_compiler("translated");
    // The last argument but one of `-r -arch=sm_107 IN -o OUT` is `-o`.
    toolkit(&case.folder, NVLINK_13_4, "eval cp texref.sm_107.cubin \\${$#}");
    let direct = case.run(WARPLD.path(), "-arch=sm_107 texref.sm_107.cubin -o direct");
    assert!(direct.status.success(), "{}", stderr(&direct));
    let sections = |name: &str| {
        let image = fs::read(case.folder.join(name)).unwrap();
        cubin::Cubin::parse(&image).unwrap().sections().len()
    };
    for own in ["--no-fallback", "--map=m", "--identity=warpld", "--cuda-release=13.5"] {
        let _ = fs::remove_file(case.folder.join("o"));
        let linked = case.run(WARPLD.path(), &format!("--cuda-path=cuda -v {own} {COMPILED}"));
        let text = String::from_utf8_lossy(&linked.stdout).into_owned() + &stderr(&linked);
        assert!(linked.status.success(), "{own}: {text}");
        assert!(text.contains("object.sm_100.cubin goes to cuda/bin/nvlink"), "{own}: {text}");
        let arguments = case.arguments().unwrap();
        assert!(arguments.starts_with("-r -arch=sm_107 "), "{own}: {arguments}");
        assert_eq!(sections("o"), sections("direct"), "{own}");
    }
    toolkit(&case.folder, NVLINK_13_4, "echo no such code >&2; exit 1");
    let failed = case.run(WARPLD.path(), &format!("--cuda-path=cuda --no-fallback {COMPILED}"));
    let text = stderr(&failed);
    assert!(text.contains("[finalizer-failed]") && text.contains("no such code"), "{text}");
}

/// Code that runs on sm_103, unless a result is waited for by way of an exponential, which has a unit of its own there.
#[test]
fn exponentials_keep_code_from_another_target() {
    // MUFU.RCP R2; MUFU.EX2 R3 (board 0); FADD R2, R2, R3 (waits for 0)
    const CODE: [u128; 3] = [
        0x000f_f000_0000_1000_0000_0001_0002_7308,
        0x000e_2200_0000_0800_0000_0001_0003_7308,
        0x001f_ca00_0000_0000_0000_0003_0202_7221,
    ];
    let case = Case::new("exponentials");
    let words = "--cuda-path=nowhere -arch=sm_103 scale.sm_100.cubin -o o";
    let mut image = fixture("scale.sm_100.cubin").to_vec();
    let path = case.folder.join("scale.sm_100.cubin");
    fs::write(&path, &image).unwrap();
    let linked = case.run(WARPLD.path(), words);
    assert!(linked.status.success(), "{}", stderr(&linked));
    let at = {
        let cubin = cubin::Cubin::parse(&image).unwrap();
        let code = cubin.sections().iter().find(|section| section.name.starts_with(b".text."));
        code.unwrap().offset as usize
    };
    let code: Vec<u8> = CODE.iter().flat_map(|word| word.to_le_bytes()).collect();
    image[at..at + code.len()].copy_from_slice(&code);
    fs::write(&path, &image).unwrap();
    let refused = case.run(WARPLD.path(), words);
    assert!(stderr(&refused).contains("[needs-compiler]"), "{}", stderr(&refused));
}

/// Code with double precision that says it runs on sm_103: nvlink gives it another schedule, and without an nvlink
/// warpld links it.
#[test]
fn double_precision_is_scheduled_anew_for_another_target() {
    // DADD R2, R2, R4 (board 0), on which the next instruction waits already.
    const DADD: u128 = 0x000e_0400_0000_0004_0000_0000_0202_7229;
    const WORDS: &str = "-arch=sm_103 scale.sm_100.cubin -o o";
    let case = Case::new("doubles");
    toolkit(&case.folder, NVLINK_13_4, &format!("exit {STATUS}"));
    let mut image = fixture("scale.sm_100.cubin").to_vec();
    let path = case.folder.join("scale.sm_100.cubin");
    fs::write(&path, &image).unwrap();
    let words = format!("--cuda-path=cuda --cuda-release=13.4 {WORDS}");
    let single = case.run(WARPLD.path(), &words);
    assert!(single.status.success(), "{}", stderr(&single));
    let at = {
        let cubin = cubin::Cubin::parse(&image).unwrap();
        let code = cubin.sections().iter().find(|section| section.name.starts_with(b".text."));
        code.unwrap().offset as usize
    };
    image[at..at + 16].copy_from_slice(&DADD.to_le_bytes());
    fs::write(&path, &image).unwrap();
    let handed_over = case.run(WARPLD.path(), &words);
    assert_eq!(handed_over.status.code(), Some(STATUS), "{}", stderr(&handed_over));
    assert_eq!(case.arguments().as_deref(), Some(WORDS));
    for own in ["--cuda-path=nowhere", "--cuda-path=cuda --no-fallback"] {
        let linked = case.run(WARPLD.path(), &format!("--cuda-release=13.4 {own} {WORDS}"));
        assert!(linked.status.success(), "{own}: {}", stderr(&linked));
    }
}
