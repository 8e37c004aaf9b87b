//! Attributes of the only kernel of a link.

use super::attributes::{Propagation, Record, fragments_record};
use super::contribution::{CODES, Combine, Contribution, combine, slot};
use crate::collections::Set;
use crate::ids::{FunctionId, SymbolId};
use cubin::Attr;

/// GRID_ATTRIBUTES come after all others (`attribute-order-one-kernel`).
const GRID: usize = slot(Attr::GRID_ATTRIBUTES);

impl Propagation<'_, '_> {
    /// Exactly one kernel: all functions count.
    /// [`externs-one-kernel`, `barriers-one-kernel`, `mbarriers-one-kernel`]
    pub(super) fn single(&mut self, entry: FunctionId) {
        self.missing_sparse_masks();
        let mixed = self.lacks_some_sparse_mask();
        let mut reached = Contribution::default();
        let own_fragments = self.reader.fragments(entry).map(|f| f.0);
        let mut fragments: Vec<u32> = Vec::new();
        for &function in &self.reader.merged.function_order {
            if function == entry {
                fragments.extend(own_fragments.iter().flatten());
                continue;
            }
            let own = *self.own(function);
            reached.add(&own);
            let sums = slot(Attr::NUM_MBARRIERS);
            let sum = match (reached.code(sums), own.code(sums)) {
                (Some(a), Some(b)) => Some(combine(Combine::Sum, a, b)),
                (a, b) => a.or(b),
            };
            reached.set_code(sums, sum);
            if own.has_fragments() {
                fragments.extend(self.reader.fragments(function).into_iter().flat_map(|f| f.0));
                self.change(function).removed.push(Attr::AT_ENTRY_FRAGMENTS);
            }
        }
        if let Some(record) = self.stack_record(entry) {
            self.set(entry, record);
        }
        for slot in 0..CODES.len() {
            if slot != GRID {
                self.single_code(entry, slot, &reached, mixed);
            }
        }
        self.single_externs(entry);
        self.single_languages(entry);
        // The kernel's own record stays if functions add nothing (`tensor-memory`).
        if fragments.iter().any(|f| own_fragments.as_ref().is_none_or(|own| !own.contains(f))) {
            let record = fragments_record(None, &fragments);
            self.change(entry).removed.push(Attr::AT_ENTRY_FRAGMENTS);
            self.change(entry).tail.push(record);
        }
        self.single_code(entry, GRID, &reached, mixed);
    }

    /// Sets one of [`CODES`] in the only kernel to what all functions contribute. Masks of sparse
    /// instructions count if they are `mixed`.
    fn single_code(&mut self, entry: FunctionId, slot: usize, reached: &Contribution, mixed: bool) {
        let (code, format, rule) = CODES[slot];
        let Some(value) = reached.code(slot) else { return };
        let mine = self.own(entry).code(slot);
        // Quirks: these own records are left alone on this path.
        let fixed = matches!(code, Attr::VRC_CTA_INIT_COUNT | Attr::REG_RECONFIG);
        let no_barriers = code == Attr::NUM_MBARRIERS && value == 0 && mine.is_none();
        if code == Attr::SPARSE_MMA_MASK && !mixed || fixed && mine.is_some() || no_barriers {
            return;
        }
        let value = match mine {
            Some(mine) => combine(rule, mine, value),
            None if code == Attr::REG_RECONFIG => 0,
            None => value,
        };
        self.set(entry, Record::Value { format, code, value });
    }

    /// All undefined functions and kernels that any record names, last met first in the order of
    /// the files' attribute sections; the kernel's own record stays if it names the same ones.
    /// [`externs-order`, `externs-of-one-asked`]
    fn single_externs(&mut self, entry: FunctionId) {
        let mut functions = self.reader.merged.function_order.clone();
        functions.sort_by_key(|&f| self.reader.source(f));
        let mut seen = Set::<SymbolId>::default();
        let mut list: Vec<SymbolId> = functions
            .iter()
            .filter(|&&f| self.own(f).has_externs())
            .flat_map(|&f| self.reader.externs(f))
            .map(|(_, id)| id)
            .filter(|&id| self.reader.stays_external(id))
            .filter(|&id| seen.insert(id))
            .collect();
        if !self.reader.cx.dialect.lists_externals_ascending() {
            list.reverse();
        }
        let mine: Vec<SymbolId> = (self.reader.externs(entry).into_iter().map(|(_, id)| id))
            .filter(|&id| self.reader.stays_external(id))
            .collect();
        let same =
            list.iter().all(|id| mine.contains(id)) && mine.iter().all(|id| list.contains(id));
        if same {
            return;
        }
        let changes = self.change(entry);
        changes.removed.push(Attr::EXTERNS);
        if !list.is_empty() {
            changes.tail.push(Record::Externs(list));
        }
    }
}
