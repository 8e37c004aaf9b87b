//! PTX modules, each with some of the features that device code has.

use crate::template::{NEXT, NEXT_VARIABLE, function, slot};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The module with this number.
pub fn module(sm: u32, number: usize) -> String {
    Module::new(sm, number).finish()
}

/// SplitMix64: the same sources on every machine.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end
    }
    fn range(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high + 1 - low)
    }
    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// Functions of neighbouring sources: most files are small, a few are large.
const FUNCTIONS: [usize; 16] = [6, 1, 30, 3, 110, 2, 14, 1, 50, 4, 9, 20, 2, 230, 5, 12];

/// Weak functions come in groups, as the instantiations of one template do. Copies of a group
/// are the same in all sources.
const GROUPS: usize = 120;
const GROUP: usize = 3;

/// What a source may have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Feature {
    Shared,
    DynamicShared,
    Constants,
    Globals,
    Pointers,
    Indirect,
    Images,
    Local,
    Switch,
    Barrier,
    Print,
    Weak,
    Common,
    Extern,
}

const FEATURES: [(Feature, usize); 14] = [
    (Feature::Shared, 45),
    (Feature::DynamicShared, 15),
    (Feature::Constants, 40),
    (Feature::Globals, 60),
    (Feature::Pointers, 25),
    (Feature::Indirect, 15),
    // A kernel has handles for 256 textures, and nvlink counts those of others too.
    (Feature::Images, 8),
    (Feature::Local, 40),
    (Feature::Switch, 30),
    (Feature::Barrier, 40),
    (Feature::Print, 30),
    (Feature::Weak, 60),
    (Feature::Common, 10),
    (Feature::Extern, 30),
];

/// A module being written.
struct Module {
    rng: Rng,
    sm: u32,
    functions: usize,
    features: Vec<Feature>,
    /// Declarations of what others define.
    externs: BTreeSet<String>,
    variables: Vec<String>,
    declarations: String,
    code: String,
    globals: usize,
    constants: usize,
    images: usize,
    line: usize,
}

/// A body being written. `%r0` takes part in all results, `%d0` holds an address.
#[derive(Default)]
struct Body {
    text: String,
    counter: usize,
}

impl Body {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }
    fn fresh(&mut self) -> usize {
        self.counter += 1;
        self.counter
    }
    fn call(&mut self, callee: &str) {
        self.line("{ .param .b32 p; .param .b32 q; st.param.b32 [p], %r0;");
        self.line(&format!("call.uni (q), {callee}, (p); ld.param.b32 %r0, [q]; }}"));
    }
    fn arithmetic(&mut self, rng: &mut Rng) {
        for _ in 0..rng.range(1, 12) {
            let (factor, term) = (2 * rng.below(1 << 20) + 3, rng.below(1 << 20));
            self.line(&format!("mad.lo.u32 %r0, %r0, {factor}, {term};"));
            self.line(&format!("xor.b32 %r0, %r0, {};", rng.below(1 << 24)));
        }
    }
    fn local(&mut self, rng: &mut Rng) {
        let (name, size) = (format!("local{}", self.fresh()), 16 << rng.below(5));
        self.line(&format!(".local .align 8 .b8 {name}[{size}];\nmov.u64 %d1, {name};"));
        self.line(&format!("and.b64 %d2, %d0, {};\nadd.u64 %d1, %d1, %d2;", size - 8));
        self.line("st.local.u32 [%d1], %r0;\nld.local.u32 %r1, [%d1+4];\nxor.b32 %r0, %r0, %r1;");
    }
    fn switch(&mut self, rng: &mut Rng) {
        let (n, count) = (self.fresh(), rng.range(4, 9));
        let labels: Vec<String> = (0..count).map(|i| format!("L{n}_{i}")).collect();
        self.line(&format!("setp.ge.u32 %p0, %r0, {count};\n@%p0 bra L{n};"));
        self.line(&format!("T{n}: .branchtargets {};\nbrx.idx %r0, T{n};", labels.join(", ")));
        for (i, label) in labels.iter().enumerate() {
            self.line(&format!("{label}:"));
            match i % 3 {
                0 => self.line(&format!("mad.lo.u32 %r0, %r0, {}, 5;", rng.below(1 << 16))),
                1 => self.line(&format!("st.volatile.u32 [%d0+{}], %r0;", 4 * i)),
                _ => self.line(&format!("ld.volatile.u32 %r0, [%d0+{}];", 4 * i)),
            }
            self.line(&format!("bra L{n};"));
        }
        self.line(&format!("L{n}:"));
    }
    fn finish(self) -> String {
        format!(
            "{{\n.reg .b32 %r<4>;\n.reg .b64 %d<4>;\n.reg .pred %p<2>;\n.reg .f32 %f<4>;\n{}}}\n",
            self.text
        )
    }
}

