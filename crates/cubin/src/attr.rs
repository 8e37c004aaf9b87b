//! The attributes of `.nv.info`: names, shapes of their values, and which of
//! their words are symbol indices; and the codes of `.nv.compat`.

use crate::consts::open_enum;
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

open_enum!(
    /// Format byte of a record.
    Format(u8) {
        /// No value: its presence is the information.
        NVAL = 1,
        /// An 8-bit value.
        BVAL = 2,
        /// A 16-bit value.
        HVAL = 3,
        /// A sized payload.
        SVAL = 4,
    }
);

open_enum!(
    /// Code of a record of `.nv.info` (`EIATTR_*`).
    Attr(u8) {
        ERROR = 0x00,
        PAD = 0x01,
        IMAGE_SLOT = 0x02,
        JUMPTABLE_RELOCS = 0x03,
        CTAIDZ_USED = 0x04,
        MAX_THREADS = 0x05,
        IMAGE_OFFSET = 0x06,
        IMAGE_SIZE = 0x07,
        TEXTURE_NORMALIZED = 0x08,
        SAMPLER_INIT = 0x09,
        PARAM_CBANK = 0x0a,
        SMEM_PARAM_OFFSETS = 0x0b,
        CBANK_PARAM_OFFSETS = 0x0c,
        SYNC_STACK = 0x0d,
        TEXID_SAMPID_MAP = 0x0e,
        EXTERNS = 0x0f,
        REQNTID = 0x10,
        FRAME_SIZE = 0x11,
        MIN_STACK_SIZE = 0x12,
        SAMPLER_FORCE_UNNORMALIZED = 0x13,
        BINDLESS_IMAGE_OFFSETS = 0x14,
        BINDLESS_TEXTURE_BANK = 0x15,
        BINDLESS_SURFACE_BANK = 0x16,
        KPARAM_INFO = 0x17,
        SMEM_PARAM_SIZE = 0x18,
        CBANK_PARAM_SIZE = 0x19,
        QUERY_NUMATTRIB = 0x1a,
        MAXREG_COUNT = 0x1b,
        EXIT_INSTR_OFFSETS = 0x1c,
        S2RCTAID_INSTR_OFFSETS = 0x1d,
        CRS_STACK_SIZE = 0x1e,
        NEED_CNP_WRAPPER = 0x1f,
        NEED_CNP_PATCH = 0x20,
        EXPLICIT_CACHING = 0x21,
        ISTYPEP_USED = 0x22,
        MAX_STACK_SIZE = 0x23,
        SUQ_USED = 0x24,
        LD_CACHEMOD_INSTR_OFFSETS = 0x25,
        LOAD_CACHE_REQUEST = 0x26,
        ATOM_SYS_INSTR_OFFSETS = 0x27,
        COOP_GROUP_INSTR_OFFSETS = 0x28,
        COOP_GROUP_MASK_REGIDS = 0x29,
        SW1850030_WAR = 0x2a,
        WMMA_USED = 0x2b,
        HAS_PRE_V10_OBJECT = 0x2c,
        ATOMF16_EMUL_INSTR_OFFSETS = 0x2d,
        ATOM16_EMUL_INSTR_REG_MAP = 0x2e,
        REGCOUNT = 0x2f,
        SW2393858_WAR = 0x30,
        INT_WARP_WIDE_INSTR_OFFSETS = 0x31,
        SHARED_SCRATCH = 0x32,
        STATISTICS = 0x33,
        INDIRECT_BRANCH_TARGETS = 0x34,
        SW2861232_WAR = 0x35,
        SW_WAR = 0x36,
        CUDA_API_VERSION = 0x37,
        NUM_MBARRIERS = 0x38,
        MBARRIER_INSTR_OFFSETS = 0x39,
        COROUTINE_RESUME_ID_OFFSETS = 0x3a,
        SAM_REGION_STACK_SIZE = 0x3b,
        PER_REG_TARGET_PERF_STATS = 0x3c,
        CTA_PER_CLUSTER = 0x3d,
        EXPLICIT_CLUSTER = 0x3e,
        MAX_CLUSTER_RANK = 0x3f,
        INSTR_REG_MAP = 0x40,
        RESERVED_SMEM_USED = 0x41,
        RESERVED_SMEM_0_SIZE = 0x42,
        UCODE_SECTION_DATA = 0x43,
        UNUSED_LOAD_BYTE_OFFSET = 0x44,
        KPARAM_INFO_V2 = 0x45,
        SYSCALL_OFFSETS = 0x46,
        SW_WAR_MEMBAR_SYS_INSTR_OFFSETS = 0x47,
        GRAPHICS_GLOBAL_CBANK = 0x48,
        SHADER_TYPE = 0x49,
        VRC_CTA_INIT_COUNT = 0x4a,
        TOOLS_PATCH_FUNC = 0x4b,
        NUM_BARRIERS = 0x4c,
        TEXMODE_INDEPENDENT = 0x4d,
        PERF_STATISTICS = 0x4e,
        AT_ENTRY_FRAGMENTS = 0x4f,
        SPARSE_MMA_MASK = 0x50,
        TCGEN05_1CTA_USED = 0x51,
        TCGEN05_2CTA_USED = 0x52,
        GEN_ERRBAR_AT_EXIT = 0x53,
        REG_RECONFIG = 0x54,
        ANNOTATIONS = 0x55,
        UNKNOWN = 0x56,
        STACK_CANARY_TRAP_OFFSETS = 0x57,
        STUB_FUNCTION_KIND = 0x58,
        LOCAL_CTA_ASYNC_STORE_OFFSETS = 0x59,
        MERCURY_FINALIZER_OPTIONS = 0x5a,
        BLOCKS_ARE_CLUSTERS = 0x5b,
        SANITIZE = 0x5c,
        SYSCALLS_FALLBACK = 0x5d,
        CUDA_REQ = 0x5e,
        MERCURY_ISA_VERSION = 0x5f,
        EXPORTED_FUNCTION = 0x60,
        RTCORE_ENTRY = 0x61,
        CLUSTER_LAUNCH_CONTROL_USED = 0x62,
        MIN_PER_CTA_MEMORY_SIZE = 0x64,
        IGNOREOOB_CP_ASYNC_BULK_INSTR_OFFSETS = 0x65,
        LANGUAGE = 0x66,
        GRID_ATTRIBUTES = 0x68,
        STACK_OFFSET = 0x69,
        RT_LIVESTATE_SASS_MAP = 0x6a,
        NVSAL_SW_WAR = 0x6b,
        INSTR_OFFSETS = 0x6c,
        PREEXIT_USED = 0x6d,
    }
);

