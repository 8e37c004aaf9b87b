//! Objects that differ from each other as the files of a large program do: in the number of
//! functions and variables, in the features they use, in compiler options. In the other corpora
//! each object has the shape of the one before it, which the linker makes use of.

mod cuda;
mod module;

use crate::corpus::Maker;
use crate::template::{NEXT, NEXT_VARIABLE, Template, slot};
use cubin::Cubin;

/// A source file and the options it is compiled with.
struct Source {
    text: Text,
    options: Vec<&'static str>,
}

/// What compiles it.
enum Text {
    /// ptxas.
    Ptx(String),
    /// nvcc.
    Cuda(String),
}

/// Every 14th source is CUDA C++.
const CUDA_EVERY: usize = 14;

const OPTIONS: [&[&str]; 12] = [
    &["-O1"],
    &["-O3", "-lineinfo"],
    &["-O2"],
    &["-O1", "-maxrregcount=64"],
    &["-O0"],
    &["-O3"],
    &["-O1", "-lineinfo"],
    &["-g", "-O0"],
    &["-O2", "-maxrregcount=128"],
    &["-O1", "--suppress-debug-info"],
    &["-O3", "-maxrregcount=40"],
    &["-O1", "-lineinfo", "-maxrregcount=96"],
];

/// The source with this number.
fn source(sm: u32, number: usize) -> Source {
    if number % CUDA_EVERY == CUDA_EVERY - 1 {
        return cuda::source(sm, number / CUDA_EVERY);
    }
    let options = options(sm, OPTIONS[number % OPTIONS.len()]);
    Source { text: Text::Ptx(module::module(sm, number)), options }
}

/// Options of a source; for sm_100 and later lines stand in for debug information, as nvlink
/// leaves bytes of its heap in `.nv_debug_info_reg_sass` there.
fn options(sm: u32, options: &[&'static str]) -> Vec<&'static str> {
    let lines = |&option: &&'static str| match option {
        "-g" | "-G" if sm >= 100 => "-lineinfo",
        option => option,
    };
    options.iter().map(lines).collect()
}

/// A compiled source.
struct Object {
    template: Template,
    shape: Shape,
    /// Whether it defines a variable that others may name.
    has_variable: bool,
}

/// Type, flags, link and info of each section. Two objects with different shapes have nothing
/// that the linker could take over from one to the other.
type Shape = Vec<(u32, u64, u32, u32)>;

impl Object {
    fn compile(maker: &Maker<'_>, number: usize) -> Result<Self, String> {
        let Source { text, options } = source(maker.sm, number);
        let image = match text {
            Text::Ptx(text) => maker.assemble(&text, &options)?,
            Text::Cuda(text) => maker.cuda(&text, &options)?,
        };
        let cubin = Cubin::parse(&image).map_err(|e| e.to_string())?;
        let shape = cubin.sections().iter();
        let shape = shape.map(|s| (s.kind.0, s.flags, s.link, s.info)).collect();
        let variable = format!("v{}_000\0", slot(0));
        let has_variable = image.windows(variable.len()).any(|bytes| bytes == variable.as_bytes());
        Ok(Self { template: Template::new(image), shape, has_variable })
    }
}

/// The source of each object: all of them in turn, in another order each time.
fn order(count: usize, sources: usize) -> Vec<usize> {
    // Strides that have no divisor in common with the number of sources visit each once.
    let divides = |n: usize, stride: usize| n.is_multiple_of(stride) && stride > 1;
    let coprime =
        |stride: &usize| !(2..=*stride).any(|d| divides(sources, d) && divides(*stride, d));
    let strides: Vec<usize> = (1..sources.max(2)).filter(coprime).collect();
    let place = |i: usize| i % sources * strides[i / sources % strides.len()] % sources;
    (0..count).map(place).collect()
}

/// Writes `count` objects from `sources` sources.
pub fn make(maker: &Maker<'_>, count: usize, sources: usize) -> Result<Vec<String>, String> {
    let images = images(maker, count, sources)?;
    let write = |(i, image): (usize, &Vec<u8>)| maker.write(&format!("{i}.cubin"), image);
    images.iter().enumerate().map(write).collect()
}

/// Makes `count` objects from `sources` sources.
pub fn images(maker: &Maker<'_>, count: usize, sources: usize) -> Result<Vec<Vec<u8>>, String> {
    let objects: Result<Vec<Object>, String> =
        (0..sources).map(|number| Object::compile(maker, number)).collect();
    let (objects, order) = (objects?, order(count, sources));
    for pair in order.windows(2) {
        if objects[pair[0]].shape == objects[pair[1]].shape {
            return Err(format!("sources {} and {} are alike", pair[0], pair[1]));
        }
    }
    let with_variable = |after: usize| {
        let later = (1..=count).map(|step| (after + step) % count);
        later.into_iter().find(|&i| objects[order[i]].has_variable).unwrap_or(after)
    };
    let stamp = |i: usize| {
        objects[order[i]].template.stamp(|number| match number {
            NEXT => (i + 1) % count,
            NEXT_VARIABLE => with_variable(i),
            _ => i,
        })
    };
    Ok((0..count).map(stamp).collect())
}
