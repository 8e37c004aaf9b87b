//! Unified functions and variables: which there are, and where the index file
//! (`--uidx-file`) puts them in their tables.

use crate::collections::{Map, Set};
use crate::config::Config;
use crate::diag::Code;
use crate::diag::Diagnostic;
use crate::dialect::Dialect;
use crate::ids::{ObjectId, SymbolId};
use crate::object::{Object, Objects};
use crate::resolve::Resolution;
use cubin::SectionType;
use cubin::callgraph::List;
use cubin::names;
use cubin::unified::{Index, IndexError, Table, Uuid, entries};

/// The unified functions and variables of a link.
#[derive(Debug, Default)]
pub struct Unified {
    /// Stubs, by the symbols of the functions they call.
    pub stubs: Map<(ObjectId, u32), Stub>,
    /// Variables and their sizes, in order.
    pub variables: Vec<SymbolId>,
    /// Where the index puts stubs and variables.
    pub offset_of: Map<SymbolId, u64>,
    /// Whether an input has functions.
    pub has_functions: bool,
    ids: Set<SymbolId>,
}

/// The piece of code by which a unified function is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stub {
    /// Its symbol.
    pub id: SymbolId,
    /// Its section in the input.
    pub section: u32,
}

impl Unified {
    /// Whether there is something in the table that `__UFT*` or `__UDT*` stands for; an
    /// index alone does not matter. [`unified-pointers`]
    pub fn has_table(&self, symbol: &[u8]) -> bool {
        match names::symbol::is_of_function_table(symbol) {
            true => self.has_functions,
            false => !self.variables.is_empty(),
        }
    }

    /// Whether the function is a stub.
    pub fn is_stub(&self, id: SymbolId) -> bool {
        self.ids.contains(&id)
    }

    /// All stubs.
    pub fn stub_ids(&self) -> impl Iterator<Item = SymbolId> + '_ {
        self.ids.iter().copied()
    }
}

/// Finds what is unified and gives it its place. The checks are those of nvlink,
/// which looks at the index only where there is something to place. [`unified-index`]
pub fn collect(
    objects: &Objects<'_>,
    resolution: &Resolution<'_>,
    config: &Config,
    dialect: Dialect,
) -> Result<Unified, Diagnostic> {
    let mut out = Unified::default();
    let index = config.uidx.as_deref().map(|bytes| parse(bytes, dialect)).transpose()?;
    let (mut functions, mut data) = (Vec::new(), Vec::new());
    let mut stub_bytes: u64 = 0;
    for (of, object) in objects.enumerated().filter(|(_, o)| o.unified) {
        stub_bytes = stub_bytes.saturating_add(out.stubs(of, object, resolution));
        for section in object.cubin.sections() {
            if section.kind == SectionType::CUDA_UFT_ENTRY {
                for entry in entries(section.data) {
                    let stub = out.stubs.get(&(of, entry.symbol.get()));
                    functions.push((entry.uuid(), stub.map(|s| s.id)));
                }
            } else if section.kind == SectionType::CUDA_UDT_ENTRY {
                for entry in entries(section.data) {
                    data.push((entry.uuid(), resolution.id(of, entry.symbol.get())));
                }
            }
        }
    }
    out.has_functions = !functions.is_empty();
    out.variables = data.iter().filter_map(|(_, id)| *id).collect();
    if config.relocatable || functions.is_empty() && data.is_empty() {
        return Ok(out);
    }
    let Some(index) = index else {
        let message = "Unified symbols found but index file not specified.";
        return Err(Diagnostic::fatal(Code::NoUidx, message)
            .note("--uidx-file names the index of all unified functions and variables"));
    };
    if !functions.is_empty() {
        if stub_bytes != index.functions.window {
            return Err(bad_index("size of uidx window != nv.uft"));
        }
        out.assign(&functions, &index.functions, "matching uuid not found")?;
    }
    if !data.is_empty() {
        out.assign(&data, &index.data, "uuid not found")?;
        let end = |id: &SymbolId| {
            let size = resolution.get(*id).definition.and_then(|at| {
                let cubin = &objects[at.object].cubin;
                Some(cubin.symbol(at.symbol)?.size)
            });
            Some(out.offset_of.get(id)?.saturating_add(size.unwrap_or(0)))
        };
        if out.variables.iter().filter_map(end).max().unwrap_or(0) != index.data.window {
            return Err(bad_index("size of uidx window != nv.udt"));
        }
    }
    Ok(out)
}

impl Unified {
    /// Finds an input's stubs; the size of all.
    fn stubs(&mut self, of: ObjectId, object: &Object<'_>, resolution: &Resolution<'_>) -> u64 {
        let mut size: u64 = 0;
        for (caller, callee) in object.call_lists().of(List::Calls) {
            let section = object.cubin.symbol(caller).map(|s| s.shndx);
            let section = section.and_then(|s| object.cubin.section(s));
            let section = section.filter(|s| s.kind == SectionType::CUDA_UFT);
            if let (Some(section), Some(id)) = (section, resolution.id(of, caller)) {
                size = size.saturating_add(section.size);
                self.stubs.insert((of, callee), Stub { id, section: section.index.0 });
                self.ids.insert(id);
            }
        }
        size
    }

    fn assign(
        &mut self,
        found: &[(Uuid, Option<SymbolId>)],
        table: &Table,
        missing: &str,
    ) -> Result<(), Diagnostic> {
        let mut by_uuid: Map<Uuid, Option<SymbolId>> = Map::default();
        for &(uuid, id) in found {
            by_uuid.entry(uuid).or_insert(id);
        }
        let mut taken = Map::<Uuid, ()>::default();
        for slot in &table.slots {
            let Some(id) = by_uuid.get(&slot.uuid) else {
                let [lo, hi] = slot.uuid;
                return Err(bad_index(missing)
                    .note(format_args!("no input has the unified symbol ({lo:#x}, {hi:#x})")));
            };
            if taken.insert(slot.uuid, ()).is_some() {
                let [lo, hi] = slot.uuid;
                return Err(bad_index("entry was already found?")
                    .note(format_args!("the index has ({lo:#x}, {hi:#x}) twice")));
            }
            self.offset_of.extend(id.map(|id| (id, slot.offset)));
        }
        Ok(())
    }
}

fn parse(bytes: &[u8], dialect: Dialect) -> Result<Index, Diagnostic> {
    if !dialect.links_unified_index() {
        let message = "An index of unified symbols is used for sm_75 to sm_90a only";
        return Err(Diagnostic::fatal(Code::UnifiedCapsules, message));
    }
    Index::parse(bytes).map_err(|error| {
        bad_index(match error {
            IndexError::Magic => "not uidx input",
            IndexError::Malformed => "malformed uidx input",
        })
    })
}

fn bad_index(what: &str) -> Diagnostic {
    Diagnostic::fatal(Code::BadUidx, format_args!("Internal error: {what}"))
}
