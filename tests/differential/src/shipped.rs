//! Libraries that keep the inputs of their device link beside its output: each link is made again
//! with the options in its note, and must give the bytes that were shipped. Needs no toolkit.

use crate::compare;
use crate::nccl;
use crate::program::Sm;
use crate::tools::{self, Tools};
use crate::verdict::Verdict;
use cubin::note::{self, NoteType, ToolInfo};
use cubin::{Cubin, SymbolType, names};
use cubin_tools::extract::{Sections, Walk};
use libwarpld::Release;
use libwarpld::driver::InputFile;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the note of a link says.
struct Made {
    /// The release of nvlink: `13.4.92`.
    release: String,
    /// Its command line, without inputs and output.
    options: Vec<String>,
}

impl Made {
    /// Reads the first tool note, which is the linker's.
    fn by(image: &[u8]) -> Option<Self> {
        let cubin = Cubin::parse(image).ok()?;
        let section = cubin.section_by_name(names::NOTE_TKINFO)?;
        let mut notes = note::notes(section.data).map_while(Result::ok);
        let first = notes.find(|note| note.kind == NoteType::TKINFO)?;
        let info = ToolInfo::parse(first.desc).ok().filter(|info| info.tool == b"nvlink")?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let release = text(info.release).rsplit_once(", V")?.1.to_owned();
        let options = text(info.options).split_whitespace().map(str::to_owned).collect();
        Some(Self { release, options })
    }

    /// The release to ask warpld for. NVIDIA also links with updates that it does not publish: the next
    /// one of the same minor stands for them (13.2.51 for 13.2.49), behind the last one that.
    fn known_release(&self) -> String {
        let Some((minor, update)) = self.release.rsplit_once('.') else {
            return self.release.clone();
        };
        let number = |update: &str| update.parse::<u32>().ok();
        let updates = Release::ALL.iter().filter_map(|release| {
            let (of, update) = release.version.rsplit_once('.')?;
            (of == minor).then_some((number(update)?, release.version))
        });
        let next = updates.filter(|(known, _)| Some(*known) >= number(update)).min();
        next.map_or(minor, |(_, version)| version).to_owned()
    }
}

/// Repeats the links of `library` for `sms`; whether all came out as they were shipped.
pub fn check(tools: &Tools, library: &Path, sms: &[Sm]) -> Result<bool, String> {
    let warpld = tools.warpld.as_deref().ok_or("shipped needs --warpld")?;
    let name = library.display();
    let folder = tools.work.join("shipped");
    let inputs = nccl::split(&folder, library, false)?;
    let data = fs::read(library).map_err(|e| format!("{name}: {e}"))?;
    let file = InputFile::new("library", &data);
    let walk = Walk::new(&file, Sections::LinkedFirst);
    let (mut links, mut wrong) = (0, 0);
    for sm in sms {
        let images = walk.images.iter().filter(|image| image.arch.to_string() == sm.to_string());
        let outputs = images.filter_map(|image| {
            let shipped = image.payload().ok()?;
            Some((Made::by(&shipped)?, shipped))
        });
        let outputs: Vec<(Made, Cow<'_, [u8]>)> = outputs.collect();
        if outputs.is_empty() {
            println!("{name} {sm}: not shipped");
            continue;
        }
        let parts = divide(&inputs, &outputs, &sm.to_string())?;
        for ((made, shipped), inputs) in outputs.iter().zip(parts) {
            let (verdict, detail) = repeat(warpld, made, &inputs, &folder, shipped)?;
            let (count, size, release) = (inputs.len(), shipped.len(), &made.release);
            println!("{name} {sm} {count} inputs, {size} bytes, by {release}: {}", verdict.title());
            detail.iter().for_each(|line| println!("  {line}"));
            links += 1;
            wrong += usize::from(!verdict.agrees());
        }
    }
    println!("{name}: {links} links, {wrong} differ from what was shipped");
    Ok(links > 0 && wrong == 0)
}

/// The inputs of each output: a library may be linked from several parts, and an input belongs
/// to the output that has most of its functions.
fn divide(
    inputs: &[(String, PathBuf)],
    outputs: &[(Made, Cow<'_, [u8]>)],
    sm: &str,
) -> Result<Vec<Vec<String>>, String> {
    let mut parts = vec![Vec::new(); outputs.len()];
    let owned: Vec<_> = outputs.iter().map(|(_, image)| functions(image)).collect();
    let mut last = 0;
    for (name, path) in inputs {
        let data = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let walk_file = InputFile::new("input", &data);
        let walk = Walk::new(&walk_file, Sections::All);
        // An input may hold PTX for the same target beside its code.
        let images = walk.images.iter().filter(|image| image.arch.to_string() == sm);
        let code = images.filter_map(|image| image.payload().ok());
        let names = code.map(|image| functions(&image)).find(|all| !all.is_empty());
        let names = names.unwrap_or_default();
        let shared = |at: usize| owned[at].intersection(&names).count();
        last = (0..owned.len()).max_by_key(|&at| (shared(at), at == last)).unwrap_or(0);
        parts.get_mut(last).ok_or("no output with a note of nvlink")?.push(name.clone());
    }
    Ok(parts)
}

/// Names of the functions that a file defines.
fn functions(image: &[u8]) -> BTreeSet<Vec<u8>> {
    let Ok(cubin) = Cubin::parse(image) else { return BTreeSet::new() };
    let functions = cubin.symbols().filter(|s| s.kind() == SymbolType::FUNC && !s.is_undefined());
    functions.map(|symbol| symbol.name.to_vec()).collect()
}

fn repeat(
    warpld: &Path,
    made: &Made,
    inputs: &[String],
    folder: &Path,
    shipped: &[u8],
) -> Result<(Verdict, Vec<String>), String> {
    let output = folder.join("out.cubin");
    let _ = fs::remove_file(&output);
    let mut command = Command::new(warpld);
    command.arg("--identity=nvlink").arg(format!("--cuda-release={}", made.known_release()));
    command.args(&made.options).args(inputs).args(["-o", "out.cubin"]);
    let outcome = tools::run(&mut command, folder, "log").map_err(|e| e.to_string())?;
    let Ok(ours) = fs::read(&output) else {
        return Ok((
            Verdict::RefusalMismatch,
            outcome.text.lines().take(4).map(str::to_owned).collect(),
        ));
    };
    Ok(match () {
        () if ours == shipped => (Verdict::Identical, Vec::new()),
        () if compare::equal_but_for_note(shipped, &ours) => (Verdict::NoteOnly, Vec::new()),
        () => (Verdict::Different, compare::explain(shipped, &ours)),
    })
}
