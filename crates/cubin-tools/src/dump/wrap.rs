//! Lines that fit a terminal.

/// Splits a text into lines of at most `width` columns, at spaces where possible. `first` columns of
/// the first line are taken, and all others begin after `indent` columns.
pub(super) fn wrapped(text: &str, width: usize, first: usize, indent: usize) -> String {
    // In a very narrow terminal, lines have some room all the same.
    let room = |taken: usize| width.saturating_sub(taken).max(8);
    let mut out = String::with_capacity(text.len() + 16);
    let (mut rest, mut left) = (text, room(first));
    loop {
        let end = rest.char_indices().nth(left).map(|(at, _)| at);
        let Some(end) = end else {
            out.push_str(rest);
            return out;
        };
        let (line, after) = match rest.get(..=end).and_then(|line| line.rfind(' ')) {
            Some(at) if at > 0 && !rest[..at].trim().is_empty() => (&rest[..at], &rest[at + 1..]),
            _ => rest.split_at(end),
        };
        out.push_str(line.trim_end());
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', indent));
        (rest, left) = (after.trim_start(), room(indent));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit() {
        assert_eq!(wrapped("short", 80, 0, 4), "short");
        assert_eq!(wrapped("one two three", 8, 0, 0), "one two\nthree");
        assert_eq!(wrapped("one two three", 12, 4, 4), "one two\n    three");
        assert_eq!(wrapped("abcdefghijkl", 8, 0, 0), "abcdefgh\nijkl");
        assert_eq!(wrapped("äöüäöüäöü x", 8, 0, 0), "äöüäöüäö\nü x");
        assert_eq!(wrapped("        abcdefghij", 8, 0, 2).lines().count(), 3);
        for width in 0..40 {
            let text = wrapped(
                "a text  with wörds of many lengths, some_that_are_long_indeed",
                width,
                0,
                2,
            );
            assert!(text.lines().all(|line| line.chars().count() <= width.max(10)), "{text}");
        }
    }
}
