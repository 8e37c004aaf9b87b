//! A line table that sets hundreds of things before thousands of rows, each of which has
//! all of them.

use crate::{NOW, PEAK};
use std::sync::atomic::Ordering::Relaxed;

/// Bytes that may be allocated for one of the table.
const MOST: usize = 300;

const ROWS: usize = 60_000;

/// The extended instructions that set something that Mercury's tables do not know.
fn settings() -> impl Iterator<Item = u8> {
    (3..=u8::MAX).filter(|kind| ![0x90, 0x92].contains(kind))
}

/// A table of one sequence, and where its function's address is.
fn table() -> (Vec<u8>, u64) {
    let header = [1, 1, 0xfb, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1];
    let mut unit = vec![2, 0];
    unit.extend((header.len() as u32).to_le_bytes());
    unit.extend(header);
    unit.extend([0, 9, 2]);
    let address = 4 + unit.len() as u64;
    unit.extend([0; 8]);
    settings().for_each(|kind| unit.extend([0, 1, kind]));
    // One byte and one line on.
    unit.resize(unit.len() + ROWS, 10 + 14 + 6);
    unit.extend([0, 1, 1]);
    let mut out = (unit.len() as u32).to_le_bytes().to_vec();
    out.extend(unit);
    (out, address)
}

pub fn take_memory_in_proportion() {
    let (table, address) = table();
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    let written =
        libwarpld::internals::translate_sequence(&table, address, Some, Some(ROWS as u64));
    let peak = PEAK.load(Relaxed) - before;
    assert!(peak < MOST * table.len(), "{peak} bytes for a table of {}", table.len());
    // Nothing is lost: first all that is set, then the rows (the first one is written
    // in full), then the end.
    let written = written.expect("a sequence");
    let set: Vec<u8> = settings().flat_map(|kind| [0, 1, kind]).collect();
    assert!(written.starts_with(&set), "settings are missing");
    assert!(written.len() >= set.len() + ROWS, "{} bytes", written.len());
}
