//! ptxas is a script here: it looks at its arguments and does what its text says.

use super::*;
use std::borrow::Cow;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Appends its arguments to `calls`, then obeys the text.
const SCRIPT: &str = r#"#!/bin/sh
here=$(dirname "$0")
case "$1" in --version) echo "fake ptxas $(cat "$here/version" 2>/dev/null)"; exit 0;; esac
line=
for word; do line="$line<$word>"; done
printf '%s\n' "$line" >>"$here/calls"
for text; do :; done
[ -f "$text" ] && text=$(head -n 1 "$text")
case "$text" in
    refuse*) echo "ptxas fatal   : no" >&2; exit 255;;
    silent*) exit 255;;
    status*) echo "odd" >&2; exit 3;;
    crash*) kill -SEGV $$;;
    hang*) echo "still here" >&2; sleep 1000 & echo $! >"$here/hangs"; wait;;
    nothing*) exit 0;;
    damaged*) echo no >elf.o; exit 0;;
    slow*) sleep 0.3; cp "$here/cubin" elf.o;;
    say*) echo "ptxas info    : $text" >&2; cp "$here/cubin" elf.o;;
    *) cp "$here/cubin" elf.o;;
esac
"#;

/// A folder with the script; temporary files go to one inside of it.
struct Setup {
    folder: tempfile::TempDir,
    cubin: Vec<u8>,
}

