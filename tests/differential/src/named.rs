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
//! A part `--- index.uidx hex` is a file of these bytes, which links may name in an
//! option; `#` begins a comment.
//!
//! `targets only:` leaves the case out on all others, even where it could be compared.
//!
//! `=255` is the exit status nvlink must have, 0 if it is not given. The three
//! header lines of PTX are added.

use crate::program::{Case, Compiler, HostRefs, Link, Module, Pack, Sm};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// All cases of `folder` for the targets among `sms`.
pub fn cases(folder: &Path, sms: &[Sm], every_sm: bool) -> Result<Vec<Case>, String> {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .map_err(|e| format!("{}: {e}", folder.display()))?
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "case"))
        .collect();
    paths.sort();
    let mut cases = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        cases.extend(
            parse(&name, &text, sms, every_sm).map_err(|e| format!("{}: {e}", path.display()))?,
        );
    }
    Ok(cases)
}

fn parse(name: &str, text: &str, sms: &[Sm], every_sm: bool) -> Result<Vec<Case>, String> {
    let mut parts = text.split("\n--- ");
    let head = parts.next().unwrap_or_default();
    let parts: Vec<(&str, &str)> = parts
        .map(|part| part.split_once('\n').ok_or("module without text"))
        .collect::<Result<_, _>>()?;
    let mut targets = Sm::CLASSIC.to_vec();
    let mut lines = Vec::new();
    let mut only = false;
    for line in head.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        let (key, value) = line.split_once(':').ok_or(format!("no colon: {line}"))?;
        match key.split_whitespace().collect::<Vec<_>>()[..] {
            ["targets"] | ["targets", "only"] => {
                only = key.ends_with("only");
                targets = Sm::parse_list(value.trim()).ok_or(format!("unknown targets {value}"))?;
            }
            ["link", label] => lines.push((label, 0, value)),
            ["link", label, status] => {
                let status = status.strip_prefix('=').and_then(|s| s.parse().ok());
                lines.push((label, status.ok_or(format!("bad status: {line}"))?, value));
            }
            _ => return Err(format!("unknown line: {line}")),
        }
    }
    let (contents, parts): (Vec<_>, Vec<_>) =
        parts.into_iter().partition(|(head, _)| head.split_whitespace().nth(1) == Some("hex"));
    let contents: Vec<(String, Vec<u8>)> =
        contents.into_iter().map(|(head, text)| hex(head, text)).collect::<Result<_, _>>()?;
    let own = targets;
    // nvlink schedules code of the older compiler anew for later targets.
    let older =
        parts.iter().any(|(head, _)| head.split_whitespace().any(|w| w.starts_with("cuda12")));
    Sm::wanted(name, &own, sms, every_sm)
        .into_iter()
        .filter(|sm| own.contains(sm) || !older && !only)
        .map(|sm| {
            Ok(Case {
                name: format!("case-{name}-{sm}"),
                sm,
                modules: parts
                    .iter()
                    .map(|part| module(part.0, part.1, sm))
                    .collect::<Result<_, String>>()?,
                files: Vec::new(),
                contents: contents.clone(),
                links: lines
                    .iter()
                    .map(|&(label, status, args)| {
                        // Written for other targets, a case only compares.
                        let status = own.contains(&sm).then_some(status);
                        link(label, status, args, sm)
                    })
                    .collect(),
                features: BTreeMap::new(),
                conflict: None,
            })
        })
        .collect()
}

fn link(label: &str, status: Option<i32>, words: &str, sm: Sm) -> Link {
    let is_input = |word: &&str| {
        !word.starts_with('-')
            && [".cubin", ".o", ".a", ".fatbin"].iter().any(|end| word.ends_with(end))
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
            _ if word == "texmode_independent" => mode = ", texmode_independent",
            _ => flags.push(word.to_owned()),
        }
    }
    let pack = match (suffix, archive) {
        ("cubin", None) => Pack::Cubin,
        ("fatbin", None) => Pack::Fatbin,
        ("o", None) => Pack::Object(refs),
        ("o", Some(archive)) => Pack::Archive(refs, archive),
        _ => return Err(format!("unknown kind of module {file}")),
    };
    let ptx = format!(".version 9.0\n.target {target}{mode}\n.address_size 64\n{text}");
    Ok(Module { name: name.into(), ptx, flags, sm: target, compiler, pack })
}
