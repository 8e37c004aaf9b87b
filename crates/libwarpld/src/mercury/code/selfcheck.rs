//! The result, finalized again, must be itself.

use super::{FinalizerConfig, FinalizerError, Mismatch, Trace, finalize};
use cubin::{Arch, Cubin, SectionRef, SectionType};

/// Finalizes a result again and compares sections, relocations and symbols.
pub fn self_check(
    image: &[u8],
    target: Arch,
    config: &FinalizerConfig,
    trace: &mut Trace,
) -> Result<(), FinalizerError> {
    let again = FinalizerConfig { self_check: false, fastpath: super::Fastpath::Off, ..*config };
    let second = finalize(image, Some("self-check"), target, &again, trace)?;
    compare(image, &second)
}

/// The first difference of two files, by kind.
pub fn compare(first: &[u8], second: &[u8]) -> Result<(), FinalizerError> {
    let parse = |image| Cubin::parse(image).map_err(|e| FinalizerError::Damaged(e.to_string()));
    let (a, b) = (parse(first)?, parse(second)?);
    let missing = a.section(b.sections().len() as u32);
    for (x, y) in a.sections().iter().zip(b.sections()) {
        if x.name != y.name || x.size != y.size || x.data != y.data {
            return Err(FinalizerError::SelfCheck(mismatch(&x)));
        }
    }
    match missing {
        Some(section) => Err(FinalizerError::SelfCheck(mismatch(&section))),
        None => Ok(()),
    }
}

fn mismatch(section: &SectionRef<'_>) -> Mismatch {
    let name = String::from_utf8_lossy(section.name).into_owned();
    match section.kind {
        SectionType::RELA | SectionType::REL | SectionType::CUDA_MERCURY_RELA => {
            Mismatch::Relocations(name)
        }
        SectionType::SYMTAB | SectionType::CUDA_MERCURY_SYMTAB => Mismatch::Symbols(name),
        _ => Mismatch::Section(name),
    }
}
