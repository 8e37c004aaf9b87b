//! Programs as PTX text.

use std::fmt::Write;

/// How a function is seen from outside.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Linkage {
    Visible,
    Weak,
    Kernel,
    WeakKernel,
}

/// A function that computes something and calls others.
pub struct Function {
    pub name: String,
    pub linkage: Linkage,
    /// Arithmetic instructions beside the calls.
    pub length: usize,
    pub calls: Vec<String>,
}

impl Function {
    pub fn new(name: String, linkage: Linkage, calls: Vec<String>) -> Self {
        Self { name, linkage, length: 4, calls }
    }
    pub fn long(self, length: usize) -> Self {
        Self { length, ..self }
    }
    fn is_kernel(&self) -> bool {
        matches!(self.linkage, Linkage::Kernel | Linkage::WeakKernel)
    }
    fn declaration(&self) -> String {
        let linkage = match self.linkage {
            Linkage::Visible | Linkage::Kernel => ".visible",
            Linkage::Weak | Linkage::WeakKernel => ".weak",
        };
        match self.is_kernel() {
            true => format!("{linkage} .entry {}(.param .u64 a)", self.name),
            false => format!("{linkage} {}", prototype(&self.name)),
        }
    }
    fn body(&self) -> String {
        let mut out = String::from("{\n.reg .b32 %r<2>;\n.reg .b64 %d<2>;\n");
        out += match self.is_kernel() {
            true => "ld.param.u64 %d0, [a];\ncvt.u32.u64 %r0, %d0;\n",
            false => "ld.param.b32 %r0, [a];\n",
        };
        for i in 0..self.length {
            // Neither a sum nor a product of constants: nothing folds.
            let _ = writeln!(out, "mad.lo.u32 %r0, %r0, {}, {};", 2 * i + 3, i + 7);
            let _ = writeln!(out, "xor.b32 %r0, %r0, {};", 0x5bd1 + 8 * i);
        }
        for callee in &self.calls {
            let _ = writeln!(
                out,
                "{{ .param .b32 p; .param .b32 q;\nst.param.b32 [p], %r0;\n\
                 call.uni (q), {callee}, (p);\nld.param.b32 %r0, [q]; }}"
            );
        }
        out += match self.is_kernel() {
            true => "st.global.u32 [%d0], %r0;\nret;\n}\n",
            false => "st.param.b32 [r], %r0;\nret;\n}\n",
        };
        out
    }
}

fn prototype(name: &str) -> String {
    format!(".func (.param .b32 r) {name} (.param .b32 a)")
}

/// A module of `functions`; what they call and do not define is external.
pub fn module(sm: u32, functions: &[Function]) -> String {
    let mut out = format!(".version 9.0\n.target sm_{sm}\n.address_size 64\n");
    let mut declared = std::collections::BTreeSet::new();
    for function in functions {
        if !function.is_kernel() {
            declared.insert(function.name.as_str());
            let _ = writeln!(out, "{};", function.declaration());
        }
    }
    for callee in functions.iter().flat_map(|f| &f.calls) {
        if declared.insert(callee) {
            let _ = writeln!(out, ".extern {};", prototype(callee));
        }
    }
    for function in functions {
        let _ = writeln!(out, "{}\n{}", function.declaration(), function.body());
    }
    out
}
