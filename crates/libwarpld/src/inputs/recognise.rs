//! What a file is, and whether its name forbids it. nvlink decides by suffix
//! and drops what does not fit; warpld decides by content and keeps nvlink's
//! refusals for suffixes that promise something else.

use fatbin::Content;

/// What nvlink says of a file handed to its fatbin reader that is none.
pub(super) const NOT_RECOGNISED: &str = "Binary format for key='0', ident='' is not recognized";

/// nvlink probes this much of a file and refuses shorter ones.
const SMALLEST_FILE: usize = 56;

/// Whether a file is too short to be any input.
pub(super) fn is_too_short(data: &[u8], content: Content) -> bool {
    !data.is_empty() && data.len() < SMALLEST_FILE && content != Content::Archive
}

/// How nvlink refuses a file whose content is not what its suffix promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// With this message.
    Fatal(&'static str),
    /// With [`NOT_RECOGNISED`].
    Unrecognised,
}

/// The content to treat a file as, or nvlink's refusal. The table was filled
/// in by giving nvlink every kind of content under every suffix.
pub(super) fn by_name_and_content(suffix: &str, content: Content) -> Result<Content, Refusal> {
    use Content::*;
    match (suffix, content) {
        (_, Empty) => Ok(Empty),
        ("cubin", DeviceElf) => Ok(DeviceElf),
        ("cubin", HostElf) => Err(Refusal::Fatal("cubin not a device elf?")),
        ("cubin", _) => Err(Refusal::Fatal("cubin not an elf?")),
        ("fatbin", Fatbin) => Ok(Fatbin),
        ("fatbin", _) => Err(Refusal::Fatal("fatbin wrong format?")),
        ("ptx", DeviceElf | Fatbin | Ptx) => Ok(content),
        ("ptx", HostElf | HostCoff | Archive) => Err(Refusal::Unrecognised),
        ("ptx", _) => Ok(Ptx),
        ("bc", _) => Err(Refusal::Fatal("should never see bc files")),
        (suffix, _) if is_lto_suffix(suffix) => Ok(LtoIr),
        _ => Ok(content),
    }
}

/// Whether files with this suffix are taken for LTO-IR, whatever they hold.
pub(super) fn is_lto_suffix(suffix: &str) -> bool {
    matches!(suffix, "ltoir" | "nvvm")
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
