//! How the time of a link depends on the number of threads.

use crate::measure::{self, Usage};
use std::fmt::Write;
use std::path::Path;

/// The times of one corpus, in the order of the numbers of threads.
pub struct Scaling {
    pub name: &'static str,
    pub walls: Vec<f64>,
}

/// Links with each number of threads in alternation; the best of `repeat` runs counts.
pub fn measure(
    name: &'static str,
    warpld: &Path,
    words: &[String],
    folder: &Path,
    threads: &[usize],
    repeat: usize,
) -> Result<Scaling, String> {
    let mut walls = vec![f64::INFINITY; threads.len()];
    let mut first = None;
    for _ in 0..repeat.max(1) {
        for (count, best) in threads.iter().zip(&mut walls) {
            let more = [format!("--threads={count}"), "-o".into(), "out".into()];
            let Usage { wall, status, .. } =
                measure::run(warpld, words.iter().chain(&more), folder)?;
            let output = std::fs::read(folder.join("out")).map_err(|e| e.to_string())?;
            if status != 0 || *first.get_or_insert_with(|| output.clone()) != output {
                return Err(format!("{name}: another output with {count} threads"));
            }
            *best = best.min(wall);
        }
    }
    Ok(Scaling { name, walls })
}

impl Scaling {
    /// The share of the time on one thread that further threads do not shorten, by Amdahl's law:
    /// the line through the times over 1/threads, by least squares.
    fn serial_share(&self, threads: &[usize]) -> Option<f64> {
        let points = || threads.iter().zip(&self.walls).map(|(&n, &wall)| (1.0 / n as f64, wall));
        let count = points().count() as f64;
        let (x, y) = points().fold((0.0, 0.0), |(x, y), (a, b)| (x + a / count, y + b / count));
        let spread: f64 = points().map(|(a, _)| (a - x) * (a - x)).sum();
        let parallel = points().map(|(a, b)| (a - x) * (b - y)).sum::<f64>() / spread;
        let serial = y - parallel * x;
        (spread > 0.0).then(|| (serial / (serial + parallel)).clamp(0.0, 1.0))
    }
}

/// A table in Markdown.
pub fn table(rows: &[Scaling], threads: &[usize]) -> String {
    let mut out = String::from("| corpus |");
    threads.iter().for_each(|count| {
        let _ = write!(out, " {count} |");
    });
    out += " serial share | speed-up |\n|---|";
    out += &"--:|".repeat(threads.len() + 2);
    out.push('\n');
    for row in rows {
        let _ = write!(out, "| {} |", row.name);
        row.walls.iter().for_each(|wall| {
            let _ = write!(out, " {wall:.4} |");
        });
        let share =
            row.serial_share(threads).map_or("–".into(), |s| format!("{:.0} %", 100.0 * s));
        let best = row.walls.iter().copied().fold(f64::INFINITY, f64::min);
        let gain = row.walls.first().map_or(f64::NAN, |one| one / best);
        let _ = writeln!(out, " {share} | {gain:.1} |");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_serial_share_is_that_of_amdahl() {
        let threads = [1, 2, 4, 8];
        let walls = threads.map(|n| 0.25 + 0.75 / n as f64).to_vec();
        let share = Scaling { name: "x", walls }.serial_share(&threads).unwrap();
        assert!((share - 0.25).abs() < 1e-9, "{share}");
        let same = Scaling { name: "x", walls: vec![1.0] };
        assert_eq!(same.serial_share(&[1]), None);
    }
}
