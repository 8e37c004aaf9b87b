//! Which sections the two halves have, and their indices.

use super::fastpath;
use super::system_calls::SystemCalls;
use crate::diag::Diagnostic;
use crate::ids::{SectionId, SymbolId};
use crate::linked::Linked;
use crate::merge::{Content, Synthetic};
use crate::write::Contents;
use crate::write::{self, Numbering, symbols};
use cubin::encode::fits_header;
use cubin::half;

/// A kernel's parameter bank, which only machine code has.
#[derive(Clone, Copy, Debug)]
pub struct ParameterBank {
    /// The kernel.
    pub kernel: SymbolId,
    /// Its code.
    pub text: SectionId,
    /// Index of the bank in the output.
    pub index: u32,
    /// Index of its section symbol.
    pub symbol: u32,
}

/// Sections and their indices.
#[derive(Debug)]
pub struct CapsulePlan<'a> {
    /// Symbol indices of both tables.
    pub numbering: Numbering,
    /// Tables of the Mercury half, by section.
    pub contents: Contents<'a>,
    /// Sections of the machine-code half in file order.
    pub machine: Vec<SectionId>,
    /// Parameter banks, which follow them.
    pub banks: Vec<ParameterBank>,
    /// Sections of the Mercury half in file order.
    pub mercury: Vec<SectionId>,
    /// Index of each section in the machine-code half.
    pub machine_index: Vec<u32>,
    /// Index in the Mercury half: the counterpart's if there is one.
    pub mercury_index: Vec<u32>,
    /// Index of `.nv.merc.symtab`.
    pub mercury_symtab: u32,
    /// Calls that only machine code has. Their symbols and sections come last.
    pub calls: SystemCalls<'a>,
    /// Whether each symbol table gets a table of section indices: there are more sections than 16
    /// bits can count, and the link did not create such tables.
    pub adds_numbers: bool,
}

/// Selects the sections and numbers them.
pub fn plan<'a>(linked: Linked<'a, '_>) -> Result<CapsulePlan<'a>, Diagnostic> {
    let mut summaries = write::summary::collect(linked);
    let numbering = symbols::number(linked, &summaries);
    let targets = Some(fastpath::targets(linked));
    let contents = write::contents::contents(linked, &numbering, &mut summaries, targets);
    let (machine, machine_index) = write::order(&summaries);
    let machine: Vec<SectionId> = machine.iter().map(|section| section.id).collect();
    let mut banks = parameter_banks(linked, &machine, &numbering);
    let mercury = mercury_order(linked, &machine);
    let mut mercury_index = machine_index.clone();
    let has_relocs = |code: SectionId| {
        let relocs = linked.merged.section(code).rela();
        relocs.is_some_and(|relocs| machine_index[relocs.index()] != 0)
    };
    let symbol = (numbering.order.len() + banks.len()) as u32 + 1;
    let calls = SystemCalls::find(linked, &machine, symbol, has_relocs)?;
    // The null section and the Mercury half's symbol table count, too.
    let total = machine.len() + banks.len() + mercury.len() + 2 + calls.alone.len();
    let adds_numbers = !fits_header(total) && !linked.merged.needs_symbol_sections();
    let tables = u32::from(adds_numbers);
    for bank in &mut banks {
        bank.index += tables;
    }
    let symbols_first = linked.cx.dialect.rebuilds_names();
    let first = (machine.len() + banks.len()) as u32 + tables + 1 + u32::from(symbols_first);
    for (i, id) in mercury.iter().enumerate() {
        mercury_index[id.index()] = first + i as u32;
    }
    let mercury_symtab = match symbols_first {
        true => first - 1,
        false => first + mercury.len() as u32 + tables,
    };
    Ok(CapsulePlan {
        numbering,
        contents,
        machine,
        banks,
        mercury,
        machine_index,
        mercury_index,
        mercury_symtab,
        calls,
        adds_numbers,
    })
}

/// One bank per kernel, in the order of the kernels' code. Kernels with texture handles already
/// have one in both halves.
fn parameter_banks(
    linked: Linked<'_, '_>,
    machine: &[SectionId],
    numbering: &Numbering,
) -> Vec<ParameterBank> {
    let kernels = machine.iter().filter_map(|&text| {
        let kernel = linked.text_function(text)?;
        let function = linked.cx.graph.function(kernel)?;
        let with_handles = linked.merged.function_sections[function].constant0.is_some();
        (linked.cx.resolution.get(kernel).entry && !with_handles).then_some((kernel, text))
    });
    let (index, symbol) = (machine.len() as u32 + 1, numbering.order.len() as u32 + 1);
    let bank = |(i, (kernel, text))| {
        let i = i as u32;
        ParameterBank { kernel, text, index: index + i, symbol: symbol + i }
    };
    kernels.enumerate().map(bank).collect()
}

/// Capsules come first, then the counterparts in the order of the machine-code half; or all are in
/// that order. [`names-anew`]
fn mercury_order(linked: Linked<'_, '_>, machine: &[SectionId]) -> Vec<SectionId> {
    let is_text = |id: &SectionId| linked.text_function(*id).is_some();
    let in_half = |id: &SectionId| is_text(id) || has_counterpart(linked, *id);
    let mut order: Vec<SectionId> = machine.iter().copied().filter(in_half).collect();
    if !linked.cx.dialect.rebuilds_names() {
        order.sort_by_key(|id| !is_text(id));
    }
    order
}

/// Whether both halves have the section.
fn has_counterpart(linked: Linked<'_, '_>, id: SectionId) -> bool {
    let section = linked.merged.section(id);
    match section.content() {
        Content::Synthetic(Synthetic::SymbolSections)
        | Content::Attributes(_)
        | Content::Relocs(..)
        | Content::ResolvedRelocs(_)
        | Content::ImageRelocs(_) => true,
        Content::Synthetic(Synthetic::CallGraph | Synthetic::Prototype) => {
            linked.cx.dialect.doubles_call_tables()
        }
        Content::Chunks(chunks) => {
            section.bank().is_some()
                || chunks.iter().any(|chunk| {
                    let object = &linked.cx.objects[chunk.from.object];
                    let input =
                        object.halves.as_ref().and_then(|h| h.sass.section(chunk.from.section));
                    input.is_some_and(|s| half::is_mercury(&s))
                })
        }
        _ => false,
    }
}
