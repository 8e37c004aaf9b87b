//! What differs between two device ELF files, section by section.

use cubin::{Cubin, SectionRef};
use std::fmt::Write;

const MAX_LINES: usize = 14;

/// Whether two files are equal if the linker's own note, the first one of
/// `.note.nv.tkinfo`, is left out of account (and the places that move with
/// its size).
pub fn equal_but_for_note(a: &[u8], b: &[u8]) -> bool {
    let (Ok(a), Ok(b)) = (Cubin::parse(a), Cubin::parse(b)) else { return false };
    let (ha, hb) = (a.header(), b.header());
    let header = |h: &cubin::Header| (h.ident, h.file_type, h.flags, h.phnum, h.shnum, h.shstrndx);
    if header(ha) != header(hb) || a.sections().len() != b.sections().len() {
        return false;
    }
    a.sections().iter().zip(b.sections()).all(|(x, y)| {
        let note = x.name == b".note.nv.tkinfo";
        let data =
            |s: &SectionRef<'_>| if note { without_first_note(s.data) } else { s.data.to_vec() };
        let fields = |s: &SectionRef<'_>| {
            (s.name.to_vec(), s.kind, s.flags, s.link, s.info, s.align, s.entsize)
        };
        fields(x) == fields(y) && (note || x.size == y.size) && data(x) == data(y)
    })
}

fn without_first_note(data: &[u8]) -> Vec<u8> {
    let word = |at: usize| {
        data.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize)
    };
    let end = 12 + word(0).next_multiple_of(4) + word(4).next_multiple_of(4);
    data.get(end..).unwrap_or_default().to_vec()
}

/// Lines that tell the first differences.
pub fn explain(a: &[u8], b: &[u8]) -> Vec<String> {
    let mut lines = vec![format!("sizes: nvlink {}, warpld {}", a.len(), b.len())];
    match (Cubin::parse(a), Cubin::parse(b)) {
        (Ok(a), Ok(b)) => explain_cubins(&a, &b, &mut lines),
        (Err(e), _) => lines.push(format!("nvlink's output: {e}")),
        (_, Err(e)) => lines.push(format!("warpld's output: {e}")),
    }
    if lines.len() == 1 {
        lines.push(ranges("file", a, b));
    }
    lines.truncate(MAX_LINES);
    lines
}

fn explain_cubins(a: &Cubin<'_>, b: &Cubin<'_>, lines: &mut Vec<String>) {
    let (ha, hb) = (a.header(), b.header());
    if ha.flags != hb.flags {
        lines.push(format!("e_flags: {:#x} / {:#x}", ha.flags, hb.flags));
    }
    if ha.phnum != hb.phnum {
        lines.push(format!("program headers: {} / {}", ha.phnum, hb.phnum));
    }
    let names = |c: &Cubin<'_>| -> Vec<String> {
        c.sections().iter().map(|s| String::from_utf8_lossy(s.name).into_owned()).collect()
    };
    let (na, nb) = (names(a), names(b));
    if na != nb {
        let only = |x: &[String], y: &[String]| -> Vec<String> {
            x.iter().filter(|name| !y.contains(name)).take(6).cloned().collect()
        };
        let at = na.iter().zip(&nb).position(|(x, y)| x != y).unwrap_or(na.len().min(nb.len()));
        lines.push(format!(
            "section lists differ from [{at}]: {} / {}; only nvlink {:?}, only warpld {:?}",
            na.get(at).map_or("-", |s| s),
            nb.get(at).map_or("-", |s| s),
            only(&na, &nb),
            only(&nb, &na)
        ));
    }
    for x in a.sections() {
        // Pair by name and occurrence, so that one extra section does not hide the rest.
        let nth = a
            .sections()
            .iter()
            .take_while(|s| s.index != x.index)
            .filter(|s| s.name == x.name)
            .count();
        if let Some(y) = b.sections().iter().filter(|s| s.name == x.name).nth(nth) {
            section(a, b, x, y, lines);
        }
    }
}

