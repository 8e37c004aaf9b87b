//! Splits text into words: lists, options files, response files, numbers.

use thiserror::Error;

/// Text that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WordError {
    /// An unpaired `"`.
    #[error("Stray '\"' character")]
    StrayQuote,
    /// Not an integer.
    #[error("'{0}': expected a number")]
    NotANumber(String),
    /// Does not fit 32 bits.
    #[error("32-bit integer value ({0}) out of range")]
    OutOfRange(String),
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// Splits a list value at commas. `"` quotes commas and is removed; spaces around an item are
/// trimmed; empty items are dropped.
pub fn list_items(value: &[u8]) -> Result<Vec<Vec<u8>>, WordError> {
    let mut items = Vec::new();
    let mut item = Vec::new();
    let mut quoted = false;
    for &byte in value {
        match byte {
            b'"' => quoted = !quoted,
            b',' if !quoted => items.push(std::mem::take(&mut item)),
            _ => item.push(byte),
        }
    }
    if quoted {
        return Err(WordError::StrayQuote);
    }
    items.push(item);
    Ok(items.iter().map(|item| item.trim_ascii().to_vec()).filter(|i| !i.is_empty()).collect())
}

/// The words of an options file: `"` quotes, `\` escapes the next character, except that `\"` is
/// dropped; nothing else is special.
pub fn options_file_words(text: &[u8]) -> Result<Vec<Vec<u8>>, WordError> {
    let mut words = Vec::with_capacity(1 + text.iter().filter(|&&byte| is_blank(byte)).count());
    let mut word: Option<Vec<u8>> = None;
    let mut quoted = false;
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        let special = |b: u8| matches!(b, b'"' | b'\\') || is_blank(b) && !quoted;
        rest = after;
        match (byte, after) {
            (b'"', _) => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            (b'\\', [b'"', after @ ..]) => {
                word.get_or_insert_default();
                rest = after;
            }
            (b'\\', [next, after @ ..]) => {
                let word = word.get_or_insert_default();
                word.extend(quoted.then_some(b'\\').into_iter().chain([*next]));
                rest = after;
            }
            (b'\\', []) => {}
            _ if special(byte) => words.extend(word.take()),
            // Such files list many thousands of inputs: plain characters are copied together.
            _ => {
                let plain = after.iter().take_while(|&&b| !special(b)).count();
                let word = word.get_or_insert_with(|| Vec::with_capacity(1 + plain));
                word.push(byte);
                word.extend_from_slice(&after[..plain]);
                rest = &after[plain..];
            }
        }
    }
    if quoted {
        return Err(WordError::StrayQuote);
    }
    words.extend(word);
    Ok(words)
}

/// The words of a response file (`@file`), by the common rules of compilers: single and double
/// quotes quote, a backslash escapes the next character.
pub fn response_file_words(text: &[u8]) -> Result<Vec<Vec<u8>>, WordError> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote: Option<u8> = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', _) => word.get_or_insert_default().extend(bytes.next()),
            (b'"' | b'\'', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (_, Some(open)) if byte == open => quote = None,
            (_, None) if is_blank(byte) => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    if quote.is_some() {
        return Err(WordError::StrayQuote);
    }
    words.extend(word);
    Ok(words)
}

/// Reads an integer as C's `strtol` with base 0 does: leading whitespace, a sign, `0x` for
/// hexadecimal, `0` for octal. An empty string is 0.
pub fn number(text: &[u8]) -> Result<i32, WordError> {
    let shown = || String::from_utf8_lossy(text).into_owned();
    if text.is_empty() {
        return Ok(0);
    }
    let (negative, digits) = match text.trim_ascii_start() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let (radix, digits) = match digits {
        [b'0', b'x' | b'X', rest @ ..] => (16, rest),
        [b'0', rest @ ..] if !rest.is_empty() => (8, rest),
        rest => (10, rest),
    };
    let valid = !digits.is_empty() && digits.iter().all(|&b| char::from(b).is_digit(radix));
    if !valid {
        return Err(WordError::NotANumber(shown()));
    }
    digits
        .iter()
        .filter_map(|&b| char::from(b).to_digit(radix))
        .try_fold(0i64, |sum, digit| sum.checked_mul(radix.into())?.checked_add(digit.into()))
        .map(|magnitude| if negative { -magnitude } else { magnitude })
        .and_then(|value| i32::try_from(value).ok())
        .ok_or_else(|| WordError::OutOfRange(shown()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(words: Result<Vec<Vec<u8>>, WordError>) -> Vec<String> {
        words.unwrap().into_iter().map(|w| String::from_utf8(w).unwrap()).collect()
    }

    #[test]
    fn lists() {
        let cases: [(&str, &[&str]); 8] = [
            ("", &[]),
            ("a", &["a"]),
            ("a,b", &["a", "b"]),
            (" a , b ,,", &["a", "b"]),
            ("\"q,r\",s", &["q,r", "s"]),
            ("a\"b,c\"d", &["ab,cd"]),
            ("a'b\\c", &["a'b\\c"]),
            ("a b", &["a b"]),
        ];
        for (text, items) in cases {
            assert_eq!(strings(list_items(text.as_bytes())), items, "{text}");
        }
        assert_eq!(list_items(b"a\"b"), Err(WordError::StrayQuote));
    }

    #[test]
    fn options_files() {
        let cases: [(&str, &[&str]); 8] = [
            ("", &[]),
            (" -v\t-w\r\n-g ", &["-v", "-w", "-g"]),
            ("a\"b c\"d", &["ab cd"]),
            ("a\\ b", &["a b"]),
            ("\"a\\\"b\"", &["ab"]),
            ("# // 'x y'", &["#", "//", "'x", "y'"]),
            ("a\\\nb", &["a\nb"]),
            ("\"\"", &[""]),
        ];
        for (text, words) in cases {
            assert_eq!(strings(options_file_words(text.as_bytes())), words, "{text}");
        }
        assert_eq!(options_file_words(b"a \"b"), Err(WordError::StrayQuote));
    }

    #[test]
    fn response_files() {
        let cases: [(&str, &[&str]); 4] = [
            ("-v 'a b' \"c d\"", &["-v", "a b", "c d"]),
            ("a\\ b \\\"", &["a b", "\""]),
            ("'a\"b'", &["a\"b"]),
            ("''", &[""]),
        ];
        for (text, words) in cases {
            assert_eq!(strings(response_file_words(text.as_bytes())), words, "{text}");
        }
    }

    #[test]
    fn numbers() {
        for (text, value) in [
            ("", 0),
            ("0", 0),
            ("32", 32),
            ("010", 8),
            ("0x20", 32),
            ("-3", -3),
            ("+3", 3),
            (" 3", 3),
        ] {
            assert_eq!(number(text.as_bytes()), Ok(value), "{text}");
        }
        for text in ["3 ", "3x", "-", "0x", "08", "abc", " "] {
            assert_eq!(number(text.as_bytes()), Err(WordError::NotANumber(text.into())));
        }
        for text in ["4294967295", "2147483648", "-2147483649", "99999999999999999999999"] {
            assert_eq!(number(text.as_bytes()), Err(WordError::OutOfRange(text.into())));
        }
    }
}
