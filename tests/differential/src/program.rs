//! What a case is made of: modules to compile and links to make of them.

use crate::hostobj;
use crate::release::{Release, Releases};
use crate::tools;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

/// A GPU target such as `sm_90a`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Sm {
    /// 75, 80, …
    pub number: u16,
    /// `a`, `f` or nothing.
    pub suffix: Option<char>,
}

impl Sm {
    /// The targets whose executables hold plain SASS.
    pub const CLASSIC: [Sm; 8] = [
        Sm::plain(75),
        Sm::plain(80),
        Sm::plain(86),
        Sm::plain(87),
        Sm::plain(88),
        Sm::plain(89),
        Sm::plain(90),
        Sm::accelerated(90),
    ];
    /// The targets whose executables also hold Mercury code.
    const MERCURY: [Sm; 7] = [
        Sm::plain(100),
        Sm::accelerated(100),
        Sm::plain(103),
        Sm::plain(107),
        Sm::plain(110),
        Sm::plain(120),
        Sm::plain(121),
    ];

    /// `sm_NN`.
    pub const fn plain(number: u16) -> Self {
        Self { number, suffix: None }
    }

    /// `sm_NNa`.
    pub const fn accelerated(number: u16) -> Self {
        Self { number, suffix: Some('a') }
    }

    /// Reads `sm_90a` or `90a`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix("sm_").unwrap_or(text);
        let digits = text.trim_end_matches(|c: char| c.is_ascii_lowercase());
        let suffix = match &text[digits.len()..] {
            "" => None,
            "a" => Some('a'),
            "f" => Some('f'),
            _ => return None,
        };
        Some(Self { number: digits.parse().ok()?, suffix })
    }

    /// Reads `all`, `classic`, `mercury` or a list with commas. The first three stand for targets of
    /// that release.
    pub fn parse_list(text: &str, release: Release) -> Option<Vec<Self>> {
        let mercury = || Self::MERCURY.into_iter().filter(|sm| sm.since().contains(release));
        match text {
            "classic" => Some(Self::CLASSIC.to_vec()),
            "mercury" => Some(mercury().collect()),
            "all" => Some(Self::CLASSIC.into_iter().chain(mercury()).collect()),
            list => list.split(',').map(Self::parse).collect(),
        }
    }

    /// The releases that know it.
    pub fn since(self) -> Releases {
        let first = match self.number {
            107 => Release { major: 13, minor: 4, patch: 0 },
            _ => Releases::ALL.first,
        };
        Releases { first, ..Releases::ALL }
    }

    /// The version of PTX that sources for it say they are in.
    pub fn ptx_version(self) -> &'static str {
        match self.number {
            107 => "9.4",
            _ => "9.0",
        }
    }

    /// `count` of the targets `all` of a case or program, spread over them. Its name and `turn`
    /// choose the first.
    pub fn some(name: &str, all: &[Self], count: usize, turn: usize) -> Vec<Self> {
        if all.len() <= count {
            return all.to_vec();
        }
        let first = name.bytes().map(usize::from).sum::<usize>() + turn;
        let mut at: Vec<usize> =
            (0..count).map(|i| (first + i * all.len() / count) % all.len()).collect();
        at.sort_unstable();
        at.into_iter().map(|i| all[i]).collect()
    }

    /// Whether executables for it also hold Mercury code.
    pub fn is_mercury(self) -> bool {
        self.number >= 100
    }

    /// The targets of a case or program that are wanted. What is asked of sm_90
    /// is asked of the targets after it, too: of the one its name chooses, or of
    /// every one.
    pub fn wanted(name: &str, own: &[Self], wanted: &[Self], every: bool) -> Vec<Self> {
        let mut all: Vec<Self> = own.iter().copied().filter(|sm| wanted.contains(sm)).collect();
        let later: Vec<Self> =
            wanted.iter().copied().filter(|sm| sm.is_mercury() && !own.contains(sm)).collect();
        if own.contains(&Self::plain(90)) && !later.is_empty() {
            let turn: usize = name.bytes().map(usize::from).sum();
            match every {
                false => all.push(later[turn % later.len()]),
                true => all.extend(later),
            }
        }
        all
    }

    /// Whether code for an older target also links here.
    pub fn older_compatible(self) -> Option<Self> {
        match (self.number, self.suffix) {
            (86, None) => Some(Self::plain(80)),
            (89, None) => Some(Self::plain(86)),
            (90, None) => Some(Self::accelerated(90)),
            (90, Some('a')) => Some(Self::plain(90)),
            (103 | 107, None) => Some(Self::plain(100)),
            (121, None) => Some(Self::plain(120)),
            _ => None,
        }
    }
}

