//! What grew and what shrank between two links: kernels, functions and sections.

use crate::dump::{Function, functions};
use cubin::Cubin;
use cubin::words::{lossy, shown};
use libwarpld::driver::readable;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Version of the JSON form.
const FORMAT: u32 = 1;

/// A thing that has a size in either file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its symbol, or the section's name.
    pub name: String,
    /// Bytes in the old file; `None` if it is not there.
    pub old: Option<u64>,
    /// Bytes in the new file.
    pub new: Option<u64>,
    /// Registers in both files, of functions.
    pub registers: [Option<u32>; 2],
}

impl Change {
    /// How much it grew.
    pub fn growth(&self) -> i128 {
        i128::from(self.new.unwrap_or(0)) - i128::from(self.old.unwrap_or(0))
    }
}

/// All that changed; what stayed the same is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Sizes of the files.
    pub sizes: [u64; 2],
    /// Code of kernels.
    pub kernels: Vec<Change>,
    /// Code of other functions.
    pub functions: Vec<Change>,
    /// Sections by name.
    pub sections: Vec<Change>,
}

/// Compares two files.
pub fn growth(old: &Cubin<'_>, new: &Cubin<'_>) -> Growth {
    let code = |kernel: bool| {
        let of = |cubin| functions(cubin).into_iter().filter(|f| f.kernel == kernel).collect();
        let both: [Vec<Function<'_>>; 2] = [of(old), of(new)];
        changes(both.each_ref().map(|list| {
            let row = |f: &Function<'_>| (lossy(f.name).into_owned(), f.code, f.registers);
            list.iter().map(row).collect()
        }))
    };
    let sections = |cubin: &Cubin<'_>| {
        let sections = cubin.sections();
        sections.iter().skip(1).map(|s| (lossy(s.name).into_owned(), s.size, None)).collect()
    };
    Growth {
        sizes: [old, new].map(|cubin| cubin.bytes().len() as u64),
        kernels: code(true),
        functions: code(false),
        sections: changes([sections(old), sections(new)]),
    }
}

/// A name, its bytes, its registers.
type Row = (String, u64, Option<u32>);

/// What changed, largest growth first.
fn changes(both: [Vec<Row>; 2]) -> Vec<Change> {
    let mut all: BTreeMap<String, Change> = BTreeMap::new();
    for (side, rows) in both.into_iter().enumerate() {
        for (name, size, registers) in rows {
            let empty = Change { name: name.clone(), old: None, new: None, registers: [None; 2] };
            let change = all.entry(name).or_insert(empty);
            // Sections may have the same name.
            let slot = if side == 0 { &mut change.old } else { &mut change.new };
            *slot = Some(slot.unwrap_or(0).saturating_add(size));
            change.registers[side] = registers.or(change.registers[side]);
        }
    }
    let differs = |c: &Change| c.old != c.new || c.registers[0] != c.registers[1];
    let mut list: Vec<Change> = all.into_values().filter(differs).collect();
    list.sort_by_key(|change| std::cmp::Reverse(change.growth()));
    list
}

impl Growth {
    fn groups(&self) -> [(&'static str, &[Change]); 3] {
        [("kernels", &self.kernels), ("functions", &self.functions), ("sections", &self.sections)]
    }

    /// Whether nothing changed in size.
    pub fn is_empty(&self) -> bool {
        self.sizes[0] == self.sizes[1] && self.groups().iter().all(|(_, list)| list.is_empty())
    }

    /// For other programs.
    pub fn to_json(&self, names: [&str; 2]) -> Value {
        let change = |c: &Change| {
            json!({
                "name": c.name, "old": c.old, "new": c.new, "growth": c.growth() as i64,
                "registers": { "old": c.registers[0], "new": c.registers[1] },
            })
        };
        let mut out = json!({
            "format": FORMAT,
            "old": { "file": names[0], "size": self.sizes[0] },
            "new": { "file": names[1], "size": self.sizes[1] },
        });
        for (title, list) in self.groups() {
            out[title] = list.iter().map(change).collect();
        }
        out
    }

    /// As text, or as tables of Markdown.
    pub fn to_text(&self, names: [&str; 2], markdown: bool) -> String {
        let [old, new] = self.sizes;
        let total = signed(i128::from(new) - i128::from(old));
        let mut out =
            format!("{} to {}: {old} to {new} bytes ({total})\n", shown(names[0]), shown(names[1]));
        for (title, list) in self.groups().into_iter().filter(|(_, list)| !list.is_empty()) {
            // Sections have no registers, and so no column for them.
            let columns = if list.iter().all(|c| c.registers == [None; 2]) { 3 } else { 4 };
            let line = |name: &str, cells: [String; 4]| line(name, &cells, columns, markdown);
            out.push('\n');
            out += &line(title, ["old", "new", "growth", "registers"].map(str::to_owned));
            if markdown {
                out += &format!("|---|{}\n", "--:|".repeat(columns));
            }
            for change in list {
                let size = |size: Option<u64>| size.map_or("-".into(), |size| size.to_string());
                let growth = signed(change.growth());
                let cells =
                    [size(change.old), size(change.new), growth, registers(change.registers)];
                let name = readable(&change.name);
                let name = match markdown {
                    true => format!("`{}`", shown(&name).replace('|', "\\|").replace('`', "'")),
                    false => shown(&name).into_owned(),
                };
                out += &line(&name, cells);
            }
        }
        out
    }
}

/// A line of a table with three or four columns. As text, growth comes first and the name, which may be
/// long, last.
fn line(name: &str, cells: &[String; 4], columns: usize, markdown: bool) -> String {
    let [old, new, growth, registers] = cells;
    match (markdown, columns) {
        (true, 3) => format!("| {name} | {old} | {new} | {growth} |\n"),
        (true, _) => format!("| {name} | {old} | {new} | {growth} | {registers} |\n"),
        (false, 3) => format!("{growth:>12} {old:>12} {new:>12}  {name}\n"),
        (false, _) => format!("{growth:>12} {old:>12} {new:>12} {registers:>9}  {name}\n"),
    }
}

fn signed(number: i128) -> String {
    format!("{number:+}")
}

fn registers(both: [Option<u32>; 2]) -> String {
    match both {
        [None, None] => String::new(),
        [Some(old), Some(new)] if old == new => old.to_string(),
        [old, new] => {
            let one = |n: Option<u32>| n.map_or("-".into(), |n| n.to_string());
            format!("{}→{}", one(old), one(new))
        }
    }
}
