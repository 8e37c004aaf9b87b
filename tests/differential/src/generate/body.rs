//! Function bodies: a chain of random actions over one accumulator.

use super::Mix;
use super::plan::{Plan, Signature};
use super::vars::{Init, Space, reachable};
use crate::rng::Rng;
use std::collections::BTreeSet;

/// What the bodies of a module refer to and must be declared there.
#[derive(Default)]
pub struct Uses {
    pub funcs: BTreeSet<usize>,
    pub vars: BTreeSet<usize>,
    pub images: BTreeSet<usize>,
    pub externs: BTreeSet<&'static str>,
    /// Definitions private to one body, placed before all functions.
    pub top: Vec<String>,
}

/// Who the body belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Kernel,
    Func(usize),
}

/// A body being written.
pub struct Body<'a> {
    pub plan: &'a Plan,
    pub m: usize,
    pub owner: Owner,
    pub rng: &'a mut Rng,
    pub mix: &'a mut Mix,
    pub uses: &'a mut Uses,
    /// 32-bit register all results flow into.
    pub acc: String,
    /// A 64-bit register with some address.
    pub pointer: String,
    text: String,
    declarations: String,
    counter: usize,
    line: usize,
}

type Action = fn(&mut Body<'_>);

/// Actions, the feature each stands for, and its base weight.
const ACTIONS: &[(&str, usize, Action)] = &[
    ("arithmetic", 4, |b| b.arithmetic()),
    ("direct-call", 14, |b| b.direct_call()),
    ("indirect-call", 5, |b| b.indirect_call()),
    ("use-global", 6, |b| b.use_global()),
    ("use-const", 6, |b| b.use_const()),
    ("use-shared", 8, |b| b.use_shared()),
    ("local-shared", 4, |b| b.local_shared()),
    ("local-memory", 3, |b| b.local_memory()),
    ("alloca", 1, |b| b.alloca()),
    ("barrier", 3, |b| b.barrier()),
    ("mbarrier", 3, |b| b.mbarrier()),
    ("switch", 4, |b| b.switch()),
    ("register-pressure", 3, |b| b.register_pressure()),
    ("vprintf", 2, |b| b.vprintf()),
    ("malloc", 2, |b| b.malloc()),
    ("assertfail", 1, |b| b.assertfail()),
    ("texture-object", 2, |b| b.texture_object()),
    ("image-reference", 4, |b| b.image_reference()),
    ("warp", 2, |b| b.warp()),
    ("ctaid-z", 1, |b| b.ctaid_z()),
    ("double-math", 1, |b| b.double_math()),
    ("sparse-mma", 1, |b| b.sparse_mma()),
    ("cluster-instructions", 2, |b| b.cluster()),
    ("set-max-registers", 1, |b| b.set_max_registers()),
    ("atomics", 1, |b| b.atomics()),
    ("early-exit", 1, |b| b.early_exit()),
    ("wide-constants", 2, |b| b.wide_constants()),
    ("take-address", 3, |b| b.take_address()),
    ("async-copy", 1, |b| b.async_copy()),
    ("special-registers", 1, |b| b.special_registers()),
    ("loop", 2, |b| b.counted_loop()),
];

impl<'a> Body<'a> {
    pub fn new(
        plan: &'a Plan,
        m: usize,
        owner: Owner,
        rng: &'a mut Rng,
        mix: &'a mut Mix,
        uses: &'a mut Uses,
    ) -> Self {
        let mut body = Self {
            plan,
            m,
            owner,
            rng,
            mix,
            uses,
            acc: String::new(),
            pointer: String::new(),
            text: String::new(),
            declarations: String::new(),
            counter: 0,
            line: 1,
        };
        body.acc = body.reg("b32");
        body.pointer = body.reg("b64");
        body
    }

    /// A fresh register.
    pub fn reg(&mut self, kind: &str) -> String {
        self.counter += 1;
        let name = format!("%v{}", self.counter);
        self.declarations += &format!("\t.reg .{kind} {name};\n");
        name
    }

    /// A fresh identifier.
    pub fn fresh(&mut self, prefix: &str) -> String {
        self.counter += 1;
        format!("{prefix}{}", self.counter)
    }

    pub fn declare(&mut self, text: &str) {
        self.declarations += &format!("\t{text}\n");
    }

    pub fn emit(&mut self, text: &str) {
        self.text += &format!("\t{text}\n");
    }

    pub fn label(&mut self, name: &str) {
        self.text += &format!("{name}:\n");
    }

    pub fn note(&mut self, feature: &'static str) {
        self.mix.note(feature);
    }

    /// Folds a 32-bit value into the accumulator.
    pub fn absorb(&mut self, value: &str) {
        let op = *self.rng.pick(&["add.u32", "xor.b32", "sub.u32"]);
        let line = format!("{op} {0}, {0}, {value};", self.acc);
        self.emit(&line);
    }

    pub fn absorb64(&mut self, value: &str) {
        let low = self.reg("b32");
        self.emit(&format!("cvt.u32.u64 {low}, {value};"));
        self.absorb(&low);
    }

    /// Adds `count` random actions.
    pub fn actions(&mut self, count: usize) {
        let weights: Vec<usize> = ACTIONS
            .iter()
            .map(|&(name, base, _)| base * (1 + 2 * self.mix.weight(self.rng, name)))
            .collect();
        let total: usize = weights.iter().sum();
        for _ in 0..count {
            if self.plan.modules[self.m].lines {
                self.line += self.rng.range(0, 3);
                let column = self.rng.below(9);
                self.emit(&format!(".loc 1 {} {column}", self.line));
            }
            let mut at = self.rng.below(total);
            for (&(_, _, action), &weight) in ACTIONS.iter().zip(&weights) {
                if at < weight {
                    action(self);
                    break;
                }
                at -= weight;
            }
        }
    }

    /// The body's text in braces.
    pub fn finish(self) -> String {
        format!("{{\n{}{}}}\n", self.declarations, self.text)
    }

    fn arithmetic(&mut self) {
        let value = self.reg("b32");
        let factor = self.rng.below(100_000);
        self.emit(&format!("mad.lo.u32 {value}, {0}, {factor}, {0};", self.acc));
        self.absorb(&value);
    }

    /// A function this body may call: forward ones only, unless the program
    /// likes recursion.
    fn callee(&mut self) -> Option<usize> {
        let mut candidates = self.plan.callable(self.m);
        if let Owner::Func(own) = self.owner {
            let recursive = self.mix.likes(self.rng, "recursion", 40);
            candidates.retain(|&f| recursive || f > own);
            candidates
                .retain(|&f| recursive || self.plan.funcs[f].alias_of.is_none_or(|t| t > own));
            if recursive {
                self.note("recursion-allowed");
            }
        }
        self.rng.choose(&candidates)
    }

    fn direct_call(&mut self) {
        let Some(f) = self.callee() else { return };
        self.uses.funcs.insert(f);
        let func = &self.plan.funcs[f];
        self.note("direct-call");
        if func.alias_of.is_some() {
            self.note("call-through-alias");
        }
        self.call(func.signature, &func.name, None);
    }

    /// Writes a call of `target`, a function or a register with a prototype.
    pub fn call(&mut self, signature: Signature, target: &str, prototype: Option<&str>) {
        let tail = prototype.map_or(String::new(), |p| format!(", {p}"));
        self.emit("{");
        match signature {
            Signature::IntInt | Signature::IntIntInt => {
                let value = self.reg("b32");
                let second = signature == Signature::IntIntInt;
                self.emit(".param .b32 q0; .param .b32 q1; .param .b32 q2;");
                self.emit(&format!("st.param.b32 [q0], {};", self.acc));
                if second {
                    self.emit(&format!("st.param.b32 [q1], {};", self.acc));
                }
                let args = if second { "q0, q1" } else { "q0" };
                self.emit(&format!("call (q2), {target}, ({args}){tail};"));
                self.emit(&format!("ld.param.b32 {value}, [q2];"));
                self.absorb(&value);
            }
            Signature::LongLong => {
                let value = self.reg("b64");
                self.emit(".param .b64 q0; .param .b64 q1;");
                self.emit(&format!("st.param.b64 [q0], {};", self.pointer));
                self.emit(&format!("call (q1), {target}, (q0){tail};"));
                self.emit(&format!("ld.param.b64 {value}, [q1];"));
                self.absorb64(&value);
            }
            Signature::VoidPointer => {
                self.emit(".param .b64 q0;");
                self.emit(&format!("st.param.b64 [q0], {};", self.pointer));
                self.emit(&format!("call {target}, (q0){tail};"));
            }
            Signature::StructStruct => {
                let value = self.reg("b32");
                self.emit(".param .align 8 .b8 q0[24]; .param .align 8 .b8 q1[24];");
                self.emit(&format!("st.param.b32 [q0+4], {};", self.acc));
                self.emit(&format!("st.param.b64 [q0+16], {};", self.pointer));
                self.emit(&format!("call (q1), {target}, (q0){tail};"));
                self.emit(&format!("ld.param.b32 {value}, [q1+8];"));
                self.absorb(&value);
            }
            // An empty argument list is only allowed where a prototype follows.
            Signature::VoidVoid if prototype.is_some() => {
                self.emit(&format!("call {target}, (){tail};"));
            }
            Signature::VoidVoid => self.emit(&format!("call {target};")),
        }
        self.emit("}");
    }

    fn indirect_call(&mut self) {
        let mut candidates = self.plan.callable(self.m);
        candidates.retain(|&f| !self.plan.funcs[f].noreturn);
        let Some(f) = self.rng.choose(&candidates) else { return };
        let signature = self.plan.funcs[f].signature;
        let target = self.reg("b64");
        let table = self.table_with_functions();
        match (table, self.rng.below(3)) {
            (Some(table), 0 | 1) => {
                let slot = self.reg("b64");
                self.emit(&format!("and.b64 {slot}, {}, 8;", self.pointer));
                let base = self.reg("b64");
                let name = &self.plan.vars[table].name;
                let space = self.plan.vars[table].space.name();
                self.emit(&format!("mov.u64 {base}, {name};"));
                self.emit(&format!("add.u64 {base}, {base}, {slot};"));
                self.emit(&format!("ld.{space}.u64 {target}, [{base}];"));
                self.note("call-through-table");
            }
            (_, 1) => {
                self.emit(&format!("ld.u64 {target}, [{}];", self.pointer));
                self.note("call-through-memory");
            }
            _ => {
                self.uses.funcs.insert(f);
                self.emit(&format!("mov.u64 {target}, {};", self.plan.funcs[f].name));
                let other = self.reg("b64");
                let test = self.reg("pred");
                self.emit(&format!("ld.u64 {other}, [{}+8];", self.pointer));
                self.emit(&format!("setp.gt.u32 {test}, {}, 7;", self.acc));
                self.emit(&format!("selp.b64 {target}, {target}, {other}, {test};"));
                self.note("call-through-address");
            }
        }
        let prototype = self.fresh("proto");
        self.emit(&format!("{prototype}: .callprototype {};", signature.declare("_")));
        self.call(signature, &target, Some(&prototype));
    }

    fn table_with_functions(&mut self) -> Option<usize> {
        let tables: Vec<usize> = (0..self.plan.vars.len())
            .filter(|&v| {
                matches!(self.plan.vars[v].init, Init::Addresses(_))
                    && reachable(&self.plan.vars, v, self.m)
            })
            .collect();
        let table = self.rng.choose(&tables)?;
        self.uses.vars.insert(table);
        Some(table)
    }

    fn variable(&mut self, space: Space, dynamic: bool) -> Option<usize> {
        let vars: Vec<usize> = (0..self.plan.vars.len())
            .filter(|&v| {
                let var = &self.plan.vars[v];
                var.space == space
                    && var.dynamic == dynamic
                    && reachable(&self.plan.vars, v, self.m)
            })
            .collect();
        let var = self.rng.choose(&vars)?;
        self.uses.vars.insert(var);
        Some(var)
    }

    /// Reads a variable by name, by address or with an index.
    fn read(&mut self, space: Space, var: usize) {
        let var = &self.plan.vars[var];
        let (name, access, space) = (&var.name, var.access(), space.name());
        let value = self.reg("b32");
        let last = var.size.saturating_sub(4) / 4 * 4;
        let at = if access == "u32" { self.rng.below(last + 1) / 4 * 4 } else { 0 };
        match self.rng.below(5) {
            0 => {
                let (base, index) = (self.reg("b64"), self.reg("b64"));
                self.emit(&format!("mov.u64 {base}, {name};"));
                self.emit(&format!("cvt.u64.u32 {index}, {};", self.acc));
                self.emit(&format!("shl.b64 {index}, {index}, 2;"));
                self.emit(&format!("add.u64 {base}, {base}, {index};"));
                self.emit(&format!("ld.{space}.{access} {value}, [{base}];"));
            }
            1 => {
                let base = self.reg("b64");
                self.emit(&format!("mov.u64 {base}, {name}+{at};"));
                self.emit(&format!("cvta.{space}.u64 {base}, {base};"));
                self.emit(&format!("ld.{access} {value}, [{base}];"));
            }
            _ => self.emit(&format!("ld.{space}.{access} {value}, [{name}+{at}];")),
        }
        self.absorb(&value);
    }

    fn use_global(&mut self) {
        let Some(var) = self.variable(Space::Global, false) else { return };
        self.note("use-global");
        if self.rng.chance(40) {
            let (name, access) = (&self.plan.vars[var].name, self.plan.vars[var].access());
            self.emit(&format!("st.global.{access} [{name}], {};", self.acc));
        } else {
            self.read(Space::Global, var);
        }
    }

    fn use_const(&mut self) {
        let Some(var) = self.variable(Space::Const, false) else { return };
        self.note("use-const");
        self.read(Space::Const, var);
    }

    fn use_shared(&mut self) {
        let dynamic = self.rng.chance(40);
        let Some(var) = self.variable(Space::Shared, dynamic) else { return };
        let kernel = self.owner == Owner::Kernel;
        self.note(match (dynamic, kernel) {
            (true, true) => "dynamic-shared-in-kernel",
            (true, false) => "dynamic-shared-in-function",
            (false, true) => "shared-in-kernel",
            (false, false) => "shared-in-function",
        });
        let name = &self.plan.vars[var].name;
        if self.rng.chance(60) {
            self.emit(&format!("st.shared.u32 [{name}], {};", self.acc));
        }
        self.read(Space::Shared, var);
    }

    fn local_shared(&mut self) {
        let name = self.fresh("own_shared");
        let align = *self.rng.pick(&[4, 8, 16, 64]);
        let size = *self.rng.pick(&[4, 8, 16, 40, 128, 520]);
        self.declare(&format!(".shared .align {align} .b8 {name}[{size}];"));
        let value = self.reg("b32");
        self.emit(&format!("st.shared.u32 [{name}], {};", self.acc));
        self.emit("bar.warp.sync -1;");
        self.emit(&format!("ld.volatile.shared.u32 {value}, [{name}];"));
        self.absorb(&value);
        self.note("shared-local-to-a-body");
    }

    fn take_address(&mut self) {
        let Some(f) = self.rng.choose(&self.plan.callable(self.m)) else { return };
        self.uses.funcs.insert(f);
        let address = self.reg("b64");
        self.emit(&format!("mov.u64 {address}, {};", self.plan.funcs[f].name));
        self.emit(&format!("st.u64 [{}], {address};", self.pointer));
        self.note("take-address");
    }

    fn register_pressure(&mut self) {
        let count = self.rng.range(1, self.plan.pressure.max(1));
        let values: Vec<String> = (0..count).map(|_| self.reg("b32")).collect();
        for (i, value) in values.iter().enumerate() {
            self.emit(&format!("ld.volatile.u32 {value}, [{}+{}];", self.pointer, 4 * i));
        }
        // Last loaded, first used, and not associative: all stay alive.
        for value in values.iter().rev() {
            self.emit(&format!("mad.lo.u32 {0}, {0}, {value}, {value};", self.acc));
        }
        self.note("register-pressure");
    }

    fn counted_loop(&mut self) {
        let (i, test) = (self.reg("b32"), self.reg("pred"));
        let top = self.fresh("$L");
        self.emit(&format!("mov.u32 {i}, 0;"));
        self.label(&top);
        self.emit(&format!("ld.volatile.u32 {0}, [{1}];", self.acc, self.pointer));
        self.emit(&format!("add.u32 {i}, {i}, 1;"));
        self.emit(&format!("setp.lt.u32 {test}, {i}, {};", self.acc));
        self.emit(&format!("@{test} bra {top};"));
        self.note("loop");
    }
}
