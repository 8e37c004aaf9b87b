//! The symbols of a program and the modules that define them.

use super::Mix;
use super::vars::{self, Image, Var};
use crate::program::Sm;
use crate::rng::Rng;

/// Who may refer to a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkage {
    Visible,
    Weak,
    Static,
    Common,
}

impl Linkage {
    /// PTX keyword with its blank, as it stands before `.func` or a space.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Visible => ".visible ",
            Self::Weak => ".weak ",
            Self::Static => "",
            Self::Common => ".common ",
        }
    }
}

/// Parameters and result of a device function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signature {
    IntInt,
    IntIntInt,
    LongLong,
    VoidPointer,
    StructStruct,
    VoidVoid,
}

impl Signature {
    pub const ALL: [Self; 6] = [
        Self::IntInt,
        Self::IntIntInt,
        Self::LongLong,
        Self::VoidPointer,
        Self::StructStruct,
        Self::VoidVoid,
    ];

    /// `(result) name (parameters)`, as in a declaration or a prototype.
    pub fn declare(self, name: &str) -> String {
        let p = |n: usize, kind: &str| {
            if name == "_" { format!(".param {kind} _") } else { format!(".param {kind} p{n}") }
        };
        let r = |kind: &str| {
            if name == "_" { format!("(.param {kind} _) ") } else { format!("(.param {kind} r0) ") }
        };
        let block = if name == "_" { "_[24]" } else { "p0[24]" };
        let result_block = if name == "_" { "_[24]" } else { "r0[24]" };
        match self {
            Self::IntInt => format!("{}{name} ({})", r(".b32"), p(0, ".b32")),
            Self::IntIntInt => {
                format!("{}{name} ({}, {})", r(".b32"), p(0, ".b32"), p(1, ".b32"))
            }
            Self::LongLong => format!("{}{name} ({})", r(".b64"), p(0, ".b64")),
            Self::VoidPointer => format!("{name} ({})", p(0, ".b64")),
            Self::StructStruct => {
                format!("(.param .align 8 .b8 {result_block}) {name} (.param .align 8 .b8 {block})")
            }
            Self::VoidVoid => format!("{name} ()"),
        }
    }
}

/// A device function; several modules may define it.
#[derive(Clone, Debug)]
pub struct Func {
    pub name: String,
    pub signature: Signature,
    /// Defining modules.
    pub homes: Vec<(usize, Linkage)>,
    /// Index of the function this one is another name for.
    pub alias_of: Option<usize>,
    /// Whether its code never returns.
    pub noreturn: bool,
}

/// A kernel; several modules may define a weak one.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub name: String,
    pub homes: Vec<(usize, Linkage)>,
    /// Launch bounds and cluster directives.
    pub bounds: String,
    /// Size of an extra parameter block, 0 for none.
    pub block: usize,
    /// A kernel without any parameter.
    pub bare: bool,
}

/// What a whole module is like.
#[derive(Clone, Debug)]
pub struct ModulePlan {
    pub flags: Vec<String>,
    pub lines: bool,
    pub independent_textures: bool,
    pub sm: Sm,
    pub older: bool,
}

/// The whole program.
#[derive(Clone, Debug)]
pub struct Plan {
    pub sm: Sm,
    pub modules: Vec<ModulePlan>,
    pub funcs: Vec<Func>,
    pub kernels: Vec<Kernel>,
    pub vars: Vec<Var>,
    pub images: Vec<Image>,
    /// Further text for one module, for deliberate conflicts.
    pub extra: Vec<(usize, String)>,
    /// Upper bound of values kept alive at once in function bodies.
    pub pressure: usize,
}

impl Plan {
    pub fn new(rng: &mut Rng, mix: &mut Mix, sm: Sm) -> Self {
        let count = *rng.pick(&[1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 7, 8]);
        let modules = (0..count).map(|_| module_plan(rng, mix, sm)).collect();
        let mut plan = Self {
            sm,
            modules,
            funcs: Vec::new(),
            kernels: Vec::new(),
            vars: Vec::new(),
            images: Vec::new(),
            extra: Vec::new(),
            pressure: *rng.pick(&[0, 4, 12, 24]),
        };
        plan.add_funcs(rng, mix);
        plan.add_kernels(rng, mix);
        plan.vars = vars::plan_vars(rng, mix, &plan);
        plan.images = vars::plan_images(rng, mix, &plan);
        plan
    }

