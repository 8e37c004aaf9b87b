//! The differences and their wording.

use cubin::words::{hex, shown};
use serde_json::{Value, json};
use std::fmt;
use std::io::{self, Write};

/// One of the two files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Side {
    A,
    B,
}

/// Which part of a file a difference is in. Parts whose differences mostly follow from others come
/// last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Area {
    Header,
    Section,
    Symbol,
    Relocation,
    Attribute,
    Compatibility,
    Note,
    CallGraph,
    Prototype,
    RelocationAction,
    Capsule,
    Bytes,
    String,
    Layout,
    Segment,
}

impl Area {
    /// The area in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Header => "file header",
            Self::Segment => "program header",
            Self::Layout => "file layout",
            Self::Section => "section",
            Self::Symbol => "symbol",
            Self::String => "string",
            Self::Relocation => "relocation",
            Self::Attribute => "attribute",
            Self::Compatibility => "compatibility attribute",
            Self::Note => "note",
            Self::CallGraph => "call graph",
            Self::Prototype => "prototype",
            Self::RelocationAction => "relocation action",
            Self::Capsule => "Mercury capsule",
            Self::Bytes => "bytes",
        }
    }
}

/// How something differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Only one file has it.
    OnlyIn {
        /// That file.
        side: Side,
        /// Its description there, as far as its place does not give it.
        what: String,
    },
    /// One of its properties has two values.
    Field {
        /// The property.
        field: &'static str,
        /// Its value in A.
        a: String,
        /// Its value in B.
        b: String,
    },
    /// It has another position in its list.
    Moved {
        /// Index in A.
        a: usize,
        /// Index in B.
        b: usize,
    },
    /// Its contents differ.
    Bytes {
        /// Offset in the section.
        offset: u64,
        /// How many bytes.
        size: u64,
        /// The first of them in A.
        a: Vec<u8>,
        /// The first of them in B.
        b: Vec<u8>,
        /// Where they come from and which relocations apply to them.
        notes: Vec<String>,
    },
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Part of the file.
    pub area: Area,
    /// What differs, inside that part.
    pub place: String,
    /// How.
    pub change: Change,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.area.words())?;
        if !self.place.is_empty() {
            write!(f, " {}", self.place)?;
        }
        match &self.change {
            Change::OnlyIn { side, what } if what.is_empty() => write!(f, ": only in {side:?}"),
            Change::OnlyIn { side, what } => write!(f, ": only in {side:?}: {what}"),
            Change::Field { field, a, b } => write!(f, ": {field} is {a} in A, {b} in B"),
            Change::Moved { a, b } if a == b => {
                write!(f, ": number {a} in both, others around it in another order")
            }
            Change::Moved { a, b } => write!(f, ": number {a} in A, number {b} in B"),
            Change::Bytes { offset, size, a, b, notes } => {
                let more = |shown: &[u8]| if shown.len() as u64 == *size { "" } else { " …" };
                write!(f, ": {size} at {offset:#x}: {}{} in A", hex(a), more(a))?;
                write!(f, ", {}{} in B", hex(b), more(b))?;
                match notes.is_empty() {
                    true => Ok(()),
                    false => write!(f, " ({})", notes.join("; ")),
                }
            }
        }
    }
}

impl Difference {
    fn json(&self) -> Value {
        let mut out = json!({ "area": self.area.words(), "place": self.place });
        match &self.change {
            Change::OnlyIn { side, what } => {
                out["only_in"] = json!(format!("{side:?}"));
                out["what"] = json!(what);
            }
            Change::Field { field, a, b } => {
                out["field"] = json!(field);
                out["a"] = json!(a);
                out["b"] = json!(b);
            }
            Change::Moved { a, b } => {
                out["index_a"] = json!(a);
                out["index_b"] = json!(b);
            }
            Change::Bytes { offset, size, a, b, notes } => {
                out["offset"] = json!(offset);
                out["size"] = json!(size);
                out["a"] = json!(hex(a));
                out["b"] = json!(hex(b));
                out["notes"] = json!(notes);
            }
        }
        out
    }
}

/// All differences between two files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Sizes of the files.
    pub sizes: [usize; 2],
    /// The differences, by part of the file.
    pub differences: Vec<Difference>,
}

impl Report {
    /// Whether there are none.
    pub fn is_same(&self) -> bool {
        self.differences.is_empty()
    }

    /// At most `limit` differences as lines, then how many more there are.
    pub fn lines(&self, limit: usize) -> impl Iterator<Item = String> + '_ {
        let rest = self.differences.len().saturating_sub(limit);
        let more = (rest > 0).then(|| format!("… and {rest} more"));
        let line = |difference: &Difference| shown(&difference.to_string()).into_owned();
        self.differences.iter().take(limit).map(line).chain(more)
    }

    /// Writes the differences as text; nothing if there are none.
    pub fn write_text(
        &self,
        out: &mut impl Write,
        names: [&str; 2],
        limit: usize,
    ) -> io::Result<()> {
        if self.is_same() {
            return Ok(());
        }
        for ((name, size), side) in names.iter().zip(self.sizes).zip([Side::A, Side::B]) {
            writeln!(out, "{side:?} is {}, {size} bytes", shown(name))?;
        }
        for line in self.lines(limit) {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }

    /// The report for other programs.
    pub fn to_json(&self, names: [&str; 2], limit: usize) -> Value {
        let file = |i: usize| json!({ "name": names[i], "size": self.sizes[i] });
        json!({
            "format": 1,
            "same": self.is_same(),
            "a": file(0),
            "b": file(1),
            "count": self.differences.len(),
            "differences": self.differences.iter().take(limit).map(Difference::json)
                .collect::<Vec<_>>(),
        })
    }
}
