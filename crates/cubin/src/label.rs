//! How the Mercury half of a capsule file presents its sections, see [`crate::half`].

use crate::consts::{SectionType, shf};
use crate::entries::SectionRef;
use crate::names::{self, without_mercury_prefix};

/// Alignment of machine code.
const TEXT_ALIGN: u64 = 128;

/// How the Mercury half presents a section of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label(u32);

impl Label {
    /// With an ordinary name and type if it is a counterpart, otherwise unchanged.
    pub(crate) const PLAIN: Self = Self(0);
    /// Hidden.
    pub(crate) const HIDDEN: Self = Self(u32::MAX);

    /// Unchanged except for this `sh_info`.
    pub(crate) fn with_info(info: u32) -> Self {
        Self(info)
    }
}

/// The section as the Mercury half presents it.
pub(crate) fn apply<'a>(s: SectionRef<'a>, label: Label) -> SectionRef<'a> {
    match label {
        Label::HIDDEN => SectionRef { kind: SectionType::NULL, data: &[], ..s },
        Label::PLAIN if is_mercury(&s) => as_ordinary(&s),
        Label::PLAIN => s,
        Label(info) => SectionRef { info, ..s },
    }
}

/// Whether the section belongs to the Mercury half.
pub fn is_mercury(section: &SectionRef<'_>) -> bool {
    section.flags & shf::MERCURY != 0
}

fn as_ordinary<'a>(s: &SectionRef<'a>) -> SectionRef<'a> {
    let flags = s.flags & !shf::MERCURY;
    let name = without_mercury_prefix(s.name);
    match s.kind {
        SectionType::CUDA_CAPMERC => SectionRef {
            name,
            kind: SectionType::PROGBITS,
            flags: shf::ALLOC | shf::EXECINSTR,
            align: TEXT_ALIGN,
            ..*s
        },
        SectionType::CUDA_MERCURY_RELA => SectionRef { name, kind: SectionType::RELA, flags, ..*s },
        SectionType::CUDA_MERCURY_INFO => {
            SectionRef { name, kind: SectionType::CUDA_INFO, flags, ..*s }
        }
        SectionType::CUDA_MERCURY_CALLGRAPH => {
            SectionRef { name, kind: SectionType::CUDA_CALLGRAPH, flags, ..*s }
        }
        SectionType::CUDA_MERCURY_PROTOTYPE => {
            SectionRef { name, kind: SectionType::CUDA_PROTOTYPE, flags, ..*s }
        }
        SectionType::CUDA_MERCURY_SYMTAB => {
            SectionRef { name: names::SYMTAB, kind: SectionType::SYMTAB, flags, ..*s }
        }
        _ => SectionRef { name, flags, ..*s },
    }
}