fn prototype(name: &str) -> String {
    format!(".func (.param .b32 r) {name} (.param .b32 a)")
}

/// A name as long as those of templates.
fn weak_name(group: usize, member: usize) -> String {
    let length = 20 + group * 7 % 90;
    let padding = "template_argument_".chars().cycle().take(length).collect::<String>();
    format!("_ZN3lib6detail{length}{padding}ILi{group}EE1f{member}Ei")
}

impl Module {
    fn new(sm: u32, number: usize) -> Self {
        let mut rng = Rng(0x5eed_0000 + number as u64);
        rng.next();
        let features = FEATURES.iter().filter(|(_, percent)| rng.chance(*percent));
        let features: Vec<Feature> = features.map(|&(feature, _)| feature).collect();
        Self {
            functions: FUNCTIONS[number % FUNCTIONS.len()] + rng.below(3),
            globals: 0,
            constants: 0,
            images: 0,
            rng,
            sm,
            features,
            externs: BTreeSet::new(),
            variables: Vec::new(),
            declarations: String::new(),
            code: String::new(),
            line: 0,
        }
    }

    fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }

    /// Whether it has a feature, and a function that may use it does.
    fn uses(&mut self, feature: Feature, percent: usize) -> bool {
        self.has(feature) && self.rng.chance(percent)
    }

    fn finish(mut self) -> String {
        self.data();
        let groups = self.groups();
        for i in (0..self.functions).rev() {
            self.function(i, &groups);
        }
        let kernels = 1 + self.rng.below(1 + self.functions.min(24) / 2);
        (0..kernels).for_each(|k| self.kernel(k, &groups));
        let mut out = format!(".version 9.0\n.target sm_{}\n.address_size 64\n", self.sm);
        out += ".file 1 \"source.cu\"\n";
        self.externs.iter().for_each(|line| out += &format!("{line}\n"));
        out += &self.declarations;
        self.variables.iter().for_each(|line| out += &format!("{line}\n"));
        out + &self.code
    }

    /// Variables that the code refers to by their numbers.
    fn data(&mut self) {
        let own = slot(0);
        if self.has(Feature::Globals) {
            self.globals = self.rng.range(1, 1 + self.functions.min(40));
        }
        for i in 0..self.globals {
            let linkage = if i == 0 || self.rng.chance(60) { ".visible " } else { "" };
            let (size, value) = (4 << self.rng.below(6), self.rng.below(256));
            let init = if self.rng.chance(50) { format!(" = {{{value}, 2}}") } else { "".into() };
            let line = format!("{linkage}.global .align 4 .b8 v{own}_{i:03}[{size}]{init};");
            self.variables.push(line);
        }
        if self.has(Feature::Constants) {
            self.constants = self.rng.range(1, 1 + self.functions.min(12));
        }
        for i in 0..self.constants {
            let linkage = if self.rng.chance(50) { ".visible " } else { "" };
            let (size, value) = (4 + 4 * self.rng.below(6), self.rng.below(256));
            let line =
                format!("{linkage}.const .align 4 .b8 c{own}_{i:03}[{size}] = {{1, {value}}};");
            self.variables.push(line);
        }
        if self.has(Feature::Images) {
            self.images = self.rng.range(1, 2);
        }
        for i in 0..self.images {
            let linkage = if self.rng.chance(70) { ".visible " } else { "" };
            self.variables.push(format!("{linkage}.global .texref t{own}_{i:03};"));
        }
        if self.has(Feature::Pointers) && self.globals > 0 {
            let count = self.rng.range(1, 8);
            let of = |rng: &mut Rng, n| format!("v{own}_{:03}+{}", rng.below(n), rng.below(4));
            let list: Vec<String> = (0..count).map(|_| of(&mut self.rng, self.globals)).collect();
            let list = list.join(", ");
            let space = self.rng.pick(&["global", "const"]);
            let line = format!(".visible .{space} .align 8 .u64 p{own}[{count}] = {{{list}}};");
            self.variables.push(line);
        }
        if self.has(Feature::Indirect) {
            let line = format!(
                ".visible .global .align 8 .u64 i{own}[2] = {{{}, {}}};",
                function(0, 0),
                function(0, self.functions - 1)
            );
            self.variables.push(line);
        }
    }

    /// Writes the weak functions; the names of those that others call.
    fn groups(&mut self) -> Vec<String> {
        if !self.has(Feature::Weak) {
            return Vec::new();
        }
        let count = self.rng.range(1, 2 + self.functions.min(60) / 4);
        let groups: BTreeSet<usize> = (0..count).map(|_| self.rng.below(GROUPS)).collect();
        for &group in &groups {
            let mut rng = Rng(group as u64);
            for member in (0..GROUP).rev() {
                let name = weak_name(group, member);
                let mut body = Body::default();
                body.line("ld.param.b32 %r0, [a];\ncvt.u64.u32 %d0, %r0;");
                body.arithmetic(&mut rng);
                if rng.chance(20) {
                    body.local(&mut rng);
                }
                if rng.chance(15) {
                    body.switch(&mut rng);
                }
                if member + 1 < GROUP {
                    body.call(&weak_name(group, member + 1));
                }
                body.line("st.param.b32 [r], %r0;\nret;");
                self.add(".weak ", &name, body);
            }
        }
        groups.into_iter().map(|group| weak_name(group, 0)).collect()
    }

    fn add(&mut self, linkage: &str, name: &str, body: Body) {
        let _ = writeln!(self.declarations, "{linkage}{};", prototype(name));
        let _ = writeln!(self.code, "{linkage}{}\n{}", prototype(name), body.finish());
    }

    fn function(&mut self, i: usize, groups: &[String]) {
        let linkage = if i == 0 || self.rng.chance(60) { ".visible " } else { "" };
        let mut body = Body::default();
        body.line("ld.param.b32 %r0, [a];\ncvt.u64.u32 %d0, %r0;");
        self.actions(&mut body, &function(0, i));
        for _ in 0..self.rng.below(3) {
            // Forwards, so that nothing recurses.
            let callee = i + 1 + self.rng.below(6);
            if callee < self.functions {
                body.call(&function(0, callee));
            }
        }
        if !groups.is_empty() && self.rng.chance(30) {
            body.call(&groups[self.rng.below(groups.len())]);
        }
        body.line("st.param.b32 [r], %r0;\nret;");
        self.add(linkage, &function(0, i), body);
    }

    fn kernel(&mut self, k: usize, groups: &[String]) {
        let name = format!("k{}_{k:03}", slot(0));
        let mut body = Body::default();
        body.line("ld.param.u64 %d0, [a];\ncvt.u32.u64 %r0, %d0;");
        self.actions(&mut body, &name);
        self.kernel_actions(&mut body);
        for _ in 0..self.rng.range(1, 4) {
            body.call(&function(0, self.rng.below(self.functions)));
        }
        if !groups.is_empty() {
            body.call(&groups[self.rng.below(groups.len())]);
        }
        body.line("st.global.u32 [%d0], %r0;\nret;");
        let parameters = match self.rng.below(4) {
            0 => format!(", .param .align 8 .b8 block[{}]", 8 + 8 * self.rng.below(40)),
            1 => ", .param .u32 b, .param .u64 c".into(),
            _ => String::new(),
        };
        let bounds = self.rng.pick(&["", "", ".maxntid 256, 1, 1", ".reqntid 128, 1, 1"]);
        let _ = writeln!(
            self.code,
            ".visible .entry {name}(.param .u64 a{parameters}) {bounds}\n{}",
            body.finish()
        );
    }

    /// What functions and kernels do, each some of it.
    fn actions(&mut self, body: &mut Body, name: &str) {
        let own = slot(0);
        self.line += self.rng.range(1, 9);
        body.line(&format!(".loc 1 {} 3", self.line));
        body.arithmetic(&mut self.rng);
        if self.uses(Feature::Shared, 25) {
            let size = 8 << self.rng.below(6);
            body.line(&format!(".shared .align 4 .b8 s_{name}[{size}];"));
            body.line(&format!("st.shared.u32 [s_{name}+4], %r0;\nbar.sync 0;"));
            body.line(&format!("ld.shared.u32 %r1, [s_{name}];\nadd.u32 %r0, %r0, %r1;"));
        }
        if self.globals > 0 && self.rng.chance(40) {
            let variable = format!("v{own}_{:03}", self.rng.below(self.globals));
            body.line(&format!("ld.global.u32 %r1, [{variable}];\nadd.u32 %r0, %r0, %r1;"));
        }
        if self.constants > 0 && self.rng.chance(40) {
            let constant = format!("c{own}_{:03}", self.rng.below(self.constants));
            body.line(&format!("ld.const.u32 %r1, [{constant}];\nxor.b32 %r0, %r0, %r1;"));
        }
        if self.uses(Feature::Local, 25) {
            body.local(&mut self.rng);
        }
        if self.uses(Feature::Switch, 20) {
            body.switch(&mut self.rng);
        }
        if self.uses(Feature::Print, 15) {
            self.print(body);
        }
        self.line += 1;
        body.line(&format!(".loc 1 {} 5", self.line));
    }

    /// What kernels alone do: nothing of it can be called from elsewhere.
    fn kernel_actions(&mut self, body: &mut Body) {
        let own = slot(0);
        if self.uses(Feature::Barrier, 50) {
            body.line(&format!("bar.sync {};", self.rng.below(16)));
        }
        if self.uses(Feature::DynamicShared, 50) {
            self.externs.insert(".extern .shared .align 16 .b8 dynamic[];".into());
            body.line("st.shared.u32 [dynamic+16], %r0;\nld.shared.u32 %r0, [dynamic];");
        }
        if self.images > 0 && self.rng.chance(60) {
            let image = format!("t{own}_{:03}", self.rng.below(self.images));
            body.line(&format!("tex.1d.v4.f32.s32 {{%f0, %f1, %f2, %f3}}, [{image}, {{%r0}}];"));
            body.line("cvt.rzi.u32.f32 %r0, %f0;");
        }
        if self.uses(Feature::Common, 50) {
            let common = format!("common{}", self.rng.below(10));
            let line = format!(".common .global .align 4 .b8 {common}[16];");
            if !self.variables.contains(&line) {
                self.variables.push(line);
            }
            body.line(&format!("ld.global.u32 %r1, [{common}];\nadd.u32 %r0, %r0, %r1;"));
        }
        if self.uses(Feature::Extern, 60) {
            let variable = format!("v{}_000", slot(NEXT_VARIABLE));
            self.externs.insert(format!(".extern .global .align 4 .b8 {variable}[];"));
            body.line(&format!("ld.global.u32 %r1, [{variable}];\nadd.u32 %r0, %r0, %r1;"));
        }
        if self.uses(Feature::Indirect, 60) {
            let n = body.fresh();
            body.line(&format!("ld.global.u64 %d1, [i{own}];"));
            body.line(&format!("P{n}: .callprototype (.param .b32 _) _ (.param .b32 _);"));
            body.line("{ .param .b32 p; .param .b32 q; st.param.b32 [p], %r0;");
            body.line(&format!("call (q), %d1, (p), P{n}; ld.param.b32 %r0, [q]; }}"));
        }
        if self.rng.chance(70) {
            let callee = function(NEXT, 0);
            self.externs.insert(format!(".extern {};", prototype(&callee)));
            body.call(&callee);
        }
    }

    fn print(&mut self, body: &mut Body) {
        let declaration = ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);";
        self.externs.insert(declaration.into());
        let format = format!("format{}", self.variables.len());
        let length = self.rng.range(2, 30);
        let text: Vec<String> = (0..length).map(|i| (97 + i % 26).to_string()).collect();
        let line =
            format!(".global .align 1 .b8 {format}[{}] = {{{}, 0}};", length + 1, text.join(", "));
        self.variables.push(line);
        body.line(&format!("mov.u64 %d1, {format};\ncvta.global.u64 %d1, %d1;"));
        body.line("{ .param .b64 p; .param .b64 o; .param .b32 q; st.param.b64 [p], %d1;");
        body.line("st.param.b64 [o], %d0; call.uni (q), vprintf, (p, o);");
        body.line("ld.param.b32 %r1, [q]; }\nadd.u32 %r0, %r0, %r1;");
    }
}
