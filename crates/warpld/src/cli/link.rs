//! The link command: load, select, link, write.

use super::fallback::{self, Fallback};
use super::output::PendingFile;
use super::progress::Progress;
use super::reports::Reports;
use super::stats::Stats;
use super::{
    Console, Outcome, conflicts, dependencies, input_hash, libraries, lto, output, register,
    release, report, reproduce, timing, trace, translate,
};
use crate::exit::leave_memory_behind;
use crate::files::guard;
use crate::files::{CpuArch, Files, LoadRequest, whole};
use crate::options::{CallgraphNames, LinkSettings, Target};
use crate::render::Renderer;
use crate::threads;
use libwarpld::Code;
use libwarpld::driver::{
    Diagnostics, Memory, Optimized, SelectOptions, Selected, Written, link_images, verify,
    warns_of_preserved_relocations,
};
use libwarpld::report::{LinkReport, dot_text, dump_text};
use libwarpld::{Config, Diagnostic, Error};
use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use warpld_compilers::toolkit::{FrontEnd, Search};
use warpld_compilers::{LtoCompiler, ToolkitCompiler};

/// Runs a link; returns the exit status. Takes the names of the inputs out of `settings`.
pub fn link(settings: &mut LinkSettings, console: &mut Console) -> i32 {
    if let Some(place) = settings.input_hash.take() {
        let files = Files::open(&load_request(settings));
        return input_hash::print(settings, &files, &place, console);
    }
    let progress =
        Progress::start(&console.renderer.tool, settings.inputs.len(), console.for_people());
    let mut diagnostics = Diagnostics::default();
    let result = carry_out(settings, console, &mut diagnostics);
    drop(progress);
    let messages = match &result {
        Ok(_) => diagnostics.as_slice(),
        Err(error) => error.diagnostics(),
    };
    let mut remark = translate::missing(settings, messages);
    if let Some(why) = fallback::reason(settings, messages)
        && let Some(fallback) = Fallback::permitted_for(settings, messages)
    {
        match fallback.nvlink() {
            Ok(nvlink) => {
                let (why, messages) = (why.to_owned(), messages.to_vec());
                // nvlink takes the place of this process: the unfinished output goes first.
                drop(result);
                let done = fallback.hand_over(nvlink, console.renderer.clone(), &why);
                return done.unwrap_or_else(|failed| {
                    console.print_all(&messages);
                    console.print(&failed);
                    console.status()
                });
            }
            Err(missing) => remark = Some(missing),
        }
    }
    match result {
        Ok(mut outcome) => {
            console.print_all(diagnostics.as_slice());
            if let Err(diagnostic) = finish(settings, &mut outcome, console) {
                console.print(&diagnostic);
            }
        }
        Err(error) => console.print_all(error.diagnostics()),
    }
    if let Some(remark) = remark {
        console.print(&remark);
    }
    if !settings.no_fork {
        leave_memory_behind();
    }
    console.status()
}

fn carry_out(
    settings: &mut LinkSettings,
    console: &Console,
    diagnostics: &mut Diagnostics,
) -> Result<Outcome, Error> {
    prepare(settings).map_err(|error| diagnostics.fail(error))?;
    remark_on_options(settings, diagnostics);
    let libraries = !settings.libraries.is_empty();
    let mut stats = Stats::start(settings.side.stats.is_some() || settings.side.report.is_some());
    let _tokens = threads::start(settings.threads, &settings.inputs, libraries);
    let request = load_request(settings);
    let files = Files::open(&request);
    // The process exits soon, which frees all memory at once.
    std::mem::forget(request);
    if !console.renderer.is_nvlink() {
        conflicts::check_found(settings, &files).map_err(|error| diagnostics.fail(error))?;
    }
    files.guard(&console.renderer, changed);
    stats.clock.lap("open");
    if let (Some(sink), Some(replay)) = (&settings.side.reproduce, &settings.replay) {
        reproduce::write(sink, replay, settings, &files)
            .map_err(|error| diagnostics.fail(error))?;
        stats.clock.lap("reproduce");
    }
    let outcome = link_files(settings, &files, &console.renderer, diagnostics, stats);
    // A changed file may be the cause of any failure.
    let outcome = match files.changed() {
        Some(name) => {
            if let Err(error) = outcome {
                *diagnostics = error.into();
            }
            Err(diagnostics.fail(changed(name)))
        }
        None => outcome,
    };
    std::mem::forget(files);
    outcome
}

