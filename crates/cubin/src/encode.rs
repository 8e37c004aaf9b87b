//! Encodes the headers of a file: file header, `e_flags`, section headers, program headers.
//!
//! All writers use it. [`Header`], [`SectionHeader`] and [`Segment`] hold native integers for
//! either class and are encoded when written: `elf64` cannot fail and compiles to plain stores;
//! `append` takes either class and fails if a value does not fit a 32-bit field.
//!
//! NVIDIA's tools put the section headers after the last section and the program headers after the
//! section headers; [`HeaderTables`] computes these offsets.
//!
//! ```
//! use cubin::consts::pf;
//! use cubin::encode::{HeaderTables, SectionHeader};
//! use cubin::flags::{FlagsV8, v8};
//! use cubin::{Class::Elf64, Cubin, FileType, Header, SectionType, Segment};
//!
//! // An executable without code: the null section and a table of names.
//! let names = b"\0.shstrtab\0";
//! let size = names.len() as u64;
//! let tables = HeaderTables::after(64 + size, 2, 1);
//! let mut file = Vec::new();
//! Header::v8(FileType::EXEC, FlagsV8::new(v8::SASS, 90, 0), &tables).append(Elf64, &mut file);
//! file.extend_from_slice(names);
//! file.resize(tables.section_headers as usize, 0);
//! let kind = SectionType::STRTAB;
//! let names = SectionHeader { name: 1, kind, offset: 64, size, align: 1, ..Default::default() };
//! SectionHeader::null(tables.sections).append(Elf64, &mut file);
//! names.append(Elf64, &mut file);
//! let table = tables.program_headers()..tables.end();
//! Segment::of_program_headers(table, pf::R | pf::X).append(Elf64, &mut file);
//!
//! let cubin = Cubin::parse(&file)?;
//! assert_eq!(cubin.section(1).map(|s| s.name), Some(&b".shstrtab"[..]));
//! assert_eq!(cubin.segments()?.len(), 1);
//! # Ok::<(), cubin::ReadError>(())
//! ```

use crate::consts::{EM_CUDA, FileType, SectionType, SegmentType, shn};
use crate::entries::{SectionRef, Segment};
use crate::flags::{FlagsV8, OSABI_V8};
use crate::header::{Class, Header};
use crate::raw::{Ehdr32, Ehdr64, Phdr32, Phdr64, Shdr32, Shdr64};
use std::ops::Range;
use zerocopy::IntoBytes;

/// Index of `.shstrtab` in all files that tools write.
pub const SHSTRTAB: u32 = 1;
/// Index of `.strtab` in all files that tools write.
pub const STRTAB: u32 = 2;
/// Index of `.symtab` in all files that tools write.
pub const SYMTAB: u32 = 3;

/// `e_ident` of the layout with [`FlagsV8`]: 64 bits, little-endian, ABI version 8.
pub const IDENT_V8: [u8; 16] = [0x7f, b'E', b'L', b'F', 2, 1, 1, OSABI_V8, 8, 0, 0, 0, 0, 0, 0, 0];

/// Alignment of segments and of the header tables in 64-bit files.
const ALIGN: u64 = 8;

/// Offsets of the header tables in a 64-bit file: sections, section headers, program headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HeaderTables {
    /// `e_shoff`.
    pub section_headers: u64,
    /// Number of sections, including the null section.
    pub sections: usize,
    pub segments: usize,
}

impl HeaderTables {
    /// The tables after sections that end at `end`. `sections` includes the null section.
    pub fn after(end: u64, sections: usize, segments: usize) -> Self {
        let section_headers = end.checked_next_multiple_of(ALIGN).unwrap_or(u64::MAX);
        Self::at(section_headers, sections, segments)
    }

    /// The tables from `section_headers` on.
    pub fn at(section_headers: u64, sections: usize, segments: usize) -> Self {
        Self { section_headers, sections, segments }
    }

    /// Start of the program headers, even if there are none.
    pub fn program_headers(&self) -> u64 {
        let size = self.sections as u64 * size_of::<Shdr64>() as u64;
        self.section_headers.saturating_add(size)
    }

    /// End of the program headers and of the file.
    pub fn end(&self) -> u64 {
        let size = self.segments as u64 * size_of::<Phdr64>() as u64;
        self.program_headers().saturating_add(size)
    }

    /// `e_shnum`: 0 if the number of sections does not fit, which is then in the null section's
    /// header.
    pub fn shnum(&self) -> u16 {
        if fits_header(self.sections) { self.sections as u16 } else { 0 }
    }
}

