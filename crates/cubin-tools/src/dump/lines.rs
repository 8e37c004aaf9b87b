//! Line tables: which source line, or line of PTX, code comes from.

use super::names;
use super::options::{Filter, Options};
use super::table::{Align, Table};
use cubin::names::{DEBUG_LINE, NV_DEBUG_LINE_SASS};
use cubin::{Cubin, SectionRef};
use libwarpld::driver::LineTable;
use serde_json::{Value, json};
use std::io::{self, Write};

/// The rows of one text section.
pub(super) struct Lines<'a> {
    pub(super) text: SectionRef<'a>,
    /// Offset, file and line.
    pub(super) rows: Vec<(u64, String, u64)>,
}

/// Tables of source lines (false) or of lines of PTX (true).
pub(super) fn tables<'a>(cubin: &Cubin<'a>, filter: &Filter, ptx: bool) -> Vec<Lines<'a>> {
    let name = if ptx { NV_DEBUG_LINE_SASS } else { DEBUG_LINE };
    let table = LineTable::read(cubin, name);
    let sections = cubin.sections().iter().filter(|section| filter.has_section(cubin, section));
    let lines = sections.filter_map(|text| {
        // The last row of a sequence is where it ends, mostly beyond the code.
        let rows = table.rows(text.index.0).filter(|(offset, ..)| *offset < text.size);
        let rows = rows.map(|(offset, file, line)| (offset, file.to_owned(), line));
        Some(Lines { text, rows: rows.collect() }).filter(|lines| !lines.rows.is_empty())
    });
    lines.collect()
}

/// The tables as JSON.
pub(super) fn json(cubin: &Cubin<'_>, filter: &Filter) -> Value {
    let kinds = [("source", false), ("ptx", true)];
    let all = kinds.into_iter().flat_map(|(kind, ptx)| {
        tables(cubin, filter, ptx).into_iter().map(move |lines| {
            let row = |(offset, file, line): &(u64, String, u64)| {
                json!({ "offset": offset, "file": file, "line": line })
            };
            json!({
                "of": kind,
                "section": lines.text.index.0,
                "name": names::lossy(lines.text.name),
                "rows": lines.rows.iter().map(row).collect::<Value>(),
            })
        })
    });
    all.collect()
}

/// Writes the rows of one section.
pub(super) fn write(out: &mut impl Write, lines: &Lines<'_>, options: &Options) -> io::Result<()> {
    let mut table = Table::new(&[("offset", Align::Right), ("line", Align::Left)]);
    for (offset, file, line) in &lines.rows {
        table.row(vec![format!("{offset:x}"), format!("{file}:{line}")]);
    }
    table.write(out, options.width)
}
