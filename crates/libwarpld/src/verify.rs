//! Reads a finished output back from its bytes and checks what a loader relies
//! on, without any of the link's own tables: `--verify`.
//!
//! [`cubin::validate`] checks that the file is well formed: header, tables,
//! references, bounds of relocations. Beyond that an output must have sections
//! that do not overlap, symbols inside their sections, segments around
//! everything that is loaded, and kernels whose registers and stack suffice for
//! all they call.

use crate::config::Config;
use cubin::SegmentType;
use cubin::callgraph::{self, List};
use cubin::consts::{shf, text_info};
use cubin::names::prefix;
use cubin::{Attr, Cubin, FileType, SectionRef, SectionType, SymbolType, info};
use thiserror::Error;

/// What is wrong with an output.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// Not even well formed.
    #[error("{0}")]
    Malformed(#[from] cubin::validate::Violation),
    /// Two things share bytes of the file.
    #[error("sections {first} and {second} overlap in the file")]
    Overlap {
        /// The section that starts first; 0 is the file's header.
        first: u32,
        /// The other one.
        second: u32,
    },
    /// A section starts where its alignment forbids.
    #[error("section {section} is not aligned")]
    Misaligned {
        /// The section.
        section: u32,
    },
    /// A local symbol after a global one, or a symbol outside its section.
    #[error("symbol {symbol}: {what}")]
    Symbol {
        /// The symbol.
        symbol: u32,
        /// What is wrong.
        what: &'static str,
    },
    /// Code without a function of its own.
    #[error("text section {section} names no function in it")]
    Text {
        /// The section.
        section: u32,
    },
    /// A section that is loaded lies in no segment.
    #[error("section {section} lies in no segment")]
    Unloaded {
        /// The section.
        section: u32,
    },
    /// A kernel that promises less than its callees need.
    #[error("kernel {kernel} has {found} {what}, but calls functions that need {needed}")]
    Resource {
        /// The kernel's symbol.
        kernel: u32,
        /// Registers or stack.
        what: &'static str,
        /// What the output says.
        found: u32,
        /// What was derived again.
        needed: u32,
    },
}

/// Checks an output of a link with these settings.
pub fn verify(image: &[u8], config: &Config) -> Result<(), Fault> {
    let cubin = cubin::validate::validate(image)?;
    overlaps(&cubin)?;
    symbols(&cubin)?;
    texts(&cubin)?;
    if cubin.header().file_type == FileType::EXEC {
        segments(&cubin)?;
        if !has_unrequested_kernels(config) {
            Resources::read(&cubin).check()?;
        }
    }
    Ok(())
}

/// Whether kernels may be there that nobody asked for. nvlink keeps them in the file with
/// `--preserve-relocs` and `-g -suppress-debug-info`, but without what their callees need.
fn has_unrequested_kernels(config: &Config) -> bool {
    config.preserve_relocs || (config.debug && config.suppress_debug_info)
}

fn in_file(section: &SectionRef<'_>) -> bool {
    !section.kind.is_nobits() && section.kind != SectionType::NULL && section.size > 0
}

/// Counterparts of data sections share bytes on purpose: Mercury's half names the
/// machine-code half's data.
fn overlaps(cubin: &Cubin<'_>) -> Result<(), Fault> {
    let mut spans: Vec<(u64, u64, u32)> = (cubin.sections().iter())
        .filter(|s| in_file(s) && s.flags & shf::MERCURY == 0)
        .map(|s| (s.offset, s.offset.saturating_add(s.size), s.index.0))
        .collect();
    let header = cubin.header();
    let table = u64::from(header.shentsize) * cubin.sections().len() as u64;
    spans.push((0, u64::from(header.ehsize), 0));
    spans.push((header.shoff, header.shoff.saturating_add(table), 0));
    spans.sort_unstable();
    for pair in spans.windows(2) {
        if pair[1].0 < pair[0].1 {
            return Err(Fault::Overlap { first: pair[0].2, second: pair[1].2 });
        }
    }
    match cubin.sections().iter().find(|s| in_file(s) && s.align > 1 && s.offset % s.align != 0) {
        Some(section) => Err(Fault::Misaligned { section: section.index.0 }),
        None => Ok(()),
    }
}

