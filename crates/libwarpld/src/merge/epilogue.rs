//! The last pass, after all files: tables, storage of commons, banks of kernels.

use super::{List, Meaning, Merger, NewContent, NewSection, Synthetic, Text};
use crate::callgraph::callers::Callers;
use crate::collections::Set;
use crate::ids::{FunctionId, SectionId};
use crate::name_hash::NameHash;
use crate::usage::{ImageUsers, shared_users};
use cubin::SectionType;
use cubin::consts::shf;
use cubin::names::{self, prefix};

impl<'a, 'o> Merger<'a, 'o> {
    pub(super) fn last_sections(&mut self) {
        let user = [names::CONSTANT_USER, names::MERCURY_CONSTANT_USER];
        self.out.constant3 = user.iter().find_map(|name| self.by_name.get(*name).copied());
        self.unused_constants();
        self.common_storage();
        let graph = NewSection::synthetic(
            names::CALLGRAPH,
            SectionType::CUDA_CALLGRAPH,
            4,
            Synthetic::CallGraph,
        );
        self.create(NewSection { entsize: 8, has_symbol: true, ..graph });
        let prototype = NewSection::synthetic(
            names::PROTOTYPE,
            SectionType::CUDA_PROTOTYPE,
            4,
            Synthetic::Prototype,
        );
        self.create(NewSection { entsize: 8, has_symbol: true, ..prototype });
        if self.cx.config.relocatable {
            self.dynamic_instances();
            return;
        }
        if self.cx.dialect.creates_handle_banks_early() {
            self.banks_of_handles();
        }
        self.late_shared();
        if self.cx.dialect.has_relocation_actions()
            && self.out.needs_symbol_sections()
            && self.cx.has_images()
        {
            // Programs with texture or surface references skip one number, before the banks of
            // kernels are numbered. [12 programs before 14,000 kernels; `large_links`]
            self.out.creation_index += 1;
        }
        self.entry_banks();
        if !self.cx.dialect.has_relocation_actions() {
            return;
        }
        let action = NewSection::synthetic(
            names::REL_ACTION,
            SectionType::CUDA_RELOCINFO,
            8,
            Synthetic::RelAction,
        );
        self.create(NewSection { entsize: 8, has_symbol: true, ..action });
    }

    /// Kernels that `--kernels-used` left out, and stubs of unified functions, get their shared
    /// memory when they turn out to need some.
    fn late_shared(&mut self) {
        if !self.out.function_order.iter().any(|&f| self.lacks_shared(f)) {
            return;
        }
        for function in shared_users(self.cx, self.usage, &self.out) {
            self.add_late_shared(function);
        }
    }

    fn lacks_shared(&self, function: FunctionId) -> bool {
        let reach = self.cx.reach;
        (reach.is_late(function) || reach.is_stub_root(function))
            && self.out.function_sections[function].shared.is_none()
    }

    fn add_late_shared(&mut self, function: FunctionId) {
        if self.lacks_shared(function) {
            self.late_kernel_shared(function);
        }
    }

    /// Each kernel that uses a dynamic array gets an instance of it, a weak symbol, unless
    /// debuggers are to see the array itself, and then late shared memory.
    /// [`weak-in-global-list`, `relocatable-debug-arrays`]
    fn dynamic_instances(&mut self) {
        for function in shared_users(self.cx, self.usage, &self.out) {
            if !self.cx.config.is_debug_link() && !self.out.instances.contains_key(&function) {
                // Global names are added after all others, see `global_names`.
                let (name, list) = match self.cx.dialect.lists_weak_with_global() {
                    true => (0, List::Global),
                    false => (self.instance_name(), List::Local),
                };
                let symbol = self.push_symbol(name, list, Meaning::DynamicInstance(function));
                self.out.instances.insert(function, symbol);
            }
            self.add_late_shared(function);
        }
    }

    fn common_storage(&mut self) {
        let resolution = self.cx.resolution;
        self.out.commons.retain(|&id| resolution.get(id).common.is_some());
        if self.out.commons.is_empty() {
            return;
        }
        let known = self.by_name.get(names::GLOBAL).copied();
        let section = known.unwrap_or_else(|| {
            self.create(NewSection {
                name: Text::new(names::GLOBAL),
                kind: self.cx.output_kind(SectionType::CUDA_GLOBAL),
                flags: shf::WRITE | shf::ALLOC,
                align: 0,
                entsize: 0,
                content: NewContent::Chunks,
                has_symbol: true,
                function: None,
            })
        });
        self.out.common_storage = Some(section);
    }

