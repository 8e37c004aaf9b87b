//! The way in: files in memory, in link order, and what comes of them.

use crate::compile::Compiler;
use crate::config::Config;
use crate::diag::{Diagnostic, Diagnostics, Error};
use crate::inputs::options::SelectOptions;
use crate::inputs::{Found, InputFile, Store, scan};
use crate::link::{Memory, link_images};
use crate::report::LinkReport;
use crate::threads;
use std::borrow::Cow;
use std::sync::Arc;

/// A file to link: a cubin, a fatbin, a host object with device code or an archive of them.
///
/// What it is, its bytes say. The name stands in messages; the suffixes `.cubin`, `.fatbin` and
/// `.ptx` are promises that the bytes must keep, and an archive named `libcudadevrt.a` takes
/// part only if a function is missing.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    name: Arc<str>,
    data: Cow<'a, [u8]>,
}

impl<'a> Input<'a> {
    /// A file with this name and these bytes.
    pub fn new(name: impl Into<Arc<str>>, data: impl Into<Cow<'a, [u8]>>) -> Self {
        Self { name: name.into(), data: data.into() }
    }

    /// Its name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its bytes.
    pub fn data(&self) -> &[u8] {
        &self.data
    }
}

/// What a link came to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Output {
    /// The cubin: executable, or relocatable if [`Config`] says so.
    pub cubin: Vec<u8>,
    /// Warnings and remarks, in order.
    pub warnings: Vec<Diagnostic>,
    /// Memory, kernels, call graph and map, if [`Config`] asks for them.
    pub report: Option<LinkReport>,
}

/// Links files in memory, in their order.
///
/// Every input must have something to do with the link: one that is for other targets only,
/// that has been linked already, that holds nothing but PTX or LTO-IR, or that is no file with
/// device code is an error, as are damaged files. Exempt are host objects without relocatable
/// device code and members of archives, which are passed over.
///
/// Called on a thread of a rayon pool, it runs on that pool. Elsewhere it starts threads of its
/// own and ends them: one for a small link, else one per processor or as many as
/// [`ConfigBuilder::threads`](crate::ConfigBuilder::threads) says.
pub fn link(inputs: &[Input<'_>], config: &Config) -> Result<Output, Error> {
    link_and_compile(inputs, config, None)
}

/// Links files in memory like [`link`], with a compiler for those that have PTX for the target and
/// no machine code, or older code only.
pub fn link_with(
    inputs: &[Input<'_>],
    config: &Config,
    compiler: &dyn Compiler,
) -> Result<Output, Error> {
    link_and_compile(inputs, config, Some(compiler))
}

fn link_and_compile(
    inputs: &[Input<'_>],
    config: &Config,
    compiler: Option<&dyn Compiler>,
) -> Result<Output, Error> {
    let sizes = inputs.iter().map(|input| input.data.len());
    let count = threads::count(config.threads, inputs.len(), sizes.sum());
    threads::run(count, || link_here(inputs, config, compiler))
        .unwrap_or_else(|error| Err(Diagnostics::default().fail(error)))
}

/// Links on the threads of the current pool.
fn link_here(
    inputs: &[Input<'_>],
    config: &Config,
    compiler: Option<&dyn Compiler>,
) -> Result<Output, Error> {
    let store = Store::default();
    let found =
        inputs.iter().map(|input| Found::File(InputFile::new(input.name.clone(), &input.data)));
    let found: Vec<Found<'_>> = found.collect();
    let loaded = scan(&found, &store, "");
    let options = SelectOptions { strict: true, ..SelectOptions::of(config) };
    let mut diagnostics = Diagnostics::default();
    let selected = loaded.select_with(compiler, &options, &mut diagnostics)?;
    let mut cubin = Vec::new();
    let linked =
        link_images(&selected.inputs, config, &mut diagnostics, &mut cubin, Memory::Freed)?;
    if !linked.complete {
        loaded.explain_missing(&options, &mut diagnostics);
        return Err(diagnostics.into_error());
    }
    let report = config.report.then_some(linked.report);
    Ok(Output { cubin, warnings: diagnostics.into_vec(), report })
}
