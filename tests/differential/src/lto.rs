//! Programs of LTO-IR: those of `programs.txt` and random ones, linked whole, in part, out of
//! archives and with the options that reach the compilers.

use crate::cli::Options;
use crate::cuda::{self, Unit};
use crate::generate;
use crate::hostobj;
use crate::program::{Case, Link, Sm};
use crate::tools::Tools;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A program and where its sources are.
struct Program {
    name: String,
    folder: PathBuf,
    sources: Vec<String>,
    flags: Vec<String>,
    sms: Vec<Sm>,
}

/// A link: its name, what the linker gets of the first source, of those between and of the last one
/// (see [`Kind`]), and the options beside those of all.
struct Row(&'static str, &'static str, &'static str);

/// Programs of one source have only those in which all three are alike. There is none with
/// `-split-compile-extended`, which warpld hands over to nvlink.
const ROWS: [Row; 50] = [
    Row("whole", "lll", "--register-link-binaries=reg.c"),
    Row("g", "lll", "-g"),
    Row("ignore-host-info", "lll", "-ignore-host-info"),
    Row("kernels-used", "lll", "-kernels-used=k0,k2"),
    Row("variables-used", "lll", "-variables-used=v0,c1"),
    Row("kernels-and-variables", "lll", "-kernels-used=k1 -variables-used=v1"),
    Row("xptxas", "lll", "-Xptxas=-O1"),
    Row("xptxas-v", "lll", "-Xptxas=-v,-O2"),
    Row("xnvvm-opt", "lll", "-Xnvvm=-opt=0"),
    Row("xnvvm-ftz", "lll", "-Xnvvm=-ftz=1"),
    Row("xnvvm-unknown", "lll", "-Xnvvm=-bogus"),
    Row("maxrregcount", "lll", "-maxrregcount=24"),
    Row("ofc-min", "lll", "-Ofc=min"),
    Row("ofc-mid", "lll", "-Ofc=mid"),
    Row("ofc-max", "lll", "-Ofc=max"),
    Row("split-compile", "lll", "-split-compile=2"),
    Row("stack-protector", "lll", "-device-stack-protector=true"),
    Row("relink", "lll", "-r"),
    Row("emit-ptx", "lll", "-emit-ptx"),
    Row("emit-ptx-r", "lll", "-emit-ptx -r"),
    Row("emit-ptx-kernels", "lll", "-emit-ptx -kernels-used=k0"),
    Row("emit-ptx-split", "lll", "-emit-ptx -split-compile=2"),
    Row("force-partial", "lll", "--force-partial-lto"),
    Row("verbose", "lll", "-v"),
    Row("no-device-runtime", "lll", NO_RUNTIME),
    Row("without-lto", "lll", NO_LTO),
    Row("with-ptx", "ddd", "--register-link-binaries=reg.c"),
    Row("with-ptx-without-lto", "ddd", NO_LTO),
    Row("bounded", "yyy", ""),
    Row("lines", "zzz", ""),
    Row("other-ftz", "xll", ""),
    Row("one-bounded", "yll", ""),
    Row("one-bounded-others-too", "yll", "-maxrregcount=48"),
    Row("one-with-lines", "llz", ""),
    Row("ir-file", "ill", ""),
    Row("ir-files", "iii", "-kernels-used=k0"),
    Row("fatbin", "fll", ""),
    Row("machine-first", "mll", ""),
    Row("machine-last", "llm", "--register-link-binaries=reg.c"),
    Row("machine-between", "lml", "-Xptxas=-v"),
    Row("machine-verbose", "mll", "-v"),
    Row("machine-kernels-used", "llm", "-kernels-used=k0"),
    Row("machine-options", "mll", "-Xptxas=-O1 -maxrregcount=40 -Ofc=mid"),
    Row("machine-emit-ptx", "llm", "-emit-ptx"),
    Row("machine-relink", "mll", "-r"),
    Row("ptx-last", "llp", ""),
    Row("machine-and-ptx", "mlp", "-Xptxas=-v"),
    Row("archive", "lLL", ""),
    Row("library", "lLL", "-L. -lparts"),
    Row("machine-archive", "llM", ""),
];
/// In the place of options: a link without the device runtime, and one without `-dlto`.
const NO_RUNTIME: &str = "(no runtime)";
const NO_LTO: &str = "(no lto)";
/// The archive of what a row has in capitals.
const ARCHIVE: &str = "libparts.a";

/// What the linker gets of a source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Kind(char);

impl Kind {
    /// Options of nvcc, and the suffix of the file.
    fn made(self, sms: &[Sm], ir: Sm) -> (Vec<String>, &'static str) {
        let arch = ir.to_string().replace("sm_", "compute_");
        let code = ir.to_string().replace("sm_", "lto_");
        let lto = format!("-gencode=arch={arch},code={code}");
        let (options, suffix): (Vec<&str>, _) = match self.0 {
            'm' => return (cuda::object_targets(sms), "m.o"),
            'p' => (vec!["-dc", "{ptx}"], "p.o"),
            'd' => (vec!["-dc", "-dlto", "{arch}"], "d.o"),
            'i' => (vec!["-dc", "-dlto", "-ltoir", "{arch}"], "ltoir"),
            'f' => (vec!["-dc", "-fatbin", &lto], "fatbin"),
            'x' => (vec!["-dc", "-ftz=true", &lto], "x.o"),
            'y' => (vec!["-dc", "-maxrregcount=32", &lto], "y.o"),
            'z' => (vec!["-dc", "-lineinfo", &lto], "z.o"),
            _ => (vec!["-dc", &lto], "o"),
        };
        let fill = |option: &str| {
            let ptx = format!("-gencode=arch={arch},code={arch}");
            option.replace("{ptx}", &ptx).replace("{arch}", &format!("-arch={ir}"))
        };
        (options.into_iter().map(fill).collect(), suffix)
    }
}

impl Program {
    /// What row `row` gives of source `i`, and whether it is in an archive.
    fn kind(&self, row: &Row, i: usize) -> (Kind, bool) {
        let at = match i {
            0 => 0,
            _ if i + 1 == self.sources.len() => 2,
            _ => 1,
        };
        let letter = row.1.chars().nth(at).unwrap_or('l');
        (Kind(letter.to_ascii_lowercase()), letter.is_ascii_uppercase())
    }

    /// The unit of source `i` and its file name.
    fn unit(&self, kind: Kind, i: usize, sms: &[Sm], ir: Sm) -> (Unit, String) {
        let (targets, suffix) = kind.made(sms, ir);
        let source = self.sources[i].clone();
        let name = format!("{}.{suffix}", source.trim_end_matches(".cu"));
        (Unit { source, flags: self.flags.clone(), targets }, name)
    }
}

/// A program on a target, with the rows that it has there.
struct Turn<'a> {
    program: &'a Program,
    sm: Sm,
    /// All targets of the program that are wanted: machine code is compiled once for them.
    sms: Vec<Sm>,
    /// The target of the LTO-IR.
    ir: Sm,
    rows: Vec<&'static Row>,
}

