//! Choosing the image of each input for one target, and whether the system
//! library takes part.

pub mod check;
pub mod choose;
pub mod compat;
pub mod need;

use crate::diag::{Diagnostic, Diagnostics, Severity};
use crate::input::{Inputs, LinkInput};
use crate::load::{Body, Ignored, Loaded, Source, Step};
use choose::{Choice, choose};
use cubin::Arch;
use fatbin::{Container, Entry, Kind};
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::HashSet;

/// How to select.
#[derive(Clone, Copy, Debug)]
pub struct SelectOptions {
    /// The target.
    pub arch: Arch,
    /// `--suppress-arch-warning`.
    pub suppress_arch_warning: bool,
    /// `--keep-system-libraries`: libcudadevrt.a is linked unasked.
    pub keep_system_libraries: bool,
    /// `--lazy-archives`: archive members are linked only if something needs
    /// them. nvlink links all.
    pub lazy_archives: bool,
}

impl SelectOptions {
    /// Plain selection for `arch`.
    pub fn new(arch: Arch) -> Self {
        Self {
            arch,
            suppress_arch_warning: false,
            keep_system_libraries: false,
            lazy_archives: false,
        }
    }
}

/// What became of the system library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SystemLibrary {
    /// It is not among the inputs.
    #[default]
    Absent,
    /// It is, but nothing needs it.
    Unused,
    /// It is linked.
    Used,
}

/// What `--register-link-binaries` writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registration {
    /// Module ids in order.
    pub module_ids: Vec<String>,
    /// What became of the system library.
    pub system_library: SystemLibrary,
}

/// The outcome of a selection.
#[derive(Clone, Debug, Default)]
pub struct Selected<'f> {
    /// What to link.
    pub inputs: Inputs<'f>,
    /// What to register.
    pub registration: Registration,
    /// What was left out and why.
    pub ignored: Vec<Ignored>,
}

/// The selection ended with a fatal message, which is in the diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the inputs cannot be linked")]
pub struct Stopped;

/// What one source yields.
#[derive(Debug, Default)]
struct Picked<'f> {
    images: Vec<LinkInput<'f>>,
    messages: Vec<Diagnostic>,
    ignored: Option<String>,
}

impl<'f> Loaded<'f> {
    /// Picks the images for a target. Messages come in link order; the first
    /// fatal one ends the selection.
    pub fn select(
        &self,
        options: &SelectOptions,
        diagnostics: &mut Diagnostics,
    ) -> Result<Selected<'f>, Stopped> {
        let mut picked: Vec<Option<Picked<'f>>> = self
            .steps
            .par_iter()
            .map(|step| match step {
                Step::Source(source) if !source.system_library => Some(pick(source, options)),
                _ => None,
            })
            .collect();
        let mut selection = Selection { options, diagnostics, selected: Selected::default() };
        let mut at = 0;
        while let Some(step) = self.steps.get(at) {
            let next = at + if options.lazy_archives { members_from(&self.steps, at) } else { 1 };
            let group = self.steps.get(at..next).unwrap_or_default();
            match (group, step) {
                ([_], _) => selection.step(step, picked.get_mut(at).and_then(Option::take))?,
                _ => {
                    let picked = picked.get_mut(at..next).unwrap_or_default();
                    selection.lazy_archive(group, picked)?;
                }
            }
            at = next;
        }
        let mut selected = selection.selected;
        selected.inputs.host_references = self.host_references().cloned();
        selected.registration.module_ids = self.module_ids(&selected.registration);
        Ok(selected)
    }

    /// The ids to register: the own id of every source in link order, then
    /// those of merged objects backwards; without what an earlier device link
    /// has registered.
    fn module_ids(&self, registration: &Registration) -> Vec<String> {
        let mut own = Vec::new();
        let mut merged = Vec::new();
        for step in &self.steps {
            let Step::Source(source) = step else { continue };
            if source.system_library && registration.system_library != SystemLibrary::Used {
                continue;
            }
            own.extend(source.module_ids.first().cloned());
            merged.extend(source.module_ids.iter().skip(1).cloned());
        }
        own.extend(merged.into_iter().rev());
        let elsewhere: HashSet<&String> = self.registered_elsewhere.iter().collect();
        own.retain(|id| !elsewhere.contains(id));
        own
    }
}

