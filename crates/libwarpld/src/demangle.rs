//! Names as people read them.

use cpp_demangle::{DemangleOptions, Symbol};
use cubin::words::shown;

/// A name as text, whatever its bytes.
pub fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// The source name behind a symbol, or `None` if the symbol is the name.
///
/// nvcc's decorations go first: `__nv_static_<n>__<module>_` before a static
/// kernel's name, `$<n>` after a clone's, and the namespace `_INTERNAL_…`
/// around what is local to a file.
pub fn demangle(symbol: &str) -> Option<String> {
    let plain = undecorated(symbol);
    let demangled = cpp(plain)
        .or_else(|| rust(plain))
        .or_else(|| (plain != symbol).then(|| plain.to_owned()))?;
    Some(without_internal_namespaces(&demangled))
}

/// The source name, or the symbol itself if that is the name.
pub fn readable(symbol: &str) -> String {
    demangle(symbol).unwrap_or_else(|| symbol.to_owned())
}

/// The symbol with its source name in front, for messages: `foo(int)
/// [_Z3fooi]`, or just `foo`.
pub fn described(symbol: &str) -> String {
    match demangle(symbol) {
        Some(name) => shown(&format!("{name} [{symbol}]")).into_owned(),
        None => shown(symbol).into_owned(),
    }
}

fn cpp(symbol: &str) -> Option<String> {
    if !symbol.starts_with("_Z") {
        return None;
    }
    // Limits the work on adversarial names; real ones need far less.
    let options = DemangleOptions::default().recursion_limit(512);
    let mut out = Bounded(String::new());
    Symbol::new(symbol).ok()?.structured_demangle(&mut out, &options).ok()?;
    Some(out.0)
}

/// Substitutions can double the text with every few letters of a name.
struct Bounded(String);

impl std::fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        const LONGEST: usize = 64 * 1024;
        if self.0.len() + text.len() > LONGEST {
            return Err(std::fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

fn rust(symbol: &str) -> Option<String> {
    rustc_demangle::try_demangle(symbol).ok().map(|name| format!("{name:#}"))
}

fn undecorated(symbol: &str) -> &str {
    let symbol = without_static_prefix(symbol).unwrap_or(symbol);
    match symbol.rsplit_once('$') {
        Some((name, number))
            if !name.is_empty()
                && !number.is_empty()
                && number.bytes().all(|b| b.is_ascii_digit()) =>
        {
            name
        }
        _ => symbol,
    }
}

/// `__nv_static_26__<26 characters>_<name>`: the number counts the module's
/// name with its leading underscore.
fn without_static_prefix(symbol: &str) -> Option<&str> {
    let rest = symbol.strip_prefix("__nv_static_")?;
    let (digits, rest) = rest.split_once('_')?;
    let length: usize = digits.parse().ok()?;
    rest.get(length..)?.strip_prefix('_').filter(|name| !name.is_empty())
}

fn without_internal_namespaces(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find("_INTERNAL_") {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        match from.split_once("::") {
            Some((word, after)) if word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') => {
                rest = after;
            }
            _ => {
                out.push_str(from);
                return out;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (symbol, name) in [
            ("_Z3fooi", Some("foo(int)")),
            (
                "_ZN2ns1VIfE3getERKS1_PKcm",
                Some("ns::V<float>::get(ns::V<float> const&, char const*, unsigned long)"),
            ),
            ("_Z3fooi$53", Some("foo(int)")),
            ("__nv_static_26__35635a9d_5_dm_cu_9c7661fb__Z2skPi", Some("sk(int*)")),
            ("_ZN35_INTERNAL_35635a9d_5_dm_cu_9c7661fb3stfEi", Some("stf(int)")),
            (
                "_ZN35_INTERNAL_35635a9d_5_dm_cu_9c7661fb2ns37_GLOBAL__N__35635a9d_5_dm_cu_9c7661fb4anonEx",
                Some("ns::(anonymous namespace)::anon(long long)"),
            ),
            ("_RNvC6kernel4main", Some("kernel::main")),
            ("vprintf", None),
            ("_Z", None),
            ("__nv_static_99__x", None),
            ("$1", None),
            ("", None),
        ] {
            assert_eq!(demangle(symbol).as_deref(), name, "{symbol}");
        }
        assert_eq!(described("_Z3fooi"), "foo(int) [_Z3fooi]");
        assert_eq!(described("foo"), "foo");
    }
}
