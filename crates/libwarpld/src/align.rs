//! Alignment of offsets and sizes.

/// Rounds up; an alignment of 0 or 1 changes nothing.
#[inline]
pub fn align_up(value: u64, align: u64) -> u64 {
    match align {
        0 | 1 => value,
        // As a rule; to divide takes long.
        _ if align.is_power_of_two() => {
            value.checked_add(align - 1).map_or(u64::MAX, |end| end & !(align - 1))
        }
        _ => value.div_ceil(align).saturating_mul(align),
    }
}
