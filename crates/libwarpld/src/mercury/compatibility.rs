//! Whether code declares itself fit for a target.

use super::Trace;
use super::code::relies_on_one_unit;
use super::fastpath::{has_double_precision, is_undeclared_by_mistake};
use crate::dialect::target::{MercuryFit, capability_bit, mercury_fits};
use cubin::compat::Compat;
use cubin::consts::shf;
use cubin::names;
use cubin::{Cubin, info};

/// Whether the code can run on the target unchanged, given the targets that it declares itself fit
/// for.
pub fn can_finalize_with_mask(declared: u64, from: u16, to: u16, trace: &mut Trace) -> bool {
    let fit = mercury_fits(from, to);
    trace.compatibility(format_args!("can_finalize {from} -> {to}: {}", fit != MercuryFit::Never));
    let needed = capability_bit(to).unwrap_or(0);
    let fits = match fit {
        MercuryFit::Never => false,
        MercuryFit::IfDeclared => needed != 0 && declared & needed == needed,
        MercuryFit::Always => true,
    };
    trace.compatibility(format_args!(
        "capabilities {declared:#x}, needed {needed:#x}, {from} -> {to}: {fits}"
    ));
    fits
}

/// The targets that a file fits: what it declares, but for a link for sm_103 of code for sm_100. *Quirk*: FSETP takes
/// the same time there, but keeps code from saying so. Code that waits for exponentials in the order of sm_100 does
/// not fit, whatever it says. [`single-precision-for-103`, `exponentials`]
pub fn usable_targets(cubin: &Cubin<'_>, from: u16, to: u16) -> u64 {
    let declared = declared_targets(cubin);
    let (Some(native), Some(other)) = (capability_bit(100), capability_bit(103)) else {
        return declared;
    };
    match mercury_fits(from, to) == MercuryFit::IfDeclared && declared != ANYWHERE {
        true if code(cubin).any(relies_on_one_unit) => declared & !other,
        true if declared == native && is_undeclared_by_mistake(code(cubin)) => declared | other,
        _ => declared,
    }
}

/// Whether nvlink schedules code anew that runs on the target as it is: double precision sets scoreboards since 13.3,
/// so that code for sm_100 waits enough on sm_103, but its stall counts and scoreboards become those of sm_103.
pub fn is_scheduled_anew(cubin: &Cubin<'_>, from: u16, to: u16) -> bool {
    mercury_fits(from, to) == MercuryFit::IfDeclared && code(cubin).any(has_double_precision)
}

/// What a file without code fits: every target of its family.
const ANYWHERE: u64 = u64::MAX;

/// CAN_FASTPATH_FINALIZE of a file; 0 if the record is absent. Files without code say 0.
fn declared_targets(cubin: &Cubin<'_>) -> u64 {
    if !cubin.sections().iter().any(|s| s.flags & shf::EXECINSTR != 0) {
        return ANYWHERE;
    }
    let Some(section) = cubin.section_by_name(names::COMPAT) else { return 0 };
    let mut records = info::records(section.data).map_while(Result::ok);
    let record = records.find(|r| r.code == Compat::CAN_FASTPATH_FINALIZE.0);
    let payload = record.and_then(|r| r.payload.try_into().ok());
    payload.map_or(0, u64::from_le_bytes)
}

/// The machine code of all functions.
fn code<'a>(cubin: &'a Cubin<'_>) -> impl Iterator<Item = &'a [u8]> {
    let sections = cubin.sections().iter();
    sections.filter(|s| s.name.starts_with(names::prefix::TEXT)).map(|section| section.data)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(declared: u64, from: u16, to: u16) -> bool {
        can_finalize_with_mask(declared, from, to, &mut Trace::default())
    }

    #[test]
    fn code_moves_only_where_it_says_so() {
        assert!(fits(0, 100, 100) && fits(9, 100, 103) && fits(0, 120, 121));
        assert!(!fits(1, 100, 103), "FP64 code must be scheduled anew for sm_103");
        assert!(!fits(u64::MAX, 100, 110) && !fits(u64::MAX, 103, 100));
    }

    #[test]
    fn decisions_are_traced_on_request() {
        let mut trace = Trace::new(false, true);
        can_finalize_with_mask(1, 100, 103, &mut trace);
        let expected = [
            "FNLZR: can_finalize 100 -> 103: true",
            "FNLZR: capabilities 0x1, needed 0x8, 100 -> 103: false",
        ];
        assert_eq!(trace.lines, expected);
    }
}
