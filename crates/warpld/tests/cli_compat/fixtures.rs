//! Inputs of the comparison, compiled once by the toolkit under test.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The toolkit that `WARPLD_TOOLKIT` names.
pub struct Toolkit {
    root: PathBuf,
}

impl Toolkit {
    pub fn from_env() -> Option<Self> {
        Some(Self { root: support::toolkit()? })
    }
    pub fn tool(&self, name: &str) -> PathBuf {
        self.root.join("bin").join(name)
    }
    /// `13.4.92`.
    pub fn version(&self) -> String {
        let answer = Command::new(self.tool("nvlink")).arg("--version").output().unwrap();
        let text = String::from_utf8(answer.stdout).unwrap();
        let mut words = text.split_whitespace().filter_map(|word| word.strip_prefix('V'));
        words.next().expect("a version").to_owned()
    }
    pub fn library_folder(&self) -> PathBuf {
        ["lib64", "lib"].map(|l| self.root.join(l)).into_iter().find(|p| p.exists()).unwrap()
    }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

const CUBINS: &[&str] = &[
    "a", "b", "b2", "c", "d", "e", "und", "undvar", "rec", "size", "space", "smem", "const",
    "const2", "global", "device", "virt", "cdp", "heavy", "heavy2", "bound", "near", "recs",
];
const OBJECTS: &[&str] = &["a", "b", "c", "d", "e", "und", "cdp", "empty"];

/// A folder with all inputs; built when it is not there yet.
pub fn build(toolkit: &Toolkit) -> PathBuf {
    static ONCE: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    ONCE.get_or_init(|| build_all(toolkit)).clone()
}

fn build_all(toolkit: &Toolkit) -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli_compat/inputs");
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-inputs-{}", toolkit.version()));
    let newest = std::fs::read_dir(&sources)
        .unwrap()
        .chain(std::fs::read_dir(sources.parent().unwrap()).unwrap())
        .map(|entry| entry.unwrap())
        .filter(|entry| {
            !["cases.rs", "main.rs", "messages.rs"].iter().any(|name| entry.file_name() == *name)
        })
        .map(|entry| entry.metadata().unwrap().modified().unwrap())
        .max();
    let stamp = folder.join("stamp");
    if std::fs::metadata(&stamp).and_then(|m| m.modified()).ok() > newest {
        return folder;
    }
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let nvcc = |args: &[&str]| {
        run(Command::new(toolkit.tool("nvcc"))
            .current_dir(&folder)
            .arg("-I")
            .arg(&sources)
            .args(args));
    };
    let source = |name: &str| sources.join(format!("{name}.cu")).to_str().unwrap().to_owned();
    for name in CUBINS {
        nvcc(&[
            "-arch=sm_90",
            "-rdc=true",
            "-cubin",
            "-o",
            &format!("{name}.cubin"),
            &source(name),
        ]);
    }
    for name in OBJECTS {
        nvcc(&["-arch=sm_90", "-dc", "-o", &format!("{name}.o"), &source(name)]);
    }
    nvcc(&["-arch=sm_80", "-rdc=true", "-cubin", "-o", "a80.cubin", &source("a")]);
    nvcc(&["-arch=sm_80", "-rdc=true", "-cubin", "-o", "b80.cubin", &source("b")]);
    nvcc(&["-gencode=arch=compute_80,code=sm_80", "-dc", "-o", "b80.o", &source("b")]);
    nvcc(&["-arch=sm_90", "-rdc=true", "-fatbin", "-o", "b.fatbin", &source("b")]);
    nvcc(&["-arch=sm_90", "-c", "-o", "whole.o", &source("b")]);
    nvcc(&["-arch=sm_90", "-rdc=true", "-lineinfo", "-cubin", "-o", "lines.cubin", &source("und")]);
    for (name, file) in [("b", "blines.cubin"), ("b2", "b2lines.cubin")] {
        nvcc(&["-arch=sm_90", "-rdc=true", "-lineinfo", "-cubin", "-o", file, &source(name)]);
    }
    nvcc(&["-arch=sm_90", "-rdc=true", "-G", "-cubin", "-o", "ag.cubin", &source("a")]);
    gcc(&folder);
    archives(&folder);
    std::fs::write(stamp, "").unwrap();
    folder
}

fn gcc(folder: &Path) {
    std::fs::write(folder.join("plain.c"), "int plain(void) { return 3; }\n").unwrap();
    run(Command::new("gcc").current_dir(folder).args(["-c", "plain.c", "-o", "plain.o"]));
    run(Command::new("gcc").current_dir(folder).args(["-shared", "plain.o", "-o", "plain.so"]));
}

fn archives(folder: &Path) {
    for (archive, members) in [
        ("libbd.a", &["b.o", "d.o"][..]),
        ("libplain.a", &["plain.o"]),
        ("libmixed.a", &["plain.o", "b.o"]),
        ("libcubin.a", &["b.cubin"]),
    ] {
        run(Command::new("ar").current_dir(folder).arg("rcs").arg(archive).args(members));
    }
    std::fs::write(folder.join("empty.a"), "!<arch>\n").unwrap();
    std::fs::write(folder.join("nothing.o"), "").unwrap();
    std::fs::write(folder.join("short.o"), "short").unwrap();
    std::fs::write(folder.join("text.o"), "text ".repeat(40)).unwrap();
}
