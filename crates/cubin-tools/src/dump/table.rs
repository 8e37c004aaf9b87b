//! Columns of text.

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

    /// Writes the table, indented by two spaces. The last column is not padded.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let width = |i: usize| {
            let cells = self.rows.iter().filter_map(|r| r.get(i)).map(|c| c.chars().count());
            cells.max().unwrap_or(0).max(self.columns[i].0.len())
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
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
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