/// Whether `e_shnum` can hold this number of sections.
pub fn fits_header(sections: usize) -> bool {
    sections < shn::LORESERVE as usize
}

impl FlagsV8 {
    /// [`FlagsV8::cuinfo`] if the index of the note does not fit.
    pub const CUINFO_ELSEWHERE: u8 = 0xff;

    /// The flags of a file with this kind of code (see [`crate::flags::v8`]) whose section
    /// `.note.nv.cuinfo` has the index `cuinfo`.
    pub fn new(kind: u8, sm: u16, cuinfo: u32) -> Self {
        let cuinfo = u8::try_from(cuinfo).unwrap_or(Self::CUINFO_ELSEWHERE);
        Self { kind, sm, cuinfo }
    }

    /// The word.
    pub fn encode(self) -> u32 {
        crate::flags::Flags::V8(self).encode()
    }
}

impl Header {
    /// The header of a 64-bit file with [`FlagsV8`]. `e_phoff` is 0 if there are no segments.
    pub fn v8(file_type: FileType, flags: FlagsV8, tables: &HeaderTables) -> Self {
        let class = Class::Elf64;
        Self {
            class,
            ident: IDENT_V8,
            file_type,
            machine: EM_CUDA,
            version: 1,
            entry: 0,
            phoff: if tables.segments == 0 { 0 } else { tables.program_headers() },
            shoff: tables.section_headers,
            flags: flags.encode(),
            ehsize: class.header_size(),
            phentsize: class.program_header_size(),
            phnum: tables.segments as u16,
            shentsize: class.section_header_size(),
            shnum: tables.shnum(),
            shstrndx: SHSTRTAB as u16,
        }
    }
}

/// A section header, widened to 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SectionHeader {
    /// Offset of the name in `.shstrtab`.
    pub name: u32,
    pub kind: SectionType,
    pub flags: u64,
    pub addr: u64,
    pub offset: u64,
    pub size: u64,
    pub link: u32,
    pub info: u32,
    pub align: u64,
    pub entsize: u64,
}

impl SectionHeader {
    /// The header of the null section in a file with this many sections; it holds the number if
    /// `e_shnum` cannot.
    pub fn null(sections: usize) -> Self {
        let size = if fits_header(sections) { 0 } else { sections as u64 };
        Self { size, ..Self::default() }
    }

    /// The range of its bytes in the file; empty if it has none.
    #[inline]
    pub fn range(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.size)
    }
}

impl From<&SectionRef<'_>> for SectionHeader {
    fn from(s: &SectionRef<'_>) -> Self {
        Self {
            name: s.name_offset,
            kind: s.kind,
            flags: s.flags,
            addr: s.addr,
            offset: s.offset,
            size: s.size,
            link: s.link,
            info: s.info,
            align: s.align,
            entsize: s.entsize,
        }
    }
}

impl Segment {
    /// A segment that can be loaded at any address. It is `zeros` bytes longer in memory than in
    /// the file.
    pub fn load(range: Range<u64>, zeros: u64, flags: u32) -> Self {
        let filesz = range.end.saturating_sub(range.start);
        Self {
            kind: SegmentType::LOAD,
            flags,
            offset: range.start,
            vaddr: 0,
            paddr: 0,
            filesz,
            memsz: filesz.saturating_add(zeros),
            align: ALIGN,
        }
    }

    /// The segment of the program headers themselves.
    pub fn of_program_headers(range: Range<u64>, flags: u32) -> Self {
        Self { kind: SegmentType::PHDR, ..Self::load(range, 0, flags) }
    }
}

/// Implements the encodings of a record of native integers. Fields in the second list are 32 bits
/// wide in 32-bit files.
macro_rules! encodings {
    ($record:ident as $raw32:ident, $raw64:ident:
     {$($same:ident: $($value:tt).+,)*} {$($word:ident: $wide:ident,)*}) => {
        impl $record {
            /// The record in a 64-bit file.
            #[inline]
            pub fn elf64(&self) -> $raw64 {
                $raw64 { $($same: self.$($value).+.into(),)* $($word: self.$wide.into(),)* }
            }

            /// The record in a 32-bit file; `None` if a value does not fit.
            pub fn elf32(&self) -> Option<$raw32> {
                Some($raw32 {
                    $($same: self.$($value).+.into(),)*
                    $($word: u32::try_from(self.$wide).ok()?.into(),)*
                })
            }

            /// Appends the record for this class; `None` if a value does not fit.
            pub fn append(&self, class: Class, out: &mut Vec<u8>) -> Option<()> {
                match class {
                    Class::Elf32 => out.extend_from_slice(self.elf32()?.as_bytes()),
                    Class::Elf64 => out.extend_from_slice(self.elf64().as_bytes()),
                }
                Some(())
            }
        }
    };
}