/// How many steps from `at` on are members of one archive; 1 for anything
/// else.
fn members_from(steps: &[Step<'_>], at: usize) -> usize {
    let archive_of = |step: &Step<'_>| match step {
        Step::Source(source) if !source.system_library => source.archive,
        _ => None,
    };
    let Some(archive) = steps.get(at).and_then(archive_of) else { return 1 };
    steps.iter().skip(at).take_while(|step| archive_of(step) == Some(archive)).count()
}

struct Selection<'s, 'f> {
    options: &'s SelectOptions,
    diagnostics: &'s mut Diagnostics,
    selected: Selected<'f>,
}

impl<'f> Selection<'_, 'f> {
    fn step(&mut self, step: &Step<'f>, picked: Option<Picked<'f>>) -> Result<(), Stopped> {
        match step {
            Step::Message(message) => self.say(message.clone()),
            Step::Ignored(ignored) => {
                self.selected.ignored.push(ignored.clone());
                Ok(())
            }
            Step::Source(source) if source.system_library => self.system_library(source),
            Step::Source(source) => self.take(source, picked.unwrap_or_default()),
        }
    }

    fn system_library(&mut self, source: &Source<'f>) -> Result<(), Stopped> {
        let needed = self.options.keep_system_libraries
            || need::function_is_missing(&self.selected.inputs.images);
        if !needed {
            if self.selected.registration.system_library == SystemLibrary::Absent {
                self.selected.registration.system_library = SystemLibrary::Unused;
            }
            self.ignore(source, "no function is missing that it could provide");
            return Ok(());
        }
        self.selected.registration.system_library = SystemLibrary::Used;
        self.take(source, pick(source, self.options))
    }

    /// Takes those members of an archive that are needed.
    fn lazy_archive(
        &mut self,
        members: &[Step<'f>],
        picked: &mut [Option<Picked<'f>>],
    ) -> Result<(), Stopped> {
        let mut owners = Vec::new();
        let mut images = Vec::new();
        for (index, picked) in picked.iter_mut().enumerate() {
            for image in picked.iter_mut().flat_map(|p| std::mem::take(&mut p.images)) {
                owners.push(index);
                images.push(image);
            }
        }
        let wanted = need::wanted_members(&self.selected.inputs.images, &images);
        let mut taken = vec![false; members.len()];
        for ((image, owner), wanted) in images.into_iter().zip(owners).zip(wanted) {
            if let (true, Some(Some(picked))) = (wanted, picked.get_mut(owner)) {
                picked.images.push(image);
                taken[owner] = true;
            }
        }
        for ((step, picked), taken) in members.iter().zip(picked).zip(taken) {
            let Step::Source(source) = step else { continue };
            let picked = picked.take().unwrap_or_default();
            if taken || !picked.messages.is_empty() {
                self.take(source, picked)?;
            } else {
                self.ignore(source, "nothing needs it");
            }
        }
        Ok(())
    }

    fn take(&mut self, source: &Source<'f>, picked: Picked<'f>) -> Result<(), Stopped> {
        for message in picked.messages {
            self.say(message)?;
        }
        if let Some(reason) = picked.ignored {
            self.ignore(source, &reason);
        }
        self.selected.inputs.images.extend(picked.images);
        Ok(())
    }

    fn ignore(&mut self, source: &Source<'f>, reason: &str) {
        let ignored = Ignored { name: source.name.clone(), reason: reason.to_owned() };
        self.selected.ignored.push(ignored);
    }

    fn say(&mut self, message: Diagnostic) -> Result<(), Stopped> {
        let fatal = message.severity == Severity::Fatal;
        self.diagnostics.push(message);
        if fatal { Err(Stopped) } else { Ok(()) }
    }
}

/// Chooses and unpacks the images of one source.
fn pick<'f>(source: &Source<'f>, options: &SelectOptions) -> Picked<'f> {
    let mut picked = Picked::default();
    match &source.body {
        Body::Cubin(data) => picked.add(source, Cow::Borrowed(data), options.arch),
        Body::Ptx(_) => picked.messages.push(ptx_only(&source.name, "a PTX file", options.arch)),
        Body::Fatbins(containers) => {
            let mut archs = Vec::new();
            for container in containers {
                picked.pick_from(source, container, options, &mut archs);
            }
            if !archs.is_empty() || containers.is_empty() {
                picked.not_found(source, options, &archs);
            }
        }
    }
    picked
}

