//! The command line.

use crate::cuda;
use crate::generate;
use crate::hazards::{self, Pool};
use crate::inputs::{self, Inputs};
use crate::jit;
use crate::judge;
use crate::lto;
use crate::matrix;
use crate::named;
use crate::nccl;
use crate::nvshmem;
use crate::place::Place;
use crate::program::Sm;
use crate::recorded::{self, Recording, Replay, record, replay};
use crate::release::Release;
use crate::runner::{self, Job, Known, Settings};
use crate::shipped;
use crate::tools::Tools;
use std::fs;
use std::path::PathBuf;

const HELP: &str = "\
differential run [options]        random programs (and what --with names)
differential soak [options]       the same for many seeds: --seeds 1000000..1005000 by default
differential case [NAME]          the named cases (or those with NAME in their name)
differential record [NAME]        records the cases for tests without a toolkit
differential replay [NAME]        links the recorded cases again; needs no toolkit
differential shipped LIBRARY      repeats the device link of a library that ships its inputs
differential nvjitlink REAL OURS  links random programs by two libraries: NVIDIA's libnvJitLink and ours
differential hazards INPUT... OUTPUT   proves that the output waits for all that it depends on
differential gen SEED --out DIR   writes a program's PTX files and command lines

options
  --release R       release of nvlink: 13.4 or 13.4.92; by default, that of the toolkit
  --toolkit DIR     folder with bin/nvlink and bin/ptxas (default: what scripts/toolkit.sh has for
                    --release; without that, $TOOLKIT_ROOT)
  --objects-of R    a release or toolkit folder whose ptxas and nvcc make the objects
  --twin R          nvlink of that release takes the place of warpld
  --warpld PATH     the linker under test; without it nvlink runs alone
  --ptxas12 PATH    ptxas of CUDA 12.9 for modules in the older ABI
  --ptxas120 PATH   ptxas of CUDA 12.0 for the oldest objects
  --work DIR        objects, running and failed cases (default: target/differential)
  --seeds A..B,C    seeds of random programs
  --name TEXT       only cases whose name contains TEXT
  --cuda DIR        also the CUDA C++ programs of that folder
  --inputs KIND     machine, ptx or lto: what links get of each source (default: machine)
  --with-toolkit    warpld is told of the toolkit, also for links of machine code: those that need a
                    compiler are handed over to nvlink
  --without-nvlink  compilers for warpld are ptxas and libnvJitLink alone
  --sm LIST         classic, mercury, all or names with commas (default: classic)
  --skip A,B        without the CUDA C++ programs of these names
  --matrix          also the objects of every Blackwell target linked for every such target
  --nccl FILE       also the device link of that libnccl.so.2
  --nvshmem DIR     also the program that uses NVSHMEM, of which DIR holds include and lib
  --cases DIR       also the named cases of that folder
  --targets-each N  the named cases and CUDA C++ programs on N of their targets in rotation, not on all
  --part I/N        part I of N of the named cases and CUDA C++ programs
  --every-sm        each seed on every target, not on one of them in turn
  --links N         links per program (default 3)
  --jobs N          threads (default 2)
  --label NAME      only the links of that name, such as plain
  --boards          also counts kernels with nvlink's scoreboards, with and without --no-rescoreboard,
                    and lists the others
  --hazards         also proves this of every Blackwell link, for the outputs of both linkers
  --kept            and for warpld's with --no-rescoreboard
  --faults N        seeds faults into functions that were proved until there are N of each kind (default 0)
  --nvdisasm PATH   lists code for that (default: the toolkit's)
  --reduce          reduce failing cases
  --keep            keep the folders of all cases
  --known FILE      links (case, label, releases) that are known to differ; they do not fail the run
  --list-new FILE   writes the names of links that differ and are not known
  --statistics      print features, options and refusals
  --messages        differing messages are failures, too
  --out DIR         folder of recordings (default: tests/recorded) or of the program
  --check           record: write nothing, fail if something would be written
  --shown N         failures printed in full (default 20)
";

/// Options common to all commands.
pub struct Options {
    pub tools: Tools,
    pub seeds: Vec<u64>,
    pub sms: Vec<Sm>,
    pub inputs: Inputs,
    pub every_sm: bool,
    pub links: usize,
    pub settings: Settings,
    pub out: Option<PathBuf>,
    pub cuda: Option<PathBuf>,
    pub nccl: Option<PathBuf>,
    pub nvshmem: Option<PathBuf>,
    pub cases: Option<PathBuf>,
    pub names: Vec<String>,
    pub only: Option<String>,
    pub skip: Vec<String>,
    pub matrix: bool,
    pub check: bool,
    /// How many targets a named case or program runs on.
    pub targets_each: usize,
    /// Which part of the named cases and programs runs, and of how many.
    pub part: (usize, usize),
}

impl Options {
    /// Whether a named case or program is in the wanted part.
    pub fn is_in_part(&self, name: &str) -> bool {
        let (part, parts) = self.part;
        // By the name alone: a new case does not move the others.
        let number = name.bytes().fold(7_usize, |sum, c| sum * 31 % 1_000_003 + usize::from(c));
        number % parts == part % parts
    }

    /// Those of a case's targets that it runs on. Each release of the objects has its turn.
    pub fn some(&self, name: &str, targets: &[Sm]) -> Vec<Sm> {
        Sm::some(name, targets, self.targets_each, self.tools.compiled_by().minor.into())
    }
}

fn parse(args: &[String], needs_toolkit: bool) -> Result<Options, String> {
    let mut options = Options {
        tools: Tools {
            toolkit: std::env::var_os("TOOLKIT_ROOT").unwrap_or_default().into(),
            release: Release::BASE,
            compilers: None,
            twin: None,
            ptxas12: None,
            ptxas120: None,
            warpld: None,
            gives_compilers: false,
            without_nvlink: false,
            nvdisasm: None,
            work: PathBuf::from("target/differential"),
        },
        seeds: Vec::new(),
        sms: Vec::new(),
        inputs: Inputs::default(),
        every_sm: false,
        links: 3,
        settings: Settings {
            jobs: 2,
            hazards: false,
            kept: false,
            boards: false,
            label: None,
            faults: 0,
            reduce: false,
            keep: false,
            statistics: false,
            shown: 20,
            messages: false,
            known: Default::default(),
            list_new: None,
        },
        out: None,
        cuda: None,
        nccl: None,
        nvshmem: None,
        cases: None,
        names: Vec::new(),
        only: None,
        skip: Vec::new(),
        matrix: false,
        check: false,
        targets_each: usize::MAX,
        part: (0, 1),
    };
    let mut sms = "classic".to_owned();
    let mut place = Place::default();
    let mut known = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        let number =
            |text: &String| text.parse::<usize>().map_err(|_| format!("{text} is no number"));
        match arg.as_str() {
            "--release" => place.release = Some(value()?.clone()),
            "--toolkit" => place.toolkit = Some(value()?.into()),
            "--objects-of" => place.objects = Some(value()?.clone()),
            "--twin" => place.twin = Some(value()?.clone()),
            "--warpld" => options.tools.warpld = Some(value()?.into()),
            "--ptxas12" => options.tools.ptxas12 = Some(value()?.into()),
            "--ptxas120" => options.tools.ptxas120 = Some(value()?.into()),
            "--work" => options.tools.work = value()?.into(),
            "--seeds" => options.seeds = seeds(value()?)?,
            "--sm" => sms.clone_from(value()?),
            "--inputs" => {
                let kind = value()?;
                options.inputs = Inputs::parse(kind).ok_or(format!("no inputs {kind}"))?;
            }
            "--with-toolkit" => options.tools.gives_compilers = true,
            "--without-nvlink" => options.tools.without_nvlink = true,
            "--targets-each" => options.targets_each = number(value()?)?.max(1),
            "--part" => {
                let text = value()?;
                let wrong = || format!("a part is I/N, not {text}");
                let (part, parts) = text.split_once('/').ok_or_else(wrong)?;
                let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
                options.part = (number(part)?, number(parts)?.max(1));
            }
            "--cuda" => options.cuda = Some(value()?.into()),
            "--nccl" => options.nccl = Some(value()?.into()),
            "--nvshmem" => options.nvshmem = Some(value()?.into()),
            "--cases" => options.cases = Some(value()?.into()),
            "--every-sm" => options.every_sm = true,
            "--links" => options.links = number(value()?)?,
            "--jobs" => options.settings.jobs = number(value()?)?.max(1),
            "--boards" => options.settings.boards = true,
            "--label" => options.settings.label = Some(value()?.clone()),
            "--hazards" => options.settings.hazards = true,
            "--kept" => options.settings.kept = true,
            "--nvdisasm" => options.tools.nvdisasm = Some(value()?.into()),
            "--faults" => options.settings.faults = number(value()?)?,
            "--reduce" => options.settings.reduce = true,
            "--keep" => options.settings.keep = true,
            "--statistics" => options.settings.statistics = true,
            "--messages" => options.settings.messages = true,
            "--shown" => options.settings.shown = number(value()?)?,
            "--skip" => options.skip = value()?.split(',').map(str::to_owned).collect(),
            "--check" => options.check = true,
            "--matrix" => options.matrix = true,
            "--name" => options.only = Some(value()?.clone()),
            "--known" => {
                let path = value()?;
                let list = fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
                known.extend(runner::known(&list).map_err(|e| format!("{path}: {e}"))?);
            }
            "--list-new" => options.settings.list_new = Some(value()?.into()),
            "--out" => options.out = Some(value()?.into()),
            _ if arg.starts_with('-') => return Err(format!("unknown option {arg}\n{HELP}")),
            _ => options.names.push(arg.clone()),
        }
    }
    if needs_toolkit {
        place.find(&mut options.tools)?;
    }
    let oldest = options.tools.release.min(options.tools.compiled_by());
    options.sms = Sm::parse_list(&sms, oldest).ok_or(format!("unknown targets {sms}"))?;
    let holds = |known: &Known| known.releases.contains(options.tools.release);
    options.settings.known = known.into_iter().filter(holds).map(|known| known.link).collect();
    absolute(&mut options.tools)?;
    if options.inputs != Inputs::Machine {
        options.tools.gives_compilers = true;
        options.tools.make_nvvm().map_err(|e| format!("libnvvm: {e}"))?;
        options.tools.make_compilers().map_err(|e| format!("toolkit without nvlink: {e}"))?;
    }
    Ok(options)
}

