//! What somebody may have meant whose command line cannot be parsed.

use super::parse::ParseError;
use super::row::{Kind, Row};
use super::table::{TABLE, TARGETS};
use libwarpld::driver::closest;

/// Targets of earlier releases, without prefix.
const DROPPED: &[&str] =
    &["20", "21", "30", "32", "35", "37", "50", "52", "53", "60", "61", "62", "70", "72"];

/// Options of nvcc and of other linkers that make no sense for this one.
const OTHERS: &[(&str, &str)] = &[
    ("c", "this is a linker; nvcc -c or nvcc -dc compiles"),
    ("dc", "this is a linker; nvcc -c or nvcc -dc compiles"),
    ("dlink", "this is what nvcc -dlink runs; leave the option out"),
    ("rdc", "objects have to be compiled with nvcc -rdc=true; a link needs no option"),
    ("gencode", "a link is for one target: -arch=sm_90"),
    ("code", "a link is for one target: -arch=sm_90"),
    ("fatbin", "a link writes a cubin; fatbinary makes a fatbin of it"),
    ("cubin", "a link writes a cubin anyway"),
    ("soname", "a cubin is no shared library"),
    ("fPIC", "device code needs no such option"),
    ("std", COMPILER),
    ("I", COMPILER),
    ("D", COMPILER),
    ("isystem", COMPILER),
    ("Xcompiler", COMPILER),
    ("ccbin", COMPILER),
    ("Wl", "only compilers pass options on so; give them to the host linker"),
    ("Xlinker", "only compilers pass options on so; give them to the host linker"),
    ("static", "device code is always linked as a whole"),
    ("gc-sections", "code that no kernel reaches is dropped anyway"),
    ("as-needed", "--lazy-archives links only the members that are needed"),
    ("gpu-name", "a link is for one target: -arch=sm_90"),
    ("s", STRIP),
    ("S", STRIP),
    ("strip-all", STRIP),
    ("strip-debug", STRIP),
    ("T", "the layout of a cubin is fixed; there are no linker scripts"),
    ("e", "a cubin has no entry point; every kernel is one"),
    ("entry", "a cubin has no entry point; every kernel is one"),
    ("j", "--threads=N sets the number of threads"),
];

const STRIP: &str =
    "debug information is there if the objects have it; compile them without -g and -lineinfo";

const COMPILER: &str = "this is a linker; give the option to the compiler";

impl ParseError {
    /// What the user may have meant.
    pub fn advice(&self) -> Option<String> {
        if let Some(since) = self.since() {
            let (major, minor) = (since.toolkit / 10, since.toolkit % 10);
            return Some(format!(
                "CUDA {major}.{minor} and later have it; --cuda-release chooses the release"
            ));
        }
        match self {
            Self::UnknownOption(name) => option(name.trim_start_matches('-')),
            Self::UndefinedValue { value, option: "arch" } => target(value),
            Self::UndefinedValue { option, .. } => {
                let row = TABLE.iter().find(|(_, row)| row.long == *option)?;
                match row.1.kind {
                    Kind::Choice(values) => Some(format!("it takes {}", values.join(", "))),
                    _ => None,
                }
            }
            Self::OptionsFile { reason, .. } => Some(reason.clone()),
            Self::TooManyOptionsFiles(_) => {
                Some("options files that read each other, or one that reads itself?".into())
            }
            _ => None,
        }
    }
}

/// On an unknown option.
fn option(word: &str) -> Option<String> {
    if let Some((_, advice)) = OTHERS.iter().find(|(name, _)| *name == word) {
        return Some((*advice).into());
    }
    // Their values may follow at once.
    if let Some((_, advice)) = OTHERS.iter().find(|(name, _)| {
        let value = word.strip_prefix(name);
        value.is_some_and(|value| match *name {
            "I" | "D" => !value.is_empty(),
            "j" => value.parse::<u32>().is_ok(),
            "Wl" => value.starts_with(','),
            _ => value.starts_with('='),
        })
    }) {
        return Some((*advice).into());
    }
    if matches!(word.strip_prefix('O'), Some("" | "0" | "1" | "2" | "3" | "4" | "s" | "fast")) {
        return Some(format!("machine code is linked as it is; give -{word} to the compiler"));
    }
    let names = || TABLE.iter().flat_map(|(_, row)| [row.long, row.short]);
    let begins = |name: &&str| word.len() > 2 && name.starts_with(word);
    let spelling = spelled(|row| row.long == word || row.short == word).or_else(|| {
        let near = closest(word, names().filter(|name| name.len() > 2));
        let near = near.or_else(|| names().find(begins))?;
        spelled(|row| row.long == near || row.short == near)
    })?;
    Some(format!("did you mean '{spelling}'?"))
}

