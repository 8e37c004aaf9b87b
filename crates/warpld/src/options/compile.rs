//! How code is compiled at link time: what the command line says about it.

use super::parse::{CommandLine, lossy, to_path};
use super::table::Opt;
use std::path::PathBuf;
use std::time::Duration;
use warpld_compilers::CompileSettings;

/// Fails with the value of `--ptx-cache-size` if that is no size.
pub(super) fn compile_settings(line: &CommandLine) -> Result<CompileSettings, String> {
    let default = CompileSettings::default();
    let cache_size = match line.bytes(Opt::PtxCacheSize) {
        Some(text) => size(text).ok_or_else(|| lossy(text))?,
        None => default.cache_size,
    };
    let cache = match line.bytes(Opt::PtxCache) {
        Some(folder) => Some(to_path(folder)),
        None => std::env::var_os("WARPLD_PTX_CACHE").map(PathBuf::from),
    };
    Ok(CompileSettings {
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
            None => default.time_limit,
        },
        cache: cache.filter(|folder| !folder.as_os_str().is_empty()),
        cache_size,
        threads: threads(line),
    })
}

/// `--threads`; 0 is one per processor.
pub(super) fn threads(line: &CommandLine) -> usize {
    line.number(Opt::Threads).and_then(|n| n.try_into().ok()).unwrap_or(0)
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
    fn some_values_stand_for_nothing() {
        let parse = |options: &str| {
            let words = options.split_whitespace().map(Into::into);
            let line = CommandLine::parse(words, &|_| Ok(Vec::new())).unwrap();
            compile_settings(&line).unwrap()
        };
        let given = parse("-g -Xptxas=-O1,-v -Ofc mid --compiler-timeout=7 --threads=3");
        assert!(given.debug);
        assert_eq!(given.xptxas, [&b"-O1"[..], b"-v"]);
        assert_eq!(given.fast_compile.as_deref(), Some(&b"mid"[..]));
        assert_eq!((given.time_limit, given.threads), (Some(Duration::from_secs(7)), 3));
        let none = parse("-g -suppress-debug-info -Xptxas= -Ofc 0 --compiler-timeout=0");
        assert!(!none.debug && none.xptxas.is_empty() && none.fast_compile.is_none());
        assert_eq!(none.time_limit, None);
    }

    #[test]
    fn words_are_split_at_blanks() {
        let items = [b"-O1".to_vec(), b" -v  -lineinfo".to_vec(), b"".to_vec()];
        assert_eq!(words(&items), [&b"-O1"[..], b"-v", b"-lineinfo"]);
    }
}
