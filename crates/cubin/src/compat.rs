//! `.nv.compat`: the other targets that a file's code can run on. Its records have the format of
//! [`crate::info`].

use crate::info::{self, InfoError};
use crate::sections::section_of_kind;
use crate::{Cubin, Header, SectionType};

pub use crate::attr::Compat;

/// The 8- or 16-bit value of one attribute of a file, if it has that attribute.
pub fn value(cubin: &Cubin<'_>, code: Compat) -> Result<Option<u16>, InfoError> {
    for section in cubin.sections().of_kind(SectionType::CUDA_COMPAT_INFO) {
        for record in info::records(section.data) {
            let record = record?;
            if record.code == code.0 {
                return Ok(Some(record.value));
            }
        }
    }
    Ok(None)
}

/// The bytes of the section in a file of which nothing else is looked at, nor checked; `None` if
/// it has none or they cannot be read.
pub fn glance<'a>(file: &'a [u8], header: &Header) -> Option<&'a [u8]> {
    section_of_kind(file, header, SectionType::CUDA_COMPAT_INFO)
}
