//! `.nv.info.F` of the machine-code side, made from the Mercury side's.

use super::edited::move_attribute;
use super::{Both, handles};
use crate::merge::{Content, SectionId};
use crate::object::eiattr;
use cubin::attr::Format;
use cubin::info::{self, Record};
use hashbrown::HashMap;

/// What the compiler tells the finalizer; no business of the driver's.
const FINALIZER_OPTIONS: u8 = 0x5a;

/// The records of one input function, by what the Mercury side says.
#[derive(Default)]
struct Translation<'a> {
    /// Payloads that differ: offsets in code.
    moved: HashMap<(u8, &'a [u8]), &'a [u8], foldhash::fast::FixedState>,
    /// Records of the machine-code side only.
    added: Vec<Record<'a>>,
}

/// The machine-code form of an attribute section.
pub fn machine(both: &Both<'_, '_>, id: SectionId) -> Vec<u8> {
    let mercury = both.shape.contents.get(id);
    if both.parts.merged.section(id).function.is_none() {
        return mercury.to_vec();
    }
    let translation = translation(both, id);
    let moves = both.code_of(id).and_then(|text| both.edited.get(&text)).map(|e| &e.moves);
    let mut out = Vec::with_capacity(mercury.len());
    for record in info::records(mercury).map_while(Result::ok) {
        if record.code == FINALIZER_OPTIONS {
            continue;
        }
        let moved = translation.moved.get(&(record.code, record.payload)).copied();
        let mut payload = moved.unwrap_or(record.payload).to_vec();
        if let Some(moves) = moves {
            move_attribute(record.code, &mut payload, moves);
        }
        write(&record, &payload, &mut out);
    }
    let bank = bank_symbol(both, id);
    for record in &translation.added {
        let mut payload = record.payload.to_vec();
        if record.code == eiattr::PARAM_CBANK
            && let (Some(word), Some(bank)) = (payload.get_mut(..4), bank)
        {
            word.copy_from_slice(&bank.to_le_bytes());
        }
        write(record, &payload, &mut out);
    }
    if handles(both, id).is_some() {
        for code in [eiattr::BINDLESS_TEXTURE_BANK, eiattr::BINDLESS_SURFACE_BANK] {
            Record::scalar(Format::BVAL, code, handles::BANK.into()).write(&mut out);
        }
    }
    out
}

/// The bank that holds the handles of the kernel whose records these are.
fn handles(both: &Both<'_, '_>, id: SectionId) -> Option<SectionId> {
    let function = both.parts.cx.graph.function(both.parts.merged.section(id).function?)?;
    both.parts.merged.function_sections.get(function.0 as usize)?.constant0
}

/// Number of the section symbol of a kernel's parameter bank.
fn bank_symbol(both: &Both<'_, '_>, id: SectionId) -> Option<u32> {
    let merged = both.parts.merged;
    if let Some(symbol) = handles(both, id).and_then(|bank| merged.section(bank).symbol) {
        return Some(both.shape.numbering.index[symbol.0 as usize]);
    }
    let kernel = merged.section(id).function;
    both.shape.banks.iter().find(|bank| Some(bank.kernel) == kernel).map(|bank| bank.symbol)
}

impl Both<'_, '_> {
    /// The code that the records of a section are about.
    pub(super) fn code_of(&self, id: SectionId) -> Option<SectionId> {
        let symbol = self.parts.merged.section(id).function?;
        let function = self.parts.cx.graph.function(symbol)?;
        self.parts.merged.function_sections.get(function.0 as usize)?.text
    }
}

fn write(record: &Record<'_>, payload: &[u8], out: &mut Vec<u8>) {
    let value = if payload.is_empty() { record.value } else { payload.len() as u16 };
    Record { payload, value, ..*record }.write(out);
}

fn translation<'a>(both: &Both<'a, '_>, id: SectionId) -> Translation<'a> {
    let mut out = Translation::default();
    let Content::Attributes(sources) = &both.parts.merged.section(id).content else { return out };
    for from in sources {
        let object = &both.parts.cx.objects[from.object.0 as usize];
        let Some(halves) = &object.halves else { continue };
        let mercury = object.cubin.section(from.section).map_or(&[][..], |s| s.data);
        let machine = halves.twin(from.section).map_or(&[][..], |s| s.data);
        let mut rest: Vec<Record<'a>> = records(machine);
        for record in records(mercury) {
            let Some(at) = rest.iter().position(|r| r.code == record.code) else { continue };
            let twin = rest.remove(at);
            if twin.payload != record.payload {
                out.moved.insert((record.code, record.payload), twin.payload);
            }
        }
        out.added = rest;
    }
    out
}

fn records(data: &[u8]) -> Vec<Record<'_>> {
    info::records(data).map_while(Result::ok).collect()
}
