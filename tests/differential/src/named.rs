//! Small cases with a name, one file each: what the case shows, its links and
//! its modules.
//!
//! ```text
//! # What this case shows.
//! targets: classic
//! link plain: a.cubin b.cubin
//! link debug: -g a.cubin b.cubin
//! link bad =255: a.cubin
//! --- a.cubin -lineinfo
//! .visible .entry k() { ret; }
//! --- b.o kernels=k* constants=c
//! …
//! ```
//!
//! The word `ptx` in a heading, or `ptx-uncompressed`, gives the linker the PTX itself in that
//! container; `--- a.ptx` gives it bare. These cases are in a folder of their own, since a link of
//! them needs a toolkit.
//!
//! A part `--- index.uidx hex` is a file of these bytes, which links may name in an
//! option; `#` begins a comment.
//!
//! `targets only:` leaves the case out on all others, even where it could be compared.
//!
//! `=255` is the exit status nvlink must have, 0 if it is not given. Where it changed with a release
//! of the toolkit, that release follows: `link mixed =0 13.1=1: …` is refused from 13.1 on.
//! `releases: 13.3..` leaves the case out with all other releases (see [`Releases`]). The three
//! header lines of PTX are added.

use crate::cli::Options;
use crate::inputs::{self, Inputs};
use crate::program::{Case, Compiler, Form, HostRefs, Link, Module, Pack, Sm};
use crate::release::{Release, Releases};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of case files.
pub const FOLDER: &str = "tests/differential/cases";

/// All cases of `folder` that `options` wants.
pub fn cases(options: &Options, folder: &Path) -> Result<Vec<Case>, String> {
    let release = options.tools.release;
    let mut cases = Vec::new();
    let mut files = files(folder, release)?;
    // Older compilers may lack what a case needs.
    files.retain(|file| file.releases.contains(options.tools.compiled_by()));
    for file in files.into_iter().filter(|file| options.is_in_part(&file.name)) {
        let mut wanted = Sm::wanted(&file.name, &file.targets, &options.sms, options.every_sm);
        wanted.retain(|&sm| file.allows(sm));
        for sm in options.some(&file.name, &wanted) {
            let case = file.case(sm, release).map_err(|e| format!("{}: {e}", file.name))?;
            match options.inputs {
                Inputs::Ptx if !file.names_ptx() => cases.extend(inputs::named(case)),
                _ => cases.push(case),
            }
        }
    }
    Ok(cases)
}

/// The case files of `folder` for `release`, by name.
pub fn files(folder: &Path, release: Release) -> Result<Vec<CaseFile>, String> {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .map_err(|e| format!("{}: {e}", folder.display()))?
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "case"))
        .collect();
    paths.sort();
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).map_err(|e| e.to_string())?;
        CaseFile::parse(&path.file_stem().unwrap_or_default().to_string_lossy(), &text)
    };
    let files = paths.iter().map(|path| read(path).map_err(|e| format!("{}: {e}", path.display())));
    let mut files: Vec<CaseFile> = files.collect::<Result<_, String>>()?;
    files.retain(|file| file.releases.contains(release));
    Ok(files)
}

/// nvlink's exit status, and since when.
#[derive(Clone, Debug)]
struct Status(Vec<(Release, i32)>);

impl Status {
    /// Reads `=0` and `13.1=1`, in the order of the releases.
    fn parse(words: &[&str]) -> Result<Self, String> {
        let mut all = vec![(Releases::ALL.first, 0)];
        for word in words {
            let wrong = || format!("'{word}' is no status like =1 or 13.1=1");
            let (since, status) = word.split_once('=').ok_or_else(wrong)?;
            let status = status.parse().map_err(|_| wrong())?;
            if since.is_empty() && all.len() == 1 {
                all[0].1 = status;
                continue;
            }
            let since = since.parse::<Releases>()?.first;
            if all.last().is_some_and(|&(last, _)| last >= since) {
                return Err(format!("'{word}' comes after a later release"));
            }
            all.push((since, status));
        }
        Ok(Self(all))
    }

    fn of(&self, release: Release) -> i32 {
        let known = self.0.iter().rev().find(|(since, _)| *since <= release);
        known.map_or(0, |(_, status)| *status)
    }
}

