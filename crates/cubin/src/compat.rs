//! `.nv.compat`: what other targets a file's code may run on. The records are
//! those of [`crate::info`].

use crate::consts::open_enum;
use crate::info::{self, InfoError};
use crate::{Cubin, SectionType};

open_enum!(
    /// Attribute code (`EICOMPAT_ATTR_*`).
    Compat(u8) {
        ERROR = 0,
        PAD = 1,
        ISA_CLASS = 2,
        INST_TENSORMAP_V1 = 3,
        INST_TCGEN05_MMA_DEPRECATED = 4,
        INST_TCGEN05_MMA = 5,
        ENABLE_OPPORTUNISTIC_FINALIZATION = 6,
        MERCURY_ISA_MAJOR_MINOR_VERSION = 7,
        MERCURY_ISA_PATCH_VERSION = 8,
        CUDA_ACCELERATOR_TARGET = 9,
        CUDA_DRIVER_VERSION = 0x0a,
        CAN_FASTPATH_FINALIZE = 0x0b,
        CUDA_INTERNAL_TARGET = 0x0c,
        FINALIZER_VERSION = 0x0e,
    }
);

/// The 8- or 16-bit value of one attribute of a file, if it has that.
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
