//! The programs that are linked: a few templates are compiled, then stamped
//! out under other names of the same length.

use crate::host;
use crate::ptx::{Function, Linkage, module};
use crate::template::{NEXT, Template, function, slot};
use crate::unlike;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program to link.
pub struct Corpus {
    pub name: &'static str,
    pub what: &'static str,
    pub sm: u32,
    pub options: &'static [&'static str],
    shape: Shape,
}

#[derive(Clone, Copy)]
enum Shape {
    /// Objects of a kernel and some functions in short chains.
    Objects { count: usize, functions: usize, length: usize },
    /// The same in fatbins, packed as nvcc packs them.
    Packed { count: usize, functions: usize, length: usize },
    /// The same, of which only the first functions are called: libraries.
    Unused { count: usize, functions: usize, used: usize },
    /// A kernel and a function each.
    Tiny { count: usize },
    /// Weak functions out of a pool, with long names, and kernels of their own.
    Weak { count: usize, functions: usize, pool: usize },
    /// An archive, of which a root needs every tenth member.
    Archive { members: usize },
    /// Two functions per level, both calling both of the next.
    Ladder { objects: usize, levels: usize, kernels: bool },
    /// Functions calling others at random, without recursion.
    Random { objects: usize, functions: usize, calls: usize },
    /// One chain through all objects, each with a kernel.
    Chain { objects: usize, functions: usize },
    /// Objects with debug information.
    Debug { count: usize },
    /// PTX files, which the linkers compile.
    Ptx { count: usize, functions: usize, length: usize },
    /// Objects from so many sources, no two neighbours of one shape.
    Unlike { count: usize, sources: usize },
    /// The same in host objects, for several architectures, some in archives.
    Host { count: usize, sources: usize },
    /// The inputs of the device link of NCCL.
    Nccl,
    /// A program with the archive of NVSHMEM.
    Nvshmem,
}

/// All corpora, or small ones of the same shapes.
pub fn all(quick: bool) -> Vec<Corpus> {
    let n = |full: usize| if quick { (full / 20).max(2) } else { full };
    let corpus = |name, what, shape| Corpus { name, what, sm: 90, options: &[], shape };
    let objects = |count| Shape::Objects { count: n(count), functions: 30, length: 8 };
    let growing = |count| Shape::Objects { count: n(count), functions: 10, length: 4 };
    let unlike = |count| Shape::Unlike { count: n(count), sources: n(140) };
    let ladder = |levels| if quick { levels / 2 } else { levels };
    let host = |count| Shape::Host { count: n(count), sources: n(140) };
    vec![
        corpus(
            "nvcc-1000",
            "1,000 objects of nvcc from 140 sources, packed, some archived",
            host(1000),
        ),
        Corpus { sm: 100, ..corpus("sm_100-nvcc-1000", "the same for sm_100", host(1000)) },
        corpus("nccl", "NCCL's device link (--nccl)", Shape::Nccl),
        Corpus { sm: 100, ..corpus("sm_100-nccl", "the same for sm_100", Shape::Nccl) },
        corpus("nvshmem", "a program with NVSHMEM (--nvshmem)", Shape::Nvshmem),
        corpus("small", "two objects", Shape::Tiny { count: 2 }),
        corpus("objects-500", "500 objects of 30 functions", objects(500)),
        corpus("objects-2000", "2,000 objects of 30 functions", objects(2000)),
        corpus(
            "unused-2000",
            "2,000 objects of 40 functions, 30 of them never called",
            Shape::Unused { count: n(2000), functions: 40, used: 10 },
        ),
        corpus("tiny-10000", "10,000 objects of two functions", Shape::Tiny { count: n(10_000) }),
        corpus(
            "weak",
            "1,000 objects of 60 weak functions of a pool of 300",
            Shape::Weak { count: n(1000), functions: 60, pool: 300 },
        ),
        corpus(
            "archive",
            "an archive of 2,000 members, 200 of them needed",
            Shape::Archive { members: n(2000) },
        ),
        corpus(
            "packed",
            "500 objects of 30 functions in fatbins",
            Shape::Packed { count: n(500), functions: 30, length: 8 },
        ),
        corpus(
            "packed-long",
            "100 objects of 30 long functions in fatbins",
            Shape::Packed { count: n(100), functions: 30, length: 512 },
        ),
        corpus(
            "ladder",
            "56 functions with 2^28 call paths",
            Shape::Ladder { objects: 1, levels: ladder(28), kernels: true },
        ),
        corpus(
            "random",
            "40 objects of 10 functions, 5 random calls each",
            Shape::Random { objects: n(40), functions: 10, calls: 5 },
        ),
        corpus(
            "chain",
            "a chain 3,000 deep under 300 kernels",
            Shape::Chain { objects: n(300), functions: 10 },
        ),
        Corpus { sm: 100, ..corpus("sm_100", "500 objects for sm_100", growing(500)) },
        Corpus {
            sm: 100,
            ..corpus(
                "sm_100-unused",
                "700 objects of 40 functions for sm_100, 30 of them never called",
                Shape::Unused { count: n(700), functions: 40, used: 10 },
            )
        },
        Corpus {
            sm: 100,
            ..corpus(
                "sm_100-long",
                "2,000 long functions for sm_100",
                Shape::Objects { count: n(200), functions: 10, length: 1024 },
            )
        },
        Corpus {
            options: &["-g"],
            ..corpus("debug", "500 objects of nvcc -G", Shape::Debug { count: n(500) })
        },
        corpus("unlike-140", "140 objects from as many sources", unlike(140)),
        corpus("unlike-1000", "1,000 objects from 140 sources", unlike(1000)),
        Corpus {
            sm: 100,
            ..corpus("sm_100-unlike", "140 objects from as many sources for sm_100", unlike(140))
        },
        corpus(
            "ptx-64",
            "64 PTX files of 10 functions, compiled by the linkers",
            Shape::Ptx { count: n(64), functions: 10, length: 64 },
        ),
    ]
}