impl fmt::Display for Sm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.number)?;
        self.suffix.map_or(Ok(()), |suffix| write!(f, "{suffix}"))
    }
}

/// What host code is said to refer to: the six lists of a host object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostRefs {
    /// Patterns of kernels with external linkage.
    pub kernels: Vec<String>,
    /// Patterns of kernels with internal linkage.
    pub static_kernels: Vec<String>,
    /// Device variables.
    pub variables: Vec<String>,
    /// Constant variables.
    pub constants: Vec<String>,
}

/// How a compiled module is handed to the linker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pack {
    /// As a bare `.cubin`.
    Cubin,
    /// Inside a host object like those of `nvcc -dc`.
    Object(HostRefs),
    /// Inside a host object in the archive of that name.
    Archive(HostRefs, String),
    /// As a `.fatbin` container.
    Fatbin,
}

/// A compiler of modules. Where an older one is not at hand the toolkit's own takes its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compiler {
    /// That of the toolkit.
    #[default]
    Current,
    /// CUDA 12.9: the older ABI.
    Cuda12,
    /// CUDA 12.0: the same without the flags and attributes that came later.
    Cuda120,
}

/// What the linker gets of a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Machine code of ptxas.
    #[default]
    Machine,
    /// The PTX itself: bare where machine code would be a bare cubin, else in a container.
    Ptx {
        /// Whether the container has it compressed.
        compressed: bool,
    },
}

/// A source to compile.
#[derive(Clone, Debug)]
pub struct Module {
    /// Base name of its files.
    pub name: String,
    /// PTX text.
    pub ptx: String,
    /// Further options for ptxas.
    pub flags: Vec<String>,
    /// What compiles it.
    pub compiler: Compiler,
    /// Target it is compiled for.
    pub sm: Sm,
    /// What of it the linker gets.
    pub form: Form,
    /// How the linker gets it.
    pub pack: Pack,
}

impl Module {
    /// A name for what `compiler` makes of it.
    pub fn key(&self, compiler: Compiler) -> String {
        let release = match compiler {
            Compiler::Current => "13",
            Compiler::Cuda12 => "12",
            Compiler::Cuda120 => "12.0",
        };
        tools::content_key(&[
            self.ptx.as_bytes(),
            self.flags.join(" ").as_bytes(),
            self.sm.to_string().as_bytes(),
            release.as_bytes(),
        ])
    }

    /// File name on the linker's command line.
    pub fn file(&self) -> String {
        match &self.pack {
            Pack::Cubin if self.form != Form::Machine => format!("{}.ptx", self.name),
            Pack::Cubin => format!("{}.cubin", self.name),
            Pack::Object(_) => format!("{}.o", self.name),
            Pack::Archive(_, archive) => archive.clone(),
            Pack::Fatbin => format!("{}.fatbin", self.name),
        }
    }
}

/// One run of the linker. All names are relative to the case's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Short name for reports.
    pub label: String,
    /// Target.
    pub sm: Sm,
    /// Input files, in order.
    pub inputs: Vec<String>,
    /// Options other than the target, inputs and output.
    pub args: Vec<String>,
    /// Output file name.
    pub output: String,
    /// Exit status nvlink must have, where the case says so.
    pub expected: Option<i32>,
    /// Side file the linker is asked for, compared as well.
    pub side_file: Option<String>,
}

impl Link {
    /// Stands for the toolkit's folder of libraries in arguments.
    pub const LIBRARIES: &str = "{lib}";
    /// Stands for a folder that has `lib64/libnvvm.so`.
    pub const NVVM: &str = "{nvvm}";

