//! Parses inputs in batches. Links have many thousands of inputs with short lists: those of
//! adjacent inputs share memory, and objects refer to them.

use super::classify::classify;
use super::lists::Lists;
use super::reuse::PreviousInput;
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

/// Number of entries of each list that belong to an object.
struct Counts {
    functions: usize,
    data: usize,
    /// Number of these; `None` if they are those of the previous input.
    classes: Option<usize>,
    extents: Option<usize>,
    figures: Option<usize>,
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
    /// Parses inputs and their call lists; the error is ready to be shown.
    pub fn read<'o, 's>(
        &'s self,
        objects: &'o mut [Object<'s>],
        inputs: &'i [LinkInput<'_>],
        half: Half,
    ) -> Result<(&'o [Object<'s>], Calls<'s>), Diagnostic> {
        let (files, failure) = Files::read(inputs, half);
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
        let mut counts = Vec::with_capacity(objects.len());
        let mut before = PreviousInput::default();
        let others = objects.len().saturating_sub(1);
        for (object, input) in objects.iter_mut().zip(inputs) {
            let read = object.read(&input.image, &mut lists, &mut before, &mut calls);
            if counts.is_empty() {
                lists.make_room_after_first(others);
                calls.make_room_after_first(others);
            }
            counts.push(read.map_err(|e| damaged(input, &e))?);
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
        let lists = self.lists.get_or_init(|| lists);
        hand_out(lists, objects, &counts);
        Ok((objects, calls))
    }
}

impl<'i> Files<'i> {
    /// Parses inputs up to the first that cannot be parsed.
    fn read(inputs: &'i [LinkInput<'_>], half: Half) -> (Self, Option<Diagnostic>) {
        let is_unread = |input: &&LinkInput<'_>| half == Half::Machine && input.parsed.is_none();
        let mut cubins = Vec::with_capacity(inputs.iter().filter(is_unread).count());
        let (mut halves, nothing) = (Vec::new(), Cubin::default());
        let failure = inputs.iter().find_map(|input| match (half, &input.parsed) {
            (Half::Machine, Some(_)) => None,
            (Half::Machine, None) => {
                let before = cubins.last().unwrap_or(&nothing);
                let read = Cubin::parse_after(&input.image, before);
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

/// Gives each object its ranges of the lists.
fn hand_out<'s>(lists: &'s Lists, objects: &mut [Object<'s>], counts: &[Counts]) {
    let (mut named, mut classes) = (&lists.named[..], &lists.classes[..]);
    let (mut extents, mut figures) = (&lists.extents[..], &lists.figures[..]);
    let (mut data, mut own_figures) = (&[][..], &[][..]);
    let (mut own_classes, mut own_extents) = (&[][..], &[][..]);
    for (object, counts) in objects.iter_mut().zip(counts) {
        object.functions = take(&mut named, counts.functions);
        if !object.repeats_data {
            data = take(&mut named, counts.data);
        }
        object.data = data;
        if let Some(count) = counts.classes {
            own_classes = take(&mut classes, count);
        }
        if let Some(count) = counts.extents {
            own_extents = take(&mut extents, count);
        }
        (object.classes, object.extents) = (own_classes, own_extents);
        object.shapes = &lists.shapes;
        if let Some(count) = counts.figures {
            own_figures = take(&mut figures, count);
        }
        object.figures = own_figures;
    }
}

fn take<'s, T>(list: &mut &'s [T], count: usize) -> &'s [T] {
    list.split_off(..count).unwrap_or_default()
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
            figures: &[],
            bank2: None,
            whole_program: false,
            virtual_sm: 0,
            unified: false,
            barriers_in_flags: false,
        }
    }

    /// Parses what is not in lists, and appends to the lists.
    fn read(
        &mut self,
        file: &'a [u8],
        lists: &mut Lists,
        before: &mut PreviousInput<'a>,
        calls: &mut Calls<'a>,
    ) -> Result<Counts, String> {
        let (named, figures) = (lists.named.len(), lists.figures.len());
        let (classes, extents) = (lists.classes.len(), lists.extents.len());
        let likeness = before.likeness(self.cubin);
        let repeats = likeness.is_some_and(|like| before.repeat_sections(self.cubin, like, lists));
        if !repeats {
            lists.make_room(self.cubin.sections().len());
            before.found = classify(self.cubin, lists)?;
            before.classes = classes..lists.classes.len();
            before.extents = extents..lists.extents.len();
        }
        self.file = self.cubin.bytes();
        let header = self.cubin.header();
        self.whole_program = header.is_whole_program();
        self.unified = before.found.unified;
        self.barriers_in_flags = before.found.barriers_in_flags;
        self.virtual_sm = tables::old_virtual_sm(&header);
        let repeated = likeness.and_then(|like| before.repeat_symbols(self.cubin, like, lists));
        self.repeats_data =
            repeated.unwrap_or_else(|| tables::add_symbols(self.cubin, lists, before));
        self.has_shared_or_images = before.symbols.shared_or_images;
        self.shares_code = before.symbols.shares_code;
        if before.found.bank2 {
            let classes = lists.classes.get(before.classes.clone()).unwrap_or_default();
            self.bank2 = tables::bank2(self.cubin, classes, file);
        }
        let repeats_figures = self.read_tables(before, repeats, lists, calls)?;
        before.cubin = Some(self.cubin);
        lists.sections_left -= self.cubin.sections().len();
        Ok(Counts {
            functions: before.functions.len(),
            data: lists.named.len() - named - before.functions.len(),
            classes: (!repeats).then_some(lists.classes.len() - classes),
            extents: (before.extents.start == extents).then_some(before.extents.len()),
            figures: (!repeats_figures).then_some(lists.figures.len() - figures),
        })
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