/// Compiles what the wanted programs need and returns their cases.
pub fn cases(options: &Options) -> Result<Vec<Case>, String> {
    let programs = programs(options)?;
    let turns = turns(options, &programs);
    let mut units: BTreeMap<&Path, Vec<Unit>> = BTreeMap::new();
    for turn in &turns {
        let all = units.entry(&turn.program.folder).or_default();
        for row in &turn.rows {
            let sources = 0..turn.program.sources.len();
            all.extend(sources.map(|i| turn.unit(row, i).0));
        }
    }
    let mut made = BTreeMap::new();
    for (folder, mut units) in units {
        units.sort();
        units.dedup();
        made.extend(cuda::compile_all(&options.tools, folder, options.settings.jobs, &units)?);
    }
    turns.iter().map(|turn| turn.case(&made)).collect()
}

/// The random programs of the seeds, whose sources are written here, and those of `--cuda`.
fn programs(options: &Options) -> Result<Vec<Program>, String> {
    let folder = sources_folder(&options.tools)?;
    let mut programs = Vec::new();
    for &seed in &options.seeds {
        let sources = generate::sources(seed);
        for (name, text) in &sources {
            fs::write(folder.join(name), text).map_err(|e| format!("{name}: {e}"))?;
        }
        programs.push(Program {
            name: format!("s{seed}"),
            folder: folder.clone(),
            sources: sources.into_iter().map(|(name, _)| name).collect(),
            flags: Vec::new(),
            sms: options.sms.clone(),
        });
    }
    let Some(folder) = &options.cuda else { return Ok(programs) };
    let folder = std::path::absolute(folder).map_err(|e| e.to_string())?;
    for program in cuda::read_programs(&folder)? {
        let is_left_out =
            options.skip.contains(&program.name) || !options.is_in_part(&program.name);
        // nvcc refuses -dlto with -G.
        if is_left_out || program.flags.iter().any(|flag| flag == "-G") {
            continue;
        }
        let oldest = program.sms.iter().map(|sm| sm.number).min().unwrap_or(75);
        let sms = options.sms.iter().copied().filter(|sm| sm.number >= oldest).collect();
        let cuda::Program { name, sources, flags, .. } = program;
        let name = format!("cuda-{name}");
        programs.push(Program { name, folder: folder.clone(), sources, flags, sms });
    }
    Ok(programs)
}

fn sources_folder(tools: &Tools) -> Result<PathBuf, String> {
    let folder = tools.work.join("sources");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(folder)
}

