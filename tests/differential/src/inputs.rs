//! Cases of machine code made into cases of PTX: the linker gets the text, in every kind of
//! container, and compiles it itself.

use crate::generate;
use crate::program::{Case, Compiler, Form, HostRefs, Module, Pack, Sm};
use crate::rng::Rng;

/// What the inputs of links are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inputs {
    /// Machine code.
    #[default]
    Machine,
    /// PTX, alone or with machine code.
    Ptx,
    /// LTO-IR, alone or with either of these.
    Lto,
}

impl Inputs {
    /// Reads `machine`, `ptx` or `lto`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "machine" => Some(Self::Machine),
            "ptx" => Some(Self::Ptx),
            "lto" => Some(Self::Lto),
            _ => None,
        }
    }
}

/// Stream of the generator that chooses forms and options.
const FORMS: u64 = 3;
/// The archive of modules that were bare.
const ARCHIVE: &str = "libptx.a";
/// Options of nvlink that change what ptxas does, and what has none of these.
const OPTIONS: &[&str] = &[
    "",
    "",
    "",
    "-maxrregcount=32",
    "-maxrregcount=64",
    "-Xptxas=-O1",
    "-Xptxas=-O0,-v",
    "-Xptxas=-v",
    "-Xptxas=-maxrregcount=40",
    "-Xptxas=--device-stack-protector=true",
    "-g",
    "-split-compile=2",
    "-device-stack-protector=true",
];
/// Options of ptxas that a container stores.
const STORED: &[&str] = &["-maxrregcount 40", "-lineinfo", "-O1", "-g"];

/// nvlink drops a bare PTX file for older targets, which warpld links (`bare-ptx-older.case`).
fn links_bare(sm: Sm) -> bool {
    sm.number >= 90
}

/// The random program of a seed, most often of PTX for the target itself, else for an older one.
pub fn random(seed: u64, sm: Sm, links: usize) -> Case {
    let mut rng = Rng::new(seed, FORMS);
    let older = [Sm::plain(75), Sm::plain(80), Sm::plain(90)];
    let text = match rng.below(older.len() * 4) {
        at if at < older.len() && older[at].number < sm.number => older[at],
        _ => sm,
    };
    let mut case = generate::program(seed, text, links);
    case.sm = sm;
    case.name = format!("s{seed}-{sm}-ptx");
    case.links.iter_mut().for_each(|link| link.sm = sm);
    let only_ptx = text != sm;
    convert(&mut case, &mut rng, only_ptx);
    case
}

/// The named case `case` of PTX; none if it is about machine code alone.
pub fn named(mut case: Case) -> Option<Case> {
    let seed = case.name.bytes().fold(5381_u64, |sum, c| sum.wrapping_mul(33) ^ u64::from(c));
    case.name += "-ptx";
    case.links.iter_mut().for_each(|link| link.expected = None);
    convert(&mut case, &mut Rng::new(seed, FORMS), false).then_some(case)
}

/// Whether a module can be given as PTX: its compiler is the one that the linker will run, which
/// does not make whole programs.
fn is_convertible(module: &Module) -> bool {
    module.compiler == Compiler::Current && !module.flags.iter().any(|flag| flag == "-ewp")
}

/// Makes PTX of all modules (where `only_ptx` is set) or of some; whether there is one.
fn convert(case: &mut Case, rng: &mut Rng, only_ptx: bool) -> bool {
    let chosen = if only_ptx || rng.chance(60) { 100 } else { 50 };
    let into_archive = rng.chance(20);
    let sm = case.sm;
    let mut converted = 0;
    for i in 0..case.modules.len() {
        let module = &mut case.modules[i];
        if only_ptx {
            module.compiler = Compiler::Current;
        }
        if !is_convertible(module) || !rng.chance(chosen) {
            continue;
        }
        let before = module.file();
        become_ptx(module, rng, sm, into_archive);
        let after = module.file();
        case.links.iter_mut().for_each(|link| rename(&mut link.inputs, &before, &after));
        converted += 1;
    }
    if converted == 0 {
        return false;
    }
    for link in &mut case.links {
        let option = *rng.pick(OPTIONS);
        if !option.is_empty() && !link.args.iter().any(|arg| arg == option) {
            link.args.push(option.to_owned());
        }
        if rng.chance(40) {
            by_name(&mut link.inputs, &mut link.args);
        }
    }
    count(case, converted);
    true
}

