//! Random programs in CUDA C++, for compilation to LTO-IR: functions, templates, variables and
//! kernels over several files, and host code that uses some of them.

use crate::rng::Rng;
use std::fmt::Write;

/// Stream of the generator.
const SOURCES: u64 = 4;

/// Something that lies in one file and is used in others.
struct Thing {
    home: usize,
    /// Known in its own file only.
    is_static: bool,
}

struct Plan {
    files: usize,
    funcs: Vec<Thing>,
    vars: Vec<Thing>,
    consts: Vec<Thing>,
    kernels: Vec<Thing>,
    templates: usize,
    /// Whether a kernel launches another one.
    launches: bool,
    prints: bool,
}

fn things(rng: &mut Rng, files: usize, count: usize, static_percent: usize) -> Vec<Thing> {
    let one =
        |rng: &mut Rng| Thing { home: rng.below(files), is_static: rng.chance(static_percent) };
    (0..count).map(|_| one(rng)).collect()
}

impl Plan {
    fn new(rng: &mut Rng) -> Self {
        let files = rng.range(2, 4);
        let mut count = |low, high| rng.range(low, high);
        let (funcs, vars, consts, kernels) = (count(3, 9), count(1, 5), count(0, 4), count(1, 6));
        let mut kernels = things(rng, files, kernels, 15);
        // One that every file may launch.
        kernels[0].is_static = false;
        Self {
            files,
            funcs: things(rng, files, funcs, 25),
            vars: things(rng, files, vars, 30),
            consts: things(rng, files, consts, 30),
            kernels,
            templates: rng.below(4),
            launches: rng.chance(20),
            prints: rng.chance(20),
        }
    }
}

/// What code in `file` may name.
fn known(things: &[Thing], file: usize) -> impl Iterator<Item = usize> {
    let is_known = move |(_, thing): &(usize, &Thing)| thing.home == file || !thing.is_static;
    things.iter().enumerate().filter(is_known).map(|(i, _)| i)
}

/// The sources of a seed: file name and text.
pub fn sources(seed: u64) -> Vec<(String, String)> {
    let mut rng = Rng::new(seed, SOURCES);
    let plan = Plan::new(&mut rng);
    let name = |file: usize| format!("g{seed}_{}.cu", (b'a' + file as u8) as char);
    (0..plan.files).map(|file| (name(file), source(&mut rng, &plan, file))).collect()
}

fn source(rng: &mut Rng, plan: &Plan, file: usize) -> String {
    let mut text = String::new();
    if plan.prints {
        text += "#include <cstdio>\n";
    }
    declare(&mut text, plan, file);
    for i in 0..plan.templates {
        let step = i + 2;
        let _ = writeln!(
            text,
            "template <int N> __device__ __noinline__ int t{i}(int x) {{\n    int r = x;\n    for \
             (int i = 0; i < N; i++) r = r * {step} + N;\n    return r;\n}}"
        );
    }
    for (i, func) in plan.funcs.iter().enumerate().filter(|(_, func)| func.home == file) {
        function(&mut text, rng, plan, file, i, func);
    }
    for (i, kernel) in plan.kernels.iter().enumerate().filter(|(_, kernel)| kernel.home == file) {
        device_kernel(&mut text, rng, plan, file, i, kernel);
    }
    host(&mut text, rng, plan, file);
    text
}

/// Declarations of what lies elsewhere, variables of this file.
fn declare(text: &mut String, plan: &Plan, file: usize) {
    for (i, func) in plan.funcs.iter().enumerate() {
        match (func.home == file, func.is_static) {
            (true, true) => *text += &format!("static __device__ int f{i}(int x);\n"),
            (_, false) => *text += &format!("__device__ int f{i}(int x);\n"),
            (false, true) => {}
        }
    }
    let mut variables = |things: &[Thing], space: &str, letter: char| {
        for (i, var) in things.iter().enumerate() {
            let (size, value) = (2 + i * 3, 11 * i + 5);
            *text += &match (var.home == file, var.is_static) {
                (true, true) => format!("static {space} int {letter}{i}[{size}] = {{{value}}};\n"),
                (true, false) => format!("{space} int {letter}{i}[{size}] = {{{value}}};\n"),
                (false, false) => format!("extern {space} int {letter}{i}[{size}];\n"),
                (false, true) => continue,
            };
        }
    };
    variables(&plan.vars, "__device__", 'v');
    variables(&plan.consts, "__constant__", 'c');
    for (i, kernel) in plan.kernels.iter().enumerate().filter(|(_, kernel)| !kernel.is_static) {
        if kernel.home == file || i == 0 {
            let _ = writeln!(text, "__global__ void k{i}(int *p);");
        }
    }
}

