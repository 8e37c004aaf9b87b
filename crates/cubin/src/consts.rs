//! Constants of the device ELF as open enums: a newtype over the integer with named constants, so
//! that unknown values are preserved.

macro_rules! open_enum {
    ($(#[$meta:meta])* $name:ident($int:ty) { $($(#[$vmeta:meta])* $variant:ident = $value:expr,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[repr(transparent)]
        pub struct $name(pub $int);
        impl $name {
            $($(#[$vmeta])* pub const $variant: Self = Self($value);)*
            /// The name of the constant, if it is known.
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$variant => Some(stringify!($variant)),)*
                    _ => None,
                }
            }
        }
        impl From<$name> for $int {
            #[inline]
            fn from(value: $name) -> Self {
                value.0
            }
        }
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, concat!(stringify!($name), "({:#x})"), self.0),
                }
            }
        }
    };
}

pub(crate) use open_enum;

/// `e_machine` of device code.
pub const EM_CUDA: u16 = 190;

open_enum!(
    /// `e_type`.
    FileType(u16) {
        NONE = 0,
        REL = 1,
        EXEC = 2,
        DYN = 3,
        /// Written by `ptxas -ewp` (extensible whole program).
        EWP = 0xff00,
    }
);

open_enum!(
    /// `sh_type`.
    SectionType(u32) {
        NULL = 0,
        PROGBITS = 1,
        SYMTAB = 2,
        STRTAB = 3,
        RELA = 4,
        NOTE = 7,
        NOBITS = 8,
        REL = 9,
        SYMTAB_SHNDX = 18,
        CUDA_INFO = 0x7000_0000,
        CUDA_CALLGRAPH = 0x7000_0001,
        CUDA_PROTOTYPE = 0x7000_0002,
        CUDA_RESOLVED_RELA = 0x7000_0003,
        CUDA_METADATA = 0x7000_0004,
        CUDA_CONSTANT = 0x7000_0006,
        CUDA_GLOBAL = 0x7000_0007,
        CUDA_GLOBAL_INIT = 0x7000_0008,
        CUDA_LOCAL = 0x7000_0009,
        CUDA_SHARED = 0x7000_000a,
        CUDA_RELOCINFO = 0x7000_000b,
        CUDA_UFT = 0x7000_000e,
        CUDA_UFT_INDEX = 0x7000_0010,
        CUDA_UFT_ENTRY = 0x7000_0011,
        CUDA_UDT = 0x7000_0012,
        CUDA_UDT_ENTRY = 0x7000_0014,
        CUDA_RESERVED_SHARED = 0x7000_0015,
        CUDA_CAPMERC = 0x7000_0016,
        CUDA_CONSTANT_B0 = 0x7000_0064,
        CUDA_CONSTANT_B2 = 0x7000_0066,
        CUDA_CONSTANT_B3 = 0x7000_0067,
        CUDA_CONSTANT_B4 = 0x7000_0068,
        CUDA_MERCURY_CONSTANT_IMGHDR = 0x7000_0079,
        CUDA_MERCURY_CONSTANT_USER = 0x7000_007c,
        CUDA_MERCURY_CONSTANT_PIC = 0x7000_007d,
        CUDA_MERCURY_RELA = 0x7000_0082,
        CUDA_MERCURY_INFO = 0x7000_0083,
        CUDA_MERCURY_CONSTANT_OPT = 0x7000_0084,
        CUDA_MERCURY_SYMTAB = 0x7000_0085,
        CUDA_COMPAT_INFO = 0x7000_0086,
        CUDA_HOST = 0x7000_0087,
        CUDA_MERCURY_RESOLVED_RELA = 0x7000_0088,
        CUDA_MERCURY_CALLGRAPH = 0x7000_008a,
        CUDA_MERCURY_PROTOTYPE = 0x7000_008b,
    }
);

impl SectionType {
    /// Whether sections of this type have no bytes in the file.
    #[inline]
    pub fn is_nobits(self) -> bool {
        matches!(
            self,
            Self::NOBITS
                | Self::CUDA_GLOBAL
                | Self::CUDA_LOCAL
                | Self::CUDA_SHARED
                | Self::CUDA_RESERVED_SHARED
        )
    }

