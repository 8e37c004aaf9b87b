//! Strings and lists of JSON texts.

use cubin::words::shown;
use std::fmt::Write;

/// A JSON string literal.
pub fn json_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if u32::from(c) < 0x10000
                && shown(c.encode_utf8(&mut [0; 4])).len() > c.len_utf8() =>
            {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The items of a JSON list or object.
pub fn joined(items: impl IntoIterator<Item = String>) -> String {
    items.into_iter().collect::<Vec<_>>().join(",")
}

/// A JSON string literal, or null.
pub fn json_option(text: Option<&str>) -> String {
    text.map_or_else(|| "null".into(), json_string)
}