encodings!(Header as Ehdr32, Ehdr64:
    {
        e_ident: ident,
        e_type: file_type.0,
        e_machine: machine,
        e_version: version,
        e_flags: flags,
        e_ehsize: ehsize,
        e_phentsize: phentsize,
        e_phnum: phnum,
        e_shentsize: shentsize,
        e_shnum: shnum,
        e_shstrndx: shstrndx,
    }
    {
        e_entry: entry,
        e_phoff: phoff,
        e_shoff: shoff,
    }
);

encodings!(SectionHeader as Shdr32, Shdr64:
    {
        sh_name: name,
        sh_type: kind.0,
        sh_link: link,
        sh_info: info,
    }
    {
        sh_flags: flags,
        sh_addr: addr,
        sh_offset: offset,
        sh_size: size,
        sh_addralign: align,
        sh_entsize: entsize,
    }
);

encodings!(Segment as Phdr32, Phdr64:
    {
        p_type: kind.0,
        p_flags: flags,
    }
    {
        p_offset: offset,
        p_vaddr: vaddr,
        p_paddr: paddr,
        p_filesz: filesz,
        p_memsz: memsz,
        p_align: align,
    }
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consts::pf;

    #[test]
    fn header_as_nvlink_writes_it() {
        // sm_90, nine sections and four segments; `.note.nv.cuinfo` is section 5.
        let tables = HeaderTables::after(0x1fd, 9, 4);
        let header =
            Header::v8(FileType::EXEC, FlagsV8::new(crate::flags::v8::SASS, 90, 5), &tables);
        let bytes = header.elf64();
        let expected = [
            &b"\x7fELF\x02\x01\x01\x41\x08\0\0\0\0\0\0\0"[..],
            b"\x02\0\xbe\0\x01\0\0\0",
            b"\0\0\0\0\0\0\0\0",
            b"\x40\x04\0\0\0\0\0\0",
            b"\0\x02\0\0\0\0\0\0",
            b"\x04\x5a\0\x05",
            b"\x40\0\x38\0\x04\0\x40\0\x09\0\x01\0",
        ];
        assert_eq!(bytes.as_bytes(), expected.concat());
        assert_eq!((tables.program_headers(), tables.end()), (0x440, 0x520));
        assert_eq!(Header::parse(bytes.as_bytes()), Ok(header));
    }

    #[test]
    fn many_sections_are_counted_in_the_null_section() {
        let most = HeaderTables::after(64, 0xfeff, 0);
        assert_eq!((most.shnum(), SectionHeader::null(most.sections).size), (0xfeff, 0));
        let more = HeaderTables::after(64, 0xff00, 0);
        assert_eq!((more.shnum(), SectionHeader::null(more.sections).size), (0, 0xff00));
        assert_eq!(Header::v8(FileType::REL, FlagsV8::default(), &more).phoff, 0);
    }

    #[test]
    fn an_index_that_does_not_fit_the_flags_is_elsewhere() {
        assert_eq!(FlagsV8::new(4, 90, 0xfe).encode(), 0xfe00_5a04);
        assert_eq!(FlagsV8::new(4, 90, 0x100).encode(), 0xff00_5a04);
    }

    #[test]
    fn segments_have_more_in_memory_than_in_the_file() {
        let segment = Segment::load(0x40..0x50, 0x100, pf::R | pf::W);
        assert_eq!((segment.filesz, segment.memsz, segment.align), (0x10, 0x110, 8));
        let record = segment.elf64();
        assert_eq!((record.p_type.get(), record.p_flags.get()), (1, 6));
        assert_eq!((record.p_offset.get(), record.p_memsz.get()), (0x40, 0x110));
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        let wide = SectionHeader { offset: 1 << 32, ..SectionHeader::default() };
        assert_eq!(wide.elf32(), None);
        assert_eq!(wide.elf64().sh_offset.get(), 1 << 32);
        let mut out = Vec::new();
        assert_eq!(wide.append(Class::Elf32, &mut out), None);
        assert!(out.is_empty());
        assert_eq!(SectionHeader::default().append(Class::Elf32, &mut out), Some(()));
        assert_eq!(out.len(), usize::from(Class::Elf32.section_header_size()));
        assert_eq!(Segment { filesz: u64::MAX, ..Segment::load(0..1, 0, 0) }.elf32(), None);
    }
}
