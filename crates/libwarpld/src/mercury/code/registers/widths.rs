//! How many registers an operand takes, by the fields of its instruction. 0: the operand is absent;
//! `None`: the form is not known.

use super::bits;

/// The rule for an operand's width.
pub type Width = fn(u128) -> Option<u8>;

pub fn one(_: u128) -> Option<u8> {
    Some(1)
}

/// A condition that was never seen, and may be a predicate of either kind.
pub fn unconditional(w: u128) -> Option<u8> {
    (bits(w, 87, 3) == 7).then_some(0)
}

pub fn two(_: u128) -> Option<u8> {
    Some(2)
}

pub fn four(_: u128) -> Option<u8> {
    Some(4)
}

/// Two where one bit says so, otherwise one.
fn wide_if(set: bool) -> Option<u8> {
    Some(if set { 2 } else { 1 })
}

/// `.64` of IADD, MATCH and the like.
pub fn wide_73(w: u128) -> Option<u8> {
    wide_if(bits(w, 73, 1) == 1)
}

/// `.64` of IMNMX.
pub fn wide_74(w: u128) -> Option<u8> {
    wide_if(bits(w, 74, 1) == 1)
}

/// MOVM: a matrix of 16 bits, or one of 4 bits that becomes one of 8.
pub fn transposed(w: u128) -> Option<u8> {
    match bits(w, 72, 8) {
        0 => Some(1),
        0x48 => Some(2),
        _ => None,
    }
}

/// `.64` of MOV, CS2R and ISETP.
pub fn wide_80(w: u128) -> Option<u8> {
    wide_if(bits(w, 80, 1) == 1)
}

/// The data of loads and stores.
pub fn data(w: u128) -> Option<u8> {
    match bits(w, 73, 3) {
        0..=4 => Some(1),
        5 => Some(2),
        6 => Some(4),
        _ => None,
    }
}

/// The address of a generic or global access: `.E` is of 64 bits; with a uniform register it may be an
/// offset of 32.
pub fn address(w: u128) -> Option<u8> {
    match bits(w, 91, 1) {
        0 => wide_if(bits(w, 72, 1) == 1),
        _ => wide_if(bits(w, 90, 1) == 1),
    }
}

/// The same of an atomic, whose bit 90 belongs to the operation.
pub fn atomic_address(w: u128) -> Option<u8> {
    match bits(w, 91, 1) {
        0 => wide_if(bits(w, 72, 1) == 1),
        _ => wide_if(bits(w, 63, 1) == 1),
    }
}

/// The source of LDGSTS.
pub fn copied_address(w: u128) -> Option<u8> {
    (bits(w, 91, 1) == 1 && bits(w, 76, 1) == 1 && bits(w, 72, 1) == 0 || bits(w, 72, 1) == 1)
        .then_some(2)
}

/// A uniform address or descriptor of 64 bits, if there is one.
pub fn base(w: u128) -> Option<u8> {
    Some(if bits(w, 91, 1) == 1 { 2 } else { 0 })
}

/// A uniform address of 32 bits, if there is one.
pub fn base_32(w: u128) -> Option<u8> {
    Some(if bits(w, 91, 1) == 1 { 1 } else { 0 })
}

/// Data of integer atomics: 32 bits, signed, 64, 128 bits.
pub fn atomic(w: u128) -> Option<u8> {
    match bits(w, 73, 3) {
        0 | 1 => Some(1),
        2 | 3 => Some(2),
        4 => Some(4),
        _ => None,
    }
}

/// Data of floating-point atomics: F32, F32x2, F32x4, F64.
pub fn atomic_float(w: u128) -> Option<u8> {
    let is_half = bits(w, 76, 1) == 0;
    match (is_half, bits(w, 73, 3)) {
        // F16x2, x4, x8 and BF16x2, x4, x8
        (true, 0 | 3) => Some(1),
        (true, 1 | 4) => Some(2),
        (true, 2 | 5) => Some(4),
        (false, 1) => Some(1),
        // F32x2, F64
        (false, 2 | 7) => Some(2),
        (false, 3) => Some(4),
        _ => None,
    }
}

/// Data of reductions in surfaces: 32 bits, signed, 64 bits, and the types of formatted ones.
pub fn reduced(w: u128) -> Option<u8> {
    match bits(w, 73, 3) {
        0 | 1 | 6 => Some(1),
        2 | 3 | 5 | 7 => Some(2),
        _ => None,
    }
}

/// Data of multicast loads that reduce: E5M2 and E4M3, halves, floats.
pub fn multicast_float(w: u128) -> Option<u8> {
    let is_byte = bits(w, 87, 1) == 1;
    let is_half = bits(w, 76, 1) == 0;
    match (is_byte, is_half, bits(w, 73, 3)) {
        (true, true, 1 | 4) => Some(1),
        (true, true, 3 | 6) => Some(4),
        (false, true, _) => atomic_float(w),
        (false, false, 4) => Some(1),
        (false, false, 5 | 7) => Some(2),
        (false, false, 6) => Some(4),
        _ => None,
    }
}

