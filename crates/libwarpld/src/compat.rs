//! `.nv.compat` of the output, merged from all inputs.

use crate::diag::Code;
use crate::diag::{Diagnostic, Diagnostics};
use crate::object::Object;
use cubin::compat::Compat;
use cubin::{Arch, Format, Variant, info};
use rayon::prelude::*;

/// Size of the record that [`push_fastpath`] writes.
pub const FASTPATH_SIZE: u64 = 12;

/// Codes that are merged, in the order in which missing ones are added, with
/// format and the value an input without the record counts as.
const MERGED: [(Compat, Format, u16); 5] = [
    (Compat::ISA_CLASS, Format::BVAL, 0),
    (Compat::INST_TENSORMAP_V1, Format::BVAL, 3),
    (Compat::INST_TCGEN05_MMA, Format::BVAL, 0),
    (Compat::ENABLE_OPPORTUNISTIC_FINALIZATION, Format::BVAL, 1),
    (Compat::MERCURY_ISA_MAJOR_MINOR_VERSION, Format::HVAL, 0x100),
];

/// The merged records. The target decides the accelerator mark, which comes
/// first; every input that has the section is merged record by record, then
/// what it lacks counts with a default. Inputs of older toolkits have no such
/// section and do not count. [`accelerated-mix`, `older-toolkit`]
pub fn merge(objects: &[Object<'_>], arch: Arch) -> Vec<u8> {
    let mut list: Vec<(Compat, Format, u16)> = Vec::new();
    for data in kinds(objects) {
        let mut seen: Vec<Compat> = Vec::new();
        for record in info::records(data).map_while(Result::ok) {
            let code = record.compat();
            let format = match code {
                Compat::MERCURY_ISA_PATCH_VERSION => Some(Format::HVAL),
                _ => MERGED.iter().find(|merged| merged.0 == code).map(|merged| merged.1),
            };
            if let Some(format) = format {
                add(&mut list, code, format, record.value);
                seen.push(code);
            }
        }
        for (code, format, missing) in MERGED {
            if !seen.contains(&code) {
                add(&mut list, code, format, missing);
            }
        }
    }
    let accelerated = u16::from(arch.variant == Variant::Accelerated);
    let mut out = Vec::new();
    push(&mut out, Format::BVAL, Compat::CUDA_ACCELERATOR_TARGET, accelerated);
    for (code, format, value) in list {
        push(&mut out, format, code, value);
    }
    out
}

/// Inputs whose section lacks ISA_CLASS limit the output to one architecture.
pub fn check(objects: &[Object<'_>], arch: Arch, diags: &mut Diagnostics) {
    let lacks = |data: &[u8]| {
        !info::records(data)
            .map_while(Result::ok)
            .any(|record| record.compat() == Compat::ISA_CLASS)
    };
    if !kinds(objects).into_iter().any(lacks) {
        return;
    }
    for object in objects {
        if object.compat.is_some_and(lacks) {
            diags.push(Diagnostic::warning(
                Code::LimitedOutput,
                format_args!(
                    "Output is limited to run on SM Arch '{}' only, due to missing attribute \
                     'ISA_CLASS' in input file '{}'",
                    arch.number, object.name
                ),
            ));
        }
    }
}

/// Appends the record of the targets that the code runs on as it is.
pub fn push_fastpath(targets: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&[Format::SVAL.0, Compat::CAN_FASTPATH_FINALIZE.0, 8, 0]);
    out.extend_from_slice(&targets.to_le_bytes());
}

/// The sections of all inputs in order, but for those that are the same as that of the
/// input before: nearly all are, and merging one twice changes nothing.
fn kinds<'a>(objects: &[Object<'a>]) -> Vec<&'a [u8]> {
    let kinds_of = |objects: &[Object<'a>]| {
        let mut kinds: Vec<&'a [u8]> = objects.iter().filter_map(|object| object.compat).collect();
        kinds.dedup();
        kinds
    };
    objects.par_chunks(OBJECTS_AT_ONCE).flat_map_iter(kinds_of).collect()
}

/// Fewer are not worth another thread.
const OBJECTS_AT_ONCE: usize = 512;

fn add(list: &mut Vec<(Compat, Format, u16)>, code: Compat, format: Format, value: u16) {
    match list.iter_mut().find(|r| r.0 == code) {
        Some(known) => known.2 = combine(code, known.2, value),
        None => list.push((code, format, value)),
    }
}

fn combine(code: Compat, a: u16, b: u16) -> u16 {
    let weakest = |a: u16, b: u16| if a == 0 || b == 0 { 0 } else { a.max(b) };
    match code {
        Compat::ISA_CLASS => weakest(a, b),
        Compat::INST_TENSORMAP_V1 => a | b,
        // Two 2-bit fields; the rest is the first input's.
        Compat::INST_TCGEN05_MMA => {
            a & 0xf0 | weakest(a >> 2 & 3, b >> 2 & 3) << 2 | weakest(a & 3, b & 3)
        }
        Compat::ENABLE_OPPORTUNISTIC_FINALIZATION => {
            if a == b {
                a
            } else {
                1
            }
        }
        Compat::MERCURY_ISA_PATCH_VERSION => a,
        _ => a.max(b),
    }
}

fn push(out: &mut Vec<u8>, format: Format, code: Compat, value: u16) {
    out.extend_from_slice(&[format.0, code.0]);
    out.extend_from_slice(&value.to_le_bytes());
}
