//! The finalizer's edits to the code of kernels.
//!
//! A compiler that does not see the whole program protects fences against code it does not know. A
//! kernel that calls nothing does not need that protection, and nvlink removes it: the empty
//! shared-memory reads before a fence (unless the kernel copies to shared memory asynchronously
//! anywhere) and the narrow fence before a wide one. For a debugger (`-g`) nothing is removed. If
//! errors have to be reported before a thread exits (`-g`, or an input compiled for debugging that
//! has GEN_ERRBAR_AT_EXIT), every EXIT waits for that, in all functions of the link. Newer
//! compilers (13.2.86; NVSHMEM's) put a NOP before BSYNC and after BREAK, and say so
//! (NVSAL_SW_WAR). nvlink up to 13.1 writes both as single instructions, whatever its input's
//! machine code has. Stall counts are correct without the removed instructions: the compiler inserts them
//! after computing the counts (a comparison before a fence and the branch after it are as far apart
//! with four reads in between as without).

use super::capsules::{ERROR_WAIT, Edit, Unit, recount, units};
use super::event::ALL;
use super::guard_boards::GuardBoards;
use super::instruction::{Flow, Instruction, Meeting, NO_GUARD};
use super::lost_waits::{is_wait, remove_waits};
use super::moves::Moves;
use super::older_code::needs_delay;
use super::retarget::retarget;
use cubin::capsule::{Capsule, ItemForm};
use std::cell::LazyCell;

/// What the output is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purpose {
    /// For a debugger or another link: the protection of fences stays.
    pub protected: bool,
    /// Threads report errors before they exit.
    pub report_errors: bool,
    /// NOPs that only delay go, whatever the rest says; otherwise they come where they lack.
    pub undelayed: bool,
    /// The code is of CUDA 12, which delays what follows a WARPSYNC.
    pub older: bool,
    /// Fences take a fixed time, so that none sets a scoreboard.
    pub timed_fences: bool,
}

/// A kernel's edited code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// Machine code.
    pub code: Vec<u8>,
    /// Its capsule, still with the input's section index.
    pub capsule: Vec<u8>,
    /// Where instructions moved.
    pub moves: Moves,
    /// Fences of the new code, and boards that they need not wait for any more.
    pub lost_waits: Vec<(usize, u8)>,
}

impl Edited {
    /// A kernel in which only control bits changed.
    pub fn with_boards(code: Vec<u8>, capsule: &[u8]) -> Self {
        let moves = Moves::none(code.len() / Instruction::SIZE);
        Self { code, capsule: capsule.to_vec(), moves, lost_waits: Vec::new() }
    }

    /// Whether there may be anything to edit: a quick scan.
    pub fn is_candidate(code: &[u8], purpose: Purpose) -> bool {
        let wanted = |operation: u16| {
            operation == FENCE && !purpose.protected
                || operation == (EXIT & 0x1ff) as u16 && purpose.report_errors
        };
        let mut before = 0;
        code.chunks_exact(Instruction::SIZE).any(|chunk| {
            let operation = u16::from_le_bytes([chunk[0], chunk[1]]) & 0x1ff;
            let delayed = match purpose.undelayed {
                true => is_delayed(before, operation),
                false => before != NOP && matches!(operation, BSYNC | BREAK),
            };
            let lost = !purpose.report_errors && is_wait(before, operation);
            let renewed = purpose.older && (before, operation) == (WARPSYNC, NOP);
            before = operation;
            delayed || renewed || lost || wanted(operation)
        })
    }
}

