//! The options of a link, as libnvJitLink reads them: in order, up to the first that it refuses.

use crate::result::{Code, Refusal};
use libwarpld::{Arch, Release};

/// Options of a link.
#[derive(Clone, Debug)]
pub struct Options {
    /// The target.
    pub arch: Arch,
    /// `-lto`, `-dlto`: LTO-IR is compiled at the end.
    pub lto: bool,
    /// `-ptx`: the result is PTX.
    pub ptx: bool,
    /// `-r`.
    pub relocatable: bool,
    /// `-g`.
    pub debug: bool,
    /// `-verbose`.
    pub verbose: bool,
    /// `-time`.
    pub time: bool,
    /// `-kernels-used=`.
    pub kernels_used: Vec<String>,
    /// `-variables-used=`.
    pub variables_used: Vec<String>,
}

/// What an option is followed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Nothing. libnvJitLink compares as many characters as the name has, so that more may follow.
    Flag,
    /// Nothing, and no more characters.
    Exact,
    /// A value that may be empty.
    Value,
    /// A value that must not be empty.
    Needed,
}

/// The options that a link of machine code knows or passes over. Their values are not looked at.
const TABLE: &[(&str, Form)] = &[
    ("-arch=", Form::Needed),
    ("-maxrregcount=", Form::Needed),
    ("-time", Form::Flag),
    ("-verbose", Form::Flag),
    ("-lto", Form::Flag),
    ("-dlto", Form::Flag),
    ("-ptx", Form::Flag),
    ("-O0", Form::Exact),
    ("-O3", Form::Exact),
    ("-g", Form::Exact),
    ("-lineinfo", Form::Flag),
    ("-ftz=", Form::Value),
    ("-prec-div=", Form::Value),
    ("-prec-sqrt=", Form::Value),
    ("-fma=", Form::Value),
    ("-kernels-used=", Form::Needed),
    ("-variables-used=", Form::Needed),
    ("-optimize-unused-variables", Form::Flag),
    ("-Xptxas=", Form::Needed),
    ("-Xnvvm=", Form::Needed),
    ("-split-compile=", Form::Value),
    ("-split-compile-extended=", Form::Needed),
    ("-jump-table-density=", Form::Value),
    ("-no-cache", Form::Flag),
    ("-Ofc=", Form::Needed),
    ("-r", Form::Flag),
];

/// Targets that releases before CUDA 13 had.
const FORMER_TARGETS: &[u32] =
    &[10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 69, 70];

/// Reads options. `release` is the one that the library stands for, if a setting fixes it.
pub fn parse(texts: &[&str], release: Option<&Release>) -> Result<Options, Refusal> {
    let mut arch = None;
    let mut options = Options {
        arch: Arch { number: 0, variant: cubin::Variant::Plain },
        lto: false,
        ptx: false,
        relocatable: false,
        debug: false,
        verbose: false,
        time: false,
        kernels_used: Vec::new(),
        variables_used: Vec::new(),
    };
    for text in texts {
        let (name, value) = split(text)?;
        match name {
            "-arch=" => arch = Some(target(text, value, release)?),
            "-lto" | "-dlto" => options.lto = true,
            "-ptx" => options.ptx = true,
            "-r" => options.relocatable = true,
            "-g" => options.debug = true,
            "-verbose" => options.verbose = true,
            "-time" => options.time = true,
            "-kernels-used=" => options.kernels_used.push(value.to_owned()),
            "-variables-used=" => options.variables_used.push(value.to_owned()),
            "-Ofc=" if !matches!(value, "0" | "min" | "mid" | "max") => {
                let line = format!(
                    "unsupported value of --Ofast-compile (-Ofc): {value}. Only 0, min, mid, and \
                     max are supported."
                );
                return Err(Refusal::new(Code::UnrecognizedOption, line));
            }
            _ => {}
        }
    }
    let Some((arch, is_virtual)) = arch else {
        return Err(Refusal::silent(Code::MissingArch));
    };
    if options.ptx && !options.lto {
        return Err(Refusal::new(Code::IncompatibleOptions, "ERROR: -ptx requires -lto"));
    }
    if is_virtual && !options.ptx {
        return Err(Refusal::new(Code::IncompatibleOptions, "ERROR: virtual arch requires -ptx"));
    }
    options.arch = arch;
    Ok(options)
}

