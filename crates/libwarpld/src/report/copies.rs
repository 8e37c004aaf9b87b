//! Code and data that the inputs, or the output, have several times.

use crate::collections::Map;
use crate::context::Analysis;
use crate::demangle::text;
use crate::ids::{FunctionId, ObjectId, SymbolId, SymbolRefId};
use crate::object::Object;
use crate::object::symbols::{InputSymbol, Place};
use crate::resolve::Role;

/// A definition that is not in the output because another one holds its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DroppedCopy {
    /// The input, by its position among the inputs of the map.
    pub input: usize,
    /// Bytes of all its sections, or of the variable.
    pub bytes: u64,
    /// Registers, of a function.
    pub registers: u32,
    /// Whether it held the name until a better one came.
    pub replaced: bool,
}

/// A name with more than one definition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    /// The symbol.
    pub name: String,
    /// Its index in the call graph, if it is a function.
    pub function: Option<usize>,
    /// The input whose definition is in the output.
    pub kept: Option<usize>,
    /// Registers of that definition.
    pub registers: u32,
    /// The others, in link order.
    pub dropped: Vec<DroppedCopy>,
}

/// Functions of the output whose code is the same before relocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SameCode {
    /// Bytes of each.
    pub size: u64,
    /// Their indices in the call graph.
    pub functions: Vec<usize>,
}

/// The names with more than one definition, in the order of their first mention.
pub(super) fn copies(cx: Analysis<'_, '_>) -> Vec<Copies> {
    let mut dropped: Map<SymbolId, Vec<DroppedCopy>> = Map::default();
    for (object, input) in cx.objects.enumerated() {
        let lost = lost(cx, object, input);
        if lost.is_empty() {
            continue;
        }
        let sizes = sizes_by_owner(input);
        for (id, at, replaced) in lost {
            let own = || cx.unnamed_symbol(at).map_or(0, |symbol| symbol.size);
            let registers =
                if cx.resolution.get(id).function { input.registers(at.symbol) } else { 0 };
            let bytes = sizes.get(&at.symbol).copied().unwrap_or_else(own);
            let copy = DroppedCopy { input: object.index(), bytes, registers, replaced };
            dropped.entry(id).or_default().push(copy);
        }
    }
    let mut all: Vec<(SymbolId, Vec<DroppedCopy>)> = dropped.into_iter().collect();
    all.sort_unstable_by_key(|(id, _)| *id);
    all.into_iter().map(|(id, dropped)| named(cx, id, dropped)).collect()
}

fn named(cx: Analysis<'_, '_>, id: SymbolId, dropped: Vec<DroppedCopy>) -> Copies {
    let symbol = cx.resolution.get(id);
    let kept = symbol.definition.and_then(|at| Some((at, cx.objects.get(at.object)?)));
    let registers = kept.filter(|_| symbol.function).map(|(at, input)| input.registers(at.symbol));
    Copies {
        name: text(symbol.name),
        function: cx.graph.function(id).map(FunctionId::index),
        kept: kept.map(|(at, _)| at.object.index()),
        registers: registers.unwrap_or(0),
        dropped,
    }
}

/// The definitions of an input that are not those of the output.
fn lost(
    cx: Analysis<'_, '_>,
    object: ObjectId,
    input: &Object<'_>,
) -> Vec<(SymbolId, SymbolRefId, bool)> {
    let role = |named: &InputSymbol| {
        let at = SymbolRefId { object, symbol: named.symbol };
        let id = cx.resolution.id(object, named.symbol)?;
        match cx.resolution.role(id, at, true) {
            Role::Replaced => Some((id, at, true)),
            Role::Discarded => Some((id, at, false)),
            Role::Selected | Role::Reference => None,
        }
    };
    let defined = input.functions.iter().chain(input.data);
    defined.filter(|named| named.place == Place::Defined).filter_map(role).collect()
}

/// Bytes of the sections of each function.
fn sizes_by_owner(input: &Object<'_>) -> Map<u32, u64> {
    let mut sizes: Map<u32, u64> = Map::default();
    for section in input.cubin.sections().iter() {
        if let Some(owner) = input.owner(section.index.0) {
            let size = sizes.entry(owner).or_default();
            *size = size.saturating_add(section.size);
        }
    }
    sizes
}

/// Live functions with the same code, those that take most bytes first.
pub(super) fn same_code(cx: Analysis<'_, '_>) -> Vec<SameCode> {
    let live = cx.graph.functions.ids().filter(|&f| cx.reach.is_live(f));
    let mut code: Vec<(&[u8], usize)> =
        live.filter_map(|f| Some((code_of(cx, f)?, f.index()))).collect();
    // By length first: few comparisons look at bytes.
    code.sort_unstable_by(|(a, f), (b, g)| {
        a.len().cmp(&b.len()).then_with(|| a.cmp(b)).then(f.cmp(g))
    });
    let mut same: Vec<SameCode> = code
        .chunk_by(|(a, _), (b, _)| a == b)
        .filter(|functions| functions.len() > 1)
        .map(|functions| SameCode {
            size: functions.first().map_or(0, |(bytes, _)| bytes.len() as u64),
            functions: functions.iter().map(|&(_, function)| function).collect(),
        })
        .collect();
    same.sort_by_key(|group| {
        let extra = group.functions.len().saturating_sub(1) as u64;
        std::cmp::Reverse(group.size.saturating_mul(extra))
    });
    same
}

/// The code of a function that has a section of its own.
fn code_of<'a>(cx: Analysis<'a, '_>, function: FunctionId) -> Option<&'a [u8]> {
    let id = cx.graph.symbol(function);
    let at = cx.resolution.get(id).definition?;
    if cx.owner_of_code(id) != Some(id) {
        return None;
    }
    let section = cx.unnamed_symbol(at)?.shndx;
    let bytes = cx.objects.get(at.object)?.section_data(section);
    (!bytes.is_empty()).then_some(bytes)
}
