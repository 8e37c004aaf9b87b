//! Runs a tool to its end, or ends it.

use crate::host::Interruptions;
use std::ffi::OsString;
use std::io::{self, PipeReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// How often a running tool is looked after. Its end is noticed at once.
const TICK: Duration = Duration::from_millis(20);

/// How long the output of a tool that has ended may stay open: a process that it started may
/// have left its group.
const AFTERMATH: Duration = Duration::from_secs(2);

/// How often to try to start a program that is being written.
const TRIES: u32 = 20;

/// A tool to run.
#[derive(Clone, Copy, Debug)]
pub struct Invocation<'t> {
    /// The program.
    pub program: &'t Path,
    /// Its arguments.
    pub args: &'t [OsString],
    /// Where it runs.
    pub folder: &'t Path,
    /// How long it may take.
    pub limit: Option<Duration>,
    /// What ends it early.
    pub interruptions: &'t dyn Interruptions,
}

/// What a tool did.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// What it wrote to standard output and standard error, interleaved as it came.
    pub said: String,
}

/// Why a tool has no status of its own.
#[derive(Debug)]
pub enum RunError {
    /// It cannot be started.
    Start(io::Error),
    /// It took too long.
    TimedOut {
        /// How long it had.
        limit: Duration,
        /// What it wrote until then.
        said: String,
    },
    /// It was not wanted any more, or the link was interrupted.
    Stopped,
}

impl Invocation<'_> {
    /// Runs the tool; `stop` is asked from time to time whether to end it.
    pub fn run(&self, stop: &dyn Fn() -> bool) -> Result<Ended, RunError> {
        if stop() || self.interruptions.is_interrupted() {
            return Err(RunError::Stopped);
        }
        let (reader, child) = self.start().map_err(RunError::Start)?;
        let mut group = Group { child };
        let deadline = self.limit.map(|limit| (limit, Instant::now() + limit));
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            // Nobody listens after the tool was ended.
            let _ = sender.send(read(reader));
        });
        let mut said = None;
        loop {
            if said.is_none() {
                match receiver.recv_timeout(TICK) {
                    Ok(text) => said = Some(text),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => said = Some(String::new()),
                }
            } else {
                // Between closing its output and its end a tool has little left to do.
                thread::sleep(Duration::from_micros(200));
            }
            let rest = || receiver.recv_timeout(AFTERMATH).unwrap_or_default();
            if group.has_ended() {
                let status = group.child.wait().map_err(RunError::Start)?;
                return Ok(Ended { status, said: said.unwrap_or_else(rest) });
            }
            if stop() || self.interruptions.is_interrupted() {
                return Err(RunError::Stopped);
            }
            if let Some((limit, _)) = deadline.filter(|(_, end)| Instant::now() > *end) {
                group.end();
                return Err(RunError::TimedOut { limit, said: said.unwrap_or_else(rest) });
            }
        }
    }

    fn start(&self) -> io::Result<(PipeReader, Child)> {
        let mut tries = 0;
        loop {
            let (reader, writer) = io::pipe()?;
            let mut command = Command::new(self.program);
            command.args(self.args).current_dir(self.folder);
            command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
            #[cfg(unix)]
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
            match command.spawn() {
                Ok(child) => return Ok((reader, child)),
                Err(error) if is_busy(&error) && tries < TRIES => {
                    tries += 1;
                    thread::sleep(TICK);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Whether the program is being written.
fn is_busy(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ExecutableFileBusy
}

/// All that a tool says.
fn read(mut reader: PipeReader) -> String {
    let mut said = Vec::new();
    // What came before an error still counts.
    let _ = reader.read_to_end(&mut said);
    String::from_utf8(said).unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into())
}

/// A tool and the processes it has started, which end with it.
struct Group {
    child: Child,
}

#[cfg(target_os = "linux")]
impl Group {
    fn id(&self) -> Option<rustix::process::Pid> {
        i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw)
    }

    /// Whether the tool has ended. Those it has left behind are ended before its id is given
    /// back, because the group has the same.
    fn has_ended(&mut self) -> bool {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let Some(id) = self.id() else { return true };
        let has_ended = !matches!(waitid(WaitId::Pid(id), options), Ok(None));
        if has_ended {
            self.end();
        }
        has_ended
    }

    fn end(&mut self) {
        use rustix::process::{Signal, kill_process_group};
        if let Some(id) = self.id() {
            // There may be nobody in it.
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Group {
    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    fn end(&mut self) {
        let _ = self.child.kill();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Once it was waited for, its id may be another's.
        if matches!(self.child.try_wait(), Ok(None)) {
            self.end();
            let _ = self.child.wait();
        }
    }
}