    fn add_funcs(&mut self, rng: &mut Rng, mix: &mut Mix) {
        let modules = self.modules.len();
        let count = rng.range(0, 2 + 2 * modules);
        let mangled = mix.likes(rng, "mangled-names", 100);
        for i in 0..count {
            let name = if mangled {
                format!("_Z2f{}i", i % 10) + &"i".repeat(i / 10)
            } else {
                format!("f{i}")
            };
            let signature = *rng.pick(&Signature::ALL[..rng_signatures(i)]);
            let void = matches!(signature, Signature::VoidPointer | Signature::VoidVoid);
            let mut func = Func {
                name,
                signature,
                homes: vec![(rng.below(modules), Linkage::Visible)],
                alias_of: None,
                noreturn: void && mix.likes(rng, "noreturn", 30),
            };
            if mix.likes(rng, "weak-func", 60) {
                func.homes = some_modules(rng, modules, Linkage::Weak);
            } else if mix.likes(rng, "static-func", 50) {
                self.add_static(rng, mix, func);
                continue;
            } else if modules > 1 && mix.likes(rng, "weak-and-strong-func", 30) {
                let strong = func.homes[0].0;
                func.homes = some_modules(rng, modules, Linkage::Weak);
                func.homes.retain(|home| home.0 != strong);
                func.homes.push((strong, Linkage::Visible));
            }
            self.funcs.push(func);
        }
        self.add_aliases(rng, mix);
    }

    /// A static function, perhaps with namesakes in other modules.
    fn add_static(&mut self, rng: &mut Rng, mix: &mut Mix, func: Func) {
        let mut homes = vec![func.homes[0].0];
        if mix.likes(rng, "same-named-statics", 100) {
            homes = some_modules(rng, self.modules.len(), Linkage::Static)
                .into_iter()
                .map(|home| home.0)
                .collect();
        }
        for &home in &homes {
            self.funcs.push(Func { homes: vec![(home, Linkage::Static)], ..func.clone() });
        }
        let free = (0..self.modules.len()).find(|m| !homes.contains(m));
        if let Some(free) = free
            && mix.likes(rng, "static-named-like-visible", 60)
        {
            self.funcs.push(Func { homes: vec![(free, Linkage::Visible)], ..func });
        }
    }

    fn add_aliases(&mut self, rng: &mut Rng, mix: &mut Mix) {
        for i in 0..self.funcs.len() {
            let [(home, linkage @ (Linkage::Visible | Linkage::Static))] = self.funcs[i].homes[..]
            else {
                continue;
            };
            if !mix.likes(rng, "alias", 12) {
                continue;
            }
            let linkage = match linkage {
                Linkage::Static if rng.chance(50) => Linkage::Weak,
                _ => Linkage::Visible,
            };
            let name = format!("alias{i}");
            let alias = Func {
                name,
                homes: vec![(home, linkage)],
                alias_of: Some(i),
                ..self.funcs[i].clone()
            };
            self.funcs.push(alias);
        }
    }

    fn add_kernels(&mut self, rng: &mut Rng, mix: &mut Mix) {
        let modules = self.modules.len();
        let count = *rng.pick(&[0, 1, 1, 1, 2, 2, 3, 3, 4, 6]);
        for i in 0..count {
            let mut homes = vec![(rng.below(modules), Linkage::Visible)];
            if mix.likes(rng, "weak-kernel", 50) {
                homes = some_modules(rng, modules, Linkage::Weak);
            } else if mix.likes(rng, "static-kernel", 30) {
                homes[0].1 = Linkage::Static;
            }
            let block = if mix.likes(rng, "param-block", 60) {
                *rng.pick(&[8, 24, 64, 512, 3000, 4100, 9000])
            } else {
                0
            };
            let bare = block == 0 && mix.likes(rng, "kernel-without-parameters", 30);
            let bounds = self.bounds(rng, mix);
            self.kernels.push(Kernel { name: format!("k{i}"), homes, bounds, block, bare });
        }
    }