/// Programs run in the case's folder, so relative paths would not be found.
fn absolute(tools: &mut Tools) -> Result<(), String> {
    let full = |path: &PathBuf| std::path::absolute(path).map_err(|e| e.to_string());
    if !tools.toolkit.as_os_str().is_empty() {
        tools.toolkit = full(&tools.toolkit)?;
    }
    tools.work = full(&tools.work)?;
    if let Some(warpld) = &mut tools.warpld {
        if !warpld.exists() {
            return Err(format!("no {}", warpld.display()));
        }
        *warpld = full(warpld)?;
    }
    Ok(())
}

/// Reads `3`, `0..100`, or a list of these with commas.
fn seeds(text: &str) -> Result<Vec<u64>, String> {
    let wrong = || format!("seeds are numbers or ranges A..B, not {text}");
    let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
    let mut all = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            Some((a, b)) => all.extend(number(a)?..number(b)?),
            None => all.push(number(part)?),
        }
    }
    Ok(all)
}

/// Jobs for the random programs of `options`.
fn random_jobs(options: &Options) -> Vec<Job> {
    let mut jobs = Vec::new();
    for &seed in &options.seeds {
        let turn = [options.sms[seed as usize % options.sms.len()]];
        let sms: &[Sm] = if options.every_sm { &options.sms } else { &turn };
        let job = |&sm: &Sm| Job::Random { seed, sm, links: options.links, inputs: options.inputs };
        jobs.extend(sms.iter().map(job));
    }
    jobs
}

