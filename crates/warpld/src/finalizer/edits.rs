//! What the finalizer changes in the code of kernels.
//!
//! A compiler that does not see the whole program protects fences against code
//! it does not know. Where a kernel calls nothing that protection is not
//! needed, and nvlink removes it: the empty shared-memory reads before a fence
//! (unless the kernel copies to shared memory asynchronously, in any place) and
//! the narrow fence before a wide one. For a debugger (`-g`) nothing is removed;
//! instead the end of every kernel waits until errors have been reported.
//! Stall counts are right without the removed instructions: the compiler adds
//! them after it has counted (a comparison before a fence and the branch after it
//! are as far apart with four reads in between as without).

use super::instruction::{Flow, Instruction, NO_GUARD};
use super::moves::Moves;
use cubin::capsule::{Capsule, CapsuleHeader, Item, ItemForm};

/// What the output is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Execution.
    Run,
    /// Execution under a debugger.
    Debug,
}

/// A kernel's code after the changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// Machine code.
    pub code: Vec<u8>,
    /// Its capsule; the section number is the input's.
    pub capsule: Vec<u8>,
    /// Where instructions went.
    pub moves: Moves,
}

impl Edited {
    /// A kernel whose control bits alone changed.
    pub fn with_boards(code: Vec<u8>, capsule: &[u8]) -> Self {
        let moves = Moves::none(code.len() / Instruction::SIZE);
        Self { code, capsule: capsule.to_vec(), moves }
    }

    /// Whether there can be anything to change: a quick look.
    pub fn is_candidate(code: &[u8], purpose: Purpose) -> bool {
        let wanted = match purpose {
            Purpose::Run => FENCE,
            Purpose::Debug => (EXIT & 0x1ff) as u16,
        };
        let operation = |chunk: &[u8]| u16::from_le_bytes([chunk[0], chunk[1]]) & 0x1ff;
        code.chunks_exact(Instruction::SIZE).any(|chunk| operation(chunk) == wanted)
    }
}

/// `@!PT LDS RZ, [RZ]`, which reads nothing.
const EMPTY_READ: u128 = 0x0800_0000_0000_ffff_0984;
/// The guard that never holds.
const NEVER: u8 = 0xf;
/// `MEMBAR.ALL.CTA`.
const NARROW_FENCE: u128 = 0x8000_0000_0000_0000_0992;
/// `MEMBAR.SC.VC`, first of what waits for errors.
const ERROR_FENCE: u128 = 0x5000_0000_0000_0000_0992;
const EXIT: u128 = Instruction::EXIT;
/// Every kind of fence.
const FENCE: u16 = 0x192;
/// Asynchronous copy to shared memory.
const LDGSTS: u16 = 0x1ae;
/// `MEMBAR.SC.VC`, `ERRBAR`, `CGAERRBAR` with the stall counts nvlink gives them.
const ERROR_WAIT: [Instruction; 3] = [
    Instruction(0x000f_c000_0000_5000_0000_0000_0000_7992),
    Instruction(0x000f_c000_0000_0000_0000_0000_0000_79ab),
    Instruction(0x000f_ec00_0000_0000_0000_0000_0000_75ab),
];
/// Instructions that a function must have free at its end, and of which its size
/// is a multiple.
const ROOM: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edit {
    Keep,
    Remove,
    /// Put what waits for errors before it.
    WaitForErrors,
}

/// Changes a kernel's code; nothing if nothing has to change, or if the code has
/// something in it that is not understood.
pub fn edit(code: &[u8], capsule: &Capsule<'_>, purpose: Purpose) -> Option<Edited> {
    let code = Instruction::all(code)?;
    let units = units(capsule, code.len())?;
    let edits = match purpose {
        Purpose::Run => removals(&code, &units)?,
        Purpose::Debug => insertions(&code, &units)?,
    };
    if edits.iter().all(|&e| e == Edit::Keep) {
        return None;
    }
    let mut out = Vec::with_capacity(code.len());
    let (mut first, mut itself) = (Vec::new(), Vec::new());
    let end = units.last()?.first + 1;
    for (i, (&instruction, &edit)) in code.iter().zip(&edits).enumerate().take(end) {
        first.push(out.len() as u32);
        match edit {
            Edit::Keep => out.push(instruction),
            Edit::Remove => {}
            Edit::WaitForErrors => wait_for_errors(code.get(..i)?, instruction, &mut out),
        }
        let gone = edit == Edit::Remove;
        itself.push(out.len().checked_sub(usize::from(!gone))? as u32);
    }
    let body = out.len();
    out.resize((body + ROOM).next_multiple_of(ROOM), Instruction::NOP);
    for i in end..code.len() {
        let new = (body + (i - end)).min(out.len()) as u32;
        first.push(new);
        itself.push(new);
    }
    let moves = Moves::new(first, itself, out.len() as u32);
    retarget(&code, &edits, &moves, &mut out)?;
    let capsule = recount(capsule, &units, &code, &edits, out.len() - body)?;
    let code = out.iter().flat_map(|i| i.0.to_le_bytes()).collect();
    Some(Edited { code, capsule, moves })
}

