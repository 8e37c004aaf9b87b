//! Actions that stand for one kind of instruction or one external function.

use super::body::Body;
use super::plan::Linkage;

impl Body<'_> {
    fn sm(&self) -> u16 {
        self.plan.modules[self.m].sm.number
    }

    pub fn local_memory(&mut self) {
        let name = self.fresh("depot");
        let size = *self.rng.pick(&[16, 64, 200, 1024]);
        let (value, at) = (self.reg("b32"), self.reg("b64"));
        let index = self.reg("b64");
        self.declare(&format!(".local .align 8 .b8 {name}[{size}];"));
        self.emit(&format!("mov.u64 {at}, {name};"));
        self.emit(&format!("and.b64 {index}, {}, {};", self.pointer, size / 8 * 4 - 4));
        self.emit(&format!("add.u64 {at}, {at}, {index};"));
        self.emit(&format!("st.local.u32 [{at}], {};", self.acc));
        self.emit(&format!("ld.local.u32 {value}, [{at}+4];"));
        self.absorb(&value);
        self.note("local-memory");
    }

    pub fn alloca(&mut self) {
        let (size, at, value) = (self.reg("b64"), self.reg("b64"), self.reg("b32"));
        self.emit(&format!("cvt.u64.u32 {size}, {};", self.acc));
        self.emit(&format!("alloca.u64 {at}, {size};"));
        self.emit(&format!("st.local.u32 [{at}], {};", self.acc));
        self.emit(&format!("ld.local.u32 {value}, [{at}+4];"));
        self.absorb(&value);
        self.note("alloca");
    }

    pub fn barrier(&mut self) {
        let acc = self.acc.clone();
        match self.rng.below(5) {
            0 => self.emit(&format!("bar.sync {acc};")),
            1 => {
                let (test, value) = (self.reg("pred"), self.reg("b32"));
                self.emit(&format!("setp.gt.u32 {test}, {acc}, 3;"));
                let id = self.rng.below(16);
                self.emit(&format!("bar.red.popc.u32 {value}, {id}, {test};"));
                self.absorb(&value);
            }
            2 => {
                let id = self.rng.below(16);
                self.emit(&format!("bar.arrive {id}, 64;"));
            }
            _ => {
                let id = self.rng.below(16);
                self.emit(&format!("bar.sync {id};"));
            }
        }
        self.note("barrier");
    }

    pub fn mbarrier(&mut self) {
        if self.sm() < 80 {
            return;
        }
        let (name, state) = (self.fresh("mbar"), self.reg("b64"));
        self.declare(&format!(".shared .align 8 .b64 {name};"));
        self.emit(&format!("mbarrier.init.shared.b64 [{name}], {};", self.acc));
        self.emit(&format!("mbarrier.arrive.shared.b64 {state}, [{name}];"));
        self.absorb64(&state);
        self.note("mbarrier");
    }

    pub fn switch(&mut self) {
        let count = self.rng.range(4, 9);
        let (targets, end) = (self.fresh("ts"), self.fresh("$L"));
        let labels: Vec<String> = (0..count).map(|_| self.fresh("$L")).collect();
        let test = self.reg("pred");
        let (acc, pointer) = (self.acc.clone(), self.pointer.clone());
        self.emit(&format!("setp.ge.u32 {test}, {acc}, {count};"));
        self.emit(&format!("@{test} bra {end};"));
        self.emit(&format!("{targets}: .branchtargets {};", labels.join(", ")));
        self.emit(&format!("brx.idx {acc}, {targets};"));
        for (i, label) in labels.iter().enumerate() {
            self.label(label);
            let constant = self.rng.below(1 << 16);
            match i % 3 {
                0 => self.emit(&format!("mad.lo.u32 {acc}, {acc}, {constant}, 5;")),
                1 => self.emit(&format!("st.volatile.u32 [{pointer}+{}], {acc};", 4 * i)),
                _ => self.emit(&format!("ld.volatile.u32 {acc}, [{pointer}+{}];", 4 * i)),
            }
            self.emit(&format!("bra {end};"));
        }
        self.label(&end);
        self.note("switch");
    }

    pub fn vprintf(&mut self) {
        self.uses.externs.insert("vprintf");
        let name = format!("fmt{}", self.uses.top.len());
        self.uses.top.push(format!(".global .align 1 .b8 {name}[4] = {{37, 100, 10, 0}};"));
        let (address, value) = (self.reg("b64"), self.reg("b32"));
        self.emit(&format!("mov.u64 {address}, {name};"));
        self.emit(&format!("cvta.global.u64 {address}, {address};"));
        self.emit("{");
        self.emit(".param .b64 q0; .param .b64 q1; .param .b32 q2;");
        self.emit(&format!("st.param.b64 [q0], {address};"));
        self.emit(&format!("st.param.b64 [q1], {};", self.pointer));
        self.emit("call.uni (q2), vprintf, (q0, q1);");
        self.emit(&format!("ld.param.b32 {value}, [q2];"));
        self.emit("}");
        self.absorb(&value);
        self.note("vprintf");
    }

    pub fn malloc(&mut self) {
        self.uses.externs.extend(["malloc", "free"]);
        let value = self.reg("b64");
        self.emit("{");
        self.emit(".param .b64 q0; .param .b64 q1;");
        self.emit(&format!("st.param.b64 [q0], {};", self.pointer));
        self.emit("call.uni (q1), malloc, (q0);");
        self.emit(&format!("ld.param.b64 {value}, [q1];"));
        self.emit("}");
        if self.rng.chance(50) {
            self.emit("{");
            self.emit(".param .b64 q0;");
            self.emit(&format!("st.param.b64 [q0], {value};"));
            self.emit("call.uni free, (q0);");
            self.emit("}");
        }
        self.absorb64(&value);
        self.note("malloc");
    }

    pub fn assertfail(&mut self) {
        self.uses.externs.insert("__assertfail");
        let (test, skip) = (self.reg("pred"), self.fresh("$L"));
        self.emit(&format!("setp.ne.u32 {test}, {}, 13;", self.acc));
        self.emit(&format!("@{test} bra {skip};"));
        self.emit("{");
        self.emit(
            ".param .b64 q0; .param .b64 q1; .param .b32 q2; .param .b64 q3; .param .b64 q4;",
        );
        for q in ["q0", "q1", "q3", "q4"] {
            self.emit(&format!("st.param.b64 [{q}], {};", self.pointer));
        }
        self.emit(&format!("st.param.b32 [q2], {};", self.acc));
        self.emit("call.uni __assertfail, (q0, q1, q2, q3, q4);");
        self.emit("}");
        self.label(&skip);
        self.note("assertfail");
    }

    pub fn texture_object(&mut self) {
        let values: Vec<String> = (0..4).map(|_| self.reg("f32")).collect();
        let (x, value) = (self.reg("f32"), self.reg("b32"));
        self.emit(&format!("cvt.rn.f32.u32 {x}, {};", self.acc));
        if self.plan.modules[self.m].independent_textures {
            self.emit(&format!(
                "suld.b.1d.b32.trap {{{value}}}, [{}, {{{}}}];",
                self.pointer, self.acc
            ));
        } else {
            let list = values.join(", ");
            self.emit(&format!("tex.2d.v4.f32.f32 {{{list}}}, [{}, {{{x}, {x}}}];", self.pointer));
            self.emit(&format!("cvt.rni.u32.f32 {value}, {};", values[0]));
        }
        self.absorb(&value);
        self.note("texture-object");
    }

    /// Index of an image of `kind` this module can name.
    fn image(&mut self, kind: &str) -> Option<usize> {
        let found: Vec<usize> = (0..self.plan.images.len())
            .filter(|&i| {
                let image = &self.plan.images[i];
                image.kind == kind && (image.home == self.m || image.linkage == Linkage::Visible)
            })
            .collect();
        let image = self.rng.choose(&found)?;
        self.uses.images.insert(image);
        Some(image)
    }

    pub fn image_reference(&mut self) {
        let kind = *self.rng.pick(&["texref", "texref", "surfref"]);
        let Some(image) = self.image(kind) else { return };
        let name = self.plan.images[image].name.clone();
        let value = self.reg("b32");
        let independent = self.plan.modules[self.m].independent_textures;
        match (kind, self.rng.below(3)) {
            ("surfref", 0) => self.emit(&format!("suq.width.b32 {value}, [{name}];")),
            ("surfref", _) => {
                self.emit(&format!("suld.b.1d.b32.trap {{{value}}}, [{name}, {{{}}}];", self.acc));
            }
            (_, 0) => self.emit(&format!("txq.width.b32 {value}, [{name}];")),
            _ => {
                let sampler = if independent { self.image("samplerref") } else { None };
                if independent && sampler.is_none() {
                    self.emit(&format!("txq.height.b32 {value}, [{name}];"));
                } else {
                    let sampler = sampler
                        .map_or(String::new(), |s| format!("{}, ", self.plan.images[s].name));
                    let values: Vec<String> = (0..4).map(|_| self.reg("f32")).collect();
                    self.emit(&format!(
                        "tex.1d.v4.f32.s32 {{{}}}, [{name}, {sampler}{{{}}}];",
                        values.join(", "),
                        self.acc
                    ));
                    self.emit(&format!("cvt.rni.u32.f32 {value}, {};", values[1]));
                }
            }
        }
        self.absorb(&value);
        self.note("image-reference");
    }

    pub fn warp(&mut self) {
        let (test, value) = (self.reg("pred"), self.reg("b32"));
        self.emit(&format!("setp.gt.u32 {test}, {}, 3;", self.acc));
        match self.rng.below(4) {
            0 => self.emit(&format!("vote.sync.ballot.b32 {value}, {test}, -1;")),
            1 => self.emit(&format!("activemask.b32 {value};")),
            2 => self.emit(&format!("match.any.sync.b32 {value}, {0}, {0};", self.acc)),
            _ => self.emit(&format!("shfl.sync.bfly.b32 {value}, {0}, 1, 31, {0};", self.acc)),
        }
        self.absorb(&value);
        self.note("warp");
    }

    pub fn ctaid_z(&mut self) {
        let value = self.reg("b32");
        self.emit(&format!("mov.u32 {value}, %ctaid.z;"));
        self.absorb(&value);
        self.note("ctaid-z");
    }

    pub fn double_math(&mut self) {
        let (a, b, value) = (self.reg("f64"), self.reg("f64"), self.reg("b32"));
        self.emit(&format!("cvt.rn.f64.u32 {a}, {};", self.acc));
        self.emit(&format!("sqrt.rn.f64 {b}, {a};"));
        self.emit(&format!("div.rn.f64 {a}, {b}, {a};"));
        self.emit(&format!("cvt.rni.u32.f64 {value}, {a};"));
        self.absorb(&value);
        self.note("double-math");
    }

    pub fn sparse_mma(&mut self) {
        if self.sm() < 80 || self.sm() > 90 {
            return;
        }
        let f: Vec<String> = (0..4).map(|_| self.reg("f32")).collect();
        let value = self.reg("b32");
        for one in &f {
            self.emit(&format!("cvt.rn.f32.u32 {one}, {};", self.acc));
        }
        let (list, acc) = (f.join(", "), self.acc.clone());
        let selector = self.rng.below(2);
        self.emit(&format!(
            "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{{list}}}, \
             {{{acc}, {acc}}}, {{{acc}, {acc}}}, {{{list}}}, {acc}, {selector};"
        ));
        self.emit(&format!("cvt.rni.u32.f32 {value}, {};", f[0]));
        self.absorb(&value);
        self.note("sparse-mma");
    }

    pub fn cluster(&mut self) {
        if self.sm() < 90 {
            return;
        }
        let value = self.reg("b32");
        match self.rng.below(3) {
            0 => {
                self.emit("barrier.cluster.arrive;");
                self.emit("barrier.cluster.wait;");
            }
            1 => self.emit("griddepcontrol.wait;"),
            _ => {
                self.emit(&format!("mov.u32 {value}, %cluster_ctarank;"));
                self.absorb(&value);
            }
        }
        self.note("cluster-instructions");
    }

    /// Register reallocation, only for kernels whose launch bounds allow it.
    pub fn set_max_registers(&mut self) {
        if self.plan.modules[self.m].sm.suffix != Some('a') || self.sm() != 90 {
            return;
        }
        let op = *self.rng.pick(&["inc.sync.aligned.u32 96", "dec.sync.aligned.u32 24"]);
        self.emit(&format!("setmaxnreg.{op};"));
        self.note("set-max-registers");
    }

    pub fn atomics(&mut self) {
        let value = self.reg("b32");
        let op = *self.rng.pick(&["atom.sys.add.u32", "atom.add.u32", "atom.exch.b32"]);
        self.emit(&format!("{op} {value}, [{}], {};", self.pointer, self.acc));
        self.absorb(&value);
        self.note("atomics");
    }

    pub fn early_exit(&mut self) {
        let test = self.reg("pred");
        self.emit(&format!("setp.gt.u32 {test}, {}, 1000;", self.acc));
        self.emit(&format!("@{test} exit;"));
        self.note("early-exit");
    }

    /// Constants too wide for an instruction: ptxas puts them into bank 2.
    pub fn wide_constants(&mut self) {
        let (a, value) = (self.reg("f64"), self.reg("b32"));
        self.emit(&format!("cvt.rn.f64.u32 {a}, {};", self.acc));
        for _ in 0..self.rng.range(1, 4) {
            let bits = self.rng.next() >> 2 | 1;
            self.emit(&format!("fma.rn.f64 {a}, {a}, 0d{bits:016X}, {a};"));
        }
        self.emit(&format!("cvt.rni.u32.f64 {value}, {a};"));
        self.absorb(&value);
        self.note("wide-constants");
    }

    pub fn async_copy(&mut self) {
        if self.sm() < 80 {
            return;
        }
        let (name, from) = (self.fresh("stage"), self.reg("b64"));
        self.declare(&format!(".shared .align 16 .b8 {name}[64];"));
        self.emit(&format!("cvta.to.global.u64 {from}, {};", self.pointer));
        self.emit(&format!("cp.async.ca.shared.global [{name}], [{from}], 16;"));
        self.emit("cp.async.commit_group;");
        self.emit("cp.async.wait_all;");
        self.note("async-copy");
    }

    pub fn special_registers(&mut self) {
        let value = self.reg("b32");
        let names: &[&str] = if self.sm() >= 80 {
            &["%dynamic_smem_size", "%total_smem_size", "%reserved_smem_offset_begin", "%nctaid.z"]
        } else {
            &["%dynamic_smem_size", "%total_smem_size", "%nctaid.z"]
        };
        let name = *self.rng.pick(names);
        self.emit(&format!("mov.u32 {value}, {name};"));
        self.absorb(&value);
        self.note("special-registers");
    }
}