/// Corpora that nvlink cannot finish, or that show growth.
pub fn growth(quick: bool) -> Vec<Corpus> {
    let n = |full: usize| if quick { (full / 20).max(2) } else { full };
    let corpus = |name, what, shape| Corpus { name, what, sm: 90, options: &[], shape };
    let growing = |count| Shape::Objects { count: n(count), functions: 10, length: 4 };
    vec![
        corpus("grow-1000", "1,000 objects of 10 functions", growing(1000)),
        corpus("grow-2000", "2,000 objects of 10 functions", growing(2000)),
        corpus("grow-4000", "4,000 objects of 10 functions", growing(4000)),
        corpus("grow-8000", "8,000 objects of 10 functions", growing(8000)),
        corpus("grow-16000", "16,000 objects of 10 functions", growing(16_000)),
        corpus(
            "ladder-10000",
            "a ladder of 10,000 levels",
            Shape::Ladder { objects: n(1000), levels: 10, kernels: false },
        ),
    ]
}

/// Makes the files of a corpus.
#[derive(Clone, Copy)]
pub struct Maker<'a> {
    pub toolkit: &'a Path,
    pub folder: &'a Path,
    /// libnccl.so.2 and libnvshmem_device.a, if they are there.
    pub nccl: Option<&'a Path>,
    pub nvshmem: Option<&'a Path>,
    pub sm: u32,
}

