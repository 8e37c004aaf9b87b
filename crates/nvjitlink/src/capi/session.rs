//! Settings, inputs and the results of a link.

use super::json;
use super::settings::Settings;
use super::{Refused, Status};
use cubin::{Cubin, FileKind};
use libwarpld::report::{LinkReport, map_text, resources_text, why_dead, why_live};
use libwarpld::{Arch, Diagnostic, Input, link, link_with};
use std::ffi::{CStr, CString};
use std::path::Path;

/// What C programs hold a pointer to.
#[derive(Default)]
pub struct Session {
    settings: Settings,
    inputs: Vec<Input<'static>>,
    linked: Option<Linked>,
    /// Texts that were given out. Their bytes stay where they are until the next link.
    texts: Vec<(Text, CString)>,
    /// What the last failed call says.
    error: CString,
}

/// What the last link came to.
struct Linked {
    arch: Arch,
    diagnostics: Vec<Diagnostic>,
    cubin: Option<Vec<u8>>,
    report: Option<LinkReport>,
}

/// A text about a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text {
    /// All messages, as JSON.
    Diagnostics,
    /// Kernels, functions, variables and the map, as JSON.
    Report,
    /// Which input each byte came from.
    Map,
    /// What each kernel needs, and which callee is responsible.
    Resources,
    /// What keeps a symbol in the output.
    WhyLive(String),
    /// Why a symbol is not in the output.
    WhyDead(String),
    /// The dump of a file. Each is made anew.
    Dump,
}

impl Session {
    /// Changes a setting.
    pub fn set(&mut self, name: &str, value: Option<&str>) -> Result<(), Refused> {
        self.settings.set(name, value)
    }

    /// Adds an input, behind those that are there.
    pub fn add(&mut self, name: &str, data: Vec<u8>) {
        self.inputs.push(Input::new(name, data));
    }

    /// Adds a file.
    pub fn add_file(&mut self, path: &Path) -> Result<(), Refused> {
        let name = path.display().to_string();
        let data = std::fs::read(path)
            .map_err(|error| (Status::CannotRead, format!("cannot read {name}: {error}")))?;
        self.add(&name, data);
        Ok(())
    }

    /// Forgets inputs and results; the settings stay.
    pub fn clear(&mut self) {
        self.inputs.clear();
        self.linked = None;
        self.texts.clear();
    }

    /// Links the inputs.
    pub fn link(&mut self) -> Result<(), Refused> {
        self.linked = None;
        self.texts.clear();
        let config = self.settings.config()?;
        let arch = config.arch();
        let output = match self.settings.compiler() {
            Some(compiler) => link_with(&self.inputs, &config, &compiler),
            None => link(&self.inputs, &config),
        };
        let (linked, result) = match output {
            Ok(output) => {
                let (cubin, report) = (Some(output.cubin), output.report);
                (Linked { arch, diagnostics: output.warnings, cubin, report }, Ok(()))
            }
            Err(error) => {
                let diagnostics = error.diagnostics().to_vec();
                let failed = Linked { arch, diagnostics, cubin: None, report: None };
                (failed, Err((Status::LinkFailed, error.to_string())))
            }
        };
        self.linked = Some(linked);
        result
    }

    /// The output of the last link.
    pub fn cubin(&self) -> Result<&[u8], Refused> {
        let linked = self.linked()?;
        linked.cubin.as_deref().ok_or((Status::NoResult, "the link failed".into()))
    }

    /// A text about the last link.
    pub fn text(&mut self, what: Text) -> Result<&CStr, Refused> {
        if let Some(known) = self.texts.iter().position(|(of, _)| *of == what) {
            return Ok(self.given(known));
        }
        let text = match &what {
            Text::Diagnostics => json::diagnostics(&self.linked()?.diagnostics),
            Text::Report => json::report(self.linked()?.arch, self.report()?),
            Text::Map => map_text(self.report()?),
            Text::Resources => resources_text(self.report()?),
            Text::WhyLive(symbol) => why_live(self.report()?, symbol),
            Text::WhyDead(symbol) => why_dead(self.report()?, symbol),
            Text::Dump => return Err((Status::Internal, "a dump has no link".into())),
        };
        Ok(self.keep(what, text))
    }

    /// The dump of a device ELF, as JSON.
    pub fn dump(&mut self, name: &str, data: &[u8]) -> Result<&CStr, Refused> {
        let refused = |why: &str| (Status::NotACubin, format!("{name}: {why}"));
        let cubin = match cubin::identify(data) {
            FileKind::NotElf => return Err(refused("not an ELF file")),
            FileKind::HostElf => {
                return Err(refused("host code; device code must be extracted first"));
            }
            FileKind::DeviceElf => {
                Cubin::parse(data).map_err(|error| refused(&error.to_string()))?
            }
        };
        let text = cubin_tools::dump::describe(name, &cubin).to_string();
        Ok(self.keep(Text::Dump, text))
    }

    /// The last call failed.
    pub fn fail(&mut self, message: String) {
        self.error = terminated(message);
    }

    /// What the last failed call says.
    pub fn error(&self) -> &CStr {
        &self.error
    }

