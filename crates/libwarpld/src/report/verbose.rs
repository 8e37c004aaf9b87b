//! `-v`: memory use of the image, and resources of each kernel.

use super::LinkReport;
use crate::diag::Code;
use crate::diag::Diagnostic;
use std::fmt::Write;

/// Memory use of the whole image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// `.nv.global` and `.nv.global.init`.
    pub global: u64,
    /// `.nv.constant3`; `None` if there is none, or if removing unused constants left it empty
    /// (`constants-unused-go`).
    pub constant: Option<u64>,
}

/// The function that is responsible for a maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Culprit {
    /// The maximum.
    pub value: u32,
    /// Its index in the call graph.
    pub function: usize,
}

/// Resources of one kernel, including its callees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelUse {
    /// The symbol.
    pub name: String,
    /// Its index in the call graph.
    pub index: usize,
    /// Maximum registers of the kernel and its callees.
    pub registers: u32,
    /// The callee with the maximum, unless it is the kernel.
    pub registers_from: Option<Culprit>,
    /// Maximum barriers.
    pub barriers: u32,
    /// The callee with the maximum, unless it is the kernel.
    pub barriers_from: Option<Culprit>,
    /// Stack size; 0 if it is unknown.
    pub stack: u64,
    /// Stack size of the kernel alone, which `-v` shows if the other is unknown.
    pub own_stack: u64,
    /// Whether the stack size is unknown because of recursion.
    pub recursive: bool,
    /// The call chain to the deepest stack, without the kernel.
    pub deepest_chain: Vec<usize>,
    /// Shared memory, including the reserve of the target.
    pub shared: u64,
    /// Numbers and sizes of constant banks.
    pub constants: Vec<(u8, u64)>,
    /// Local memory.
    pub local: u64,
    /// Textures.
    pub textures: u32,
    /// Surfaces.
    pub surfaces: u32,
    /// Samplers.
    pub samplers: u32,
}

const CODE: Code = Code::ResourceUsage;

impl LinkReport {
    /// The lines of `-v`. [`recursion-frames`, `shared-properties`, `messages`]
    pub fn verbose(&self) -> Vec<Diagnostic> {
        let mut first = format!("{} bytes gmem", self.memory.global);
        if let Some(constant) = self.memory.constant.filter(|_| !self.mercury) {
            let _ = write!(first, ", {constant} bytes cmem[3]");
        }
        let mut lines = vec![Diagnostic::info(CODE, first)];
        for kernel in &self.kernels {
            let head = format!("Function properties for '{}':", kernel.name);
            lines.push(Diagnostic::info(CODE, head));
            lines.push(Diagnostic::info(CODE, kernel.line(self.mercury)));
        }
        lines
    }
}

impl KernelUse {
    fn line(&self, mercury: bool) -> String {
        let mut line = format!(
            "used {} registers, used {} barriers, {} stack, {} bytes smem",
            self.registers,
            self.barriers,
            if self.recursive { self.own_stack } else { self.stack },
            self.shared
        );
        if mercury {
            let _ = write!(line, ", {} bytes lmem", self.local);
            return line;
        }
        for (bank, size) in &self.constants {
            let _ = write!(line, ", {size} bytes cmem[{bank}]");
        }
        let _ = write!(line, ", {} bytes lmem", self.local);
        for (count, what) in
            [(self.textures, "textures"), (self.surfaces, "surfaces"), (self.samplers, "samplers")]
        {
            if count != 0 {
                let _ = write!(line, ", {count} {what}");
            }
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_nvlinks() {
        let report = LinkReport {
            memory: MemoryUse { global: 1004, constant: Some(100) },
            kernels: vec![
                KernelUse {
                    name: "kb".into(),
                    registers: 16,
                    barriers: 6,
                    stack: 64,
                    constants: vec![(0, 636)],
                    textures: 2,
                    surfaces: 1,
                    samplers: 1,
                    ..KernelUse::default()
                },
                KernelUse {
                    name: "k".into(),
                    own_stack: 16,
                    recursive: true,
                    ..KernelUse::default()
                },
            ],
            ..LinkReport::default()
        };
        let lines: Vec<_> = report.verbose().into_iter().map(|d| d.message).collect();
        assert_eq!(
            lines,
            [
                "1004 bytes gmem, 100 bytes cmem[3]",
                "Function properties for 'kb':",
                "used 16 registers, used 6 barriers, 64 stack, 0 bytes smem, 636 bytes cmem[0], \
                 0 bytes lmem, 2 textures, 1 surfaces, 1 samplers",
                "Function properties for 'k':",
                "used 0 registers, used 0 barriers, 16 stack, 0 bytes smem, 0 bytes lmem",
            ]
        );
    }
}
