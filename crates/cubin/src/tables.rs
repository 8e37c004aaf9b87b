//! Symbol tables, relocation tables and program headers of either class.

use crate::consts::{SectionType, SegmentType, shn};
use crate::entries::{Reloc, SectionIndex, SectionRef, Segment, SymbolIndex, SymbolRef};
use crate::error::{ReadError, slice};
use crate::header::{Class, Header};
use crate::raw;
use crate::reloc::RelocKind;
use crate::sections::Sections;
use crate::strings::{are_names_short, check_name_lengths, string_at, terminated};
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, IntoBytes};

#[derive(Clone, Copy, Debug)]
enum Entries<'a> {
    Elf32(&'a [raw::Sym32]),
    Elf64(&'a [raw::Sym64]),
}

/// A symbol of either class.
trait Entry {
    /// Offset of its name.
    fn name(&self) -> u32;
    /// Its section as stored.
    fn shndx(&self) -> u16;
    /// The symbol without its name, in this section.
    fn widen(&self, index: u32, shndx: u32, reserved: bool) -> SymbolRef<'static>;
}

macro_rules! entry {
    ($raw:ty) => {
        impl Entry for $raw {
            #[inline]
            fn name(&self) -> u32 {
                self.st_name.get()
            }
            #[inline]
            fn shndx(&self) -> u16 {
                self.st_shndx.get()
            }
            #[inline]
            fn widen(&self, index: u32, shndx: u32, reserved: bool) -> SymbolRef<'static> {
                SymbolRef {
                    index: SymbolIndex(index),
                    name: &[],
                    name_offset: self.st_name.get(),
                    info: self.st_info,
                    other: self.st_other,
                    shndx,
                    reserved,
                    value: self.st_value.get().into(),
                    size: self.st_size.get().into(),
                }
            }
        }
    };
}
entry!(raw::Sym32);
entry!(raw::Sym64);

/// A checked symbol table: all names and section indices are valid.
#[derive(Clone, Debug)]
pub struct SymbolTable<'a> {
    section: SectionIndex,
    entries: Entries<'a>,
    /// Up to the last NUL.
    strings: &'a [u8],
    shndx: &'a [U32],
}