impl<'f> Picked<'f> {
    /// Picks from one container; where nothing fits, what it has is added to
    /// `archs`.
    fn pick_from(
        &mut self,
        source: &Source<'f>,
        container: &Container<'f>,
        options: &SelectOptions,
        archs: &mut Vec<String>,
    ) {
        let entries = match container.flat_entries() {
            Ok(entries) => entries,
            Err(error) => {
                self.messages.push(damaged(&source.name, "elfLink fatbinary error", error));
                return;
            }
        };
        let code = match choose(&entries, options.arch) {
            Choice::MachineCode(code) => code,
            Choice::MachineCodeOverPtx { code, ptx } => {
                self.messages.push(code_over_ptx(&source.name, code, ptx));
                code
            }
            Choice::Ptx(ptx) => {
                let what = format!("PTX for compute_{}", number(ptx.arch()));
                self.messages.push(ptx_only(&source.name, &what, options.arch));
                return;
            }
            Choice::LtoIr(_) => {
                self.messages.push(lto_only(&source.name));
                return;
            }
            Choice::Nothing => {
                archs.extend(entries.iter().map(describe));
                if archs.is_empty() {
                    archs.push("no image at all".into());
                }
                return;
            }
        };
        match code.payload() {
            Ok(image) => self.add(source, image, options.arch),
            Err(error) => self.messages.push(damaged(&source.name, "Uncompress failed", error)),
        }
    }

    fn add(&mut self, source: &Source<'f>, image: Cow<'f, [u8]>, arch: Arch) {
        if let Err(message) = check::check(&source.name, &image, arch) {
            self.messages.push(message);
            return;
        }
        self.images.push(LinkInput {
            name: source.name.clone(),
            image,
            system_library: source.system_library,
        });
    }

    /// Only inputs named on the command line are worth a warning; archives
    /// are often made for fewer architectures.
    fn not_found(&mut self, source: &Source<'f>, options: &SelectOptions, archs: &[String]) {
        let has = format!("it has {}", archs.join(", "));
        if source.archive.is_none() && !options.suppress_arch_warning {
            let message = format!("SM Arch ('{}') not found in '{}'", options.arch, source.name);
            self.messages.push(Diagnostic::warning("arch-not-found", message).note(&has));
        }
        self.ignored = Some(format!("nothing in it fits {}: {has}", options.arch));
    }
}

fn describe(entry: &Entry<'_>) -> String {
    match entry.kind() {
        Kind::ELF => entry.arch().to_string(),
        Kind::PTX => format!("PTX for compute_{}", number(entry.arch())),
        Kind::LTO_IR => format!("LTO-IR for compute_{}", number(entry.arch())),
        kind => format!("{kind} for {}", entry.arch()),
    }
}

/// `90a` of `sm_90a`.
fn number(arch: Arch) -> String {
    arch.to_string().trim_start_matches("sm_").to_owned()
}

fn damaged(name: &str, message: &str, error: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::fatal("damaged-fatbin", message).note(format_args!("in '{name}': {error}"))
}

fn ptx_only(name: &str, what: &str, target: Arch) -> Diagnostic {
    let message = format!("'{name}' has no machine code for {target}, only {what}");
    Diagnostic::error("ptx-only", message).note(format_args!(
        "compile it with code for {target} (nvcc -gencode arch=compute_{0},code=sm_{0}), or run ptxas -c on the PTX",
        number(target)
    ))
}

fn lto_only(name: &str) -> Diagnostic {
    Diagnostic::fatal("lto-only", "LTO objects found, use -dlto").note(format_args!(
        "'{name}' has only LTO-IR for the target; compile it without -dlto to get machine code"
    ))
}

fn code_over_ptx(name: &str, code: &Entry<'_>, ptx: &Entry<'_>) -> Diagnostic {
    let message = format!("using the {} code of '{name}', not its newer PTX", code.arch());
    Diagnostic::warning("code-over-ptx", message).note(format_args!(
        "the PTX for compute_{} would have to be compiled first",
        number(ptx.arch())
    ))
}
