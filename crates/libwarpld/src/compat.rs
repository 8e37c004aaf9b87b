//! `.nv.compat` of the output, merged from all inputs.

use crate::diag::Code;
use crate::diag::{Diagnostic, Diagnostics};
use crate::dialect::{Combine, CompatRule, Dialect, Missing};
use crate::object::Object;
use cubin::compat::Compat;
use cubin::info::Record;
use cubin::{Arch, Format, Variant, info};
use rayon::prelude::*;

/// Size of the record of the targets that the code runs on as it is.
const FASTPATH_SIZE: usize = 12;

/// A record of the output, and whether some input lacks it that all must have.
struct Merged {
    rule: &'static CompatRule,
    value: u64,
    dropped: bool,
}

/// The records of the output. Inputs of older toolkits have no such section and do not count.
/// [`accelerated-mix`, `older-toolkit`]
pub fn merge(objects: &[Object<'_>], arch: Arch, dialect: Dialect) -> Vec<u8> {
    merge_sections(kinds(objects), arch, dialect)
}

/// The merged records. The target decides the accelerator mark, which comes first; every section is
/// merged record by record, then what it lacks counts with a default. The codes of the first
/// section come in its order, all others in ascending order, masks last.
/// [`compat_records_as_nvlink_merges_them`]
fn merge_sections(sections: Vec<&[u8]>, arch: Arch, dialect: Dialect) -> Vec<u8> {
    let rules = dialect.compat_rules();
    let mut list: Vec<Merged> = Vec::new();
    let mut of_first = 0;
    for (at, data) in sections.into_iter().enumerate() {
        let mut seen: Vec<Compat> = Vec::new();
        for record in info::records(data).map_while(Result::ok) {
            let code = record.compat();
            let Some(rule) = rules.clone().find(|rule| rule.code == code) else { continue };
            let late = at > 0 && !list.iter().any(|known| known.rule.code == code);
            add(&mut list, rule, value(&record));
            if let (true, Missing::Drops, Some(new)) = (late, rule.missing, list.last_mut()) {
                new.dropped = true;
            }
            seen.push(code);
        }
        if at == 0 {
            of_first = list.len();
        }
        for rule in rules.clone().filter(|rule| !seen.contains(&rule.code)) {
            match rule.missing {
                Missing::Counts(value) => add(&mut list, rule, value),
                Missing::Ignored => {}
                Missing::Drops => {
                    let known = list.iter_mut().filter(|known| known.rule.code == rule.code);
                    known.for_each(|known| known.dropped = true);
                }
            }
        }
    }
    if let Some(others) = list.get_mut(of_first..) {
        others.sort_by_key(|merged| (merged.rule.format == Format::SVAL, merged.rule.code.0));
    }
    let accelerated = u16::from(arch.variant == Variant::Accelerated);
    let mut out = Vec::new();
    push(&mut out, Format::BVAL, Compat::CUDA_ACCELERATOR_TARGET, accelerated);
    let is_written = |m: &&Merged| !m.dropped && m.rule.unwritten != Some(m.value);
    for merged in list.iter().filter(is_written) {
        match merged.rule.format {
            Format::SVAL => push_targets(&mut out, merged.rule.code, merged.value),
            format => push(&mut out, format, merged.rule.code, merged.value as u16),
        }
    }
    out
}

/// The value of a record; that of a mask stands in its payload.
fn value(record: &Record<'_>) -> u64 {
    match record.payload.try_into() {
        Ok(mask) => u64::from_le_bytes(mask),
        Err(_) => record.value.into(),
    }
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

/// Writes what the finalizer says: the targets that the code runs on as it is, where the inputs'
/// masks were merged or behind all others, and its version. [`finalizer-records`]
pub fn push_finalizer(targets: u64, dialect: Dialect, out: &mut Vec<u8>) {
    match mask_of_targets(out) {
        Some(mask) => mask.copy_from_slice(&targets.to_le_bytes()),
        None => push_targets(out, Compat::CAN_FASTPATH_FINALIZE, targets),
    }
    if let Some(version) = dialect.finalizer_version() {
        push(out, Format::HVAL, Compat::FINALIZER_VERSION, version);
    }
}

/// The mask of the targets among the records.
fn mask_of_targets(records: &mut [u8]) -> Option<&mut [u8]> {
    let mut start = 0;
    for record in info::raw_records(records) {
        if Compat(record[1]) == Compat::CAN_FASTPATH_FINALIZE {
            break;
        }
        start += record.len();
    }
    records.get_mut(start..)?.get_mut(4..FASTPATH_SIZE)
}

fn push_targets(out: &mut Vec<u8>, code: Compat, targets: u64) {
    out.extend_from_slice(&[Format::SVAL.0, code.0, 8, 0]);
    out.extend_from_slice(&targets.to_le_bytes());
}

/// The sections of all inputs in order, except repeated ones, as nearly all are: merging one twice
/// changes nothing.
fn kinds<'a>(objects: &[Object<'a>]) -> Vec<&'a [u8]> {
    let new = |object: &Object<'a>| object.compat.filter(|_| !object.repeats_compat);
    let chunks = objects.par_chunks(OBJECTS_AT_ONCE);
    chunks.flat_map_iter(|objects| objects.iter().filter_map(new)).collect()
}

/// Fewer are not worth another thread.
const OBJECTS_AT_ONCE: usize = 512;

fn add(list: &mut Vec<Merged>, rule: &'static CompatRule, value: u64) {
    match list.iter_mut().find(|known| known.rule.code == rule.code) {
        Some(known) => known.value = combine(rule.combine, known.value, value),
        None => list.push(Merged { rule, value, dropped: false }),
    }
}

