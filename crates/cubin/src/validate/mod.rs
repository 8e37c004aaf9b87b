//! Validates a file in layers: its headers, the extents they describe, and the tables in sections.
//! [`Cubin::parse`] checks what reading requires; this module checks all invariants of a
//! well-formed file and reports the field that violates one.

mod tables;

use crate::consts::{EM_CUDA, FileType, SectionType, shf};
use crate::entries::SectionRef;
use crate::error::ReadError;
use crate::header::{Class, Header};
use crate::read::Cubin;
use crate::sections::bare_sections;

/// The layers, in the order in which they are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// The header's own fields.
    Structure,
    /// Offsets and sizes of tables, sections and segments.
    Extent,
    /// Strings, symbols, relocations and metadata.
    Tables,
}

/// What is wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Not an ELF file at all.
    #[error("no ELF header")]
    NotElf,
    /// An unsupported value.
    #[error("unsupported value")]
    Unsupported,
    /// A size that differs from that of the format.
    #[error("should be {expected:#x}")]
    Expected { expected: u64 },
    /// An index past the end of its table.
    #[error("only {limit} entries exist")]
    Index { limit: u64 },
    /// Extends past the end of the file, or overflows.
    #[error("reaches past the end of the file ({size:#x} bytes)")]
    PastFile { size: u64 },
    /// Extends past the end of its section.
    #[error("reaches past the end of its section ({size:#x} bytes)")]
    PastSection { size: u64 },
    /// A size that is not a multiple of the entry size.
    #[error("not a multiple of {entry}")]
    Ragged { entry: u64 },
    /// A string table without a terminating NUL.
    #[error("string without an end")]
    Unterminated,
    /// An alignment that is not a power of two.
    #[error("not a power of two")]
    NotPowerOfTwo,
    #[error("refers to a section of the wrong type")]
    WrongSection,
    /// A metadata record that cannot be read.
    #[error("record cannot be read")]
    Record,
}

/// A violated invariant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{field} = {value:#x} at file offset {offset:#x}{}: {problem}", In(*section))]
pub struct Violation {
    pub layer: Layer,
    pub field: &'static str,
    /// The section it is in, if any.
    pub section: Option<u32>,
    /// File offset of the field.
    pub offset: u64,
    pub value: u64,
    pub problem: Problem,
}

struct In(Option<u32>);
impl std::fmt::Display for In {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(index) => write!(f, " (section {index})"),
            None => Ok(()),
        }
    }
}

/// Checks all layers up to the first violation.
pub fn validate(data: &[u8]) -> Result<Cubin<'_>, Violation> {
    let header = structure(data)?;
    extent(data, &header)?;
    tables::check(data)
}

/// Field offsets in the file header: name, ELF32, ELF64.
const HEADER_FIELDS: [(&str, u64, u64); 11] = [
    ("EI_CLASS", 4, 4),
    ("EI_DATA", 5, 5),
    ("e_type", 16, 16),
    ("e_machine", 18, 18),
    ("e_phoff", 28, 32),
    ("e_shoff", 32, 40),
    ("e_ehsize", 40, 52),
    ("e_phentsize", 42, 54),
    ("e_shentsize", 46, 58),
    ("e_shnum", 48, 60),
    ("e_shstrndx", 50, 62),
];

/// Field offsets in a section header: name, ELF32, ELF64.
const SECTION_FIELDS: [(&str, u64, u64); 7] = [
    ("sh_name", 0, 0),
    ("sh_offset", 16, 24),
    ("sh_size", 20, 32),
    ("sh_link", 24, 40),
    ("sh_info", 28, 44),
    ("sh_addralign", 32, 48),
    ("sh_entsize", 36, 56),
];

fn field_offset(fields: &[(&str, u64, u64)], name: &str, class: Class) -> u64 {
    fields.iter().find(|f| f.0 == name).map_or(0, |f| match class {
        Class::Elf32 => f.1,
        Class::Elf64 => f.2,
    })
}

fn in_header(
    layer: Layer,
    class: Class,
    field: &'static str,
    value: u64,
    problem: Problem,
) -> Violation {
    let offset = field_offset(&HEADER_FIELDS, field, class);
    Violation { layer, field, section: None, offset, value, problem }
}

fn in_section(
    layer: Layer,
    header: &Header,
    field: &'static str,
    section: u32,
    value: u64,
    problem: Problem,
) -> Violation {
    let entry = u64::from(header.class.section_header_size());
    let start = header.shoff.saturating_add(u64::from(section).saturating_mul(entry));
    let offset = start.saturating_add(field_offset(&SECTION_FIELDS, field, header.class));
    Violation { layer, field, section: Some(section), offset, value, problem }
}

