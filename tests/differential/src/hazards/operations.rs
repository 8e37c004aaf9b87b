//! What is known of operations: whether results and operand reads take a variable time, and which
//! unit does them in order.

use super::listing::Instruction;
use super::registers::{File, Registers};

/// A unit whose instructions do not overtake each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Shared memory, shuffles, and stores of all kinds.
    Memory,
    /// Loads, copies to shared memory and atomics that answer: only operands are read in order.
    Load,
    /// Transcendental functions, counts of bits and conversions.
    Function,
    /// MUFU.EX2 on sm_103 and sm_110; elsewhere it is one of the functions.
    Exponential,
    /// Conversions from and to 64 bits.
    Conversion,
    /// Arithmetic in double precision, where it is not of fixed latency.
    Double,
    /// S2UR.
    Special,
    /// B2R.
    Barrier,
    /// Textures and surfaces.
    Texture,
    /// Reads of constants by register.
    Constant,
    /// Sums and the like over a warp (REDUX).
    Reduction,
    /// Tensor memory.
    Tensor,
    /// Copies of tensors (UTMALDG and so on): only operands in order.
    TensorCopy,
    /// Copies of blocks of memory (UBLKCP and so on): only operands in order.
    BlockCopy,
    /// Barriers in shared memory (SYNCS): only operands in order.
    Phase,
}

impl Unit {
    /// Whether results come in order, too.
    pub fn orders_results(self) -> bool {
        !matches!(
            self,
            Self::Load | Self::Constant | Self::TensorCopy | Self::BlockCopy | Self::Phase
        )
    }
}

/// How an operation behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Results are there after a fixed time, which stall counts allow for; operands are read at once.
    Fixed,
    /// Results come at any time; operands may be read late.
    Variable(Option<Unit>),
    /// Nothing is known: what its control bits say is believed.
    Unknown,
}

/// The timing of an instruction for `sm` (100, 120, ...).
pub fn timing(instruction: &Instruction, sm: u16) -> Timing {
    use Timing::{Fixed, Variable};
    let wide = instruction.has("F64") || instruction.has("S64") || instruction.has("U64");
    match instruction.operation() {
        "LDS" | "LDSM" | "ATOMS" | "SHFL" | "STS" | "STG" | "ST" | "STL" | "REDG" | "RED"
        | "STSM" | "REDS" => Variable(Some(Unit::Memory)),
        "LDG" | "LD" | "ATOMG" | "ATOM" | "LDL" | "LDGSTS" => Variable(Some(Unit::Load)),
        "F2F" | "I2F" | "F2I" | "FRND" if wide => Variable(Some(Unit::Conversion)),
        "MUFU" if instruction.has("EX2") && matches!(sm, 103 | 110) => {
            Variable(Some(Unit::Exponential))
        }
        "MUFU" | "POPC" | "FLO" | "BREV" | "FRND" | "F2I" | "F2F" | "I2F" | "FCHK" => {
            Variable(Some(Unit::Function))
        }
        "S2UR" => Variable(Some(Unit::Special)),
        "B2R" => Variable(Some(Unit::Barrier)),
        "TEX" | "TLD" | "TLD4" | "TXQ" | "TXD" | "TMML" | "SUST" | "SULD" | "SURED" | "SUATOM" => {
            Variable(Some(Unit::Texture))
        }
        "LDC" => Variable(Some(Unit::Constant)),
        "DADD" | "DMUL" | "DFMA" | "DSETP" | "DMMA" if sm != 100 => Variable(Some(Unit::Double)),
        "REDUX" => Variable(Some(Unit::Reduction)),
        "LDTM" | "STTM" => Variable(Some(Unit::Tensor)),
        "UTMALDG" | "UTMASTG" | "UTMAREDG" | "UTMAPF" => Variable(Some(Unit::TensorCopy)),
        "UBLKCP" | "UBLKPF" | "UBLKRED" => Variable(Some(Unit::BlockCopy)),
        "SYNCS" => Variable(Some(Unit::Phase)),
        "LDCU" | "S2R" | "MATCH" | "BMOV" | "QSPC" | "LDGDEPBAR" | "LDGMC" | "UTMACMDFLUSH"
        | "CCTL" => Variable(None),
        name if FIFTH.contains(&name) => Variable(None),
        name if FIXED.contains(&name) => Fixed,
        _ => Timing::Unknown,
    }
}