impl<'a> SymbolTable<'a> {
    /// Reads and checks a symbol table of a file. `checked` are the sections and the table of
    /// another file, see [`crate::Cubin::parse_after`].
    pub(crate) fn read(
        sections: &Sections<'a>,
        s: &SectionRef<'a>,
        checked: Option<(&Sections<'a>, &Self)>,
    ) -> Result<Self, ReadError> {
        let mut table = Self::unchecked(sections, s)?;
        let file_size = sections.file().len();
        match checked {
            Some((others, other))
                if others.len() == sections.len() && table.passes_checks_of(file_size, other) =>
            {
                table.entries = other.entries;
            }
            _ => table.check(file_size, sections.len())?,
        }
        Ok(table)
    }

    /// A table whose entries are not checked.
    fn unchecked(sections: &Sections<'a>, s: &SectionRef<'a>) -> Result<Self, ReadError> {
        let class = sections.class();
        let bad = |field, value| ReadError::BadField { field, section: Some(s.index.0), value };
        if s.entsize != class.symbol_size() {
            return Err(bad("sh_entsize", s.entsize));
        }
        let entries = match class {
            Class::Elf32 => Entries::Elf32(
                <[raw::Sym32]>::ref_from_bytes(s.data).map_err(|_| bad("sh_size", s.size))?,
            ),
            Class::Elf64 => Entries::Elf64(
                <[raw::Sym64]>::ref_from_bytes(s.data).map_err(|_| bad("sh_size", s.size))?,
            ),
        };
        let strings = match sections.get_unnamed(s.link) {
            Some(t) if t.kind == SectionType::STRTAB => terminated(t.data),
            _ => return Err(bad("sh_link", s.link.into())),
        };
        let shndx = extended_indices(sections, s)?;
        Ok(Self { section: s.index, entries, strings, shndx })
    }

    /// Checks names and section indices.
    fn check(&self, file_size: usize, sections: usize) -> Result<(), ReadError> {
        match self.entries {
            Entries::Elf32(entries) => self.check_all(entries, file_size, sections),
            Entries::Elf64(entries) => self.check_all(entries, file_size, sections),
        }
    }

    fn check_all(
        &self,
        entries: &[impl Entry],
        file_size: usize,
        sections: usize,
    ) -> Result<(), ReadError> {
        let offsets = entries.iter().map(Entry::name);
        check_name_lengths(file_size, self.section.0, self.strings, offsets)?;
        let strings = self.strings.len();
        let plain = sections.min(shn::LORESERVE as usize);
        for (i, entry) in entries.iter().enumerate() {
            if entry.name() as usize >= strings {
                return Err(self.bad("symbol", i as u64));
            }
            // Nearly all symbols pass these two cheap checks.
            if usize::from(entry.shndx()) >= plain {
                self.check_section(i, entry.shndx(), sections)?;
            }
        }
        Ok(())
    }

    /// Checks a section index that is reserved or out of range.
    #[cold]
    fn check_section(&self, symbol: usize, shndx: u16, sections: usize) -> Result<(), ReadError> {
        let shndx = match u32::from(shndx) {
            shn::XINDEX => self.shndx.get(symbol).map(|index| index.get()),
            shn::LORESERVE.. => Some(shn::UNDEF),
            shndx => Some(shndx),
        };
        match shndx {
            None => Err(self.bad("symbol", symbol as u64)),
            Some(shndx) if shndx != shn::UNDEF && shndx as usize >= sections => {
                Err(self.bad("st_shndx", shndx.into()))
            }
            Some(_) => Ok(()),
        }
    }

    #[cold]
    fn bad(&self, field: &'static str, value: u64) -> ReadError {
        ReadError::BadField { field, section: Some(self.section.0), value }
    }

    /// Compares with another table: whether the entries are equal; `None` if they differ in more
    /// than names, values and sizes.
    pub(crate) fn likeness(&self, other: &SymbolTable<'_>) -> Option<bool> {
        let (Entries::Elf64(these), Entries::Elf64(those)) = (self.entries, other.entries) else {
            return None;
        };
        // Section indices in `.symtab_shndx` are not compared.
        if !self.shndx.is_empty() || !other.shndx.is_empty() || these.len() != those.len() {
            return None;
        }
        // In field order, so that they are compared together.
        let like = |(a, b): (&raw::Sym64, &raw::Sym64)| {
            a.st_info == b.st_info && a.st_other == b.st_other && a.st_shndx == b.st_shndx
        };
        let same = std::ptr::eq(these, those) || these.as_bytes() == those.as_bytes();
        (same || these.iter().zip(those).all(like)).then_some(same)
    }

    /// Whether the checks of another file's table hold for this one as well, if both files have the
    /// same number of sections: the entries are equal, and the string table is at least as long.
    fn passes_checks_of(&self, file_size: usize, other: &SymbolTable<'_>) -> bool {
        self.strings.len() >= other.strings.len()
            && are_names_short(file_size, self.strings.len(), self.len())
            && self.likeness(other) == Some(true)
    }

    /// Its section.
    pub fn section(&self) -> SectionIndex {
        self.section
    }
    /// Number of symbols, including the null symbol.
    #[inline]
    pub fn len(&self) -> usize {
        match self.entries {
            Entries::Elf32(e) => e.len(),
            Entries::Elf64(e) => e.len(),
        }
    }
    /// Whether there is not even the null symbol.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Its string table.
    pub fn strings(&self) -> &'a [u8] {
        self.strings
    }
    /// A string of its string table.
    pub fn string(&self, offset: u32) -> Option<&'a [u8]> {
        string_at(self.strings, offset)
    }
    /// Whether `offset` is in the string table; does not read the string.
    pub fn has_string(&self, offset: u32) -> bool {
        (offset as usize) < self.strings.len()
    }
    /// All symbols in order.
    pub fn iter(&self) -> impl Iterator<Item = SymbolRef<'a>> {
        (0..self.len() as u32).filter_map(|i| self.get(i))
    }

    /// The symbol with this index.
    #[inline]
    pub fn get(&self, index: u32) -> Option<SymbolRef<'a>> {
        let symbol = self.get_unnamed(index)?;
        Some(SymbolRef { name: string_at(self.strings, symbol.name_offset)?, ..symbol })
    }

    /// The symbol with this index, without its name: reading the name would touch other memory.
    #[inline]
    pub fn get_unnamed(&self, index: u32) -> Option<SymbolRef<'a>> {
        macro_rules! widen {
            ($entry:expr) => {{
                let entry = $entry;
                let (shndx, reserved) = self.resolve(entry.st_shndx.get(), index)?;
                entry.widen(index, shndx, reserved)
            }};
        }
        Some(match self.entries {
            Entries::Elf32(e) => widen!(e.get(index as usize)?),
            Entries::Elf64(e) => widen!(e.get(index as usize)?),
        })
    }

    /// All symbols in order, without their names.
    pub fn iter_unnamed(&self) -> impl Iterator<Item = SymbolRef<'a>> {
        (0..self.len() as u32).filter_map(|i| self.get_unnamed(i))
    }
    /// The same for a 64-bit file; this is checked only once.
    #[inline]
    pub fn plain_unnamed(&self) -> Option<impl Iterator<Item = SymbolRef<'a>>> {
        let Entries::Elf64(entries) = self.entries else { return None };
        Some((0..).zip(entries).filter_map(|(index, entry)| {
            let (shndx, reserved) = self.resolve(entry.st_shndx.get(), index)?;
            Some(entry.widen(index, shndx, reserved))
        }))
    }

    /// Whether the symbol with this index has this name.
    pub fn is_named(&self, index: u32, name: &[u8]) -> bool {
        let offset = match self.entries {
            Entries::Elf32(e) => e.get(index as usize).map(|s| s.st_name.get()),
            Entries::Elf64(e) => e.get(index as usize).map(|s| s.st_name.get()),
        };
        let rest = offset.and_then(|offset| self.strings.get(offset as usize..));
        let rest = rest.and_then(|rest| rest.strip_prefix(name));
        rest.is_some_and(|rest| rest.first() == Some(&0))
    }

    /// `st_info` and `st_other`; does not read the name.
    #[inline]
    pub fn info_and_other(&self, index: u32) -> Option<(u8, u8)> {
        Some(match self.entries {
            Entries::Elf32(e) => e.get(index as usize).map(|s| (s.st_info, s.st_other))?,
            Entries::Elf64(e) => e.get(index as usize).map(|s| (s.st_info, s.st_other))?,
        })
    }

    /// Section index of the symbol with this index, and whether it is a reserved value; does not
    /// read the name.
    pub fn place(&self, index: u32) -> Option<(u32, bool)> {
        self.resolve(self.raw_shndx(index)?, index)
    }

    /// `st_shndx` as stored.
    #[inline]
    pub fn raw_shndx(&self, index: u32) -> Option<u16> {
        Some(match self.entries {
            Entries::Elf32(e) => e.get(index as usize)?.st_shndx.get(),
            Entries::Elf64(e) => e.get(index as usize)?.st_shndx.get(),
        })
    }

    /// [`SymbolRef::shndx`] of a symbol; does not read its name.
    #[inline]
    pub fn shndx(&self, index: u32) -> Option<u32> {
        let (section, _) = self.resolve(self.raw_shndx(index)?, index)?;
        Some(section)
    }

    #[inline]
    fn resolve(&self, shndx: u16, symbol: u32) -> Option<(u32, bool)> {
        match u32::from(shndx) {
            shn::XINDEX => Some((self.shndx.get(symbol as usize)?.get(), false)),
            n => Some((n, n >= shn::LORESERVE)),
        }
    }
}