/// An expression over `x`, in which functions before number `below` are called.
fn value(rng: &mut Rng, plan: &Plan, file: usize, below: usize) -> String {
    let funcs: Vec<usize> = known(&plan.funcs, file).filter(|&i| i < below).collect();
    let vars: Vec<usize> = known(&plan.vars, file).collect();
    let consts: Vec<usize> = known(&plan.consts, file).collect();
    match rng.below(9) {
        0..3 if !funcs.is_empty() => format!("f{}(x + {})", rng.pick(&funcs), rng.below(9)),
        3 if !vars.is_empty() => format!("v{}[x & 1]", rng.pick(&vars)),
        4 if !consts.is_empty() => format!("c{}[x & 1]", rng.pick(&consts)),
        5 if plan.templates > 0 => {
            format!("t{}<{}>(x)", rng.below(plan.templates), rng.range(2, 4))
        }
        6 => format!("(int)sqrtf((float)x / {}.0f)", rng.range(2, 9)),
        7 => format!("(int)(1.0 / (x + {}.5))", rng.below(7)),
        _ => format!("(x ^ {})", rng.range(3, 99)),
    }
}

fn function(
    text: &mut String,
    rng: &mut Rng,
    plan: &Plan,
    file: usize,
    number: usize,
    func: &Thing,
) {
    let linkage = if func.is_static { "static " } else { "" };
    let inlining = rng.pick(&["", "", "__noinline__ ", "__forceinline__ "]);
    // Inlined everywhere, a function has no definition for other files.
    let inlining = if func.is_static { inlining } else { inlining.trim_start_matches("__force") };
    let inlining = if inlining.starts_with("inline") { "" } else { inlining };
    let _ = writeln!(text, "{linkage}__device__ {inlining}int f{number}(int x) {{\n    int r = x;");
    for _ in 0..rng.range(1, 4) {
        let value = value(rng, plan, file, number);
        match rng.below(5) {
            0 => *text += &format!("    for (int i = 0; i < (x & 7); i++) r += {value};\n"),
            1 => *text += &format!("    if (x > {}) r -= {value};\n", rng.below(50)),
            2 => {
                *text += &format!(
                    "    switch (x & 3) {{\n    case 0: r ^= 5; break;\n    case 1: r += {value}; \
                     break;\n    case 2: r *= 7; break;\n    }}\n"
                );
            }
            3 => {
                *text += &format!(
                    "    {{\n        int a[8];\n        for (int i = 0; i < 8; i++) a[i] = i * x;\n\
                     \x20       r += a[{value} & 7];\n    }}\n"
                );
            }
            _ => *text += &format!("    r += {value};\n"),
        }
    }
    if inlining.starts_with("__noinline") && rng.chance(30) {
        let _ = writeln!(text, "    if (x > 100) r += f{number}(x - 50);");
    }
    *text += "    return r;\n}\n";
}

fn device_kernel(
    text: &mut String,
    rng: &mut Rng,
    plan: &Plan,
    file: usize,
    number: usize,
    kernel: &Thing,
) {
    let linkage = if kernel.is_static { "static " } else { "" };
    let bounds = rng.pick(&["", "", "__launch_bounds__(128) "]);
    let _ = writeln!(
        text,
        "{linkage}__global__ void {bounds}k{number}(int *p) {{\n    int x = p[threadIdx.x];"
    );
    if rng.chance(40) {
        *text += "    __shared__ int s[64];\n    s[threadIdx.x & 63] = x;\n    __syncthreads();\n    \
                  x += s[63 - (threadIdx.x & 63)];\n";
    }
    for _ in 0..rng.range(1, 3) {
        *text += &format!("    x += {};\n", value(rng, plan, file, plan.funcs.len()));
    }
    let funcs: Vec<usize> = known(&plan.funcs, file).collect();
    if funcs.len() > 1 && rng.chance(30) {
        let [a, b] = [0, 1].map(|_| *rng.pick(&funcs));
        let _ = writeln!(text, "    int (*g)(int) = x & 1 ? f{a} : f{b};\n    x = g(x);");
    }
    let vars: Vec<usize> = known(&plan.vars, file).collect();
    if let Some(var) = rng.choose(&vars) {
        let _ = writeln!(text, "    v{var}[1] = x;");
    }
    if plan.prints && rng.chance(50) {
        *text += "    if (x == 77) printf(\"%d\\n\", x);\n";
    }
    if plan.launches && number == 0 {
        *text += "    if (x == 78) k0<<<1, 32>>>(p + 1);\n";
    }
    *text += "    p[threadIdx.x] = x;\n}\n";
}

/// Host code that launches some kernels and names some variables.
fn host(text: &mut String, rng: &mut Rng, plan: &Plan, file: usize) {
    let _ = writeln!(text, "void host_{file}(int *p) {{");
    for (i, kernel) in plan.kernels.iter().enumerate() {
        if (kernel.home == file && rng.chance(70)) || (i == 0 && rng.chance(20)) {
            let _ = writeln!(text, "    k{i}<<<1, 32>>>(p);");
        }
    }
    for (things, letter) in [(&plan.vars, 'v'), (&plan.consts, 'c')] {
        for (i, _) in things.iter().enumerate().filter(|(_, thing)| thing.home == file) {
            if rng.chance(35) {
                let _ = writeln!(text, "    cudaMemcpyToSymbol({letter}{i}, p, 4);");
            }
        }
    }
    *text += "}\n";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_has_one_program() {
        assert_eq!(sources(17), sources(17));
        assert_ne!(sources(17)[0].1, sources(18)[0].1);
        let kernel = |text: &str| text.contains("__global__");
        assert!((0..40).all(|seed| sources(seed).iter().any(|(_, text)| kernel(text))));
        assert!((0..40).all(|seed| sources(seed).len() >= 2));
    }
}
