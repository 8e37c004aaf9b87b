//! Calls that only machine code has.
//!
//! For sm_107 ptxas turns textures and surfaces into calls of functions that the driver provides
//! (`__cuda_syscall_bw_do_2d_tex_level`). The Mercury code has the texture instruction. The finalizer
//! adds these functions to the symbols, relocations, attributes and call graph of the machine-code
//! half. [`system-calls`]

use super::{CapsuleFile, damaged};
use crate::callgraph::Adjacency;
use crate::collections::{Map, Set};
use crate::diag::Diagnostic;
use crate::ids::{FunctionId, InputSection, ObjectId, SectionId};
use crate::linked::Linked;
use crate::relocate::final_kind;
use cubin::consts::shf;
use cubin::half::Halves;
use cubin::raw::{Pair, Rela64};
use cubin::{Attr, Reloc, SectionRef, SectionType, SymbolRef, SymbolType, info};
use zerocopy::IntoBytes;

/// Size of an instruction.
const INSTRUCTION: usize = 16;
/// How `MOV R4, number` begins.
const MOV_R4: [u8; 3] = [0x02, 0x78, 0x04];
/// The number of instructions before a call that the word in R4 is looked for in. It was never more than 20.
const FARTHEST: usize = 64;
/// The most functions of the system that a link may call. There are a few for each kind of texture and surface.
const MOST: usize = 1024;
/// Bits of the word in R4: a texture, not a surface; texture references of independent mode.
const TEXTURE: u32 = 0x400_0000;
const INDEPENDENT: u32 = 0x200;

/// The calls of a link. Only links for few targets have any.
#[derive(Debug, Default)]
pub struct SystemCalls<'a> {
    /// The functions that are called, in the order of their symbols.
    pub functions: Vec<SymbolRef<'a>>,
    /// Index of the first one's symbol.
    first: u32,
    /// Whether some input has texture references of independent mode.
    is_independent: bool,
    /// By code: its calls.
    calls: Map<SectionId, Vec<Call>>,
    /// Code whose calls are its only relocations. These are in sections at the end of the file.
    pub alone: Vec<SectionId>,
    /// Entries of the call graph: caller and index of the function's symbol.
    entries: Vec<(FunctionId, u32)>,
    /// Indices of the functions that a function calls, or that a kernel reaches.
    externs: Map<FunctionId, Vec<u32>>,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    reloc: Reloc,
    /// Index of the function's symbol.
    symbol: u32,
}

/// Whether an input has such calls.
pub fn has_any(halves: &Halves<'_>) -> bool {
    let symbols = halves.mercury.symbol_count()..halves.sass.symbol_count();
    symbols.into_iter().any(|symbol| is_called(halves, symbol as u32))
}

/// Whether a relocation of machine code is such a call.
pub fn is_call(halves: &Halves<'_>, reloc: &Reloc) -> bool {
    // Symbols have the same indices in both halves; those of machine code alone come last.
    reloc.symbol.0 as usize >= halves.mercury.symbol_count() && is_called(halves, reloc.symbol.0)
}

fn is_called(halves: &Halves<'_>, symbol: u32) -> bool {
    halves.sass.symbol_kind(symbol) == Some(SymbolType::FUNC)
        && halves.sass.unnamed_symbol(symbol).is_some_and(|symbol| symbol.is_undefined())
}

