//! The PTX text of one module.

use super::Mix;
use super::body::{Body, Owner, Uses};
use super::plan::{Func, Kernel, Linkage, Plan, Signature};
use super::vars::{Address, Init, Var, reachable};
use crate::program::{Compiler, Module, Pack};
use crate::rng::Rng;
use std::fmt::Write;

pub fn module(rng: &mut Rng, mix: &mut Mix, plan: &Plan, m: usize) -> Module {
    let mut uses = Uses::default();
    let mut code = Vec::new();
    for (i, kernel) in plan.kernels.iter().enumerate() {
        if let Some(linkage) = home(&kernel.homes, m) {
            let first = kernel.homes[0].0 == m;
            code.push(kernel_text(rng, mix, plan, m, i, linkage, &mut uses));
            note_duplicates(mix, first, linkage, "weak-kernel", "static-kernel");
        }
    }
    for (i, func) in plan.funcs.iter().enumerate() {
        if let Some(linkage) = home(&func.homes, m)
            && func.alias_of.is_none()
        {
            code.push(func_text(rng, mix, plan, m, i, linkage, &mut uses));
            note_duplicates(mix, func.homes[0].0 == m, linkage, "weak-func", "static-func");
        }
    }
    rng.shuffle(&mut code);
    let data = data_text(rng, mix, plan, m, &mut uses);
    let mut ptx = header(plan, m);
    ptx += &declarations(rng, mix, plan, m, &uses);
    ptx += &data;
    ptx += &code.join("\n");
    for (_, text) in plan.extra.iter().filter(|(home, _)| *home == m) {
        ptx += text;
    }
    Module {
        name: format!("m{m}"),
        ptx,
        flags: plan.modules[m].flags.clone(),
        sm: plan.modules[m].sm,
        compiler: match plan.modules[m].older {
            true => Compiler::Cuda12,
            false => Compiler::Current,
        },
        form: Default::default(),
        pack: Pack::Cubin,
    }
}

/// How module `m` defines a symbol with these homes.
pub fn home(homes: &[(usize, Linkage)], m: usize) -> Option<Linkage> {
    homes.iter().find(|(at, _)| *at == m).map(|(_, linkage)| *linkage)
}

fn note_duplicates(
    mix: &mut Mix,
    first: bool,
    linkage: Linkage,
    weak: &'static str,
    private: &'static str,
) {
    match linkage {
        Linkage::Weak => {
            mix.note(weak);
            if !first {
                mix.note("weak-duplicate");
            }
        }
        Linkage::Static => mix.note(private),
        _ => {}
    }
}

fn header(plan: &Plan, m: usize) -> String {
    let module = &plan.modules[m];
    let mode = if module.independent_textures { ", texmode_independent" } else { "" };
    let mut text = format!(
        ".version {}\n.target {}{mode}\n.address_size 64\n",
        module.sm.ptx_version(),
        module.sm
    );
    if module.lines {
        let _ = writeln!(text, ".file 1 \"m{m}.cu\"");
    }
    text
}

fn extern_text(name: &str) -> &'static str {
    match name {
        "vprintf" => ".extern .func (.param .b32 r0) vprintf (.param .b64 p0, .param .b64 p1);\n",
        "malloc" => ".extern .func (.param .b64 r0) malloc (.param .b64 p0);\n",
        "free" => ".extern .func free (.param .b64 p0);\n",
        _ => {
            ".extern .func __assertfail (.param .b64 p0, .param .b64 p1, .param .b32 p2, \
             .param .b64 p3, .param .b64 p4);\n"
        }
    }
}

/// Declarations of everything the module names, in random order.
fn declarations(rng: &mut Rng, mix: &mut Mix, plan: &Plan, m: usize, uses: &Uses) -> String {
    let mut lines: Vec<String> = uses.externs.iter().map(|name| extern_text(name).into()).collect();
    for (i, func) in plan.funcs.iter().enumerate() {
        let noreturn = if func.noreturn { " .noreturn" } else { "" };
        let signature = func.signature.declare(&func.name);
        match home(&func.homes, m) {
            Some(linkage) => {
                lines.push(format!("{}.func {signature}{noreturn};\n", linkage.keyword()));
            }
            None if uses.funcs.contains(&i) => {
                lines.push(format!(".extern .func {signature}{noreturn};\n"));
                mix.note("extern-func");
            }
            None => {}
        }
    }
    rng.shuffle(&mut lines);
    lines.concat()
}

