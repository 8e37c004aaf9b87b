//! Columns of text.

use super::wrap::wrapped;
use cubin::words::shown;
use std::io::{self, Write};

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// Rows of cells that are aligned when written.
pub(super) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

/// A last column with less room than this goes to lines of its own.
const ROOM: usize = 36;

/// Where such lines begin.
const INDENT: usize = 6;

impl Table {
    pub(super) fn new(columns: &[(&'static str, Align)]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells.into_iter().map(|cell| shown(&cell).into_owned()).collect());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes the table, indented by two spaces. The last column is not padded, and is wrapped to
    /// the width of a terminal.
    pub(super) fn write(&self, out: &mut impl Write, width: Option<usize>) -> io::Result<()> {
        let of_column = |i: usize| {
            let cells = self.rows.iter().filter_map(|r| r.get(i)).map(|c| c.chars().count());
            cells.max().unwrap_or(0).max(self.columns[i].0.len())
        };
        let last = self.columns.len().saturating_sub(1);
        let widths: Vec<usize> = (0..last).map(of_column).collect();
        let titles: Vec<String> = self.columns.iter().map(|c| c.0.to_owned()).collect();
        for row in std::iter::once(&titles).chain(&self.rows) {
            let mut line = String::from(" ");
            for ((cell, (_, align)), width) in row.iter().zip(&self.columns).zip(&widths) {
                let pad = " ".repeat(width.saturating_sub(cell.chars().count()));
                line.push(' ');
                match align {
                    Align::Left => line.extend([cell.as_str(), &pad]),
                    Align::Right => line.extend([pad.as_str(), cell]),
                }
            }
            line.push(' ');
            let cell = match self.columns.get(last) {
                // The title is as far to the right as the numbers below it.
                Some((_, Align::Right)) => {
                    let cell = row.get(last).map(String::as_str).unwrap_or_default();
                    format!("{cell:>0$}", of_column(last))
                }
                _ => row.get(last).cloned().unwrap_or_default(),
            };
            writeln!(out, "{}", joined(line, &cell, width).trim_end())?;
        }
        Ok(())
    }
}

/// A row whose last cell fits the terminal: beside the others, below them, or wrapped.
fn joined(line: String, cell: &str, width: Option<usize>) -> String {
    let start = line.chars().count();
    let Some(width) = width.filter(|width| start + cell.chars().count() > *width) else {
        return line + cell;
    };
    // Names that a wide column leaves no room for.
    let line = match start > width {
        true => wrapped(&line, width, 0, INDENT),
        false => line,
    };
    match start <= width && width - start >= ROOM {
        true => line + &wrapped(cell, width, start, start),
        false => {
            let below = wrapped(cell, width, INDENT, INDENT);
            format!("{}\n{}{below}", line.trim_end(), " ".repeat(INDENT))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(width: Option<usize>) -> String {
        let mut table =
            Table::new(&[("size", Align::Right), ("type", Align::Left), ("name", Align::Left)]);
        table.row(vec!["1".into(), "function".into(), "short".into()]);
        table.row(vec![
            "200".into(),
            "f".into(),
            "a_name  name(of several, words and more)".into(),
        ]);
        let mut out = Vec::new();
        table.write(&mut out, width).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_last_column_is_wrapped() {
        let plain = "  size type     name\n     1 function short\n   200 f        ";
        let name = "a_name  name(of several, words and more)";
        assert_eq!(written(None), format!("{plain}{name}\n"));
        assert_eq!(written(Some(80)), written(None));
        let beside = "a_name  name(of several, words and\n                more)\n";
        assert_eq!(written(Some(52)), format!("{plain}{beside}"));
        let below = "\n      a_name  name(of several,\n      words and more)\n";
        assert_eq!(written(Some(30)), format!("{}{below}", plain.trim_end()));
        for width in 16..60 {
            let text = written(Some(width));
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}\n{text}");
        }
    }
}
