//! Which other targets the output's code runs on unchanged (CAN_FASTPATH_FINALIZE in `.nv.compat`).

use crate::ids::InputSection;
use crate::inputs::fit::is_accelerated;
use crate::linked::Linked;
use crate::merge::Content;
use crate::object::{MergeClass, Object};
use cubin::compat::Compat;
use cubin::flags::Flags;
use cubin::info;

/// Bit of sm_103, whose double-precision unit has different latencies.
const SM_103: u64 = 8;

/// Low nine bits of the opcodes whose latency differs there: DMUL, DADD, DSETP, DFMA and DMMA in
/// all their forms. 64-bit conversions have the same latency on both.
const DOUBLE_PRECISION: [u16; 5] = [0x28, 0x29, 0x2a, 0x2b, 0x3f];
/// FSETP with an immediate; the register form has the same latency on both. (Both lists derived
/// from the attribute of 45 kernels with one such instruction each; they hold without exception for
/// some 2,900 objects; `fastpath-latencies`.)
const FSETP_IMMEDIATE: u16 = 0x80b;

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
    let allowed = match native && declared & SM_103 == 0 && !has_other_latency(code) {
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

fn has_other_latency(code: &[u8]) -> bool {
    code.chunks_exact(16).any(|instruction| {
        let opcode = u16::from_le_bytes([instruction[0], instruction[1]]) & 0xfff;
        opcode == FSETP_IMMEDIATE || DOUBLE_PRECISION.contains(&(opcode & 0x1ff))
    })
}
