//! Which code can serve which target. The pairs were read off a full matrix of
//! links (docs/mercury.md).

use super::{FinalizerError, Trace};
use cubin::compat::Compat;
use cubin::consts::shf;
use cubin::flags::{CodeState, Flags};
use cubin::info;
use cubin::{Arch, Cubin, Header};

/// Numbers that stand for another. None is a target of nvlink 13.0, so the
/// remaps cannot be seen from outside; they are kept for objects of other tools.
pub fn remapped(number: u16) -> u16 {
    match number {
        101 => 110,
        104 => 120,
        130 => 107,
        _ => number,
    }
}

/// The bit of a target in CAN_FASTPATH_FINALIZE.
pub fn capability_bit(number: u16) -> Option<u64> {
    match remapped(number) {
        100 => Some(0x01),
        110 => Some(0x02),
        103 => Some(0x08),
        120 => Some(0x10),
        121 => Some(0x40),
        _ => None,
    }
}

/// Whether code for one number can be linked for another at all.
pub fn can_finalize(from: u16, to: u16, trace: &mut Trace) -> bool {
    let pair = (remapped(from), remapped(to));
    let fits = pair.0 == pair.1 || matches!(pair, (100, 103) | (120, 121));
    trace.compatibility(format_args!("can_finalize {from} -> {to}: {fits}"));
    fits
}

/// Whether the code can serve the target as it is: it must say so, except that
/// all code for sm_120 runs on sm_121.
pub fn can_finalize_with_mask(declared: u64, from: u16, to: u16, trace: &mut Trace) -> bool {
    let same = remapped(from) == remapped(to);
    let uplift = (remapped(from), remapped(to)) == (120, 121);
    let needed = capability_bit(to).unwrap_or(0);
    let allowed = needed != 0 && declared & needed == needed;
    let fits = can_finalize(from, to, trace) && (same || uplift || allowed);
    trace.compatibility(format_args!(
        "capabilities {declared:#x}, needed {needed:#x}, {from} -> {to}: {fits}"
    ));
    fits
}

/// CAN_FASTPATH_FINALIZE of a file; 0 where it says nothing. Files without code
/// say 0, and fit every target of their family.
pub fn declared_targets(cubin: &Cubin<'_>) -> u64 {
    if !cubin.sections().iter().any(|s| s.flags & shf::EXECINSTR != 0) {
        return u64::MAX;
    }
    let Some(section) = cubin.section_by_name(b".nv.compat") else { return 0 };
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
        can_finalize(100, 103, &mut trace);
        assert_eq!(trace.lines, ["FNLZR: can_finalize 100 -> 103: true"]);
    }
}

/// Why an image must go through a compiler to run on the target; nothing if it
/// need not, or if it is no capsule file for a related target at all.
pub fn needs_compiler(image: &[u8], target: Arch, trace: &mut Trace) -> Option<FinalizerError> {
    let flags = Flags::decode(&Header::parse(image).ok()?);
    match flags.state() {
        CodeState::Sass => None,
        CodeState::Mercury => Some(FinalizerError::PureMercury),
        CodeState::CapsuleMercury => {
            let (from, to) = (flags.sm(), target.number);
            let declared = declared_targets(&Cubin::parse(image).ok()?);
            let fits = can_finalize_with_mask(declared, from, to, trace);
            (!fits).then_some(FinalizerError::NeedsCompiler { from, to })
        }
    }
}