    fn bounds(&self, rng: &mut Rng, mix: &mut Mix) -> String {
        let mut text = String::new();
        if mix.likes(rng, "maxntid", 50) {
            let threads = rng.pick(&["32, 1, 1", "128, 2, 1", "256", "512, 1, 1"]);
            text += &format!(" .maxntid {threads}");
            if rng.chance(50) {
                text += &format!(" .minnctapersm {}", rng.range(1, 2));
            }
        } else if mix.likes(rng, "reqntid", 50) {
            text += &format!(" .reqntid {}", rng.pick(&["32", "64, 2, 1", "16, 4, 2"]));
        } else if mix.likes(rng, "maxnreg", 50) {
            text += &format!(" .maxnreg {}", rng.pick(&[64, 80, 96, 128, 40]));
        }
        if self.sm.number >= 90 && mix.likes(rng, "cluster", 60) {
            text += rng.pick::<&str>(&[
                " .explicitcluster",
                " .explicitcluster .reqnctapercluster 2, 1, 1",
                " .reqnctapercluster 4",
                " .maxclusterrank 8",
            ]);
        }
        text
    }

    /// Functions code in module `m` may name, without ambiguity.
    pub fn callable(&self, m: usize) -> Vec<usize> {
        let own_static = |name: &str| {
            self.funcs.iter().any(|f| f.name == name && f.homes == [(m, Linkage::Static)])
        };
        (0..self.funcs.len())
            .filter(|&i| {
                let func = &self.funcs[i];
                match func.homes[0] {
                    (home, Linkage::Static) => home == m,
                    _ => !own_static(&func.name),
                }
            })
            .collect()
    }
}

/// Later functions draw from more signatures, so that the common one is
/// frequent enough for indirect calls to have several candidates.
fn rng_signatures(i: usize) -> usize {
    if i < 2 { 1 } else { Signature::ALL.len() }
}

/// A random non-empty set of modules in random order, all with `linkage`.
pub fn some_modules(rng: &mut Rng, modules: usize, linkage: Linkage) -> Vec<(usize, Linkage)> {
    let mut all: Vec<usize> = (0..modules).collect();
    rng.shuffle(&mut all);
    all.truncate(rng.range(1, modules.min(4)));
    all.into_iter().map(|m| (m, linkage)).collect()
}

fn module_plan(rng: &mut Rng, mix: &mut Mix, sm: Sm) -> ModulePlan {
    let mut flags = Vec::new();
    let mut add = |text: &str| flags.extend(text.split(' ').map(str::to_owned));
    let debug = mix.likes(rng, "flag-debug", 25);
    if !debug && mix.likes(rng, "flag-opt-level", 50) {
        add(rng.pick::<&str>(&["-O0", "-O1", "-O2"]));
    }
    if mix.likes(rng, "flag-maxrregcount", 40) {
        add(rng.pick::<&str>(&["-maxrregcount 32", "-maxrregcount 40", "-maxrregcount 64"]));
    }
    let lines = debug || mix.likes(rng, "line-info", 60);
    if lines {
        add(if debug { "-g" } else { "-lineinfo" });
    }
    if mix.likes(rng, "flag-stack-protector", 20) {
        add("--device-stack-protector true");
    }
    if mix.likes(rng, "flag-sanitize", 10) {
        add("--sanitize=memcheck");
    }
    if mix.likes(rng, "flag-preserve-relocs", 15) {
        add("--preserve-relocs");
    }
    let older = sm.older_compatible().filter(|_| mix.likes(rng, "older-target", 25));
    ModulePlan {
        flags,
        lines,
        independent_textures: mix.likes(rng, "texmode-independent", 50),
        sm: older.unwrap_or(sm),
        // CUDA 12 does not know sm_88 and the later ones.
        older: sm.number != 88 && sm.number <= 90 && mix.likes(rng, "older-toolkit", 20),
    }
}
