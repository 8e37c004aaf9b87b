//! Checks before anything is done: a device file, eligible, of a known type, no
//! newer than this format.

use super::{FinalizerConfig, FinalizerError};
use crate::dialect::Release;
use cubin::capsule::Capsule;
use cubin::compat::Compat;
use cubin::flags::Flags;
use cubin::half::Halves;
use cubin::{Cubin, FileType, SectionType, info};

/// A file that passed.
pub struct Input<'a> {
    /// The file.
    pub cubin: Cubin<'a>,
    /// Number of the architecture.
    pub arch: u16,
}

/// Checks a file.
pub fn validate<'a>(
    image: &'a [u8],
    config: &FinalizerConfig,
) -> Result<Input<'a>, FinalizerError> {
    let damaged = |what: &dyn std::fmt::Display| FinalizerError::Damaged(what.to_string());
    let cubin = Cubin::parse(image).map_err(|e| damaged(&e))?;
    let flags = Flags::decode(&cubin.header());
    if !matches!(flags, Flags::V8(_)) {
        return Err(FinalizerError::UnknownElf);
    }
    config.mode.guard(flags.state())?;
    if !matches!(cubin.header().file_type, FileType::REL | FileType::EXEC | FileType::EWP) {
        return Err(damaged(&"its type is none of object, executable and whole program"));
    }
    let found = version(&cubin);
    let newest = Release::NEWEST.newest_mercury;
    if found > newest {
        return Err(FinalizerError::VersionTooHigh { found, newest });
    }
    let halves = Halves::split(&cubin).map_err(|e| damaged(&e))?;
    check_capsules(&halves)?;
    Ok(Input { arch: flags.sm(), cubin })
}

/// The highest version any record names.
pub fn version(cubin: &Cubin<'_>) -> u16 {
    let Some(section) = cubin.section_by_name(b".nv.compat") else { return 0 };
    let records = info::records(section.data).map_while(Result::ok);
    let versions = records.filter(|r| r.code == Compat::MERCURY_ISA_MAJOR_MINOR_VERSION.0);
    versions.map(|r| r.value).max().unwrap_or(0)
}

/// Every capsule must account for every instruction of its function.
fn check_capsules(halves: &Halves<'_>) -> Result<(), FinalizerError> {
    for section in halves.sass.sections() {
        if section.kind != SectionType::CUDA_CAPMERC {
            continue;
        }
        let bad = |what: &dyn std::fmt::Display| {
            FinalizerError::Damaged(format!("capsule in section {}: {what}", section.index.0))
        };
        let capsule = Capsule::parse(section.data).map_err(|e| bad(&e))?;
        let code = halves.twin(section.index.0).map_or(0, |t| t.size);
        if capsule.sass_instructions().checked_mul(16) != i64::try_from(code).ok() {
            return Err(bad(&format_args!("its instructions do not fill {code:#x} bytes")));
        }
    }
    Ok(())
}