fn symbols(cubin: &Cubin<'_>) -> Result<(), Fault> {
    let table = cubin.symtab_section().and_then(|s| cubin.section(s.0));
    let locals = table.map_or(0, |t| t.info);
    for symbol in cubin.symbols() {
        let index = symbol.index.0;
        let fault = |what| Err(Fault::Symbol { symbol: index, what });
        let section = cubin.section(symbol.shndx);
        // 13.4 makes shared objects local where they stand.
        let is_shared = section.as_ref().is_some_and(|s| s.name.starts_with(prefix::SHARED));
        if symbol.binding() == cubin::Binding::LOCAL && index >= locals && !is_shared {
            return fault("local, but after the last local one");
        }
        if symbol.is_undefined() || symbol.reserved {
            continue;
        }
        let Some(section) = section else {
            return fault("in no section");
        };
        let function = symbol.kind() == SymbolType::FUNC;
        if function && symbol.value.checked_add(symbol.size).is_none_or(|end| end > section.size) {
            return fault("a function that reaches past its section");
        }
    }
    Ok(())
}

fn texts(cubin: &Cubin<'_>) -> Result<(), Fault> {
    for section in cubin.sections() {
        let code = section.kind == SectionType::PROGBITS && section.flags & shf::EXECINSTR != 0;
        if !code || section.flags & shf::MERCURY != 0 {
            continue;
        }
        let owner = cubin.symbol(section.info & text_info::FUNCTION);
        if !owner.is_some_and(|s| s.kind() == SymbolType::FUNC && s.shndx == section.index.0) {
            return Err(Fault::Text { section: section.index.0 });
        }
    }
    Ok(())
}

fn segments(cubin: &Cubin<'_>) -> Result<(), Fault> {
    // Their extents were checked before.
    let loaded: Vec<(u64, u64)> = (cubin.segments().unwrap_or_default().iter())
        .filter(|s| s.kind == SegmentType::LOAD)
        .map(|s| (s.offset, s.offset.saturating_add(s.filesz)))
        .collect();
    for section in cubin.sections() {
        let wanted = in_file(&section)
            && section.flags & shf::ALLOC != 0
            && section.flags & shf::MERCURY == 0;
        let end = section.offset.saturating_add(section.size);
        if wanted && !loaded.iter().any(|&(from, to)| from <= section.offset && end <= to) {
            return Err(Fault::Unloaded { section: section.index.0 });
        }
    }
    Ok(())
}

/// What the output says about its functions, by symbol.
struct Resources {
    registers: Vec<Option<u32>>,
    frame: Vec<u32>,
    stack: Vec<Option<u32>>,
    kernel: Vec<bool>,
    /// Direct calls: (caller, callee).
    calls: Vec<(u32, u32)>,
}

impl Resources {
    fn read(cubin: &Cubin<'_>) -> Self {
        let count = cubin.symbol_count();
        let mut out = Self {
            registers: vec![None; count],
            frame: vec![0; count],
            stack: vec![None; count],
            kernel: cubin.symbols().map(|s| s.is_entry()).collect(),
            calls: Vec::new(),
        };
        out.kernel.resize(count, false);
        let of_all = |s: &SectionRef<'_>| s.flags & shf::INFO_LINK == 0;
        for section in cubin.sections().iter().filter(|s| s.flags & shf::MERCURY == 0) {
            match section.kind {
                SectionType::CUDA_INFO if of_all(&section) => out.attributes(section.data),
                SectionType::CUDA_CALLGRAPH => out.callgraph(section.data, count),
                _ => {}
            }
        }
        // The link adds up the stack of Mercury code. That of machine code can be larger, and nvlink's
        // finalizer does not add it up for every kernel. [`system-calls`]
        let mercury = |s: &SectionRef<'_>| s.kind == SectionType::CUDA_MERCURY_INFO && of_all(s);
        for section in cubin.sections().iter().filter(mercury) {
            let registers = out.registers.clone();
            out.attributes(section.data);
            out.registers = registers;
        }
        out
    }