/// What a kernel that calls nothing can do without. A narrow fence is removed
/// only before the wide one it belongs to: by itself it is what was asked for.
fn removals(code: &[Instruction], units: &[Unit]) -> Option<Vec<Edit>> {
    if code.iter().any(|i| i.flow(0) == Flow::Call) {
        return None;
    }
    let copies = code.iter().any(|i| i.operation() == LDGSTS);
    let mut edits = vec![Edit::Keep; code.len()];
    for unit in units.iter().filter(|u| u.count > 1) {
        let code = code.get(unit.first..unit.first + unit.count)?;
        let fence_follows = |i: usize| code.get(i + 1).is_some_and(|n| n.operation() == FENCE);
        for (i, instruction) in code.iter().enumerate() {
            let needless = match instruction.essence() {
                EMPTY_READ => instruction.guard() == NEVER && !copies,
                NARROW_FENCE => fence_follows(i),
                ERROR_FENCE => true,
                _ => false,
            };
            if needless {
                *edits.get_mut(unit.first + i)? = Edit::Remove;
            }
        }
    }
    Some(edits)
}

/// Ends of a kernel that do not wait for errors yet.
fn insertions(code: &[Instruction], units: &[Unit]) -> Option<Vec<Edit>> {
    let mut edits = vec![Edit::Keep; code.len()];
    for unit in units {
        let [instruction] = code.get(unit.first..unit.first + unit.count)? else { continue };
        if instruction.operation() == (EXIT & 0x1ff) as u16 {
            if instruction.essence() != EXIT {
                return None;
            }
            *edits.get_mut(unit.first)? = Edit::WaitForErrors;
        }
    }
    Some(edits)
}

/// The three instructions run under the guard of the end itself. Boards that the
/// guard comes from are waited for before them (nvlink: by the second), others
/// where they were. Right after a fence of the same kind the first is not needed,
/// and the second waits for that fence.
fn wait_for_errors(before: &[Instruction], exit: Instruction, out: &mut Vec<Instruction>) {
    let mut early = match exit.guard() {
        NO_GUARD => 0,
        guard => boards_of_predicate(before, guard & 7, exit.waits()),
    };
    let [fence, report, group] = ERROR_WAIT.map(|i| i.guarded(exit.guard()));
    match out.last_mut().filter(|_| follows_fence(before)) {
        Some(last) => {
            let board = last.read_board().unwrap_or_else(|| free_board(before));
            *last = last.reading(board);
            early |= 1 << board;
        }
        None => out.push(fence),
    }
    let rest = exit.waits() & !early;
    out.extend([report.waiting(early), group, exit.waiting(rest)]);
}

/// Whether a `MEMBAR.SC` comes right before.
fn follows_fence(before: &[Instruction]) -> bool {
    const WEAKER: u128 = 1 << 79;
    before.last().is_some_and(|i| i.operation() == FENCE && i.0 & WEAKER == 0)
}

/// The lowest board that nothing is waited for, as far as the order of the code
/// tells. (One too many user of a board makes a wait longer, not wrong.)
fn free_board(before: &[Instruction]) -> u8 {
    let mut busy = 0_u8;
    for instruction in before {
        busy &= !instruction.waits();
        for board in instruction.write_board().into_iter().chain(instruction.read_board()) {
            busy |= 1 << board;
        }
    }
    (0..6).find(|b| busy >> b & 1 == 0).unwrap_or(5)
}

/// Which of the boards a predicate may come with: those whose last setter can
/// have it as a result.
fn boards_of_predicate(before: &[Instruction], predicate: u8, boards: u8) -> u8 {
    let mut out = 0;
    for board in (0..6).filter(|b| boards >> b & 1 == 1) {
        let sets =
            |i: &&Instruction| i.write_board() == Some(board) || i.read_board() == Some(board);
        let comes_from = match before.iter().rev().find(sets) {
            Some(i) if i.read_board() == Some(board) => false,
            Some(i) => !sets_no_predicate(*i) && (i.0 >> 81) as u8 & 7 == predicate,
            None => true,
        };
        out |= u8::from(comes_from) << board;
    }
    out
}

/// Loads and reads of special registers: LDC, LDCU, LD, LDG, LDL, LDS, S2R, S2UR.
fn sets_no_predicate(instruction: Instruction) -> bool {
    matches!(instruction.operation(), 0x182 | 0x1ac | 0x180 | 0x181 | 0x183 | 0x184 | 0x119 | 0x1c3)
}

