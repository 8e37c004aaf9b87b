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

/// The symbols that somebody means by a name: by symbol, by source name, or by source name without
/// parameters. In a name that is none of these, `*` stands for any text and `?` for any character.
pub fn meant<'i, T>(
    items: &'i [T],
    symbol: impl Fn(&T) -> &str,
    wanted: &str,
) -> Vec<(usize, &'i T)> {
    let all = || items.iter().enumerate();
    let has = |item: &T, fits: &dyn Fn(&str) -> bool| fits_a_name(symbol(item), fits);
    let exact: Vec<_> = all().filter(|(_, item)| has(item, &|name| name == wanted)).collect();
    if !exact.is_empty() || !wanted.contains(['*', '?']) {
        return exact;
    }
    all().filter(|(_, item)| has(item, &|name| matches(wanted, name))).collect()
}

/// Whether a name is meant by one of several words, in which `*` and `?` are wildcards.
pub fn is_meant(symbol: &str, wanted: &[String]) -> bool {
    let meant =
        |wanted: &String| fits_a_name(symbol, &|name| name == wanted || matches(wanted, name));
    wanted.iter().any(meant)
}

fn fits_a_name(symbol: &str, fits: &dyn Fn(&str) -> bool) -> bool {
    fits(symbol)
        || demangle(symbol).is_some_and(|source| {
            fits(&source)
                || source.split('(').next().is_some_and(|name| !name.is_empty() && fits(name))
        })
}

/// Whether `*` and `?` of a pattern can stand for something so that it becomes the text. The time is
/// the product of both lengths at worst.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // The latest star, and where the text that it stands for ends.
    let mut star: Option<(usize, usize)> = None;
    while let Some(c) = text.get(t) {
        match (pattern.get(p), star) {
            (Some('*'), _) => {
                star = Some((p, t));
                p += 1;
            }
            (Some(wanted), _) if *wanted == '?' || wanted == c => {
                p += 1;
                t += 1;
            }
            (_, Some((at, end))) => {
                star = Some((at, end + 1));
                (p, t) = (at + 1, end + 1);
            }
            (_, None) => return false,
        }
    }
    pattern.iter().skip(p).all(|c| *c == '*')
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

    #[test]
    fn patterns() {
        for (pattern, text, is) in [
            ("*", "", true),
            ("", "a", false),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("?b", "ab", true),
            ("?b", "b", false),
            ("*aab", "aaaab", true),
            ("f(*)", "f(int*)", true),
        ] {
            assert_eq!(matches(pattern, text), is, "{pattern} {text}");
        }
    }

    /// A name with a star that is somebody's name is no pattern.
    #[test]
    fn who_is_meant() {
        let symbols = ["_Z3fooi", "_Z3fooPi", "_Z3food", "bar"];
        let meant = |wanted| -> Vec<&str> {
            meant(&symbols, |symbol| symbol, wanted).into_iter().map(|(_, s)| *s).collect()
        };
        assert_eq!(meant("foo"), ["_Z3fooi", "_Z3fooPi", "_Z3food"]);
        assert_eq!(meant("foo(int*)"), ["_Z3fooPi"]);
        assert_eq!(meant("foo(int)"), ["_Z3fooi"]);
        assert_eq!(meant("foo(int*"), ["_Z3fooi", "_Z3fooPi"]);
        assert_eq!(meant("foo(int"), Vec::<&str>::new());
        assert_eq!(meant("b*"), ["bar"]);
        assert_eq!(meant("fo?(d*)"), ["_Z3food"]);
        assert!(
            is_meant("_Z3fooi", &["x".into(), "f*".into()]) && !is_meant("bar", &["f*".into()])
        );
    }
}
