//! Relocation kinds by number, and the two tables of them. A row has the constant, the number, who
//! resolves the kind, and the bit fields it changes.

use super::Handler::{Driver, Either, Finalizer, Linker, Nobody};
use super::Value::*;
use super::{Field, RelocInfo, Value};

/// `r_type`: what a relocation does to the bytes at its offset. Unknown numbers are preserved.
///
/// The constants are named as NVIDIA's tools name the types, without the leading `R_`:
/// [`RelocKind::CUDA_ABS32_LO_32`], [`RelocKind::MERCURY_ABS64`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct RelocKind(pub u32);

const fn f(start: u8, width: u8, value: Value, shift: u8) -> Field {
    Field { start, width, value, shift }
}

/// Defines the constants of [`RelocKind`] and their table. Rows must have consecutive numbers
/// starting with `$first`, which is checked at compile time.
macro_rules! kinds {
    ($(#[$meta:meta])* $table:ident from $first:expr;
     $($name:ident = $number:literal, $handler:ident, [$($field:expr),*];)*) => {
        impl RelocKind {
            $(#[doc = concat!("`R_", stringify!($name), "`")] pub const $name: Self = Self($number);)*
        }

        $(#[$meta])*
        pub(super) static $table: [RelocInfo; [$($number),*].len()] = [$(
            RelocInfo {
                name: concat!("R_", stringify!($name)),
                handler: $handler,
                fields: &[$($field),*],
            },
        )*];

        const _: () = {
            let (numbers, mut i) = ([$($number),*], 0);
            while i < numbers.len() {
                assert!(numbers[i] == $first + i as u32, "numbers must be consecutive");
                i += 1;
            }
        };
    };
}

#[rustfmt::skip]
kinds! {
    /// `R_CUDA_*`, by number.
    CUDA from 0;
    CUDA_NONE = 0, Nobody, [];
    CUDA_32 = 1, Either, [f(0, 32, Address, 0)];
    CUDA_64 = 2, Either, [f(0, 64, Address, 0)];
    CUDA_G32 = 3, Driver, [f(0, 32, Generic, 0)];
    CUDA_G64 = 4, Driver, [f(0, 64, Generic, 0)];
    CUDA_ABS32_26 = 5, Either, [f(26, 32, Address, 0)];
    CUDA_TEX_HEADER_INDEX = 6, Driver, [f(0, 20, Header, 0)];
    CUDA_SAMP_HEADER_INDEX = 7, Driver, [f(20, 12, Header, 0)];
    CUDA_SURF_HW_DESC = 8, Driver, [f(0, 32, HardwareDescriptor, 0)];
    CUDA_SURF_HW_SW_DESC = 9, Driver, [f(0, 32, HardwareSoftwareDescriptor, 0)];
    CUDA_ABS32_LO_26 = 10, Either, [f(26, 32, Address, 0)];
    CUDA_ABS32_HI_26 = 11, Either, [f(26, 32, Address, 32)];
    CUDA_ABS32_23 = 12, Either, [f(23, 32, Address, 0)];
    CUDA_ABS32_LO_23 = 13, Either, [f(23, 32, Address, 0)];
    CUDA_ABS32_HI_23 = 14, Either, [f(23, 32, Address, 32)];
    CUDA_ABS24_26 = 15, Linker, [f(26, 24, Address, 0)];
    CUDA_ABS24_23 = 16, Linker, [f(23, 24, Address, 0)];
    CUDA_ABS16_26 = 17, Linker, [f(26, 16, Address, 0)];
    CUDA_ABS16_23 = 18, Linker, [f(23, 16, Address, 0)];
    CUDA_TEX_SLOT = 19, Linker, [f(32, 8, Slot, 0)];
    CUDA_SAMP_SLOT = 20, Linker, [f(40, 5, Slot, 0)];
    CUDA_SURF_SLOT = 21, Linker, [f(26, 6, Slot, 0)];
    CUDA_TEX_BINDLESSOFF13_32 = 22, Linker, [f(32, 13, Address, 2)];
    CUDA_TEX_BINDLESSOFF13_47 = 23, Linker, [f(47, 13, Address, 2)];
    CUDA_CONST_FIELD19_28 = 24, Linker, [f(28, 14, Address, 2), f(42, 4, Bank, 0), f(26, 1, Bank, 4)];
    CUDA_CONST_FIELD19_23 = 25, Linker, [f(23, 14, Address, 2), f(37, 5, Bank, 0)];
    CUDA_TEX_SLOT9_49 = 26, Linker, [f(49, 9, Slot, 0)];
    CUDA_6_31 = 27, Linker, [f(31, 6, Address, 0)];
    CUDA_2_47 = 28, Linker, [f(47, 2, Address, 0)];
    CUDA_TEX_BINDLESSOFF13_41 = 29, Linker, [f(41, 13, Address, 2)];
    CUDA_TEX_BINDLESSOFF13_45 = 30, Linker, [f(45, 13, Address, 2)];
    CUDA_FUNC_DESC32_23 = 31, Driver, [f(23, 32, Function, 0)];
    CUDA_FUNC_DESC32_LO_23 = 32, Driver, [f(23, 32, Function, 0)];
    CUDA_FUNC_DESC32_HI_23 = 33, Driver, [f(23, 32, Function, 32)];
    CUDA_FUNC_DESC_32 = 34, Driver, [f(0, 32, FunctionAddress, 0)];
    CUDA_FUNC_DESC_64 = 35, Driver, [f(0, 64, FunctionAddress, 0)];
    CUDA_CONST_FIELD21_26 = 36, Linker, [f(26, 16, Address, 0), f(42, 5, Bank, 0)];
    CUDA_QUERY_DESC21_37 = 37, Linker, [f(37, 16, Address, 0), f(53, 5, Bank, 0)];
    CUDA_CONST_FIELD19_26 = 38, Linker, [f(26, 14, Address, 2), f(40, 5, Bank, 0)];
    CUDA_CONST_FIELD21_23 = 39, Linker, [f(23, 16, Address, 0), f(39, 5, Bank, 0)];
    CUDA_PCREL_IMM24_26 = 40, Linker, [f(26, 24, PcRelative, 0)];
    CUDA_PCREL_IMM24_23 = 41, Linker, [f(23, 24, PcRelative, 0)];
    CUDA_ABS32_20 = 42, Either, [f(20, 32, Address, 0)];
    CUDA_ABS32_LO_20 = 43, Either, [f(20, 32, Address, 0)];
    CUDA_ABS32_HI_20 = 44, Either, [f(20, 32, Address, 32)];
    CUDA_ABS24_20 = 45, Linker, [f(20, 24, Address, 0)];
    CUDA_ABS16_20 = 46, Linker, [f(20, 16, Address, 0)];
    CUDA_FUNC_DESC32_20 = 47, Driver, [f(20, 32, Function, 0)];
    CUDA_FUNC_DESC32_LO_20 = 48, Driver, [f(20, 32, Function, 0)];
    CUDA_FUNC_DESC32_HI_20 = 49, Driver, [f(20, 32, Function, 32)];
    CUDA_CONST_FIELD19_20 = 50, Linker, [f(20, 14, Address, 2), f(34, 5, Bank, 0)];
    CUDA_BINDLESSOFF13_36 = 51, Linker, [f(36, 13, Address, 2)];
    CUDA_SURF_HEADER_INDEX = 52, Driver, [f(0, 20, Header, 0)];
    CUDA_INSTRUCTION64 = 53, Driver, [f(0, 64, Instruction, 0)];
    CUDA_CONST_FIELD21_20 = 54, Linker, [f(20, 16, Address, 0), f(36, 5, Bank, 0)];
    CUDA_ABS32_32 = 55, Either, [f(32, 32, Address, 0)];
    CUDA_ABS32_LO_32 = 56, Either, [f(32, 32, Address, 0)];
    CUDA_ABS32_HI_32 = 57, Either, [f(32, 32, Address, 32)];
    CUDA_ABS47_34 = 58, Driver, [f(34, 47, Address, 2)];
    CUDA_ABS16_32 = 59, Linker, [f(32, 16, Address, 0)];
    CUDA_ABS24_32 = 60, Linker, [f(32, 24, Address, 0)];
    CUDA_FUNC_DESC32_32 = 61, Driver, [f(32, 32, Function, 0)];
    CUDA_FUNC_DESC32_LO_32 = 62, Driver, [f(32, 32, Function, 0)];
    CUDA_FUNC_DESC32_HI_32 = 63, Driver, [f(32, 32, Function, 32)];
    CUDA_CONST_FIELD19_40 = 64, Linker, [f(40, 14, Address, 2), f(54, 5, Bank, 0)];
    CUDA_BINDLESSOFF14_40 = 65, Linker, [f(40, 14, Address, 2)];
    CUDA_CONST_FIELD21_38 = 66, Linker, [f(38, 16, Address, 0), f(54, 5, Bank, 0)];
    CUDA_INSTRUCTION128 = 67, Driver, [f(0, 128, Instruction, 0)];
    CUDA_YIELD_OPCODE9_0 = 68, Linker, [f(0, 9, Opcode, 0)];
    CUDA_YIELD_CLEAR_PRED4_87 = 69, Linker, [f(87, 4, Zero, 0)];
    CUDA_32_LO = 70, Either, [f(0, 32, Address, 0)];
    CUDA_32_HI = 71, Either, [f(0, 32, Address, 32)];
    CUDA_UNUSED_CLEAR32 = 72, Linker, [f(0, 32, Zero, 0)];
    CUDA_UNUSED_CLEAR64 = 73, Linker, [f(0, 64, Zero, 0)];
    CUDA_ABS24_40 = 74, Linker, [f(40, 24, Address, 0)];
    CUDA_ABS55_16_34 = 75, Driver, [f(16, 8, Address, 2), f(34, 47, Address, 10)];
    CUDA_8_0 = 76, Either, [f(0, 8, Address, 0)];
    CUDA_8_8 = 77, Either, [f(0, 8, Address, 8)];
    CUDA_8_16 = 78, Either, [f(0, 8, Address, 16)];
    CUDA_8_24 = 79, Either, [f(0, 8, Address, 24)];
    CUDA_8_32 = 80, Either, [f(0, 8, Address, 32)];
    CUDA_8_40 = 81, Either, [f(0, 8, Address, 40)];
    CUDA_8_48 = 82, Either, [f(0, 8, Address, 48)];
    CUDA_8_56 = 83, Either, [f(0, 8, Address, 56)];
    CUDA_G8_0 = 84, Driver, [f(0, 8, Generic, 0)];
    CUDA_G8_8 = 85, Driver, [f(0, 8, Generic, 8)];
    CUDA_G8_16 = 86, Driver, [f(0, 8, Generic, 16)];
    CUDA_G8_24 = 87, Driver, [f(0, 8, Generic, 24)];
    CUDA_G8_32 = 88, Driver, [f(0, 8, Generic, 32)];
    CUDA_G8_40 = 89, Driver, [f(0, 8, Generic, 40)];
    CUDA_G8_48 = 90, Driver, [f(0, 8, Generic, 48)];
    CUDA_G8_56 = 91, Driver, [f(0, 8, Generic, 56)];
    CUDA_FUNC_DESC_8_0 = 92, Driver, [f(0, 8, Function, 0)];
    CUDA_FUNC_DESC_8_8 = 93, Driver, [f(0, 8, Function, 8)];
    CUDA_FUNC_DESC_8_16 = 94, Driver, [f(0, 8, Function, 16)];
    CUDA_FUNC_DESC_8_24 = 95, Driver, [f(0, 8, Function, 24)];
    CUDA_FUNC_DESC_8_32 = 96, Driver, [f(0, 8, Function, 32)];
    CUDA_FUNC_DESC_8_40 = 97, Driver, [f(0, 8, Function, 40)];
    CUDA_FUNC_DESC_8_48 = 98, Driver, [f(0, 8, Function, 48)];
    CUDA_FUNC_DESC_8_56 = 99, Driver, [f(0, 8, Function, 56)];
    CUDA_ABS20_44 = 100, Linker, [f(44, 20, Address, 0)];
    CUDA_SAMP_HEADER_INDEX_0 = 101, Driver, [f(0, 12, Header, 0)];
    CUDA_UNIFIED = 102, Driver, [f(0, 64, Unified, 0)];
    CUDA_UNIFIED_32 = 103, Driver, [f(0, 32, Unified, 0)];
    CUDA_UNIFIED_8_0 = 104, Driver, [f(0, 8, Unified, 0)];
    CUDA_UNIFIED_8_8 = 105, Driver, [f(0, 8, Unified, 8)];
    CUDA_UNIFIED_8_16 = 106, Driver, [f(0, 8, Unified, 16)];
    CUDA_UNIFIED_8_24 = 107, Driver, [f(0, 8, Unified, 24)];
    CUDA_UNIFIED_8_32 = 108, Driver, [f(0, 8, Unified, 32)];
    CUDA_UNIFIED_8_40 = 109, Driver, [f(0, 8, Unified, 40)];
    CUDA_UNIFIED_8_48 = 110, Driver, [f(0, 8, Unified, 48)];
    CUDA_UNIFIED_8_56 = 111, Driver, [f(0, 8, Unified, 56)];
    CUDA_UNIFIED32_LO_32 = 112, Driver, [f(32, 32, Unified, 0)];
    CUDA_UNIFIED32_HI_32 = 113, Driver, [f(32, 32, Unified, 32)];
    CUDA_ABS56_16_34 = 114, Driver, [f(16, 8, Address, 2), f(34, 48, Address, 10)];
    CUDA_CONST_FIELD22_37 = 115, Linker, [f(37, 17, Address, 0), f(54, 5, Bank, 0)];
    CUDA_NONE_LAST = 116, Nobody, [];
}

#[rustfmt::skip]
kinds! {
    /// `R_MERCURY_*`, by number less [`super::MERCURY_BASE`]. Published descriptions swap the
    /// widths of the two UNIFIED kinds; this table follows their names. Only the driver applies
    /// them.
    MERCURY from super::MERCURY_BASE;
    MERCURY_NONE = 0x10000, Nobody, [];
    MERCURY_G64 = 0x10001, Driver, [f(0, 64, Address, 0)];
    MERCURY_ABS64 = 0x10002, Either, [f(0, 64, Address, 0)];
    MERCURY_ABS32 = 0x10003, Either, [f(0, 32, Address, 0)];
    MERCURY_ABS16 = 0x10004, Either, [f(0, 16, Address, 0)];
    MERCURY_ABS32_LO = 0x10005, Driver, [f(0, 32, Address, 0)];
    MERCURY_ABS32_HI = 0x10006, Driver, [f(0, 32, Address, 32)];
    MERCURY_PROG_REL64 = 0x10007, Finalizer, [f(0, 64, Address, 0)];
    MERCURY_PROG_REL32 = 0x10008, Finalizer, [f(0, 32, Address, 0)];
    MERCURY_PROG_REL32_LO = 0x10009, Finalizer, [f(0, 32, Address, 0)];
    MERCURY_PROG_REL32_HI = 0x1000a, Finalizer, [f(0, 32, Address, 32)];
    MERCURY_TEX_HEADER_INDEX = 0x1000b, Driver, [f(0, 20, Header, 0)];
    MERCURY_SAMP_HEADER_INDEX = 0x1000c, Driver, [f(20, 12, Header, 0)];
    MERCURY_SURF_HEADER_INDEX = 0x1000d, Driver, [f(0, 20, Header, 0)];
    MERCURY_UNUSED_CLEAR64 = 0x1000e, Linker, [f(0, 64, Zero, 0)];
    MERCURY_FUNC_DESC_64 = 0x1000f, Driver, [f(0, 64, FunctionAddress, 0)];
    MERCURY_8_0 = 0x10010, Either, [f(0, 8, Address, 0)];
    MERCURY_8_8 = 0x10011, Either, [f(0, 8, Address, 8)];
    MERCURY_8_16 = 0x10012, Either, [f(0, 8, Address, 16)];
    MERCURY_8_24 = 0x10013, Either, [f(0, 8, Address, 24)];
    MERCURY_8_32 = 0x10014, Either, [f(0, 8, Address, 32)];
    MERCURY_8_40 = 0x10015, Either, [f(0, 8, Address, 40)];
    MERCURY_8_48 = 0x10016, Either, [f(0, 8, Address, 48)];
    MERCURY_8_56 = 0x10017, Either, [f(0, 8, Address, 56)];
    MERCURY_G8_0 = 0x10018, Driver, [f(0, 8, Generic, 0)];
    MERCURY_G8_8 = 0x10019, Driver, [f(0, 8, Generic, 8)];
    MERCURY_G8_16 = 0x1001a, Driver, [f(0, 8, Generic, 16)];
    MERCURY_G8_24 = 0x1001b, Driver, [f(0, 8, Generic, 24)];
    MERCURY_G8_32 = 0x1001c, Driver, [f(0, 8, Generic, 32)];
    MERCURY_G8_40 = 0x1001d, Driver, [f(0, 8, Generic, 40)];
    MERCURY_G8_48 = 0x1001e, Driver, [f(0, 8, Generic, 48)];
    MERCURY_G8_56 = 0x1001f, Driver, [f(0, 8, Generic, 56)];
    MERCURY_FUNC_DESC_8_0 = 0x10020, Driver, [f(0, 8, Function, 0)];
    MERCURY_FUNC_DESC_8_8 = 0x10021, Driver, [f(0, 8, Function, 8)];
    MERCURY_FUNC_DESC_8_16 = 0x10022, Driver, [f(0, 8, Function, 16)];
    MERCURY_FUNC_DESC_8_24 = 0x10023, Driver, [f(0, 8, Function, 24)];
    MERCURY_FUNC_DESC_8_32 = 0x10024, Driver, [f(0, 8, Function, 32)];
    MERCURY_FUNC_DESC_8_40 = 0x10025, Driver, [f(0, 8, Function, 40)];
    MERCURY_FUNC_DESC_8_48 = 0x10026, Driver, [f(0, 8, Function, 48)];
    MERCURY_FUNC_DESC_8_56 = 0x10027, Driver, [f(0, 8, Function, 56)];
    MERCURY_ABS_PROG_REL32_LO = 0x10028, Driver, [f(0, 32, PcRelative, 0)];
    MERCURY_ABS_PROG_REL32_HI = 0x10029, Driver, [f(0, 32, PcRelative, 32)];
    MERCURY_PROG_REL8_0 = 0x1002a, Finalizer, [f(0, 8, Address, 0)];
    MERCURY_PROG_REL8_8 = 0x1002b, Finalizer, [f(0, 8, Address, 8)];
    MERCURY_PROG_REL8_16 = 0x1002c, Finalizer, [f(0, 8, Address, 16)];
    MERCURY_PROG_REL8_24 = 0x1002d, Finalizer, [f(0, 8, Address, 24)];
    MERCURY_PROG_REL8_32 = 0x1002e, Finalizer, [f(0, 8, Address, 32)];
    MERCURY_PROG_REL8_40 = 0x1002f, Finalizer, [f(0, 8, Address, 40)];
    MERCURY_PROG_REL8_48 = 0x10030, Finalizer, [f(0, 8, Address, 48)];
    MERCURY_PROG_REL8_56 = 0x10031, Finalizer, [f(0, 8, Address, 56)];
    MERCURY_UNIFIED = 0x10032, Driver, [f(0, 64, Unified, 0)];
    MERCURY_UNIFIED_32 = 0x10033, Driver, [f(0, 32, Unified, 0)];
    MERCURY_UNIFIED_8_0 = 0x10034, Driver, [f(0, 8, Unified, 0)];
    MERCURY_UNIFIED_8_8 = 0x10035, Driver, [f(0, 8, Unified, 8)];
    MERCURY_UNIFIED_8_16 = 0x10036, Driver, [f(0, 8, Unified, 16)];
    MERCURY_UNIFIED_8_24 = 0x10037, Driver, [f(0, 8, Unified, 24)];
    MERCURY_UNIFIED_8_32 = 0x10038, Driver, [f(0, 8, Unified, 32)];
    MERCURY_UNIFIED_8_40 = 0x10039, Driver, [f(0, 8, Unified, 40)];
    MERCURY_UNIFIED_8_48 = 0x1003a, Driver, [f(0, 8, Unified, 48)];
    MERCURY_UNIFIED_8_56 = 0x1003b, Driver, [f(0, 8, Unified, 56)];
    MERCURY_ABS_PROG_REL32 = 0x1003c, Driver, [f(0, 32, PcRelative, 0)];
    MERCURY_ABS_PROG_REL64 = 0x1003d, Driver, [f(0, 64, PcRelative, 0)];
    MERCURY_UNIFIED32_LO = 0x1003e, Driver, [f(0, 32, Unified, 0)];
    MERCURY_UNIFIED32_HI = 0x1003f, Driver, [f(0, 32, Unified, 32)];
}
