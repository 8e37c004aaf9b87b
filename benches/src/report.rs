//! The results as a table and as JSON.

use crate::measure::Usage;
use serde_json::{Value, json};
use std::fmt::Write;

/// What was measured on one corpus.
pub struct Row {
    pub name: &'static str,
    pub files: usize,
    pub input_bytes: u64,
    pub output_bytes: u64,
    /// Whether the outputs are equal; none if nvlink was not run.
    pub identical: Option<bool>,
    pub nvlink: Option<Usage>,
    pub warpld: Usage,
    pub cat: Usage,
}

impl Row {
    fn ratio(&self, part: impl Fn(&Usage) -> f64) -> Option<f64> {
        self.nvlink.as_ref().map(|nvlink| part(nvlink) / part(&self.warpld))
    }
    /// Peak memory relative to the bytes read and written.
    fn memory_ratio(&self) -> f64 {
        self.warpld.memory as f64 / (self.input_bytes + self.output_bytes).max(1) as f64
    }
    /// Whether the output is nvlink's, as far as it was compared.
    pub fn is_right(&self) -> bool {
        self.identical != Some(false) && self.warpld.status == 0
    }
    fn verdict(&self) -> &'static str {
        match (self.identical, self.warpld.status) {
            (None, 0) => "not compared",
            (Some(true), 0) => "identical",
            (_, 0) => "DIFFERENT",
            _ => "FAILED",
        }
    }
}

/// A table in Markdown.
pub fn table(rows: &[Row]) -> String {
    let mut out = String::from(
        "| corpus | files | in MB | out MB | nvlink s | warpld s | wall × | CPU × | nvlink MB | \
         warpld MB | memory / (in + out) | time / cat | output |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n",
    );
    let mb = |bytes: u64| bytes as f64 / 1e6;
    let known = |value: Option<f64>, digits: usize| {
        value.map_or("–".into(), |value| format!("{value:.digits$}"))
    };
    for row in rows {
        let _ = writeln!(
            out,
            "| {} | {} | {:.1} | {:.1} | {} | {:.4} | {} | {} | {} | {:.0} | {:.2} | {:.1} | {} |",
            row.name,
            row.files,
            mb(row.input_bytes),
            mb(row.output_bytes),
            known(row.nvlink.map(|u| u.wall), 3),
            row.warpld.wall,
            known(row.ratio(|u| u.wall), 1),
            known(row.ratio(|u| u.cpu), 1),
            known(row.nvlink.map(|u| mb(u.memory)), 0),
            mb(row.warpld.memory),
            row.memory_ratio(),
            row.warpld.wall / row.cat.wall,
            row.verdict(),
        );
    }
    out
}

/// The same, for programs.
pub fn json(rows: &[Row]) -> String {
    let usage = |u: &Usage| json!({"wall_s": u.wall, "cpu_s": u.cpu, "peak_bytes": u.memory, "status": u.status});
    let list: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!({
                "corpus": row.name,
                "files": row.files,
                "input_bytes": row.input_bytes,
                "output_bytes": row.output_bytes,
                "identical": row.identical,
                "nvlink": row.nvlink.as_ref().map(usage),
                "warpld": usage(&row.warpld),
                "cat": usage(&row.cat),
                "wall_ratio": row.ratio(|u| u.wall),
                "cpu_ratio": row.ratio(|u| u.cpu),
                "memory_ratio": row.memory_ratio(),
                "cat_ratio": row.warpld.wall / row.cat.wall,
            })
        })
        .collect();
    serde_json::to_string_pretty(&list).unwrap_or_default() + "\n"
}
