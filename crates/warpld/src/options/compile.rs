//! How code is compiled at link time: what the command line says about it.

use super::parse::{CommandLine, lossy, to_path};
use super::table::Opt;
use std::path::PathBuf;
use std::time::Duration;

/// A compiler that takes longer than this hangs.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// The size of the cache unless something else is asked for.
const CACHE_SIZE: u64 = 1 << 30;

/// What compilers are told, and how they are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileSettings {
    /// The words of `-Xptxas`.
    pub xptxas: Vec<Vec<u8>>,
    /// `-maxrregcount`.
    pub max_registers: Option<i32>,
    /// `-g`, unless `-suppress-debug-info` takes it back.
    pub debug: bool,
    /// `-Ofc`, unless it is 0.
    pub fast_compile: Option<Vec<u8>>,
    /// `-split-compile`.
    pub split_compile: Option<i32>,
    /// `-device-stack-protector`.
    pub stack_protector: Option<bool>,
    /// `--compiler-timeout`: how long one run may take; `None` is forever.
    pub time_limit: Option<Duration>,
    /// `--ptx-cache`, or what the environment names.
    pub cache: Option<PathBuf>,
    /// `--ptx-cache-size`.
    pub cache_size: u64,
}

impl CompileSettings {
    /// Fails with the value of `--ptx-cache-size` if that is no size.
    pub(super) fn new(line: &CommandLine) -> Result<Self, String> {
        let cache_size = match line.bytes(Opt::PtxCacheSize) {
            Some(text) => size(text).ok_or_else(|| lossy(text))?,
            None => CACHE_SIZE,
        };
        let cache = match line.bytes(Opt::PtxCache) {
            Some(folder) => Some(to_path(folder)),
            None => std::env::var_os("WARPLD_PTX_CACHE").map(PathBuf::from),
        };
        Ok(Self {
            xptxas: words(line.list(Opt::Xptxas)),
            max_registers: line.number(Opt::MaxRregCount),
            debug: line.has(Opt::Debug) && !line.has(Opt::SuppressDebugInfo),
            fast_compile: line.bytes(Opt::OfastCompile).filter(|l| *l != b"0").map(<[u8]>::to_vec),
            split_compile: line.number(Opt::SplitCompile),
            stack_protector: line.boolean(Opt::DeviceStackProtector),
            time_limit: match line.number(Opt::CompilerTimeout) {
                Some(seconds) => {
                    u64::try_from(seconds).ok().filter(|s| *s > 0).map(Duration::from_secs)
                }
                None => Some(TIME_LIMIT),
            },
            cache: cache.filter(|folder| !folder.as_os_str().is_empty()),
            cache_size,
        })
    }
}

/// The words of a list option: its items, split at blanks too.
fn words(items: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let split = |item: &Vec<u8>| -> Vec<Vec<u8>> {
        let words = item.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        words.map(<[u8]>::to_vec).collect()
    };
    items.iter().flat_map(split).collect()
}

/// Bytes, or a number followed by K, M or G.
fn size(text: &[u8]) -> Option<u64> {
    let (digits, unit) = match text.split_last()? {
        (b'k' | b'K', digits) => (digits, 1 << 10),
        (b'm' | b'M', digits) => (digits, 1 << 20),
        (b'g' | b'G', digits) => (digits, 1 << 30),
        _ => (text, 1),
    };
    std::str::from_utf8(digits).ok()?.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [("0", Some(0)), ("512", Some(512)), ("3k", Some(3072))] {
            assert_eq!(size(text.as_bytes()), bytes, "{text}");
        }
        assert_eq!(size(b"2G"), Some(2 << 30));
        for text in ["", "G", "-1", "1T", "1.5G", "99999999999G"] {
            assert_eq!(size(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn words_are_split_at_blanks() {
        let items = [b"-O1".to_vec(), b" -v  -lineinfo".to_vec(), b"".to_vec()];
        assert_eq!(words(&items), [&b"-O1"[..], b"-v", b"-lineinfo"]);
    }
}