fn combine(how: Combine, a: u64, b: u64) -> u64 {
    let max_or_zero = |a: u64, b: u64| if a == 0 || b == 0 { 0 } else { a.max(b) };
    match how {
        Combine::Max => a.max(b),
        Combine::MaxOrZero => max_or_zero(a, b),
        Combine::Or => a | b,
        Combine::And => a & b,
        Combine::OneUnlessEqual if a == b => a,
        Combine::OneUnlessEqual => 1,
        Combine::TwoFields if a == 0 || b == 0 => 0,
        Combine::TwoFields => {
            a & 0xf0 | max_or_zero(a >> 2 & 3, b >> 2 & 3) << 2 | max_or_zero(a & 3, b & 3)
        }
    }
}

fn push(out: &mut Vec<u8>, format: Format, code: Compat, value: u16) {
    out.extend_from_slice(&[format.0, code.0]);
    out.extend_from_slice(&value.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{Half, Release};

    /// What nvlink of a release made of sections with these records, on sm_90.
    #[rustfmt::skip]
    const ANSWERS: &[(&str, &[&str], &str)] = &[
        ("13.3", &["02=0 03=0 0d=101", "02=0 03=0 07=101"], "09=0 02=0 03=0 0d=101 07=101"),
        ("13.4", &["02=0 03=0 0d=101", "02=0 03=0 07=101"], "09=0 02=0 03=0 0d=101 07=101 0c=2"),
        ("13.4", &["02=0 03=0", "02=0 03=0 07=101 0c=0"], "09=0 02=0 03=0 07=101 0c=2 0d=100"),
        ("13.0", &["02=0 03=0", "08=1", "07=101 08=2"], "09=0 02=0 03=3 05=0 06=1 07=101 08=2"),
        ("13.1", &["02=0 03=0", "08=1", "07=101 08=2"], "09=0 02=0 03=3 07=101 08=2"),
        ("13.4", &["02=0 03=0", "08=1", "07=101 08=2"], "09=0 02=0 03=3 07=101 08=2 0c=2 0d=100"),
        ("13.0", &["03=0 08=1", "05=3 02=0 07=101 06=0"], "09=0 03=3 08=1 02=0 05=0 06=1 07=101"),
        ("13.2", &["03=0 08=1", "05=3 02=0 07=101 06=0"], "09=0 03=3 08=1 02=0 07=101"),
        ("13.4", &["03=0 08=1", "05=3 02=0 07=101 06=0"], "09=0 03=3 08=1 02=0 07=101 0c=2 0d=100"),
        ("13.0", &["02=0 05=15 06=0", "02=0 05=4 06=0"], "09=0 02=0 05=14 06=0 03=3 07=100"),
        ("13.1", &["02=0 05=15 06=0", "02=0 05=4 06=0"], "09=0 02=0 05=14 06=0 03=3 07=100"),
        ("13.0", &["02=0 05=15", "02=0"], "09=0 02=0 05=0 03=3 06=1 07=100"),
        ("13.1", &["02=0 05=15", "02=0"], "09=0 02=0 03=3 07=100"),
        ("13.1", &["02=0 0e=400 0f=1 0b=9", "02=0 0f=2 0e=440 0b=1"], "09=0 02=0 03=3 07=100"),
        ("13.2", &["02=0 0e=400 0f=1 0b=9", "02=0 0f=2 0e=440 0b=1"], "09=0 02=0 0b=1 03=3 07=100"),
        ("13.3", &["02=0 0e=400 0f=1 0b=9", "02=0 0f=2 0e=440 0b=1"], "09=0 02=0 0b=1 03=3 0d=100"),
        ("13.4", &["02=0 0e=400 0f=1 0b=9", "02=0 0f=2 0e=440 0b=1"], "09=0 02=0 0e=440 0f=2 0b=1 03=3 0c=2 0d=100"),
        ("13.4", &["02=0 0e=400 0f=1", "02=0 0b=1 0c=0"], "09=0 02=0 03=3 0c=2 0d=100 0b=1"),
        ("13.0", &["02=0 07=100 08=0"], "09=0 02=0 07=100 08=0 03=3 05=0 06=1"),
        ("13.1", &["02=0 07=100 08=0"], "09=0 02=0 07=100 03=3"),
        ("13.3", &["02=0 07=100 08=0"], "09=0 02=0 03=3 0d=100"),
        ("13.4", &["02=0 07=100 08=0"], "09=0 02=0 03=3 0c=2 0d=100"),
    ];

    /// `02=0 0b=9`.
    fn section(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        for record in text.split(' ') {
            let (code, value) = record.split_once('=').unwrap();
            let code = Compat(u8::from_str_radix(code, 16).unwrap());
            let value = u64::from_str_radix(value, 16).unwrap();
            match code.0 {
                0x0b => push_targets(&mut out, code, value),
                0x07 | 0x08 | 0x0d..=0x0f => push(&mut out, Format::HVAL, code, value as u16),
                _ => push(&mut out, Format::BVAL, code, value as u16),
            }
        }
        out
    }

    #[test]
    fn compat_records_as_nvlink_merges_them() {
        let arch: Arch = "sm_90".parse().unwrap();
        for &(release, inputs, output) in ANSWERS {
            let dialect = Dialect::new(Release::named(release).unwrap(), arch, Half::Machine);
            let inputs: Vec<Vec<u8>> = inputs.iter().map(|text| section(text)).collect();
            let merged = merge_sections(inputs.iter().map(Vec::as_slice).collect(), arch, dialect);
            assert_eq!(merged, section(output), "{release} {output}");
        }
    }
}