/// `@!PT LDS RZ, [RZ]`, which reads nothing.
const EMPTY_READ: u128 = 0x0800_0000_0000_ffff_0984;
/// The guard that is never true.
const NEVER: u8 = 0xf;
/// `MEMBAR.ALL.CTA`.
pub(super) const NARROW_FENCE: u128 = 0x8000_0000_0000_0000_0992;
/// `MEMBAR.SC.VC`, the first instruction of an error wait.
const ERROR_FENCE: u128 = 0x5000_0000_0000_0000_0992;
const EXIT: u128 = Instruction::EXIT;
/// Every kind of fence.
pub(super) const FENCE: u16 = 0x192;
const BSYNC: u16 = Instruction::BSYNC;
const BREAK: u16 = Instruction::BREAK;
const NOP: u16 = 0x118;
/// WARPSYNC.
const WARPSYNC: u16 = 0x148;
/// The NOP that delays.
const DELAY: Instruction = Instruction(0x000f_e200_0000_0000_0000_0000_0000_7918);
/// STG.
const GLOBAL_STORE: u16 = 0x186;
/// Asynchronous copy to shared memory.
const LDGSTS: u16 = 0x1ae;
/// SYNCS: arrive at and test, invalidate, and initialize mbarriers.
const MBARRIER: [u16; 3] = [0x1a7, 0x1b1, 0x1b2];
/// The Mercury instructions for mbarriers; the one for the pending count has no SYNCS.
const MERCURY_MBARRIER: u8 = 0x1b;
/// Minimum number of padding instructions at the end of a function; its size is a multiple of this.
const PADDING: usize = 8;

/// Edits the code of a function; `None` if nothing has to change, or if the code contains something
/// unknown.
pub fn edit(
    code: &[u8],
    capsule: &Capsule<'_>,
    is_kernel: bool,
    purpose: Purpose,
) -> Option<Edited> {
    let code = Instruction::all(code)?;
    let units = units(capsule, code.len())?;
    let calls = code.iter().any(|i| i.flow(0) == Flow::Call);
    let removes = is_kernel && !calls && !purpose.protected;
    let mut edits = vec![Edit::Keep; code.len()];
    match purpose.undelayed {
        true => remove_delays(&code, &units, &mut edits)?,
        false => insert_delays(&code, &units, &mut edits)?,
    }
    if purpose.older {
        remove_delays_of_warps(&code, &units, &mut edits)?;
    }
    if removes {
        remove_protection(&code, capsule, &units, &mut edits)?;
    }
    if purpose.report_errors {
        // The fence before an EXIT is protection as well.
        insert_waits(&code, &units, !removes || writes_surfaces(&code), &mut edits)?;
    } else {
        remove_waits(&code, &units, &mut edits)?;
    }
    if edits.iter().all(|&e| e == Edit::Keep) {
        return None;
    }
    let mut out = Vec::with_capacity(code.len());
    let (mut first, mut itself, mut lost_waits) = (Vec::new(), Vec::new(), Vec::new());
    let end = units.last()?.first + 1;
    let (mut guards, mut boards) = (GuardBoards::new(&code), BusyBoards::default());
    for (i, (&instruction, &edit)) in code.iter().zip(&edits).enumerate().take(end) {
        first.push(out.len() as u32);
        let busy = boards;
        boards.pass(instruction);
        match edit {
            Edit::Keep => {
                lost_waits.extend(lost_wait(&code, &edits, i).map(|board| (out.len(), board)));
                out.push(instruction);
            }
            Edit::Wait(boards) => out.push(instruction.waiting(boards)),
            Edit::Stall(cycles) => out.push(instruction.stalling(cycles)),
            Edit::Remove | Edit::RemoveForPlain | Edit::RemoveForShort => {}
            Edit::Delay if instruction.operation() == BREAK => {
                itself.push(out.len() as u32);
                out.extend([instruction, delay_of(instruction)]);
                continue;
            }
            Edit::Delay => out.extend([delay_of(instruction), instruction]),
            Edit::WaitForErrors { fence } => {
                let free = (!purpose.timed_fences).then(|| busy.free());
                wait_for_errors(&code, i, fence, (guards.of(i), free), &mut out)?;
            }
        }
        let gone = matches!(edit, Edit::Remove | Edit::RemoveForPlain | Edit::RemoveForShort);
        itself.push(out.len().checked_sub(usize::from(!gone))? as u32);
    }
    let body = out.len();
    out.resize((body + PADDING).next_multiple_of(PADDING), Instruction::NOP);
    for i in end..code.len() {
        let new = (body + (i - end)).min(out.len()) as u32;
        first.push(new);
        itself.push(new);
    }
    let moves = Moves::new(first, itself, out.len() as u32);
    retarget(&code, &edits, &moves, &mut out)?;
    let capsule = recount(capsule, &units, &code, &edits, out.len() - body)?;
    let code = out.iter().flat_map(|i| i.0.to_le_bytes()).collect();
    Some(Edited { code, capsule, moves, lost_waits })
}

