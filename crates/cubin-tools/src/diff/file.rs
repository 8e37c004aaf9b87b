//! One of the two files.

use cubin::Cubin;
use cubin::words::{self, Tables};

/// A file with what is needed to name its parts.
pub(crate) struct File<'c, 'a> {
    pub(crate) cubin: &'c Cubin<'a>,
    pub(crate) tables: Tables<'c, 'a>,
}

impl<'c, 'a> File<'c, 'a> {
    pub(crate) fn of(cubin: &'c Cubin<'a>) -> Self {
        Self { cubin, tables: Tables::of(cubin) }
    }
    /// A section that a field refers to.
    pub(crate) fn section_name(&self, index: u32) -> String {
        match self.cubin.section(index) {
            _ if index == 0 => "none".to_owned(),
            Some(s) => words::reference(s.name).into_owned(),
            None => format!("number {index}"),
        }
    }
}