impl Maker<'_> {
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<String, String> {
        let path = self.folder.join(name);
        fs::write(&path, bytes).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(name.to_string())
    }
    pub fn tool(&self, name: &str, words: &[&str]) -> Result<(), String> {
        let path: PathBuf = self.toolkit.join("bin").join(name);
        let output = Command::new(&path).args(words).current_dir(self.folder).output();
        let output = output.map_err(|e| format!("{}: {e}", path.display()))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }
    fn compile(&self, functions: &[Function]) -> Result<Vec<u8>, String> {
        self.assemble(&module(self.sm, functions), &["-O1"])
    }
    /// An object from PTX.
    pub fn assemble(&self, ptx: &str, options: &[&str]) -> Result<Vec<u8>, String> {
        self.write("template.ptx", ptx.as_bytes())?;
        let arch = format!("-arch=sm_{}", self.sm);
        let words = [options, &["-c", &arch, "template.ptx", "-o", "template.cubin"]].concat();
        self.tool("ptxas", &words)?;
        fs::read(self.folder.join("template.cubin")).map_err(|e| e.to_string())
    }
    fn template(&self, functions: &[Function]) -> Result<Template, String> {
        self.compile(functions).map(Template::new)
    }
    /// A file from CUDA source.
    pub fn cuda(&self, source: &str, options: &[&str]) -> Result<Vec<u8>, String> {
        self.write("template.cu", source.as_bytes())?;
        let target = format!("-gencode=arch=compute_{0},code=sm_{0}", self.sm);
        let words = [options, &[&target, "template.cu", "-o", "template.o"]].concat();
        self.tool("nvcc", &words)?;
        fs::read(self.folder.join("template.o")).map_err(|e| e.to_string())
    }
    /// Puts an object into a fatbin.
    fn pack(&self, object: &str) -> Result<String, String> {
        let fatbin = object.replace(".cubin", ".fatbin");
        let image = format!("--image3=kind=elf,sm={},file={object}", self.sm);
        self.tool("fatbinary", &["-64", "--compress-all", "--create", &fatbin, &image])?;
        Ok(fatbin)
    }
    /// A ring of objects: each is followed by the next, the last by the first.
    fn ring(&self, functions: &[Function], count: usize) -> Result<Vec<String>, String> {
        self.stamp(&self.template(functions)?, count, "cubin")
    }
    /// The same in PTX.
    fn ptx_ring(&self, functions: &[Function], count: usize) -> Result<Vec<String>, String> {
        self.stamp(&Template::new(module(self.sm, functions).into_bytes()), count, "ptx")
    }
    fn stamp(&self, template: &Template, count: usize, end: &str) -> Result<Vec<String>, String> {
        (0..count)
            .map(|i| self.write(&format!("{i}.{end}"), &template.object(i, (i + 1) % count)))
            .collect()
    }
}

impl Corpus {
    /// Whether the linkers compile.
    pub fn is_compiled(&self) -> bool {
        matches!(self.shape, Shape::Ptx { .. })
    }

    /// Whether a file is missing that the corpus is made from.
    pub fn is_missing(&self, has_nccl: bool, has_nvshmem: bool) -> bool {
        match self.shape {
            Shape::Nccl => !has_nccl,
            Shape::Nvshmem => !has_nvshmem,
            _ => false,
        }
    }

    /// The names of the inputs, which exist after that.
    pub fn make(&self, maker: &Maker<'_>) -> Result<Vec<String>, String> {
        fs::create_dir_all(maker.folder).map_err(|e| e.to_string())?;
        match self.shape {
            Shape::Objects { count, functions, length } => {
                maker.ring(&short_chains(functions, length), count)
            }
            Shape::Packed { count, functions, length } => {
                let objects = maker.ring(&short_chains(functions, length), count)?;
                objects.iter().map(|object| maker.pack(object)).collect()
            }
            Shape::Unused { count, functions, used } => {
                maker.ring(&with_unused(functions, used), count)
            }
            Shape::Tiny { count } => maker.ring(&short_chains(1, 2), count),
            Shape::Weak { count, functions, pool } => weak(maker, count, functions, pool),
            Shape::Archive { members } => archive(maker, members),
            Shape::Ladder { objects, levels, kernels } => ladder(maker, objects, levels, kernels),
            Shape::Random { objects, functions, calls } => random(maker, objects, functions, calls),
            Shape::Chain { objects, functions } => chain(maker, objects, functions),
            Shape::Debug { count } => debug(maker, count),
            Shape::Ptx { count, functions, length } => {
                maker.ptx_ring(&short_chains(functions, length), count)
            }
            Shape::Unlike { count, sources } => unlike::make(maker, count, sources),
            Shape::Host { count, sources } => host::make(maker, count, sources),
            Shape::Nccl => host::of_library(maker, maker.nccl.ok_or("no --nccl")?),
            Shape::Nvshmem => host::with_archive(maker, maker.nvshmem.ok_or("no --nvshmem")?),
        }
    }
}

