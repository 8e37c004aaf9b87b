//! Variables: globals, constants, shared memory, tables of addresses, and
//! texture, sampler and surface references.

use super::Mix;
use super::plan::{Linkage, Plan, some_modules};
use crate::rng::Rng;

/// State space of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    Global,
    Const,
    Shared,
}

impl Space {
    pub fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Const => "const",
            Self::Shared => "shared",
        }
    }
}

/// What a variable holds at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Init {
    Zero,
    Bytes(Vec<u8>),
    /// Functions and offsets into variables, in 8-byte slots.
    Addresses(Vec<Address>),
    /// The eight bytes of one address, each relocated on its own.
    AddressBytes(Address),
}

/// Something whose address an initialiser holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Func(usize),
    Var(usize, usize),
    GenericVar(usize, usize),
    Number(u64),
}

#[derive(Clone, Debug)]
pub struct Var {
    pub name: String,
    pub space: Space,
    pub homes: Vec<(usize, Linkage)>,
    pub align: usize,
    pub size: usize,
    pub init: Init,
    pub managed: bool,
    /// `extern` declarations leave the size open.
    pub open_extern: bool,
    /// Dynamic shared memory: declared everywhere, defined nowhere.
    pub dynamic: bool,
}

impl Var {
    /// Instruction type and register class that can read its start.
    pub fn access(&self) -> &'static str {
        match (self.size, self.align) {
            (4.., 4..) => "u32",
            _ => "u8",
        }
    }
}

/// Texture-like reference.
#[derive(Clone, Debug)]
pub struct Image {
    pub name: String,
    /// `texref`, `samplerref` or `surfref`.
    pub kind: &'static str,
    pub home: usize,
    pub linkage: Linkage,
    pub init: bool,
}

const ALIGNMENTS: [usize; 10] = [1, 2, 4, 4, 8, 8, 16, 32, 128, 256];
const SIZES: [usize; 14] = [1, 2, 3, 4, 4, 8, 8, 12, 16, 24, 40, 64, 100, 300];

pub fn plan_vars(rng: &mut Rng, mix: &mut Mix, plan: &Plan) -> Vec<Var> {
    let mut vars = Vec::new();
    let modules = plan.modules.len();
    for i in 0..rng.range(0, 2 + modules) {
        vars.push(data_var(rng, mix, modules, format!("g{i}"), Space::Global));
    }
    if mix.likes(rng, "constants", 100) {
        constants(rng, mix, modules, &mut vars);
    }
    if mix.likes(rng, "shared-vars", 100) {
        shared(rng, mix, modules, &mut vars);
    }
    if mix.likes(rng, "dynamic-shared", 80) {
        for i in 0..rng.range(1, 3) {
            let mut var = data_var(rng, mix, modules, format!("dyn{i}"), Space::Shared);
            var.homes = vec![(0, Linkage::Visible)];
            var.dynamic = true;
            var.align = *rng.pick(&[4, 8, 16, 16, 32, 128]);
            vars.push(var);
        }
    }
    if mix.likes(rng, "common", 100) {
        for i in 0..rng.range(1, 5) {
            let mut var = data_var(rng, mix, modules, format!("com{i}"), Space::Global);
            var.init = Init::Zero;
            var.managed = false;
            var.homes = some_modules(rng, modules, Linkage::Common);
            vars.push(var);
        }
    }
    if mix.likes(rng, "address-tables", 100) {
        for i in 0..rng.range(1, 4) {
            let table = address_table(rng, mix, plan, &vars, i);
            vars.extend(table);
        }
    }
    split_static_homes(vars)
}

/// A static variable of several modules is really several variables.
fn split_static_homes(vars: Vec<Var>) -> Vec<Var> {
    let mut out = Vec::new();
    let mut later = Vec::new();
    for mut var in vars {
        if var.homes[0].1 == Linkage::Static && var.homes.len() > 1 {
            for home in var.homes.split_off(1) {
                later.push(Var { homes: vec![home], ..var.clone() });
            }
        }
        out.push(var);
    }
    // Tables refer to variables by index: the originals must keep theirs.
    out.extend(later);
    out
}

fn data_var(rng: &mut Rng, mix: &mut Mix, modules: usize, name: String, space: Space) -> Var {
    let align = *rng.pick(&ALIGNMENTS);
    let size = *rng.pick(&SIZES);
    let init = if space != Space::Shared && rng.chance(60) {
        Init::Bytes((0..rng.range(1, size.min(24))).map(|_| rng.below(256) as u8).collect())
    } else {
        Init::Zero
    };
    let mut homes = vec![(rng.below(modules), Linkage::Visible)];
    if mix.likes(rng, "weak-var", 60) {
        homes = some_modules(rng, modules, Linkage::Weak);
        if mix.likes(rng, "weak-and-strong-var", 50) {
            homes[0].1 = Linkage::Visible;
            rng.shuffle(&mut homes);
        }
    } else if mix.likes(rng, "static-var", 60) {
        homes = some_modules(rng, modules, Linkage::Static);
    }
    let managed = space == Space::Global && mix.likes(rng, "managed", 40);
    let open_extern = size > 1 && mix.likes(rng, "open-extern", 40);
    Var { name, space, homes, align, size, init, managed, open_extern, dynamic: false }
}

