//! Registers and stack of machine code, where it needs more than Mercury code: a call that only
//! machine code has saves registers in a frame. [`system-calls`]

use super::{CapsuleFile, system_calls};
use crate::callgraph::scc::Components;
use crate::collections::{Map, Set};
use crate::ids::{FunctionId, ObjectId};
use crate::linked::Linked;
use crate::merge::{Meaning, Synthetic};
use cubin::attr::{Attr, UNKNOWN_STACK};
use cubin::callgraph::{self, List};
use cubin::consts::shf;
use cubin::half::Halves;
use cubin::{SectionType, info};

/// Size of a record's header: format, code, length.
const HEAD: usize = 4;

/// `.nv.info` of the machine-code half, if it differs from that of the Mercury half.
pub fn machine(file: &CapsuleFile<'_, '_>, mercury: &[u8]) -> Option<Vec<u8>> {
    if file.plan.calls.is_empty() {
        return None;
    }
    let linked = file.linked;
    let frames = Frames::read(linked);
    let depths = Depths::new(linked, |function| frames.of(linked, function).size);
    let graph = CallEntries::read(file);
    let mut out = mercury.to_vec();
    let mut start = 0;
    for record in info::raw_records(mercury) {
        let place = start + HEAD + 4;
        start += record.len();
        let Some((symbol, value)) = info::symbol_and_value(&record[HEAD..]) else { continue };
        let Some(function) = function_of(file, symbol) else { continue };
        let own = frames.of(linked, function);
        let value = match Attr(record[1]) {
            Attr::FRAME_SIZE => own.size,
            Attr::REGCOUNT => value.max(own.registers),
            Attr::MIN_STACK_SIZE if value != UNKNOWN_STACK && graph.counts(symbol) => {
                depths.of(function).unwrap_or(own.size)
            }
            _ => value,
        };
        if let Some(word) = out.get_mut(place..place + 4) {
            word.copy_from_slice(&value.to_le_bytes());
        }
    }
    Some(out)
}

/// What the code of one function needs.
#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    registers: u32,
    /// Bytes of its stack frame.
    size: u32,
}

/// What the functions of inputs need whose machine code has system calls.
struct Frames(Map<(ObjectId, u32), Frame>);

impl Frames {
    fn read(linked: Linked<'_, '_>) -> Self {
        let mut out = Map::default();
        for (object, input) in linked.cx.objects.iter().enumerate() {
            let with_calls = input.halves.as_ref().filter(|halves| system_calls::has_any(halves));
            let Some(halves) = with_calls else { continue };
            for record in info::raw_records(module_info(halves)) {
                let Some((symbol, value)) = info::symbol_and_value(&record[HEAD..]) else {
                    continue;
                };
                let frame: &mut Frame = out.entry((ObjectId::new(object), symbol)).or_default();
                match Attr(record[1]) {
                    Attr::FRAME_SIZE => frame.size = value,
                    Attr::REGCOUNT => frame.registers = value,
                    _ => {}
                }
            }
        }
        Self(out)
    }

    fn of(&self, linked: Linked<'_, '_>, function: FunctionId) -> Frame {
        let symbol = linked.cx.resolution.get(linked.cx.graph.symbol(function));
        let Some(at) = symbol.definition else { return Frame::default() };
        let own = || {
            let own = linked.cx.objects[at.object].function_info(at.symbol);
            Frame { registers: own.registers, size: own.frame }
        };
        self.0.get(&(at.object, at.symbol)).copied().unwrap_or_else(own)
    }
}

/// The records about all functions of an input's machine code.
fn module_info<'a>(halves: &Halves<'a>) -> &'a [u8] {
    let mut sections = halves.sass.sections().iter();
    let found = sections.find(|s| {
        s.kind == SectionType::CUDA_INFO && s.flags & (shf::INFO_LINK | shf::MERCURY) == 0
    });
    found.map_or(&[], |section| section.data)
}

/// The function with a symbol index of the output.
fn function_of(file: &CapsuleFile<'_, '_>, number: u32) -> Option<FunctionId> {
    let at = usize::try_from(number.checked_sub(1)?).ok()?;
    let symbol = file.plan.numbering.order.get(at)?;
    let Meaning::Symbol(id) = file.linked.merged.symbols.get(*symbol)?.meaning() else {
        return None;
    };
    file.linked.cx.graph.function(id)
}

/// The deepest sums of frames.
struct Depths {
    components: Components,
    /// By component; none if recursion is reachable.
    sums: Vec<Option<u32>>,
}

impl Depths {
    fn new(linked: Linked<'_, '_>, frame: impl Fn(FunctionId) -> u32) -> Self {
        let graph = system_calls::finalizer_graph(linked);
        let components = Components::new(&graph);
        let mut sums: Vec<Option<u32>> = Vec::with_capacity(components.len());
        for component in 0..components.len() {
            let [node] = *components.members(component) else {
                sums.push(None);
                continue;
            };
            // A component without a sum is this one.
            let below = |&callee: &u32| {
                let callee = components.of.get(callee as usize)?;
                *sums.get(*callee as usize)?
            };
            let below =
                graph.of(node).iter().map(below).try_fold(0, |most: u32, sum| Some(most.max(sum?)));
            sums.push(below.map(|below| below.saturating_add(frame(FunctionId::from(node)))));
        }
        Self { components, sums }
    }

    /// The sum of a function and what it reaches.
    fn of(&self, function: FunctionId) -> Option<u32> {
        let component = self.components.of.get(function.index())?;
        *self.sums.get(*component as usize)?
    }
}

/// Which functions the call graph of the Mercury half mentions as callers.
struct CallEntries {
    is_empty: bool,
    callers: Set<u32>,
}

impl CallEntries {
    fn read(file: &CapsuleFile<'_, '_>) -> Self {
        let graph = file.linked.merged.synthetic(Synthetic::CallGraph);
        let bytes = graph.map_or(&[][..], |id| file.plan.contents.get(id));
        let entries = callgraph::entries(bytes).into_iter().flatten().filter_map(Result::ok);
        let mut out = Self { is_empty: true, callers: Set::default() };
        for (list, pair) in entries {
            out.is_empty = false;
            if list != List::AddressTaken {
                out.callers.insert(pair.first.get());
            }
        }
        out
    }

    /// Quirk: the stack of a kernel that calls nothing but the system is not added up if the link has
    /// other calls. [`system-calls`]
    fn counts(&self, kernel: u32) -> bool {
        self.is_empty || self.callers.contains(&kernel)
    }
}