    fn attributes(&mut self, data: &[u8]) {
        for record in info::records(data).map_while(Result::ok) {
            let Some((symbol, value)) = record.symbol_and_value() else { continue };
            let at = symbol as usize;
            match record.attr() {
                Attr::REGCOUNT => set(&mut self.registers, at, Some(value)),
                Attr::FRAME_SIZE => set(&mut self.frame, at, value),
                // The linker's own records come last.
                Attr::MIN_STACK_SIZE => set(&mut self.stack, at, Some(value)),
                _ => {}
            }
        }
    }

    fn callgraph(&mut self, data: &[u8], count: usize) {
        let Ok(entries) = callgraph::entries(data) else { return };
        let calls = entries.filter_map(Result::ok).filter(|(list, _)| *list == List::Calls);
        let calls = calls.map(|(_, pair)| (pair.first.get(), pair.second.get()));
        self.calls.extend(calls.filter(|&(a, b)| (a as usize) < count && (b as usize) < count));
    }

    fn check(&self) -> Result<(), Fault> {
        let registers = self.reached_registers();
        let stack = self.reached_stack();
        for (symbol, _) in self.kernel.iter().enumerate().filter(|(_, kernel)| **kernel) {
            let fault = |what, found, needed| {
                Err(Fault::Resource { kernel: symbol as u32, what, found, needed })
            };
            // A kernel that nobody asked for is kept if its address is taken, but nvlink adds up
            // nothing for it: it has no record of its stack. [`kernel-kept-by-address`]
            let Some(found) = self.stack[symbol] else { continue };
            if found < stack[symbol] {
                return fault("bytes of stack", found, stack[symbol]);
            }
            if let Some(found) = self.registers[symbol]
                && found < registers[symbol]
            {
                return fault("registers", found, registers[symbol]);
            }
        }
        Ok(())
    }

    /// The most registers of anything each function reaches, itself included:
    /// from the hungriest function on, callers that have no answer yet get this
    /// one. Recursion needs no care.
    fn reached_registers(&self) -> Vec<u32> {
        let callers = grouped(self.registers.len(), self.calls.iter().map(|&(a, b)| (b, a)));
        let mut order: Vec<(u32, u32)> = (self.registers.iter().enumerate())
            .map(|(symbol, registers)| (registers.unwrap_or(0), symbol as u32))
            .collect();
        order.sort_unstable_by(|a, b| b.cmp(a));
        let mut answer: Vec<Option<u32>> = vec![None; self.registers.len()];
        let mut work = Vec::new();
        for (registers, symbol) in order {
            work.push(symbol);
            while let Some(symbol) = work.pop() {
                if answer[symbol as usize].is_none() {
                    answer[symbol as usize] = Some(registers);
                    work.extend_from_slice(callers.of(symbol));
                }
            }
        }
        answer.into_iter().map(|registers| registers.unwrap_or(0)).collect()
    }

    /// The deepest sum of frames below each function, callees first; functions
    /// that can reach a recursion keep what is known of them, a lower bound.
    fn reached_stack(&self) -> Vec<u32> {
        let count = self.frame.len();
        let callers = grouped(count, self.calls.iter().map(|&(a, b)| (b, a)));
        let mut waiting = vec![0_u32; count];
        self.calls.iter().for_each(|&(caller, _)| waiting[caller as usize] += 1);
        let mut below = vec![0_u32; count];
        let mut work: Vec<u32> = (0..count as u32).filter(|&s| waiting[s as usize] == 0).collect();
        while let Some(symbol) = work.pop() {
            let depth = below[symbol as usize].saturating_add(self.frame[symbol as usize]);
            for &caller in callers.of(symbol) {
                let caller = caller as usize;
                below[caller] = below[caller].max(depth);
                waiting[caller] -= 1;
                if waiting[caller] == 0 {
                    work.push(caller as u32);
                }
            }
        }
        below.iter().zip(&self.frame).map(|(below, own)| below.saturating_add(*own)).collect()
    }
}

