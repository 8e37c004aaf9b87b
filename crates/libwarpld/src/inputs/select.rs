//! Selects the image of each input for one target, and decides whether the system library takes
//! part.

use super::check::Limits;
use super::compiled::Compilations;
use super::host_use::{HostSide, HostUse};
use super::lto::{self, Optimized};
use super::options::{SelectOptions, Traced};
use super::scan::{Body, Ignored, Loaded, Scanned, Source, Step, is_linked_cubin};
use super::source_images::{How, Pick, Picked};
use super::unpack::{End, Unpacked};
use super::{messages, need};
use crate::compile::Compiler;
use crate::diag::{Diagnostic, Diagnostics, Error, Severity};
use crate::dialect::{Release, target};
use crate::inputs::{HostReferences, Inputs, LinkInput};
use cubin::Header;
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// What happened to the system library.
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
    /// What happened to the system library.
    pub system_library: SystemLibrary,
}

/// The outcome of a selection.
#[derive(Clone, Debug, Default)]
pub struct Selected<'f> {
    /// What to link.
    pub inputs: Inputs<'f>,
    /// What to register, if requested.
    pub registration: Registration,
    /// What happened to all inputs, in link order, if requested.
    pub trace: Vec<Traced>,
    /// Whether LTO-IR was found and compiled.
    pub lto: bool,
    /// The output, if it need not be linked.
    pub optimized: Option<Optimized>,
}

impl Selected<'_> {
    /// The first of the newest images: its name and the number of the toolkit that compiled it.
    pub fn newest_input(&self) -> Option<(&str, u32)> {
        let images = self.inputs.images.iter().filter(|input| input.toolkit != 0);
        let newest = images.reduce(|a, b| if b.toolkit > a.toolkit { b } else { a });
        newest.map(|input| (&*input.name, input.toolkit))
    }
}