/// Their address, an offset to a uniform one.
pub fn shared_address(w: u128) -> Option<u8> {
    match bits(w, 91, 1) {
        1 => wide_if(bits(w, 81, 1) == 1),
        _ => None,
    }
}

/// Sizes of results and operands of conversions.
pub fn converted_to(w: u128) -> Option<u8> {
    wide_if(bits(w, 75, 2) == 3)
}

pub fn converted_from(w: u128) -> Option<u8> {
    wide_if(bits(w, 84, 2) == 3)
}

/// The 8x8 matrices of LDSM and STSM.
pub fn matrices(w: u128) -> Option<u8> {
    match (bits(w, 72, 2), bits(w, 80, 1)) {
        (0, 0) => Some(1),
        (1, 0) | (0, 1) => Some(2),
        (2, 0) | (1, 1) => Some(4),
        _ => None,
    }
}

/// HMMA: accumulators, and whether the shape is the larger of its type.
pub fn half_sum(w: u128) -> Option<u8> {
    Some(if bits(w, 76, 1) == 1 { 4 } else { 2 })
}

fn half_large(w: u128) -> Option<bool> {
    match (bits(w, 82, 2), bits(w, 75, 1), bits(w, 78, 1)) {
        (0 | 1, large, 0) => Some(large == 1),
        (2, 0, small) => Some(small == 0),
        _ => None,
    }
}

/// Whether HMMA takes a matrix with zeros left out.
fn half_sparse(w: u128) -> bool {
    bits(w, 73, 1) == 1
}

fn half_sparse_large(w: u128) -> Option<bool> {
    match (bits(w, 82, 2), bits(w, 75, 1), bits(w, 78, 1)) {
        (0 | 1, 1, large) => Some(large == 1),
        (2, large, 0) => Some(large == 1),
        _ => None,
    }
}

pub fn half_left(w: u128) -> Option<u8> {
    let large = if half_sparse(w) { half_sparse_large(w)? } else { half_large(w)? };
    Some(if large { 4 } else { 2 })
}

pub fn half_right(w: u128) -> Option<u8> {
    Some(if half_sparse(w) { half_left(w)? } else { half_left(w)? / 2 })
}

pub fn half_positions(w: u128) -> Option<u8> {
    Some(u8::from(half_sparse(w)))
}

/// IMMA of 16x8x16, 16x8x32 and, with zeros left out, 16x8x64.
pub fn integer_left(w: u128) -> Option<u8> {
    match (bits(w, 72, 4), bits(w, 85, 1)) {
        (4, 0) | (13, 0) => Some(2),
        (12, 0) | (5, 1) => Some(4),
        _ => None,
    }
}

pub fn integer_right(w: u128) -> Option<u8> {
    let sparse = integer_positions(w)? == 1;
    Some(if sparse { integer_left(w)? } else { integer_left(w)? / 2 })
}

pub fn integer_positions(w: u128) -> Option<u8> {
    Some(bits(w, 72, 1) as u8)
}

/// DMMA of 8x8x4, the only shape of Blackwell. Around the shape's two bits: signs and absolute values
/// of the operands, and the rounding.
pub fn double_factor(w: u128) -> Option<u8> {
    (bits(w, 76, 2) == 0 && bits(w, 80, 8) == 0).then_some(2)
}

/// QMMA of 16x8x16, 16x8x32 and, with zeros left out, 16x8x64: sums of 16 or 32 bits.
pub fn byte_sum(w: u128) -> Option<u8> {
    Some(if bits(w, 77, 1) == 1 { 4 } else { 2 })
}

pub fn byte_left(w: u128) -> Option<u8> {
    match (bits(w, 72, 4), byte_positions(w)?) {
        (4, 0) => Some(2),
        (12, 0) | (4, 1) => Some(4),
        _ => None,
    }
}

pub fn byte_right(w: u128) -> Option<u8> {
    let sparse = byte_positions(w)? == 1;
    Some(if sparse { byte_left(w)? } else { byte_left(w)? / 2 })
}

pub fn byte_positions(w: u128) -> Option<u8> {
    let sparse = bits(w, 80, 1);
    (bits(w, 76, 1) == sparse).then_some(sparse as u8)
}

/// QMMA and OMMA with scales; positions follow the left scale.
pub fn scaled_right(w: u128) -> Option<u8> {
    Some(if bits(w, 80, 1) == 1 { 4 } else { 2 })
}

pub fn scale_and_positions(w: u128) -> Option<u8> {
    wide_if(bits(w, 80, 1) == 1)
}

/// F2FP that unpacks has no first operand; its second and third are value and scale.
pub fn scaled(w: u128) -> Option<u8> {
    (bits(w, 89, 1) == 1).then_some(1)
}

