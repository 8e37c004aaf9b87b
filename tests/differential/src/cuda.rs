//! Programs in CUDA C++: compiled once with nvcc, then linked in many ways.

use crate::cli::Options;
use crate::inputs::Inputs;
use crate::program::{Case, Link, Sm};
use crate::release::Release;
use crate::tools::{self, Tools};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A line of `programs.txt`.
#[derive(Clone)]
pub struct Program {
    pub name: String,
    pub sources: Vec<String>,
    pub flags: Vec<String>,
    pub sms: Vec<Sm>,
    cubins: bool,
    base: Vec<String>,
}

pub fn read_programs(folder: &Path) -> Result<Vec<Program>, String> {
    let path = folder.join("programs.txt");
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut programs = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        let [name, sources, flags, sms, kind, base] = fields[..] else {
            return Err(format!("{}: not six fields: {line}", path.display()));
        };
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        programs.push(Program {
            name: name.into(),
            sources: words(sources),
            flags: words(flags),
            sms: Sm::parse_list(sms, Release::BASE).ok_or(format!("unknown targets {sms}"))?,
            cubins: kind == "cubin",
            base: words(base),
        });
    }
    Ok(programs)
}

/// Something nvcc has to make.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unit {
    pub source: String,
    pub flags: Vec<String>,
    /// Options that name the targets and the kind of output.
    pub targets: Vec<String>,
}

/// Options for one object with code for all of `sms`: one front-end pass for
/// the plain targets, one more for each with a suffix.
pub fn object_targets(sms: &[Sm]) -> Vec<String> {
    let plain: Vec<&Sm> = sms.iter().filter(|sm| sm.suffix.is_none()).collect();
    let mut out = vec!["-dc".to_owned()];
    if let Some(oldest) = plain.iter().map(|sm| sm.number).min() {
        let codes: Vec<String> = plain.iter().map(|sm| sm.to_string()).collect();
        out.push(format!("-gencode=arch=compute_{oldest},code=[{}]", codes.join(",")));
    }
    for sm in sms.iter().filter(|sm| sm.suffix.is_some()) {
        let name = sm.to_string();
        out.push(format!("-gencode=arch={},code={name}", name.replace("sm_", "compute_")));
    }
    out
}

/// Compiles what the programs in `folder` need and returns their cases.
pub fn cases(options: &Options, folder: &Path) -> Result<Vec<Case>, String> {
    let (tools, sms) = (&options.tools, &options.sms);
    let folder = &std::path::absolute(folder).map_err(|e| e.to_string())?;
    let mut programs = Vec::new();
    let all = read_programs(folder)?;
    for program in all.into_iter().filter(|program| options.is_in_part(&program.name)) {
        if options.skip.contains(&program.name) {
            continue;
        }
        // Objects for classic and for later targets are compiled apart.
        let (classic, later): (Vec<Sm>, Vec<Sm>) =
            sms.iter().partition(|sm: &&Sm| !sm.is_mercury());
        let later = Sm::wanted(&program.name, &program.sms, &later, options.every_sm);
        if program.sms.iter().any(|sm| classic.contains(sm)) {
            programs.push(program.clone());
        }
        if !later.is_empty() {
            programs.push(Program { sms: later, ..program });
        }
    }
    let mut turns = Vec::new();
    for program in &programs {
        let wanted: Vec<Sm> = program.sms.iter().copied().filter(|sm| sms.contains(sm)).collect();
        turns.extend(options.some(&program.name, &wanted).into_iter().map(|sm| (program, sm)));
    }
    let units = |&(program, sm): &(&Program, Sm)| program.units(sm, options.inputs);
    let mut wanted: Vec<Unit> = turns.iter().flat_map(units).map(|(unit, _)| unit).collect();
    wanted.sort();
    wanted.dedup();
    let made = compile_all(tools, folder, options.settings.jobs, &wanted)?;
    turns.into_iter().map(|(program, sm)| case(program, sm, options.inputs, &made)).collect()
}