    /// Mercury has no parameter banks: each kernel that uses textures gets a bank for
    /// their handles, before any bank is filled with its callees' tables.
    fn banks_of_handles(&mut self) {
        for function in self.image_users() {
            if self.out.function_sections[function].text.is_none() {
                continue;
            }
            let id = self.cx.graph.symbol(function);
            let kernel = self.cx.resolution.symbols[id].name;
            let name = [prefix::MERCURY_CONSTANT_IMAGE_HEADERS, kernel].concat();
            let hash = NameHash::of(&name);
            let new = NewSection {
                name: Text::hashed(&name, hash),
                kind: SectionType::PROGBITS,
                flags: shf::ALLOC | shf::INFO_LINK,
                align: 4,
                entsize: 0,
                content: NewContent::Chunks,
                has_symbol: true,
                function: Some(id),
            };
            let relocs = Text::prefixed(self.cx.handles_prefix(), &name, hash);
            let section = self.bank_of_handles(new, relocs, id);
            self.out.sections[section].set_bank(Some(0));
            self.out.function_sections[function].constant0 = section.into();
        }
    }

    /// The kernels that have handles, in creation order.
    fn image_users(&self) -> Vec<FunctionId> {
        let (symbols, functions) = (self.out.symbols_last_first(), &self.out.function_order);
        let Some(mut users) = ImageUsers::new(self.cx, self.usage, symbols, functions) else {
            return Vec::new();
        };
        let found = users.of(None);
        functions.iter().copied().filter(|f| found.contains(f)).collect()
    }

    /// Bank 2 data of device functions is copied into every kernel that reaches them; kernels
    /// without a bank get one here.
    fn entry_banks(&mut self) {
        let cx = self.cx;
        if self.out.bank2.is_empty() {
            return;
        }
        let mut callers = Callers::new(cx.graph, cx.resolution, cx.reach);
        let by_text = |&f: &FunctionId| self.out.function_sections[f].text.get();
        let mut functions = self.out.bank2_order.clone();
        if cx.dialect.orders_bank2_by_input() {
            // Seen in links of three files in two orders: in the order of the banks, including
            // those replaced since (`bank2-order`).
            functions.sort_by_key(|f| {
                let first = self.out.bank2.get(f).and_then(|bank| bank.first);
                first.map(|part| (part.object, part.section))
            });
        }
        for &function in functions.iter().rev() {
            let mut entries = callers.entries_reaching(&[function]);
            entries.sort_by_key(by_text);
            entries.reverse();
            self.out.bank2_users.push((function, entries));
        }
        let users = self.out.bank2_users.clone();
        let filled = self.filled_banks(&users);
        // Every function gives banks to its kernels that are filled by any, so an earlier one may create the bank that a
        // later one fills (`bank2-filled-later`).
        for (function, entries) in users {
            let entries = entries.into_iter().filter(|e| filled.contains(e));
            // All banks of a function's kernels come before their relocations.
            let banks: Vec<SectionId> = entries.map(|e| self.entry_bank(e)).collect();
            for bank in banks {
                self.copied_relocations(function, bank);
            }
        }
    }

    /// The kernels to which functions pass anything for their banks.
    fn filled_banks(&self, users: &[(FunctionId, Vec<FunctionId>)]) -> Set<FunctionId> {
        let mut filled = Set::default();
        for (function, entries) in users {
            if self.gives_bank2(*function, entries, &filled) {
                filled.extend(entries.iter().copied());
            }
        }
        filled
    }

    fn entry_bank(&mut self, entry: FunctionId) -> SectionId {
        if let Some(&known) = self.out.constant2.get(&entry) {
            return known;
        }
        let id = self.cx.graph.symbol(entry);
        let section = self.create(NewSection {
            name: self.known_name(self.cx.dialect.bank2_prefix(), id),
            kind: SectionType::PROGBITS,
            flags: shf::ALLOC | shf::INFO_LINK,
            align: 0,
            entsize: 0,
            content: NewContent::Chunks,
            has_symbol: true,
            function: Some(id),
        });
        self.out.sections[section].set_bank(Some(2));
        self.out.constant2.insert(entry, section);
        section
    }
}