fn link_files(
    settings: &LinkSettings,
    files: &Files,
    renderer: &Renderer,
    diagnostics: &mut Diagnostics,
    mut stats: Stats,
) -> Result<Outcome, Error> {
    let loaded = files.scan();
    stats.clock.lap("scan");
    let options = select_options(settings);
    let compiler = compiler(settings);
    let selected = loaded.select_with(Some(&compiler), &options, diagnostics);
    if let Some(path) = &settings.side.time {
        timing::add(path, &compiler.times())
            .map_err(|error| diagnostics.fail(no_times(path, error)))?;
    }
    let selected = selected?;
    stats.clock.lap("select");
    if settings.side.stats.is_some() {
        stats.compiled = compiler.times();
        stats.count(files, &selected);
    }
    compiler.remarks().into_iter().for_each(|remark| diagnostics.push(remark));
    if settings.side.print_release {
        // Failing to write a remark does not fail a link.
        let _ = io::stdout().lock().write_all(release::text(settings, &selected).as_bytes());
    }
    if selected.inputs.images.is_empty() && selected.optimized.is_none() {
        tell_that_nothing_is_left(settings, files, renderer, diagnostics);
    }
    let trace = settings.side.trace.as_ref();
    let trace = trace.map(|to| trace::report(&selected, &compiler, files.skipped(), to.json));
    let page = settings.side.report.as_ref();
    let page = page.map(|_| report::Facts::new(&selected, &compiler, &stats.clock));
    let dependencies = settings.side.dependencies.as_ref();
    let dependencies = dependencies.map(|_| dependencies::text(settings, files));
    if settings.lto.is_some() {
        lto::remark(&loaded, &selected, &compiler, renderer, diagnostics)?;
    }
    let registration = selected.registration.clone();
    let (output, report) = match settings.target {
        _ if selected.optimized.is_some() => (None, None),
        Target::Virtual(_) => (None, None),
        Target::Real(_) => {
            let (output, linked) = link_selected(settings, &selected, diagnostics)?;
            stats.linker = linked.statistics;
            (output, Some(linked.report))
        }
    };
    stats.clock.lap("link");
    loaded.explain_missing(&options, diagnostics);
    libraries::explain(files.skipped(), diagnostics);
    let optimized = selected.optimized.clone();
    std::mem::forget((loaded, selected));
    Ok(Outcome { output, optimized, report, trace, page, dependencies, registration, stats })
}

/// The compilers of the user's toolkit. Nothing is looked for until one is needed.
fn compiler(settings: &LinkSettings) -> ToolkitCompiler {
    let (compile, host) = (&settings.compile, guard::host());
    let search = Arc::new(Search::new(settings.toolkit.clone()));
    let lto = settings.lto.as_ref().map(|lto| {
        let (lto, search) = (lto.compiler.clone(), search.clone());
        LtoCompiler::new(lto, compile.clone(), host.clone(), search)
    });
    ToolkitCompiler::new(compile.clone(), host, search).with_lto(lto)
}

/// nvlink writes an empty output for inputs of other targets, with only a warning.
fn tell_that_nothing_is_left(
    settings: &LinkSettings,
    files: &Files,
    renderer: &Renderer,
    diagnostics: &mut Diagnostics,
) {
    let target = settings.target;
    let list = diagnostics.as_mut_slice();
    if let Some(last) = list.iter_mut().rev().find(|d| d.code == Code::ArchNotFound) {
        last.notes.push(format!("no input has code for {target}: the output will be empty"));
    } else if matches!(target, Target::Real(_)) && !renderer.is_nvlink() {
        // nvlink says nothing at all.
        let warning = Diagnostic::warning(Code::EmptyOutput, "No input has device code to link")
            .note("the output will be empty; --trace lists the inputs");
        diagnostics.push(match files.names().find(|name| is_source(name)) {
            Some(name) => {
                warning.note(format_args!("'{name}' is source code; nvcc -dc compiles it"))
            }
            None => warning,
        });
    }
}

fn is_source(name: &str) -> bool {
    let suffix = Path::new(name).extension().and_then(|suffix| suffix.to_str());
    matches!(suffix, Some("cu" | "c" | "cc" | "cpp" | "cxx" | "h" | "cuh" | "hpp"))
}

