//! How the modules are handed to the linker, and with which options.

use super::Mix;
use super::emit::home;
use super::plan::{Linkage, Plan};
use crate::program::{HostRefs, Link, Module, Pack};
use crate::rng::Rng;

/// Decides how each module is packed.
pub fn pack(rng: &mut Rng, mix: &mut Mix, plan: &Plan, modules: &mut [Module]) {
    let style = rng.below(100);
    let launches = rng.chance(85);
    for (m, module) in modules.iter_mut().enumerate() {
        let refs = host_refs(rng, plan, m, launches);
        module.pack = match style {
            0..58 => Pack::Cubin,
            58..84 => Pack::Object(refs),
            84..92 if rng.chance(50) => Pack::Archive(refs, "libm.a".into()),
            84..92 => Pack::Object(refs),
            92..96 if rng.chance(50) => Pack::Object(refs),
            96..100 if rng.chance(50) => Pack::Fatbin,
            _ => Pack::Cubin,
        };
        mix.note(match module.pack {
            Pack::Cubin => "input-cubin",
            Pack::Object(_) => "input-object",
            Pack::Archive(..) => "input-archive-member",
            Pack::Fatbin => "input-fatbin",
        });
    }
}

fn host_refs(rng: &mut Rng, plan: &Plan, m: usize, launches: bool) -> HostRefs {
    let mut refs = HostRefs::default();
    for kernel in plan.kernels.iter().filter(|_| launches) {
        // Host code may also launch a kernel of another module.
        let Some(linkage) = home(&kernel.homes, m).or(rng.chance(10).then_some(Linkage::Visible))
        else {
            continue;
        };
        if !rng.chance(60) {
            continue;
        }
        let name = &kernel.name;
        if linkage == Linkage::Static {
            refs.static_kernels.push(rng.pick(&[format!("*{name}*"), name.clone()]).clone());
        } else {
            refs.kernels.push(rng.pick(&[format!("{name}*"), name.clone()]).clone());
        }
    }
    for var in &plan.vars {
        if home(&var.homes, m).is_some() && rng.chance(30) {
            match var.space {
                super::vars::Space::Global => refs.variables.push(var.name.clone()),
                super::vars::Space::Const => refs.constants.push(var.name.clone()),
                super::vars::Space::Shared => {}
            }
        }
    }
    refs
}

/// The option sets links are drawn from, with weights.
const VARIATIONS: &[(&str, usize, &[&str])] = &[
    ("g", 6, &["-g"]),
    ("g-suppressed", 2, &["-g", "-suppress-debug-info"]),
    ("preserve-relocs", 6, &["--preserve-relocs"]),
    ("preserve-relocs-g", 1, &["--preserve-relocs", "-g"]),
    ("keep-system", 1, &["--keep-system-libraries", "-lcudadevrt", "-L{lib}"]),
    ("devrt", 2, &["-lcudadevrt", "-L{lib}"]),
    ("ignore-host-info", 2, &["--ignore-host-info"]),
    ("use-host-info", 1, &["--use-host-info"]),
    ("force-rela", 4, &["--force-rela"]),
    ("force-rela-r", 1, &["--force-rela", "-r"]),
    ("verbose-tkinfo", 1, &["--verbose-tkinfo", "true"]),
    ("null-pointer", 1, &["--reserve-null-pointer"]),
    ("no-smem-reservation", 2, &["--disable-smem-reservation", "true"]),
    ("extended-smem", 1, &["--enable-extended-smem", "true"]),
    ("allow-undefined", 1, &["--allow-undefined-globals"]),
    ("extra-warnings", 1, &["-extrawarn"]),
    ("verbose", 3, &["-v"]),
    ("callgraph", 2, &["-dump-callgraph"]),
    ("nvcc-like", 2, &["-m64", "-cpu-arch=X86_64", "-lcudadevrt", "-L{lib}"]),
    ("kernels-used", 6, &["--kernels-used"]),
    ("variables-used", 2, &["--variables-used"]),
    ("register-file", 2, &["--register-link-binaries=reg.c"]),
    ("r", 6, &["-r"]),
    ("relink", 8, &["-r"]),
    ("partial-relink", 5, &["-r"]),
    ("preserve-relocs-r", 1, &["--preserve-relocs", "-r"]),
    ("shuffled", 8, &[]),
    ("one-missing", 2, &[]),
    ("warnings-as-errors", 1, &["-Werror"]),
];

pub fn choose(
    rng: &mut Rng,
    mix: &mut Mix,
    plan: &Plan,
    modules: &[Module],
    count: usize,
) -> Vec<Link> {
    let mut inputs: Vec<String> = Vec::new();
    for file in modules.iter().map(Module::file) {
        if !inputs.contains(&file) {
            inputs.push(file);
        }
    }
    let link = |label: &str, inputs: &[String], args: Vec<String>| Link {
        label: label.into(),
        sm: plan.sm,
        inputs: inputs.to_vec(),
        side_file: args
            .iter()
            .find_map(|arg| arg.strip_prefix("--register-link-binaries=").map(str::to_owned)),
        args,
        output: format!("{label}.cubin"),
        expected: None,
    };
    let mut links = vec![link("plain", &inputs, Vec::new())];
    let total: usize = VARIATIONS.iter().map(|v| v.1).sum();
    for _ in 0..count * 4 {
        if links.len() >= count {
            break;
        }
        let mut at = rng.below(total);
        let &(label, _, args) = VARIATIONS
            .iter()
            .find(|v| {
                let found = at < v.1;
                at = at.saturating_sub(v.1);
                found
            })
            .unwrap_or(&VARIATIONS[0]);
        if links.iter().any(|link| link.label.trim_end_matches("-1") == label) {
            continue;
        }
        let mut args: Vec<String> = args.iter().map(|a| (*a).to_owned()).collect();
        let mut files = inputs.clone();
        match label {
            "kernels-used" => args[0] += &format!("={}", pattern(rng, "k", plan.kernels.len())),
            "variables-used" => args[0] += &format!("={}", pattern(rng, "g", plan.vars.len())),
            "shuffled" if files.len() > 1 => rng.shuffle(&mut files),
            "one-missing" if files.len() > 1 => drop(files.remove(rng.below(inputs.len()))),
            "shuffled" | "one-missing" => continue,
            "partial-relink" if files.len() < 2 => continue,
            _ => {}
        }
        match label {
            "relink" | "partial-relink" => {
                let cut =
                    if label == "relink" { files.len() } else { rng.range(1, files.len() - 1) };
                let first = link(&format!("{label}-1"), &files[..cut], args);
                let mut rest = files.split_off(cut);
                let at = if rng.chance(70) { 0 } else { rest.len() };
                rest.insert(at, first.output.clone());
                let second = rng.pick(&[vec![], vec![], vec![], vec!["-g".to_owned()]]).clone();
                links.push(first);
                links.push(link(&format!("{label}-2"), &rest, second));
            }
            _ => links.push(link(label, &files, args)),
        }
        mix.note(label);
    }
    links
}

/// One or two names, or a name that matches nothing.
fn pattern(rng: &mut Rng, prefix: &str, count: usize) -> String {
    let one = |rng: &mut Rng| format!("{prefix}{}", rng.below(count.max(1)));
    match rng.below(4) {
        0 => format!("{},{}", one(rng), one(rng)),
        1 if rng.chance(30) => "nothing".into(),
        _ => one(rng),
    }
}
