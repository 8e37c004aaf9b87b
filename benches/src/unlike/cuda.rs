//! CUDA C++: what nvcc makes of it has shapes that nobody writes by hand.

use super::{Source, Text, options};
use crate::template::{NEXT, function, slot};
use std::fmt::Write;

/// The source with this number.
pub fn source(sm: u32, variant: usize) -> Source {
    const OPTIONS: [&[&str]; 5] =
        [&["-G"], &["-lineinfo"], &[], &["-maxrregcount=48"], &["-lineinfo", "-Xptxas=-O1"]];
    let own = slot(0);
    let mut text = match variant % 3 {
        0 => classes(&own, 2 + variant % 5),
        1 => instantiations(&own, 3 + 2 * variant),
        _ => tables(&own, 4 + variant),
    };
    let _ = writeln!(
        text,
        "extern \"C\" __device__ int {next}(int);\n\
         extern \"C\" __device__ __noinline__ int {first}(int a) {{ return work{own}(a) + 1; }}\n\
         extern \"C\" __global__ void k{own}(int *p) {{ p[1] = {first}(*p) + {next}(p[2]); }}",
        first = function(0, 0),
        next = function(NEXT, 0),
    );
    let options = options(sm, OPTIONS[variant % OPTIONS.len()]);
    let options = [&options[..], &["-rdc=true", "-cubin"]].concat();
    Source { text: Text::Cuda(text), options }
}

/// Virtual functions: tables of addresses, calls through them.
fn classes(own: &str, count: usize) -> String {
    let mut text = format!("struct B{own} {{ __device__ virtual int f(int) = 0; int n; }};\n");
    for i in 0..count {
        let _ = writeln!(
            text,
            "struct D{own}_{i} : B{own} {{ __device__ int f(int a) override; }};\n\
             __device__ int D{own}_{i}::f(int a) {{ return a * n + {i}; }}"
        );
    }
    let _ = writeln!(text, "__device__ __noinline__ int work{own}(int a) {{\nB{own} *b = nullptr;");
    let _ = writeln!(text, "switch (a) {{");
    (0..count).for_each(|i| text += &format!("case {i}: b = new D{own}_{i}; break;\n"));
    text + "default: return a;\n}\nb->n = a;\nint r = b->f(a);\ndelete b;\nreturn r;\n}\n"
}

/// Weak functions with shared memory, the same in all sources.
fn instantiations(own: &str, count: usize) -> String {
    let mut text = String::from(
        "#include <cstdio>\n\
         template <int N> __device__ __noinline__ int scale(int a) {\n\
         __shared__ int s[N + 8];\ns[a & 7] = a;\n__syncthreads();\n\
         for (int i = 0; i < N; ++i) a += s[i] * N;\nreturn a;\n}\n",
    );
    let _ = writeln!(text, "__device__ __noinline__ int work{own}(int a) {{");
    (0..count).for_each(|i| text += &format!("a += scale<{}>(a);\n", 3 * i + 1));
    text + "printf(\"%d\\n\", a);\nreturn a;\n}\n"
}

/// Constants and variables.
fn tables(own: &str, count: usize) -> String {
    let mut text = String::new();
    for i in 0..count {
        let _ = writeln!(text, "__constant__ int c{own}_{i}[{}] = {{{i}, 1}};", i + 2);
        let _ = writeln!(text, "__device__ float d{own}_{i}[{}];", 4 * i + 1);
    }
    let _ = writeln!(text, "__device__ __noinline__ int work{own}(int a) {{");
    (0..count).for_each(|i| {
        text += &format!("a += c{own}_{i}[a & 1] + (int)d{own}_{i}[a % {}];\n", 4 * i + 1);
    });
    text + "return a;\n}\n"
}