/// Removes what a kernel that calls nothing does not need. A narrow fence is removed only before
/// the wide one it belongs to: on its own it comes from the source; and it stays if there is an
/// mbarrier anywhere (`fences-and-mbarriers`). [`fences-call-free`]
fn remove_protection(
    code: &[Instruction],
    capsule: &Capsule<'_>,
    units: &[Unit],
    edits: &mut [Edit],
) -> Option<()> {
    let copies = code.iter().any(|i| i.operation() == LDGSTS);
    let writes = writes_surfaces(code);
    let mbarriers = code.iter().any(|i| MBARRIER.contains(&i.operation()))
        || capsule
            .items
            .iter()
            .any(|item| matches!(item.form, ItemForm::Full([_, MERCURY_MBARRIER, ..])));
    for unit in units.iter().filter(|u| u.count > 1) {
        let code = code.get(unit.first..unit.first + unit.count)?;
        let fence_follows = |i: usize| code.get(i + 1).is_some_and(|n| n.operation() == FENCE);
        for (i, instruction) in code.iter().enumerate() {
            let needless = match instruction.essence() {
                EMPTY_READ => instruction.guard() == NEVER && !copies,
                NARROW_FENCE => fence_follows(i) && !mbarriers,
                ERROR_FENCE => !writes,
                _ => false,
            };
            if needless {
                *edits.get_mut(unit.first + i)? = Edit::Remove;
            }
        }
    }
    Some(())
}

/// Whether a kernel writes to a surface anywhere: its EXITs keep their fences. (`errors-behind-surfaces`)
fn writes_surfaces(code: &[Instruction]) -> bool {
    const WRITES: [u16; 2] = [0x19d, 0x19f];
    code.iter().any(|i| WRITES.contains(&i.operation()))
}

/// The board of a narrow fence that is removed, if the wide one behind it waits for that: since 13.1 it does. Other
/// events may be on the board, which the wide fence does not need. [`fences-on-shared-boards`]
fn lost_wait(code: &[Instruction], edits: &[Edit], wide: usize) -> Option<u8> {
    let narrow = wide.checked_sub(1).filter(|&i| edits.get(i) == Some(&Edit::Remove))?;
    let narrow = code.get(narrow).filter(|i| i.essence() == NARROW_FENCE)?;
    let waits = code.get(wide)?.waits();
    narrow.read_board().filter(|board| waits != ALL && waits >> board & 1 == 1)
}

/// Whether one of two adjacent operations may be a NOP that delays the other.
fn is_delayed(first: u16, second: u16) -> bool {
    matches!((first, second), (NOP, BSYNC) | (BREAK, NOP))
}

/// Marks NOPs that share a Mercury instruction with the instruction they delay.
fn remove_delays(code: &[Instruction], units: &[Unit], edits: &mut [Edit]) -> Option<()> {
    for unit in units.iter().filter(|u| u.count == 2) {
        let [first, second] = code.get(unit.first..unit.first + unit.count)? else { continue };
        if is_delayed(first.operation(), second.operation()) {
            let delay = unit.first + usize::from(second.operation() == NOP);
            *edits.get_mut(delay)? = Edit::RemoveForPlain;
        }
    }
    Some(())
}

/// Marks the NOP behind a WARPSYNC that CUDA 12 made of one Mercury instruction. Where it delays
/// what follows, too, it stays. [`code-of-cuda-12`]
fn remove_delays_of_warps(code: &[Instruction], units: &[Unit], edits: &mut [Edit]) -> Option<()> {
    const MOST: u8 = 15;
    for unit in units.iter().filter(|u| u.count == 2) {
        let [first, second] = code.get(unit.first..unit.first + unit.count)? else { continue };
        let is_pair = first.operation() == WARPSYNC
            && !first.is_collective()
            && second.operation() == NOP
            && first.guard() == NO_GUARD;
        // In code of `-O0` it is timed as all others.
        let is_plain = second.stall() == 1 || second.stall() == MOST && first.stall() == MOST;
        if is_pair && is_plain {
            *edits.get_mut(unit.first + 1)? = Edit::RemoveForShort;
            if needs_delay(code, unit.first) {
                *edits.get_mut(unit.first)? = Edit::Stall(first.stall() + 1);
            }
        }
    }
    Some(())
}

