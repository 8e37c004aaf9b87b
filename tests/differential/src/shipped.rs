//! Libraries that keep the inputs of their device link beside its output: each link is made again
//! with the options in its note, and must give the bytes that were shipped. Needs no toolkit.

use crate::compare;
use crate::nccl;
use crate::program::Sm;
use crate::tools::{self, Tools};
use crate::verdict::Verdict;
use cubin::note::{self, NoteType, ToolInfo};
use cubin::{Cubin, names};
use cubin_tools::extract::{Sections, Walk};
use libwarpld::Release;
use libwarpld::driver::InputFile;
use std::fs;
use std::path::Path;
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

    /// The release to ask warpld for: that of the note, or the last of its minor.
    fn known_release(&self) -> String {
        let minor = self.release.rsplit_once('.').map_or("", |(minor, _)| minor);
        let known = Release::named(&self.release).map_or(minor, |release| release.version);
        known.to_owned()
    }
}

/// Repeats the links of `library` for `sms`; whether all came out as they were shipped.
pub fn check(tools: &Tools, library: &Path, sms: &[Sm]) -> Result<bool, String> {
    let warpld = tools.warpld.as_deref().ok_or("shipped needs --warpld")?;
    let name = library.display();
    let folder = tools.work.join("shipped");
    let inputs: Vec<String> =
        nccl::split(&folder, library, false)?.into_iter().map(|(name, _)| name).collect();
    let data = fs::read(library).map_err(|e| format!("{name}: {e}"))?;
    let file = InputFile::new("library", &data);
    let walk = Walk::new(&file, Sections::LinkedFirst);
    let (mut links, mut wrong) = (0, 0);
    for image in &walk.images {
        let Ok(shipped) = image.payload() else { continue };
        let Some(made) = Made::by(&shipped) else { continue };
        if !sms.iter().any(|sm| image.arch.to_string() == sm.to_string()) {
            continue;
        }
        let verdict = repeat(warpld, &made, &inputs, &folder, &shipped)?;
        println!("{name} {} made by {}: {}", image.arch, made.release, verdict.0.title());
        verdict.1.iter().for_each(|line| println!("  {line}"));
        links += 1;
        wrong += usize::from(!verdict.0.agrees());
    }
    println!("{name}: {links} links, {wrong} differ from what was shipped");
    Ok(links > 0 && wrong == 0)
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