/// Runs the command; true if everything agreed.
pub fn main(args: &[String]) -> Result<bool, String> {
    let Some((command, rest)) = args.split_first() else { return Err(HELP.into()) };
    let mut options = parse(rest, !matches!(command.as_str(), "replay" | "shipped"))?;
    match command.as_str() {
        "run" => run(&options),
        "soak" => {
            if options.seeds.is_empty() {
                options.seeds = (1_000_000..1_005_000).collect();
            }
            run(&options)
        }
        "case" => {
            options.cases.get_or_insert(named::FOLDER.into());
            options.only = options.names.first().cloned();
            run(&options)
        }
        "record" => record(&Recording {
            tools: &options.tools,
            cases: options.cases.as_deref().unwrap_or(named::FOLDER.as_ref()),
            out: options.out.as_deref().unwrap_or(recorded::FOLDER.as_ref()),
            only: options.names.first().map(String::as_str),
            jobs: options.settings.jobs,
            check: options.check,
        }),
        "replay" => replay_recorded(&options),
        "shipped" => {
            let check = |name: &String| shipped::check(&options.tools, name.as_ref(), &options.sms);
            let all: Result<Vec<bool>, String> = options.names.iter().map(check).collect();
            Ok(all?.iter().all(|good| *good) && !options.names.is_empty())
        }
        "nvjitlink" => jit::run(rest, &random_jobs(&options), options.settings.jobs),
        jit::CHILD => {
            let [theirs, ours] = &options.names[..] else {
                return Err("nvjitlink needs two libraries".into());
            };
            let libraries = jit::Libraries::open(theirs.as_ref(), ours.as_ref())?;
            let mut jobs = random_jobs(&options).into_iter();
            jobs.try_for_each(|job| libraries.run(&options.tools, &job.case()))?;
            Ok(true)
        }
        "gen" => write_program(&options),
        "hazards" => {
            let folder = options.tools.work.join("hazards");
            let pool = Pool::new(options.tools.nvdisasm(), folder, options.settings.faults);
            hazards::command(pool, &options.names)
        }
        _ => Err(HELP.into()),
    }
}

