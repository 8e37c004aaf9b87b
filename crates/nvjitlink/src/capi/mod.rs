//! The C interface of warpld itself (`warpld.h`): a link in memory that says what it did.
//!
//! | module | what |
//! |---|---|
//! | `session` | settings, inputs and the results of a link |
//! | `settings` | settings by name |
//! | `json` | diagnostics and report as JSON |
//! | `boundary` | the functions that C calls: pointers are checked here, and panics end here |

#[allow(unsafe_code)]
mod boundary;
mod json;
mod session;
mod settings;

/// What a call came to; the numbers are those of `warpld.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// Done.
    Success = 0,
    /// The link failed; the diagnostics say why.
    LinkFailed = 1,
    /// An argument is NULL, or not UTF-8.
    InvalidArgument = 2,
    /// There is no setting of that name.
    UnknownSetting = 3,
    /// The setting cannot have that value.
    InvalidValue = 4,
    /// No target was set.
    NoTarget = 5,
    /// There is no such result: nothing was linked, the link failed, or no report was asked for.
    NoResult = 6,
    /// A file cannot be read.
    CannotRead = 7,
    /// The bytes are no device ELF.
    NotACubin = 8,
    /// A defect of this library.
    Internal = 9,
}

impl Status {
    /// Every result.
    pub const ALL: [Self; 10] = [
        Self::Success,
        Self::LinkFailed,
        Self::InvalidArgument,
        Self::UnknownSetting,
        Self::InvalidValue,
        Self::NoTarget,
        Self::NoResult,
        Self::CannotRead,
        Self::NotACubin,
        Self::Internal,
    ];

    /// Its name for messages.
    pub fn name(self) -> &'static std::ffi::CStr {
        match self {
            Self::Success => c"success",
            Self::LinkFailed => c"link failed",
            Self::InvalidArgument => c"invalid argument",
            Self::UnknownSetting => c"unknown setting",
            Self::InvalidValue => c"invalid value",
            Self::NoTarget => c"no target",
            Self::NoResult => c"no result",
            Self::CannotRead => c"cannot read",
            Self::NotACubin => c"not a cubin",
            Self::Internal => c"internal error",
        }
    }
}

/// A call that failed, and why in words.
type Refused = (Status, String);