/// A case file, of which there is a case for each target.
#[derive(Clone, Debug)]
pub struct CaseFile {
    /// Name, without a suffix.
    pub name: String,
    /// The targets it was written for.
    targets: Vec<Sm>,
    /// Whether it is left out on all others.
    only: bool,
    /// The releases it is for.
    releases: Releases,
    /// Label, nvlink's exit status and arguments of each link.
    links: Vec<(String, Status, String)>,
    /// Heading and PTX of each module.
    modules: Vec<(String, String)>,
    /// Name and bytes of other files.
    contents: Vec<(String, Vec<u8>)>,
}

impl CaseFile {
    fn parse(name: &str, text: &str) -> Result<Self, String> {
        let mut parts = text.split("\n--- ");
        let head = parts.next().unwrap_or_default();
        let mut file = Self {
            name: name.into(),
            targets: Sm::CLASSIC.to_vec(),
            only: false,
            releases: Releases::ALL,
            links: Vec::new(),
            modules: Vec::new(),
            contents: Vec::new(),
        };
        for line in head.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            file.heading(line)?;
        }
        for part in parts {
            let (head, text) = part.split_once('\n').ok_or("module without text")?;
            match head.split_whitespace().nth(1) {
                Some("hex") => file.contents.push(hex(head, text)?),
                _ => file.modules.push((head.into(), text.into())),
            }
        }
        Ok(file)
    }

    /// Takes in a line above the modules.
    fn heading(&mut self, line: &str) -> Result<(), String> {
        let (key, value) = line.split_once(':').ok_or(format!("no colon: {line}"))?;
        match key.split_whitespace().collect::<Vec<_>>()[..] {
            ["targets"] | ["targets", "only"] => {
                self.only = key.ends_with("only");
                self.targets = Sm::parse_list(value.trim(), Release::BASE)
                    .ok_or(format!("unknown targets {value}"))?;
            }
            ["releases"] => self.releases = value.trim().parse()?,
            ["link", label, ref status @ ..] => {
                self.links.push((label.into(), Status::parse(status)?, value.into()));
            }
            _ => return Err(format!("unknown line: {line}")),
        }
        Ok(())
    }

    /// Whether the two linkers may be compared on it for this target.
    fn allows(&self, sm: Sm) -> bool {
        // nvlink schedules code of the older compiler anew for later targets.
        let is_older =
            |(head, _): &(String, _)| head.split_whitespace().any(|w| w.starts_with("cuda12"));
        self.targets.contains(&sm) || !self.only && !self.modules.iter().any(is_older)
    }

    /// Whether it says itself what is PTX.
    fn names_ptx(&self) -> bool {
        let is_ptx = |word: &str| word.ends_with(".ptx") || word.starts_with("ptx");
        self.modules.iter().any(|(head, _)| head.split_whitespace().any(is_ptx))
    }

    /// The target to compare on that is nearest to `wanted` among those of its kind.
    pub fn nearest(&self, wanted: Sm) -> Option<Sm> {
        let itself = Sm::wanted(&self.name, &self.targets, &[wanted], false);
        if itself.contains(&wanted) && self.allows(wanted) {
            return Some(wanted);
        }
        let alike = self.targets.iter().filter(|sm| sm.is_mercury() == wanted.is_mercury());
        alike.min_by_key(|sm| (sm.number.abs_diff(wanted.number), sm.suffix)).copied()
    }

    /// The case for a target and a release.
    pub fn case(&self, sm: Sm, release: Release) -> Result<Case, String> {
        let modules = self.modules.iter().map(|(head, text)| module(head, text, sm));
        // Written for other targets, a case only compares.
        let status = |status: &Status| self.targets.contains(&sm).then(|| status.of(release));
        let links = self.links.iter();
        Ok(Case {
            name: format!("case-{}-{sm}", self.name),
            sm,
            modules: modules.collect::<Result<_, _>>()?,
            files: Vec::new(),
            contents: self.contents.clone(),
            links: links.map(|(label, s, args)| link(label, status(s), args, sm)).collect(),
            features: BTreeMap::new(),
            conflict: None,
        })
    }
}

fn link(label: &str, status: Option<i32>, words: &str, sm: Sm) -> Link {
    let is_input = |word: &&str| {
        !word.starts_with('-')
            && [".cubin", ".ptx", ".o", ".a", ".fatbin"].iter().any(|end| word.ends_with(end))
    };
    let (inputs, args): (Vec<&str>, Vec<&str>) = words.split_whitespace().partition(is_input);
    Link {
        label: label.into(),
        sm,
        inputs: inputs.into_iter().map(str::to_owned).collect(),
        side_file: args
            .iter()
            .find_map(|arg| arg.strip_prefix("--register-link-binaries=").map(str::to_owned)),
        args: args.into_iter().map(str::to_owned).collect(),
        output: format!("{label}.cubin"),
        expected: status,
    }
}