fn changed(name: &str) -> Diagnostic {
    let message = format_args!("Input file '{name}' changed while it was being linked");
    Diagnostic::fatal(Code::InputChanged, message)
}

fn link_selected(
    settings: &LinkSettings,
    selected: &Selected<'_>,
    diagnostics: &mut Diagnostics,
) -> Result<(Option<PendingFile>, Written), Error> {
    let config = read_config(settings).map_err(|error| diagnostics.fail(error))?;
    let mut pending = PendingFile::new(settings.output.as_deref());
    let inputs = translate::inputs(settings, &selected.inputs, diagnostics)
        .map_err(|error| diagnostics.fail(error))?;
    let memory = Memory::LeakedAtExit;
    let linked = link_images(&inputs, &config, diagnostics, &mut pending, memory)?;
    if linked.complete && settings.verify {
        check(&pending, &config).map_err(|error| diagnostics.fail(error))?;
    }
    Ok((linked.complete.then_some(pending), linked))
}

/// The settings, with the files that they name.
fn read_config(settings: &LinkSettings) -> Result<Cow<'_, Config>, Diagnostic> {
    if settings.nv_host.is_none() && settings.uidx.is_none() {
        return Ok(Cow::Borrowed(settings.config.as_ref()));
    }
    let mut config = settings.config.clone();
    if let Some(path) = &settings.nv_host {
        config = config.nv_host(read_file(path)?);
    }
    if let Some(path) = &settings.uidx {
        config = config.uidx(read_file(path)?);
    }
    Ok(Cow::Owned(config.build()))
}

/// `--verify`.
fn check(pending: &PendingFile, config: &Config) -> Result<(), Diagnostic> {
    let failed = |reason: &dyn std::fmt::Display| {
        Diagnostic::fatal(Code::VerifyFailed, "the output does not stand up to --verify")
            .note(reason)
    };
    let contents = pending.contents().map_err(|error| failed(&error))?;
    verify(&contents, config).map_err(|fault| {
        failed(&fault).note("this is a fault of warpld; please report it with the inputs")
    })
}

fn no_times(path: &Path, error: io::Error) -> Diagnostic {
    let message = format!("Cannot open file '{}'", path.display());
    Diagnostic::fatal(Code::CannotOpenOutput, message).note(error)
}

/// nvlink's checks before it reads the inputs.
fn prepare(settings: &LinkSettings) -> Result<(), Diagnostic> {
    if let Some(path) = &settings.side.time {
        timing::begin(path).map_err(|error| no_times(path, error))?;
    }
    if let Some(lto) = &settings.lto {
        let library = lto.nvvm.join("lib64/libnvvm.so");
        if !library.exists() && !does_without_libnvvm(settings) {
            return Err(Diagnostic::fatal(Code::NoLibnvvm, "elfLink linker library load error")
                .note(format_args!("'{}' does not exist", library.display())));
        }
    }
    Ok(())
}

/// Whether LTO-IR goes to libnvJitLink, which has the optimizer inside.
fn does_without_libnvvm(settings: &LinkSettings) -> bool {
    let search = Search::new(settings.toolkit.clone());
    let tools = search.lto_tools();
    tools.is_ok_and(|tools| matches!(tools.front_end, FrontEnd::NvJitLink { .. }))
}

fn remark_on_options(settings: &LinkSettings, diagnostics: &mut Diagnostics) {
    if settings.use_host_info && settings.names_used {
        diagnostics.push(Diagnostic::info(
            Code::OptionIgnored,
            "ignore -use-host-info because -kernels-used or -variables-used is specified",
        ));
    }
    if settings.preserve_relocs && warns_of_preserved_relocations(settings.target.arch()) {
        diagnostics.push(Diagnostic::warning(
            Code::PreserveRelocs,
            // The spelling is nvlink's.
            format_args!(
                "Option '--preserve-relocs' is not fully implemented for gpu archtecture '{}' \
                 and may not work as expected",
                settings.target
            ),
        ));
    }
}

