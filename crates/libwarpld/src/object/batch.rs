//! Parses inputs in batches. Links have many thousands of inputs with short lists: those of
//! adjacent inputs share memory, and objects refer to them.

use super::lists::{Lists, Ranges};
use super::reuse::Reuse;
use super::sections::Shapes;
use super::{Object, tables};
use crate::diag::Code;
use crate::diag::Diagnostic;
use crate::dialect::Half;
use crate::ids::ObjectId;
use crate::inputs::LinkInput;
use crate::inputs::check::unreadable;
use crate::object::call_lists::Calls;
use cubin::half::Halves;
use cubin::{Cubin, SectionType};
use std::sync::{LazyLock, OnceLock};

/// What the objects of a batch refer to.
#[derive(Debug, Default)]
pub struct ObjectBatch<'i> {
    files: OnceLock<Files<'i>>,
    lists: OnceLock<Lists>,
}

/// Files that are first parsed here.
#[derive(Debug, Default)]
struct Files<'i> {
    /// Those of inputs that were not parsed before.
    cubins: Vec<Cubin<'i>>,
    /// Those of all inputs, if both halves are linked.
    halves: Vec<Halves<'i>>,
}

/// Objects in the order they are parsed, part by part; all parts except the last have the same
/// length.
pub struct Parts<'o, 'a> {
    share: usize,
    parts: Vec<&'o [Object<'a>]>,
}

impl<'o, 'a> Parts<'o, 'a> {
    /// No parts yet; each will have this length.
    pub fn new(share: usize) -> Self {
        Self { share, parts: Vec::new() }
    }

    /// Adds the next part and returns the index of its first object.
    pub fn add(&mut self, part: &'o [Object<'a>]) -> ObjectId {
        self.parts.push(part);
        ObjectId::new((self.parts.len() - 1) * self.share)
    }

    /// The part that starts with this object.
    pub fn part(&self, first: ObjectId) -> &'o [Object<'a>] {
        self.parts.get(first.index() / self.share).copied().unwrap_or_default()
    }
}

impl<'a> std::ops::Index<ObjectId> for Parts<'_, 'a> {
    type Output = Object<'a>;
    fn index(&self, id: ObjectId) -> &Object<'a> {
        let id = id.index();
        &self.parts[id / self.share][id % self.share]
    }
}

impl<'i> ObjectBatch<'i> {
    /// Parses inputs and their call lists; the error is ready to be shown. With `reuse` inputs
    /// share what they have in common, and the result is the same.
    pub fn read<'o, 's>(
        &'s self,
        objects: &'o mut [Object<'s>],
        inputs: &'i [LinkInput<'_>],
        half: Half,
        reuse: bool,
    ) -> Result<(&'o [Object<'s>], Calls<'s>), Diagnostic> {
        let (files, failure) = Files::read(inputs, half, reuse);
        let files = self.files.get_or_init(|| files);
        let mut unread = files.cubins.iter();
        for (i, (object, input)) in objects.iter_mut().zip(inputs).enumerate() {
            object.halves = files.halves.get(i);
            let whole = input.parsed.as_deref().or_else(|| unread.next());
            let Some(cubin) = object.halves.map(|halves| &halves.mercury).or(whole) else { break };
            object.cubin = cubin;
        }
        let mut lists = Lists::of(objects);
        let mut calls = Calls::of(objects.len());
        let mut ranges = Vec::with_capacity(objects.len());
        let mut reuse = Reuse::new(reuse);
        let others = objects.len().saturating_sub(1);
        for (object, input) in objects.iter_mut().zip(inputs) {
            let read = object.read(&input.image, &mut lists, &mut reuse, &mut calls);
            if ranges.is_empty() {
                lists.reserve_after_first(others);
                calls.reserve_after_first(others);
            }
            read.map_err(|e| damaged(input, &e))?;
            ranges.push(reuse.ranges().clone());
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
        let lists = self.lists.get_or_init(|| lists);
        hand_out(lists, objects, ranges);
        Ok((objects, calls))
    }
}

