//! Resource usage of each kernel and device function.

use super::options::{Options, Sort};
use cubin::attr::{Attr, KernelParam, ParamBank};
use cubin::classify::{self, SectionClass, SymbolClass};
use cubin::consts::{shf, text_info};
use cubin::{Cubin, SectionRef, SymbolRef, info};
use std::collections::{BTreeMap, HashMap, HashSet};

/// One function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Function<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) kernel: bool,
    pub(crate) code: u64,
    pub(crate) registers: Option<u32>,
    pub(crate) barriers: Option<u32>,
    pub(crate) frame: Option<u32>,
    pub(crate) min_stack: Option<u32>,
    pub(crate) shared: u64,
    pub(crate) local: u64,
    /// Bytes per constant bank.
    pub(crate) constant: BTreeMap<u8, u64>,
    pub(crate) parameters: Vec<KernelParam>,
    pub(crate) parameter_bank: Option<ParamBank>,
    /// Textures, surfaces and samplers that its relocations name.
    pub(crate) images: [usize; 3],
    /// Its text section.
    pub(crate) text: Option<&'a [u8]>,
}

/// The functions that are shown, in the order that is asked for.
pub(super) fn kept_functions<'a>(cubin: &Cubin<'a>, options: &Options) -> Vec<Function<'a>> {
    let mut all = functions(cubin);
    all.retain(|f| options.filter.has_function(f.name, f.kernel, f.text));
    match options.sort {
        Sort::Registers => all.sort_by_key(|f| std::cmp::Reverse(f.registers)),
        sort => sort.apply(&mut all, |f| (f.name, f.code)),
    }
    all
}

/// The images that relocations of each function's sections name, by its text section.
fn images(cubin: &Cubin<'_>) -> HashMap<u32, HashSet<u32>> {
    let is_image = |symbol: u32| cubin.symbol(symbol).is_some_and(|s| image(cubin, &s).is_some());
    let mut images: HashMap<u32, HashSet<u32>> = HashMap::new();
    if !cubin.symbols().any(|symbol| image(cubin, &symbol).is_some()) {
        return images;
    }
    for section in cubin.sections() {
        let SectionClass::Relocations { target } = classify::section(&section).class else {
            continue;
        };
        let Some(target) = cubin.section(target) else { continue };
        let text = match classify::section(&target).class {
            SectionClass::Text(_) => target.index.0,
            _ => target.info,
        };
        let relocs = cubin.relocs(&section).unwrap_or_default();
        let named = relocs.iter().map(|reloc| reloc.symbol.0).filter(|&symbol| is_image(symbol));
        images.entry(text).or_default().extend(named);
    }
    images
}

/// Which of [`Function::images`] counts a symbol.
fn image(cubin: &Cubin<'_>, symbol: &SymbolRef<'_>) -> Option<usize> {
    match classify::symbol(cubin, symbol) {
        SymbolClass::Texture => Some(0),
        SymbolClass::Surface => Some(1),
        SymbolClass::Sampler => Some(2),
        _ => None,
    }
}

/// All functions that have code here, in symbol order.
pub(crate) fn functions<'a>(cubin: &Cubin<'a>) -> Vec<Function<'a>> {
    let module = module_values(cubin);
    let owned = owned_sections(cubin);
    let images = images(cubin);
    let mut all = Vec::new();
    for symbol in cubin.symbols() {
        let class = classify::symbol(cubin, &symbol);
        if matches!(class, SymbolClass::Kernel | SymbolClass::Function) {
            let kernel = class == SymbolClass::Kernel;
            let mut f = function(cubin, &symbol, kernel, &module, &owned);
            for index in images.get(&symbol.shndx).into_iter().flatten() {
                let kind = cubin.symbol(*index).and_then(|symbol| image(cubin, &symbol));
                if let Some(count) = kind.and_then(|kind| f.images.get_mut(kind)) {
                    *count += 1;
                }
            }
            all.push(f);
        }
    }
    all
}

/// Values of the module's `.nv.info`, by attribute and symbol.
type ModuleValues = HashMap<(Attr, u32), u32>;

fn module_values(cubin: &Cubin<'_>) -> ModuleValues {
    let mut values = HashMap::new();
    for section in cubin.sections() {
        let found = classify::section(&section);
        if found.class != SectionClass::Info(None) || found.mercury {
            continue;
        }
        for record in info::records(section.data).map_while(Result::ok) {
            let wanted = [Attr::REGCOUNT, Attr::FRAME_SIZE, Attr::MIN_STACK_SIZE];
            if let (Some(symbol), Some(value)) = (record.word(0), record.word(1))
                && wanted.contains(&record.attr())
            {
                values.insert((record.attr(), symbol), value);
            }
        }
    }
    values
}

/// The sections that refer to the text section they belong to.
fn owned_sections<'a>(cubin: &Cubin<'a>) -> HashMap<u32, Vec<SectionRef<'a>>> {
    let mut owned: HashMap<u32, Vec<_>> = HashMap::new();
    for section in cubin.sections() {
        // Compilers up to 12.2 do not set `SHF_INFO_LINK`.
        if section.info != 0 && section.flags & shf::MERCURY == 0 {
            owned.entry(section.info).or_default().push(section);
        }
    }
    owned
}

fn function<'a>(
    cubin: &Cubin<'a>,
    symbol: &SymbolRef<'a>,
    kernel: bool,
    module: &ModuleValues,
    owned: &HashMap<u32, Vec<SectionRef<'a>>>,
) -> Function<'a> {
    let value = |attr| module.get(&(attr, symbol.index.0)).copied();
    let mut f = Function {
        name: symbol.name,
        kernel,
        code: symbol.size,
        registers: value(Attr::REGCOUNT),
        frame: value(Attr::FRAME_SIZE),
        min_stack: value(Attr::MIN_STACK_SIZE),
        ..Function::default()
    };
    let Some(text) = cubin.section(symbol.shndx).filter(|_| !symbol.reserved) else {
        return f;
    };
    f.text = Some(text.name);
    // Before CUDA 13 the header of the text section counts the barriers.
    let barriers = ((text.flags & shf::BARRIERS_MASK) >> shf::BARRIERS_SHIFT) as u32;
    f.barriers = (barriers > 0).then_some(barriers);
    // Only the text section's function owns the sections that belong to it, not an alias or an
    // out-of-line helper in the same section.
    if text.info & text_info::FUNCTION != symbol.index.0 {
        return f;
    }
    for section in owned.get(&symbol.shndx).into_iter().flatten() {
        match classify::section(section).class {
            SectionClass::Shared(_) => f.shared += section.size,
            SectionClass::Local(_) => f.local += section.size,
            SectionClass::Constant { bank, .. } => {
                *f.constant.entry(bank).or_default() += section.size;
            }
            SectionClass::Info(_) => own_attributes(section, &mut f),
            _ => {}
        }
    }
    f
}

fn own_attributes(section: &SectionRef<'_>, f: &mut Function<'_>) {
    for record in info::records(section.data).map_while(Result::ok) {
        match record.attr() {
            Attr::NUM_BARRIERS => f.barriers = Some(record.value.into()),
            Attr::KPARAM_INFO => f.parameters.extend(record.payload_as::<KernelParam>()),
            Attr::PARAM_CBANK => f.parameter_bank = record.payload_as(),
            _ => {}
        }
    }
    f.parameters.sort_by_key(|p| p.ordinal.get());
}