/// On an unknown target.
fn target(value: &str) -> Option<String> {
    if matches!(value, "native" | "all" | "all-major") {
        return Some(
            "only nvcc resolves it; name one target, for example -arch=sm_90 ('nvidia-smi \
             --query-gpu=compute_cap --format=csv' shows the one of a GPU)"
                .into(),
        );
    }
    if value.contains(',') {
        return Some("a link is for one target; link once for each".into());
    }
    let lower = value.to_ascii_lowercase();
    let number = ["sm_", "sm", "compute_"].iter().find_map(|prefix| lower.strip_prefix(prefix));
    let number = number.unwrap_or(&lower).replace('.', "");
    if DROPPED.contains(&number.as_str()) {
        return Some(format!(
            "CUDA 13 dropped sm_{number}; the oldest target is sm_{}",
            TARGETS[0]
        ));
    }
    let names: Vec<_> = TARGETS.iter().map(|target| format!("sm_{target}")).collect();
    let meant = format!("sm_{number}");
    let near = names.iter().find(|name| **name == meant).map(String::as_str);
    let near = near.or_else(|| closest(&lower, names.iter().map(String::as_str)));
    Some(match near {
        Some(near) => format!("did you mean '{near}'?"),
        None => "it takes names such as sm_90; 'warpld help' lists them".into(),
    })
}

/// The spelling of the option with this property.
fn spelled(is: impl Fn(&Row) -> bool) -> Option<String> {
    let (_, row) = TABLE.iter().find(|(_, row)| is(row))?;
    Some(match row.long {
        "" => format!("-{}", row.short),
        long => format!("--{long}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_of_other_programs_are_explained() {
        for (value, advice) in [
            ("90", "did you mean 'sm_90'?"),
            ("9.0", "did you mean 'sm_90'?"),
            ("SM_90a", "did you mean 'sm_90a'?"),
            ("sm90", "did you mean 'sm_90'?"),
            ("sm_70", "CUDA 13 dropped sm_70; the oldest target is sm_75"),
            ("compute_52", "CUDA 13 dropped sm_52; the oldest target is sm_75"),
            ("sm_80,sm_90", "a link is for one target; link once for each"),
        ] {
            assert_eq!(target(value).as_deref(), Some(advice), "{value}");
        }
        assert!(target("native").unwrap().starts_with("only nvcc resolves it"));
        for value in ["gfx1100", "hopper", ""] {
            let advice = "it takes names such as sm_90; 'warpld help' lists them";
            assert_eq!(target(value).as_deref(), Some(advice), "{value}");
        }
    }

    #[test]
    fn options_of_other_programs_are_explained() {
        for (word, advice) in [
            ("c", "this is a linker; nvcc -c or nvcc -dc compiles"),
            ("O3", "machine code is linked as it is; give -O3 to the compiler"),
            ("output", "did you mean '--output-file'?"),
            ("arhc", "did you mean '--arch'?"),
            ("std", COMPILER),
            ("I.", COMPILER),
            ("Iinclude", COMPILER),
            ("DX", COMPILER),
            ("fPIC", "device code needs no such option"),
            ("gc-sections", "code that no kernel reaches is dropped anyway"),
            ("strip-all", STRIP),
            ("j8", "--threads=N sets the number of threads"),
            ("Wl,-z,now", "only compilers pass options on so; give them to the host linker"),
        ] {
            assert_eq!(option(word).as_deref(), Some(advice), "{word}");
        }
        assert_eq!(option("zz"), None);
    }
}