fn run(options: &Options) -> Result<bool, String> {
    let lto = options.inputs == Inputs::Lto;
    let mut jobs = if lto { Vec::new() } else { random_jobs(options) };
    let mut cases = Vec::new();
    if let Some(folder) = &options.cases {
        cases.extend(named::cases(options, folder)?);
    }
    if lto {
        cases.extend(lto::cases(options)?);
    } else if let Some(folder) = &options.cuda {
        cases.extend(cuda::cases(options, folder)?);
    }
    if let Some(library) = &options.nccl {
        cases.extend(nccl::cases(&options.tools, library, &options.sms)?);
    }
    if let Some(library) = &options.nvshmem {
        cases.extend(nvshmem::cases(options, library)?);
    }
    if options.matrix {
        cases.extend(matrix::cases(&options.tools));
    }
    if let Some(text) = &options.only {
        cases.retain(|case| case.name.contains(text));
    }
    jobs.extend(cases.into_iter().map(|case| Job::Fixed(Box::new(case))));
    let report =
        runner::run(&options.tools, &jobs, &options.settings).map_err(|e| e.to_string())?;
    report.print(&options.tools, &options.settings);
    let messages = options.settings.messages && report.messages_differ() > 0;
    Ok(report.links() > 0 && report.new_disagreements() == 0 && report.is_proved() && !messages)
}

fn replay_recorded(options: &Options) -> Result<bool, String> {
    let replayed = replay(&Replay {
        warpld: options.tools.warpld.as_deref().ok_or("replay needs --warpld")?,
        cases: options.cases.as_deref().unwrap_or(named::FOLDER.as_ref()),
        recorded: options.out.as_deref().unwrap_or(recorded::FOLDER.as_ref()),
        work: &options.tools.work.join("replay"),
        only: options.names.first().map(String::as_str),
        jobs: options.settings.jobs,
    })?;
    for failure in replayed.failures.iter().take(options.settings.shown) {
        println!("{failure}");
    }
    println!("{replayed}; {} cases fail", replayed.failures.len());
    Ok(replayed.links() > 0 && replayed.failures.is_empty())
}

fn write_program(options: &Options) -> Result<bool, String> {
    let [seed] = &options.names[..] else { return Err("gen needs one seed".into()) };
    let seed: u64 = seed.parse().map_err(|_| "the seed is a number")?;
    let out = options.out.clone().ok_or("gen needs --out")?;
    let sm = options.sms[seed as usize % options.sms.len()];
    let case = match options.inputs {
        Inputs::Ptx => inputs::random(seed, sm, options.links),
        _ => generate::program(seed, sm, options.links),
    };
    let io = |e: std::io::Error| e.to_string();
    fs::create_dir_all(out.join("n")).map_err(io)?;
    fs::create_dir_all(out.join("w")).map_err(io)?;
    for module in &case.modules {
        fs::write(out.join(format!("{}.ptx", module.name)), &module.ptx).map_err(io)?;
    }
    options.tools.prepare(&case, &out)?;
    fs::write(out.join("cmd"), judge::command_lines(&options.tools, &case)).map_err(io)?;
    Ok(true)
}