pub fn unscaled(w: u128) -> Option<u8> {
    match (bits(w, 89, 1), bits(w, 91, 1)) {
        (0, 1) => Some(1),
        (1, 0) => Some(0),
        _ => None,
    }
}

/// Loads of 256 bits: a mask of the eight words, the lower of which go to the first destination.
fn loaded(w: u128) -> u64 {
    bits(w, 57, 7) | bits(w, 72, 1) << 7
}

pub fn loaded_low(w: u128) -> Option<u8> {
    Some((loaded(w) & 15).count_ones() as u8)
}

pub fn loaded_high(w: u128) -> Option<u8> {
    Some((loaded(w) >> 4).count_ones() as u8)
}

/// The same of stores, whose second operand has the lower words.
fn stored(w: u128) -> u64 {
    bits(w, 59, 5) | bits(w, 88, 3) << 5
}

pub fn stored_low(w: u128) -> Option<u8> {
    Some((stored(w) & 15).count_ones() as u8)
}

pub fn stored_high(w: u128) -> Option<u8> {
    Some((stored(w) >> 4).count_ones() as u8)
}

/// The two results of a texture access: which of four components there are.
fn components(w: u128) -> u8 {
    bits(w, 72, 4).count_ones() as u8
}

pub fn texels(w: u128) -> Option<u8> {
    Some(components(w))
}

pub fn texels_low(w: u128) -> Option<u8> {
    Some(components(w).min(2))
}

pub fn texels_high(w: u128) -> Option<u8> {
    Some(components(w).saturating_sub(2))
}

/// Coordinates of a texture access, with the layer.
pub fn coordinates(w: u128) -> Option<u8> {
    Some(match bits(w, 61, 3) {
        0 => 1,
        1 | 4 => 2,
        2 | 3 | 5 => 3,
        7 => 4,
        _ => return None,
    })
}

/// The same with slopes, and with an offset behind them.
pub fn slope_coordinates(w: u128) -> Option<u8> {
    Some(coordinates(w)? + bits(w, 56, 1) as u8)
}

/// Coordinates of a surface access.
pub fn surface_coordinates(w: u128) -> Option<u8> {
    Some(match bits(w, 61, 3) {
        0 => 1,
        2 | 3 => 2,
        4 | 5 => 3,
        _ => return None,
    })
}

/// Registers of tensor memory loads and stores: repetitions of a shape.
pub fn tensor_memory(w: u128) -> Option<u8> {
    let per = match (bits(w, 87, 1), bits(w, 81, 2)) {
        (0, 0) => 2,
        (0, 1) => 4,
        (0, 2 | 3) | (1, 0 | 1) => 1,
        _ => return None,
    };
    let times = 1u8.checked_shl(bits(w, 83, 4) as u32).filter(|&t| t != 0)?;
    times.checked_mul(per)
}

/// Coordinates of a tensor map access, after addresses: one and four rows, if they are gathered.
fn dimensions(w: u128) -> u8 {
    const GATHERED: u64 = 4;
    if bits(w, 82, 3) == GATHERED { 5 } else { bits(w, 79, 3) as u8 + 1 }
}

/// The same of a store, which may scatter rows.
pub fn scattered_and_address(w: u128) -> Option<u8> {
    const SCATTERED: u64 = 2;
    if bits(w, 82, 3) == SCATTERED { Some(6) } else { tile_and_address(w) }
}

/// The cache policy of a bulk access, if it has one.
pub fn policy(w: u128) -> Option<u8> {
    Some(if bits(w, 76, 1) == 1 { 2 } else { 0 })
}

/// What follows the operands of a product in tensor memory: scales, columns without zeros, or a mask of
/// lanes for one or two blocks.
pub fn masks(w: u128) -> Option<u8> {
    let [scaled, weights, pair] = [63, 83, 85].map(|at| bits(w, at, 1) == 1);
    Some(match (scaled || weights, pair) {
        (true, _) => 2,
        (false, false) => 4,
        (false, true) => 8,
    })
}

pub fn tile(w: u128) -> Option<u8> {
    Some(dimensions(w))
}

pub fn tile_and_address(w: u128) -> Option<u8> {
    Some(dimensions(w) + 1)
}

pub fn tile_and_addresses(w: u128) -> Option<u8> {
    Some(dimensions(w) + 2)
}

/// The source of a bulk copy: a global address has 64 bits.
pub fn bulk_source(w: u128) -> Option<u8> {
    match bits(w, 73, 2) {
        1 => Some(2),
        2 | 3 => Some(1),
        _ => None,
    }
}

/// BAR with a vote reads a predicate.
pub fn voted(w: u128) -> Option<u8> {
    Some(u8::from(bits(w, 77, 3) == 2))
}

/// `B2R.RESULT` writes a predicate.
pub fn result(w: u128) -> Option<u8> {
    Some(u8::from(bits(w, 78, 2) == 1))
}

/// BRA.DIV and BRA.CONV read a uniform register.
pub fn parted(w: u128) -> Option<u8> {
    base_32(w)
}