    /// Whether sections of this type have bytes in the file.
    #[inline]
    pub fn has_bytes(self) -> bool {
        !self.is_nobits() && self != Self::NULL
    }

    /// The constant bank of `CUDA_CONSTANT_B0 + N`, N = 0…17.
    pub fn constant_bank(self) -> Option<u32> {
        let bank = self.0.wrapping_sub(Self::CUDA_CONSTANT_B0.0);
        (bank <= 17).then_some(bank)
    }

    /// The type of the sections of a constant bank.
    pub const fn of_constant_bank(bank: u8) -> Self {
        Self(Self::CUDA_CONSTANT_B0.0 + bank as u32)
    }

    /// Whether sections of this type list unified functions or variables.
    #[inline]
    pub fn is_unified_entries(self) -> bool {
        matches!(self, Self::CUDA_UFT_ENTRY | Self::CUDA_UDT_ENTRY)
    }
}

/// `sh_flags` bits.
pub mod shf {
    pub const WRITE: u64 = 1;
    pub const ALLOC: u64 = 2;
    pub const EXECINSTR: u64 = 4;
    pub const INFO_LINK: u64 = 0x40;
    /// Barrier count in the text sections of old objects, bits 20-26.
    pub const BARRIERS_SHIFT: u32 = 20;
    pub const BARRIERS_MASK: u64 = 0x07f0_0000;
    pub const CUINFO: u64 = 0x0100_0000;
    pub const TKINFO: u64 = 0x0200_0000;
    pub const MERCURY: u64 = 0x1000_0000;
}

/// `sh_info` of a text section: the symbol of its function and, before sm_90, the function's
/// register count in the high byte.
pub mod text_info {
    /// The symbol.
    pub const FUNCTION: u32 = 0x00ff_ffff;
    /// The first bit of the register count.
    pub const REGISTERS_SHIFT: u32 = 24;
}

/// Reserved section indices.
pub mod shn {
    pub const UNDEF: u32 = 0;
    pub const LORESERVE: u32 = 0xff00;
    pub const ABS: u32 = 0xfff1;
    pub const COMMON: u32 = 0xfff2;
    pub const XINDEX: u32 = 0xffff;
}

open_enum!(
    /// `p_type`.
    SegmentType(u32) {
        NULL = 0,
        LOAD = 1,
        PHDR = 6,
    }
);

/// `p_flags` bits.
pub mod pf {
    pub const X: u32 = 1;
    pub const W: u32 = 2;
    pub const R: u32 = 4;
}

open_enum!(
    /// Symbol type, the low four bits of `st_info`.
    SymbolType(u8) {
        NOTYPE = 0,
        OBJECT = 1,
        FUNC = 2,
        SECTION = 3,
        FILE = 4,
        COMMON = 5,
        CUDA_TEXTURE = 10,
        CUDA_SAMPLER = 11,
        CUDA_SURFACE = 12,
        CUDA_OBJECT = 13,
    }
);

impl SymbolType {
    /// Whether symbols of this type are texture, sampler or surface references.
    #[inline]
    pub fn is_image(self) -> bool {
        matches!(self, Self::CUDA_TEXTURE | Self::CUDA_SAMPLER | Self::CUDA_SURFACE)
    }
}

open_enum!(
    /// Symbol binding, the high four bits of `st_info`.
    Binding(u8) {
        LOCAL = 0,
        GLOBAL = 1,
        WEAK = 2,
    }
);

/// `st_other`: visibility, flags and memory space.
pub mod sto {
    pub const VISIBILITY: u8 = 0x03;
    pub const INTERNAL: u8 = 0x01;
    pub const MANAGED: u8 = 0x04;
    /// Of functions.
    pub const UNIFIED: u8 = 0x04;
    pub const OBSCURE: u8 = 0x08;
    pub const ENTRY: u8 = 0x10;
    /// The memory space, one of those that follow.
    pub const SPACE: u8 = 0xe0;
    pub const GLOBAL: u8 = 0x20;
    pub const SHARED: u8 = 0x40;
    pub const LOCAL: u8 = 0x60;
    pub const CONSTANT: u8 = 0x80;
    pub const RESERVED_SHARED: u8 = 0xa0;
}