fn set<T>(list: &mut [T], at: usize, value: T) {
    if let Some(place) = list.get_mut(at) {
        *place = value;
    }
}

/// Edges grouped by their first end.
struct Grouped {
    starts: Vec<usize>,
    ends: Vec<u32>,
}

impl Grouped {
    fn of(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.ends[self.starts[node]..self.starts[node + 1]]
    }
}

fn grouped(count: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Grouped {
    let mut starts = vec![0; count + 1];
    edges.clone().for_each(|(from, _)| starts[from as usize + 1] += 1);
    for i in 0..count {
        starts[i + 1] += starts[i];
    }
    let mut next = starts.clone();
    let mut ends = vec![0; starts[count]];
    for (from, to) in edges {
        ends[next[from as usize]] = to;
        next[from as usize] += 1;
    }
    Grouped { starts, ends }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resources(calls: &[(u32, u32)], registers: &[u32], frame: &[u32]) -> Resources {
        let count = registers.len();
        let mut kernel = vec![false; count];
        kernel[0] = true;
        Resources {
            registers: registers.iter().map(|&r| Some(r)).collect(),
            frame: frame.to_vec(),
            stack: vec![Some(100); count],
            kernel,
            calls: calls.to_vec(),
        }
    }

    fn plain() -> Config {
        Config::builder("sm_90".parse().unwrap()).build()
    }

    #[test]
    fn registers_are_found_through_recursion() {
        let r = resources(&[(0, 1), (1, 2), (2, 1), (2, 3)], &[40, 8, 8, 40], &[0; 4]);
        assert_eq!(r.reached_registers(), [40; 4]);
        assert_eq!(r.check(), Ok(()));
        let r = resources(&[(0, 1), (1, 2), (2, 1), (2, 3)], &[39, 8, 8, 40], &[0; 4]);
        let fault = Fault::Resource { kernel: 0, what: "registers", found: 39, needed: 40 };
        assert_eq!(r.check(), Err(fault));
    }

    #[test]
    fn nothing_is_added_up_for_a_kernel_that_nobody_asked_for() {
        let mut r = resources(&[(0, 1)], &[8, 40], &[0; 2]);
        assert!(r.check().is_err());
        r.stack[0] = None;
        assert_eq!(r.check(), Ok(()));
    }

    #[test]
    fn stacks_add_up_along_the_deepest_path() {
        let r = resources(&[(0, 1), (0, 2), (1, 2)], &[8; 3], &[10, 20, 80]);
        assert_eq!(r.reached_stack(), [110, 100, 80]);
        let fault = Fault::Resource { kernel: 0, what: "bytes of stack", found: 100, needed: 110 };
        assert_eq!(r.check(), Err(fault));
    }

    #[test]
    fn a_long_chain_needs_no_recursion() {
        let calls: Vec<(u32, u32)> = (0..200_000).map(|i| (i, i + 1)).collect();
        let r = resources(&calls, &[8; 200_001], &[1; 200_001]);
        assert_eq!(r.reached_stack()[0], 200_001);
    }

    #[test]
    fn fixtures_linked_by_nvlink_pass_and_damaged_ones_do_not() {
        for name in ["linked-object.sm_75", "linked-object.sm_90", "linked-vec.sm_90"] {
            let image = support::fixture(&format!("{name}.cubin"));
            assert_eq!(verify(&image, &plain()), Ok(()), "{name}");
            let cubin = Cubin::parse(&image).unwrap();
            let (at, shoff) = (cubin.sections().len() - 1, cubin.header().shoff as usize);
            let mut damaged = image.clone();
            // A section that starts inside the file's header.
            let with_bytes =
                (1..at).rev().find(|&i| in_file(&cubin.section(i as u32).unwrap())).unwrap();
            damaged[shoff + with_bytes * 64 + 24..][..8].copy_from_slice(&8_u64.to_le_bytes());
            assert!(verify(&damaged, &plain()).is_err(), "{name}");
        }
    }
}
