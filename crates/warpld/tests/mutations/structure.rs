//! Damage that leaves a file readable: one field of one record at a time.

use support::Random;

const SHDR: usize = 64;

/// A section of the file, as far as its header is sane.
struct Section {
    header: usize,
    kind: u32,
    offset: usize,
    size: usize,
}

/// Damages one to four fields of headers, symbols, relocations, attributes,
/// the call graph, notes or capsules.
pub fn mutate(original: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = original.to_vec();
    let sections = sections(&bytes);
    if sections.is_empty() {
        return bytes;
    }
    for _ in 0..=random.below(4) {
        let section = &sections[random.below(sections.len())];
        match random.below(5) {
            0 => header_field(&mut bytes, section, &sections, random),
            1 => {
                let symbols = sections.iter().find(|s| s.kind == 2).unwrap_or(section);
                symbol_field(&mut bytes, symbols, &sections, random);
            }
            2 => file_header(&mut bytes, random),
            _ => record_field(&mut bytes, section, &sections, random),
        }
    }
    bytes
}

fn word(bytes: &[u8], at: usize, width: usize) -> u64 {
    let mut out = [0; 8];
    if let Some(field) = bytes.get(at..at.saturating_add(width)) {
        out[..width].copy_from_slice(field);
    }
    u64::from_le_bytes(out)
}

fn put(bytes: &mut [u8], at: usize, width: usize, value: u64) {
    if let Some(field) = bytes.get_mut(at..at.saturating_add(width)) {
        field.copy_from_slice(&value.to_le_bytes()[..width]);
    }
}

fn sections(bytes: &[u8]) -> Vec<Section> {
    let (table, count) = (word(bytes, 40, 8) as usize, word(bytes, 60, 2) as usize);
    let all = (1..count).map(|i| {
        let header = table.saturating_add(i * SHDR);
        Section {
            header,
            kind: word(bytes, header.saturating_add(4), 4) as u32,
            offset: word(bytes, header.saturating_add(24), 8) as usize,
            size: word(bytes, header.saturating_add(32), 8) as usize,
        }
    });
    all.filter(|s| s.header.saturating_add(SHDR) <= bytes.len()).collect()
}

/// A value near the edges, near the old one, or a plausible small number.
fn value(old: u64, width: usize, sections: &[Section], random: &mut Random) -> u64 {
    let bits = 8 * width as u32;
    match random.below(12) {
        0 => 0,
        1 => u64::MAX,
        2 => 1 << random.below(bits as usize),
        3 => (1_u64 << random.below(bits as usize)).wrapping_sub(1),
        4 => old.wrapping_add(1),
        5 => old.wrapping_sub(1),
        6 => old.wrapping_add(4),
        7 => old ^ 1 << random.below(bits as usize),
        8 => random.below(sections.len() + 2) as u64,
        9 => random.below(256) as u64,
        10 => random.number() >> random.below(64),
        _ => old.wrapping_mul(2),
    }
}

fn change(bytes: &mut [u8], at: usize, width: usize, sections: &[Section], random: &mut Random) {
    let old = word(bytes, at, width);
    put(bytes, at, width, value(old, width, sections, random));
}

fn header_field(bytes: &mut [u8], section: &Section, all: &[Section], random: &mut Random) {
    const FIELDS: [(usize, usize); 10] =
        [(0, 4), (4, 4), (8, 8), (16, 8), (24, 8), (32, 8), (40, 4), (44, 4), (48, 8), (56, 8)];
    let (field, width) = FIELDS[random.below(FIELDS.len())];
    match (field, random.below(3)) {
        // Another section's type, name or flags: valid, but not here.
        (0 | 4 | 8, 0 | 1) => {
            let other = &all[random.below(all.len())];
            let value = word(bytes, other.header + field, width);
            put(bytes, section.header + field, width, value);
        }
        _ => change(bytes, section.header + field, width, all, random),
    }
}

fn symbol_field(bytes: &mut [u8], symbols: &Section, all: &[Section], random: &mut Random) {
    const FIELDS: [(usize, usize); 6] = [(0, 4), (4, 1), (5, 1), (6, 2), (8, 8), (16, 8)];
    let at = symbols.offset.saturating_add(random.below(symbols.size / 24) * 24);
    let (field, width) = FIELDS[random.below(FIELDS.len())];
    if random.below(3) == 0 {
        let other = symbols.offset.saturating_add(random.below(symbols.size / 24) * 24);
        let value = word(bytes, other.saturating_add(field), width);
        put(bytes, at.saturating_add(field), width, value);
    } else {
        change(bytes, at.saturating_add(field), width, all, random);
    }
}

fn file_header(bytes: &mut [u8], random: &mut Random) {
    const FIELDS: [(usize, usize); 8] =
        [(7, 1), (8, 1), (16, 2), (20, 4), (48, 1), (49, 1), (50, 1), (51, 1)];
    let (field, width) = FIELDS[random.below(FIELDS.len())];
    change(bytes, field, width, &[], random);
}

/// A field of a table's record, or of the attributes' and notes' stream.
fn record_field(bytes: &mut [u8], section: &Section, all: &[Section], random: &mut Random) {
    const REL: u32 = 9;
    const RELA: u32 = 4;
    let (record, fields): (usize, &[(usize, usize)]) = match section.kind {
        REL => (16, &[(0, 8), (8, 4), (12, 4)]),
        RELA => (24, &[(0, 8), (8, 4), (12, 4), (16, 8)]),
        0x7000_0000..=0x7fff_ffff => (4, &[(0, 1), (1, 1), (2, 2), (3, 1), (0, 4)]),
        // Code, data and debug tables, which are streams of bytes.
        1 if random.below(2) == 0 => (1, &[(0, 1), (0, 4)]),
        _ => (4, &[(0, 4), (0, 1)]),
    };
    let at = section.offset.saturating_add(random.below(section.size / record) * record);
    let (field, width) = fields[random.below(fields.len())];
    change(bytes, at.saturating_add(field), width, all, random);
}