/// Each program on some of its targets, with `--links` rows: the next ones of those that it can have.
fn turns<'a>(options: &Options, programs: &'a [Program]) -> Vec<Turn<'a>> {
    let (mut next, mut next_of_one) = (0, 0);
    let mut turns = Vec::new();
    for program in programs {
        let sms = options.some(&program.name, &program.sms);
        for &sm in &sms {
            let is_one = program.sources.len() == 1;
            let is_alike = |row: &&Row| row.1.bytes().all(|b| b == row.1.as_bytes()[0]);
            let rows: Vec<&Row> = ROWS.iter().filter(|row| !is_one || is_alike(row)).collect();
            let at = if is_one { &mut next_of_one } else { &mut next };
            let count = options.links.min(rows.len());
            let rows = (*at..*at + count).map(|i| rows[i % rows.len()]).collect();
            *at += count;
            // Half of the programs for a target with a suffix have IR for it; others have the oldest.
            let oldest = Sm::plain(program.sms.iter().map(|sm| sm.number).min().unwrap_or(75));
            let ir = if sm.suffix.is_some() && turns.len() % 2 == 0 { sm } else { oldest };
            turns.push(Turn { program, sm, sms: sms.clone(), ir, rows });
        }
    }
    turns
}

impl Turn<'_> {
    fn unit(&self, row: &Row, i: usize) -> (Unit, String) {
        self.program.unit(self.program.kind(row, i).0, i, &self.sms, self.ir)
    }

    fn case(&self, made: &BTreeMap<Unit, PathBuf>) -> Result<Case, String> {
        let mut files: Vec<(String, PathBuf)> = Vec::new();
        let mut contents: Vec<(String, Vec<u8>)> = Vec::new();
        let mut links = Vec::new();
        for row in &self.rows {
            let mut inputs = Vec::new();
            let mut members = Vec::new();
            for i in 0..self.program.sources.len() {
                let (unit, name) = self.unit(row, i);
                let path = made.get(&unit).ok_or(format!("{} was not compiled", unit.source))?;
                if self.program.kind(row, i).1 {
                    let bytes = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
                    members.push((name, bytes));
                    continue;
                }
                inputs.push(name.clone());
                if !files.iter().any(|(known, _)| *known == name) {
                    files.push((name, path.clone()));
                }
            }
            if !members.is_empty() {
                // Each row has its own.
                let archive = ARCHIVE.replace("parts", row.0);
                contents.push((archive.clone(), hostobj::archive(&members)));
                if !row.2.contains("-lparts") {
                    inputs.push(archive);
                }
            }
            links.extend(self.links(row, inputs));
        }
        Ok(Case {
            name: format!("{}-{}-lto", self.program.name, self.sm),
            sm: self.sm,
            modules: Vec::new(),
            files,
            contents,
            links,
            features: BTreeMap::new(),
            conflict: None,
        })
    }

    /// The link of a row, and a second one of what `-r` makes.
    fn links(&self, row: &Row, inputs: Vec<String>) -> Vec<Link> {
        let Row(label, _, options) = *row;
        let is_relink = label.ends_with("relink");
        let link = |label: String, inputs: Vec<String>, args: Vec<String>| Link {
            sm: self.sm,
            inputs,
            side_file: args
                .iter()
                .find_map(|arg| arg.strip_prefix("--register-link-binaries=").map(str::to_owned)),
            args,
            output: format!("{label}.cubin"),
            label,
            expected: None,
        };
        if !is_relink {
            return vec![link(label.into(), inputs, arguments(label, options))];
        }
        let first = link(format!("{label}-1"), inputs, arguments(label, options));
        let second =
            link(format!("{label}-2"), vec![first.output.clone()], arguments(label, NO_LTO));
        vec![first, second]
    }
}

/// The options of a link. Nothing may follow the device runtime.
fn arguments(label: &str, options: &str) -> Vec<String> {
    let mut args = Vec::new();
    if options != NO_LTO {
        args.extend(["-dlto".to_owned(), format!("-nvvmpath={}", Link::NVVM)]);
    }
    if !options.starts_with('(') {
        args.extend(options.split_whitespace().map(|word| word.replace("parts", label)));
    }
    if options != NO_RUNTIME {
        args.extend([format!("-L{}", Link::LIBRARIES), "-lcudadevrt".to_owned()]);
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_names_of_their_own_and_known_kinds() {
        for (i, row) in ROWS.iter().enumerate() {
            assert!(ROWS[..i].iter().all(|other| other.0 != row.0), "{}", row.0);
            assert!(
                row.1.len() == 3 && row.1.chars().all(|c| "ldixyzfmpLM".contains(c)),
                "{}",
                row.0
            );
        }
    }

    #[test]
    fn an_archive_is_named_as_it_is_written() {
        let args = arguments("library", "-L. -lparts");
        assert!(args.contains(&"-llibrary".to_owned()), "{args:?}");
        assert_eq!(arguments("whole", NO_LTO), ["-L{lib}", "-lcudadevrt"]);
        assert_eq!(arguments("whole", NO_RUNTIME), ["-dlto", "-nvvmpath={nvvm}"]);
    }
}
