//! The fast path: a file that runs on the target as it is needs its number
//! changed and nothing else.

use super::validate::Input;
use super::{Fastpath, FinalizerConfig, Trace, can_finalize_with_mask, declared_targets};
use cubin::Arch;
use cubin::flags::Flags;

/// Offset of `e_flags`.
const FLAGS: usize = 48;

/// The copy, if the file may be copied. A self-check wants the long way.
pub fn try_copy(
    input: &Input<'_>,
    target: Arch,
    config: &FinalizerConfig,
    trace: &mut Trace,
) -> Option<Vec<u8>> {
    if config.fastpath == Fastpath::Off || config.self_check || input.arch == target.number {
        return None;
    }
    let declared = declared_targets(&input.cubin);
    if !can_finalize_with_mask(declared, input.arch, target.number, trace) {
        return None;
    }
    trace.line(format_args!("fastpath applied for {} -> {}", input.arch, target.number));
    let mut copy = input.cubin.bytes().to_vec();
    let flags = match Flags::decode(&input.cubin.header()) {
        Flags::V8(mut flags) => {
            flags.sm = target.number;
            Flags::V8(flags)
        }
        other => other,
    };
    copy.get_mut(FLAGS..FLAGS + 4)?.copy_from_slice(&flags.encode().to_le_bytes());
    Some(copy)
}
