//! `.nv.info.F` of the machine-code half, derived from the Mercury half's.

use super::code_edits::{Offset, map_offsets, move_attribute};
use super::replaced_copies::SelectedCode;
use super::{CapsuleFile, handles, stacks};
use crate::collections::Map;
use crate::ids::{SectionId, SymbolId};
use crate::merge::{Content, Meaning};
use cubin::attr::{Attr, Format};
use cubin::info::{self, Record};
use std::borrow::Cow;

/// Size of a record's header: format, code, value or length.
const HEAD: usize = 4;

/// An attribute of executables for sm_107. No code was found for which it is not 0.
const ATTRIBUTE_67: Attr = Attr(0x67);

/// How to translate the records of one input function, keyed by the Mercury half's record.
#[derive(Default)]
struct Translation<'a> {
    /// Code, payload in the Mercury half, and payload in the machine-code half where they differ
    /// (code offsets). If two share a Mercury payload, the later one wins.
    moved: Vec<(Attr, &'a [u8], Payload<'a>)>,
    /// Records that only the machine-code half has, unchanged.
    added: Vec<&'a [u8]>,
}

/// The payload of a record in the machine-code half.
enum Payload<'a> {
    /// That of the input, with offsets in its code.
    Input(&'a [u8]),
    /// One with offsets in the output's code.
    Output(Vec<u8>),
}

impl<'a> Translation<'a> {
    /// The payload in the machine-code half, if it differs.
    fn get(&self, code: Attr, payload: &[u8]) -> Option<&Payload<'a>> {
        let same = |moved: &&(Attr, &[u8], Payload<'_>)| moved.0 == code && moved.1 == payload;
        self.moved.iter().rev().find(same).map(|moved| &moved.2)
    }
}

/// The machine-code form of an attribute section.
pub fn machine<'b>(file: &'b CapsuleFile<'_, '_>, id: SectionId) -> Cow<'b, [u8]> {
    let mercury = file.plan.contents.get(id);
    if file.linked.merged.section(id).function.is_none() {
        return match stacks::machine(file, mercury) {
            Some(table) => Cow::Owned(joint_frames(file, &table).into_owned()),
            None => joint_frames(file, mercury),
        };
    }
    let translation = translation(file, id);
    let moves = file.code_of(id).and_then(|text| file.edited.get(&text)).map(|e| &e.moves);
    let added: usize = translation.added.iter().map(|record| record.len()).sum();
    let mut out = Vec::with_capacity(mercury.len() + added + 8);
    let function = file.linked.merged.section(id).function.get();
    let function = function.and_then(|symbol| file.linked.cx.graph.function(symbol));
    let mut called = function.map_or(&[][..], |function| file.plan.calls.externs(function));
    for record in info::raw_records(mercury) {
        let (code, payload) = (Attr(record[1]), &record[HEAD..]);
        // The compiler's hints to the finalizer are not for the driver.
        if code == Attr::MERCURY_FINALIZER_OPTIONS {
            continue;
        }
        let start = out.len() + HEAD;
        match translation.get(code, payload) {
            _ if code == Attr::EXTERNS => {
                write_externs(payload, std::mem::take(&mut called), &mut out)
            }
            Some(Payload::Output(moved)) => {
                write(record, moved, &mut out);
                continue;
            }
            Some(Payload::Input(moved)) => write(record, moved, &mut out),
            None => out.extend_from_slice(record),
        }
        if let Some(moves) = moves {
            move_attribute(code, &mut out[start..], moves);
        }
    }
    if !called.is_empty() {
        write_externs(&[], called, &mut out);
    }
    for record in &translation.added {
        let start = out.len() + HEAD;
        out.extend_from_slice(record);
        if Attr(record[1]) == Attr::PARAM_CBANK
            && let Some(word) = out.get_mut(start..start + 4)
            && let Some(bank) = bank_symbol(file, id)
        {
            word.copy_from_slice(&bank.to_le_bytes());
        }
    }
    note_code(file, id, &translation.added, &mut out);
    if handles(file, id).is_some() {
        for code in [Attr::BINDLESS_TEXTURE_BANK, Attr::BINDLESS_SURFACE_BANK] {
            Record::scalar(Format::BVAL, code, handles::BANK.into()).write(&mut out);
        }
    }
    if file.linked.cx.dialect.adds_attribute_67() && !file.linked.cx.config.relocatable {
        Record::scalar(Format::BVAL, ATTRIBUTE_67, 0).write(&mut out);
    }
    Cow::Owned(out)
}