    fn linked(&self) -> Result<&Linked, Refused> {
        self.linked.as_ref().ok_or((Status::NoResult, "nothing was linked".into()))
    }

    fn report(&self) -> Result<&LinkReport, Refused> {
        let linked = self.linked()?;
        let why =
            if linked.cubin.is_some() { "no report was asked for" } else { "the link failed" };
        linked.report.as_ref().ok_or((Status::NoResult, why.into()))
    }

    fn keep(&mut self, what: Text, text: String) -> &CStr {
        self.texts.push((what, terminated(text)));
        self.given(self.texts.len() - 1)
    }

    fn given(&self, at: usize) -> &CStr {
        self.texts.get(at).map_or(c"", |(_, text)| text)
    }
}

/// Names of inputs are the caller's and may have any character but NUL; nothing else has one.
fn terminated(text: String) -> CString {
    CString::new(text).unwrap_or_else(|error| {
        let text: Vec<u8> = error.into_vec().into_iter().filter(|byte| *byte != 0).collect();
        CString::new(text).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(inputs: &[&str]) -> Session {
        let mut session = Session::default();
        session.set("arch", Some("sm_90")).unwrap();
        for name in inputs {
            let path = format!("{}/../../examples/{name}.sm_90.cubin", env!("CARGO_MANIFEST_DIR"));
            session.add(name, std::fs::read(path).unwrap());
        }
        session
    }

    fn parsed(text: &CStr) -> serde_json::Value {
        serde_json::from_slice(text.to_bytes()).unwrap()
    }

    #[test]
    fn a_link_and_all_that_is_said_of_it() {
        let mut session = session(&["saxpy", "scale"]);
        session.link().unwrap();
        assert!(session.cubin().unwrap().starts_with(b"\x7fELF"));
        assert_eq!(parsed(session.text(Text::Diagnostics).unwrap()), serde_json::json!([]));
        let report = parsed(session.text(Text::Report).unwrap());
        assert_eq!(report["target"]["name"], "sm_90");
        assert_eq!(report["kernels"][0]["demangled"], "saxpy(int, float, float const*, float*)");
        assert_eq!(report["kernels"][0]["registers"], 24);
        assert_eq!(report["map"]["inputs"][1]["file"], "scale");
        let live = session.text(Text::WhyLive("scale".into())).unwrap().to_str().unwrap();
        assert!(live.contains("is reached from a kernel"), "{live}");
        let cubin = session.cubin().unwrap().to_vec();
        let dump = parsed(session.dump("out", &cubin).unwrap());
        assert_eq!(dump["file"], "out");
    }

    #[test]
    fn a_failed_link_can_be_mended() {
        let mut session = session(&["saxpy"]);
        assert_eq!(session.link().unwrap_err().0, Status::LinkFailed);
        assert_eq!(session.cubin().unwrap_err().0, Status::NoResult);
        assert_eq!(session.text(Text::Report).unwrap_err().0, Status::NoResult);
        let said = parsed(session.text(Text::Diagnostics).unwrap());
        assert_eq!(said[0]["code"], "undefined-symbol");
        assert_eq!(said[0]["severity"], "error");
        assert_eq!(said[0]["demangled"], "scale(float)");
        let path = format!("{}/../../examples/scale.sm_90.cubin", env!("CARGO_MANIFEST_DIR"));
        session.add_file(Path::new(&path)).unwrap();
        session.link().unwrap();
    }

    #[test]
    fn nothing_to_say_without_a_link() {
        let mut session = Session::default();
        assert_eq!(session.link().unwrap_err().0, Status::NoTarget);
        for text in [Text::Diagnostics, Text::Report, Text::Map, Text::WhyDead("k".into())] {
            assert_eq!(session.text(text).unwrap_err().0, Status::NoResult);
        }
        assert_eq!(session.dump("text", b"text").unwrap_err().0, Status::NotACubin);
        assert_eq!(session.add_file(Path::new("/")).unwrap_err().0, Status::CannotRead);
    }

    /// Without a toolkit PTX is an error, and one that is named is the only one.
    #[test]
    fn ptx_needs_a_toolkit() {
        let mut session = session(&[]);
        session.add(
            "a.ptx",
            b".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n"
                .to_vec(),
        );
        assert_eq!(session.link().unwrap_err().0, Status::LinkFailed);
        let first = session.text(Text::Diagnostics).unwrap().to_owned();
        session.set("cuda-path", Some("/nonexistent/toolkit")).unwrap();
        assert_eq!(session.link().unwrap_err().0, Status::LinkFailed);
        let second = session.text(Text::Diagnostics).unwrap();
        assert!(!first.to_string_lossy().contains("/nonexistent/toolkit"));
        assert!(second.to_string_lossy().contains("/nonexistent/toolkit"), "{second:?}");
    }

    #[test]
    fn no_report_unless_asked_for() {
        let mut session = session(&["saxpy", "scale"]);
        session.set("report", Some("off")).unwrap();
        session.link().unwrap();
        assert_eq!(session.text(Text::Map).unwrap_err().0, Status::NoResult);
    }
}
