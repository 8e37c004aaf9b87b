//! Output sections and symbols in creation order.
//!
//! nvlink numbers strings, sections and symbols when they are first touched, file by file and pass
//! by pass. This phase is that fold: it determines what exists and in which order, and touches only
//! names and numbers, never section contents. What the inputs need is planned in parallel, one
//! batch ahead.

mod bank2;
mod constants;
mod data;
mod epilogue;
mod functions;
mod model;
mod names;
mod plan;
mod reloc_scan;
mod relocs;
mod removed;
mod section;
mod shared_strings;
mod steps;
mod strings;
mod tables;

pub use model::*;
pub use section::{Chunk, Chunks, Content, Section, Synthetic};
pub use strings::{StringTables, Text};

use crate::collections::{Map, Set};
use crate::context::Analysis;
use crate::ids::{
    FunctionId, IdVec, InputSection, ObjectId, OptId, OutSymbolId, SectionId, SymbolId,
};
use crate::object::Object;
use crate::usage::Usage;
use cubin::SectionType;
use cubin::consts::shf;
use cubin::names::{self as section_names, prefix};
use names::Names;
use plan::{Planning, Shown};
use rayon::prelude::*;
use section::NewContent;
use std::ops::Range;
use steps::Step;

/// Creates everything the output contains.
pub fn merge(cx: Analysis<'_, '_>, usage: &Usage) -> Merged {
    let names = Names::new(cx.resolution);
    let count_removed = removed::may_show(cx);
    let planning =
        Planning { cx, usage, shown: Shown::new(cx, usage), names: &names, count_removed };
    let plan = |batch| plan_batch(planning, batch);
    let mut batches = batches(cx.objects).into_iter();
    let first = batches.next().unwrap_or_default();
    let (mut planned, mut merger) =
        rayon::join(|| plan(first), || Merger::new(cx, usage, count_removed));
    for batch in batches {
        let (next, ()) = rayon::join(|| plan(batch), || merger.follow(&planned));
        planned = next;
    }
    merger.follow(&planned);
    merger.last_sections();
    merger.global_names(&names);
    merger.out.strings.close();
    merger.out.placements.close();
    merger.out
}

/// Inputs with about this many sections are planned at a time: enough to share the work, few enough
/// to stay in the cache.
const BATCH: usize = 1 << 12;

/// Estimated length of a section name.
const NAME_LENGTH: usize = 32;

/// Parts in which a batch is planned.
const PARTS: usize = 8;