impl<'a> SystemCalls<'a> {
    /// Looks for calls in the code of the output, whose sections are given in file order. `first` is
    /// the index that the first symbol gets, `has_relocs` whether code has a section of relocations.
    pub fn find(
        linked: Linked<'a, '_>,
        machine: &[SectionId],
        first: u32,
        has_relocs: impl Fn(SectionId) -> bool,
    ) -> Result<Self, Diagnostic> {
        let mut out = Self { first, ..Self::default() };
        let mut tables: Map<ObjectId, Map<u32, u32>> = Map::default();
        for (object, input) in linked.cx.objects.iter().enumerate() {
            if let Some(halves) = input.halves.as_ref().filter(|halves| has_any(halves)) {
                tables.insert(ObjectId::new(object), relocs_of_code(halves));
            }
        }
        if tables.is_empty() {
            return Ok(out);
        }
        let mut numbers: Map<&'a [u8], u32> = Map::default();
        let mut callers = Vec::new();
        for &code in machine {
            let Some(function) = linked.text_function(code) else { continue };
            let chunk = linked.layout.chunks(linked.merged, code).first().copied();
            let Some(chunk) = chunk else { continue };
            let Some(tables) = tables.get(&chunk.from.object) else { continue };
            let calls = out.calls_of(linked, (code, chunk.from), tables, &mut numbers)?;
            if calls.is_empty() {
                continue;
            }
            if !has_relocs(code) {
                out.alone.push(code);
            }
            callers.extend(linked.cx.graph.function(function));
            out.calls.insert(code, calls);
        }
        out.is_independent = linked
            .cx
            .objects
            .iter()
            .any(|object| object.halves.as_ref().is_some_and(|halves| is_independent(halves)));
        out.list(linked, &callers);
        Ok(out)
    }

    /// The calls in one input's code, and the functions that are new in it.
    fn calls_of(
        &mut self,
        linked: Linked<'a, '_>,
        (code, from): (SectionId, InputSection),
        tables: &Map<u32, u32>,
        numbers: &mut Map<&'a [u8], u32>,
    ) -> Result<Vec<Call>, Diagnostic> {
        let bad = |what: &dyn std::fmt::Display| damaged(linked, from.object, &what.to_string());
        let object = &linked.cx.objects[from.object];
        let Some(halves) = &object.halves else { return Ok(Vec::new()) };
        let table = halves.counterpart(from.section).and_then(|text| {
            let table = tables.get(&text.index.0)?;
            halves.sass.section(*table)
        });
        let Some(table) = table else { return Ok(Vec::new()) };
        let is_paired = linked.merged.section(code).rela().is_some();
        let mut calls = Vec::new();
        for reloc in halves.sass.reloc_table(&table).map_err(|e| bad(&e))?.iter() {
            match is_call(halves, &reloc) {
                true => {}
                false if is_paired => continue,
                false => return Err(bad(&"only its machine code has a relocation")),
            }
            let Some(function) = halves.sass.symbol(reloc.symbol.0) else { continue };
            if self.functions.len() >= MOST && !numbers.contains_key(function.name) {
                return Err(bad(&"it calls more functions of the system than there are"));
            }
            let symbol = *numbers.entry(function.name).or_insert_with(|| {
                self.functions.push(function);
                self.first + self.functions.len() as u32 - 1
            });
            calls.push(Call { reloc, symbol });
        }
        Ok(calls)
    }

    /// Lists what the call graph and attributes say. The finalizer goes through the functions in file
    /// order. What a function calls is added to the attributes of all kernels of an executable that
    /// reach it, and a kernel's call that its attribute names by then is not in the call graph.
    /// [`system-calls-order`]
    fn list(&mut self, linked: Linked<'a, '_>, callers: &[FunctionId]) {
        let kernels: Set<FunctionId> = linked.properties.entries.iter().copied().collect();
        let own: Vec<Vec<u32>> = callers.iter().map(|&caller| self.own(linked, caller)).collect();
        let mut first = FirstNames::new(linked, &kernels);
        for symbol in self.first..self.first + self.functions.len() as u32 {
            first.follow(symbol, callers, &own);
        }
        for (index, (&caller, own)) in callers.iter().zip(&own).enumerate() {
            let is_kernel = kernels.contains(&caller);
            let is_new = |symbol: &&u32| !is_kernel || first.by_itself.contains(&(index, **symbol));
            let entries = own.iter().filter(is_new).map(|&symbol| (caller, symbol));
            self.entries.extend(entries);
            if !is_kernel {
                self.externs.insert(caller, own.clone());
            }
        }
        for (kernel, mut named) in first.named {
            named.sort_unstable();
            self.externs.insert(kernel, named.into_iter().map(|(_, symbol)| symbol).collect());
        }
    }

