//! Capsules of edited code: which machine instructions each Mercury instruction stands for, before
//! and after.

use super::instruction::{Instruction, Meeting};
use cubin::capsule::{Capsule, CapsuleHeader, Item, ItemForm};

/// `MEMBAR.SC.VC`, `ERRBAR`, `CGAERRBAR` with nvlink's stall counts.
pub(super) const ERROR_WAIT: [Instruction; 3] = [
    Instruction(0x000f_c000_0000_5000_0000_0000_0000_7992),
    Instruction(0x000f_c000_0000_0000_0000_0000_0000_79ab),
    Instruction(0x000f_ec00_0000_0000_0000_0000_0000_75ab),
];

/// What to do with an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    Keep,
    Remove,
    /// Remove it; the rest then stands for its Mercury instruction directly, which needs no item.
    RemoveForPlain,
    /// Remove it; the item of the rest then has its short form.
    RemoveForShort,
    /// Wait for these boards.
    Wait(u8),
    /// Stall for so many cycles.
    Stall(u8),
    /// Insert a NOP before a BSYNC, or after a BREAK.
    Delay,
    /// Insert an error wait before it, with or without a fence.
    WaitForErrors {
        fence: bool,
    },
}

/// The machine instructions that one Mercury instruction stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    pub first: usize,
    pub count: usize,
}

/// All Mercury instructions, if they cover the whole code.
pub(super) fn units(capsule: &Capsule<'_>, length: usize) -> Option<Vec<Unit>> {
    let mut items = capsule.items.iter();
    let mut first = 0_usize;
    let mut out = Vec::new();
    for i in 0..capsule.count {
        let count = match capsule.is_sass_only(i) {
            true => 1,
            false => items.next()?.sass_instructions().into(),
        };
        out.push(Unit { first, count });
        first = first.checked_add(count)?;
    }
    (first == length).then_some(out)
}

/// Mercury's form of `EXIT`; byte 4 is the guard, byte 11 the condition operand (`@P0 EXIT P1`,
/// `errors-at-two-conditions`).
const MERCURY_EXIT: [u8; 16] = [1, 0x11, 0, 0x0a, 0xf8, 0, 0, 0, 0, 0, 0, 0xf8, 0, 0, 0, 0];

/// The short forms of Mercury's WARPSYNC, of all threads and of those in a register.
const MERCURY_WARPSYNC: [[u8; 4]; 2] = [[0x41, 0x47, 0x6e, 0x0a], [0x41, 0x47, 0x70, 0x0a]];

/// The capsule with new counts. The body is followed by `fillers` padding instructions.
pub(super) fn recount(
    capsule: &Capsule<'_>,
    units: &[Unit],
    code: &[Instruction],
    edits: &[Edit],
    fillers: usize,
) -> Option<Vec<u8>> {
    let whole: Vec<[u8; 16]> = units
        .iter()
        .map(|u| match edits.get(u.first) {
            Some(Edit::Delay) => mercury_delayed(code.get(u.first)),
            _ => mercury_exit(code.get(u.first)),
        })
        .collect();
    let mut mask = capsule.mask.to_vec();
    let mut old = capsule.items.iter();
    let mut items = Vec::with_capacity(capsule.items.len());
    let last = units.len().checked_sub(1)?;
    for (i, unit) in units.iter().enumerate() {
        let edits = edits.get(unit.first..unit.first + unit.count)?;
        let removed = edits.iter().filter(|&&e| e == Edit::Remove).count();
        let grown = match edits {
            [Edit::WaitForErrors { fence }] => Some(ERROR_WAIT.len() as u16 + u16::from(*fence)),
            [Edit::Delay] => Some(2),
            _ => None,
        };
        if grown.is_some() {
            if capsule.is_sass_only(i as u32) {
                *mask.get_mut(i / 8)? &= !(1 << (i % 8));
            } else {
                old.next()?;
            }
            items.push(Item { expands_to: grown, form: ItemForm::Full(whole.get(i)?) });
        } else if edits.contains(&Edit::RemoveForPlain) {
            old.next()?;
            *mask.get_mut(i / 8)? |= 1 << (i % 8);
        } else if edits.contains(&Edit::RemoveForShort) {
            let short = short_warpsync(old.next()?)?;
            items.push(Item { expands_to: None, form: ItemForm::Short(short) });
        } else if capsule.is_sass_only(i as u32) {
            if removed != 0 {
                return None;
            }
        } else {
            let mut item = *old.next()?;
            let count = unit.count.checked_sub(removed).filter(|&n| n > 0 || removed == 0)?;
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

/// The short form of a WARPSYNC, which has the kind of the full one.
fn short_warpsync(item: &Item<'_>) -> Option<&'static [u8; 4]> {
    let ItemForm::Full([_, operation, kind, ..]) = item.form else { return None };
    let mut forms = MERCURY_WARPSYNC.iter();
    forms.find(|[_, o, k, _]| (o, k) == (operation, kind))
}

/// Mercury's form of a BSYNC or BREAK with a barrier that others wait for: byte 2 is the kind, byte
/// 6 tells the two kinds of BSYNC apart, the barrier is doubled. [15,292 of NVSHMEM's]
fn mercury_delayed(instruction: Option<&Instruction>) -> [u8; 16] {
    let Some(instruction) = instruction else { return [0; 16] };
    let barrier = instruction.barrier() << 1;
    match (instruction.operation(), instruction.meeting()) {
        (Instruction::BREAK, _) => [1, 5, 2, 0x0a, 0xf8, 0, 0, 0, 0, 0, 0, 0xf8, barrier, 0, 0, 0],
        (_, Meeting::Reconvergent) => [1, 9, 2, 0x0a, 0xf8, 0, 1, 0, 0, 0, barrier, 0, 0, 0, 0, 0],
        _ => [1, 9, 4, 0x0a, 0xf8, 0, 0, 0, 0, 0, barrier, 0, 0, 0, 0, 0],
    }
}

/// A predicate takes five bits there; the lowest one negates it.
fn mercury_exit(exit: Option<&Instruction>) -> [u8; 16] {
    let mut out = MERCURY_EXIT;
    let Some(exit) = exit else { return out };
    for (byte, predicate) in [(4, exit.guard()), (11, exit.condition())] {
        if predicate & 7 != 7 {
            out[byte] = (predicate & 7) << 3 | predicate >> 3;
        }
    }
    out
}
