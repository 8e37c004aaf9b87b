//! The handles that callers hold: numbers, never pointers, so that one that is stale, foreign or made up
//! is found out.

use crate::session::Session;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bits of a handle that say which slot it is; those above count how often the slot was used.
const SLOT_BITS: u32 = 24;
/// The lowest bits are those of a pointer to something aligned.
const ALIGNMENT_BITS: u32 = 4;

static TABLE: Mutex<Table> = Mutex::new(Table { slots: Vec::new(), free: Vec::new() });

struct Table {
    slots: Vec<Slot>,
    free: Vec<usize>,
}

struct Slot {
    generation: u32,
    session: Option<Arc<Mutex<Session>>>,
}

impl Slot {
    fn handle(&self, at: usize) -> usize {
        ((self.generation as usize) << SLOT_BITS | (at + 1)) << ALIGNMENT_BITS
    }
}

/// A panic while the table is locked leaves it as it was before or after the change.
fn table() -> MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a link in; `None` if there are too many.
pub(crate) fn insert(session: Session) -> Option<usize> {
    let session = Some(Arc::new(Mutex::new(session)));
    let mut table = table();
    let at = match table.free.pop() {
        Some(at) => at,
        None if table.slots.len() + 1 < 1 << SLOT_BITS => {
            table.slots.push(Slot { generation: 0, session: None });
            table.slots.len() - 1
        }
        None => return None,
    };
    let slot = table.slots.get_mut(at)?;
    slot.generation = slot.generation.wrapping_add(1);
    slot.session = session;
    Some(slot.handle(at))
}

/// The link with this handle.
pub(crate) fn get(handle: usize) -> Option<Arc<Mutex<Session>>> {
    let table = table();
    let at = slot_of(handle)?;
    let slot = table.slots.get(at).filter(|slot| slot.handle(at) == handle)?;
    slot.session.clone()
}

/// Gives a link up: false if there is none. Its memory is freed when the last call that uses it ends.
pub(crate) fn remove(handle: usize) -> bool {
    let mut table = table();
    let Some(at) = slot_of(handle) else { return false };
    let slot = table.slots.get_mut(at).filter(|slot| slot.handle(at) == handle);
    let Some(session) = slot.and_then(|slot| slot.session.take()) else { return false };
    table.free.push(at);
    // Not under the lock: a link may be large.
    drop(table);
    drop(session);
    true
}

fn slot_of(handle: usize) -> Option<usize> {
    ((handle >> ALIGNMENT_BITS) & ((1 << SLOT_BITS) - 1)).checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::Major;

    #[test]
    fn a_handle_is_good_for_one_life() {
        let new = || insert(Session::new(Major::Cuda13, Vec::new()).0).unwrap();
        let first = new();
        assert!(get(first).is_some());
        for other in [0, 1, first ^ 1, first ^ (1 << 40), usize::MAX] {
            assert!(get(other).is_none() && !remove(other), "{other:#x}");
        }
        assert!(remove(first) && !remove(first) && get(first).is_none());
        let second = new();
        assert_ne!(first, second);
        assert!(get(first).is_none() && remove(second));
    }
}