/// A kernel that starts chains of up to ten functions and calls the last
/// function of the next object.
fn short_chains(count: usize, length: usize) -> Vec<Function> {
    const CHAIN: usize = 10;
    let mut out: Vec<Function> = (0..count)
        .map(|i| {
            let goes_on = i % CHAIN != CHAIN - 1 && i + 1 < count;
            let calls = goes_on.then(|| function(0, i + 1)).into_iter().collect();
            Function::new(function(0, i), Linkage::Visible, calls).long(length)
        })
        .collect();
    let mut calls: Vec<String> = (0..count).step_by(CHAIN).map(|i| function(0, i)).collect();
    calls.push(function(NEXT, count - 1));
    out.push(Function::new(format!("k{}", slot(0)), Linkage::Kernel, calls));
    out
}

/// A kernel and its chain, as above, and functions that nobody calls.
fn with_unused(count: usize, used: usize) -> Vec<Function> {
    let mut out = short_chains(used, 8);
    out.extend((used..count).map(|i| {
        let calls = (i + 1 < count).then(|| function(0, i + 1)).into_iter().collect();
        Function::new(function(0, i), Linkage::Visible, calls).long(8)
    }));
    out
}

/// Weak kernels of each object of the weak corpus, and their number in the
/// template.
const KERNELS: usize = 4;
const FIRST_KERNEL: usize = 90_000;

fn weak(maker: &Maker<'_>, count: usize, each: usize, pool: usize) -> Result<Vec<String>, String> {
    let long = "_a_name_as_long_as_templates_have_it".repeat(3);
    let name = |i: usize| format!("w{}{long}", slot(i));
    // As templates do, each calls another.
    let next = |i: usize| (i + 1 < each).then(|| name(i + 1)).into_iter().collect();
    let mut functions: Vec<Function> =
        (0..each).map(|i| Function::new(name(i), Linkage::Weak, next(i)).long(16)).collect();
    for k in 0..KERNELS {
        let calls = (0..each).filter(|i| i % KERNELS == k).map(name).collect();
        let name = format!("k{}{long}", slot(FIRST_KERNEL + k));
        functions.push(Function::new(name, Linkage::WeakKernel, calls));
    }
    let template = maker.template(&functions)?;
    (0..count)
        .map(|object| {
            let image = template.stamp(|i| match i.checked_sub(FIRST_KERNEL) {
                Some(k) => pool + object * KERNELS + k,
                None => (i + object * 37) % pool,
            });
            maker.write(&format!("{object}.cubin"), &image)
        })
        .collect()
}

/// Host objects, since nvlink passes over bare cubins in archives.
fn archive(maker: &Maker<'_>, members: usize) -> Result<Vec<String>, String> {
    let template = maker.cuda(&device_functions(&slot(0)), &["-dc", "--no-compress"])?;
    let template = Template::new(template);
    let files: Vec<Vec<u8>> = (0..members).map(|member| template.object(member, 0)).collect();
    let file = host::archive(&files);
    let calls = (0..members).step_by(10).map(|i| format!("f{}_0", slot(i))).collect();
    let root = maker.compile(&[Function::new("root".into(), Linkage::Kernel, calls)])?;
    Ok(vec![maker.write("root.cubin", &root)?, maker.write("lib.a", &file)?])
}

