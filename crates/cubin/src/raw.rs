//! The ELF records as stored in a file: little-endian, unaligned.

use zerocopy::little_endian::{I32, I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

macro_rules! record {
    ($(#[$meta:meta])* $name:ident { $($(#[$fmeta:meta])* $field:ident: $ty:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
        #[repr(C)]
        pub struct $name { $($(#[$fmeta])* pub $field: $ty,)* }
    };
}

record!(
    /// ELF64 file header.
    Ehdr64 {
        e_ident: [u8; 16],
        e_type: U16,
        e_machine: U16,
        e_version: U32,
        e_entry: U64,
        e_phoff: U64,
        e_shoff: U64,
        e_flags: U32,
        e_ehsize: U16,
        e_phentsize: U16,
        e_phnum: U16,
        e_shentsize: U16,
        e_shnum: U16,
        e_shstrndx: U16,
    }
);

record!(
    /// ELF32 file header.
    Ehdr32 {
        e_ident: [u8; 16],
        e_type: U16,
        e_machine: U16,
        e_version: U32,
        e_entry: U32,
        e_phoff: U32,
        e_shoff: U32,
        e_flags: U32,
        e_ehsize: U16,
        e_phentsize: U16,
        e_phnum: U16,
        e_shentsize: U16,
        e_shnum: U16,
        e_shstrndx: U16,
    }
);

record!(
    /// ELF64 section header.
    Shdr64 {
        sh_name: U32,
        sh_type: U32,
        sh_flags: U64,
        sh_addr: U64,
        sh_offset: U64,
        sh_size: U64,
        sh_link: U32,
        sh_info: U32,
        sh_addralign: U64,
        sh_entsize: U64,
    }
);

record!(
    /// ELF32 section header.
    Shdr32 {
        sh_name: U32,
        sh_type: U32,
        sh_flags: U32,
        sh_addr: U32,
        sh_offset: U32,
        sh_size: U32,
        sh_link: U32,
        sh_info: U32,
        sh_addralign: U32,
        sh_entsize: U32,
    }
);

record!(
    /// ELF64 symbol.
    Sym64 {
        st_name: U32,
        st_info: u8,
        st_other: u8,
        st_shndx: U16,
        st_value: U64,
        st_size: U64,
    }
);

record!(
    /// ELF32 symbol.
    Sym32 {
        st_name: U32,
        st_value: U32,
        st_size: U32,
        st_info: u8,
        st_other: u8,
        st_shndx: U16,
    }
);

record!(
    /// ELF64 relocation with addend.
    Rela64 {
        r_offset: U64,
        r_type: U32,
        r_sym: U32,
        r_addend: I64,
    }
);

record!(
    /// ELF64 relocation without addend.
    Rel64 {
        r_offset: U64,
        r_type: U32,
        r_sym: U32,
    }
);

record!(
    /// ELF32 relocation with addend; `r_info` is symbol << 8 | type.
    Rela32 {
        r_offset: U32,
        r_info: U32,
        r_addend: I32,
    }
);

record!(
    /// ELF32 relocation without addend.
    Rel32 {
        r_offset: U32,
        r_info: U32,
    }
);

record!(
    /// ELF64 program header.
    Phdr64 {
        p_type: U32,
        p_flags: U32,
        p_offset: U64,
        p_vaddr: U64,
        p_paddr: U64,
        p_filesz: U64,
        p_memsz: U64,
        p_align: U64,
    }
);

record!(
    /// ELF32 program header.
    Phdr32 {
        p_type: U32,
        p_offset: U32,
        p_vaddr: U32,
        p_paddr: U32,
        p_filesz: U32,
        p_memsz: U32,
        p_flags: U32,
        p_align: U32,
    }
);

record!(
    /// One entry of `.nv.callgraph` and `.nv.prototype`.
    Pair {
        first: U32,
        second: U32,
    }
);

/// A field that is 32 bits wide in ELF32 and 64 in ELF64.
pub(crate) trait Word: Sized {
    /// The field with this value, if it fits.
    fn from_u64(value: u64) -> Option<Self>;
}
impl Word for U32 {
    fn from_u64(value: u64) -> Option<Self> {
        Some(u32::try_from(value).ok()?.into())
    }
}
impl Word for U64 {
    fn from_u64(value: u64) -> Option<Self> {
        Some(value.into())
    }
}

/// A field of either width with this value, if it fits.
pub(crate) fn word<W: Word>(value: u64) -> Option<W> {
    W::from_u64(value)
}