impl<'i> Files<'i> {
    /// Parses inputs up to the first that cannot be parsed.
    fn read(inputs: &'i [LinkInput<'_>], half: Half, reuse: bool) -> (Self, Option<Diagnostic>) {
        let is_unread = |input: &&LinkInput<'_>| half == Half::Machine && input.parsed.is_none();
        let mut cubins = Vec::with_capacity(inputs.iter().filter(is_unread).count());
        let mut halves = Vec::new();
        let failure = inputs.iter().find_map(|input| match (half, &input.parsed) {
            (Half::Machine, Some(_)) => None,
            (Half::Machine, None) => {
                let read = Reuse::parse(reuse, &input.image, cubins.last());
                read.map(|cubin| cubins.push(cubin)).map_err(|e| unreadable(&input.name, &e)).err()
            }
            (Half::Mercury, _) => split(input).map(|both| halves.push(both)).err(),
        });
        (Self { cubins, halves }, failure)
    }
}

fn split<'i>(input: &'i LinkInput<'_>) -> Result<Halves<'i>, Diagnostic> {
    let file = input.cubin().map_err(|e| unreadable(&input.name, &e))?;
    if file.sections().kinds().any(SectionType::is_unified_entries) {
        return Err(unified_capsules(&input.name));
    }
    Halves::split(&file).map_err(|e| damaged(input, &e))
}

/// Gives each object its entries of the lists.
fn hand_out<'s>(lists: &'s Lists, objects: &mut [Object<'s>], ranges: Vec<Ranges>) {
    for (object, ranges) in objects.iter_mut().zip(ranges) {
        object.functions = lists.named.get(ranges.functions).unwrap_or_default();
        object.data = lists.named.get(ranges.data).unwrap_or_default();
        object.classes = lists.classes.get(ranges.classes).unwrap_or_default();
        object.extents = lists.extents.get(ranges.extents).unwrap_or_default();
        object.function_info = lists.function_info.get(ranges.function_info).unwrap_or_default();
        object.shapes = &lists.shapes;
    }
}

impl<'a> Object<'a> {
    /// An input that has not been parsed yet.
    pub fn unread(input: &'a LinkInput<'_>) -> Self {
        static NO_SHAPES: LazyLock<Shapes> = LazyLock::new(Shapes::default);
        static NOTHING: LazyLock<Cubin<'static>> = LazyLock::new(Cubin::default);
        Self {
            name: &input.name,
            cubin: &NOTHING,
            halves: None,
            has_shared_or_images: false,
            shares_code: false,
            functions: &[],
            data: &[],
            repeats_data: false,
            classes: &[],
            extents: &[],
            shapes: &NO_SHAPES,
            file: &[],
            compat: None,
            repeats_compat: false,
            function_info: &[],
            bank2: None,
            whole_program: false,
            virtual_sm: 0,
            toolkit: 0,
            unified: false,
            barriers_in_flags: false,
        }
    }

    /// Parses what is not in lists, and appends to the lists.
    fn read(
        &mut self,
        file: &'a [u8],
        lists: &mut Lists,
        reuse: &mut Reuse<'a>,
        calls: &mut Calls<'a>,
    ) -> Result<(), String> {
        self.file = self.cubin.bytes();
        let header = self.cubin.header();
        self.whole_program = header.is_whole_program();
        self.virtual_sm = tables::old_virtual_sm(&header);
        self.toolkit = 0;
        reuse.start(self.cubin);
        let sections = reuse.sections(lists)?;
        self.unified = sections.unified;
        self.barriers_in_flags = sections.barriers_in_flags;
        if sections.bank2 {
            let classes = lists.classes.get(reuse.ranges().classes.clone());
            self.bank2 = tables::bank2(self.cubin, classes.unwrap_or_default(), file);
        }
        let (symbols, repeats_data) = reuse.symbols(lists);
        self.repeats_data = repeats_data;
        self.has_shared_or_images = symbols.shared_or_images;
        self.shares_code = symbols.shares_code;
        self.read_tables(reuse, lists, calls)?;
        lists.sections_left -= self.cubin.sections().len();
        Ok(())
    }
}

#[cold]
fn damaged(input: &LinkInput<'_>, what: &dyn std::fmt::Display) -> Diagnostic {
    let message = format_args!("Input file '{}' is damaged: {what}", input.name);
    Diagnostic::fatal(Code::DamagedInput, message)
}

/// Tables of unified functions are known only for machine code.
#[cold]
fn unified_capsules(name: &str) -> Diagnostic {
    let message = format_args!(
        "Input file '{name}' has unified functions or variables, which are linked for sm_75 to \
         sm_90a only"
    );
    Diagnostic::fatal(Code::UnifiedCapsules, message)
}