/// The name of a file of bytes, and these.
fn hex(head: &str, text: &str) -> Result<(String, Vec<u8>), String> {
    let name = head.split_whitespace().next().unwrap_or_default();
    let code = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let digits: Vec<u32> = code
        .flat_map(|line| line.chars().filter(|c| !c.is_whitespace()))
        .map(|c| c.to_digit(16).ok_or(format!("{name}: no hex digit: {c}")))
        .collect::<Result<_, _>>()?;
    let bytes = digits.chunks(2).map(|pair| match pair {
        [high, low] => Ok((high << 4 | low) as u8),
        _ => Err(format!("{name}: half a byte")),
    });
    Ok((name.to_owned(), bytes.collect::<Result<_, String>>()?))
}

fn module(head: &str, text: &str, sm: Sm) -> Result<Module, String> {
    let mut words = head.split_whitespace();
    let file = words.next().ok_or("module without a name")?;
    let (name, suffix) = file.split_once('.').ok_or("module without a suffix")?;
    let mut flags = Vec::new();
    let mut refs = HostRefs::default();
    let mut archive = None;
    let mut target = sm;
    let mut mode = "";
    let mut compiler = Compiler::Current;
    let mut form = Form::default();
    for word in words {
        let list = |value: &str| value.split(',').map(str::to_owned).collect();
        match word.split_once('=') {
            Some(("kernels", value)) => refs.kernels = list(value),
            Some(("static", value)) => refs.static_kernels = list(value),
            Some(("variables", value)) => refs.variables = list(value),
            Some(("constants", value)) => refs.constants = list(value),
            Some(("archive", value)) => archive = Some(value.to_owned()),
            Some(("target", value)) => target = Sm::parse(value).ok_or("unknown target")?,
            _ if word == "cuda12" => compiler = Compiler::Cuda12,
            _ if word == "cuda12.0" => compiler = Compiler::Cuda120,
            _ if word == "ptx" => form = Form::Ptx { compressed: true },
            _ if word == "ptx-uncompressed" => form = Form::Ptx { compressed: false },
            _ if word == "texmode_independent" => mode = ", texmode_independent",
            _ => flags.push(word.to_owned()),
        }
    }
    let pack = match (suffix, archive) {
        ("ptx", None) => {
            form = Form::Ptx { compressed: false };
            Pack::Cubin
        }
        ("cubin", None) => Pack::Cubin,
        ("fatbin", None) => Pack::Fatbin,
        ("o", None) => Pack::Object(refs),
        ("o", Some(archive)) => Pack::Archive(refs, archive),
        _ => return Err(format!("unknown kind of module {file}")),
    };
    let ptx = format!(
        ".version {}\n.target {target}{mode}\n.address_size 64\n{text}",
        target.ptx_version()
    );
    Ok(Module { name: name.into(), ptx, flags, sm: target, compiler, form, pack })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_holds_from_its_release_on() -> Result<(), String> {
        let release = |minor| Release { major: 13, minor, patch: 40 };
        let all = |words: &[&str]| {
            Status::parse(words).map(|status| [0, 1, 2, 3, 4].map(|n| status.of(release(n))))
        };
        assert_eq!(all(&[])?, [0; 5]);
        assert_eq!(all(&["=255"])?, [255; 5]);
        assert_eq!(all(&["13.1=1"])?, [0, 1, 1, 1, 1]);
        assert_eq!(all(&["=1", "13.1=0", "13.3.33=2"])?, [1, 0, 0, 2, 2]);
        for wrong in [["1"], ["13.1"], ["13.1=x"], ["x=1"]] {
            assert!(Status::parse(&wrong).is_err(), "{wrong:?}");
        }
        assert!(Status::parse(&["13.3=1", "13.1=0"]).is_err());
        assert!(Status::parse(&["13.3=1", "=0"]).is_err());
        Ok(())
    }

    #[test]
    fn a_case_of_later_releases_is_left_out_before() -> Result<(), String> {
        let file = CaseFile::parse("x", "releases: 13.3..\nlink plain: a.cubin\n--- a.cubin\n")?;
        assert!(!file.releases.contains(Release::BASE));
        assert!(file.releases.contains(Release { minor: 4, ..Release::BASE }));
        Ok(())
    }
}
