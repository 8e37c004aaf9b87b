//! Time and memory of one program.

use nix::sys::resource::{UsageWho, getrusage};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The word that makes this program measure another one: what a process and
/// its children used is only known to a process that has no other children.
pub const CHILD: &str = "--measure";

/// What one run took.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// Wall-clock seconds.
    pub wall: f64,
    /// User and system seconds.
    pub cpu: f64,
    /// Peak resident bytes.
    pub memory: u64,
    /// Exit status.
    pub status: i32,
}

impl Usage {
    /// The better of each number.
    pub fn keep_best(&mut self, other: &Usage) {
        self.wall = self.wall.min(other.wall);
        self.cpu = self.cpu.min(other.cpu);
        self.memory = self.memory.min(other.memory);
        self.status = self.status.max(other.status);
    }
}

/// Runs `program` and measures it.
pub fn run<'w>(
    program: &Path,
    words: impl Iterator<Item = &'w String>,
    folder: &Path,
) -> Result<Usage, String> {
    let me = std::env::current_exe().map_err(|e| e.to_string())?;
    let output = Command::new(me)
        .arg(CHILD)
        .arg(program)
        .args(words)
        .current_dir(folder)
        .stderr(Stdio::null())
        .output()
        .map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().unwrap_or_default();
    let mut numbers = last.split(' ').map(|word| word.parse::<f64>().unwrap_or(f64::NAN));
    let mut next = || numbers.next().ok_or_else(|| format!("cannot run {}", program.display()));
    Ok(Usage { wall: next()?, cpu: next()?, memory: next()? as u64, status: next()? as i32 })
}

/// Reading the inputs and writing as many bytes as the output has: the floor.
pub fn cat(folder: &Path) -> Result<Usage, String> {
    let script = "tr '\\n' '\\0' < inputs.txt | xargs -0 cat > /dev/null; \
                  if test -e out; then cat out > out.copy; rm out.copy; fi";
    run(Path::new("sh"), ["-c".to_string(), script.to_string()].iter(), folder)
}

/// Runs the program that `words` name and prints what it used.
pub fn child(words: &[String]) -> Result<(), String> {
    let [program, words @ ..] = words else { return Err("nothing to measure".into()) };
    let start = Instant::now();
    let status = Command::new(program)
        .args(words)
        .stdout(Stdio::null())
        .status()
        .map_err(|e| format!("{program}: {e}"))?;
    let wall = start.elapsed().as_secs_f64();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|e| e.to_string())?;
    let seconds = |t: nix::sys::time::TimeVal| t.tv_sec() as f64 + t.tv_usec() as f64 * 1e-6;
    let cpu = seconds(usage.user_time()) + seconds(usage.system_time());
    // Linux counts in kilobytes.
    println!("{wall} {cpu} {} {}", usage.max_rss() * 1024, status.code().unwrap_or(255));
    Ok(())
}
