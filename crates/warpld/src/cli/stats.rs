//! `--stats`: where a link spends its time and memory.

use crate::files::Files;
use libwarpld::driver::{Lap, Selected, Statistics, Stopwatch, joined, json_string, shown};
use libwarpld::report::FORMAT;
use std::fmt::Write;
use std::time::Duration;
use warpld_compilers::compile::{Phase, Timed};

/// What is measured while a link goes on.
#[derive(Debug, Default)]
pub(super) struct Stats {
    /// The phases outside of the linker.
    pub(super) clock: Stopwatch,
    /// Compiled inputs.
    pub(super) compiled: Vec<Timed>,
    /// The linker's own figures.
    pub(super) linker: Option<Statistics>,
    /// Bytes of the output.
    pub(super) written: Option<u64>,
    files: usize,
    read: usize,
    images: usize,
    image_bytes: usize,
    unpacked: usize,
}

impl Stats {
    pub(super) fn start(on: bool) -> Self {
        Self { clock: Stopwatch::start(on), ..Self::default() }
    }

    /// Counts files and images. What is not in a file was unpacked, or compiled.
    pub(super) fn count(&mut self, files: &Files, selected: &Selected<'_>) {
        let all = files.opened().flat_map(|file| std::iter::once(file).chain(&file.members));
        let data = all.filter_map(|file| file.data.as_deref().ok());
        let mut places: Vec<_> = data.map(|data| data.as_ptr_range()).collect();
        self.files = places.len();
        self.read = places.iter().map(|place| place.end as usize - place.start as usize).sum();
        places.sort_by_key(|place| place.start);
        for image in &selected.inputs.images {
            let start = image.image.as_ptr();
            let before = places.partition_point(|place| place.start <= start);
            let file = before.checked_sub(1).and_then(|at| places.get(at));
            self.images += 1;
            self.image_bytes += image.image.len();
            if file.is_none_or(|file| start >= file.end) {
                self.unpacked += image.image.len();
            }
        }
    }

    /// The report.
    pub(super) fn report(self, json: bool) -> String {
        let figures = Figures::of(self);
        if json { figures.json() } else { figures.text() }
    }
}

/// A number with what it counts.
#[derive(Clone, Copy)]
enum Amount {
    Count(usize),
    Bytes(u64),
}

struct Figures {
    phases: Vec<Lap>,
    compiled: Vec<Timed>,
    /// Key in JSON, words in text.
    amounts: Vec<(&'static str, &'static str, Option<Amount>)>,
    cpu: Option<Duration>,
}

impl Figures {
    fn of(stats: Stats) -> Self {
        let linker = stats.linker.unwrap_or_default();
        let mut phases = Vec::new();
        for lap in stats.clock.laps() {
            // The linker's phases are in the place of the whole link.
            match lap.name == "link" && !linker.phases.is_empty() {
                true => phases.extend(&linker.phases),
                false => phases.push(lap),
            }
        }
        let count = |n: usize| Some(Amount::Count(n));
        let bytes = |n: usize| Some(Amount::Bytes(n as u64));
        let amounts = vec![
            ("files", "files read", count(stats.files)),
            ("bytes_read", "bytes read", bytes(stats.read)),
            ("images", "images linked", count(stats.images)),
            ("image_bytes", "bytes of images", bytes(stats.image_bytes)),
            ("bytes_unpacked", "of these unpacked", bytes(stats.unpacked)),
            ("input_sections", "sections in images", count(linker.input_sections)),
            ("input_symbols", "symbols in images", count(linker.input_symbols)),
            ("functions", "functions", count(linker.functions)),
            ("live_functions", "functions kept", count(linker.live_functions)),
            ("output_sections", "sections written", count(linker.output_sections)),
            ("output_symbols", "symbols written", count(linker.output_symbols)),
            ("bytes_written", "bytes written", stats.written.map(Amount::Bytes)),
            ("threads", "threads", count(rayon::current_num_threads())),
            ("peak_memory", "peak memory", peak_memory().map(Amount::Bytes)),
        ];
        Self { phases, compiled: stats.compiled, amounts, cpu: cpu_time() }
    }