/// Lets everything that names a place name the new one.
fn retarget(
    code: &[Instruction],
    edits: &[Edit],
    moves: &Moves,
    out: &mut [Instruction],
) -> Option<()> {
    for (i, (instruction, edit)) in code.iter().zip(edits).enumerate() {
        let at = (i * Instruction::SIZE) as i64;
        match instruction.flow(at) {
            Flow::Next => {}
            Flow::Call | Flow::Unknown if *edit == Edit::Keep => {
                if moves.place(at as u64) != at as u64 && !is_absolute(*instruction) {
                    return None;
                }
            }
            Flow::To(target) => {
                let target = u64::try_from(target).ok().filter(|t| t % 16 == 0)?;
                let place = moves.place(at as u64);
                let new = out.get_mut(usize::try_from(place).ok()? / Instruction::SIZE)?;
                *new = new.towards(place as i64, moves.target(target) as i64);
            }
            Flow::Call | Flow::Unknown => return None,
        }
    }
    Some(())
}

/// Calls and jumps that name their target by a relocation.
fn is_absolute(instruction: Instruction) -> bool {
    matches!(instruction.operation(), 0x143 | 0x14a)
}

/// The machine instructions that one Mercury instruction stands for.
#[derive(Clone, Copy, Debug)]
struct Unit {
    first: usize,
    count: usize,
}

/// All Mercury instructions, if they account for the whole code.
fn units(capsule: &Capsule<'_>, length: usize) -> Option<Vec<Unit>> {
    let mut items = capsule.items.iter();
    let mut first = 0_usize;
    let mut out = Vec::new();
    for i in 0..capsule.count {
        let count = match capsule.is_sass_only(i) {
            true => 1,
            false => machine_count(items.next()?),
        };
        out.push(Unit { first, count });
        first = first.checked_add(count)?;
    }
    (first == length).then_some(out)
}

fn machine_count(item: &Item<'_>) -> usize {
    match item.form {
        ItemForm::Filler(n) => n.into(),
        _ => item.expands_to.unwrap_or(1).into(),
    }
}

/// Mercury's form of `EXIT`; byte 4 is the guard.
const MERCURY_EXIT: [u8; 16] = [1, 0x11, 0, 0x0a, 0xf8, 0, 0, 0, 0, 0, 0, 0xf8, 0, 0, 0, 0];

/// The capsule with new counts. `fillers` free instructions follow the body.
fn recount(
    capsule: &Capsule<'_>,
    units: &[Unit],
    code: &[Instruction],
    edits: &[Edit],
    fillers: usize,
) -> Option<Vec<u8>> {
    let exits: Vec<[u8; 16]> = units.iter().map(|u| mercury_exit(code.get(u.first))).collect();
    let mut mask = capsule.mask.to_vec();
    let mut old = capsule.items.iter();
    let mut items = Vec::with_capacity(capsule.items.len());
    let last = units.len().checked_sub(1)?;
    for (i, unit) in units.iter().enumerate() {
        let edits = edits.get(unit.first..unit.first + unit.count)?;
        let removed = edits.iter().filter(|&&e| e == Edit::Remove).count();
        if edits == [Edit::WaitForErrors] {
            if capsule.is_sass_only(i as u32) {
                *mask.get_mut(i / 8)? &= !(1 << (i % 8));
            } else {
                old.next()?;
            }
            let form = ItemForm::Full(exits.get(i)?);
            let omitted = u16::from(follows_fence(code.get(..unit.first)?));
            items.push(Item { expands_to: Some(1 + ERROR_WAIT.len() as u16 - omitted), form });
        } else if capsule.is_sass_only(i as u32) {
            if removed != 0 {
                return None;
            }
        } else {
            let mut item = *old.next()?;
            let count = unit.count.checked_sub(removed).filter(|&n| n > 0)?;
            match &mut item.form {
                // The branch to itself belongs to the last filler.
                ItemForm::Filler(n) if i == last => *n = u16::try_from(fillers + 1).ok()?,
                ItemForm::Filler(_) if removed == 0 => {}
                ItemForm::Filler(_) => return None,
                _ if removed != 0 => {
                    item.expands_to = (count > 1).then_some(count as u16);
                }
                _ => {}
            }
            items.push(item);
        }
    }
    let header = capsule.header;
    if !matches!(header, CapsuleHeader::Long(_)) {
        return None;
    }
    Some(Capsule { mask: &mask, items, ..capsule.clone() }.to_bytes())
}

/// A predicate takes five bits there, and its negation the lowest.
fn mercury_exit(exit: Option<&Instruction>) -> [u8; 16] {
    let mut out = MERCURY_EXIT;
    if let Some(guard) = exit.map(|e| e.guard())
        && guard & 7 != 7
    {
        out[4] = (guard & 7) << 3 | guard >> 3;
    }
    out
}
