//! Source lines of conflicting definitions.

use super::lines::LineTable;
use crate::collections::Map;
use crate::diag::Code;
use crate::diag::Diagnostics;
use crate::object::Object;
use cubin::Binding;
use cubin::names;

/// Maximum number of conflicts to explain; if there are many, they usually have one cause.
const EXPLAINED: usize = 20;

/// Adds the source lines of both definitions to messages about duplicate definitions, if the inputs
/// have line information.
pub fn explain(objects: &[Object<'_>], diagnostics: &mut Diagnostics) {
    let mut tables = Map::default();
    let conflicts =
        diagnostics.as_mut_slice().iter_mut().filter(|d| d.code == Code::MultipleDefinition);
    for conflict in conflicts.take(EXPLAINED) {
        let Some(symbol) = conflict.symbol.as_deref() else { continue };
        let defining = objects.iter().enumerate().filter_map(|(at, object)| {
            let table = tables.entry(at);
            definition(object, symbol.as_bytes()).map(|(section, offset)| {
                let table =
                    table.or_insert_with(|| LineTable::read(object.cubin, names::DEBUG_LINE));
                (object.name, table.find(section, offset))
            })
        });
        let both: Vec<_> = defining.take(2).collect();
        let [first, second] = both.as_slice() else { continue };
        match (&first.1, &second.1) {
            // Equal source lines: the same object under two names.
            (Some(a), Some(b)) if a == b => {
                conflict.notes.push(format!("both come from {a}"));
            }
            (a, b) => {
                let note = |word, line: &Option<String>| {
                    line.as_ref().map(|line| format!("{word} at {line}"))
                };
                conflict.notes.extend(note("first defined", a));
                conflict.notes.extend(note("defined again", b));
            }
        }
    }
}

/// Section and offset of a definition that other objects can see.
fn definition(object: &Object<'_>, name: &[u8]) -> Option<(u32, u64)> {
    let symbol = object.cubin.symbols().find(|symbol| {
        symbol.name == name && !symbol.is_undefined() && symbol.binding() == Binding::GLOBAL
    })?;
    Some((symbol.shndx, symbol.value))
}
