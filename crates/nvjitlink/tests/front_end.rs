//! LTO-IR goes through the program `warpld-nvjitlink` and a library that stands in for NVIDIA's.
#![cfg(unix)]

use libwarpld::compile::{Compiled, Failure, LtoModule, LtoProgram, UsedByHost};
use libwarpld::{Code, Diagnostic};
use std::borrow::Cow;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use support::fake_nvjitlink;
use warpld_compilers::toolkit::{Environment, Hints, Search};
use warpld_compilers::{CompileSettings, Host, LtoCompiler, LtoSettings};

const HELPER: &str = env!("CARGO_BIN_EXE_warpld-nvjitlink");

/// A fatbin, as far as it is looked at.
const FATBIN: &[u8] = b"\x50\xed\x55\xba rest";

/// A toolkit with ptxas and libnvJitLink only.
struct Setup {
    folder: tempfile::TempDir,
    environment: Environment,
}

impl Setup {
    fn new(flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["cuda/bin", "cuda/lib", "temporary"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        fake_nvjitlink(&at("cuda/lib"), flags);
        let ptxas = at("cuda/bin/ptxas");
        fs::write(&ptxas, "#!/bin/sh\necho 'release 13.0, V13.0.88'\n").unwrap();
        fs::set_permissions(&ptxas, fs::Permissions::from_mode(0o755)).unwrap();
        let environment = Environment {
            cuda_home: Some(at("cuda").into()),
            nvjitlink_helper: Some(HELPER.into()),
            system_root: at("system"),
            ..Environment::default()
        };
        Self { folder, environment }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn search(&self) -> Arc<Search> {
        Arc::new(Search::within(Hints::default(), self.environment.clone()))
    }

    fn compiler(&self, settings: LtoSettings, compile: CompileSettings) -> LtoCompiler {
        let host = Host { temporary: self.at("temporary"), ..Host::default() };
        LtoCompiler::new(settings, compile, host, self.search())
    }

    fn compile(&self, program: &LtoProgram<'_>) -> Compiled {
        let time_limit = Some(Duration::from_secs(2));
        let compile = CompileSettings { time_limit, ..CompileSettings::default() };
        let compiled = self.compiler(LtoSettings::default(), compile).compile(program);
        let left: Vec<_> = fs::read_dir(self.at("temporary")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
        compiled
    }
}

fn program<'a>(inputs: &[(&str, &'a [u8])]) -> LtoProgram<'a> {
    let module = |&(name, data): &(&str, &'a [u8])| LtoModule {
        name: name.into(),
        data,
        options: Cow::default(),
    };
    LtoProgram {
        modules: inputs.iter().map(module).collect(),
        target: "sm_90a".parse().unwrap(),
        partial: false,
        partial_if_undefined: false,
        registers: None,
        used: None,
    }
}

fn text(compiled: Compiled) -> String {
    String::from_utf8(compiled.output.unwrap()).unwrap()
}