impl<'f> Loaded<'f> {
    /// Picks the images for a target, without a compiler: see [`Loaded::select_with`].
    pub fn select(
        &self,
        options: &SelectOptions,
        diagnostics: &mut Diagnostics,
    ) -> Result<Selected<'f>, Error> {
        self.select_with(None, options, diagnostics)
    }

    /// Picks the images for a target. PTX goes to the compiler; without one it is an error, unless
    /// there is machine code too. Messages come in link order; the first
    /// fatal one ends the selection, and all so far go into the error.
    pub fn select_with(
        &self,
        compiler: Option<&dyn Compiler>,
        options: &SelectOptions,
        diagnostics: &mut Diagnostics,
    ) -> Result<Selected<'f>, Error> {
        let mut made = Made { compilations: Compilations::new(compiler), ..Made::default() };
        let selected = self.select_by_release(&mut made, options, diagnostics)?;
        if options.allow_newer {
            let release = selected.inputs.release.unwrap_or(Release::OLDEST);
            let newest = selected.newest_input().filter(|(_, toolkit)| *toolkit > release.toolkit);
            if let Some((name, toolkit)) = newest {
                diagnostics.push(messages::newer_allowed(name, toolkit, release));
            }
        }
        Ok(selected)
    }

    /// Picks the images by the rules of the release that was named, or else that of the inputs.
    fn select_by_release(
        &self,
        made: &mut Made<'_, 'f>,
        options: &SelectOptions,
        diagnostics: &mut Diagnostics,
    ) -> Result<Selected<'f>, Error> {
        let newest = |release: &Release| match options.allow_newer {
            true => u32::MAX,
            false => release.toolkit,
        };
        if let Some(release) = options.release {
            let limits = Limits { release, newest: newest(release) };
            return self.select_within(limits, made, options, diagnostics);
        }
        // Inputs come from one toolkit as a rule, so the first one tells which it is.
        let release = self.first_release(options);
        let limits = Limits { release, newest: newest(Release::NEWEST) };
        let before = diagnostics.as_slice().len();
        let selected = self.select_within(limits, made, options, diagnostics)?;
        let release = newest_release(&selected.inputs.images);
        if release.toolkit <= limits.release.toolkit {
            return Ok(selected);
        }
        diagnostics.truncate(before);
        let limits = Limits { release, ..limits };
        self.select_within(limits, made, options, diagnostics)
    }

    /// The release that the first image comes from, but one that has the target.
    fn first_release(&self, options: &SelectOptions) -> &'static Release {
        let oldest = Release::first_with(options.arch).unwrap_or(Release::OLDEST);
        let limits = Limits { release: oldest, newest: u32::MAX };
        let unusual = &AtomicU64::new(0);
        let how = How { options, limits, read_all: false, compiler: None, unusual };
        let sources = self.scanned.iter().filter_map(|item| match &item.step {
            Step::Source(source) if !source.system_library => Some(source),
            _ => None,
        });
        let mut images = sources.map(|source| Pick::from(source, |_| None, how).all().images);
        let first = images.find(|images| !images.is_empty());
        let first = first.map_or(oldest, |images| newest_release(&images));
        if first.toolkit > oldest.toolkit { first } else { oldest }
    }

    /// Picks the images by the rules of one release.
    fn select_within<'s>(
        &'s self,
        limits: Limits,
        made: &mut Made<'_, 'f>,
        options: &SelectOptions,
        diagnostics: &mut Diagnostics,
    ) -> Result<Selected<'f>, Error> {
        let Made { compilations, unpacked } = made;
        let (read_all, compiler) = (self.is_looked_into(options), compilations.compiler);
        let unusual = &AtomicU64::new(0);
        let how = How { options, limits, read_all, compiler, unusual };
        let end = End::unknown();
        // The system library is seldom needed, so it is unpacked on demand.
        let source = |(number, item): (usize, &'s Scanned<'f>)| match &item.step {
            Step::Source(source) if !source.system_library && !self.is_linked(source) => {
                Some(source)
            }
            Step::Messages(list) if list.iter().any(is_fatal) => {
                end.reach(number);
                None
            }
            _ => None,
        };
        let sources = self.scanned.par_iter().enumerate().map(source);
        let sources: Vec<Option<&Source<'f>>> = sources.collect();
        if let Some(store) = self.store {
            unpacked.fill(store, &sources, how, &end);
        }
        let pick = |(number, source): (usize, &Option<&Source<'f>>)| {
            let source = source.filter(|_| !end.is_before(number))?;
            let pick = Pick::from(source, |entry| unpacked.image(number, entry), how);
            if pick.is_refused() {
                end.reach(number);
            }
            Some(pick)
        };
        let mut picks: Vec<Option<Pick<'f>>> = sources.par_iter().enumerate().map(pick).collect();
        picks.iter_mut().skip(end.number().saturating_add(1)).for_each(|pick| *pick = None);
        compilations.finish(&sources, &mut picks, how);
        let optimized = lto::compile(self, &sources, &picks, compilations, how);
        let are_images = || picks.iter().all(|pick| matches!(pick, Some(Pick::Image(_))));
        let is_plain = !options.trace && !options.register && !options.lazy_archives;
        if is_plain && options.lto.is_none() && are_images() {
            let selected = self.take_all(picks, limits.release);
            return self.check_strictly(selected, options, diagnostics);
        }
        let mut selection = Selection::new(self, how, compilations, diagnostics);
        selection.optimized = optimized;
        selection.run(picks.into_iter().map(|pick| pick.map(Pick::all)).collect())?;
        let selected = selection.finish();
        self.check_strictly(selected, options, diagnostics)
    }

    /// Refuses what only a strict selection refuses: results of a link inside of containers,
    /// and inputs with nothing to link at all.
    fn check_strictly(
        &self,
        selected: Selected<'f>,
        options: &SelectOptions,
        diagnostics: &mut Diagnostics,
    ) -> Result<Selected<'f>, Error> {
        if !options.strict {
            return Ok(selected);
        }
        for input in selected.inputs.images.iter().filter(|i| is_linked_cubin(&i.image)) {
            diagnostics.push(messages::already_linked(&input.name));
        }
        if diagnostics.failed() {
            return Err(std::mem::take(diagnostics).into_error());
        }
        if selected.inputs.images.is_empty() && selected.optimized.is_none() {
            // Find out why only now.
            let again = SelectOptions { strict: false, trace: true, ..*options };
            let traced = self.select(&again, &mut Diagnostics::default())?.trace;
            return Err(diagnostics.fail(messages::nothing_to_link(&traced, options.arch)));
        }
        Ok(selected)
    }

    /// Takes images that need no messages.
    fn take_all(&self, picks: Vec<Option<Pick<'f>>>, release: &'static Release) -> Selected<'f> {
        let mut host_use = HostUse::default();
        self.scanned.iter().for_each(|item| host_use.add(&item.host));
        // They stay where they are in memory.
        let images = picks.into_iter().filter_map(|pick| pick?.image()).collect();
        let inputs = Inputs { images, host_references: host_use.finish(), release: Some(release) };
        Selected { inputs, ..Selected::default() }
    }

    /// Whether images are examined before the link: for what they lack, which decides about the
    /// system library and archive members, or for their Mercury half. Then they are parsed at once.
    /// Otherwise the link parses them, and has them in the cache when it continues with them.
    fn is_looked_into(&self, options: &SelectOptions) -> bool {
        target::has_mercury(options.arch) || options.lazy_archives || self.has_system_library
    }

    /// What host code uses, as far as the inputs tell; for LTO-IR, before anything is taken.
    pub(super) fn host_references(&self, options: &SelectOptions) -> Option<HostReferences> {
        let mut host_use = HostUse::default();
        let is_bare_ir = |step: &Step<'f>| match step {
            Step::Source(source) => source.fatbin_file && options.lto.is_some(),
            _ => false,
        };
        for item in self.scanned.iter().filter(|item| !is_bare_ir(&item.step)) {
            match &item.step {
                Step::Source(source) if source.system_library => {}
                _ => host_use.add(&item.host),
            }
        }
        host_use.finish()
    }

    /// Whether an earlier device link has dealt with a source.
    fn is_linked(&self, source: &Source<'f>) -> bool {
        !self.linked_elsewhere.is_empty() && self.linked_elsewhere.contains(&self.module_id(source))
    }
}