open_enum!(
    /// Code of a record of `.nv.compat` (`EICOMPAT_ATTR_*`).
    Compat(u8) {
        ERROR = 0,
        PAD = 1,
        ISA_CLASS = 2,
        INST_TENSORMAP_V1 = 3,
        INST_TCGEN05_MMA_DEPRECATED = 4,
        INST_TCGEN05_MMA = 5,
        ENABLE_OPPORTUNISTIC_FINALIZATION = 6,
        MERCURY_ISA_MAJOR_MINOR_VERSION = 7,
        MERCURY_ISA_PATCH_VERSION = 8,
        CUDA_ACCELERATOR_TARGET = 9,
        CUDA_DRIVER_VERSION = 0x0a,
        CAN_FASTPATH_FINALIZE = 0x0b,
        CUDA_INTERNAL_TARGET = 0x0c,
        FINALIZER_VERSION = 0x0e,
    }
);

/// `MIN_STACK_SIZE` of a kernel that recurses.
pub const UNKNOWN_STACK: u32 = u32::MAX;

/// What the payload of a sized record holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// No sized payload: a flag, an 8-bit or a 16-bit value.
    Scalar,
    /// A symbol and one or more values.
    SymbolValue,
    /// A list of symbols.
    Symbols,
    /// Section symbol, 16-bit offset and 16-bit size: [`ParamBank`].
    ParamBank,
    /// [`KernelParam`].
    KernelParam,
    /// A list of words: code offsets, counts or dimensions.
    Words,
    /// Bytes that are not decoded.
    Opaque,
}

/// Which words of a sized payload are symbol indices. They have to be renumbered with the symbol
/// table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolWords {
    None,
    First,
    All,
}

impl Attr {
    /// What its sized payload holds.
    pub fn shape(self) -> Shape {
        match self {
            Self::PARAM_CBANK => Shape::ParamBank,
            Self::KPARAM_INFO | Self::KPARAM_INFO_V2 => Shape::KernelParam,
            Self::EXTERNS => Shape::Symbols,
            Self::IMAGE_SLOT
            | Self::IMAGE_OFFSET
            | Self::IMAGE_SIZE
            | Self::TEXTURE_NORMALIZED
            | Self::SAMPLER_INIT
            | Self::FRAME_SIZE
            | Self::MIN_STACK_SIZE
            | Self::SAMPLER_FORCE_UNNORMALIZED
            | Self::BINDLESS_IMAGE_OFFSETS
            | Self::MAX_STACK_SIZE
            | Self::LOAD_CACHE_REQUEST
            | Self::REGCOUNT
            | Self::SAM_REGION_STACK_SIZE => Shape::SymbolValue,
            Self::STATISTICS
            | Self::PER_REG_TARGET_PERF_STATS
            | Self::INSTR_REG_MAP
            | Self::UCODE_SECTION_DATA
            | Self::PERF_STATISTICS
            | Self::ANNOTATIONS
            | Self::MERCURY_FINALIZER_OPTIONS
            | Self::SYSCALLS_FALLBACK
            | Self::CUDA_REQ => Shape::Opaque,
            _ if self.usual_format() == Some(Format::SVAL) => Shape::Words,
            _ if self.usual_format().is_some() => Shape::Scalar,
            _ => Shape::Opaque,
        }
    }

