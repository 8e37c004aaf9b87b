//! How records of `.nv.compat` are merged, a table for each release that changed something.

use cubin::Format;
use cubin::compat::Compat;

/// How one kind of record is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompatRule {
    /// The code.
    pub code: Compat,
    /// The format in which it is written.
    pub format: Format,
    /// How two values are combined.
    pub combine: Combine,
    /// What an input without the record has.
    pub missing: Missing,
    /// A value that is not written.
    pub unwritten: Option<u64>,
}

/// How the values of two inputs are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// The larger.
    Max,
    /// 0 if either is, else the larger.
    MaxOrZero,
    /// The bits of both.
    Or,
    /// The bits that both have.
    And,
    /// 1 unless they are equal.
    OneUnlessEqual,
    /// 0 if either is; else two fields of two bits by [`Combine::MaxOrZero`], and the other bits
    /// of the first input.
    TwoFields,
}

/// What an input without a record has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// This value.
    Counts(u64),
    /// Nothing: the others decide.
    Ignored,
    /// Nothing, and the output has none either.
    Drops,
}

const fn rule(code: Compat, format: Format, combine: Combine, missing: Missing) -> CompatRule {
    CompatRule { code, format, combine, missing, unwritten: None }
}

impl CompatRule {
    const fn unless(self, value: u64) -> Self {
        Self { unwritten: Some(value), ..self }
    }
}

const ISA_CLASS: CompatRule =
    rule(Compat::ISA_CLASS, Format::BVAL, Combine::MaxOrZero, Missing::Counts(0));
const TENSORMAP: CompatRule =
    rule(Compat::INST_TENSORMAP_V1, Format::BVAL, Combine::Or, Missing::Counts(3));
const TCGEN05: CompatRule =
    rule(Compat::INST_TCGEN05_MMA, Format::BVAL, Combine::TwoFields, Missing::Counts(0));
const OPPORTUNISTIC: CompatRule = rule(
    Compat::ENABLE_OPPORTUNISTIC_FINALIZATION,
    Format::BVAL,
    Combine::OneUnlessEqual,
    Missing::Counts(1),
);
const MERCURY_VERSION: CompatRule = rule(
    Compat::MERCURY_ISA_MAJOR_MINOR_VERSION,
    Format::HVAL,
    Combine::Max,
    Missing::Counts(0x100),
);
const MERCURY_PATCH: CompatRule =
    rule(Compat::MERCURY_ISA_PATCH_VERSION, Format::HVAL, Combine::Max, Missing::Ignored);
const FASTPATH: CompatRule =
    rule(Compat::CAN_FASTPATH_FINALIZE, Format::SVAL, Combine::And, Missing::Ignored);
const INTERNAL_TARGET: CompatRule =
    rule(Compat::CUDA_INTERNAL_TARGET, Format::BVAL, Combine::Max, Missing::Counts(2));
const MERCURY_VERSION_2: CompatRule =
    rule(Compat(0x0d), Format::HVAL, Combine::Max, Missing::Counts(0x100));
const CODE_0F: CompatRule = rule(Compat(0x0f), Format::HVAL, Combine::Max, Missing::Drops);
const FINALIZER: CompatRule =
    rule(Compat::FINALIZER_VERSION, Format::HVAL, Combine::Max, Missing::Drops);

/// CUDA 13.0. (`older-toolkit`, `accelerated-mix`)
pub const CUDA_13_0: &[CompatRule] =
    &[ISA_CLASS, TENSORMAP, TCGEN05, OPPORTUNISTIC, MERCURY_VERSION, MERCURY_PATCH];

/// 13.1 leaves out values that an input without the record would have.
pub const CUDA_13_1: &[CompatRule] = &[
    ISA_CLASS,
    TENSORMAP,
    TCGEN05.unless(0),
    OPPORTUNISTIC.unless(1),
    MERCURY_VERSION,
    MERCURY_PATCH.unless(0),
];

/// 13.2 keeps what files for sm_90 say about other targets.
pub const CUDA_13_2: &[CompatRule] = &[
    ISA_CLASS,
    TENSORMAP,
    TCGEN05.unless(0),
    OPPORTUNISTIC.unless(1),
    MERCURY_VERSION,
    MERCURY_PATCH.unless(0),
    FASTPATH,
];

/// In 13.3 a new record takes the part of the version of Mercury code.
pub const CUDA_13_3: &[CompatRule] = &[
    ISA_CLASS,
    TENSORMAP,
    TCGEN05.unless(0),
    OPPORTUNISTIC.unless(1),
    MERCURY_VERSION_2,
    MERCURY_VERSION.unless(0x100),
    MERCURY_PATCH.unless(0),
    FASTPATH,
];

/// 13.4 adds the mark of internal targets, the version of the finalizer and a record whose meaning is
/// not known.
pub const CUDA_13_4: &[CompatRule] = &[
    ISA_CLASS,
    TENSORMAP,
    INTERNAL_TARGET,
    TCGEN05.unless(0),
    OPPORTUNISTIC.unless(1),
    MERCURY_VERSION_2,
    MERCURY_VERSION.unless(0x100),
    MERCURY_PATCH.unless(0),
    FASTPATH,
    FINALIZER,
    CODE_0F,
];