/// Marks what 13.2.86 and later delay with a NOP and older compilers did not: a BSYNC whose threads
/// are sure to meet, and a BREAK from one without a condition that ends its block: the next
/// instruction is where others branch to. [`delays`, `breaks-at-block-ends`]
fn insert_delays(code: &[Instruction], units: &[Unit], edits: &mut [Edit]) -> Option<()> {
    let targets = LazyCell::new(|| branch_targets(code));
    for unit in units {
        let [instruction] = code.get(unit.first..unit.first + unit.count)? else { continue };
        let delayed = match (instruction.operation(), instruction.meeting()) {
            (BSYNC, Meeting::Reliable | Meeting::Reconvergent) => true,
            (BREAK, Meeting::Reliable) => {
                instruction.guard() == NO_GUARD
                    && instruction.condition() == NO_GUARD
                    && targets.get(unit.first + 1).is_some_and(|&target| target)
            }
            _ => false,
        };
        if delayed {
            *edits.get_mut(unit.first)? = Edit::Delay;
        }
    }
    Some(())
}

/// Whether each instruction is the target of a branch.
fn branch_targets(code: &[Instruction]) -> Vec<bool> {
    let mut out = vec![false; code.len()];
    for (i, instruction) in code.iter().enumerate() {
        let Flow::To(target) = instruction.flow((i * Instruction::SIZE) as i64) else { continue };
        let index = usize::try_from(target).ok().map(|target| target / Instruction::SIZE);
        if let Some(target) = index.and_then(|index| out.get_mut(index)) {
            *target = true;
        }
    }
    out
}

/// The NOP that delays an instruction. In code of `-O0` it is timed like that.
fn delay_of(instruction: Instruction) -> Instruction {
    const MOST: u8 = 15;
    match instruction.waits() != 0 && instruction.stall() == MOST {
        true => DELAY.timed_like(instruction),
        false => DELAY,
    }
}

/// Marks EXITs that do not wait for errors yet.
fn insert_waits(
    code: &[Instruction],
    units: &[Unit],
    fence: bool,
    edits: &mut [Edit],
) -> Option<()> {
    for unit in units {
        let [instruction] = code.get(unit.first..unit.first + unit.count)? else { continue };
        if instruction.operation() == (EXIT & 0x1ff) as u16 {
            if !instruction.is_exit() {
                return None;
            }
            let fence = fence && !follows_fence(code.get(..unit.first)?);
            *edits.get_mut(unit.first)? = Edit::WaitForErrors { fence };
        }
    }
    Some(())
}

/// The three instructions run under the EXIT's guard. Scoreboards that the guard depends on are
/// waited for before them (nvlink: by the second), others where they were. Right after a fence of
/// the same kind the first is not needed, and the second waits for that fence. Given are the boards that the guard depends
/// on, and a free one if fences set one.
fn wait_for_errors(
    code: &[Instruction],
    at: usize,
    has_fence: bool,
    (mut early, free): (u8, Option<u8>),
    out: &mut Vec<Instruction>,
) -> Option<()> {
    let (before, exit) = (code.get(..at)?, *code.get(at)?);
    let [fence, report, group] = ERROR_WAIT.map(|i| i.guarded(exit.guard()));
    if has_fence {
        let hurries = |i: &&mut Instruction| i.stall() == 2 && i.operation() != GLOBAL_STORE;
        if let Some(last) = out.last_mut().filter(|_| exit.guard() == NO_GUARD).filter(hurries) {
            // Only an EXIT must not follow it directly (surface stores, barriers in shared memory,
            // bulk copies; not stores to global memory).
            *last = last.stalling(1);
        }
        out.push(fence);
    } else if let Some(last) = out.last_mut().filter(|_| follows_fence(before))
        && let Some(board) = last.read_board().or(free)
    {
        *last = last.reading(board);
        early |= 1 << board;
    }
    if is_unoptimised(before, exit) {
        let waits = exit.waits();
        out.extend([report.waiting(early | waits), group.timed_like(exit), exit]);
        return Some(());
    }
    let rest = exit.waits() & !early;
    out.extend([report.waiting(early), group, unhurried(exit).waiting(rest)]);
    Some(())
}

