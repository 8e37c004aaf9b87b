//! Functions whose machine code the finalizer edits, and the attributes and tables that have to
//! follow.

use super::section_plan::CapsulePlan;
use crate::collections::Map;
use crate::ids::{ObjectId, SectionId, SymbolId};
use crate::linked::Linked;
use crate::mercury::code::instruction::Instruction;
use crate::mercury::code::{
    Change, Edited, Jumps, Moves, Purpose, edit, renew, rescoreboard, untime, wait_later,
};
use crate::merge::Content;
use cubin::attr::Attr;
use cubin::capsule::Capsule;
use cubin::info;
use rayon::prelude::*;

/// Edits functions. A relocatable output keeps the protection of its fences, as it does for a
/// debugger; the code of a program compiled as a whole is edited only for `-g`.
/// `--suppress-debug-info` makes code come out as without `-g`.
pub fn edited(linked: Linked<'_, '_>, plan: &CapsulePlan<'_>) -> Map<SectionId, Edited> {
    let config = linked.cx.config;
    let debug = config.is_debug_link();
    let purpose = Purpose {
        protected: debug || config.relocatable,
        report_errors: debug || reports_errors(linked, plan),
        undelayed: linked.cx.dialect.removes_delays(),
        older: false,
        timed_fences: linked.cx.dialect.has_timed_fences(),
    };
    let texts: Vec<SectionId> =
        linked.merged.function_sections.iter().filter_map(|f| f.text.get()).collect();
    let change = |&id: &SectionId| Some((id, function(linked, id, purpose)?));
    texts.par_iter().filter_map(change).collect::<Vec<_>>().into_iter().collect()
}

/// Whether some input was compiled for debugging. Then every function of the link reports errors
/// before its threads exit.
fn reports_errors(linked: Linked<'_, '_>, plan: &CapsulePlan<'_>) -> bool {
    let is_common = |id: &SectionId| {
        let section = linked.merged.section(*id);
        section.function.is_none() && matches!(section.content(), Content::Attributes(_))
    };
    let sections = (0..linked.merged.sections.len()).map(SectionId::new).filter(is_common);
    let tables = sections.map(|id| plan.contents.get(id));
    let mut records = tables.flat_map(info::records);
    records.any(|r| r.is_ok_and(|r| r.attr() == Attr::GEN_ERRBAR_AT_EXIT))
}

fn function(linked: Linked<'_, '_>, id: SectionId, purpose: Purpose) -> Option<Edited> {
    let symbol = linked.text_function(id)?;
    let is_kernel = linked.cx.resolution.get(symbol).entry;
    let Content::Chunks(chunks) = linked.merged.section(id).content() else { return None };
    let from = chunks.first()?.from;
    let object = linked.cx.objects.get(from.object)?;
    if object.whole_program && !linked.cx.config.is_debug_link() {
        return None;
    }
    let code = object.halves.as_ref()?.counterpart(from.section)?.data;
    let capsule = object.cubin.section(from.section)?.data;
    let older = linked.cx.dialect.renews_code(object.toolkit);
    let purpose = Purpose { older, ..purpose };
    let mut edited = match Edited::is_candidate(code, purpose) {
        // An unreadable capsule is reported where it is copied.
        true => edit(code, &Capsule::parse(capsule).ok()?, is_kernel, purpose),
        false => None,
    };
    if older && let Some(code) = renew(edited.as_ref().map_or(code, |e| &e.code)) {
        replace_code(&mut edited, code, capsule);
    }
    if linked.cx.dialect.moves_waits(object.toolkit)
        && let Some(code) = wait_later(edited.as_ref().map_or(code, |e| &e.code))
    {
        replace_code(&mut edited, code, capsule);
    }
    let rules = linked.cx.dialect.board_rules(object.toolkit);
    let has_barriers = purpose.report_errors && edited.is_some();
    let allocates = is_kernel || purpose.protected || has_barriers || rules[0] != rules[1];
    let rescoreboards = allocates && !linked.cx.config.mercury.keep_scoreboards;
    if linked.cx.dialect.untimes_unoptimised()
        && let Some(code) = untime(edited.as_ref().map_or(code, |e| &e.code))
    {
        replace_code(&mut edited, code, capsule);
    } else if rescoreboards
        && let change = change(code, edited.as_ref(), purpose)
        && let jumps = jumps(linked, (from.object, symbol), edited.as_ref().map(|e| &e.moves))
        && let code = edited.as_ref().map_or(code, |e| &e.code)
        && let Some(code) = rescoreboard(code, &jumps, &change, rules)
    {
        replace_code(&mut edited, code, capsule);
    }
    edited
}

/// What a link changes in code besides boards.
fn change(code: &[u8], edited: Option<&Edited>, purpose: Purpose) -> Change {
    let stalls_before = edited.map_or_else(Vec::new, |edited| edited.moves.stalls_before(code));
    let lost_waits = edited.map_or_else(Vec::new, |edited| edited.lost_waits.clone());
    Change { stalls_before, keeps_stack_pointer: purpose.protected, lost_waits }
}

