//! Named cases with nvlink's answers, so that they can be compared without a toolkit.
//!
//! Each case is recorded for one classic target and one of Blackwell. `links.txt` has a line per
//! link (`index.rs`); `CASE.pack` holds the compiled modules and what nvlink wrote (`pack.rs`), so that
//! a difference can be told in words. Where warpld's answer is not nvlink's, it is kept as well.

mod index;
mod pack;
mod record;
mod replay;

pub(crate) use record::{Recording, record};
pub use replay::{Replay, Replayed, replay};

use crate::named::{self, CaseFile};
use crate::program::{Case, HostRefs, Module, Pack as Container, Sm};
use crate::release::Release;
use crate::tools;
use crate::verdict::{self, Run};
use std::path::{Path, PathBuf};

/// The folder of recordings.
pub const FOLDER: &str = "tests/recorded";

/// The targets that cases are recorded for, where they allow it.
const TARGETS: [Sm; 2] = [Sm::plain(90), Sm::plain(100)];

/// What `file` is recorded for: the targets nearest to [`TARGETS`].
fn cases(file: &CaseFile) -> Result<Vec<Case>, String> {
    let targets = TARGETS.into_iter().filter_map(|sm| file.nearest(sm));
    targets
        .map(|sm| file.case(sm, Release::BASE).map_err(|e| format!("{}: {e}", file.name)))
        .collect()
}

/// The compiled modules of a case for a target, in their order.
#[derive(Clone, Debug)]
pub struct Modules {
    /// The case.
    pub case: String,
    /// Such as `sm_90`.
    pub target: String,
    /// Names and device ELF files.
    pub objects: Vec<(String, Vec<u8>)>,
}

/// The modules of all cases in the folder `cases` that are in the folder `recorded`.
pub fn modules(cases_folder: &Path, recorded: &Path) -> Result<Vec<Modules>, String> {
    let mut all = Vec::new();
    for file in named::files(cases_folder, Release::BASE)? {
        let pack = pack::Pack::read(&pack_path(recorded, &file.name))?;
        for case in cases(&file)? {
            let object = |module: &Module| {
                let object = pack.get(&object_name(&module.key(module.compiler)))?;
                Some((module.name.clone(), object.to_vec()))
            };
            let objects = case.modules.iter().filter_map(object).collect();
            all.push(Modules { case: file.name.clone(), target: case.sm.to_string(), objects });
        }
    }
    Ok(all)
}

/// The list of links in the folder of recordings.
fn index_path(folder: &Path) -> PathBuf {
    folder.join("links.txt")
}

/// The files of a case in the folder of recordings.
fn pack_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.pack"))
}

/// Names of files in a pack. `who` is the folder of a linker's outputs.
fn object_name(module_key: &str) -> String {
    format!("objects/{module_key}")
}
fn file_name(sm: Sm, who: &str, name: &str) -> String {
    format!("{sm}/{who}/{name}")
}
fn messages_name(sm: Sm, who: &str, label: &str) -> String {
    format!("{sm}/{who}/{label}.log")
}

/// A name for all that decides what the links of a case do. Comments in the case file do not.
fn case_key(case: &Case) -> String {
    let mut parts = vec![case.sm.to_string()];
    for module in &case.modules {
        parts.extend([module.file(), module.name.clone(), module.key(module.compiler)]);
        match &module.pack {
            Container::Cubin | Container::Fatbin => {}
            Container::Object(refs) | Container::Archive(refs, _) => {
                let HostRefs { kernels, static_kernels, variables, constants } = refs;
                let lists = [kernels, static_kernels, variables, constants];
                parts.extend(lists.map(|list| list.join(",")));
            }
        }
    }
    for link in &case.links {
        parts.extend([link.label.clone(), link.args.join(" "), link.inputs.join(" ")]);
        parts.push(link.expected.map_or("any".into(), |status| status.to_string()));
    }
    let mut parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
    parts.extend(case.contents.iter().flat_map(|(name, bytes)| [name.as_bytes(), bytes]));
    short_key(&parts)
}

/// A name for all that a linker gave: files and messages.
fn run_key(run: &Run) -> String {
    let messages = verdict::messages(&run.outcome.text).join("\n");
    let files = [&run.output, &run.side_file].map(|file| file.as_deref().unwrap_or_default());
    short_key(&[files[0], files[1], messages.as_bytes()])
}

/// Half of a key, for lists that people read.
fn short_key(parts: &[&[u8]]) -> String {
    let mut key = tools::content_key(parts);
    key.truncate(16);
    key
}