/// Whether the timing of an instruction is known.
pub fn is_known(instruction: &Instruction, sm: u16) -> bool {
    timing(instruction, sm) != Timing::Unknown
}

/// Tensor cores of the fifth generation: all operands are uniform registers.
const FIFTH: &[&str] =
    &["UTCATOMSWS", "UTCBAR", "UTCCP", "UTCHMMA", "UTCIMMA", "UTCOMMA", "UTCQMMA"];

/// Whether the operand's uniform registers are read late, too.
fn reads_uniform_late(instruction: &Instruction) -> bool {
    match instruction.operation() {
        "TEX" | "TLD" | "TLD4" | "TXD" | "TMML" => true,
        "UTMALDG" | "UTMASTG" | "UTMAREDG" | "UTMAPF" | "UBLKCP" | "UBLKPF" | "UBLKRED" => true,
        // Also has a form with general registers.
        "SYNCS" => instruction.operands().starts_with("UR"),
        name => FIFTH.contains(&name),
    }
}

/// The registers whose new values are there after a fixed time.
pub fn fixed_results(instruction: &Instruction, sm: u16) -> Registers {
    match timing(instruction, sm) {
        Timing::Fixed => instruction.writes,
        // BSYNC follows `BMOV.32 B10, R50` after 5 cycles, without a wait.
        _ if instruction.operation() == "BMOV" => instruction.writes.of(File::Barrier),
        _ => Registers::NONE,
    }
}

/// The registers that `instruction` may still read when later ones issue.
pub fn late_reads(instruction: &Instruction) -> Registers {
    let late = instruction.reads.of(File::General);
    let late = if reads_uniform_late(instruction) {
        late | instruction.reads.of(File::Uniform)
    } else {
        late
    };
    late.without(&instruction.writes)
}

/// Operations of fixed latency, or without registers, as seen in compilers' code.
#[rustfmt::skip]
const FIXED: &[&str] = &[
    "ACQBULK", "BAR", "BPT", "BRA", "BREAK", "BRX", "BRXU", "BSSY", "BSYNC", "CALL", "CGAERRBAR",
    "CREDUX", "CS2R", "CS2UR", "DADD", "DEPBAR", "DFMA", "DMMA", "DMUL", "DSETP", "ELECT",
    "ENDCOLLECTIVE", "ERRBAR", "EXIT", "F2FP", "FADD", "FADD2", "FENCE", "FFMA", "FFMA2", "FMNMX",
    "FMNMX3", "FMUL", "FMUL2", "FSEL", "FSET", "FSETP", "HADD2", "HFMA2", "HMMA", "HMNMX2", "HMUL2",
    "HSET2", "HSETP2", "I2FP", "IABS", "IADD", "IADD3", "IDP", "IMAD", "IMMA", "IMNMX", "ISETP",
    "LEA", "LEPC", "LOP3", "MEMBAR", "MOV", "NANOSLEEP", "NOP", "OMMA", "P2R", "PLOP3", "PREEXIT",
    "PRMT", "QMMA", "R2P", "R2UR", "RET", "RPCMOV", "SEL", "SGXT", "SHF", "UBMSK", "UBREV",
    "UCGABAR_ARV", "UCGABAR_WAIT", "UF2I", "UFADD", "UFFMA", "UFLO", "UFMUL", "UFRND", "UFSEL",
    "UFSETP", "UGETNEXTWORKID", "UI2F", "UI2FP", "UIADD3", "UIMAD", "UIMNMX", "UISETP", "ULEA", "ULOP3",
    "UMOV", "UP2UR", "UPLOP3", "UPOPC", "UPRMT", "USEL", "USHF", "UTCSHIFT", "UVIMNMX",
    "UVIRTCOUNT", "VABSDIFF4", "VIADD", "VIADDMNMX", "VIMNMX", "VIMNMX3", "VOTE", "VOTEU",
    "WARPSYNC", "YIELD",
];

/// Ends of groups of copies, which DEPBAR counts.
pub mod group {
    use super::Instruction;

    /// Whether the instruction is one.
    pub fn is_end(instruction: &Instruction) -> bool {
        matches!(instruction.operation(), "LDGDEPBAR" | "UTMACMDFLUSH")
    }

    /// The scoreboard that it is counted on.
    pub fn board(end: &Instruction) -> Option<u8> {
        if end.operation() == "LDGDEPBAR" { end.write_board() } else { end.read_board() }
    }
}