/// Where the branches of a function lead that take their target from a table, as the compiler says.
fn jumps(
    linked: Linked<'_, '_>,
    (object, function): (ObjectId, SymbolId),
    moves: Option<&Moves>,
) -> Jumps {
    let mut out = Jumps::default();
    let sections = linked.cx.graph.function(function).map(|f| &linked.merged.function_sections[f]);
    let Some(id) = sections.and_then(|sections| sections.info.get()) else { return out };
    let Content::Attributes(sources) = linked.merged.section(id).content() else { return out };
    for from in sources.iter().filter(|from| from.object == object) {
        let halves = linked.cx.objects[from.object].halves.as_ref();
        let table = halves.and_then(|halves| halves.counterpart(from.section));
        let records = info::raw_records(table.map_or(&[], |table| table.data));
        for record in records.filter(|r| Attr(r[1]) == Attr::INDIRECT_BRANCH_TARGETS) {
            let mut payload = record.get(4..).unwrap_or_default().to_vec();
            if let Some(moves) = moves {
                move_attribute(Attr::INDIRECT_BRANCH_TARGETS, &mut payload, moves);
            }
            list_branches(&payload, &mut out);
        }
    }
    out
}

/// Adds the branches of a record: offset, a word, number of targets, targets.
fn list_branches(mut rest: &[u8], out: &mut Jumps) {
    while let Some((head, tail)) = rest.split_at_checked(12) {
        let size = (word(&head[8..]) as usize).saturating_mul(4).min(tail.len());
        let (targets, next) = tail.split_at(size);
        let index = |bytes: &[u8]| word(bytes) as usize / Instruction::SIZE;
        out.insert(index(head), targets.chunks_exact(4).map(index).collect());
        rest = next;
    }
}

/// Takes code with other control bits.
fn replace_code(edited: &mut Option<Edited>, code: Vec<u8>, capsule: &[u8]) {
    match edited {
        Some(edited) => edited.code = code,
        None => *edited = Some(Edited::with_boards(code, capsule)),
    }
}

/// How the code moved that an input symbol refers to: the function's symbol or its section's.
pub fn moves_of_symbol<'e>(
    linked: Linked<'_, '_>,
    edited: &'e Map<SectionId, Edited>,
    object: ObjectId,
    symbol: u32,
) -> Option<&'e Moves> {
    if edited.is_empty() {
        return None;
    }
    let input = &linked.cx.objects.get(object)?.cubin;
    let section = input.symbol(symbol)?.shndx;
    let text = linked.merged.placement(object, section)?.section;
    edited.get(&text).map(|e| &e.moves)
}

/// What a code offset in an attribute stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offset {
    /// The instruction itself.
    Instruction,
    /// Where a branch leads.
    Target,
}

/// Updates the code offsets in a payload. [`canaries-after-ends`]
pub fn move_attribute(code: Attr, payload: &mut [u8], moves: &Moves) {
    map_offsets(code, payload, |at, what| match what {
        Offset::Instruction => moves.place(at),
        Offset::Target => moves.target(at),
    });
}

/// Maps the code offsets in a payload.
pub fn map_offsets(code: Attr, payload: &mut [u8], mut map: impl FnMut(u64, Offset) -> u64) {
    let mut place = |word: &mut [u8]| map_word(word, |at| map(at, Offset::Instruction));
    match code {
        Attr::EXIT_INSTR_OFFSETS
        | Attr::S2RCTAID_INSTR_OFFSETS
        | Attr::ATOM_SYS_INSTR_OFFSETS
        | Attr::COOP_GROUP_INSTR_OFFSETS
        | Attr::INT_WARP_WIDE_INSTR_OFFSETS
        | Attr::SYSCALL_OFFSETS
        | Attr::SW_WAR_MEMBAR_SYS_INSTR_OFFSETS
        | Attr::STACK_CANARY_TRAP_OFFSETS
        | Attr::LOCAL_CTA_ASYNC_STORE_OFFSETS
        | Attr::IGNOREOOB_CP_ASYNC_BULK_INSTR_OFFSETS => {
            payload.chunks_exact_mut(4).for_each(place);
        }
        // An offset, and a word about the instruction there.
        Attr::MBARRIER_INSTR_OFFSETS
        | Attr::UNUSED_LOAD_BYTE_OFFSET
        | Attr::ATOM16_EMUL_INSTR_REG_MAP => {
            payload.chunks_exact_mut(8).for_each(|pair| place(&mut pair[..4]));
        }
        // Pairs of a kind and an offset. The compiler marks accesses to spilled registers (kind 1);
        // entries of kinds never seen are left unchanged. [`spills-and-fences`]
        Attr::ANNOTATIONS => {
            const SPILL: u32 = 1;
            let pairs = payload.chunks_exact_mut(8);
            pairs.take_while(|pair| word(pair) == SPILL).for_each(|pair| place(&mut pair[4..]));
        }
        Attr::INDIRECT_BRANCH_TARGETS => map_branches(payload, map),
        _ => {}
    }
}

/// Per branch: its offset, zero, the number of targets, the targets.
fn map_branches(mut rest: &mut [u8], mut map: impl FnMut(u64, Offset) -> u64) {
    const HEAD: usize = 12;
    while rest.len() >= HEAD {
        let (head, tail) = rest.split_at_mut(HEAD);
        map_word(&mut head[..4], |at| map(at, Offset::Instruction));
        let count = word(&head[8..]) as usize;
        let size = count.saturating_mul(4).min(tail.len());
        let (targets, next) = tail.split_at_mut(size);
        for target in targets.chunks_exact_mut(4) {
            map_word(target, |at| map(at, Offset::Target));
        }
        rest = next;
    }
}

fn word(bytes: &[u8]) -> u32 {
    bytes.get(..4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn map_word(bytes: &mut [u8], map: impl FnOnce(u64) -> u64) {
    let new = map(word(bytes).into()) as u32;
    bytes.copy_from_slice(&new.to_le_bytes());
}