/// Writes which external functions are called: those of Mercury code, and those of machine code alone.
/// [`system-calls`]
fn write_externs(mercury: &[u8], called: &[u32], out: &mut Vec<u8>) {
    let room = (usize::from(u16::MAX) - mercury.len().min(u16::MAX.into())) / size_of::<u32>();
    let called = &called[..called.len().min(room)];
    let length = (mercury.len() + size_of_val(called)) as u16;
    out.extend_from_slice(&[Format::SVAL.0, Attr::EXTERNS.0]);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(mercury);
    out.extend(called.iter().flat_map(|number| number.to_le_bytes()));
}

/// Adds what the finalizer says about code of compilers that did not say it yet.
/// [`code-of-older-compilers`]
fn note_code(file: &CapsuleFile<'_, '_>, id: SectionId, known: &[&[u8]], out: &mut Vec<u8>) {
    let newest = file.linked.cx.dialect.newest_attribute();
    let is_lacking = |code: Attr| !known.iter().any(|record| Attr(record[1]) == code);
    if newest >= Attr::NVSAL_SW_WAR && is_lacking(Attr::NVSAL_SW_WAR) {
        Record::scalar(Format::HVAL, Attr::NVSAL_SW_WAR, 1).write(out);
    }
    if newest >= Attr::PREEXIT_USED {
        let function = file.linked.merged.section(id).function.get();
        let function = function.and_then(|symbol| file.linked.cx.graph.function(symbol));
        let used = function.is_some_and(|function| file.preexit.of(function));
        Record::scalar(Format::BVAL, Attr::PREEXIT_USED, used.into()).write(out);
    }
}

/// `.nv.info`: all functions inside one kernel get the frame size of the last of them. [frames of
/// five functions changed by hand; `whole-programs-capsules`]
fn joint_frames<'b>(file: &CapsuleFile<'_, '_>, table: &'b [u8]) -> Cow<'b, [u8]> {
    let owner_of = |number: u32| {
        let at = usize::try_from(number.checked_sub(1)?).ok()?;
        let symbol = file.plan.numbering.order.get(at)?;
        let Meaning::Symbol(id) = file.linked.merged.symbols.get(*symbol)?.meaning() else {
            return None;
        };
        let kernel = file.linked.cx.resolution.kernel_around(file.linked.cx.objects, id);
        Some((kernel.unwrap_or(id), kernel.is_some()))
    };
    let (mut start, mut any_nested) = (0, false);
    let mut frames = Vec::new();
    for record in info::raw_records(table) {
        let payload = start + HEAD;
        start += record.len();
        let frame =
            info::symbol_and_value(&record[HEAD..]).filter(|_| Attr(record[1]) == Attr::FRAME_SIZE);
        if let Some((symbol, size)) = frame
            && let Some((owner, is_nested)) = owner_of(symbol)
        {
            any_nested |= is_nested;
            frames.push((owner, payload + 4, size));
        }
    }
    if !any_nested {
        return Cow::Borrowed(table);
    }
    let last: Map<SymbolId, u32> = frames.iter().map(|&(owner, _, size)| (owner, size)).collect();
    let mut out = table.to_vec();
    for (owner, at, _) in frames {
        if let (Some(size), Some(word)) = (last.get(&owner), out.get_mut(at..at + 4)) {
            word.copy_from_slice(&size.to_le_bytes());
        }
    }
    Cow::Owned(out)
}

/// The bank that holds the handles of the kernel that these records describe.
fn handles(file: &CapsuleFile<'_, '_>, id: SectionId) -> Option<SectionId> {
    let function = file.linked.cx.graph.function(file.linked.merged.section(id).function.get()?)?;
    file.linked.merged.function_sections.get(function)?.constant0.get()
}

