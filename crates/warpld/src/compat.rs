//! `.nv.compat` of the output, merged from all inputs.

use crate::object::{Object, SectionClass};
use cubin::{Arch, Variant, info};

const ISA_CLASS: u8 = 2;
const TENSORMAP_V1: u8 = 3;
const TCGEN05_MMA: u8 = 5;
const OPPORTUNISTIC: u8 = 6;
const MERCURY_ISA: u8 = 7;
const ACCELERATOR: u8 = 9;

/// Codes that are merged, in the order in which missing ones are added, with
/// format and the value an input without the record counts as.
const MERGED: [(u8, u8, u16); 5] = [
    (ISA_CLASS, 2, 0),
    (TENSORMAP_V1, 2, 3),
    (TCGEN05_MMA, 2, 0),
    (OPPORTUNISTIC, 2, 1),
    (MERCURY_ISA, 3, 0x100),
];

/// The records in the order of the inputs; the target decides the accelerator
/// mark.
pub fn merge(objects: &[Object<'_>], arch: Arch) -> Vec<u8> {
    let accelerated = u16::from(arch.variant == Variant::Accelerated);
    let mut out = Vec::new();
    push(&mut out, 2, ACCELERATOR, accelerated);
    let inputs: Vec<Vec<(u8, u16)>> = objects.iter().map(values).collect();
    if inputs.is_empty() {
        return out;
    }
    let mut order: Vec<u8> = Vec::new();
    for &(code, _) in inputs.iter().flatten() {
        if MERGED.iter().any(|m| m.0 == code) && !order.contains(&code) {
            order.push(code);
        }
    }
    for (code, ..) in MERGED {
        if !order.contains(&code) {
            order.push(code);
        }
    }
    for code in order {
        let Some(&(_, format, missing)) = MERGED.iter().find(|m| m.0 == code) else { continue };
        let of = |input: &Vec<(u8, u16)>| {
            input.iter().find(|(c, _)| *c == code).map_or(missing, |(_, v)| *v)
        };
        let value = inputs.iter().map(of).reduce(|a, b| combine(code, a, b));
        push(&mut out, format, code, value.unwrap_or(missing));
    }
    out
}

fn values(object: &Object<'_>) -> Vec<(u8, u16)> {
    let section = object.classified().find(|(_, c)| *c == SectionClass::Compat);
    let data = section.map_or(&[][..], |(s, _)| s.data);
    info::records(data).map_while(Result::ok).map(|r| (r.code, r.value)).collect()
}

fn combine(code: u8, a: u16, b: u16) -> u16 {
    let weakest = |a: u16, b: u16| if a == 0 || b == 0 { 0 } else { a.max(b) };
    match code {
        ISA_CLASS => weakest(a, b),
        TENSORMAP_V1 => a | b,
        // Two 2-bit fields; the rest is the first input's.
        TCGEN05_MMA => a & 0xf0 | weakest(a >> 2 & 3, b >> 2 & 3) << 2 | weakest(a & 3, b & 3),
        OPPORTUNISTIC => {
            if a == b {
                a
            } else {
                1
            }
        }
        _ => a.max(b),
    }
}

fn push(out: &mut Vec<u8>, format: u8, code: u8, value: u16) {
    out.extend_from_slice(&[format, code]);
    out.extend_from_slice(&value.to_le_bytes());
}