impl Program {
    /// What is compiled for a target, and the file name of each in the case's folder.
    fn units(&self, sm: Sm, inputs: Inputs) -> Vec<(Unit, String)> {
        let words = |list: &[&str]| list.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let unit = |(i, source): (usize, &String)| {
            let arch = format!("-arch={sm}");
            let (targets, suffix) = match (self.cubins, inputs == Inputs::Ptx && self.is_ptx(i)) {
                (true, false) => (words(&["-dc", "-cubin", &arch]), "cubin"),
                (false, false) => (object_targets(&self.sms), "o"),
                (true, true) if sm.number >= 90 => {
                    (words(&["-dc", "-ptx", &arch.replace("sm_", "compute_")]), "ptx")
                }
                (true, true) => ([ptx_targets(&self.sms), words(&["-fatbin"])].concat(), "fatbin"),
                (false, true) => (ptx_targets(&self.sms), "o"),
            };
            let name = format!("{}.{suffix}", source.trim_end_matches(".cu"));
            (Unit { source: source.clone(), flags: self.flags.clone(), targets }, name)
        };
        self.sources.iter().enumerate().map(unit).collect()
    }

    /// Whether the linker gets a source as PTX: all of them, or in one of three programs the first
    /// and every other one.
    fn is_ptx(&self, i: usize) -> bool {
        let turn: usize = self.name.bytes().map(usize::from).sum();
        !turn.is_multiple_of(3) || i.is_multiple_of(2)
    }
}

/// Options for one object with PTX that all of `sms` take.
fn ptx_targets(sms: &[Sm]) -> Vec<String> {
    let oldest = sms.iter().map(|sm| sm.number).min().unwrap_or(75);
    vec!["-dc".into(), format!("-gencode=arch=compute_{oldest},code=compute_{oldest}")]
}

fn case(
    program: &Program,
    sm: Sm,
    inputs: Inputs,
    made: &BTreeMap<Unit, PathBuf>,
) -> Result<Case, String> {
    let mut files = Vec::new();
    for (unit, name) in program.units(sm, inputs) {
        let path = made.get(&unit).ok_or(format!("{} was not compiled", unit.source))?;
        files.push((name, path.clone()));
    }
    let kind = if inputs == Inputs::Ptx { "-ptx" } else { "" };
    let names: Vec<String> = files.iter().map(|(name, _)| name.clone()).collect();
    Ok(Case {
        name: format!("cuda-{}-{sm}{kind}", program.name),
        sm,
        modules: Vec::new(),
        files,
        contents: Vec::new(),
        links: links(program, sm, inputs, &names),
        features: BTreeMap::new(),
        conflict: None,
    })
}

/// The links of machine code, and of PTX, that only the other has not.
const ONLY_MACHINE: [&str; 5] =
    ["g-suppressed", "preserve-relocs", "force-rela", "verbose", "callgraph"];
const ONLY_PTX: [&str; 3] = ["maxrregcount", "xptxas", "xptxas-v"];

/// The same set of links for every program.
fn links(program: &Program, sm: Sm, kind: Inputs, inputs: &[String]) -> Vec<Link> {
    let reversed: Vec<String> = inputs.iter().rev().cloned().collect();
    let relink = vec!["relink-1.cubin".to_owned()];
    let sets: &[(&str, &[String], &str)] = &[
        ("plain", inputs, ""),
        ("reversed", &reversed, ""),
        (
            "nvcc-like",
            inputs,
            "-m64 -cpu-arch=X86_64 -lcudadevrt -L{lib} --register-link-binaries=reg.c",
        ),
        ("g", inputs, "-g"),
        ("g-suppressed", inputs, "-g -suppress-debug-info"),
        ("relink-1", inputs, "-r"),
        ("relink-2", &relink, ""),
        ("ignore-host-info", inputs, "--ignore-host-info"),
        ("kernels-used", inputs, "--kernels-used=a,e"),
        ("preserve-relocs", inputs, "--preserve-relocs"),
        ("force-rela", inputs, "--force-rela"),
        ("verbose", inputs, "-v"),
        ("callgraph", inputs, "-dump-callgraph"),
        ("maxrregcount", inputs, "-maxrregcount=40"),
        ("xptxas", inputs, "-Xptxas=-O1"),
        ("xptxas-v", inputs, "-v -Xptxas=-v"),
    ];
    let left_out: &[&str] = if kind == Inputs::Ptx { &ONLY_MACHINE } else { &ONLY_PTX };
    sets.iter()
        .filter(|(label, ..)| !left_out.contains(label))
        .map(|&(label, inputs, args)| {
            let mut args: Vec<String> = args.split_whitespace().map(str::to_owned).collect();
            if label != "nvcc-like" {
                args.extend(program.base.iter().cloned());
            }
            Link {
                label: label.into(),
                sm,
                inputs: inputs.to_vec(),
                side_file: args
                    .iter()
                    .find_map(|a| a.strip_prefix("--register-link-binaries=").map(str::to_owned)),
                args,
                output: format!("{label}.cubin"),
                expected: None,
            }
        })
        .collect()
}