fn section(
    a: &Cubin<'_>,
    b: &Cubin<'_>,
    x: &SectionRef<'_>,
    y: &SectionRef<'_>,
    lines: &mut Vec<String>,
) {
    let name = String::from_utf8_lossy(x.name);
    let mut fields = String::new();
    let mut field = |what: &str, x: u64, y: u64| {
        if x != y {
            let _ = write!(fields, " {what} {x:#x}/{y:#x}");
        }
    };
    field("type", x.kind.0.into(), y.kind.0.into());
    field("flags", x.flags, y.flags);
    field("size", x.size, y.size);
    field("link", x.link.into(), y.link.into());
    field("info", x.info.into(), y.info.into());
    field("align", x.align, y.align);
    field("entsize", x.entsize, y.entsize);
    if !fields.is_empty() {
        lines.push(format!("{name}:{fields}"));
    }
    if x.data == y.data {
        return;
    }
    lines.push(match x.name {
        b".symtab" => symbols(a, b),
        b".strtab" | b".shstrtab" => strings(&name, x.data, y.data),
        _ if x.name.starts_with(b".rel") => records(&name, x.data, y.data, x.entsize),
        _ if x.name.starts_with(b".nv.info") => records(&name, x.data, y.data, 4),
        _ => ranges(&name, x.data, y.data),
    });
}

fn symbols(a: &Cubin<'_>, b: &Cubin<'_>) -> String {
    let list = |c: &Cubin<'_>| -> Vec<String> {
        c.symbols()
            .map(|s| {
                format!(
                    "{} info {:#x} other {:#x} shndx {:#x} value {:#x} size {:#x}",
                    String::from_utf8_lossy(s.name),
                    s.info,
                    s.other,
                    s.shndx,
                    s.value,
                    s.size
                )
            })
            .collect()
    };
    first_difference(".symtab", &list(a), &list(b))
}

fn strings(name: &str, a: &[u8], b: &[u8]) -> String {
    let list = |d: &[u8]| -> Vec<String> {
        d.split(|&c| c == 0).map(|s| String::from_utf8_lossy(s).into_owned()).collect()
    };
    first_difference(name, &list(a), &list(b))
}

fn records(name: &str, a: &[u8], b: &[u8], size: u64) -> String {
    let size = usize::try_from(size).unwrap_or(1).max(1);
    let list = |d: &[u8]| -> Vec<String> { d.chunks(size).map(hex).collect() };
    first_difference(name, &list(a), &list(b))
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .chunks(4)
        .map(|word| word.iter().rev().fold(String::new(), |s, b| s + &format!("{b:02x}")))
        .collect::<Vec<_>>()
        .join(" ")
}

fn first_difference(name: &str, a: &[String], b: &[String]) -> String {
    let at = a.iter().zip(b).position(|(x, y)| x != y).unwrap_or(a.len().min(b.len()));
    let differing = a.iter().zip(b).filter(|(x, y)| x != y).count();
    format!(
        "{name}: {} / {} entries, {differing} differ, first [{at}]: {} / {}",
        a.len(),
        b.len(),
        a.get(at).map_or("-", |s| s),
        b.get(at).map_or("-", |s| s)
    )
}

/// The first differing byte ranges.
fn ranges(name: &str, a: &[u8], b: &[u8]) -> String {
    let mut text = format!("{name}: bytes");
    let common = a.len().min(b.len());
    let mut at = 0;
    for _ in 0..3 {
        let Some(start) = (at..common).find(|&i| a[i] != b[i]) else { break };
        let end = (start..common).find(|&i| a[i] == b[i]).unwrap_or(common);
        let shown = end.min(start + 16);
        let _ = write!(
            text,
            " {start:#x}..{end:#x} ({} / {})",
            hex(&a[start..shown]),
            hex(&b[start..shown])
        );
        at = end;
    }
    if a.len() != b.len() {
        let _ = write!(text, " lengths {:#x}/{:#x}", a.len(), b.len());
    }
    text
}
