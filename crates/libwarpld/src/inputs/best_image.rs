//! Choosing one image of a container.

use super::fit::entry_fits;
use crate::dialect::Release;
use crate::dialect::target::ptx_fits;
use cubin::Arch;
use fatbin::{Entry, Kind};

/// What a container has for a target.
#[derive(Clone, Copy, Debug)]
pub enum Choice<'e, 'f> {
    /// Machine code.
    MachineCode(&'e Entry<'f>),
    /// Machine code that fits, though nvlink would rather compile this newer
    /// PTX.
    MachineCodeOverPtx {
        /// The machine code.
        code: &'e Entry<'f>,
        /// The PTX.
        ptx: &'e Entry<'f>,
    },
    /// PTX only.
    Ptx(&'e Entry<'f>),
    /// LTO-IR only.
    LtoIr(&'e Entry<'f>),
    /// Nothing that fits.
    Nothing,
}

/// The LTO-IR for `target`: that of the highest number. With `-dlto` it comes before all else.
/// (`lto-image-choice`)
pub fn choose_lto_ir<'e, 'f>(entries: &'e [Entry<'f>], target: Arch) -> Option<&'e Entry<'f>> {
    let fits = |e: &&Entry<'f>| e.kind() == Kind::LTO_IR && ptx_fits(e.arch(), target);
    let mut best: Option<&'e Entry<'f>> = None;
    for entry in entries.iter().filter(fits) {
        if best.is_none_or(|best| entry.arch() > best.arch()) {
            best = Some(entry);
        }
    }
    best
}

/// Picks the image for `target`: the highest number wins, machine code before
/// PTX at the same number, then `a` before `f` before no letter. Of equals
/// the first is taken. (`fatbin-inputs`)
pub fn choose<'e, 'f>(entries: &'e [Entry<'f>], target: Arch, release: &Release) -> Choice<'e, 'f> {
    let best = |kind: Kind, fits: &dyn Fn(&Entry<'f>) -> bool| {
        let mut best: Option<&'e Entry<'f>> = None;
        for entry in entries.iter().filter(|e| e.kind() == kind && fits(e)) {
            if best.is_none_or(|best| entry.arch() > best.arch()) {
                best = Some(entry);
            }
        }
        best
    };
    let compiles = |entry: &Entry<'f>| ptx_fits(entry.arch(), target);
    let code = best(Kind::ELF, &|entry| entry_fits(entry, target, release));
    let ptx = best(Kind::PTX, &compiles);
    match (code, ptx) {
        (Some(code), Some(ptx)) if ptx.arch().number > code.arch().number => {
            Choice::MachineCodeOverPtx { code, ptx }
        }
        (Some(code), _) => Choice::MachineCode(code),
        (None, Some(ptx)) => Choice::Ptx(ptx),
        (None, None) => best(Kind::LTO_IR, &compiles).map_or(Choice::Nothing, Choice::LtoIr),
    }
}