/// Runs nvcc for the units that are not in the cache; where each one lies.
pub fn compile_all(
    tools: &Tools,
    folder: &Path,
    jobs: usize,
    units: &[Unit],
) -> Result<BTreeMap<Unit, PathBuf>, String> {
    let headers = headers(folder)?;
    let next = AtomicUsize::new(0);
    let made = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        let work = || -> Result<(), String> {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(unit) = units.get(at) else { return Ok(()) };
                let path = compile(tools, folder, unit, &headers)?;
                made.lock().map_err(|e| e.to_string())?.insert(unit.clone(), path);
            }
        };
        let threads: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| "nvcc thread panicked".to_owned())?)
    })?;
    made.into_inner().map_err(|e| e.to_string())
}

/// The headers of the folder, whose content is part of every key.
fn headers(folder: &Path) -> Result<Vec<u8>, String> {
    let mut all = Vec::new();
    let mut names: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(|e| e.to_string())?
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "h"))
        .collect();
    names.sort();
    for name in names {
        all.extend(fs::read(name).map_err(|e| e.to_string())?);
    }
    Ok(all)
}

/// The `.cuh` file of a source: what comes before the last `_` of its name. Unlike
/// others it is a part of the keys of its own sources only.
fn own_header(folder: &Path, source: &str) -> Result<Vec<u8>, String> {
    let Some((program, _)) = source.rsplit_once('_') else { return Ok(Vec::new()) };
    let path = folder.join(format!("{program}.cuh"));
    if !path.exists() {
        return Ok(Vec::new());
    }
    fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))
}

fn compile(tools: &Tools, folder: &Path, unit: &Unit, headers: &[u8]) -> Result<PathBuf, String> {
    let source = folder.join(&unit.source);
    let text = fs::read(&source).map_err(|e| format!("{}: {e}", source.display()))?;
    let flags = [unit.flags.join(" "), unit.targets.join(" ")].join(" ");
    let text = [text, own_header(folder, &unit.source)?].concat();
    let key = tools::content_key(&[&text, headers, flags.as_bytes(), unit.source.as_bytes()]);
    let cached = tools.cache().join(format!("{key}.nvcc"));
    if cached.exists() {
        return Ok(cached);
    }
    let work = tools.cases("run").join(&key);
    fs::create_dir_all(&work).map_err(|e| e.to_string())?;
    let output = work.join("out");
    let mut command = Command::new(tools.compiler("nvcc"));
    command.args(&unit.targets).args(&unit.flags).arg("-w").arg(&source).arg("-o").arg(&output);
    let outcome = tools::run(&mut command, &work, "nvcc.log").map_err(|e| e.to_string())?;
    if outcome.status != Some(0) {
        return Err(format!("nvcc {} failed: {}", unit.source, outcome.text.trim()));
    }
    tools::publish(&output, &cached).map_err(|e| e.to_string())?;
    fs::remove_dir_all(&work).map_err(|e| e.to_string())?;
    Ok(cached)
}
