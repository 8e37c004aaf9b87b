//! Functions of many links, each proved once: the same code comes again in other links, of other programs and from
//! both linkers.
//!
//! What is to be proved gathers until there is enough for one run of nvdisasm. Functions that were proved are
//! remembered in a file in the folder for work, so that later runs of the same program of tests do not prove
//! them again.

use super::check::{self, Originals, Tally};
use super::listing::Function;
use super::raw::{self, Raw};
use super::seeded::Seeds;
use super::sheet::{Lister, Listings};
use crate::tools::content_key;
use cubin::Arch;
use cubin_tools::extract::{Sections, Walk};
use libwarpld::driver::InputFile;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Instructions that are gathered before they are listed and proved.
const BATCH: usize = 100_000;
const ELF: &[u8] = b"\x7fELF";
/// Functions of more instructions get no seeded faults, to save time.
const SEEDED_SIZE: usize = 600;

/// One function of an output, and those of inputs that it may have been made of.
struct Work {
    /// Which link, and which linker made it.
    who: String,
    name: String,
    output: Raw,
    /// Each with whether it is for the output's very target.
    inputs: Vec<(Raw, bool)>,
    key: String,
}

#[derive(Default)]
struct Waiting {
    works: Vec<Work>,
    size: usize,
    known: HashSet<String>,
    /// Batches begun, for the names of their folders.
    batches: usize,
}

/// Functions to be proved.
pub struct Pool {
    nvdisasm: PathBuf,
    folder: PathBuf,
    faults: usize,
    earlier: HashSet<String>,
    waiting: Mutex<Waiting>,
    done: Mutex<(Tally, Vec<String>)>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// A pool that works in `folder` and seeds `faults` faults of each kind.
    pub fn new(nvdisasm: PathBuf, folder: PathBuf, faults: usize) -> Self {
        // Faults are seeded into functions that are proved now.
        let earlier = match faults {
            0 => fs::read_to_string(proved(&folder)).unwrap_or_default(),
            _ => String::new(),
        };
        Self {
            nvdisasm,
            folder,
            faults,
            earlier: earlier.lines().map(str::to_owned).collect(),
            waiting: Mutex::default(),
            done: Mutex::default(),
        }
    }

    /// Adds the outputs of one link, with who made each. Proves all that waits if it is enough.
    pub fn add(
        &self,
        link: &str,
        inputs: &[PathBuf],
        outputs: &[(&str, &[u8])],
    ) -> Result<(), String> {
        let mut works: Vec<Work> = Vec::new();
        let mut tally = Tally::default();
        let mut originals: Option<HashMap<String, Vec<Raw>>> = None;
        // A link that failed may leave an empty file.
        for (who, image) in outputs.iter().filter(|(_, image)| image.starts_with(ELF)) {
            for (name, output) in raw::functions(image).map_err(|e| format!("{link} {who}: {e}"))? {
                tally.met += 1;
                if works.iter().any(|work| work.name == name && work.output == output) {
                    continue;
                }
                let originals = match &mut originals {
                    Some(originals) => originals,
                    none => none.insert(functions_of(inputs, output.arch)?),
                };
                let known = originals.get(&name).map_or(&[][..], Vec::as_slice);
                let exact = |raw: &Raw| raw.arch == output.arch;
                let inputs: Vec<_> = known.iter().map(|raw| (raw.clone(), exact(raw))).collect();
                let key = key(&output, &inputs);
                works.push(Work { who: format!("{link} {who}"), name, output, inputs, key });
            }
        }
        let mut waiting = lock(&self.waiting);
        for work in works {
            if self.earlier.contains(&work.key) {
                tally.earlier += usize::from(waiting.known.insert(work.key));
            } else if waiting.known.insert(work.key.clone()) {
                waiting.size += work.output.code.len();
                waiting.works.push(work);
            }
        }
        let batch = (waiting.size >= BATCH).then(|| waiting.take());
        drop(waiting);
        lock(&self.done).0 += &tally;
        batch.map_or(Ok(()), |(number, works)| self.prove(number, works))
    }

    /// Proves what is left, on so many threads; what was proved, and what is wrong in words.
    pub fn finish(self, threads: usize) -> Result<(Tally, Vec<String>), String> {
        let mut parts: Vec<Vec<Work>> = (0..threads.max(1)).map(|_| Vec::new()).collect();
        let (first, works) = lock(&self.waiting).take();
        // Neighbours share inputs.
        let share = works.len().div_ceil(parts.len()).max(1);
        for (at, work) in works.into_iter().enumerate() {
            parts[at / share].push(work);
        }
        std::thread::scope(|scope| {
            let prove = |(at, part)| self.prove(first + at, part);
            let threads: Vec<_> = parts
                .into_iter()
                .enumerate()
                .map(|part| scope.spawn(move || prove(part)))
                .collect();
            threads
                .into_iter()
                .try_for_each(|thread| thread.join().map_err(|_| "a proof panicked".to_owned())?)
        })?;
        let (mut tally, words) = self.done.into_inner().unwrap_or_else(PoisonError::into_inner);
        tally.wanted = self.faults;
        Ok((tally, words))
    }

