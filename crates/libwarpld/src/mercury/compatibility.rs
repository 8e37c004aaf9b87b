//! Whether code declares itself fit for a target.

use super::Trace;
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

/// CAN_FASTPATH_FINALIZE of a file; 0 if the record is absent. Files without code say 0 and fit
/// every target of their family.
pub fn declared_targets(cubin: &Cubin<'_>) -> u64 {
    if !cubin.sections().iter().any(|s| s.flags & shf::EXECINSTR != 0) {
        return u64::MAX;
    }
    let Some(section) = cubin.section_by_name(names::COMPAT) else { return 0 };
    let mut records = info::records(section.data).map_while(Result::ok);
    let record = records.find(|r| r.code == Compat::CAN_FASTPATH_FINALIZE.0);
    let payload = record.and_then(|r| r.payload.try_into().ok());
    payload.map_or(0, u64::from_le_bytes)
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
