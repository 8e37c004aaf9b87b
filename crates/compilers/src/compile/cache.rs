//! `--ptx-cache`: results of former links.
//!
//! An entry is found by a hash of everything that the result depends on, so none is ever out of
//! date. Entries appear in one step, and many links may use a cache at once. What was damaged is
//! compiled again.

use crate::host::Interruptions;
use libwarpld::compile::{Compiled, PtxModule};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// The first bytes of an entry, and part of every key: another format gets other keys.
const MAGIC: &[u8; 16] = b"warpld ptx 0001\n";

const HASH_SIZE: usize = 32;

/// So many hexadecimal digits of a key name a folder, the others the entry in it.
const FOLDER_DIGITS: usize = 2;

/// Magic, key, hash of the rest, size of the messages.
const HEADER_SIZE: usize = MAGIC.len() + HASH_SIZE + HASH_SIZE + 8;

/// The suffix of files that are being written.
const UNFINISHED: &str = "tmp";

/// A file that was being written this long ago was left behind.
const ABANDONED: Duration = Duration::from_secs(3600);

/// A hash of text, options and compiler.
pub(super) type Key = [u8; HASH_SIZE];

/// An open cache.
pub(super) struct Cache {
    folder: PathBuf,
    limit: u64,
    compiler: Key,
    /// Why an entry could not be written, or how many were.
    written: Mutex<io::Result<usize>>,
    interruptions: &'static dyn Interruptions,
}

impl Cache {
    /// Opens the cache in `folder`, which is made if it is missing.
    pub(super) fn open(
        folder: &Path,
        limit: u64,
        compiler: &Key,
        interruptions: &'static dyn Interruptions,
    ) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let folder = fs::canonicalize(folder)?;
        Ok(Self { folder, limit, compiler: *compiler, written: Mutex::new(Ok(0)), interruptions })
    }

    /// The key of what ptxas makes of a module with these options.
    pub(super) fn key(&self, module: &PtxModule<'_>, options: &[OsString]) -> Key {
        let mut hash = Sha256::new();
        hash.update(MAGIC);
        hash.update(self.compiler);
        hash.update((options.len() as u64).to_le_bytes());
        let options = options.iter().map(|word| word.as_encoded_bytes());
        for part in options.chain([&*module.text]) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash.finalize().into()
    }

    /// The result of a former link.
    pub(super) fn get(&self, key: &Key) -> Option<Compiled> {
        let path = self.path(key);
        let bytes = fs::read(&path).ok()?;
        let found = decode(&bytes, key);
        match found {
            Some(_) => {
                // For the order in which entries are deleted; a cache may be read-only.
                let now = SystemTime::now();
                let _ = File::open(&path).and_then(|file| file.set_modified(now));
            }
            None => {
                let _ = fs::remove_file(&path);
            }
        }
        found
    }

    /// Keeps a result, if there is one.
    pub(super) fn put(&self, key: &Key, compiled: &Compiled) {
        let Ok(output) = &compiled.output else { return };
        let result = self.write(&self.path(key), &encode(key, &compiled.messages, output));
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        match (result, &mut *written) {
            (Ok(()), Ok(count)) => *count += 1,
            (Err(error), Ok(_)) => *written = Err(error),
            (_, Err(_)) => {}
        }
    }

    /// Deletes what was not used for the longest time if there is too much. Says why an entry was
    /// not written.
    pub(super) fn close(self) -> io::Result<()> {
        let written = self.written.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !matches!(written, Ok(0)) {
            shrink(&self.folder, self.limit);
        }
        written.map(|_| ())
    }

    fn path(&self, key: &Key) -> PathBuf {
        let mut name = String::new();
        for byte in key {
            let _ = write!(name, "{byte:02x}");
        }
        let (folder, name) = name.split_at(FOLDER_DIGITS);
        self.folder.join(folder).join(name)
    }

    /// Others see the entry complete or not at all.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let unfinished =
            path.with_extension(format!("{}-{number}.{UNFINISHED}", std::process::id()));
        let _deferral = self.interruptions.defer();
        let written = File::create(&unfinished)
            .and_then(|mut file| file.write_all(bytes))
            .and_then(|()| fs::rename(&unfinished, path));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        written
    }
}

fn encode(key: &Key, messages: &str, output: &[u8]) -> Vec<u8> {
    let size = (messages.len() as u64).to_le_bytes();
    let mut hash = Sha256::new();
    [&size[..], messages.as_bytes(), output].iter().for_each(|part| hash.update(part));
    let mut bytes = Vec::with_capacity(HEADER_SIZE + messages.len() + output.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(key);
    bytes.extend_from_slice(&hash.finalize());
    bytes.extend_from_slice(&size);
    bytes.extend_from_slice(messages.as_bytes());
    bytes.extend_from_slice(output);
    bytes
}

/// The result in an entry, if it is whole and the one that was asked for.
fn decode(bytes: &[u8], key: &Key) -> Option<Compiled> {
    let rest = bytes.strip_prefix(MAGIC)?.strip_prefix(key)?;
    let (hash, rest) = rest.split_at_checked(HASH_SIZE)?;
    if Sha256::digest(rest)[..] != *hash {
        return None;
    }
    let (size, rest) = rest.split_first_chunk()?;
    let size = usize::try_from(u64::from_le_bytes(*size)).ok()?;
    let (messages, output) = rest.split_at_checked(size)?;
    let messages = std::str::from_utf8(messages).ok()?.to_owned();
    Some(Compiled { output: Ok(output.to_vec()), messages })
}

/// Deletes the oldest entries until those left fit, with some room for the next ones. Other links
/// may delete the same ones.
fn shrink(folder: &Path, limit: u64) {
    let mut entries = Vec::new();
    let folders = list(folder).into_iter().filter(|folder| is_hash(folder, FOLDER_DIGITS));
    for path in folders.flat_map(|folder| list(&folder)) {
        if !is_hash(&path, 2 * HASH_SIZE - FOLDER_DIGITS) {
            continue;
        }
        let Ok(meta) = fs::metadata(&path) else { continue };
        let used = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let age = SystemTime::now().duration_since(used).unwrap_or_default();
        match path.extension().is_some_and(|suffix| suffix == UNFINISHED) {
            true if age > ABANDONED => {
                let _ = fs::remove_file(&path);
            }
            true => {}
            false => entries.push((used, meta.len(), path)),
        }
    }
    let mut total: u64 = entries.iter().map(|(_, size, _)| size).sum();
    if total <= limit {
        return;
    }
    entries.sort();
    for (_, size, path) in entries {
        if total <= limit - limit / 10 {
            break;
        }
        let _ = fs::remove_file(&path);
        total -= size;
    }
}

/// Whether a name is one that the cache gives: the folder may hold more than the cache.
fn is_hash(path: &Path, digits: usize) -> bool {
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let name = name.split('.').next().unwrap_or_default();
    name.len() == digits && name.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// The paths in a folder.
fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}
