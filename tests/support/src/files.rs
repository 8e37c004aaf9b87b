//! Files that tests read.

use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The folder of device ELF files. `$WARPLD_FIXTURES` names it where the tests run on another
/// machine than they were built on.
fn fixture_folder() -> PathBuf {
    std::env::var_os("WARPLD_FIXTURES").map_or_else(|| root().join("tests/fixtures"), PathBuf::from)
}

/// The path of a fixture.
pub fn fixture_path(name: &str) -> PathBuf {
    fixture_folder().join(name)
}

/// The bytes of a fixture.
pub fn fixture(name: &str) -> Vec<u8> {
    read(&fixture_path(name))
}

/// All device ELF files among the fixtures, by name.
pub fn fixtures() -> Vec<(PathBuf, Vec<u8>)> {
    let folder = fixture_folder();
    let entries =
        std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut all: Vec<_> = entries
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|e| e == "cubin"))
        .map(|path| (path.clone(), read(&path)))
        .collect();
    all.sort();
    assert!(all.len() >= 40, "fixtures are missing");
    all
}

/// The path of a file in `examples`, as a word of a command line.
pub fn example(name: &str) -> String {
    let path = root().join("examples").join(name);
    let path = path.canonicalize().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    path.into_os_string().into_string().expect("a path in Unicode")
}

/// The toolkit that `$WARPLD_TOOLKIT` names, whose programs tests ask as well.
pub fn toolkit() -> Option<PathBuf> {
    let toolkit = PathBuf::from(std::env::var_os("WARPLD_TOOLKIT")?);
    assert!(toolkit.join("bin/nvlink").exists(), "WARPLD_TOOLKIT has no bin/nvlink");
    Some(toolkit)
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Makes a named pipe.
pub fn fifo(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.expect("mkfifo runs").success(), "{}", path.display());
}
