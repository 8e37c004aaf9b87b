//! PTX goes to the compiler that the caller brings, and its objects take their place in the link.

use super::files::{archive, cubin, fatbin, host_object};
use fatbin::Kind;
use libwarpld::compile::{Compiled, Compiler, Failure, LtoProgram, PtxModule};
use libwarpld::{Code, Config, Diagnostic, Error, Input, Output, link, link_with};
use std::sync::Mutex;

/// Knows the text of each cubin by heart, and remembers what it was asked.
#[derive(Default)]
struct Fake {
    asked: Mutex<Vec<(String, String)>>,
    calls: Mutex<usize>,
    /// What it says of every module.
    says: &'static str,
    missing: bool,
}

impl Compiler for Fake {
    fn compiles_lto(&self) -> bool {
        false
    }

    fn compiles_ptx(&self) -> bool {
        !self.missing
    }

    fn ptx(&self, modules: &[PtxModule<'_>]) -> Vec<Compiled> {
        *self.calls.lock().unwrap() += 1;
        modules.iter().map(|module| self.one(module)).collect()
    }

    fn lto(&self, _: &LtoProgram<'_>) -> Compiled {
        unreachable!("there is no LTO-IR")
    }
}

impl Fake {
    fn one(&self, module: &PtxModule<'_>) -> Compiled {
        assert!(module.relocatable);
        let text = std::str::from_utf8(&module.text).expect("text without a NUL");
        let name = text.strip_prefix(START).expect("our text");
        let options = String::from_utf8_lossy(&module.options);
        self.asked.lock().unwrap().push((module.name.to_string(), options.into()));
        let output = match name {
            "broken" => Err(Failure::Refused),
            "absent" => {
                let why = Diagnostic::fatal(Code::PtxOnly, "no compiler");
                Err(Failure::Unavailable(Box::new(why)))
            }
            name => Ok(cubin(&format!("{name}.{}.cubin", module.target))),
        };
        Compiled { output, messages: self.says.into() }
    }
}

/// A file must have 56 bytes.
const START: &str = ".version 9.0\n.target sm_75\n.address_size 64\n// the text of ";

/// The text that stands for a cubin.
fn ptx(name: &str) -> Vec<u8> {
    format!("{START}{name}").into_bytes()
}

/// The same in a container, which ends text with a NUL.
fn ptx_fatbin(name: &str, arch: &str) -> Vec<u8> {
    let mut text = ptx(name);
    text.push(0);
    fatbin(Kind::PTX, arch, &text)
}

fn config() -> Config {
    Config::builder("sm_90".parse().unwrap()).build()
}

fn run(inputs: &[Input<'_>], compiler: &Fake) -> Result<Output, Error> {
    link_with(inputs, &config(), compiler)
}

#[test]
fn ptx_of_every_origin_is_linked_in_its_place() {
    let [saxpy, scale, vec] =
        ["saxpy", "scale", "vec"].map(|name| cubin(&format!("{name}.sm_90.cubin")));
    let library = archive(&[("vec.o", &host_object(ptx_fatbin("vec", "sm_75")))]);
    let compiler = Fake::default();
    let inputs = [
        Input::new("saxpy.ptx", ptx("saxpy")),
        Input::new("scale.o", host_object(ptx_fatbin("scale", "sm_90"))),
        Input::new("libvec.a", library),
        Input::new("more.cubin", support::fixture("scale.sm_90.cubin")),
    ];
    let compiled = run(&inputs, &compiler).expect("a link");
    let more = support::fixture("scale.sm_90.cubin");
    let plain = [saxpy, scale, vec, more].map(|image| Input::new("input.cubin", image));
    let plain = link(&plain, &config()).expect("a link of machine code");
    assert!(compiled.cubin == plain.cubin, "the outputs differ");
    assert_eq!(*compiler.calls.lock().unwrap(), 1, "all modules are compiled at once");
    let asked = compiler.asked.lock().unwrap();
    let names: Vec<&str> = asked.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["saxpy.ptx", "scale.o", "libvec.a:vec.o"]);
}

#[test]
fn machine_code_does_not_go_to_the_compiler() {
    let compiler = Fake::default();
    let saxpy = Input::new("saxpy.cubin", cubin("saxpy.sm_90.cubin"));
    let scale = Input::new("scale.cubin", cubin("scale.sm_90.cubin"));
    run(&[saxpy, scale], &compiler).expect("a link");
    assert_eq!(*compiler.calls.lock().unwrap(), 0);
}

#[test]
fn what_the_compiler_says_is_repeated_and_a_refusal_ends_the_link() {
    for (says, message) in [
        ("ptxas application ptx input, line 1; fatal   : no", "elfLink fatbinary error"),
        ("ptxas application ptx input; error   : too much", "elfLink JIT compile failed"),
    ] {
        let compiler = Fake { says, ..Fake::default() };
        let inputs = [Input::new("a.ptx", ptx("broken")), Input::new("b.ptx", ptx("saxpy"))];
        let error = run(&inputs, &compiler).expect_err("a refusal");
        let [said, end] = error.diagnostics() else { panic!("{error}") };
        assert_eq!((said.code, &*said.message), (Code::CompilerMessage, says));
        assert_eq!(said.notes, ["the PTX of 'a.ptx'"]);
        assert_eq!((end.code, &*end.message), (Code::PtxRefused, message));
    }
}

#[test]
fn remarks_of_the_compiler_are_among_the_warnings() {
    let says = "ptxas warning : odd\n";
    let compiler = Fake { says, ..Fake::default() };
    let inputs = [Input::new("a.ptx", ptx("saxpy")), Input::new("b.ptx", ptx("scale"))];
    let output = run(&inputs, &compiler).expect("a link");
    let said: Vec<&str> = output.warnings.iter().map(|warning| &*warning.message).collect();
    assert_eq!(said, ["ptxas warning : odd"; 2]);
}

#[test]
fn without_a_compiler_the_caller_is_told() {
    let compiler = Fake::default();
    let error = run(&[Input::new("a.ptx", ptx("absent"))], &compiler).expect_err("no compiler");
    assert_eq!(error.diagnostics()[0].message, "no compiler");
    let error = link(&[Input::new("a.ptx", ptx("saxpy"))], &config()).expect_err("no compiler");
    assert_eq!(error.diagnostics()[0].code, Code::PtxOnly);
}

#[test]
fn newer_ptx_is_compiled_before_older_machine_code_is_taken() {
    // As nvlink does; without a compiler the machine code is taken, with a warning.
    let mut writer = fatbin::write::Writer::new();
    let code = cubin("scale.sm_80.cubin");
    let mut text = ptx("scale");
    text.push(0);
    for (kind, arch, payload) in [(Kind::ELF, "sm_80", &code), (Kind::PTX, "sm_90", &text)] {
        let arch = arch.parse().unwrap();
        let flags = fatbin::Flags::ADDRESS_64.union(fatbin::Flags::LINUX);
        let options = (kind == Kind::PTX).then_some(&b"-maxrregcount=24 "[..]);
        let image = fatbin::write::Image {
            kind,
            arch,
            version: (1, 8),
            flags,
            ident: None,
            options,
            compat: None,
            compression: fatbin::Compression::None,
            payload,
        };
        writer.add(&image).expect("an image");
    }
    let container = writer.finish();
    let inputs = [
        Input::new("scale.o", host_object(container)),
        Input::new("saxpy.cubin", cubin("saxpy.sm_90.cubin")),
    ];
    let compiler = Fake::default();
    let output = run(&inputs, &compiler).expect("a link");
    assert!(output.warnings.is_empty());
    let asked = compiler.asked.lock().unwrap();
    assert_eq!(asked[..], [("scale.o".into(), "-maxrregcount=24 ".into())]);
}