    fn total(&self) -> Duration {
        self.phases.iter().map(|lap| lap.time).sum()
    }

    fn text(&self) -> String {
        let total = self.total();
        let share = |time: Duration| 100.0 * time.as_secs_f64() / total.as_secs_f64().max(1e-9);
        let mut out = String::from("Time\n");
        for lap in &self.phases {
            let _ = writeln!(out, "  {:<20}{} {:>4.0} %", lap.name, ms(lap.time), share(lap.time));
        }
        let _ = writeln!(out, "  {:<20}{}", "total", ms(total));
        if let Some(cpu) = self.cpu {
            let _ = writeln!(out, "  {:<20}{}", "processor time", ms(cpu));
        }
        for timed in &self.compiled {
            let _ =
                writeln!(out, "  {:<20}{}  {}", tool(timed), ms(timed.time), shown(&timed.name));
        }
        out.push_str("Work\n");
        for (_, words, amount) in &self.amounts {
            match amount {
                Some(Amount::Count(n)) => {
                    let _ = writeln!(out, "  {words:<20}{:>14}", grouped(*n as u64));
                }
                Some(Amount::Bytes(n)) => {
                    let _ = writeln!(out, "  {words:<20}{:>14}{}", grouped(*n), rounded(*n));
                }
                None => {}
            }
        }
        out
    }

    fn json(&self) -> String {
        let phase = |lap: &Lap| {
            format!("{{\"name\":\"{}\",\"seconds\":{:.6}}}", lap.name, lap.time.as_secs_f64())
        };
        let compiled = |timed: &Timed| {
            format!(
                "{{\"tool\":\"{}\",\"input\":{},\"seconds\":{:.6}}}",
                tool(timed),
                json_string(&timed.name),
                timed.time.as_secs_f64()
            )
        };
        let amount = |(key, _, amount): &(&str, &str, Option<Amount>)| match amount {
            Some(Amount::Count(n)) => format!("\"{key}\":{n}"),
            Some(Amount::Bytes(n)) => format!("\"{key}\":{n}"),
            None => format!("\"{key}\":null"),
        };
        let cpu = self.cpu.map_or("null".into(), |cpu| format!("{:.6}", cpu.as_secs_f64()));
        format!(
            "{{\"format\":{FORMAT},\"report\":\"stats\",\"version\":\"{}\",\"phases\":[{}],\
             \"seconds\":{:.6},\"cpu_seconds\":{cpu},\"compiled\":[{}],{}}}\n",
            env!("CARGO_PKG_VERSION"),
            joined(self.phases.iter().map(phase)),
            self.total().as_secs_f64(),
            joined(self.compiled.iter().map(compiled)),
            joined(self.amounts.iter().map(amount))
        )
    }
}

fn tool(timed: &Timed) -> &'static str {
    match timed.phase {
        Phase::Optimize => "optimizer",
        Phase::Assemble | Phase::Ptx => "ptxas",
    }
}

fn ms(time: Duration) -> String {
    format!("{:>11.3} ms", time.as_secs_f64() * 1e3)
}

/// A number with spaces between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// A large number of bytes in a unit that people know.
fn rounded(bytes: u64) -> String {
    let units = [("GiB", 1u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let unit = units.into_iter().find(|(_, size)| bytes >= *size);
    unit.map_or(String::new(), |(name, size)| format!("  {:.1} {name}", bytes as f64 / size as f64))
}

/// The most memory that the process had, as Linux tells it.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(target_os = "linux")]
fn cpu_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
}

#[cfg(not(target_os = "linux"))]
fn cpu_time() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1 000"), (1234567, "1 234 567")] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!((rounded(1023).as_str(), rounded(3 << 20).as_str()), ("", "  3.0 MiB"));
    }
}
