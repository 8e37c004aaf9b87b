//! `--fallback=nvlink`: a link that needs what warpld does not have is handed over to the toolkit's
//! own nvlink. It gets the same arguments, and its exit status and files are those of the link. Links
//! for Blackwell that only nvlink makes are handed over unasked.
//!
//! This comes before anything is written, and before anything is printed but one line that says
//! so.

use super::Console;
use crate::options::{Forwarded, LinkSettings, Opt, ReleaseOrigin};
use crate::render::Renderer;
use libwarpld::{Code, Diagnostic, Release, Severity};
use std::env;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use warpld_compilers::toolkit::{Hints, Search, Tool};

/// Set for nvlink: what it starts hands nothing over, in case that it is a script which starts
/// warpld.
const HANDED_OVER: &str = "WARPLD_HANDED_OVER";

/// Why a link with these messages is one for nvlink.
pub fn reason<'d>(settings: &LinkSettings, messages: &'d [Diagnostic]) -> Option<&'d str> {
    let found = messages.iter().find(|message| {
        let code = message.code;
        // Machine code in place of LTO-IR works, but is not what was asked for.
        let matters = message.severity >= Severity::Error || code == Code::LtoUnsupported;
        let nvlink_may_know = match code {
            // nvlink of the release that the link stands for has not seen such inputs either.
            Code::NewerToolkit | Code::AbiMismatch => settings.release == ReleaseOrigin::Inputs,
            // nvlink asks for the option, too.
            Code::LtoOnly => settings.lto.is_some(),
            _ => code.is_missing_feature(),
        };
        matters && nvlink_may_know
    });
    found.map(|message| match message.code {
        // The message asks for the option that was given.
        Code::LtoOnly => "an input has only LTO-IR for the target",
        _ => &message.message,
    })
}

/// Whether these messages refuse code that nvlink compiles again.
pub fn needs_compiler(messages: &[Diagnostic]) -> bool {
    messages.iter().any(|d| matches!(d.code, Code::NeedsCompiler | Code::PureMercury))
}

/// Whether these messages refuse what only nvlink links for Blackwell.
fn is_for_nvlink_alone(messages: &[Diagnostic]) -> bool {
    needs_compiler(messages) || messages.iter().any(|d| d.code == Code::UnifiedCapsules)
}

/// Whether nvlink's own link has all that this option of warpld's asks for.
fn is_met_by_nvlink(opt: Opt, value: &[u8]) -> bool {
    match opt {
        Opt::Identity => value == b"nvlink",
        Opt::BinaryKind => value == b"capmerc",
        Opt::Fastpath => value == b"auto",
        // How warpld works and prints, and checks of what it writes.
        Opt::Color
        | Opt::CompilerTimeout
        | Opt::CudaPath
        | Opt::CudaRelease
        | Opt::ErrorLimit
        | Opt::FnlzrTrace
        | Opt::NoFork
        | Opt::PtxCache
        | Opt::PtxCacheSize
        | Opt::Rescoreboard
        | Opt::SelfCheck
        | Opt::Threads
        | Opt::Verify => true,
        _ => false,
    }
}

/// A link for nvlink.
pub struct Fallback {
    words: Forwarded,
    search: Search,
}

impl Fallback {
    /// The link of this process, if it may be handed over: where that was asked for, or through a
    /// shim, unless it is forbidden.
    pub fn permitted(hints: &Hints) -> Option<Self> {
        Self::of_process(hints).filter(|this| this.is_wanted(hints))
    }

    /// The same for a link with these messages.
    pub fn permitted_for(settings: &LinkSettings, messages: &[Diagnostic]) -> Option<Self> {
        match settings.finalizer.is_none() && is_for_nvlink_alone(messages) {
            true => Self::unasked(settings),
            false => Self::permitted(&settings.toolkit),
        }
    }

    /// The same for a link for Blackwell that only nvlink makes byte for byte. Nobody has to ask for it, but it
    /// takes an nvlink of the release that was asked for, and no option may ask for what only warpld does.
    pub fn unasked(settings: &LinkSettings) -> Option<Self> {
        let hints = &settings.toolkit;
        let this = Self::of_process(hints)?;
        (this.is_wanted(hints) || this.is_as_good(&settings.release)).then_some(this)
    }

    fn of_process(hints: &Hints) -> Option<Self> {
        if env::var_os(HANDED_OVER).is_some() {
            return None;
        }
        // They were not kept: there may be many thousands, and few links come here.
        let words = Forwarded::new(env::args_os().skip(1), &|path| std::fs::read(path));
        if words.has(Opt::NoFallback) {
            return None;
        }
        let cuda_path = words.path(Opt::CudaPath);
        let search = Search::new(Hints { cuda_path, ..hints.clone() });
        Some(Self { words, search })
    }

    fn is_wanted(&self, hints: &Hints) -> bool {
        self.words.has(Opt::Fallback) || hints.shim.is_some()
    }

    /// Whether there is an nvlink whose link is what was asked for.
    fn is_as_good(&self, asked: &ReleaseOrigin) -> bool {
        let Ok(nvlink) = self.search.nvlink() else { return false };
        let is_of = |release: &Release| {
            let version = nvlink.version();
            version.is_some_and(|version| Release::of_version(&version) == Some(release))
        };
        self.words.own().all(|(opt, value)| is_met_by_nvlink(opt, value))
            && asked.release().is_none_or(is_of)
    }

    /// The nvlink that can do it; if there is none, a remark says where it was looked for.
    pub fn nvlink(&self) -> Result<&Path, Diagnostic> {
        let found = self.search.nvlink().map(Tool::path);
        found.map_err(|missing| {
            let message = "there is no nvlink that could do this link".into();
            Diagnostic { message, severity: Severity::Info, ..*missing }
        })
    }

    /// Has an nvlink do the link; returns its exit status. If it does not start, returns why.
    pub fn hand_over(
        &self,
        nvlink: &Path,
        renderer: Renderer,
        why: &str,
    ) -> Result<i32, Diagnostic> {
        let message = format!("warpld hands this link over to '{}': {why}", nvlink.display());
        // This is the one line that must be seen.
        let renderer = Renderer { hide_infos: false, ..renderer };
        Console::new(renderer).print(&Diagnostic::info(Code::HandedOver, message));
        let mut command = Command::new(nvlink);
        command.args(self.words.words()).env(HANDED_OVER, "1");
        run(&mut command).map_err(|error| {
            let message = format!("cannot run '{}': {error}", nvlink.display());
            Diagnostic::fatal(Code::NoCompiler, message)
        })
    }
}

/// Becomes the program, so that its caller sees its status and signals reach it.
#[cfg(unix)]
fn run(command: &mut Command) -> io::Result<i32> {
    use std::os::unix::process::CommandExt;
    let _ = io::stdout().flush();
    Err(command.exec())
}

#[cfg(not(unix))]
fn run(command: &mut Command) -> io::Result<i32> {
    let _ = io::stdout().flush();
    Ok(command.status()?.code().unwrap_or(super::FATAL_STATUS))
}