/// Whether code was compiled with -O0, where every instruction waits for all boards in use and
/// stalls as long as it can; so do the inserted ones (except the fence). Compilers since 13.3 leave
/// such code without any timing, which shows at an EXIT that does not stall.
/// [`errors-unoptimised`]
fn is_unoptimised(before: &[Instruction], exit: Instruction) -> bool {
    const MOST: u8 = 15;
    if exit.stall() == 0 {
        return true;
    }
    let waits = |i: &Instruction| i.stall() == MOST && i.waits() == exit.waits();
    exit.waits() != 0 && waits(&exit) && before.iter().rev().take(2).all(waits)
}

/// An EXIT that stalls longer than it has to, for the code after or before it; the inserted
/// instructions take that time (6, 8 and 12 cycles seen), and 5 cycles remain, in which it may yield.
/// [`errors-at-early-ends`]
fn unhurried(exit: Instruction) -> Instruction {
    const OWN: u8 = 5;
    const MOST: u8 = 15;
    match exit.stall() {
        stall if (OWN..MOST).contains(&stall) => exit.stalling(OWN).yielding(),
        _ => exit,
    }
}

/// Whether a `MEMBAR.SC` comes right before.
fn follows_fence(before: &[Instruction]) -> bool {
    const WEAKER: u128 = 1 << 79;
    before.last().is_some_and(|i| i.operation() == FENCE && i.0 & WEAKER == 0)
}

/// The boards that something may wait for, judging by the order of the code so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BusyBoards(u8);

impl BusyBoards {
    /// Goes on behind an instruction.
    pub(super) fn pass(&mut self, instruction: Instruction) {
        self.0 &= !instruction.waits();
        for board in instruction.write_board().into_iter().chain(instruction.read_board()) {
            self.0 |= 1 << board;
        }
    }