fn data_text(rng: &mut Rng, mix: &mut Mix, plan: &Plan, m: usize, uses: &mut Uses) -> String {
    let mut externs = Vec::new();
    let mut plain = uses.top.clone();
    let mut tables = Vec::new();
    for v in 0..plan.vars.len() {
        let var = &plan.vars[v];
        if let Some(linkage) = home(&var.homes, m)
            && !var.dynamic
        {
            let text = definition(plan, var, linkage, uses);
            mix.note(match linkage {
                Linkage::Visible => "visible-var",
                Linkage::Weak => "weak-var",
                Linkage::Static => "static-var",
                Linkage::Common => "common-var",
            });
            match var.init {
                Init::Addresses(_) | Init::AddressBytes(_) => {
                    mix.note("address-table");
                    tables.push(text);
                }
                _ => plain.push(text),
            }
        }
    }
    for &v in &uses.vars {
        let var = &plan.vars[v];
        if (var.dynamic || home(&var.homes, m).is_none()) && reachable(&plan.vars, v, m) {
            externs.push(extern_var(var));
            mix.note(if var.dynamic { "extern-shared-array" } else { "extern-var" });
        }
    }
    for (i, image) in plan.images.iter().enumerate() {
        let (name, kind) = (&image.name, image.kind);
        if image.home == m {
            let init = if image.init && kind == "samplerref" {
                " = { addr_mode_0 = wrap, filter_mode = nearest }"
            } else {
                ""
            };
            plain.push(format!("{}.global .{kind} {name}{init};", image.linkage.keyword()));
            mix.note("image-definition");
        } else if uses.images.contains(&i) {
            externs.push(format!(".extern .global .{kind} {name};"));
            mix.note("extern-image");
        }
    }
    rng.shuffle(&mut plain);
    rng.shuffle(&mut tables);
    if rng.chance(30) {
        rng.shuffle(&mut externs);
    }
    // Function addresses in tables need the functions declared first.
    [externs, plain, tables].concat().join("\n") + "\n"
}

fn extern_var(var: &Var) -> String {
    let size = if var.dynamic || var.open_extern { String::new() } else { var.size.to_string() };
    let (space, managed) = (var.space.name(), managed(var));
    format!(".extern .{space}{managed} .align {} .b8 {}[{size}];", var.align, var.name)
}

fn managed(var: &Var) -> &'static str {
    if var.managed { " .attribute(.managed)" } else { "" }
}

fn definition(plan: &Plan, var: &Var, linkage: Linkage, uses: &mut Uses) -> String {
    let (kind, count, init) = match &var.init {
        Init::Zero => ("b8", var.size, String::new()),
        Init::Bytes(bytes) => {
            let bytes: Vec<String> = bytes.iter().map(u8::to_string).collect();
            ("b8", var.size, format!(" = {{{}}}", bytes.join(", ")))
        }
        Init::Addresses(entries) => {
            let entries: Vec<String> = entries.iter().map(|a| address(plan, a, uses)).collect();
            ("u64", entries.len(), format!(" = {{{}}}", entries.join(", ")))
        }
        Init::AddressBytes(one) => {
            let one = address(plan, one, uses);
            let bytes: Vec<String> =
                (0..8).map(|i| format!("0x{:X}({one})", 0xffu64 << (8 * i))).collect();
            ("u8", 8, format!(" = {{{}}}", bytes.join(", ")))
        }
    };
    format!(
        "{}.{}{} .align {} .{kind} {}[{count}]{init};",
        linkage.keyword(),
        var.space.name(),
        managed(var),
        var.align,
        var.name
    )
}

fn address(plan: &Plan, address: &Address, uses: &mut Uses) -> String {
    match *address {
        Address::Func(f) => {
            uses.funcs.insert(f);
            plan.funcs[f].name.clone()
        }
        Address::Var(v, at) => {
            uses.vars.insert(v);
            format!("{}+{at}", plan.vars[v].name)
        }
        Address::GenericVar(v, at) => {
            uses.vars.insert(v);
            format!("generic({})+{at}", plan.vars[v].name)
        }
        Address::Number(number) => number.to_string(),
    }
}