/// Layer 1: the header's fields and record sizes.
fn structure(data: &[u8]) -> Result<Header, Violation> {
    let layer = Layer::Structure;
    let header = Header::parse(data).map_err(|e| match e {
        ReadError::Unsupported { field, value } => {
            in_header(layer, Class::Elf64, field, value, Problem::Unsupported)
        }
        _ => Violation {
            layer,
            field: "e_ident",
            section: None,
            offset: 0,
            value: data.len() as u64,
            problem: Problem::NotElf,
        },
    })?;
    let class = header.class;
    let expect = |field, value: u16, expected: u16| match value == expected {
        true => Ok(()),
        false => {
            let problem = Problem::Expected { expected: expected.into() };
            Err(in_header(layer, class, field, value.into(), problem))
        }
    };
    expect("e_machine", header.machine, EM_CUDA)?;
    expect("e_ehsize", header.ehsize, class.header_size())?;
    if !matches!(header.file_type, FileType::REL | FileType::EXEC | FileType::EWP) {
        let value = header.file_type.0.into();
        return Err(in_header(layer, class, "e_type", value, Problem::Unsupported));
    }
    // Relocatable sm_90 files have no program headers and give their size as 0.
    if header.phnum != 0 {
        expect("e_phentsize", header.phentsize, class.program_header_size())?;
    }
    if header.shoff != 0 {
        expect("e_shentsize", header.shentsize, class.section_header_size())?;
    }
    Ok(header)
}

/// Layer 2: everything is inside the file.
fn extent(data: &[u8], header: &Header) -> Result<(), Violation> {
    let layer = Layer::Extent;
    let size = data.len() as u64;
    let past = Problem::PastFile { size };
    let sections = bare_sections(data, header)
        .map_err(|_| in_header(layer, header.class, "e_shoff", header.shoff, past))?;
    for s in &sections {
        let fails = |field, value, problem| {
            Err(in_section(layer, header, field, s.index.0, value, problem))
        };
        if has_bytes(s) && s.offset.checked_add(s.size).is_none_or(|end| end > size) {
            return match s.offset > size {
                true => fails("sh_offset", s.offset, past),
                false => fails("sh_size", s.size, past),
            };
        }
        // Shared memory of a program linked in two steps can have any alignment, and constants that
        // were laid out one by one have the largest alignment below eight bytes.
        let fixed = s.flags & (shf::ALLOC | shf::WRITE | shf::EXECINSTR) == shf::ALLOC;
        let any = match s.kind {
            SectionType::NOBITS | SectionType::CUDA_SHARED => true,
            SectionType::PROGBITS | SectionType::CUDA_MERCURY_CONSTANT_USER => fixed && s.align < 8,
            _ => false,
        };
        if s.align > 1 && !any && !s.align.is_power_of_two() {
            return fails("sh_addralign", s.align, Problem::NotPowerOfTwo);
        }
    }
    segments(data, header)
}

fn segments(data: &[u8], header: &Header) -> Result<(), Violation> {
    let layer = Layer::Extent;
    let problem = Problem::PastFile { size: data.len() as u64 };
    let segments = crate::tables::read_segments(data, header)
        .map_err(|_| in_header(layer, header.class, "e_phoff", header.phoff, problem))?;
    for (index, s) in segments.iter().enumerate() {
        if s.offset.checked_add(s.filesz).is_none_or(|end| end > data.len() as u64) {
            let entry = u64::from(header.phentsize);
            return Err(Violation {
                layer,
                field: "p_filesz",
                section: None,
                offset: header.phoff.saturating_add(index as u64 * entry),
                value: s.filesz,
                problem,
            });
        }
    }
    Ok(())
}

fn has_bytes(s: &SectionRef<'_>) -> bool {
    !s.kind.is_nobits() && s.kind != SectionType::NULL
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header64() -> [u8; 64] {
        let mut file = [0; 64];
        file[..9].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0x41, 8]);
        file[16] = 1;
        file[18] = EM_CUDA as u8;
        file[52] = 64;
        file
    }

    #[test]
    fn a_bare_header_is_valid() {
        assert!(validate(&header64()).is_ok());
        assert_eq!(validate(b"").unwrap_err().problem, Problem::NotElf);
    }

    #[test]
    fn violations_name_field_and_offset() {
        let mut file = header64();
        file[18] = 62;
        let violation = validate(&file).unwrap_err();
        assert_eq!((violation.field, violation.offset), ("e_machine", 18));
        assert_eq!(violation.problem, Problem::Expected { expected: 190 });
        let mut file = header64();
        file[40] = 0xff;
        file[58] = 64;
        let violation = validate(&file).unwrap_err();
        assert_eq!(violation.layer, Layer::Extent);
        assert_eq!((violation.field, violation.offset, violation.value), ("e_shoff", 40, 0xff));
        assert_eq!(
            violation.to_string(),
            "e_shoff = 0xff at file offset 0x28: reaches past the end of the file (0x40 bytes)"
        );
    }
}