/// The name of an option, with its `=`, and what follows.
fn split(text: &str) -> Result<(&'static str, &str), Refusal> {
    let matching = TABLE.iter().filter_map(|&(name, form)| {
        let rest = text.strip_prefix(name)?;
        (form != Form::Exact || rest.is_empty()).then_some((name, form, rest))
    });
    // `-r` would be the start of any other option.
    match matching.max_by_key(|(name, ..)| name.len()) {
        Some((_, Form::Needed, "")) => Err(missing_value(text)),
        Some((name, _, rest)) => Ok((name, rest)),
        None => Err(unknown(text)),
    }
}

fn unknown(text: &str) -> Refusal {
    let line = match text.strip_prefix("-O") {
        Some(level) if level.len() == 1 && level.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("unsupported value of -O: {level}. Only 0 and 3 are supported.")
        }
        _ => format!("unrecognized option: {text}"),
    };
    Refusal::new(Code::UnrecognizedOption, line)
}

fn missing_value(text: &str) -> Refusal {
    named(Code::UnrecognizedOption, "missing option value", text)
}

/// A refusal whose line names the result.
fn named(code: Code, what: &str, about: &str) -> Refusal {
    let name = match code {
        Code::UnrecognizedArch => "UNRECOGNIZED_ARCH",
        Code::UnsupportedArch => "UNSUPPORTED_ARCH",
        _ => "UNRECOGNIZED_OPTION",
    };
    Refusal::new(code, format!("ERROR NVJITLINK_ERROR_{name}: {what} ({about})"))
}

