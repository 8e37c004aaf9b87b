//! The variables of the previous input, for inputs that declare the same ones.

use crate::ids::SymbolId;
use crate::object::Object;
use crate::object::symbols::InputSymbol;

/// The ids of the previous input's symbols that are not functions. Most inputs of a build declare
/// the same variables of the compiler, in the same order.
///
/// Nothing is compared here. Which symbols are the previous input's is found when inputs are parsed
/// (`object/reuse`): [`Object::repeats_data`] and [`InputSymbol::repeats`] say so, and neither does
/// if reuse is off. They are references; to resolve one again finds the same id and changes
/// nothing, as long as the list is settled.
#[derive(Default)]
pub(super) struct PreviousVariables {
    /// By position in the list.
    ids: Vec<SymbolId>,
    /// Whether all of them were new or plain references, and nothing has come since that could
    /// change what is known about them: functions cannot without a conflict.
    settled: bool,
    /// Whether the current input has others.
    changed: bool,
}

impl PreviousVariables {
    /// The ids of all variables of an input, if it has just those of the previous one.
    #[inline]
    pub(super) fn all(&self, object: &Object<'_>) -> Option<&[SymbolId]> {
        (object.repeats_data && self.settled).then_some(&self.ids)
    }

    /// The id of the variable at a position of the input's list, if it is the previous one's.
    #[inline]
    pub(super) fn get(&self, position: usize, named: &InputSymbol) -> Option<SymbolId> {
        let id = self.ids.get(position).copied();
        id.filter(|_| named.repeats && self.settled)
    }

    /// Records the id of the variable at a position.
    #[inline]
    pub(super) fn record(&mut self, position: usize, id: SymbolId) {
        match self.ids.get_mut(position) {
            Some(known) => *known = id,
            None => self.ids.push(id),
        }
    }

    /// What is known about some variable changes.
    pub(super) fn change(&mut self) {
        (self.settled, self.changed) = (false, true);
    }

    /// All variables of an input are recorded.
    #[inline]
    pub(super) fn end_input(&mut self) {
        self.settled = !self.changed;
        self.changed = false;
    }
}