impl Setup {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let fixture = "../../tests/fixtures/scale.sm_90.cubin";
        let cubin = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(fixture)).unwrap();
        let at = |name| folder.path().join(name);
        fs::write(at("ptxas"), SCRIPT).unwrap();
        fs::write(at("cubin"), &cubin).unwrap();
        fs::create_dir(at("temporary")).unwrap();
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(at("ptxas"), fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder, cubin }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn compiler(&self, settings: CompileSettings) -> ToolkitCompiler {
        let ptxas = self.at("ptxas");
        let host = Host { temporary: self.at("temporary"), ..Host::default() };
        ToolkitCompiler::found_by(settings, host, move || Ok(ptxas.clone()))
    }

    /// Settings with a cache.
    fn cached(&self, settings: CompileSettings) -> CompileSettings {
        CompileSettings { cache: Some(self.at("cache")), ..settings }
    }

    /// The arguments of all calls so far, sorted.
    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.at("calls")).unwrap_or_default();
        let mut calls: Vec<String> = calls.lines().map(str::to_owned).collect();
        calls.sort();
        calls
    }

    fn nothing_is_left(&self) {
        let left: Vec<_> = fs::read_dir(self.at("temporary")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

fn default() -> CompileSettings {
    CompileSettings::default()
}

fn module<'a>(text: &'a str, options: &'a str) -> PtxModule<'a> {
    PtxModule {
        name: Arc::from(format!("{}.o", text.split_whitespace().next().unwrap_or_default())),
        text: Cow::Borrowed(text.as_bytes()),
        options: Cow::Borrowed(options.as_bytes()),
        target: "sm_90".parse().unwrap(),
        relocatable: true,
    }
}

fn one(setup: &Setup, settings: CompileSettings, text: &str) -> Compiled {
    let mut all = setup.compiler(settings).ptx(&[module(text, "")]);
    setup.nothing_is_left();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// The message about a compiler that did not work.
fn complaint(compiled: &Compiled) -> &Diagnostic {
    match &compiled.output {
        Err(Failure::Unavailable(diagnostic)) => diagnostic,
        other => panic!("{other:?}"),
    }
}

#[test]
fn options_have_nvlink_s_order() {
    let setup = Setup::new();
    let settings = CompileSettings {
        max_registers: Some(32),
        xptxas: vec![b"-O1".to_vec(), b"-v".to_vec()],
        debug: true,
        split_compile: Some(2),
        stack_protector: Some(true),
        ..default()
    };
    let stored = "--compile-only  -maxrregcount=24 ";
    let whole = PtxModule { relocatable: false, ..module("three", "") };
    let modules = [module("one", stored), module("two", ""), whole];
    for compiled in setup.compiler(settings).ptx(&modules) {
        assert_eq!(compiled.output.unwrap(), setup.cubin);
    }
    setup.nothing_is_left();
    let own = "<-arch=sm_90><-O1><-v><-maxrregcount=32><-g><-split-compile><2>\
               <-device-stack-protector><true>";
    assert_eq!(
        setup.calls(),
        [
            format!("<-m64><--compile-only><-maxrregcount=24>{own}<--input-as-string><one>"),
            format!("<-m64>{own}<--input-as-string><three>"),
            format!("<-m64>{own}<-c><--input-as-string><two>"),
        ]
    );
}

#[test]
fn long_texts_are_in_a_file() {
    let setup = Setup::new();
    let (fits, exceeds) = ("x".repeat(LONGEST), "y".repeat(LONGEST + 1));
    assert!(one(&setup, default(), &fits).output.is_ok());
    assert!(one(&setup, default(), &exceeds).output.is_ok());
    let calls = setup.calls();
    assert!(calls[0].contains("<-c><--input-as-string><xxx"));
    assert!(calls[1].ends_with("<-c><application ptx input>"));
}

/// In one argument.
const LONGEST: usize = 131_071;

#[test]
fn a_refusal_has_its_messages() {
    let compiled = one(&Setup::new(), default(), "refuse");
    assert!(matches!(compiled.output, Err(Failure::Refused)));
    assert_eq!(compiled.messages, "ptxas fatal   : no\n");
}

#[test]
fn messages_of_a_success_are_kept() {
    let compiled = one(&Setup::new(), default(), "say hello");
    assert!(compiled.output.is_ok());
    assert_eq!(compiled.messages, "ptxas info    : say hello\n");
}

#[test]
fn a_compiler_that_does_not_work_is_told_of() {
    let setup = Setup::new();
    let time_limit = Some(Duration::from_secs(1));
    let settings = CompileSettings { time_limit, ..default() };
    for (text, code, message) in [
        ("silent", Code::CompilerFailed, "failed (exit status: 255) while it compiled 'silent.o'"),
        ("status", Code::CompilerFailed, "failed (exit status: 3) while it compiled 'status.o'"),
        ("crash", Code::CompilerFailed, "was ended by signal 11 while it compiled 'crash.o'"),
        ("nothing", Code::CompilerFailed, "reported success but wrote no cubin for 'nothing.o'"),
        ("damaged", Code::CompilerFailed, "success but wrote a damaged cubin for 'damaged.o'"),
        ("hang", Code::CompilerTimeout, "did not compile 'hang.o' within 1 seconds"),
    ] {
        let compiled = one(&setup, settings.clone(), text);
        let diagnostic = complaint(&compiled);
        assert_eq!(diagnostic.code, code, "{text}");
        assert!(diagnostic.message.contains(message), "{}", diagnostic.message);
        let advice = !diagnostic.notes.is_empty() || diagnostic.code.advice().is_some();
        assert!(advice, "{text}");
        match text {
            "status" => assert_eq!(compiled.messages, "odd\n"),
            "hang" => assert_eq!(compiled.messages, "still here\n"),
            _ => assert_eq!(compiled.messages, ""),
        }
    }
    assert!(is_gone(&setup));
}

/// Whether the process that hangs has ended, or does so soon: a signal takes its time to arrive.
fn is_gone(setup: &Setup) -> bool {
    let id = fs::read_to_string(setup.at("hangs")).unwrap();
    // A zombie that nobody has waited for yet is gone, too.
    let ended = || {
        let state = fs::read_to_string(format!("/proc/{}/stat", id.trim()));
        state.map_or(true, |state| state.contains(") Z ") || state.contains(") X "))
    };
    let tries = std::iter::repeat_n((), 2000);
    tries.map(|()| std::thread::sleep(Duration::from_millis(5))).any(|()| ended())
}

#[test]
fn a_compiler_that_cannot_be_started_is_told_of() {
    let setup = Setup::new();
    fs::remove_file(setup.at("ptxas")).unwrap();
    let compiled = one(&setup, default(), "text");
    let diagnostic = complaint(&compiled);
    assert_eq!(diagnostic.code, Code::NoCompiler);
    assert!(diagnostic.message.starts_with("cannot run '/"), "{}", diagnostic.message);
}

#[test]
fn a_folder_that_cannot_be_made_is_told_of() {
    let setup = Setup::new();
    let mut compiler = setup.compiler(default());
    compiler.host.temporary = setup.at("nowhere");
    let compiled = compiler.ptx(&[module("text", "")]);
    assert_eq!(complaint(&compiled[0]).code, Code::WriteFailed);
}

#[test]
fn nothing_is_looked_up_before_it_is_needed_and_then_once() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let compiler = ToolkitCompiler::found_by(default(), Host::default(), || {
        CALLS.fetch_add(1, Ordering::Relaxed);
        Err(Box::new(Diagnostic::fatal(Code::NoCompiler, "no ptxas")))
    });
    assert_eq!(CALLS.load(Ordering::Relaxed), 0);
    assert!(!compiler.compiles_ptx());
    let compiled = compiler.ptx(&[module("a", ""), module("b", "")]);
    assert_eq!(CALLS.load(Ordering::Relaxed), 1);
    for (compiled, name) in compiled.iter().zip(["a.o", "b.o"]) {
        let expected = format!("'{name}' has only PTX for sm_90 and no ptxas");
        assert_eq!(complaint(compiled).message, expected);
    }
    assert_eq!(compiler.used(), None);
}

#[test]
fn results_have_the_order_of_the_modules() {
    let setup = Setup::new();
    let texts: Vec<String> = (0..20).map(|i| format!("say {}", "x".repeat(i % 7 + i))).collect();
    let modules: Vec<_> = texts.iter().map(|text| module(text, "")).collect();
    let compiled = setup.compiler(CompileSettings { threads: 4, ..default() }).ptx(&modules);
    for (text, compiled) in texts.iter().zip(&compiled) {
        assert_eq!(compiled.messages, format!("ptxas info    : {text}\n"));
    }
    setup.nothing_is_left();
}

#[test]
fn the_first_failure_is_found_and_those_after_it_are_stopped() {
    let setup = Setup::new();
    let modules: Vec<_> = ["fine", "slow", "refuse", "hang", "hang more"]
        .iter()
        .map(|text| module(text, ""))
        .collect();
    let begun = std::time::Instant::now();
    let compiled = setup.compiler(CompileSettings { threads: 5, ..default() }).ptx(&modules);
    assert!(begun.elapsed() < Duration::from_secs(100));
    assert!(compiled[0].output.is_ok() && compiled[1].output.is_ok());
    assert!(matches!(compiled[2].output, Err(Failure::Refused)));
    assert!(compiled[3..].iter().all(|compiled| compiled.output.is_err()));
    setup.nothing_is_left();
}

#[test]
fn some_values_are_not_passed_on() {
    let setup = Setup::new();
    let zero = CompileSettings { max_registers: Some(0), split_compile: Some(1), ..default() };
    one(&setup, CompileSettings { stack_protector: Some(false), ..zero }, "a");
    one(&setup, CompileSettings { max_registers: Some(-1), ..default() }, "b");
    let text = "<--input-as-string>";
    assert_eq!(
        setup.calls(),
        [
            format!("<-m64><-arch=sm_90><-c>{text}<b>"),
            format!("<-m64><-arch=sm_90><-device-stack-protector><false><-c>{text}<a>"),
        ]
    );
}

#[test]
fn older_releases_do_not_compile_for_families() {
    for (version, arch) in [("13.0", "sm_100"), ("13.2", "sm_100"), ("13.3", "sm_100f")] {
        let setup = Setup::new();
        let line = format!("Cuda compilation tools, release {version}, V{version}.9");
        fs::write(setup.at("version"), line).unwrap();
        let module = PtxModule { target: "sm_100f".parse().unwrap(), ..module("a", "") };
        assert!(setup.compiler(default()).ptx(&[module])[0].output.is_ok());
        assert!(setup.calls()[0].contains(&format!("<-arch={arch}>")), "{version}");
        setup.nothing_is_left();
    }
}

/// Two links with a cache: how often ptxas ran in each.
fn runs(setup: &Setup, settings: CompileSettings, texts: &[&str]) -> [usize; 2] {
    [(); 2].map(|()| {
        let before = setup.calls().len();
        let modules: Vec<_> = texts.iter().map(|text| module(text, "")).collect();
        let compiler = setup.compiler(setup.cached(settings.clone()));
        for (text, compiled) in texts.iter().zip(compiler.ptx(&modules)) {
            assert_eq!(compiled.output.unwrap(), setup.cubin);
            let said = text.starts_with("say").then(|| format!("ptxas info    : {text}\n"));
            assert_eq!(compiled.messages, said.unwrap_or_default());
        }
        assert!(compiler.remarks().is_empty(), "{:?}", compiler.remarks());
        setup.nothing_is_left();
        setup.calls().len() - before
    })
}

/// The files of the cache.
fn entries(setup: &Setup) -> Vec<PathBuf> {
    let list = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let folders = list(&setup.at("cache")).filter(|path| path.is_dir());
    let mut files: Vec<_> = folders.flat_map(|folder| list(&folder).collect::<Vec<_>>()).collect();
    files.sort();
    files
}

#[test]
fn the_cache_knows_text_options_and_compiler() {
    let setup = Setup::new();
    let optimized = CompileSettings { xptxas: vec![b"-O1".to_vec()], ..default() };
    let few_registers = CompileSettings { max_registers: Some(32), ..default() };
    assert_eq!(runs(&setup, default(), &["say one", "two"]), [2, 0]);
    assert_eq!(runs(&setup, default(), &["say one", "three"]), [1, 0]);
    assert_eq!(runs(&setup, optimized, &["two"]), [1, 0]);
    assert_eq!(runs(&setup, few_registers, &["two"]), [1, 0]);
    fs::write(setup.at("version"), "2").unwrap();
    assert_eq!(runs(&setup, default(), &["two"]), [1, 0]);
    fs::write(setup.at("ptxas"), format!("{SCRIPT}# changed")).unwrap();
    assert_eq!(runs(&setup, default(), &["two"]), [1, 0]);
    assert_eq!(entries(&setup).len(), 7);
}

#[test]
fn damaged_entries_are_compiled_again() {
    let setup = Setup::new();
    assert_eq!(runs(&setup, default(), &["say one", "two", "three", "four"]), [4, 0]);
    let files = entries(&setup);
    let damage = |file: &Path, how: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = fs::read(file).unwrap();
        how(&mut bytes);
        fs::write(file, bytes).unwrap();
    };
    damage(&files[0], &|bytes| bytes.truncate(bytes.len() / 2));
    damage(&files[1], &|bytes| *bytes.last_mut().unwrap() ^= 1);
    damage(&files[2], &|bytes| bytes.clear());
    // A whole entry under the key of another.
    let other = fs::read(&files[3]).unwrap();
    damage(&files[2], &|bytes| *bytes = other.clone());
    assert_eq!(runs(&setup, default(), &["say one", "two", "three", "four"]), [3, 0]);
}

#[test]
fn failures_are_not_kept() {
    let setup = Setup::new();
    for _ in 0..2 {
        assert!(matches!(
            one(&setup, setup.cached(default()), "refuse").output,
            Err(Failure::Refused)
        ));
    }
    assert_eq!(setup.calls().len(), 2);
    assert!(entries(&setup).is_empty());
}

#[test]
fn the_cache_is_bounded_and_keeps_what_is_used() {
    let setup = Setup::new();
    let size = setup.cubin.len() + 200;
    assert_eq!(runs(&setup, default(), &["old"]), [1, 0]);
    assert_eq!(runs(&setup, default(), &["older"]), [1, 0]);
    let stays = setup.at("cache").join("notes.txt");
    fs::write(&stays, "not an entry").unwrap();
    // Used last, and so kept.
    assert_eq!(runs(&setup, default(), &["old"]), [0, 0]);
    let cache_size = (2 * size + size / 2) as u64;
    let small = CompileSettings { cache_size, ..default() };
    assert_eq!(runs(&setup, small, &["new"]), [1, 0]);
    assert_eq!(entries(&setup).len(), 2);
    assert_eq!(runs(&setup, default(), &["old"]), [0, 0]);
    assert_eq!(runs(&setup, default(), &["older"]), [1, 0]);
    assert!(stays.exists());
}

#[test]
fn many_links_share_a_cache() {
    let setup = Setup::new();
    let texts = ["a", "b", "say c", "d", "say e", "f"];
    let cached = setup.cached(CompileSettings { threads: 3, ..default() });
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let compiler = setup.compiler(cached.clone());
                let modules = texts.map(|text| module(text, ""));
                for compiled in compiler.ptx(&modules) {
                    assert_eq!(compiled.output.unwrap(), setup.cubin);
                }
            });
        }
    });
    assert_eq!(entries(&setup).len(), texts.len());
    assert_eq!(runs(&setup, default(), &texts), [0, 0]);
}

#[test]
fn a_cache_that_cannot_be_used_is_told_of() {
    let setup = Setup::new();
    fs::write(setup.at("file"), "no folder").unwrap();
    let compiler = setup.compiler(CompileSettings { cache: Some(setup.at("file")), ..default() });
    assert!(compiler.ptx(&[module("a", "")])[0].output.is_ok());
    let [remark] = &compiler.remarks()[..] else { panic!("{:?}", compiler.remarks()) };
    assert_eq!(remark.code, Code::PtxCache);
    assert!(remark.message.starts_with("the PTX cache '/"), "{}", remark.message);
}