    /// The format that NVIDIA's tools use for it, if known.
    pub fn usual_format(self) -> Option<Format> {
        Some(match self {
            Self::CTAIDZ_USED
            | Self::NEED_CNP_WRAPPER
            | Self::NEED_CNP_PATCH
            | Self::EXPLICIT_CACHING
            | Self::ISTYPEP_USED
            | Self::SUQ_USED
            | Self::SW1850030_WAR
            | Self::WMMA_USED
            | Self::HAS_PRE_V10_OBJECT
            | Self::SW2393858_WAR
            | Self::SW2861232_WAR
            | Self::EXPLICIT_CLUSTER
            | Self::RESERVED_SMEM_USED
            | Self::TEXMODE_INDEPENDENT
            | Self::TCGEN05_1CTA_USED
            | Self::TCGEN05_2CTA_USED
            | Self::GEN_ERRBAR_AT_EXIT
            | Self::REG_RECONFIG
            | Self::BLOCKS_ARE_CLUSTERS
            | Self::SANITIZE => Format::NVAL,
            Self::BINDLESS_TEXTURE_BANK
            | Self::BINDLESS_SURFACE_BANK
            | Self::VRC_CTA_INIT_COUNT
            | Self::NUM_BARRIERS => Format::BVAL,
            Self::CBANK_PARAM_SIZE
            | Self::MAXREG_COUNT
            | Self::NUM_MBARRIERS
            | Self::SPARSE_MMA_MASK
            | Self::MERCURY_ISA_VERSION => Format::HVAL,
            Self::ERROR
            | Self::PAD
            | Self::SYNC_STACK
            | Self::SMEM_PARAM_SIZE
            | Self::QUERY_NUMATTRIB
            | Self::SHARED_SCRATCH
            | Self::RESERVED_SMEM_0_SIZE
            | Self::GRAPHICS_GLOBAL_CBANK
            | Self::SHADER_TYPE
            | Self::TOOLS_PATCH_FUNC
            | Self::UNKNOWN
            | Self::STUB_FUNCTION_KIND => return None,
            Self(code) if code < Self::EXPORTED_FUNCTION.0 => Format::SVAL,
            _ => return None,
        })
    }

    /// Which words of its sized payload are symbol indices. `KPARAM_INFO`
    /// starts with a plain index that is always 0, not with a symbol.
    pub fn symbol_words(self) -> SymbolWords {
        match self.shape() {
            Shape::SymbolValue | Shape::ParamBank => SymbolWords::First,
            Shape::Symbols => SymbolWords::All,
            _ => SymbolWords::None,
        }
    }
}

/// Payload of `PARAM_CBANK`: the location of a kernel's parameters.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct ParamBank {
    /// Section symbol of `.nv.constant0.<kernel>`.
    pub symbol: U32,
    /// Offset of the first parameter.
    pub offset: U16,
    /// Size of all parameters.
    pub size: U16,
}

/// Payload of `KPARAM_INFO` and `KPARAM_INFO_V2`: one kernel parameter.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct KernelParam {
    /// Always 0.
    pub index: U32,
    /// Position in the parameter list.
    pub ordinal: U16,
    /// Offset from the first parameter.
    pub offset: U16,
    /// Alignment, space, bank and size in bit fields.
    pub packed: U32,
}

impl KernelParam {
    /// Size in bytes (bits 18-31; `KPARAM_INFO` only).
    pub fn size(&self) -> u32 {
        self.packed.get() >> 18
    }
    /// Log2 of the alignment of the data that a pointer parameter points to.
    pub fn log2_alignment(&self) -> u32 {
        self.packed.get() & 0xff
    }
    /// Address space (bits 8-11).
    pub fn space(&self) -> u32 {
        (self.packed.get() >> 8) & 0xf
    }
    /// Constant bank (bits 12-16), 0x1f for the default one.
    pub fn bank(&self) -> u32 {
        (self.packed.get() >> 12) & 0x1f
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_where_the_tools_put_them() {
        let with_symbols: Vec<u8> =
            (0..=255).filter(|&c| Attr(c).symbol_words() != SymbolWords::None).collect();
        let expected = [
            0x02, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0f, 0x11, 0x12, 0x13, 0x14, 0x23, 0x26, 0x2f,
            0x3b,
        ];
        assert_eq!(with_symbols, expected);
    }

    #[test]
    fn scalars_have_no_sized_payload() {
        for code in 0..=255 {
            let attr = Attr(code);
            if attr.shape() == Shape::Scalar {
                assert_ne!(attr.usual_format(), Some(Format::SVAL), "{attr:?}");
            }
        }
        assert_eq!(Attr::NUM_BARRIERS.shape(), Shape::Scalar);
        assert_eq!(Attr::EXIT_INSTR_OFFSETS.shape(), Shape::Words);
        assert_eq!(Attr(0xee).shape(), Shape::Opaque);
    }
}