    /// The functions that a function calls itself, in order.
    fn own(&self, linked: Linked<'a, '_>, caller: FunctionId) -> Vec<u32> {
        let text = linked.merged.function_sections[caller].text.get();
        let calls = text.and_then(|text| self.calls.get(&text)).map_or(&[][..], |calls| calls);
        let mut seen = Set::<u32>::default();
        calls.iter().map(|call| call.symbol).filter(|&symbol| seen.insert(symbol)).collect()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Sets what the finalizer says to the functions behind textures if some input has texture
    /// references of independent mode: the word in R4, which ptxas sets before the call, has a bit for
    /// it. Surfaces have none. [`system-calls-texmode`]
    pub fn set_mode(
        &self,
        file: &CapsuleFile<'_, '_>,
        code: SectionId,
        out: &mut [u8],
    ) -> Result<(), Diagnostic> {
        if !self.is_independent {
            return Ok(());
        }
        for record in self.relocs(file, code) {
            let end = usize::try_from(record.r_offset.get()).unwrap_or(usize::MAX);
            let before = out.get_mut(..end).unwrap_or_default().rchunks_exact_mut(INSTRUCTION);
            let mut found = before.take(FARTHEST).filter(|i| i.starts_with(&MOV_R4));
            let word = found.next().and_then(|i| i.get_mut(4..8));
            let Some(word) = word else {
                let from = file
                    .linked
                    .layout
                    .chunks(file.linked.merged, code)
                    .first()
                    .map(|c| c.from.object);
                return Err(damaged(
                    file.linked,
                    from.unwrap_or(ObjectId::new(0)),
                    "a call of the system without its mode",
                ));
            };
            let mode = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            if mode & TEXTURE != 0 {
                word.copy_from_slice(&(mode | INDEPENDENT).to_le_bytes());
            }
        }
        Ok(())
    }

    /// The functions that the machine code of a function calls, or that a kernel reaches, by index.
    pub fn externs(&self, function: FunctionId) -> &[u32] {
        self.externs.get(&function).map_or(&[], |list| list)
    }

    /// The call graph of the machine-code half: its own calls come first.
    pub fn call_graph(&self, file: &CapsuleFile<'_, '_>, mercury: &[u8]) -> Vec<u8> {
        let linked = file.linked;
        let number = |function: FunctionId| {
            let symbol = linked.merged.symbol_of[linked.cx.graph.symbol(function)].get();
            symbol.map_or(0, |symbol| file.plan.numbering.of(symbol))
        };
        let (head, rest) = mercury.split_at(mercury.len().min(size_of::<Pair>()));
        let mut out = head.to_vec();
        for &(caller, called) in &self.entries {
            let pair = Pair { first: number(caller).into(), second: called.into() };
            out.extend_from_slice(pair.as_bytes());
        }
        out.extend_from_slice(rest);
        out
    }

    /// The relocations of calls in a function's code.
    pub fn relocs(&self, file: &CapsuleFile<'_, '_>, code: SectionId) -> Vec<Rela64> {
        let calls = self.calls.get(&code).map_or(&[][..], |calls| calls);
        let moves = file.edited.get(&code).map(|edited| &edited.moves);
        let record = |call: &Call| {
            let offset = call.reloc.offset;
            Rela64 {
                r_offset: moves.map_or(offset, |moves| moves.place(offset)).into(),
                r_type: final_kind(file.linked.cx.config, call.reloc.kind).0.into(),
                r_sym: call.symbol.into(),
                r_addend: call.reloc.addend.unwrap_or(0).into(),
            }
        };
        calls.iter().map(record).collect()
    }
}

/// The call graph as the finalizer sees it: functions that a function calls or takes the address of.
/// Indirect calls do not count. [`system-calls`, `preexit-reached`]
pub fn finalizer_graph(linked: Linked<'_, '_>) -> Adjacency {
    let graph = linked.cx.graph;
    let is_live = |f: &FunctionId| linked.cx.reach.is_live(*f);
    let edges = graph.calls.iter().chain(&graph.takes_address);
    let edges = edges.filter(|(from, to)| is_live(from) && is_live(to));
    Adjacency::new(graph.len(), edges.map(|&(from, to)| (from.as_u32(), to.as_u32())))
}

/// Which caller first names each function to each kernel. One walk for each function of the system, of
/// which there are few ([`MOST`]).
struct FirstNames<'k> {
    /// From a function to those that call it or take its address.
    reversed: Adjacency,
    kernels: &'k Set<FunctionId>,
    /// By node: the last symbol whose walk came there.
    visited: Vec<u32>,
    /// By node: the last symbol that was named to it.
    told: Vec<u32>,
    /// By kernel: the symbols that are named to it.
    named: Map<FunctionId, Vec<(Place, u32)>>,
    /// Calls that a kernel, by its place among the callers, names itself.
    by_itself: Set<(usize, u32)>,
}

