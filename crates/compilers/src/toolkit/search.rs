//! Looking for compilers, and saying where that was.

use super::folder::Toolkit;
use super::places::{Environment, Hints, Place, places};
use super::tool::{Library, Tool};
use libwarpld::{Code, Diagnostic};
use std::borrow::Cow;
use std::fmt::Display;
use std::sync::OnceLock;

/// Looks for compilers when it is first asked for one, and remembers where it looked.
#[derive(Debug, Default)]
pub struct Search {
    hints: Hints,
    environment: Option<Environment>,
    places: OnceLock<Vec<Place>>,
}

impl Search {
    /// Nothing is looked at yet.
    pub fn new(hints: Hints) -> Self {
        Self { hints, ..Self::default() }
    }

    /// The same in other surroundings than those of this process.
    pub fn within(hints: Hints, environment: Environment) -> Self {
        Self { hints, environment: Some(environment), places: OnceLock::new() }
    }

    /// All places in their order.
    pub fn places(&self) -> &[Place] {
        self.places.get_or_init(|| places(&self.hints, &self.environment()))
    }

    pub(super) fn environment(&self) -> Cow<'_, Environment> {
        match &self.environment {
            Some(environment) => Cow::Borrowed(environment),
            None => Cow::Owned(Environment::current()),
        }
    }

    fn toolkits(&self) -> impl Iterator<Item = &Toolkit> {
        self.places().iter().filter_map(|place| place.toolkit.as_ref())
    }

    /// The first toolkit with ptxas, else the first with anything to compile with.
    pub fn toolkit(&self) -> Option<&Toolkit> {
        let ptxas = self.toolkits().find(|toolkit| toolkit.ptxas().is_some());
        ptxas.or_else(|| self.toolkits().find(|toolkit| toolkit.has_compiler()))
    }

    /// The first toolkit with nvlink and ptxas: PTX and the ptxas that reads it must be of one
    /// release, so they come from one toolkit.
    pub fn lto_toolkit(&self) -> Result<&Toolkit, Box<Diagnostic>> {
        let makes_ptx = |t: &&Toolkit| t.ptxas().is_some() && t.nvlink().is_some();
        let found = self.toolkits().find(makes_ptx);
        found.ok_or_else(|| Box::new(self.missing("no compiler for LTO-IR was found")))
    }

    /// The first ptxas.
    pub fn ptxas(&self) -> Result<&Tool, Box<Diagnostic>> {
        let found = self.toolkits().find_map(Toolkit::ptxas);
        found.ok_or_else(|| Box::new(self.missing("no ptxas was found")))
    }

    /// The first nvlink that is not warpld.
    pub fn nvlink(&self) -> Result<&Tool, Box<Diagnostic>> {
        let found = self.toolkits().find_map(Toolkit::nvlink);
        found.ok_or_else(|| Box::new(self.missing("no nvlink was found")))
    }

    /// The first disassembler.
    pub fn nvdisasm(&self) -> Option<Tool> {
        self.toolkits().find_map(Toolkit::nvdisasm)
    }

    /// The first libnvJitLink.
    pub fn nvjitlink(&self) -> Result<&Library, Box<Diagnostic>> {
        let found = self.toolkits().find_map(Toolkit::nvjitlink);
        found.ok_or_else(|| Box::new(self.missing("no libnvJitLink was found")))
    }

    pub(super) fn missing(&self, message: impl Display) -> Diagnostic {
        let diagnostic = Diagnostic::fatal(Code::NoCompiler, message).note(self.looked_in());
        match self.places() {
            [only] if only.folder.is_some() => {
                diagnostic.note("no other place is searched when one is named")
            }
            _ => diagnostic.note("name a CUDA toolkit by --cuda-path=DIR"),
        }
    }

    /// One line on all places.
    pub fn looked_in(&self) -> String {
        let names: Vec<String> = self.places().iter().map(Place::describe).collect();
        format!("looked in {}", names.join(", "))
    }
}
