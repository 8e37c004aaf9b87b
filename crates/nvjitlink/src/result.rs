//! Results of calls, by the number that C callers see.

use std::ffi::c_int;

/// A major release of the library. It decides which results there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Major {
    /// `libnvJitLink.so.12`.
    Cuda12,
    /// `libnvJitLink.so.13`.
    Cuda13,
}

/// What a call came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Code {
    Success = 0,
    UnrecognizedOption = 1,
    MissingArch = 2,
    InvalidInput = 3,
    PtxCompile = 4,
    NvvmCompile = 5,
    Internal = 6,
    Threadpool = 7,
    UnrecognizedInput = 8,
    Finalize = 9,
    NullInput = 10,
    IncompatibleOptions = 11,
    IncorrectInputType = 12,
    ArchMismatch = 13,
    OutdatedLibrary = 14,
    MissingFatbin = 15,
    UnrecognizedArch = 16,
    UnsupportedArch = 17,
    LtoNotEnabled = 18,
}

impl Code {
    const ALL: &[Self] = &[
        Self::Success,
        Self::UnrecognizedOption,
        Self::MissingArch,
        Self::InvalidInput,
        Self::PtxCompile,
        Self::NvvmCompile,
        Self::Internal,
        Self::Threadpool,
        Self::UnrecognizedInput,
        Self::Finalize,
        Self::NullInput,
        Self::IncompatibleOptions,
        Self::IncorrectInputType,
        Self::ArchMismatch,
        Self::OutdatedLibrary,
        Self::MissingFatbin,
        Self::UnrecognizedArch,
        Self::UnsupportedArch,
        Self::LtoNotEnabled,
    ];

    /// The result that another library's number stands for; one that is not known is
    /// [`Code::Internal`].
    pub fn of_number(number: c_int) -> Self {
        let known = Self::ALL.iter().find(|code| **code as c_int == number);
        known.copied().unwrap_or(Self::Internal)
    }

    /// The number for callers of a major release: results from 10 on are new in CUDA 13, and
    /// CUDA 12 has coarser ones for them.
    pub fn number(self, major: Major) -> c_int {
        let known = match (major, self) {
            (Major::Cuda13, code) => code,
            (
                _,
                Self::NullInput
                | Self::IncompatibleOptions
                | Self::IncorrectInputType
                | Self::MissingFatbin,
            ) => Self::InvalidInput,
            (_, code) if code as c_int >= Self::NullInput as c_int => Self::Internal,
            (_, code) => code,
        };
        known as c_int
    }
}

/// Why a call fails, and the line of the error log that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: Code,
    pub(crate) line: Option<String>,
}

impl Refusal {
    pub(crate) fn new(code: Code, line: impl Into<String>) -> Self {
        Self { code, line: Some(line.into()) }
    }

    /// One that the log does not mention.
    pub(crate) fn silent(code: Code) -> Self {
        Self { code, line: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuda_12_has_no_results_from_10_on() {
        let all = [
            Code::NullInput,
            Code::IncompatibleOptions,
            Code::IncorrectInputType,
            Code::UnrecognizedArch,
            Code::UnsupportedArch,
            Code::LtoNotEnabled,
        ];
        assert_eq!(all.map(|code| code.number(Major::Cuda12)), [3, 3, 3, 6, 6, 6]);
        assert_eq!(all.map(|code| code.number(Major::Cuda13)), [10, 11, 12, 16, 17, 18]);
        assert_eq!(Code::Finalize.number(Major::Cuda12), 9);
    }
}
