//! A program of ours that uses NVSHMEM: a large library of device code, of which
//! a link without debug information leaves most out.

use crate::cli::Options;
use crate::cuda::{self, Unit};
use crate::program::{Case, Link, Sm};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where the sources are.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/nvshmem");
const NAMES: [&str; 3] = ["ring", "signals", "reduce"];
/// Targets the library was built for.
const TARGETS: [Sm; 5] =
    [Sm::plain(75), Sm::plain(80), Sm::plain(90), Sm::plain(100), Sm::plain(120)];
const ARCHIVE: &str = "libnvshmem_device.a";

/// Compiles the sources with the headers in `library` and returns one case per target.
pub fn cases(options: &Options, library: &Path) -> Result<Vec<Case>, String> {
    let library = std::path::absolute(library).map_err(|e| e.to_string())?;
    let flags = vec![format!("-I{}", library.join("include").display())];
    // Objects for classic and for later targets are compiled apart: each run wants one of them.
    let (classic, later): (Vec<Sm>, Vec<Sm>) = TARGETS
        .into_iter()
        .filter(|sm| options.sms.contains(sm))
        .partition(|sm: &Sm| !sm.is_mercury());
    let unit = |name: &str, sms: &[Sm]| Unit {
        source: format!("{name}.cu"),
        flags: flags.clone(),
        targets: cuda::object_targets(sms),
    };
    let mut cases = Vec::new();
    for sms in [&classic[..], &later[..]].into_iter().filter(|sms| !sms.is_empty()) {
        let units = NAMES.map(|name| unit(name, sms));
        let folder = Path::new(SOURCES);
        let made = cuda::compile_all(&options.tools, folder, options.settings.jobs, &units)?;
        let mut files = vec![(ARCHIVE.to_owned(), library.join("lib").join(ARCHIVE))];
        for (name, unit) in NAMES.iter().zip(&units) {
            let path: &PathBuf = made.get(unit).ok_or(format!("{name} was not compiled"))?;
            files.push((format!("{name}.o"), path.clone()));
        }
        cases.extend(sms.iter().map(|&sm| case(sm, &files)));
    }
    Ok(cases)
}

fn case(sm: Sm, files: &[(String, PathBuf)]) -> Case {
    Case {
        name: format!("nvshmem-{sm}"),
        sm,
        modules: Vec::new(),
        files: files.to_vec(),
        contents: Vec::new(),
        links: links(sm),
        features: BTreeMap::new(),
        conflict: None,
    }
}

/// The links for one target. nvlink takes seconds for each from sm_100 on, so there
/// are fewer of them there.
fn links(sm: Sm) -> Vec<Link> {
    const LIBRARY: &str = "-L. -lnvshmem_device -L{lib} -lcudadevrt";
    const OBJECTS: &str = "ring.o signals.o reduce.o";
    const REGISTER: &str = "-m64 -cpu-arch=X86_64 --register-link-binaries=reg.c";
    let sets: &[(&str, &str, &str, &str)] = &[
        ("plain", OBJECTS, LIBRARY, ""),
        ("ignore-host-info", OBJECTS, LIBRARY, "--ignore-host-info"),
        // All functions stay.
        ("relink-1", OBJECTS, LIBRARY, "-r"),
        ("relink-2", "relink-1.cubin", "-L{lib} -lcudadevrt", ""),
        ("g", OBJECTS, LIBRARY, "-g"),
        ("nvcc-like", OBJECTS, LIBRARY, REGISTER),
        ("by-path", "libnvshmem_device.a reduce.o signals.o ring.o", "", "-L{lib} -lcudadevrt"),
        ("kernels-used", OBJECTS, LIBRARY, "--kernels-used=meet"),
        ("preserve-relocs", OBJECTS, LIBRARY, "--preserve-relocs"),
        ("force-rela", OBJECTS, LIBRARY, "--force-rela"),
    ];
    let count = if sm.is_mercury() { 4 } else { sets.len() };
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let link = |&(label, inputs, library, args): &(&str, &str, &str, &str)| Link {
        label: label.into(),
        sm,
        inputs: words(inputs),
        args: [words(library), words(args)].concat(),
        output: format!("{label}.cubin"),
        expected: None,
        side_file: args.contains("reg.c").then(|| "reg.c".to_owned()),
    };
    sets.iter().take(count).map(link).collect()
}