/// The target, and whether it is a virtual one.
fn target(text: &str, value: &str, release: Option<&Release>) -> Result<(Arch, bool), Refusal> {
    let (prefix, number) = value.split_once('_').ok_or_else(|| missing_value(text))?;
    let digits = number.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, letters) = number.split_at(digits);
    if digits.trim_start_matches('0').is_empty() {
        return Err(missing_value(text));
    }
    let known: Option<u32> = digits.parse().ok();
    let known = known.ok_or_else(|| named(Code::UnsupportedArch, "unsupported architecture", text));
    let known = known?;
    if known < 10 {
        return Err(missing_value(text));
    }
    let shown = format!("compute_{known}");
    if FORMER_TARGETS.contains(&known) {
        return Err(named(Code::UnsupportedArch, "unsupported architecture", &shown));
    }
    let unrecognized = || {
        let shown = format!("{shown}{letters}");
        named(Code::UnrecognizedArch, "unrecognized architecture", &shown)
    };
    // libnvJitLink takes any letters, and `a` where there is no such target.
    let arch: Arch = format!("sm_{known}{letters}").parse().map_err(|_| unrecognized())?;
    let has_target = match release {
        Some(release) => release.has_target(arch),
        None => Release::first_with(arch).is_some(),
    };
    if !has_target {
        return Err(unrecognized());
    }
    Ok((arch, prefix != "sm"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(texts: &[&str]) -> (Code, String) {
        let refusal = parse(texts, Some(&Release::CUDA_13_0)).unwrap_err();
        (refusal.code, refusal.line.unwrap_or_default())
    }

    #[test]
    fn the_first_refused_option_decides() {
        let unknown =
            |text: &str| (Code::UnrecognizedOption, format!("unrecognized option: {text}"));
        for text in [
            "-nosuch",
            "-v",
            "-G",
            "-m64",
            "--arch=sm_90",
            " -arch=sm_90",
            "",
            "-arch",
            "-ftz",
            "-maxrregcount",
            "-kernels-used",
            "-split-compile",
            "-Ofc",
            "-Ofast",
            "-O",
            "-O00",
            "-O3 ",
            "-Ox",
            "-gX",
            "-g=1",
            "-lt",
            "-device-stack-protector",
            "-nvvm-latest",
            "-kernels-usedX=k",
        ] {
            assert_eq!(refused(&["-arch=sm_90", text, "-bad"]), unknown(text));
        }
        let level = |n| format!("unsupported value of -O: {n}. Only 0 and 3 are supported.");
        assert_eq!(refused(&["-O2"]), (Code::UnrecognizedOption, level(2)));
        assert_eq!(refused(&["-arch=sm_90", "-O4"]), (Code::UnrecognizedOption, level(4)));
    }

    #[test]
    fn values_are_needed_by_some() {
        for name in [
            "-maxrregcount=",
            "-kernels-used=",
            "-variables-used=",
            "-Xptxas=",
            "-Xnvvm=",
            "-split-compile-extended=",
            "-Ofc=",
            "-arch=",
        ] {
            let line =
                format!("ERROR NVJITLINK_ERROR_UNRECOGNIZED_OPTION: missing option value ({name})");
            assert_eq!(refused(&[name]), (Code::UnrecognizedOption, line));
        }
        let line = "unsupported value of --Ofast-compile (-Ofc): bogus. Only 0, min, mid, and max are \
                    supported.";
        assert_eq!(refused(&["-Ofc=bogus"]), (Code::UnrecognizedOption, line.into()));
    }

    #[test]
    fn targets_are_those_of_the_release() {
        assert_eq!(refused(&[]), (Code::MissingArch, String::new()));
        assert_eq!(refused(&["-lto"]), (Code::MissingArch, String::new()));
        for (text, code, what, about) in [
            ("-arch=sm_XX", Code::UnrecognizedOption, "missing option value", "-arch=sm_XX"),
            ("-arch=90", Code::UnrecognizedOption, "missing option value", "-arch=90"),
            ("-arch=sm_0", Code::UnrecognizedOption, "missing option value", "-arch=sm_0"),
            ("-arch=sm_999", Code::UnrecognizedArch, "unrecognized architecture", "compute_999"),
            ("-arch=sm_33", Code::UnrecognizedArch, "unrecognized architecture", "compute_33"),
            ("-arch=sm_107", Code::UnrecognizedArch, "unrecognized architecture", "compute_107"),
            ("-arch=sm_70", Code::UnsupportedArch, "unsupported architecture", "compute_70"),
            ("-arch=sm_52", Code::UnsupportedArch, "unsupported architecture", "compute_52"),
            ("-arch=sm_89a", Code::UnrecognizedArch, "unrecognized architecture", "compute_89a"),
        ] {
            let (found, line) = refused(&[text, "-nosuch"]);
            assert_eq!(found, code, "{text}");
            assert!(line.ends_with(&format!(": {what} ({about})")), "{line}");
        }
        assert!(parse(&["-arch=sm_107"], None).is_ok());
        let last = parse(&["-arch=sm_90", "-arch=sm_80"], None).unwrap();
        assert_eq!(last.arch.to_string(), "sm_80");
    }

    #[test]
    fn combinations_are_checked_last() {
        let refusal = (Code::IncompatibleOptions, "ERROR: virtual arch requires -ptx".into());
        assert_eq!(refused(&["-arch=compute_90"]), refusal);
        assert_eq!(refused(&["-arch=compute_90", "-lto"]), refusal);
        let refusal = (Code::IncompatibleOptions, "ERROR: -ptx requires -lto".into());
        assert_eq!(refused(&["-arch=sm_90", "-ptx"]), refusal);
        assert!(parse(&["-arch=compute_90a", "-lto", "-ptx"], None).unwrap().ptx);
    }

    #[test]
    fn what_a_link_of_machine_code_knows() {
        let options = parse(
            &[
                "-arch=sm_100f",
                "-r",
                "-g",
                "-verbose",
                "-time",
                "-kernels-used=a",
                "-kernels-used=b",
                "-variables-used=c",
                "-O0",
                "-O3",
                "-lineinfo",
                "-ftz=maybe",
                "-prec-div=1",
                "-prec-sqrt=0",
                "-fma=",
                "-maxrregcount=x",
                "-Xptxas=--nosuch",
                "-Xnvvm=-opt=3",
                "-split-compile=0",
                "-split-compile-extended=2",
                "-no-cache",
                "-jump-table-density=200",
                "-optimize-unused-variables",
                "-Ofc=max",
            ],
            None,
        );
        let options = options.unwrap();
        assert!(options.relocatable && options.debug && options.verbose && options.time);
        assert!(!options.lto && !options.ptx);
        assert_eq!(options.kernels_used, ["a", "b"]);
        assert_eq!(options.variables_used, ["c"]);
        assert_eq!(options.arch.to_string(), "sm_100f");
    }
}