/// The `.symtab_shndx` that belongs to a symbol table.
fn extended_indices<'a>(
    sections: &Sections<'a>,
    symtab: &SectionRef<'a>,
) -> Result<&'a [U32], ReadError> {
    if !sections.are_extended() {
        return Ok(&[]);
    }
    let mut found: Option<SectionRef<'a>> = None;
    for table in sections.unnamed_of_kind(SectionType::SYMTAB_SHNDX) {
        let known = found.map(|t| t.link);
        let better = table.link == symtab.index.0 && known != Some(symtab.index.0);
        if better || (table.link == 0 && known.is_none()) {
            found = Some(table);
        }
    }
    match found {
        None => Ok(&[]),
        Some(x) => <[U32]>::ref_from_bytes(x.data).map_err(|_| ReadError::BadField {
            field: "sh_size",
            section: Some(x.index.0),
            value: x.size,
        }),
    }
}

/// Relocations as stored in the file.
#[derive(Clone, Copy, Debug)]
enum RawRelocs<'a> {
    Rel32(&'a [raw::Rel32]),
    Rela32(&'a [raw::Rela32]),
    Rel64(&'a [raw::Rel64]),
    Rela64(&'a [raw::Rela64]),
}

/// The relocations of a section, decoded on access.
#[derive(Clone, Copy, Debug)]
pub struct Relocs<'a>(RawRelocs<'a>);

impl<'a> Relocs<'a> {
    #[inline]
    pub(crate) fn read(
        class: Class,
        section: u32,
        entsize: u64,
        data: &'a [u8],
    ) -> Result<Self, ReadError> {
        let bad = |field, value| ReadError::BadField { field, section: Some(section), value };
        let size = |()| bad("sh_size", data.len() as u64);
        Ok(Self(match (class, entsize) {
            (Class::Elf64, 24) => {
                RawRelocs::Rela64(FromBytes::ref_from_bytes(data).map_err(|_| size(()))?)
            }
            (Class::Elf64, 16) => {
                RawRelocs::Rel64(FromBytes::ref_from_bytes(data).map_err(|_| size(()))?)
            }
            (Class::Elf32, 12) => {
                RawRelocs::Rela32(FromBytes::ref_from_bytes(data).map_err(|_| size(()))?)
            }
            (Class::Elf32, 8) => {
                RawRelocs::Rel32(FromBytes::ref_from_bytes(data).map_err(|_| size(()))?)
            }
            (_, other) => return Err(bad("sh_entsize", other)),
        }))
    }

    /// Number of relocations.
    #[inline]
    pub fn len(&self) -> usize {
        match self.0 {
            RawRelocs::Rel32(r) => r.len(),
            RawRelocs::Rela32(r) => r.len(),
            RawRelocs::Rel64(r) => r.len(),
            RawRelocs::Rela64(r) => r.len(),
        }
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a relocation, starting with this index, has an explicit addend of 0.
    pub fn has_zero_addend(&self, first: usize) -> bool {
        match self.0 {
            RawRelocs::Rela32(r) => r.iter().skip(first).any(|r| r.r_addend.get() == 0),
            RawRelocs::Rela64(r) => r.iter().skip(first).any(|r| r.r_addend.get() == 0),
            RawRelocs::Rel32(_) | RawRelocs::Rel64(_) => false,
        }
    }

    /// The relocation with this index.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Reloc> {
        let wide = |offset: u64, kind, symbol, addend| Reloc {
            offset,
            kind: RelocKind(kind),
            symbol: SymbolIndex(symbol),
            addend,
        };
        let narrow = |offset: u32, info: u32, addend: Option<i32>| {
            wide(offset.into(), info & 0xff, info >> 8, addend.map(i64::from))
        };
        Some(match self.0 {
            RawRelocs::Rela64(r) => {
                let r = r.get(index)?;
                wide(r.r_offset.get(), r.r_type.get(), r.r_sym.get(), Some(r.r_addend.get()))
            }
            RawRelocs::Rel64(r) => {
                let r = r.get(index)?;
                wide(r.r_offset.get(), r.r_type.get(), r.r_sym.get(), None)
            }
            RawRelocs::Rela32(r) => {
                let r = r.get(index)?;
                narrow(r.r_offset.get(), r.r_info.get(), Some(r.r_addend.get()))
            }
            RawRelocs::Rel32(r) => {
                let r = r.get(index)?;
                narrow(r.r_offset.get(), r.r_info.get(), None)
            }
        })
    }

    /// All relocations in order, for 64-bit files with addends; this is checked only once.
    #[inline]
    pub fn plain(self) -> Option<impl Iterator<Item = Reloc> + use<'a>> {
        let RawRelocs::Rela64(list) = self.0 else { return None };
        Some(list.iter().map(|r| Reloc {
            offset: r.r_offset.get(),
            kind: RelocKind(r.r_type.get()),
            symbol: SymbolIndex(r.r_sym.get()),
            addend: Some(r.r_addend.get()),
        }))
    }

    /// All relocations in order.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = Reloc> + use<'a> {
        (0..self.len()).filter_map(move |i| self.get(i))
    }
}

