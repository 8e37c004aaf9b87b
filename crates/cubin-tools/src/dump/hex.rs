//! The bytes of a section.

use std::io::{self, Write};

/// Bytes of a line.
const LINE: usize = 16;

/// Writes bytes as `hexdump -C` does. Lines like the one before are left out, and a star is in their
/// place.
pub(super) fn write(out: &mut impl Write, data: &[u8], width: Option<usize>) -> io::Result<()> {
    // Half a line fits narrow terminals.
    let per_line = if width.is_some_and(|width| width < 79) { LINE / 2 } else { LINE };
    let mut previous: Option<&[u8]> = None;
    let mut repeats = false;
    for (number, line) in data.chunks(per_line).enumerate() {
        if previous == Some(line) {
            if !repeats {
                writeln!(out, "  *")?;
            }
            repeats = true;
            continue;
        }
        (previous, repeats) = (Some(line), false);
        let numbers: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        let letter = |byte: &u8| if matches!(byte, b' '..=b'~') { char::from(*byte) } else { '.' };
        let letters: String = line.iter().map(letter).collect();
        let columns = per_line * 3;
        let offset = number * per_line;
        writeln!(out, "  {offset:08x}  {:<columns$} |{letters}|", numbers.join(" "))?;
    }
    writeln!(out, "  {:08x}", data.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lines_are_left_out() {
        let mut data = vec![0; 64];
        data.extend(b"ab\x1b");
        let mut out = Vec::new();
        write(&mut out, &data, None).unwrap();
        let zeros = "00 ".repeat(16);
        let expected = format!(
            "  00000000  {zeros} |................|\n  *\n  00000040  {:<48} |ab.|\n  00000043\n",
            "61 62 1b"
        );
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        assert!(expected.lines().all(|line| line.len() < 80));
    }
}