    /// Whether it takes a library of the toolkit.
    pub fn takes_library(&self) -> bool {
        self.args.iter().any(|arg| arg.contains(Self::LIBRARIES))
    }

    /// Whether its output is an input of links.
    pub fn is_relocatable(&self) -> bool {
        self.args.iter().any(|arg| arg == "-r")
    }

    /// Whether it optimizes LTO-IR.
    pub fn is_lto(&self) -> bool {
        self.args.iter().any(|arg| arg == "-dlto")
    }
}

/// A program and the links to compare.
#[derive(Clone, Debug)]
pub struct Case {
    /// Name, unique within a run.
    pub name: String,
    /// Target.
    pub sm: Sm,
    /// Sources.
    pub modules: Vec<Module>,
    /// Inputs that exist already: name in the case's folder, and path.
    pub files: Vec<(String, PathBuf)>,
    /// Other files that links name: name in the case's folder, and bytes.
    pub contents: Vec<(String, Vec<u8>)>,
    /// Links in order; a later one may use the output of an earlier one.
    pub links: Vec<Link>,
    /// How often each feature occurs.
    pub features: BTreeMap<&'static str, usize>,
    /// What refusal the program was built to provoke, if any.
    pub conflict: Option<&'static str>,
}

/// Names and bytes of an archive's members.
type Members = Vec<(String, Vec<u8>)>;

impl Case {
    /// Whether all code of a link is compiled from sources of these tests: only that may be
    /// disassembled. A link may take the output of another one, which must not take a library either.
    pub fn is_our_own(&self, link: &Link) -> bool {
        // Other files come from libraries.
        let compiled = self.files.is_empty() || self.name.starts_with("cuda-");
        let mut sources = self.links.iter().filter(|other| link.inputs.contains(&other.output));
        compiled && !link.takes_library() && !sources.any(Link::takes_library)
    }

    /// Puts all inputs into `folder`. `image` gives what comes of a module: machine code, or PTX,
    /// which is in a container already if it is not to be bare.
    pub fn write_inputs(
        &self,
        folder: &Path,
        mut image: impl FnMut(&Module) -> Result<Vec<u8>, String>,
    ) -> Result<(), String> {
        let io = |e: io::Error| format!("{}: {e}", folder.display());
        let mut archives: Vec<(&str, Members)> = Vec::new();
        for (name, path) in &self.files {
            fs::hard_link(path, folder.join(name))
                .or_else(|_| fs::copy(path, folder.join(name)).map(drop))
                .map_err(io)?;
        }
        for (name, bytes) in &self.contents {
            fs::write(folder.join(name), bytes).map_err(io)?;
        }
        for module in &self.modules {
            let image = image(module)?;
            let id = format!("_diff_{}", module.name);
            let container = || match module.form {
                Form::Machine => hostobj::fatbin(&image, module.sm),
                Form::Ptx { .. } => image.clone(),
            };
            let bytes = match &module.pack {
                Pack::Cubin => image,
                Pack::Fatbin => container(),
                Pack::Object(refs) => hostobj::object(&container(), &id, refs),
                Pack::Archive(refs, archive) => {
                    let member =
                        (format!("{}.o", module.name), hostobj::object(&container(), &id, refs));
                    match archives.iter_mut().find(|(name, _)| name == archive) {
                        Some((_, members)) => members.push(member),
                        None => archives.push((archive, vec![member])),
                    }
                    continue;
                }
            };
            fs::write(folder.join(module.file()), bytes).map_err(io)?;
        }
        for (name, members) in archives {
            fs::write(folder.join(name), hostobj::archive(&members)).map_err(io)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_reach_every_target() {
        let all = Sm::CLASSIC;
        for (count, turns) in [(1, 8), (3, 8), (4, 4)] {
            let mut seen = std::collections::BTreeSet::new();
            for turn in 0..turns {
                let some = Sm::some("a-case", &all, count, turn);
                assert_eq!(some.len(), count);
                assert!(some.is_sorted());
                seen.extend(some);
            }
            assert_eq!(seen.len(), all.len(), "{count} in {turns} turns");
        }
        assert_eq!(Sm::some("a-case", &all[..2], 3, 1), all[..2]);
    }
}