fn func_text(
    rng: &mut Rng,
    mix: &mut Mix,
    plan: &Plan,
    m: usize,
    i: usize,
    linkage: Linkage,
    uses: &mut Uses,
) -> String {
    let func: &Func = &plan.funcs[i];
    let mut body = Body::new(plan, m, Owner::Func(i), rng, mix, uses);
    let (acc, pointer) = (body.acc.clone(), body.pointer.clone());
    match func.signature {
        Signature::IntInt | Signature::IntIntInt => {
            body.emit(&format!("ld.param.b32 {acc}, [p0];"));
            body.emit(&format!("cvt.u64.u32 {pointer}, {acc};"));
        }
        Signature::LongLong | Signature::VoidPointer => {
            body.emit(&format!("ld.param.b64 {pointer}, [p0];"));
            body.emit(&format!("cvt.u32.u64 {acc}, {pointer};"));
        }
        Signature::StructStruct => {
            body.emit(&format!("ld.param.b32 {acc}, [p0+4];"));
            body.emit(&format!("ld.param.b64 {pointer}, [p0+16];"));
        }
        Signature::VoidVoid => {
            body.emit(&format!("mov.u32 {acc}, %tid.x;"));
            body.emit(&format!("mov.u64 {pointer}, %globaltimer;"));
        }
    }
    let count = body.rng.range(0, 5);
    body.actions(count);
    match func.signature {
        Signature::IntInt | Signature::IntIntInt => {
            body.emit(&format!("st.param.b32 [r0], {acc};"));
        }
        Signature::LongLong => {
            let wide = body.reg("b64");
            body.emit(&format!("cvt.u64.u32 {wide}, {acc};"));
            body.emit(&format!("st.param.b64 [r0], {wide};"));
        }
        Signature::StructStruct => body.emit(&format!("st.param.b32 [r0+8], {acc};")),
        Signature::VoidPointer | Signature::VoidVoid => {
            body.emit(&format!("st.u32 [{pointer}], {acc};"));
        }
    }
    body.emit(if func.noreturn { "exit;" } else { "ret;" });
    let signature = func.signature.declare(&func.name);
    let noreturn = if func.noreturn { " .noreturn" } else { "" };
    let text = format!("{}.func {signature}{noreturn}\n{}", linkage.keyword(), body.finish());
    let aliases: String = (0..plan.funcs.len())
        .filter(|&f| plan.funcs[f].alias_of == Some(i) && home(&plan.funcs[f].homes, m).is_some())
        .map(|f| format!(".alias {}, {};\n", plan.funcs[f].name, func.name))
        .collect();
    if !aliases.is_empty() {
        mix.note("alias");
    }
    text + &aliases
}

fn kernel_text(
    rng: &mut Rng,
    mix: &mut Mix,
    plan: &Plan,
    m: usize,
    i: usize,
    linkage: Linkage,
    uses: &mut Uses,
) -> String {
    let kernel: &Kernel = &plan.kernels[i];
    let mut body = Body::new(plan, m, Owner::Kernel, rng, mix, uses);
    let (acc, pointer) = (body.acc.clone(), body.pointer.clone());
    let mut parameters = vec![".param .u64 out".to_owned(), ".param .u32 n".to_owned()];
    if kernel.bare {
        parameters.clear();
        body.emit(&format!("mov.u64 {pointer}, %globaltimer;"));
        body.emit(&format!("mov.u32 {acc}, %tid.x;"));
    } else {
        body.emit(&format!("ld.param.u64 {pointer}, [out];"));
        body.emit(&format!("ld.param.u32 {acc}, [n];"));
    }
    if kernel.block > 0 {
        parameters.push(format!(".param .align 8 .b8 block[{}]", kernel.block));
        let value = body.reg("b32");
        body.emit(&format!("ld.param.u32 {value}, [block+{}];", kernel.block / 8 * 4));
        body.absorb(&value);
        body.note("param-block");
    }
    let count = body.rng.range(0, 8);
    body.actions(count);
    body.emit(&format!("st.u32 [{pointer}], {acc};"));
    body.emit("ret;");
    if !kernel.bounds.is_empty() {
        body.note("launch-bounds");
    }
    format!(
        "{}.entry {} ({}){}\n{}",
        linkage.keyword(),
        kernel.name,
        parameters.join(", "),
        kernel.bounds,
        body.finish()
    )
}
