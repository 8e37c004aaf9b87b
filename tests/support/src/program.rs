//! The program under test.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A program that was built for the test, and where the test may write.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    path: &'static str,
    folder: &'static str,
    test: &'static str,
}

/// The `warpld` that Cargo built for this test.
#[macro_export]
macro_rules! warpld {
    () => {
        $crate::Program::new(
            env!("CARGO_BIN_EXE_warpld"),
            env!("CARGO_TARGET_TMPDIR"),
            env!("CARGO_CRATE_NAME"),
        )
    };
}

impl Program {
    /// The program at `path`; the test of that name may write below `folder`.
    pub const fn new(path: &'static str, folder: &'static str, test: &'static str) -> Self {
        Self { path, folder, test }
    }

    /// Where the program is.
    pub fn path(self) -> &'static Path {
        Path::new(self.path)
    }

    /// A command line to complete. No jobserver limits the threads of the program.
    pub fn command(self) -> Command {
        let mut command = Command::new(self.path);
        command.env_remove("MAKEFLAGS");
        command
    }

    /// Runs the program in `folder`.
    pub fn run<A: AsRef<OsStr>>(self, folder: &Path, args: impl IntoIterator<Item = A>) -> Output {
        self.command().args(args).current_dir(folder).output().expect("the program runs")
    }

    /// An empty folder, which no other test gets.
    pub fn folder(self, name: &str) -> PathBuf {
        let folder = Path::new(self.folder).join(self.test).join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder for the test");
        folder
    }
}

/// What a program said on standard error.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