/// Runs of inputs that are planned together.
fn batches(objects: &[Object<'_>]) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let (mut start, mut sections) = (0, 0);
    for (i, object) in objects.iter().enumerate() {
        sections += object.classes.len();
        if sections >= BATCH || i + 1 == objects.len() {
            out.push(start..i + 1);
            (start, sections) = (i + 1, 0);
        }
    }
    out
}

fn plan_batch<'a>(planning: Planning<'a, '_>, batch: Range<usize>) -> Vec<Vec<Step<'a>>> {
    let size = batch.len().div_ceil(PARTS).max(1);
    let parts: Vec<Range<usize>> =
        batch.clone().step_by(size).map(|start| start..(start + size).min(batch.end)).collect();
    parts.into_par_iter().map(|part| plan::plan(planning, part)).collect()
}

struct Merger<'a, 'o> {
    cx: Analysis<'a, 'o>,
    usage: &'o Usage,
    out: Merged,
    by_name: Map<&'a [u8], SectionId>,
    /// Created for a function while another definition of it was selected.
    by_function: Map<(SymbolId, &'a [u8]), SectionId>,
    /// `--preserve-relocs`: sections of applied relocations, by their target's name.
    resolved_by_name: Map<Vec<u8>, SectionId>,
    /// The members of `Merged::commons`.
    seen_commons: Set<SymbolId>,
    /// Where the bank 2 of a function goes; no section if none is left at the end.
    bank2_places: Map<FunctionId, bank2::Places<Option<SectionId>>>,
    bank2_filled: bank2::Filled,
    /// The table of unified functions and its attributes.
    function_table: Option<SectionId>,
    function_table_info: Option<SectionId>,
    /// `.nv.info`
    module_info: Option<SectionId>,
    /// By function: whether its name is unique, if a definition was seen.
    single: IdVec<FunctionId, bool>,
    /// One bit per section, as far as set: whether the name of its REL section is in the string
    /// tables.
    rel_named: Vec<u64>,
    /// By function: the parts created for those that are not in the output. Empty if the numbers do
    /// not show.
    removed_parts: Vec<u8>,
    /// Whether any code uses textures, samplers or surfaces.
    handles: bool,
}

/// The description of a new section.
struct NewSection<'n> {
    name: Text<'n>,
    kind: SectionType,
    flags: u64,
    align: u64,
    entsize: u64,
    content: NewContent,
    has_symbol: bool,
    function: Option<SymbolId>,
}

impl<'n> NewSection<'n> {
    fn synthetic(name: &'n [u8], kind: SectionType, align: u64, what: Synthetic) -> Self {
        Self {
            name: Text::new(name),
            kind,
            flags: 0,
            align,
            entsize: 0,
            content: NewContent::Synthetic(what),
            has_symbol: false,
            function: None,
        }
    }
}

impl<'a, 'o> Merger<'a, 'o> {
    /// Starts with everything that comes before the inputs. [`one-kernel`]
    fn new(cx: Analysis<'a, 'o>, usage: &'o Usage, count_removed: bool) -> Self {
        // Usually more than needed: unused room costs nothing, growing does.
        let sections: usize = cx.objects.iter().map(|o| o.classes.len()).sum();
        let mut strings = StringTables::default();
        strings.reserve(sections * NAME_LENGTH);
        let out = Merged {
            sections: IdVec::with_capacity(sections),
            symbols: IdVec::with_capacity(sections),
            symbol_of: IdVec::filled(OptId::NONE, cx.resolution.symbols.len()),
            strings,
            creation_index: 0,
            placements: Placements::new(cx.objects.iter().map(|o| o.classes.len())),
            function_sections: IdVec::filled(FunctionSections::default(), cx.graph.len()),
            code: IdVec::filled(Code::default(), cx.graph.len()),
            constant2: Map::default(),
            function_order: Vec::with_capacity(cx.graph.len()),
            common_shared: None,
            bank2: Default::default(),
            bank2_order: Vec::new(),
            bank2_users: Vec::new(),
            constant3: None,
            used_constants: None,
            instances: Map::default(),
            common_storage: None,
            commons: Vec::new(),
            debug_cut: Map::default(),
        };
        let mut merger = Self {
            cx,
            usage,
            out,
            by_name: Map::default(),
            by_function: Map::default(),
            resolved_by_name: Map::default(),
            seen_commons: Set::default(),
            bank2_places: Map::default(),
            bank2_filled: bank2::filled_places(cx),
            function_table: None,
            function_table_info: None,
            module_info: None,
            single: IdVec::filled(false, cx.graph.len()),
            rel_named: Vec::new(),
            removed_parts: if count_removed { vec![0; cx.graph.len()] } else { Vec::new() },
            handles: usage.mentions_images(cx),
        };
        merger.prototype_strings();
        merger.fixed_sections();
        merger
    }

    /// Mentioning a section name adds it to `.shstrtab` and to the local run of `.strtab`, whether
    /// or not the section is created.
    fn mention(&mut self, name: Text<'_>) {
        let known = self.out.strings.sections().len();
        self.out.strings.add(name);
        if self.out.strings.sections().len() > known {
            self.out.creation_index += 1;
        }
    }

    #[inline]
    fn create(&mut self, new: NewSection<'_>) -> SectionId {
        let (name, symbol_name) = self.out.strings.add(new.name);
        self.create_named(name, symbol_name, new)
    }

    /// Inlined, because callers know most of the description as constants.
    #[inline(always)]
    fn create_named(&mut self, name: u32, symbol_name: u32, new: NewSection<'_>) -> SectionId {
        let id = self.out.sections.next_id();
        self.out.creation_index += 1;
        let symbol = new
            .has_symbol
            .then(|| self.push_symbol(symbol_name, List::Local, Meaning::Section(id)));
        let section = Section::new(name, self.out.creation_index, symbol, &new);
        self.out.sections.push(section);
        id
    }

    #[inline]
    fn push_symbol(&mut self, name: u32, list: List, meaning: Meaning) -> OutSymbolId {
        self.out.symbols.push(OutSymbol::new(name, list, meaning))
    }

    fn fixed_sections(&mut self) {
        use SectionType as T;
        self.create(NewSection::synthetic(
            section_names::SHSTRTAB,
            T::STRTAB,
            1,
            Synthetic::SectionNames,
        ));
        self.create(NewSection::synthetic(
            section_names::STRTAB,
            T::STRTAB,
            1,
            Synthetic::SymbolNames,
        ));
        self.create(NewSection {
            entsize: 24,
            ..NewSection::synthetic(section_names::SYMTAB, T::SYMTAB, 8, Synthetic::Symbols)
        });
        self.create(NewSection {
            entsize: 4,
            ..NewSection::synthetic(
                section_names::SYMTAB_SHNDX,
                T::SYMTAB_SHNDX,
                4,
                Synthetic::SymbolSections,
            )
        });
        self.create(NewSection {
            flags: shf::TKINFO,
            has_symbol: true,
            ..NewSection::synthetic(section_names::NOTE_TKINFO, T::NOTE, 4, Synthetic::ToolNote)
        });
        let compat = self.cx.dialect.has_compat();
        self.create(NewSection {
            flags: shf::CUINFO | if compat { shf::INFO_LINK } else { 0 },
            has_symbol: true,
            ..NewSection::synthetic(section_names::NOTE_CUINFO, T::NOTE, 4, Synthetic::VersionNote)
        });
        self.function_entries();
        let info = self.create(NewSection {
            content: NewContent::Attributes,
            ..NewSection::synthetic(section_names::INFO, T::CUDA_INFO, 4, Synthetic::Compat)
        });
        self.by_name.insert(section_names::INFO, info);
        self.module_info = Some(info);
        if compat {
            self.create(NewSection::synthetic(
                section_names::COMPAT,
                T::CUDA_COMPAT_INFO,
                4,
                Synthetic::Compat,
            ));
        }
        if self.cx.config.uidx.is_some() {
            let index = NewSection::synthetic(
                section_names::UIDX,
                T::CUDA_UFT_INDEX,
                1,
                Synthetic::UnifiedIndex,
            );
            self.create(NewSection { has_symbol: true, ..index });
        }
        // Executables skip one number.
        self.out.creation_index += u32::from(!self.cx.config.relocatable);
        if self.cx.config.nv_host.is_some() {
            self.create(NewSection {
                has_symbol: true,
                ..NewSection::synthetic(section_names::HOST, T::CUDA_HOST, 8, Synthetic::HostFile)
            });
        }
    }

    fn prototype_strings(&mut self) {
        for text in &self.cx.graph.prototypes {
            self.out.strings.add_symbol(Text::new(text));
        }
    }

    /// Appends a whole input section to an output section. [`globals`, `debug`]
    fn place(&mut self, section: SectionId, from: InputSection, align: u64, size: u64) {
        let offset = self.out.sections[section].append(from, align, size);
        self.out.placements.set(from, Placement { section, offset });
    }

    /// Carries out the inputs' steps.
    fn follow(&mut self, planned: &[Vec<Step<'a>>]) {
        let mut object = ObjectId::new(0);
        for step in planned.iter().flatten() {
            match step {
                Step::Input(next) => object = *next,
                Step::Declare(id, function) => self.function_symbol(*id, *function, List::Global),
                Step::Define(definition) => self.function_definition(object, definition),
                Step::MentionShared(id) => self.mention_shared(*id),
                Step::Mention(name) => self.mention(Text::new(name)),
                Step::Variable(variable) => self.variable(object, variable),
                Step::CommonShared(section) => {
                    let from = InputSection { object, section: *section };
                    let section = self.common_shared();
                    self.out.placements.set(from, Placement { section, offset: 0 });
                }
                Step::Data(data) => self.data_section(object, data),
                Step::FunctionData(data) => self.function_data(object, data),
                Step::RemovedPart(function, part) => self.removed_part(*function, *part),
                Step::Numbers(count) => self.out.creation_index += count,
                Step::Attributes(attributes) => self.attributes(object, attributes),
                Step::Relocs(relocs) => self.relocations(object, relocs),
            }
        }
    }

    fn attributes(&mut self, object: ObjectId, attributes: &steps::Attributes) {
        let from = InputSection { object, section: attributes.section };
        let info = match attributes.of {
            Some((id, function)) => Some(self.info_section(id, function)),
            None => self.module_info,
        };
        if let Some(info) = info.filter(|_| attributes.selected) {
            self.add_attributes(info, from);
        }
    }

    fn add_attributes(&mut self, info: SectionId, from: InputSection) {
        self.out.sections[info].add_source(from);
    }
}

impl Analysis<'_, '_> {
    /// Executables have standard types where objects have NVIDIA's own.
    fn output_kind(&self, kind: SectionType) -> SectionType {
        if self.config.relocatable {
            kind
        } else if kind.is_nobits() {
            SectionType::NOBITS
        } else if kind.constant_bank().is_some() || kind == SectionType::CUDA_GLOBAL_INIT {
            SectionType::PROGBITS
        } else {
            kind
        }
    }

    /// How many creation numbers a name `.rel.X` takes that is only looked up. [Kernels that call
    /// one or two functions, before 620 objects; with `--preserve-relocs` 13 kinds of relocations
    /// before 14,000 kernels]
    fn numbers_of_rel_name(&self) -> u32 {
        1 + u32::from(self.dialect.looks_up_rel_names_twice() || self.config.preserve_relocs)
    }

    /// Whether there are textures, samplers or surfaces at all.
    fn has_images(&self) -> bool {
        let data = self.resolution.symbols.par_iter().filter(|symbol| !symbol.function);
        let first = data.filter_map(|symbol| self.unnamed_symbol(symbol.first));
        first.any(|symbol| symbol.is_image())
    }

    /// Whether relocations of texture handles have addends.
    fn handles_with_addends(&self) -> bool {
        self.config.force_rela || self.dialect.handles_have_addends()
    }

    fn handles_prefix(&self) -> &'static [u8] {
        if self.handles_with_addends() { prefix::RELA } else { prefix::REL }
    }
}