    /// The lowest that is free; the last if none is. (Assuming one user too many makes a wait longer, not wrong.)
    pub(super) fn free(self) -> u8 {
        (0..6).find(|b| self.0 >> b & 1 == 0).unwrap_or(5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cubin::capsule::{CapsuleHeader, Item};

    const READ: u128 = 0x000f_e200_0000_0800_0000_0000_ffff_f984;
    const NARROW: u128 = 0x000f_c000_0000_8000_0000_0000_0000_7992;
    const SYNCS: u128 = 0x003f_de00_0810_00ff_0000_00ff_00ff_79a7;
    const WIDE: u128 = 0x000f_ec00_0000_2000_0000_0000_0000_7992;
    const SKIP: u128 = 0x000f_ea00_0380_0000_0000_0000_0024_8947;
    const END: u128 = 0x000f_ea00_0380_0000_0000_0000_0000_794d;
    const GUARDED_END: u128 = 0x001f_ea00_0380_0000_0000_0000_0000_894d;
    const STOP: u128 = 0x000f_c000_0383_ffff_ffff_fffc_00fc_7947;
    const COPY: u128 = 0x000f_e200_0000_0000_0000_0000_0000_7fae;
    const CALL: u128 = 0x000f_e200_0000_0000_0000_0000_0000_7943;
    const MEET: u128 = 0x000f_ea00_0380_0200_0000_0000_0002_7941;
    const LEAVE: u128 = 0x000f_e200_0380_0000_0000_0000_0002_0942;

    /// A kernel of single instructions around one fence of several.
    fn kernel(before: &[u128], fence: &[u128], after: &[u128]) -> (Vec<u8>, Vec<u8>) {
        let body: Vec<u128> = [before, fence, after, &[STOP]].concat();
        let size = (body.len() + PADDING).next_multiple_of(PADDING);
        let mut code = body.clone();
        code.resize(size, Instruction::NOP.0);
        let count = before.len() + usize::from(!fence.is_empty()) + after.len() + 1;
        let mut mask: u32 = (1 << (count - 1)) - 1;
        let mut items = Vec::new();
        if !fence.is_empty() {
            mask &= !(1 << before.len());
            let form = ItemForm::Full(&[1; 16]);
            items.push(Item { expands_to: Some(fence.len() as u16), form });
        }
        let filler = (size - body.len() + 1) as u16;
        items.push(Item { expands_to: None, form: ItemForm::Filler(filler) });
        let capsule = Capsule {
            text_section: 9,
            header: CapsuleHeader::Long(0xc000_0001),
            count: count as u32,
            mask: &mask.to_le_bytes(),
            items,
            tail: &[],
        };
        (code.iter().flat_map(|i| i.to_le_bytes()).collect(), capsule.to_bytes())
    }

    const DELAYED: Purpose = Purpose {
        protected: false,
        report_errors: false,
        undelayed: false,
        older: false,
        timed_fences: false,
    };
    const RUN: Purpose = Purpose { undelayed: true, ..DELAYED };
    const DEBUG: Purpose = Purpose { protected: true, report_errors: true, ..RUN };

    fn edited(kernel: &(Vec<u8>, Vec<u8>), purpose: Purpose) -> Option<Edited> {
        edit(&kernel.0, &Capsule::parse(&kernel.1).unwrap(), true, purpose)
    }

    fn words(edited: &Edited) -> Vec<u128> {
        Instruction::all(&edited.code).unwrap().into_iter().map(|i| i.0).collect()
    }

    #[test]
    fn a_kernel_without_calls_loses_what_protects_its_fences() {
        let fence = [READ, READ, READ, READ, NARROW, WIDE, END, END, END];
        let input = kernel(&[SKIP], &fence, &[END]);
        let out = edited(&input, RUN).unwrap();
        let code = words(&out);
        // The branch over the fence is five instructions shorter.
        assert_eq!(code[0], SKIP - ((5 * 4) << 16));
        assert_eq!(code[1..6], [WIDE, END, END, END, END]);
        assert_eq!(out.moves.place(0x60), 0x10);
        assert_eq!(out.moves.size(), 16 * 16);
        let capsule = Capsule::parse(&out.capsule).unwrap();
        assert_eq!(capsule.items[0].expands_to, Some(4));
        assert_eq!(capsule.sass_instructions(), 16);
    }

    #[test]
    fn what_is_asked_for_stays() {
        let own = kernel(&[], &[READ, NARROW], &[END]);
        let out = edited(&own, RUN).unwrap();
        assert_eq!(words(&out)[..2], [NARROW, END]);
        assert_eq!(Capsule::parse(&out.capsule).unwrap().items[0].expands_to, None);
        let copies = kernel(&[COPY], &[READ, NARROW, WIDE], &[END]);
        assert_eq!(words(&edited(&copies, RUN).unwrap())[1..3], [READ, WIDE]);
        let mbarrier = kernel(&[SYNCS], &[READ, NARROW, WIDE], &[END]);
        assert_eq!(words(&edited(&mbarrier, RUN).unwrap())[1..3], [NARROW, WIDE]);
        assert_eq!(edited(&kernel(&[CALL], &[READ, WIDE], &[END]), RUN), None);
        assert_eq!(edited(&kernel(&[SKIP], &[], &[END]), RUN), None);
    }

    #[test]
    fn what_delays_meeting_is_gone_for_every_purpose() {
        for (unit, rest) in [([DELAY.0, MEET], MEET), ([LEAVE, DELAY.0], LEAVE)] {
            let input = kernel(&[SKIP], &unit, &[CALL]);
            assert!(Edited::is_candidate(&input.0, DEBUG));
            let out = edited(&input, DEBUG).unwrap();
            assert_eq!(words(&out)[..3], [SKIP - (4 << 16), rest, CALL]);
            let capsule = Capsule::parse(&out.capsule).unwrap();
            assert_eq!(
                capsule.items.len(),
                1,
                "one instruction needs no item: the filler's is left"
            );
            assert_eq!(capsule.sass_instructions() as usize, words(&out).len());
            assert!(capsule.is_sass_only(1));
            assert_eq!(edited(&input, DELAYED), None, "13.2 keeps them");
        }
        // NOPs with Mercury instructions of their own were requested and stay.
        let asked = kernel(&[DELAY.0, MEET, DELAY.0], &[], &[CALL]);
        assert_eq!(edited(&asked, RUN), None);
    }

    #[test]
    fn what_older_compilers_did_not_delay_is_delayed() {
        const RELIABLE: u128 = 1 << 72;
        let (meet, leave) = (MEET & !(3 << 72) | RELIABLE, LEAVE & !0xf000 | 0x7000 | RELIABLE);
        let skip = SKIP & !(0xff << 16) | 4 << 16; // the BREAK
        let input = kernel(&[skip, leave, meet, MEET & !(3 << 72)], &[], &[CALL]);
        let out = edited(&input, DELAYED).unwrap();
        assert_eq!(words(&out)[1..6], [leave, DELAY.0, DELAY.0, meet, MEET & !(3 << 72)]);
        assert_eq!((out.moves.target(0x20), out.moves.place(0x20)), (0x30, 0x40));
        assert_eq!(out.moves.place(0x10), 0x10);
        let capsule = Capsule::parse(&out.capsule).unwrap();
        assert_eq!(capsule.sass_instructions() as usize, words(&out).len());
        let items: Vec<_> = capsule.items.iter().map(|item| item.expands_to).collect();
        assert_eq!(items, [Some(2), Some(2), None]);
        assert_eq!(edited(&kernel(&[DELAY.0, meet], &[], &[CALL]), RUN), None);
        let goes_on = kernel(&[leave, SKIP], &[], &[CALL]);
        assert_eq!(edited(&goes_on, DELAYED), None, "nothing branches to behind the BREAK");
    }

    #[test]
    fn under_a_debugger_ends_wait_for_errors() {
        let input = kernel(&[SKIP, GUARDED_END], &[READ, NARROW, WIDE, END], &[END]);
        let out = edited(&input, DEBUG).unwrap();
        let code = words(&out);
        let guards: Vec<u8> = code[1..5].iter().map(|&i| Instruction(i).guard()).collect();
        assert_eq!(guards, [8; 4], "all four run under the guard of the end");
        assert_eq!(Instruction(code[3]).waits() | Instruction(code[4]).waits(), 0);
        assert_eq!(Instruction(code[2]).waits(), 1, "nobody sets the board: the guard may need it");
        assert_eq!(code[5..9], [READ, NARROW, WIDE, END], "fences stay");
        assert_eq!(out.moves.target(0x10), 0x10);
        assert_eq!(out.moves.place(0x10), 0x40);
        let capsule = Capsule::parse(&out.capsule).unwrap();
        assert_eq!(capsule.items[0].expands_to, Some(4));
        let ItemForm::Full(exit) = capsule.items[0].form else { panic!("a whole instruction") };
        assert_eq!(exit[4], 1, "@!P0");
        assert_eq!(capsule.sass_instructions() as usize, code.len());
    }

    #[test]
    fn errors_are_reported_where_an_input_asks_for_it() {
        let file = Purpose { report_errors: true, ..RUN };
        let fence = [READ, NARROW, WIDE, ERROR_WAIT[1].0];
        let out = words(&edited(&kernel(&[], &fence, &[END]), file).unwrap());
        assert_eq!(out[..2], fence[2..]);
        let pair = [ERROR_WAIT[1].0, ERROR_WAIT[2].0, END];
        assert_eq!(out[2..5], pair, "no fence where protection is not needed");
        let narrow = kernel(&[], &[READ, NARROW, WIDE], &[END]);
        let out = words(&edited(&narrow, file).unwrap());
        assert_eq!(Instruction(out[0]).read_board(), Some(0), "a fence right before is waited for");
        assert_eq!(Instruction(out[1]).waits(), 1);
        let out = words(&edited(&narrow, Purpose { timed_fences: true, ..file }).unwrap());
        assert_eq!(out[..2], [WIDE, ERROR_WAIT[1].0], "sm_120 and sm_121");
        let calling = kernel(&[CALL], &[], &[END]);
        let out = words(&edited(&calling, file).unwrap());
        assert_eq!(out[1], ERROR_WAIT[0].0);
        assert_eq!(out[2..5], pair);
    }
}