fn ladder(
    maker: &Maker<'_>,
    objects: usize,
    levels: usize,
    kernels: bool,
) -> Result<Vec<String>, String> {
    let pair = |level: usize, last: bool| match (level < levels, last) {
        (true, _) => vec![function(0, 2 * level), function(0, 2 * level + 1)],
        (false, false) => vec![function(NEXT, 0), function(NEXT, 1)],
        (false, true) => Vec::new(),
    };
    let body = |last: bool, kernels: bool| {
        let mut out = Vec::new();
        for level in 0..levels {
            for side in 0..2 {
                let name = function(0, 2 * level + side);
                out.push(Function::new(name, Linkage::Visible, pair(level + 1, last)));
            }
            if kernels || level == 0 {
                let name = format!("k{}_{level:02}", slot(0));
                out.push(Function::new(name, Linkage::Kernel, pair(level, last)));
            }
        }
        out
    };
    let (middle, last) =
        (maker.template(&body(false, kernels))?, maker.template(&body(true, kernels))?);
    (0..objects)
        .map(|i| {
            let template = if i + 1 == objects { &last } else { &middle };
            maker.write(&format!("{i}.cubin"), &template.object(i, i + 1))
        })
        .collect()
}

fn random(
    maker: &Maker<'_>,
    objects: usize,
    functions: usize,
    calls: usize,
) -> Result<Vec<String>, String> {
    let mut state = 0x9e37_79b9_u64;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % limit
    };
    let total = objects * functions;
    let name = |i: usize| function(i / functions, i % functions);
    let mut files = Vec::new();
    for object in 0..objects {
        let mut body = Vec::new();
        for index in object * functions..(object + 1) * functions {
            let later = total - index - 1;
            let callees: std::collections::BTreeSet<usize> =
                (0..calls.min(later)).map(|_| index + 1 + below(later)).collect();
            let callees = callees.into_iter().map(name).collect();
            body.push(Function::new(name(index), Linkage::Visible, callees));
        }
        let start = vec![function(object, 0)];
        body.push(Function::new(format!("k{}", slot(object)), Linkage::Kernel, start));
        files.push(maker.write(&format!("{object}.cubin"), &maker.compile(&body)?)?);
    }
    Ok(files)
}

fn chain(maker: &Maker<'_>, objects: usize, functions: usize) -> Result<Vec<String>, String> {
    let body = |last: bool| {
        let mut out = Vec::new();
        for i in 0..functions {
            let calls = match (i + 1 < functions, last) {
                (true, _) => vec![function(0, i + 1)],
                (false, false) => vec![function(NEXT, 0)],
                (false, true) => Vec::new(),
            };
            out.push(Function::new(function(0, i), Linkage::Visible, calls));
        }
        let start = vec![function(0, 0)];
        out.push(Function::new(format!("k{}", slot(0)), Linkage::Kernel, start));
        out
    };
    let (middle, last) = (maker.template(&body(false))?, maker.template(&body(true))?);
    (0..objects)
        .map(|i| {
            let template = if i + 1 == objects { &last } else { &middle };
            maker.write(&format!("{i}.cubin"), &template.object(i, i + 1))
        })
        .collect()
}

fn device_functions(own: &str) -> String {
    let function = |i: usize| {
        format!(
            "extern \"C\" __device__ __noinline__ int f{own}_{i}(int a) {{\n\
             int b = a * {i};\nfor (int c = 0; c < a; ++c) b += c ^ a;\nreturn b;\n}}\n"
        )
    };
    (0..10).map(function).collect()
}

fn debug(maker: &Maker<'_>, count: usize) -> Result<Vec<String>, String> {
    let (own, next) = (slot(0), slot(NEXT));
    let mut source = format!("extern \"C\" __device__ int f{next}_0(int);\n");
    source += &device_functions(&own);
    source += &format!("extern \"C\" __global__ void k{own}(int *p) {{ *p = f{next}_0(*p)");
    (0..10).for_each(|i| source += &format!(" + f{own}_{i}(p[{i}])"));
    source += "; }\n";
    let template = Template::new(maker.cuda(&source, &["-G", "-rdc=true", "-cubin"])?);
    (0..count)
        .map(|i| maker.write(&format!("{i}.cubin"), &template.object(i, (i + 1) % count)))
        .collect()
}
