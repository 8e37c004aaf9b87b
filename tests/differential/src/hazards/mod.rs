//! Proves that machine code waits for everything that it depends on.
//!
//! Linkers change the control bits of Blackwell code. This checker shares nothing with warpld's own
//! analysis: registers and control flow come from a listing by nvdisasm, control bits from the
//! encodings, and a data flow analysis shows for every pair of instructions that depend on each
//! other that the second one waits (`proof`), or that it follows after no fewer cycles than in the
//! input (`stalls`). `seeded` puts faults into code, which must be found.

mod check;
mod flow;
mod listing;
mod operations;
mod pairs;
mod proof;
mod registers;
mod seeded;
mod stalls;
#[cfg(test)]
mod tests;

pub use check::Tally;
pub use flow::Flow;
pub use listing::{Function, Instruction};
pub use operations::is_known;

use check::Originals;
use cubin_tools::extract::{Sections, Walk};
use libwarpld::driver::InputFile;
use seeded::Seeds;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

/// Functions of more instructions get no seeded faults, to save time.
const SEEDED_SIZE: usize = 600;

/// What is checked with which tools.
pub struct Checker {
    /// The toolkit's disassembler.
    pub nvdisasm: PathBuf,
    /// For files to disassemble.
    pub folder: PathBuf,
    /// Seeded faults of each kind for each function.
    pub faults: usize,
    /// Which faults.
    pub seed: u64,
    /// What was disassembled: links of one program share inputs, and linkers write the same files.
    pub cache: Cache,
}

/// Images and their code; none for those without code.
#[derive(Default)]
pub struct Cache(RefCell<HashMap<Vec<u8>, Option<Rc<Code>>>>);

/// Functions of a file, and its target: `100a`, 100.
pub struct Code {
    functions: Vec<Function>,
    target: String,
    sm: u16,
}

impl Checker {
    /// The code of an image, if it has any.
    fn code(&self, image: &[u8]) -> Result<Option<Rc<Code>>, String> {
        if let Some(known) = self.cache.0.borrow().get(image) {
            return Ok(known.clone());
        }
        let code = self.disassemble(image)?.map(Rc::new);
        self.cache.0.borrow_mut().insert(image.to_vec(), code.clone());
        Ok(code)
    }

    /// The functions of an image; none if it has no code.
    pub fn listing(&self, image: &[u8]) -> Result<Vec<Function>, String> {
        Ok(self.code(image)?.map_or_else(Vec::new, |code| code.functions.clone()))
    }

    /// Disassembles an image of machine code.
    fn disassemble(&self, image: &[u8]) -> Result<Option<Code>, String> {
        let path = self.folder.join("disassembled.cubin");
        fs::write(&path, image).map_err(|e| format!("{}: {e}", path.display()))?;
        let output = Command::new(&self.nvdisasm)
            .args(["-c", "-hex", "-plr", "-lrm", "narrow"])
            .arg(&path)
            .output()
            .map_err(|e| format!("{}: {e}", self.nvdisasm.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        // A file without code has no target in its listing.
        let code = |(target, sm): (&str, u16)| Code {
            functions: listing::functions(&text),
            target: target.to_owned(),
            sm,
        };
        Ok(target(&text).map(code))
    }

    /// Every image of machine code for the output's target or its family in files of any kind.
    fn originals(&self, files: &[PathBuf], output: &Code) -> Result<Originals, String> {
        let mut originals = Originals::default();
        for path in files {
            let data = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
            let file = InputFile::new("input", &data);
            for image in Walk::new(&file, Sections::All).images {
                let payload = image.payload().map_err(|e| format!("{}: {e}", path.display()))?;
                if !payload.starts_with(b"\x7fELF") {
                    continue;
                }
                if let Some(code) = self.code(&payload)?
                    && code.sm / 10 == output.sm / 10
                {
                    let exact = code.target == output.target;
                    originals.add(code.functions.clone(), code.sm, exact);
                }
            }
        }
        Ok(originals)
    }

    /// Checks outputs against the inputs that they were linked from; what is wrong with each, in
    /// words. Functions that an earlier output has, too, get no more seeded faults.
    pub fn check_all<'a>(
        &self,
        inputs: &[PathBuf],
        outputs: &[(&'a str, &[u8])],
    ) -> Result<Vec<(&'a str, Checked)>, String> {
        let mut known: HashMap<Vec<u128>, Tally> = HashMap::new();
        let mut originals: Option<Originals> = None;
        let mut seeds = Seeds::new(self.seed);
        let mut all = Vec::new();
        for (who, output) in outputs {
            let Some(code) = self.code(output)? else { continue };
            let originals = match &mut originals {
                Some(originals) => originals,
                none => none.insert(self.originals(inputs, &code)?),
            };
            let (mut words, mut tally) = Checked::default();
            for function in &code.functions {
                let key: Vec<u128> = function.code.iter().map(|i| i.bits).collect();
                if let Some(counts) = known.get(&key) {
                    tally += counts;
                    continue;
                }
                let (found, counts) = check::faults(function, code.sm, originals);
                tally += &counts;
                if found.is_empty() {
                    // A fault at a pair that has one is no news.
                    let seeds_tell = counts.inherited == 0;
                    known.insert(key, counts);
                    if self.faults > 0 && seeds_tell && function.code.len() <= SEEDED_SIZE {
                        let (missed, counts) =
                            check::seed(function, code.sm, &mut seeds, self.faults);
                        words.extend(missed);
                        tally += &counts;
                    }
                }
                words.extend(found.into_iter().map(|fault| format!("{}: {fault}", function.name)));
            }
            all.push((*who, (words, tally)));
        }
        Ok(all)
    }
}

/// Faults in words, and what was counted.
pub type Checked = (Vec<String>, Tally);

/// What `.target sm_100a` says: `100a`, 100.
fn target(listing: &str) -> Option<(&str, u16)> {
    let line = listing.lines().find(|line| line.trim_start().starts_with(".target"))?;
    let name = line.split("sm_").nth(1)?.trim();
    let end = name.find(|c: char| !c.is_ascii_digit()).unwrap_or(name.len());
    Some((name, name[..end].parse().ok()?))
}

/// `differential hazards INPUT... OUTPUT`; true if everything was proved.
pub fn command(checker: &Checker, files: &[String]) -> Result<bool, String> {
    let Some((output, inputs)) = files.split_last() else {
        return Err("hazards needs an output, and its inputs before it".into());
    };
    fs::create_dir_all(&checker.folder).map_err(|e| e.to_string())?;
    let inputs: Vec<PathBuf> = inputs.iter().map(PathBuf::from).collect();
    let bytes = fs::read(Path::new(output)).map_err(|e| format!("{output}: {e}"))?;
    let checked = checker.check_all(&inputs, &[(output, &bytes)])?;
    let (_, (words, tally)) = checked.first().ok_or(format!("{output}: no code"))?;
    words.iter().for_each(|line| println!("{line}"));
    tally.print();
    Ok(tally.is_good())
}
