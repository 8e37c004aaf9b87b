//! Where a missing symbol is defined for another target.

use super::options::SelectOptions;
use super::scan::{Body, Loaded, Step};
use crate::demangle::readable;
use crate::diag::Code;
use crate::diag::Diagnostics;
use cubin::{Arch, Cubin};
use fatbin::Kind;
use std::collections::BTreeSet;

impl Loaded<'_> {
    /// Adds a note to each undefined symbol that some input defines in code for a
    /// target other than the one linked for.
    pub fn explain_missing(&self, options: &SelectOptions, diagnostics: &mut Diagnostics) {
        let is_missing = |code: Code| code == Code::UndefinedSymbol;
        if !diagnostics.as_slice().iter().any(|d| is_missing(d.code)) {
            return;
        }
        for arch in other_targets(self, options.arch) {
            let other =
                SelectOptions { arch, suppress_arch_warning: true, strict: false, ..*options };
            let Ok(selected) = self.select(&other, &mut Diagnostics::default()) else { continue };
            for image in &selected.inputs.images {
                let Ok(cubin) = Cubin::parse(&image.image) else { continue };
                for diagnostic in
                    diagnostics.as_mut_slice().iter_mut().filter(|d| is_missing(d.code))
                {
                    let Some(symbol) = diagnostic.symbol.as_deref() else { continue };
                    let defined =
                        |s: cubin::SymbolRef<'_>| s.name == symbol.as_bytes() && !s.is_undefined();
                    if cubin.symbols().any(defined) {
                        let name = readable(symbol);
                        diagnostic.notes.push(format!(
                            "{} defines {name}, but for {arch} only; compile it for {} too",
                            image.name, options.arch
                        ));
                    }
                }
            }
        }
    }
}

/// Targets that the inputs hold machine code for.
fn other_targets(loaded: &Loaded<'_>, target: Arch) -> BTreeSet<Arch> {
    let mut targets = BTreeSet::new();
    for step in loaded.steps() {
        let Step::Source(source) = step else { continue };
        let Body::Fatbins(containers) = &source.body else { continue };
        for container in containers {
            let entries = container.flat_entries().unwrap_or_default();
            targets.extend(entries.iter().filter(|e| e.kind() == Kind::ELF).map(|e| e.arch()));
        }
    }
    targets.remove(&target);
    targets
}