pub(crate) fn read_segments(data: &[u8], header: &Header) -> Result<Vec<Segment>, ReadError> {
    if header.phnum == 0 {
        return Ok(Vec::new());
    }
    let entry = header.class.program_header_size();
    if header.phentsize != entry {
        let value = header.phentsize.into();
        return Err(ReadError::BadField { field: "e_phentsize", section: None, value });
    }
    let size = u64::from(header.phnum) * u64::from(entry);
    let table = slice(data, "program header table", None, header.phoff, size)?;
    macro_rules! widen {
        ($raw:ty) => {
            <[$raw]>::ref_from_bytes(table)
                .map_err(|_| ReadError::NotElf)?
                .iter()
                .map(|p| Segment {
                    kind: SegmentType(p.p_type.get()),
                    flags: p.p_flags.get(),
                    offset: p.p_offset.get().into(),
                    vaddr: p.p_vaddr.get().into(),
                    paddr: p.p_paddr.get().into(),
                    filesz: p.p_filesz.get().into(),
                    memsz: p.p_memsz.get().into(),
                    align: p.p_align.get().into(),
                })
                .collect()
        };
    }
    Ok(match header.class {
        Class::Elf32 => widen!(raw::Phdr32),
        Class::Elf64 => widen!(raw::Phdr64),
    })
}