    fn prove(&self, number: usize, works: Vec<Work>) -> Result<(), String> {
        if works.is_empty() {
            return Ok(());
        }
        let folder = self.folder.join(format!("{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let shapes = works.iter().flat_map(|work| {
            [&work.output].into_iter().chain(work.inputs.iter().map(|(raw, _)| raw)).map(Raw::shape)
        });
        let shapes: HashSet<Raw> = shapes.collect();
        let lister = Lister { nvdisasm: self.nvdisasm.clone(), folder: folder.clone() };
        let listings = lister.list(shapes.into_iter().collect())?;
        let mut good = Vec::new();
        for work in &works {
            let (words, tally) = self.prove_one(work, &listings);
            if words.is_empty() {
                good.push(work.key.as_str());
            }
            let mut done = lock(&self.done);
            done.0 += &tally;
            done.1.extend(
                words.into_iter().map(|fault| format!("{}: {}: {fault}", work.who, work.name)),
            );
        }
        fs::remove_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        remember(&self.folder, &good)
    }

    fn prove_one(&self, work: &Work, listings: &Listings) -> (Vec<String>, Tally) {
        let listed = |raw: &Raw| with_control(listings, raw, &work.name);
        // nvdisasm cuts off what follows the last instruction that anything leads to, in the middle of a line.
        let not_listed = || (Vec::new(), Tally { functions: 1, unlisted: 1, ..Tally::default() });
        let function = match listed(&work.output) {
            Ok(function) => function,
            Err(_) => return not_listed(),
        };
        let mut originals = Originals::default();
        for (raw, exact) in &work.inputs {
            match listed(raw) {
                Ok(function) => originals.add(vec![function], raw.arch.number, *exact),
                Err(_) => return not_listed(),
            }
        }
        let sm = work.output.arch.number;
        let (mut words, mut tally) = check::faults(&function, sm, &originals);
        // A fault at a pair that has one is no news.
        let seeds_tell = words.is_empty() && (tally.inherited, tally.untimed) == (0, 0);
        if self.faults > 0 && seeds_tell && function.code.len() <= SEEDED_SIZE {
            let wanted = lock(&self.done).0.lacking(self.faults);
            let seed = work.key.bytes().fold(0, |n: u64, c| n.wrapping_mul(31) + u64::from(c));
            let (missed, counts) = check::seed(&function, sm, &mut Seeds::new(seed), &wanted);
            words.extend(missed);
            tally += &counts;
        }
        (words, tally)
    }
}

impl Waiting {
    fn take(&mut self) -> (usize, Vec<Work>) {
        self.size = 0;
        self.batches += 1;
        (self.batches, std::mem::take(&mut self.works))
    }
}

/// The listing of a function with its control bits.
pub fn with_control(listings: &Listings, raw: &Raw, name: &str) -> Result<Function, String> {
    let listing = listings.get(&raw.shape()).ok_or("not listed")?.as_ref();
    let mut function = listing.map_err(String::clone)?.clone();
    name.clone_into(&mut function.name);
    for (instruction, bits) in function.code.iter_mut().zip(&raw.code) {
        instruction.bits = *bits;
    }
    Ok(function)
}

/// Functions of the output's family in files of any kind, by name.
fn functions_of(files: &[PathBuf], arch: Arch) -> Result<HashMap<String, Vec<Raw>>, String> {
    let mut all: HashMap<String, Vec<Raw>> = HashMap::new();
    for path in files {
        let wrong = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
        let data = fs::read(path).map_err(|e| wrong(&e))?;
        let file = InputFile::new("input", &data);
        for image in Walk::new(&file, Sections::All).images {
            if image.arch.number / 10 != arch.number / 10 {
                continue;
            }
            let payload = image.payload().map_err(|e| wrong(&e))?;
            if !payload.starts_with(ELF) {
                continue;
            }
            for (name, raw) in raw::functions(&payload).map_err(|e| wrong(&e))? {
                let same = all.entry(name).or_default();
                if !same.contains(&raw) {
                    same.push(raw);
                }
            }
        }
    }
    Ok(all)
}

/// Names a proof: the function, its tables, and what it is compared with.
fn key(output: &Raw, inputs: &[(Raw, bool)]) -> String {
    let mut inputs: Vec<Vec<u8>> = inputs.iter().map(|(raw, _)| raw.bytes()).collect();
    inputs.sort();
    let output = output.bytes();
    let parts: Vec<&[u8]> =
        [output.as_slice()].into_iter().chain(inputs.iter().map(Vec::as_slice)).collect();
    content_key(&parts)
}

/// The list of what this program has proved: one that was built anew has another.
fn proved(folder: &Path) -> PathBuf {
    let program = std::env::current_exe().and_then(fs::metadata);
    let made = program.as_ref().ok().and_then(|program| program.modified().ok());
    let size = program.as_ref().map_or(0, fs::Metadata::len);
    folder.join(format!("proved-{}", content_key(&[format!("{made:?} {size}").as_bytes()])))
}

fn remember(folder: &Path, keys: &[&str]) -> Result<(), String> {
    let path = proved(folder);
    let wrong = |e: std::io::Error| format!("{}: {e}", path.display());
    let mut file = fs::OpenOptions::new().create(true).append(true).open(&path).map_err(wrong)?;
    let lines: String = keys.iter().map(|key| format!("{key}\n")).collect();
    file.write_all(lines.as_bytes()).map_err(wrong)
}