fn complaint(compiled: Compiled) -> Diagnostic {
    match compiled.output {
        Err(Failure::Unavailable(diagnostic)) => *diagnostic,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_library_gets_inputs_and_options() {
    let setup = Setup::new(&[]);
    let used = UsedByHost { kernels: vec![b"_Z1kv".to_vec()], variables: Vec::new() };
    let inputs: [(&str, &[u8]); 2] = [("lib.a:a.o", FATBIN), ("b.ltoir", b"IR")];
    let program = LtoProgram { registers: Some(32), used: Some(used), ..program(&inputs) };
    let compiler = setup.compiler(LtoSettings::default(), CompileSettings::default());
    let compiled = compiler.compile(&program);
    assert_eq!(compiled.messages, "created\n");
    assert_eq!(
        text(compiled),
        ".version 9.0\n.target sm_90\n// option -lto\n// option -ptx\n\
         // option -maxrregcount=32\n// option -kernels-used=_Z1kv\n// option -variables-used=@\n\
         // input type 4 size 9 \n// input type 3 size 2 \n// name lib.a:a.o\n// name b.ltoir\n"
    );
    assert_eq!(compiler.used(), Some(&*setup.at("cuda/lib/libnvJitLink.so.13")));
}

#[test]
fn options_of_the_link_come_before_what_inputs_say() {
    let setup = Setup::new(&[]);
    let used = UsedByHost { kernels: vec![b"host".to_vec()], variables: Vec::new() };
    let target = "sm_100f".parse().unwrap();
    let program =
        LtoProgram { registers: Some(32), used: Some(used), target, ..program(&[("a", FATBIN)]) };
    let settings = LtoSettings {
        kernels_used: vec![b"k".to_vec()],
        xnvvm: vec![b"-opt=0".to_vec()],
        ..LtoSettings::default()
    };
    let compile = CompileSettings {
        max_registers: Some(64),
        fast_compile: Some(b"mid".to_vec()),
        split_compile: Some(2),
        ..CompileSettings::default()
    };
    let text = text(setup.compiler(settings, compile).compile(&program));
    let options: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("// option ")).collect();
    // Before 13.3 the letter of a family is lost.
    assert_eq!(text.lines().nth(1), Some(".target sm_100"));
    assert_eq!(
        options,
        [
            "-lto",
            "-ptx",
            "-maxrregcount=64",
            "-Ofc=mid",
            "-split-compile=2",
            "-Xnvvm=-opt=0",
            "-kernels-used=k",
            "-variables-used=@",
        ]
    );
}

#[test]
fn failures_of_the_library_are_told_with_their_cause() {
    let setup = Setup::new(&[]);
    for (data, code, message) in [
        ("crash", Code::CompilerFailed, "ended the process that runs it (signal: 6"),
        ("hang", Code::CompilerTimeout, "did not optimize within 2 seconds"),
        ("silent", Code::CompilerFailed, "made no text"),
        ("bad", Code::LtoFailed, "nvJitLinkAddData of 'bad.o' reports result 6"),
        ("fatal", Code::LtoFailed, "nvJitLinkComplete reports result 6"),
    ] {
        let name = format!("{data}.o");
        let compiled = setup.compile(&program(&[(&name, data.as_bytes())]));
        let said = complaint(compiled);
        assert_eq!(said.code, code, "{data}");
        assert!(said.message.contains(message), "{}", said.message);
        assert!(!said.notes.is_empty(), "{data}");
    }
    let said = complaint(setup.compile(&program(&[("bad.o", b"bad")])));
    assert!(said.notes[0].contains("nvvmAddNVVMContainerToProgram"), "{said:?}");
}

#[test]
fn a_file_that_is_no_library_is_named() {
    let setup = Setup::new(&[]);
    let library = setup.at("cuda/lib/libnvJitLink.so.13");
    fs::write(&library, "text").unwrap();
    let said = complaint(setup.compile(&program(&[("a.o", FATBIN)])));
    assert_eq!(said.code, Code::NoCompiler);
    assert!(said.message.starts_with(&format!("cannot load '{}': ", library.display())));
}

#[test]
fn a_library_newer_than_ptxas_is_refused() {
    let setup = Setup::new(&["-DMAJOR=13", "-DMINOR=4"]);
    let said = complaint(setup.compile(&program(&[("a.o", FATBIN)])));
    assert_eq!(said.code, Code::LtoFailed);
    assert!(said.message.contains("is of CUDA 13.4 and"), "{}", said.message);
    assert!(said.message.ends_with("of 13.0.88, which cannot read its PTX"), "{}", said.message);
}

#[test]
fn code_for_others_to_call_needs_nvlink() {
    let setup = Setup::new(&[]);
    let program = LtoProgram { partial: true, ..program(&[("a.o", FATBIN)]) };
    let said = complaint(setup.compile(&program));
    assert_eq!(said.code, Code::LtoUnsupported);
    // So does code that calls for the device runtime.
    let calls = crate::program(&[("a.o", b"extern")]);
    assert!(setup.compile(&calls).output.is_ok());
    let calls = LtoProgram { partial_if_undefined: true, ..calls };
    let said = complaint(setup.compile(&calls));
    assert_eq!(said.code, Code::LtoUnsupported);
    // In dead code too.
    let program = LtoProgram { used: Some(UsedByHost::default()), ..calls };
    let said = complaint(setup.compile(&program));
    assert_eq!(said.code, Code::LtoUnsupported);
}

#[test]
fn all_parts_must_be_there() {
    let mut setup = Setup::new(&[]);
    let is_available = |setup: &Setup| {
        setup.compiler(LtoSettings::default(), CompileSettings::default()).is_available()
    };
    assert!(is_available(&setup));
    // Without a variable it is looked for beside the program.
    setup.environment.nvjitlink_helper = None;
    setup.environment.program = Some(setup.at("warpld"));
    let said = complaint(setup.compile(&program(&[("a.o", FATBIN)])));
    assert!(said.message.contains("'warpld-nvjitlink', which loads libnvJitLink"), "{said:?}");
    assert!(said.notes[0].contains("WARPLD_NVJITLINK_HELPER"), "{said:?}");
    fs::copy(Path::new(HELPER), setup.at("warpld-nvjitlink")).unwrap();
    assert!(is_available(&setup));
    // The variable names the library that is used.
    setup.environment.warpld_nvjitlink = Some(setup.at("none").into());
    assert!(!is_available(&setup));
    setup.environment.warpld_nvjitlink = None;
    fs::remove_file(setup.at("cuda/bin/ptxas")).unwrap();
    let said = complaint(setup.compile(&program(&[("a.o", FATBIN)])));
    assert_eq!(said.message, "'a.o' holds LTO-IR for sm_90a and no compiler for LTO-IR was found");
}

#[test]
fn nvlink_comes_first() {
    let setup = Setup::new(&[]);
    let nvlink = setup.at("cuda/bin/nvlink");
    let script = "#!/bin/sh\necho 'nvlink: NVIDIA (R) Cuda linker'\n\
                  for word; do last=$word; done\n[ \"$1\" = --version ] || echo text >\"$last\"\n";
    fs::write(&nvlink, script).unwrap();
    fs::set_permissions(&nvlink, fs::Permissions::from_mode(0o755)).unwrap();
    let compiler = setup.compiler(LtoSettings::default(), CompileSettings::default());
    assert_eq!(text(compiler.compile(&program(&[("a.o", FATBIN)]))), "text\n");
    assert_eq!(compiler.used(), Some(&*nvlink));
}