fn load_request(settings: &mut LinkSettings) -> LoadRequest {
    LoadRequest {
        files: std::mem::take(&mut settings.inputs),
        libraries: settings
            .libraries
            .iter()
            .map(|name| name.to_string_lossy().into_owned())
            .collect(),
        library_paths: settings.library_paths.clone(),
        library_path_env: std::env::var_os("LIBRARY_PATH"),
        cpu_arch: match settings.cpu_arch.as_deref() {
            Some("AARCH64") => CpuArch::Aarch64,
            Some("ARMv7") => CpuArch::ArmV7,
            Some("PPC64LE") => CpuArch::Ppc64Le,
            Some("RISCV64") => CpuArch::RiscV64,
            Some("X86") => CpuArch::X86,
            Some("X86_64") => CpuArch::X86_64,
            _ => CpuArch::Native,
        },
        working_directory: std::env::current_dir().unwrap_or_default(),
    }
}

fn select_options(settings: &LinkSettings) -> SelectOptions {
    let mut options = SelectOptions::of(settings.config.as_ref());
    options.suppress_arch_warning = settings.suppress_arch_warning;
    // Nothing is resolved for a virtual target, so nothing is known to be unneeded: nvlink
    // registers the device runtime unasked.
    options.keep_system_libraries |= matches!(settings.target, Target::Virtual(_));
    options.register = settings.side.register.is_some();
    options.trace = settings.side.trace.is_some() || settings.side.report.is_some();
    options.lto = settings.lto.as_ref().map(|lto| lto.options);
    options
}

/// Prints and writes what was requested, in nvlink's order: reports, output, registration, graph.
/// After errors only the output is missing.
fn finish(
    settings: &LinkSettings,
    outcome: &mut Outcome,
    console: &mut Console,
) -> Result<(), Diagnostic> {
    let mut reports = Reports::default();
    if let Some(report) = &outcome.report {
        print_nvlinks_reports(settings, report, console);
    }
    reports.before_output(settings, outcome, console)?;
    if let (Some(pending), false) = (outcome.output.take(), console.failed()) {
        pending.publish()?;
    }
    match outcome.optimized.take() {
        Some(_) if console.failed() => {}
        Some(Optimized::Ptx(text)) => return lto::write(settings, &text),
        Some(Optimized::Program { image, ends_with_system_library }) => {
            lto::write(settings, &image)?;
            if !ends_with_system_library {
                return Err(lto::no_system_library());
            }
        }
        None => {}
    }
    if let Some(path) = &settings.side.register {
        let kept = whole::read(path).is_ok_and(|old| register::keeps(&old, &outcome.registration));
        if !kept {
            write_file(path, register::text(&outcome.registration).as_bytes())?;
        }
    }
    if let (Some(sink), Some(text), false) =
        (&settings.side.dependencies, &outcome.dependencies, console.failed())
    {
        reports.put(sink, text, console)?;
    }
    if let (Some(path), Some(report)) = (&settings.side.dot, &outcome.report) {
        write_file(path, dot_text(&report.callgraph).as_bytes())?;
    }
    if !console.failed() {
        reports.map(settings, outcome, console)?;
    }
    if let Some(sink) = &settings.side.stats {
        let mut stats = std::mem::take(&mut outcome.stats);
        stats.clock.lap("finish");
        let output = settings.output.as_deref().filter(|_| !console.failed());
        stats.written = output.and_then(|path| Some(std::fs::metadata(path).ok()?.len()));
        reports.put(sink, &stats.report(sink.json), console)?;
    }
    if let (Some(sink), Some(facts), Some(report), false) =
        (&settings.side.report, &outcome.page, &outcome.report, console.failed())
    {
        reports.put(sink, &report::text(settings, facts, report), console)?;
    }
    Ok(())
}

/// `--dump-callgraph` and `-v`.
fn print_nvlinks_reports(settings: &LinkSettings, report: &LinkReport, console: &mut Console) {
    if let (Some(names), false) = (settings.side.callgraph, settings.relocatable) {
        let demangled = names == CallgraphNames::Demangled;
        console.raw(&dump_text(settings.target.arch().number, report, demangled));
    }
    if settings.side.verbose {
        report.verbose().iter().for_each(|line| console.print(line));
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    whole::read_or_wait(path).map_err(|error| {
        let message = format!("Could not open input file '{}'", path.display());
        Diagnostic::fatal(Code::CannotOpenInput, message).note(error)
    })
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
    Ok(output::write_atomically(path, bytes)?)
}
