//! A real program at full size: the inputs of NCCL's own device link, which
//! the library keeps in its section `__nv_relfatbin`.

use crate::hostobj;
use crate::program::{Case, HostRefs, Link, Sm};
use crate::tools::Tools;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Targets the library was built for.
const TARGETS: [Sm; 5] =
    [Sm::plain(75), Sm::plain(80), Sm::plain(90), Sm::plain(100), Sm::plain(120)];

/// Writes the inputs as host objects and returns one case per target.
pub fn cases(tools: &Tools, library: &Path, sms: &[Sm]) -> Result<Vec<Case>, String> {
    let files = split(&tools.work.join("nccl"), library, true)?;
    let inputs: Vec<String> = files.iter().map(|(name, _)| name.clone()).collect();
    let case = |sm: Sm| {
        let link = |label: &str, inputs: &[String], args: &[&str]| Link {
            label: label.into(),
            sm,
            inputs: inputs.to_vec(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            output: format!("{label}.cubin"),
            expected: None,
            side_file: None,
        };
        Case {
            name: format!("nccl-{sm}"),
            sm,
            modules: Vec::new(),
            files: files.clone(),
            contents: Vec::new(),
            links: vec![
                link("plain", &inputs, &[]),
                link("ignore-host-info", &inputs, &["--ignore-host-info"]),
                link("relink-1", &inputs, &["-r"]),
                link("relink-2", &["relink-1.cubin".to_owned()], &[]),
            ],
            features: BTreeMap::new(),
            conflict: None,
        }
    };
    Ok(TARGETS.into_iter().filter(|sm| sms.contains(sm)).map(case).collect())
}

/// One host object per container. With `references` the first one carries those of the
/// library's whole host code, which nvlink pools anyway.
pub fn split(
    folder: &Path,
    library: &Path,
    references: bool,
) -> Result<Vec<(String, PathBuf)>, String> {
    fs::create_dir_all(folder).map_err(|e| e.to_string())?;
    let data = fs::read(library).map_err(|e| format!("{}: {e}", library.display()))?;
    let names = |section: &str| -> Vec<String> {
        let bytes = section_bytes(&data, section).unwrap_or_default();
        let names = bytes.split(|&c| c == 0).filter(|name| !name.is_empty());
        names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    };
    let refs = HostRefs {
        kernels: names(".nvHRKE"),
        static_kernels: names(".nvHRKI"),
        variables: names(".nvHRDE"),
        constants: names(".nvHRCE"),
    };
    let mut rest = section_bytes(&data, "__nv_relfatbin").ok_or("no device link inputs in it")?;
    let mut files = Vec::new();
    while let Some(size) = container_size(rest) {
        let (container, next) = rest.split_at(size);
        let name = format!("c{:03}.o", files.len());
        let path = folder.join(&name);
        let own = if files.is_empty() && references { refs.clone() } else { HostRefs::default() };
        let object = hostobj::object(container, &format!("_nccl_{}", files.len()), &own);
        if fs::read(&path).ok().as_deref() != Some(&object[..]) {
            fs::write(&path, object).map_err(|e| e.to_string())?;
        }
        files.push((name, path));
        rest = next;
        while rest.first() == Some(&0) {
            rest = &rest[1..];
        }
    }
    Ok(files)
}

fn word(data: &[u8], at: usize) -> Option<usize> {
    let bytes = data.get(at..at.checked_add(8)?)?;
    usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok()
}

/// Size of the container that starts here, header included.
fn container_size(data: &[u8]) -> Option<usize> {
    if !data.starts_with(&0xba55_ed50_u32.to_le_bytes()) {
        return None;
    }
    let size = word(data, 8)?.checked_add(16)?;
    (size <= data.len()).then_some(size)
}

/// Bytes of the named section of an ELF64 host file.
fn section_bytes<'a>(data: &'a [u8], wanted: &str) -> Option<&'a [u8]> {
    let half = |at: usize| Some(u16::from_le_bytes(data.get(at..at + 2)?.try_into().ok()?));
    let table = word(data, 0x28)?;
    let header = |index: usize| data.get(table + index * 64..table + index * 64 + 64);
    let bytes = |header: &[u8]| -> Option<&'a [u8]> {
        let (offset, size) = (word(header, 0x18)?, word(header, 0x20)?);
        data.get(offset..offset.checked_add(size)?)
    };
    let names = bytes(header(half(0x3e)?.into())?)?;
    (0..half(0x3c)?.into()).filter_map(header).find_map(|header| {
        let at = word(header, 0)? & 0xffff_ffff;
        let name = names.get(at..)?.split(|&c| c == 0).next()?;
        if name == wanted.as_bytes() { bytes(header) } else { None }
    })
}