fn constants(rng: &mut Rng, mix: &mut Mix, modules: usize, vars: &mut Vec<Var>) {
    for i in 0..rng.range(1, 4) {
        vars.push(data_var(rng, mix, modules, format!("c{i}"), Space::Const));
    }
    if mix.likes(rng, "equal-constants", 100) {
        let size = *rng.pick(&[4, 8, 12, 16, 20, 24, 32, 48, 64, 28]);
        let align = *rng.pick(&[4, 4, 8, 16]);
        let kinds = rng.range(1, 2);
        for m in 0..modules {
            let fill = rng.below(kinds + 1) as u8 * 17;
            vars.push(Var {
                name: format!("eq{m}"),
                space: Space::Const,
                homes: vec![(m, *rng.pick(&[Linkage::Visible, Linkage::Static]))],
                align,
                size,
                init: Init::Bytes(vec![fill; size]),
                managed: false,
                open_extern: false,
                dynamic: false,
            });
        }
    }
}

fn shared(rng: &mut Rng, mix: &mut Mix, modules: usize, vars: &mut Vec<Var>) {
    for i in 0..rng.range(1, 5) {
        let mut var = data_var(rng, mix, modules, format!("sh{i}"), Space::Shared);
        var.align = var.align.clamp(4, 128);
        var.size = (*rng.pick(&[4, 8, 16, 24, 64, 100, 256, 1000])).max(4);
        vars.push(var);
    }
}

fn address_table(rng: &mut Rng, mix: &mut Mix, plan: &Plan, vars: &[Var], i: usize) -> Option<Var> {
    let m = rng.below(plan.modules.len());
    let funcs = plan.callable(m);
    let data: Vec<usize> = (0..vars.len())
        .filter(|&v| {
            let plain = matches!(vars[v].init, Init::Zero | Init::Bytes(_));
            plain && vars[v].space == Space::Global && reachable(vars, v, m)
        })
        .collect();
    let entry = |rng: &mut Rng| {
        let func = rng.choose(&funcs).map(Address::Func);
        let var = rng.choose(&data).map(|v| (v, rng.below(vars[v].size)));
        match rng.below(6) {
            0 => Some(Address::Number(rng.below(1 << 20) as u64)),
            1 => var.map(|(v, at)| Address::Var(v, at)),
            2 => var.map(|(v, at)| Address::GenericVar(v, at)),
            _ => func,
        }
    };
    let init = if mix.likes(rng, "address-bytes", 40) {
        match entry(rng)? {
            Address::Number(_) => return None,
            address => Init::AddressBytes(address),
        }
    } else {
        let count = rng.range(1, 5);
        Init::Addresses((0..count).filter_map(|_| entry(rng)).collect())
    };
    let size = match &init {
        Init::Addresses(entries) => entries.len() * 8,
        _ => 8,
    };
    let linkage = *rng.pick(&[Linkage::Visible, Linkage::Static, Linkage::Weak]);
    let in_constant = matches!(init, Init::Addresses(_)) && mix.likes(rng, "const-tables", 40);
    (size > 0).then(|| Var {
        name: format!("tab{i}"),
        space: if in_constant { Space::Const } else { Space::Global },
        homes: vec![(m, linkage)],
        align: 8,
        size,
        init,
        managed: false,
        open_extern: false,
        dynamic: false,
    })
}

/// Whether code in module `m` can name variable `v` without ambiguity.
pub fn reachable(vars: &[Var], v: usize, m: usize) -> bool {
    let static_here = |v: &Var| v.homes.contains(&(m, Linkage::Static));
    if static_here(&vars[v]) {
        return true;
    }
    vars[v].homes[0].1 != Linkage::Static
        && !vars.iter().any(|other| other.name == vars[v].name && static_here(other))
}

pub fn plan_images(rng: &mut Rng, mix: &mut Mix, plan: &Plan) -> Vec<Image> {
    let mut images = Vec::new();
    if !mix.likes(rng, "texture-references", 60) {
        return images;
    }
    for i in 0..rng.range(1, 4) {
        let home = rng.below(plan.modules.len());
        // Only the independent texture mode knows samplers.
        let kinds = if plan.modules[home].independent_textures { 3 } else { 2 };
        images.push(Image {
            name: format!("img{i}"),
            kind: ["texref", "surfref", "samplerref"][rng.below(kinds)],
            home,
            linkage: *rng.pick(&[Linkage::Visible, Linkage::Static, Linkage::Visible]),
            init: rng.chance(20),
        });
    }
    images
}
