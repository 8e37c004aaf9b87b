//! The options that containers keep beside LTO-IR: all modules are compiled with the same ones
//! (`lto-options-differ`, `lto-options-missing`).

use super::messages;
use super::options::LtoOptions;
use crate::diag::Diagnostic;

/// What the modules of a link agree on.
#[derive(Debug, Default)]
pub(super) struct Stored {
    /// `-maxreg`, unless the link names another number.
    pub(super) registers: Option<u32>,
    /// What there is to say; a fatal one if they do not agree.
    pub(super) messages: Vec<Diagnostic>,
}

/// Values that must be equal, as they are stored and as nvlink names them, in its order.
const VALUES: [(&[u8], &str); 4] = [
    (b"-ftz=", "-ftz"),
    (b"-prec_div=", "-prec-div"),
    (b"-prec_sqrt=", "-prec-sqrt"),
    (b"-fmad=", "-fmad"),
];

/// Merges the options of all modules. nvlink goes through them option by option: line numbers,
/// registers, then values.
pub(super) fn merge<'f>(modules: impl Iterator<Item = &'f [u8]>, options: LtoOptions) -> Stored {
    let modules: Vec<Vec<&[u8]>> = modules.map(words).collect();
    let mut stored = Stored::default();
    let lines = modules.iter().filter(|words| words.contains(&&b"-generate-line-info"[..]));
    if (1..modules.len()).contains(&lines.count()) {
        stored.messages.push(messages::lto_option_missing("-lineinfo", "-lineinfo"));
    }
    if !options.registers_given {
        merge_registers(&modules, &mut stored);
    }
    for (prefix, name) in VALUES {
        let mut values = modules.iter().filter_map(|words| value(words, prefix));
        if let Some(first) = values.next()
            && values.any(|value| value != first)
        {
            stored.messages.push(messages::lto_options_differ(name));
            break;
        }
    }
    // The first fatal one ends the link.
    let fatal = stored.messages.iter().position(|m| m.severity == crate::diag::Severity::Fatal);
    stored.messages.truncate(fatal.map_or(usize::MAX, |at| at + 1));
    stored
}

fn merge_registers(modules: &[Vec<&[u8]>], stored: &mut Stored) {
    let name = "-maxrregcount";
    let counts: Vec<u32> = modules.iter().filter_map(|words| registers(words)).collect();
    let Some(&first) = counts.first() else { return };
    if counts.iter().any(|count| *count != first) {
        return stored.messages.push(messages::lto_options_differ(name));
    }
    if counts.len() < modules.len() {
        stored.messages.push(messages::lto_option_missing(name, &format!("{name}={first}")));
    }
    stored.registers = Some(first);
}

fn words(options: &[u8]) -> Vec<&[u8]> {
    let text = options.split(|&byte| byte == 0).next().unwrap_or_default();
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect()
}

fn value<'w>(words: &[&'w [u8]], prefix: &[u8]) -> Option<&'w [u8]> {
    words.iter().find_map(|word| word.strip_prefix(prefix))
}

fn registers(words: &[&[u8]]) -> Option<u32> {
    let at = words.iter().position(|word| *word == b"-maxreg")?;
    std::str::from_utf8(words.get(at + 1)?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &[u8] = b"-ftz=0 -prec_div=1 -prec_sqrt=1 -fmad=1 ";
    const LIMITED: &[u8] =
        b"-maxreg 32 -generate-line-info -ftz=0 -prec_div=1 -prec_sqrt=1 -fmad=1 \0";
    const FAST: &[u8] = b"-maxreg 40 -ftz=1 -prec_div=0 -prec_sqrt=0 -fmad=1 ";

    fn said(modules: &[&[u8]], registers_given: bool) -> (Option<u32>, Vec<String>) {
        let options = LtoOptions { registers_given, ..LtoOptions::default() };
        let stored = merge(modules.iter().copied(), options);
        (stored.registers, stored.messages.into_iter().map(|m| m.message).collect())
    }

    #[test]
    fn options_are_compared() {
        assert_eq!(said(&[PLAIN, PLAIN], false), (None, vec![]));
        assert_eq!(said(&[LIMITED], false), (Some(32), vec![]));
        let (registers, messages) = said(&[PLAIN, LIMITED], false);
        assert_eq!(registers, Some(32));
        assert!(messages[0].contains("'-lineinfo'") && messages[1].ends_with("'-maxrregcount=32'"));
        assert_eq!(said(&[PLAIN, LIMITED], true).0, None);
        let differ = |name| format!("Cicc option values for '{name}' do not match");
        assert_eq!(said(&[LIMITED, FAST], false).1[1..], [differ("-maxrregcount")]);
        assert_eq!(said(&[LIMITED, FAST], true).1[1..], [differ("-ftz")]);
    }
}