/// Chooses the container of a module, and what is stored beside its PTX.
fn become_ptx(module: &mut Module, rng: &mut Rng, sm: Sm, into_archive: bool) {
    module.form = Form::Ptx { compressed: rng.chance(60) };
    if module.pack == Pack::Cubin {
        let refs = || HostRefs { kernels: kernels(&module.ptx), ..HostRefs::default() };
        let can_be_bare = links_bare(sm) && module.flags.is_empty();
        module.pack = match rng.below(100) {
            0..45 if can_be_bare => Pack::Cubin,
            _ if into_archive && rng.chance(50) => Pack::Archive(refs(), ARCHIVE.into()),
            45..70 => Pack::Object(refs()),
            _ => Pack::Fatbin,
        };
    }
    if module.pack != Pack::Cubin && module.flags.is_empty() && rng.chance(25) {
        module.flags = rng.pick(STORED).split(' ').map(str::to_owned).collect();
    }
}

/// The names of the kernels of a PTX text.
fn kernels(ptx: &str) -> Vec<String> {
    let entries = ptx.split(".entry").skip(1);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    entries
        .map(|text| text.trim_start().chars().take_while(|&c| is_name(c)).collect::<String>())
        .filter(|name| !name.is_empty())
        .collect()
}

/// Puts `after` in the place of `before`, unless it is there already.
fn rename(inputs: &mut Vec<String>, before: &str, after: &str) {
    let is_there = before != after && inputs.iter().any(|input| input == after);
    inputs.retain_mut(|input| {
        if input != before {
            return true;
        }
        after.clone_into(input);
        !is_there
    });
}

/// Names archives by `-l` instead of as files.
fn by_name(inputs: &mut Vec<String>, args: &mut Vec<String>) {
    inputs.retain(|input| {
        let name = input.strip_prefix("lib").and_then(|name| name.strip_suffix(".a"));
        if let Some(name) = name {
            args.extend(["-L.".into(), format!("-l{name}")]);
        }
        name.is_none()
    });
}

/// Counts the links with each kind of container.
fn count(case: &mut Case, converted: usize) {
    let mut add = |feature, links: usize| {
        if links > 0 {
            *case.features.entry(feature).or_default() += links;
        }
    };
    let kinds = [".ptx", ".fatbin", ".o", ".a"];
    let features = ["ptx-bare", "ptx-in-fatbin", "ptx-in-object", "ptx-in-archive"];
    for (end, feature) in kinds.into_iter().zip(features) {
        let holds = |m: &Module| m.form != Form::Machine && m.file().ends_with(end);
        let files: Vec<String> =
            case.modules.iter().filter(|m| holds(m)).map(Module::file).collect();
        add(
            feature,
            case.links.iter().filter(|l| l.inputs.iter().any(|i| files.contains(i))).count(),
        );
    }
    add("ptx-in-library", case.links.iter().filter(|l| l.args.iter().any(|a| a == "-L.")).count());
    let machine = case.modules.len() - converted;
    add("ptx-and-machine-code", if machine > 0 { case.links.len() } else { 0 });
    let older =
        case.modules.iter().any(|m| m.form != Form::Machine && m.sm.number < case.sm.number);
    add("ptx-for-older-target", if older { case.links.len() } else { 0 });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_follow_their_modules() {
        let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let mut inputs = names(&["a.cubin", "b.cubin", "c.cubin"]);
        rename(&mut inputs, "a.cubin", ARCHIVE);
        rename(&mut inputs, "b.cubin", ARCHIVE);
        rename(&mut inputs, "c.cubin", "c.ptx");
        assert_eq!(inputs, [ARCHIVE, "c.ptx"]);
        let mut args = Vec::new();
        by_name(&mut inputs, &mut args);
        assert_eq!((inputs, args), (names(&["c.ptx"]), names(&["-L.", "-lptx"])));
        assert_eq!(kernels(".visible .entry k1(.param .u64 p)\n.entry k2 ()"), ["k1", "k2"]);
    }

    #[test]
    fn every_container_occurs_and_older_targets_get_no_bare_file() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..60 {
            for sm in [Sm::plain(86), Sm::accelerated(90)] {
                let case = random(seed, sm, 3);
                seen.extend(case.features.keys().filter(|f| f.starts_with("ptx-")).copied());
                let bare = case.modules.iter().any(|m| m.file().ends_with(".ptx"));
                assert!(!bare || sm.number >= 90, "{}", case.name);
            }
        }
        assert_eq!(seen.len(), 7, "{seen:?}");
    }
}
