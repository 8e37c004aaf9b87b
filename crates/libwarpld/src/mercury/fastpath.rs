//! Which other targets the output's code runs on unchanged (CAN_FASTPATH_FINALIZE in `.nv.compat`).

use crate::ids::InputSection;
use crate::inputs::fit::is_accelerated;
use crate::linked::Linked;
use crate::mercury::code::instruction::{Instruction, NO_GUARD};
use crate::merge::Content;
use crate::object::{MergeClass, Object};
use cubin::compat::Compat;
use cubin::flags::Flags;
use cubin::info;

/// Bit of sm_103, whose double-precision unit has different latencies.
const SM_103: u64 = 8;

/// Low nine bits of the opcodes whose latency differs there in all their forms: DMUL, DADD, DFMA,
/// DMMA and IMMA (8 bits; fewer bits become IMMA, too). 64-bit conversions have the same latency on
/// both.
const SLOWER: [u16; 5] = [0x28, 0x29, 0x2b, 0x37, 0x3f];
/// DSETP, and its form with a number.
const DSETP: u16 = 0x2a;
const DSETP_NUMBER: u16 = 0x42a;
/// FSETP with a number.
const FSETP_NUMBER: u16 = 0x80b;
/// Matrix products of the fifth tensor core, and what its kind is for integers.
const UTCMMA: u16 = 0x1ea;
const UTCMMA_INTEGER: u8 = 1;

/// Targets that all code of the output allows. The attribute is computed from the live functions:
/// inputs without code do not count, nor does dead code. Only the first target of a family allows
/// others. [`finalizer-records`, `fastpath-accelerated`]
pub fn targets(linked: Linked<'_, '_>) -> u64 {
    if !linked.cx.dialect.allows_other_targets() {
        return 0;
    }
    let texts = linked.merged.function_sections.iter().filter_map(|f| f.text.get());
    let chunks = texts.filter_map(|text| match linked.merged.section(text).content() {
        Content::Chunks(chunks) => chunks.first().copied(),
        _ => None,
    });
    let allowed = chunks.map(|chunk| function_targets(linked, chunk.from));
    allowed.reduce(|a, b| a & b).unwrap_or_else(|| linked.cx.dialect.targets_without_code())
}

fn function_targets(linked: Linked<'_, '_>, from: InputSection) -> u64 {
    let object = &linked.cx.objects[from.object];
    let declared = declared(object).unwrap_or_else(|| linked.cx.dialect.undeclared_targets());
    let code = object
        .halves
        .as_ref()
        .and_then(|h| h.counterpart(from.section))
        .map_or(&[][..], |t| t.data);
    let native = linked.cx.dialect.may_run_on_sm_103() && declared & 1 != 0;
    let mistaken = linked.cx.dialect.mistakes_comparisons();
    let allowed = match native && declared & SM_103 == 0 && !has_other_latency(code, mistaken) {
        true => declared | SM_103,
        false => declared,
    };
    match linked.cx.dialect.only_target() {
        Some(own) if !is_for_accelerated(object) => allowed & own,
        _ => allowed,
    }
}

/// Whether the input is for a target with the letter `a`. CUDA 12 says so in the header.
fn is_for_accelerated(object: &Object<'_>) -> bool {
    object.compat.is_some_and(is_accelerated) || Flags::decode(&object.cubin.header()).accelerated()
}

/// The mask that the input declares for all its code. [`data-of-another-number`]
fn declared(object: &Object<'_>) -> Option<u64> {
    let section = object.first_of(MergeClass::Compat)?;
    let mut records = info::records(section.data).map_while(Result::ok);
    let record = records.find(|r| r.code == Compat::CAN_FASTPATH_FINALIZE.0)?;
    Some(u64::from_le_bytes(record.payload.try_into().ok()?))
}

/// Whether some instruction has another latency on sm_103, or does not exist there (integers in the
/// fifth tensor core). Found with kernels of one instruction each, some 330 kinds.
/// [`fastpath-latencies`, `fastpath-integers`, `fastpath-matrices`]
fn has_other_latency(code: &[u8], mistaken: bool) -> bool {
    code.chunks_exact(Instruction::SIZE).any(|bytes| {
        let Ok(bytes) = bytes.try_into() else { return false };
        let instruction = Instruction(u128::from_le_bytes(bytes));
        match instruction.operation() {
            UTCMMA => instruction.matrix_kind() == UTCMMA_INTEGER,
            operation if SLOWER.contains(&operation) => true,
            _ => is_slower_comparison(instruction, mistaken),
        }
    })
}

/// Whether code has arithmetic in double precision, which takes another time on sm_103.
/// [`double_precision_is_scheduled_anew_for_another_target`]
pub fn has_double_precision(code: &[u8]) -> bool {
    const DMUL: u16 = 0x28;
    const DADD: u16 = 0x29;
    const DFMA: u16 = 0x2b;
    Instruction::all(code)
        .is_some_and(|code| code.iter().any(|i| [DMUL, DADD, DFMA, DSETP].contains(&i.operation())))
}

/// Whether code for sm_100 only seems to have other latencies on sm_103: it has an FSETP that counts by mistake,
/// and no instruction that is slower there in fact. nvlink links it as code that declares itself fit.
/// [`single-precision-for-103`]
pub fn is_undeclared_by_mistake<'c>(functions: impl Iterator<Item = &'c [u8]>) -> bool {
    let (mut mistaken, mut slower) = (false, false);
    for code in functions {
        for bytes in code.chunks_exact(Instruction::SIZE) {
            let Ok(word) = bytes.try_into() else { continue };
            let instruction = Instruction(u128::from_le_bytes(word));
            slower |= instruction.operation() == DSETP || has_other_latency(bytes, false);
            mistaken |= is_slower_comparison(instruction, true);
        }
    }
    mistaken && !slower
}

/// *Quirk*: a comparison with a number that is not combined with another predicate counts for the
/// wrong type: FSETP does, though its latency is the same, and DSETP does not. Since 13.3 FSETP does not.
/// [`fastpath-comparisons`]
fn is_slower_comparison(instruction: Instruction, mistaken: bool) -> bool {
    let alone = instruction.condition() == NO_GUARD;
    match instruction.opcode() {
        FSETP_NUMBER => alone && mistaken,
        DSETP_NUMBER => !alone,
        _ => instruction.operation() == DSETP,
    }
}