/// The place of a caller among the callers, and of the call among its calls.
type Place = (usize, usize);

impl<'k> FirstNames<'k> {
    fn new(linked: Linked<'_, '_>, kernels: &'k Set<FunctionId>) -> Self {
        let nodes = linked.cx.graph.len();
        let reversed = match linked.cx.config.relocatable {
            true => Adjacency::new(nodes, std::iter::empty()),
            false => finalizer_graph(linked).reversed(),
        };
        Self {
            reversed,
            kernels,
            // No symbol has the number 0.
            visited: vec![0; nodes],
            told: vec![0; nodes],
            named: Map::default(),
            by_itself: Set::default(),
        }
    }

    /// Follows a symbol from its callers to kernels.
    fn follow(&mut self, symbol: u32, callers: &[FunctionId], own: &[Vec<u32>]) {
        let mut open = Vec::new();
        for (index, (&caller, own)) in callers.iter().zip(own).enumerate() {
            let Some(place) = own.iter().position(|&own| own == symbol) else { continue };
            if self.kernels.contains(&caller) {
                if self.tell(caller, (index, place), symbol) {
                    self.by_itself.insert((index, symbol));
                }
                continue;
            }
            open.extend_from_slice(self.reversed.of(caller.as_u32()));
            while let Some(node) = open.pop() {
                let visited = std::mem::replace(&mut self.visited[node as usize], symbol);
                if visited != symbol {
                    self.tell(FunctionId::from(node), (index, place), symbol);
                    open.extend_from_slice(self.reversed.of(node));
                }
            }
        }
    }

    /// Names a symbol to a node, if it is a kernel that does not know it.
    fn tell(&mut self, node: FunctionId, place: Place, symbol: u32) -> bool {
        if !self.kernels.contains(&node) {
            return false;
        }
        let is_new = std::mem::replace(&mut self.told[node.index()], symbol) != symbol;
        if is_new {
            self.named.entry(node).or_default().push((place, symbol));
        }
        is_new
    }
}

/// Whether an input has texture references of independent mode.
fn is_independent(halves: &Halves<'_>) -> bool {
    let sections = halves.sass.sections().iter_unnamed();
    let of_all =
        |s: &SectionRef<'_>| s.kind == SectionType::CUDA_INFO && s.flags & shf::INFO_LINK == 0;
    let mut records = sections.filter(of_all).flat_map(|s| info::raw_records(s.data));
    records.any(|record| Attr(record[1]) == Attr::TEXMODE_INDEPENDENT)
}

/// Machine-code sections and their relocations.
fn relocs_of_code(halves: &Halves<'_>) -> Map<u32, u32> {
    let sections = halves.sass.sections().iter_unnamed();
    let tables = sections.filter(|s| s.kind == SectionType::RELA && s.flags & shf::MERCURY == 0);
    tables.map(|s| (s.info, s.index.0)).collect()
}
