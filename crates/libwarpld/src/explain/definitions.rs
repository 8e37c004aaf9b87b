//! Where the definitions that clash stand in the source.

use super::lines::LineTable;
use crate::collections::Map;
use crate::diag::Code;
use crate::diag::Diagnostics;
use crate::object::Object;
use cubin::Binding;

/// How many clashes are looked up; a flood of them has one cause.
const EXPLAINED: usize = 20;

/// Adds the source lines of both definitions to the messages about names that
/// are defined twice, where the inputs have line information.
pub fn explain(objects: &[Object<'_>], diagnostics: &mut Diagnostics) {
    let mut tables = Map::default();
    let clashes =
        diagnostics.as_mut_slice().iter_mut().filter(|d| d.code == Code::MultipleDefinition);
    for clash in clashes.take(EXPLAINED) {
        let Some(symbol) = clash.symbol.as_deref() else { continue };
        let defining = objects.iter().enumerate().filter_map(|(at, object)| {
            let table = tables.entry(at);
            definition(object, symbol.as_bytes()).map(|(section, offset)| {
                let table = table.or_insert_with(|| LineTable::read(object.cubin));
                (object.name, table.find(section, offset))
            })
        });
        let both: Vec<_> = defining.take(2).collect();
        let [first, second] = both.as_slice() else { continue };
        match (&first.1, &second.1) {
            // Bytes that were compiled once: the same object under two names.
            (Some(a), Some(b)) if a == b => {
                clash.notes.push(format!("both come from {a}"));
            }
            (a, b) => {
                let note = |word, line: &Option<String>| {
                    line.as_ref().map(|line| format!("{word} at {line}"))
                };
                clash.notes.extend(note("first defined", a));
                clash.notes.extend(note("defined again", b));
            }
        }
    }
}

/// Section and offset of a definition that others see.
fn definition(object: &Object<'_>, name: &[u8]) -> Option<(u32, u64)> {
    let symbol = object.cubin.symbols().find(|symbol| {
        symbol.name == name && !symbol.is_undefined() && symbol.binding() == Binding::GLOBAL
    })?;
    Some((symbol.shndx, symbol.value))
}
