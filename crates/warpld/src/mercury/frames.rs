//! `.debug_frame` of the machine-code side: the frames of functions that the
//! output has, each with its common entry before it.

use super::rebuilt::{Alive, Input, Rebuilt};
use crate::finalizer::frame_moves::{FrameError, code_unit, move_frame};

/// Appends the frames of one input.
pub fn add(out: &mut Rebuilt, input: &Input<'_>, alive: &Alive<'_>) -> Result<(), FrameError> {
    let mut common: Option<(Entry, Option<usize>)> = None;
    for entry in entries(input.data) {
        if entry.is_common {
            common = Some((entry, None));
            continue;
        }
        let address = (entry.start + HEADER + LINK) as u64;
        let Some(function) = alive.get(&(input.object, address)) else { continue };
        let unit = common.as_ref().and_then(|(c, _)| code_unit(input.data.get(c.start..c.end)?));
        let at = match &mut common {
            Some((_, Some(at))) => *at,
            Some((entry, at)) => *at.insert(out.copy(input, entry.start, entry.end)),
            None => 0,
        };
        let to = out.copy(input, entry.start, entry.end);
        out.put(to + HEADER, &(at as u64).to_le_bytes());
        if let (Some(moves), Some(entry)) = (function.moves, out.bytes.get_mut(to..)) {
            move_frame(entry, unit.unwrap_or(1), moves)?;
        }
    }
    Ok(())
}

/// Mark of the 64-bit form and length, before the link to the common entry.
const HEADER: usize = 12;
/// Bytes of the link.
const LINK: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: usize,
    end: usize,
    is_common: bool,
}

/// The entries of a frame table in the 64-bit form.
fn entries(data: &[u8]) -> impl Iterator<Item = Entry> + '_ {
    const LONG_FORM: u64 = 0xffff_ffff;
    let number = |at: usize| -> Option<u64> {
        let bytes = data.get(at..at.checked_add(8)?)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    let mut start = 0;
    std::iter::from_fn(move || {
        if number(start)? & LONG_FORM != LONG_FORM {
            return None;
        }
        let length = usize::try_from(number(start + 4)?).ok()?;
        let end = (start + HEADER).checked_add(length).filter(|&end| end <= data.len())?;
        let entry = Entry { start, end, is_common: number(start + HEADER)? == u64::MAX };
        start = end;
        Some(entry)
    })
}