/// What a link makes at most once, even if it selects twice.
#[derive(Default)]
struct Made<'c, 'f> {
    compilations: Compilations<'c>,
    unpacked: Unpacked<'f>,
}

fn is_fatal(message: &Diagnostic) -> bool {
    message.severity == Severity::Fatal
}

/// The release that the newest image comes from. (`newest-input`)
fn newest_release(images: &[LinkInput<'_>]) -> &'static Release {
    let newest = images.iter().map(|input| input.toolkit).max();
    Release::of_toolkit(newest.unwrap_or(Release::OLDEST.toolkit))
}

/// How many steps from `at` on are members of one archive; 1 for anything
/// else.
fn members_from(steps: &[Scanned<'_>], at: usize) -> usize {
    let archive_of = |item: &Scanned<'_>| match &item.step {
        Step::Source(source) if !source.system_library => source.archive,
        _ => None,
    };
    let Some(archive) = steps.get(at).and_then(archive_of) else { return 1 };
    steps.iter().skip(at).take_while(|item| archive_of(item) == Some(archive)).count()
}

/// The serial part of a selection, in link order.
struct Selection<'s, 'c, 'f> {
    loaded: &'s Loaded<'f>,
    options: &'s SelectOptions,
    how: How<'s>,
    compilations: &'s mut Compilations<'c>,
    diagnostics: &'s mut Diagnostics,
    selected: Selected<'f>,
    host_use: HostUse,
    /// Ids of merged objects; they are registered after all others.
    merged_ids: Vec<String>,
    /// Some source has been seen.
    any_source: bool,
    /// Some image is a whole program.
    any_whole_program: bool,
    /// The system library was not needed by the sources before it.
    dropped_system_library: bool,
    /// What came of LTO-IR, if there is some.
    optimized: Option<lto::Outcome<'f>>,
    /// Host references count as names.
    by_name: bool,
}

impl<'s, 'c, 'f> Selection<'s, 'c, 'f> {
    fn new(
        loaded: &'s Loaded<'f>,
        how: How<'s>,
        compilations: &'s mut Compilations<'c>,
        diagnostics: &'s mut Diagnostics,
    ) -> Self {
        Self {
            loaded,
            options: how.options,
            how,
            compilations,
            diagnostics,
            selected: Selected::default(),
            host_use: HostUse::default(),
            merged_ids: Vec::new(),
            any_source: false,
            any_whole_program: false,
            dropped_system_library: false,
            optimized: None,
            by_name: false,
        }
    }

    /// Takes what was picked from each step.
    fn run(&mut self, mut picked: Vec<Option<Picked<'f>>>) -> Result<(), Error> {
        let images = picked.iter().flatten().map(|p| p.images.len()).sum();
        self.selected.inputs.images.reserve_exact(images);
        let (scanned, lazy) = (&self.loaded.scanned, self.options.lazy_archives);
        let mut at = 0;
        while at < scanned.len() {
            let count = if lazy { members_from(scanned, at) } else { 1 };
            let members = scanned.get(at..at + count).unwrap_or_default();
            let picked = picked.get_mut(at..at + count).unwrap_or_default();
            if lazy {
                self.drop_unneeded(members, picked);
            }
            for (number, (item, picked)) in (at..).zip(members.iter().zip(picked)) {
                self.step(number, item, picked.take().unwrap_or_default())?;
            }
            at += count;
        }
        self.finish_lto()?;
        self.warn_beside_whole_programs()
    }

    /// Says what there is to say about LTO-IR after all inputs.
    fn finish_lto(&mut self) -> Result<(), Error> {
        let Some(outcome) = self.optimized.take() else { return Ok(()) };
        let is_warning = |m: &Diagnostic| m.severity == Severity::Warning;
        let warnings_fail = self.options.lto.is_some_and(|lto| lto.warnings_fail);
        if warnings_fail && self.diagnostics.as_slice().iter().any(is_warning) {
            return self.say(messages::warnings_before_lto());
        }
        self.by_name = outcome.by_name;
        self.selected.lto = true;
        self.selected.optimized = outcome.optimized;
        outcome.messages.into_iter().try_for_each(|message| self.say(message))
    }

    fn step(&mut self, number: usize, item: &Scanned<'f>, picked: Picked<'f>) -> Result<(), Error> {
        let side = &item.host;
        match &item.step {
            Step::Messages(list) => {
                list.iter().try_for_each(|message| self.say(message.clone()))?
            }
            Step::Ignored(ignored) => {
                self.refuse_strictly(ignored)?;
                if self.options.trace {
                    self.trace_ignored(&ignored.name, &ignored.reason.to_string());
                }
            }
            Step::Source(source) if self.loaded.is_linked(source) => {
                self.trace_ignored(&source.name, "an earlier device link has dealt with it");
            }
            Step::Source(source) if source.system_library => {
                return self.system_library(number, source, side);
            }
            Step::Source(source) => {
                // LTO-IR without a host side switches nothing off. (`lto-fatbin-host-info`)
                let is_bare = source.fatbin_file && picked.lto.is_some();
                self.take(source, picked)?;
                self.take_lto_object(number, &source.name)?;
                if is_bare {
                    return Ok(());
                }
            }
        }
        self.host_use.add(side);
        Ok(())
    }

    /// Puts the code of all LTO-IR at the place of the last source that has some.
    /// (`lto-object-place`)
    fn take_lto_object(&mut self, number: usize, name: &str) -> Result<(), Error> {
        let object = self.optimized.as_mut().and_then(|outcome| {
            outcome.object.take_if(|(step, _)| *step == number).map(|(_, object)| object)
        });
        match object {
            Some(_) if self.dropped_system_library => {
                self.say(messages::after_system_library(name))
            }
            object => {
                self.selected.inputs.images.extend(object);
                Ok(())
            }
        }
    }

    /// Refuses a named input for what it is. Archives may hold anything.
    fn refuse_strictly(&mut self, ignored: &Ignored) -> Result<(), Error> {
        let strict = self.options.strict && !ignored.member;
        let refusal = strict.then(|| messages::refusal(ignored, self.options.arch)).flatten();
        refusal.map_or(Ok(()), |message| self.say(message))
    }

    /// Takes the system library if a function is missing at this point.
    /// [`device-runtime`, `device-launch`]
    fn system_library(
        &mut self,
        number: usize,
        source: &Source<'f>,
        side: &HostSide<'f>,
    ) -> Result<(), Error> {
        let needed = self.options.keep_system_libraries
            || need::function_is_missing(&self.selected.inputs.images);
        let state = &mut self.selected.registration.system_library;
        if !needed {
            if *state == SystemLibrary::Absent {
                *state = SystemLibrary::Unused;
            }
            self.dropped_system_library |= self.any_source;
            self.trace_ignored(&source.name, "no function is missing that it could provide");
            return Ok(());
        }
        *state = SystemLibrary::Used;
        self.host_use.add_system_library(side);
        let mut picked = Picked::from(source, |_| None, self.how);
        self.compilations.finish_one(number, source, &mut picked, self.how);
        self.take(source, picked)
    }

    fn take(&mut self, source: &Source<'f>, mut picked: Picked<'f>) -> Result<(), Error> {
        let told = self.is_without_host_code(source);
        // Of a container it is said before anything else, of a cubin once that is known to fit.
        let (first, last) = (told && source.fatbin_file, told && !source.fatbin_file);
        if first {
            self.say(messages::no_host_code(&source.name))?;
        }
        picked.messages.drain(..).try_for_each(|message| self.say(message))?;
        if last {
            self.say(messages::no_host_code(&source.name))?;
        }
        let is_code = !source.system_library && !picked.images.is_empty();
        if self.options.lto.is_some() && is_code {
            self.say(messages::not_lto(&source.name))?;
        }
        if self.dropped_system_library && !picked.images.is_empty() {
            return self.say(messages::after_system_library(&source.name));
        }
        self.any_source = true;
        self.any_whole_program |= picked.whole_program;
        self.trace_taken(&source.name, &picked);
        if !(source.fatbin_file && picked.images.is_empty()) {
            self.register(source);
        }
        self.selected.inputs.images.extend(picked.images);
        Ok(())
    }

    /// Whether to tell that a source which is registered has no host code. [13.3 and 13.4 with
    /// cubins, fatbins, PTX, host objects and archives]
    fn is_without_host_code(&self, source: &Source<'f>) -> bool {
        self.options.register
            && self.how.limits.release.tells_of_missing_host_code
            && source.archive.is_none()
            && match source.body {
                Body::Cubin(_) | Body::Ptx(_) => true,
                Body::Fatbins(_) => source.fatbin_file,
                Body::LtoIr(_) => false,
            }
    }

    fn register(&mut self, source: &Source<'f>) {
        if self.options.register {
            self.selected.registration.module_ids.push(self.loaded.module_id(source));
            self.merged_ids.extend(source.module_ids.iter().skip(1).cloned());
        }
    }

    /// Empties the picks of archive members that nothing needs. They stay registered: the host
    /// linker may still take their host code.
    fn drop_unneeded(&self, members: &[Scanned<'f>], picked: &mut [Option<Picked<'f>>]) {
        let is_member =
            |item: &Scanned<'f>| matches!(&item.step, Step::Source(s) if s.archive.is_some());
        if !members.first().is_some_and(is_member) {
            return;
        }
        let mut owners = Vec::new();
        let mut images = Vec::new();
        for (owner, picked) in picked.iter_mut().enumerate() {
            for image in picked.iter_mut().flat_map(|p| std::mem::take(&mut p.images)) {
                owners.push(owner);
                images.push(image);
            }
        }
        let wanted = need::wanted_members(&self.selected.inputs.images, &images);
        for ((image, owner), wanted) in images.into_iter().zip(owners).zip(wanted) {
            let Some(Some(picked)) = picked.get_mut(owner) else { continue };
            if wanted {
                picked.images.push(image);
            } else {
                picked.ignored.get_or_insert("nothing needs it".into());
            }
        }
    }

    /// Whole programs for other objects to extend (`ptxas -ewp`) are not meant
    /// to meet any but the system library.
    fn warn_beside_whole_programs(&mut self) -> Result<(), Error> {
        if !self.any_whole_program {
            return Ok(());
        }
        let images = &self.selected.inputs.images;
        let is_whole_program = |input: &LinkInput<'_>| {
            Header::parse(&input.image).is_ok_and(|header| header.is_whole_program())
        };
        if !images.iter().any(is_whole_program) {
            return Ok(());
        }
        let others = images.iter().filter(|i| !i.system_library && !is_whole_program(i));
        let warnings: Vec<_> = others.map(|i| messages::beside_whole_program(&i.name)).collect();
        warnings.into_iter().try_for_each(|warning| self.say(warning))
    }

    fn finish(self) -> Selected<'f> {
        let mut selected = self.selected;
        let references = self.host_use.finish();
        selected.inputs.host_references =
            references.map(|references| HostReferences { by_name: self.by_name, ..references });
        selected.inputs.release = Some(self.how.limits.release);
        let ids = &mut selected.registration.module_ids;
        if matches!(selected.optimized, Some(Optimized::Program { .. })) {
            // (`lto-register`)
            ids.reverse();
        }
        ids.extend(self.merged_ids.into_iter().rev());
        selected
    }

    fn trace_taken(&mut self, name: &Arc<str>, picked: &Picked<'_>) {
        if self.options.trace {
            let (images, compiled) = (picked.images.len(), picked.compiled);
            let optimized = picked.lto.is_some();
            let ignored = picked.ignored.clone().filter(|_| images == 0);
            self.selected.trace.push(Traced {
                name: name.clone(),
                images,
                compiled,
                optimized,
                ignored,
            });
        }
    }

    fn trace_ignored(&mut self, name: &Arc<str>, reason: &str) {
        if self.options.trace {
            let (name, ignored) = (name.clone(), Some(reason.to_owned()));
            self.selected.trace.push(Traced {
                name,
                images: 0,
                compiled: false,
                optimized: false,
                ignored,
            });
        }
    }

    fn say(&mut self, message: Diagnostic) -> Result<(), Error> {
        if is_fatal(&message) {
            return Err(self.diagnostics.fail(message));
        }
        self.diagnostics.push(message);
        Ok(())
    }
}
