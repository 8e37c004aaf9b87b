//! What a file is, and whether its name forbids it. nvlink decides by suffix
//! and drops what does not fit; warpld decides by content and keeps nvlink's
//! refusals for suffixes that promise something else.

use crate::diag::Diagnostic;
use fatbin::Content;

/// nvlink probes this much of a file and refuses shorter ones.
const SMALLEST_FILE: usize = 56;

pub(super) fn is_archive(data: &[u8]) -> bool {
    Content::of(data) == Content::Archive
}

/// Whether a file is too short to be any input.
pub(super) fn is_too_short(data: &[u8]) -> bool {
    !data.is_empty() && data.len() < SMALLEST_FILE && !is_archive(data)
}

/// The content to treat a file as, or nvlink's refusal. The table was filled
/// in by giving nvlink every kind of content under every suffix.
pub(super) fn by_name_and_content(
    name: &str,
    suffix: &str,
    content: Content,
) -> Result<Content, Diagnostic> {
    use Content::*;
    let refuse = |message: &'static str, is: &'static str| {
        Err(Diagnostic::fatal("input-kind", message).note(format_args!("'{name}' is {is}")))
    };
    match (suffix, content) {
        (_, Empty) => Ok(Empty),
        ("cubin", DeviceElf) => Ok(DeviceElf),
        ("cubin", HostElf) => refuse("cubin not a device elf?", describe(HostElf)),
        ("cubin", other) => refuse("cubin not an elf?", describe(other)),
        ("fatbin", Fatbin) => Ok(Fatbin),
        ("fatbin", other) => refuse("fatbin wrong format?", describe(other)),
        ("ptx", DeviceElf | Fatbin | Ptx) => Ok(content),
        ("ptx", HostElf | HostCoff | Archive) => {
            refuse("Binary format for key='0', ident='' is not recognized", describe(content))
        }
        ("ptx", _) => Ok(Ptx),
        ("bc", other) => refuse("should never see bc files", describe(other)),
        ("ltoir" | "nvvm", _) => refuse(
            "should only see nvvm files when -lto",
            "LTO-IR, which is not linked without -lto",
        ),
        (_, other) => Ok(other),
    }
}

/// What content is, in words.
pub(super) fn describe(content: Content) -> &'static str {
    match content {
        Content::Empty => "an empty file",
        Content::DeviceElf => "a device ELF file",
        Content::HostElf => "a host ELF file",
        Content::HostCoff => "a COFF object",
        Content::Archive => "an archive",
        Content::Fatbin => "a fatbin",
        Content::Ptx => "PTX text",
        Content::LtoIr => "LTO-IR",
        Content::Bitcode => "LLVM bitcode",
        Content::Unknown => "no format that carries device code",
    }
}