/// Index of the section symbol of a kernel's parameter bank.
fn bank_symbol(file: &CapsuleFile<'_, '_>, id: SectionId) -> Option<u32> {
    let merged = file.linked.merged;
    if let Some(symbol) = handles(file, id).and_then(|bank| merged.section(bank).symbol.get()) {
        return Some(file.plan.numbering.index[symbol.index()]);
    }
    // Banks are in the order of the kernels' code.
    let text = file.code_of(id)?;
    let place = |text: SectionId| file.plan.machine_index[text.index()];
    let banks = &file.plan.banks;
    let at = banks.binary_search_by_key(&place(text), |bank| place(bank.text)).ok()?;
    banks.get(at).filter(|b| Some(b.kernel) == merged.section(id).function.get()).map(|b| b.symbol)
}

impl CapsuleFile<'_, '_> {
    /// The code section that the records of a section describe.
    pub(super) fn code_of(&self, id: SectionId) -> Option<SectionId> {
        let symbol = self.linked.merged.section(id).function.get()?;
        let function = self.linked.cx.graph.function(symbol)?;
        self.linked.merged.function_sections.get(function)?.text.get()
    }
}

/// Appends a record with a new payload. A record without a payload keeps its value.
fn write(record: &[u8], payload: &[u8], out: &mut Vec<u8>) {
    let length = (payload.len() as u16).to_le_bytes();
    out.extend_from_slice(&record[..2]);
    out.extend_from_slice(if payload.is_empty() { &record[2..HEAD] } else { &length });
    out.extend_from_slice(payload);
}

fn translation<'a>(file: &CapsuleFile<'a, '_>, id: SectionId) -> Translation<'a> {
    let mut out = Translation::default();
    let Content::Attributes(sources) = file.linked.merged.section(id).content() else { return out };
    let function = file.linked.merged.section(id).function.get();
    let selected = function.and_then(|f| SelectedCode::new(file.linked, &file.edited, f));
    for from in sources {
        let object = &file.linked.cx.objects[from.object];
        let Some(halves) = &object.halves else { continue };
        let mercury = object.cubin.section(from.section).map_or(&[][..], |s| s.data);
        let machine = halves.counterpart(from.section).map_or(&[][..], |s| s.data);
        let described = object.cubin.section(from.section).map_or(0, |s| s.info);
        let describes_other = |code: &&SelectedCode<'_, '_>| {
            (from.object, described) != (code.from.object, code.from.section)
        };
        let other = selected.as_ref().filter(describes_other);
        let mut rest: Vec<&'a [u8]> = info::raw_records(machine).collect();
        for record in info::raw_records(mercury) {
            let Some(at) = rest.iter().position(|r| r[1] == record[1]) else { continue };
            let counterpart = rest.remove(at);
            let (code, mercury) = (Attr(record[1]), &record[HEAD..]);
            if let Some(other) = other.filter(|_| has_offsets(code, mercury)) {
                out.moved.push((code, mercury, Payload::Output(translated(code, mercury, other))));
            } else if counterpart[HEAD..] != *mercury {
                out.moved.push((code, mercury, Payload::Input(&counterpart[HEAD..])));
            }
        }
        let newest = file.linked.cx.dialect.newest_attribute();
        rest.retain(|record| {
            let code = Attr(record[1]);
            code <= newest && ![Attr::EXTERNS, Attr::PREEXIT_USED, ATTRIBUTE_67].contains(&code)
        });
        out.added = rest;
    }
    out
}

/// Whether a record has code offsets.
fn has_offsets(code: Attr, payload: &[u8]) -> bool {
    let mut found = false;
    map_offsets(code, &mut payload.to_vec(), |at, _| {
        found = true;
        at
    });
    found
}

/// The records of a function that are those of another of the same name: offsets in that one's Mercury
/// code are translated with the map of this one, 0 where no instruction starts. Quirk: nvlink reads past the
/// end of the map; warpld writes 0. [`relinked-namesakes-offsets`]
fn translated(code: Attr, mercury: &[u8], selected: &SelectedCode<'_, '_>) -> Vec<u8> {
    let mut out = mercury.to_vec();
    map_offsets(code, &mut out, |at, what| {
        let place = match what {
            Offset::Instruction => selected.instruction(at),
            Offset::Target => selected.place(at),
        };
        place.unwrap_or(0)
    });
    out
}
