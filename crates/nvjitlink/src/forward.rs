//! Handing a link over to NVIDIA's library, which has compilers.

use crate::input::{Input, Kind, mismatch};
use crate::real::{self, FindError, Handle, Library};
use crate::result::{Code, Major, Refusal};
use crate::settings;
use std::ffi::CString;
use std::sync::OnceLock;
use warpld_compilers::toolkit::{Hints, Search};

/// Why a link does not go on elsewhere.
pub(crate) enum Stopped {
    /// There is no library.
    Missing(FindError),
    /// It refuses what it is given: result, and error log.
    Refused(Code, Vec<u8>),
}

impl Stopped {
    /// What is said about it, with the input that cannot be added.
    pub(crate) fn refusal(self, input: &Input, lto: bool) -> Refusal {
        match self {
            Self::Missing(_) if input.kind == Kind::Index => mismatch(input.kind, &input.name),
            Self::Missing(missing) => no_compiler(&missing, input, lto),
            Self::Refused(code, log) => {
                let text = String::from_utf8_lossy(&log);
                match text.trim_end_matches('\n') {
                    "" => Refusal::silent(code),
                    text => Refusal::new(code, text),
                }
            }
        }
    }
}

fn no_compiler(missing: &FindError, input: &Input, lto: bool) -> Refusal {
    let (code, what) = match lto && input.kind != Kind::Ptx {
        true => (Code::NvvmCompile, "LTO-IR"),
        false => (Code::PtxCompile, "PTX"),
    };
    let mut line = format!("ERROR: no compiler for {what} ({})", input.name.text());
    line.push_str("\n    = NVIDIA's libnvJitLink, which compiles it, was not found");
    if code == Code::PtxCompile && !lto {
        line.push_str(", nor a toolkit with ptxas");
    }
    for place in &missing.looked_in {
        line.push_str("\n    = looked in ");
        line.push_str(place);
    }
    for (path, reason) in &missing.refused {
        line.push_str(&format!("\n    = '{}' cannot be used: {reason}", path.display()));
    }
    Refusal::new(code, line)
}

/// The libraries that were loaded, by [`Major`].
static LOADED: [OnceLock<Library>; 2] = [OnceLock::new(), OnceLock::new()];

fn loaded(major: Major) -> &'static OnceLock<Library> {
    let [cuda_12, cuda_13] = &LOADED;
    match major {
        Major::Cuda12 => cuda_12,
        Major::Cuda13 => cuda_13,
    }
}

/// Loads the library at the first call. Where there is none, the next call looks again.
fn library(major: Major) -> Result<&'static Library, FindError> {
    let place = loaded(major);
    if let Some(library) = place.get() {
        return Ok(library);
    }
    let majors: &[u32] = match major {
        // What CUDA 13 no longer compiles for is all that it lacks.
        Major::Cuda12 => &[12, 13],
        Major::Cuda13 => &[13],
    };
    let found = real::find(&Search::new(Hints::default()), majors)?;
    Ok(place.get_or_init(|| found))
}

/// Starts the link anew in the other library, with all inputs so far.
pub(crate) fn start(
    major: Major,
    texts: &[CString],
    inputs: &[Input],
    reason: &str,
) -> Result<Handle, Stopped> {
    let library = match library(major) {
        Ok(library) => library,
        Err(missing) => {
            settings::trace(|| format!("{reason}; {missing}"));
            return Err(Stopped::Missing(missing));
        }
    };
    settings::trace(|| format!("{reason}; handed over to {}", library.path().display()));
    let (mut handle, created) = Handle::new(library, texts);
    let refused = |handle: &Handle, code| Stopped::Refused(code, handle.error_log());
    created.map_err(|refusal| refused(&handle, Code::of_number(refusal.0)))?;
    for input in inputs {
        add(&mut handle, input).map_err(|code| refused(&handle, code))?;
    }
    Ok(handle)
}

/// Adds an input.
pub(crate) fn add(handle: &mut Handle, input: &Input) -> Result<(), Code> {
    let added = handle.add_data(input.kind, &input.data, input.name.to_c_string());
    added.map_err(|refusal| Code::of_number(refusal.0))
}

/// The release that the library says it is: that of the setting, or of the library that compiles
/// once it is loaded, or the first one whose links it knows.
pub(crate) fn version(major: Major) -> (u32, u32) {
    if let Some(release) = settings::release().filter(|_| major == Major::Cuda13) {
        return (release.toolkit / 10, release.toolkit % 10);
    }
    let own = match major {
        Major::Cuda12 => (12, 9),
        Major::Cuda13 => (13, 0),
    };
    let real = loaded(major).get().map(Library::version);
    real.filter(|(number, _)| *number == own.0).unwrap_or(own)
}
