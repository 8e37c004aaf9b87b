//! Compares both files part by part.

use super::bytes::Bytes;
use super::entries;
use super::file::File;
use super::list::{self, Entry, Pairing};
use super::origin::Origins;
use super::report::{Area, Change, Difference, Side};
use super::tables;
use super::{Options, bytes};
use cubin::classify::{self, NoteClass, SectionClass};
use cubin::model::{Image, Placement};
use cubin::names;
use cubin::words;
use cubin::{Cubin, SectionRef};

/// The name of the section with the note of the tool that wrote the file.
const TOOL_NOTE: &[u8] = names::NOTE_TKINFO;

/// Two files and the differences found so far.
pub(crate) struct Comparison<'c, 'a, 'o> {
    a: File<'c, 'a>,
    b: File<'c, 'a>,
    ignore_tool_note: bool,
    pairing: Pairing,
    /// Equal indices mean equal things in both files.
    same_numbers: bool,
    bytes: Bytes<'c, 'a, 'o>,
    out: Vec<Difference>,
}

impl<'c, 'a, 'o> Comparison<'c, 'a, 'o> {
    pub(crate) fn new(a: &'c Cubin<'a>, b: &'c Cubin<'a>, options: &Options<'o, 'o>) -> Self {
        let names = |c: &Cubin<'a>| c.sections().iter().map(|s| s.name).collect::<Vec<_>>();
        let pairing = list::pair(&names(a), &names(b));
        let numbering = |s: &SectionRef<'_>| {
            matches!(classify::section(s).class, SectionClass::Symbols | SectionClass::Strings)
        };
        let tables = |c: &Cubin<'a>| {
            c.sections().iter().filter(numbering).map(|s| s.data).collect::<Vec<_>>()
        };
        Self {
            same_numbers: names(a) == names(b) && tables(a) == tables(b),
            pairing,
            ignore_tool_note: options.ignore_tool_note,
            bytes: Bytes::new(a, b, Origins::new(options.inputs)),
            a: File::of(a),
            b: File::of(b),
            out: Vec::new(),
        }
    }

    pub(crate) fn run(mut self) -> Vec<Difference> {
        self.lists(Area::Header, "", |file| vec![entries::header(file.cubin, file)]);
        self.lists(Area::Segment, "", entries::segments);
        self.section_list();
        self.layout();
        for (i, j) in self.pairing.both.clone() {
            if let (Some(x), Some(y)) = (section(self.a.cubin, i), section(self.b.cubin, j)) {
                self.section_header(&x, &y);
                self.content(&x, &y);
            }
        }
        if self.out.is_empty() {
            self.raw();
        }
        self.out.sort_by_key(|difference| difference.area);
        self.out
    }

    fn lists(&mut self, area: Area, place: &str, entries: impl Fn(&File<'c, 'a>) -> Vec<Entry>) {
        list::compare(area, place, &entries(&self.a), &entries(&self.b), &mut self.out);
    }

    fn section_list(&mut self) {
        let mut add = |place: &[u8], change| {
            let place = words::reference(place).into_owned();
            self.out.push(Difference { area: Area::Section, place, change });
        };
        let only = [
            (Side::A, self.a.cubin, &self.pairing.only_a),
            (Side::B, self.b.cubin, &self.pairing.only_b),
        ];
        for (side, cubin, only) in only {
            for s in only.iter().filter_map(|&i| section(cubin, i)) {
                let what = format!("{}, {} bytes", words::section_type(s.kind), s.size);
                add(s.name, Change::OnlyIn { side, what });
            }
        }
        for (i, j) in self.pairing.moved() {
            let name = section(self.a.cubin, i).map_or(&b""[..], |s| s.name);
            add(name, Change::Moved { a: i, b: j });
        }
    }

    fn section_header(&mut self, x: &SectionRef<'a>, y: &SectionRef<'a>) {
        let mut a = entries::section_header(&self.a, x);
        let mut b = entries::section_header(&self.b, y);
        if self.ignore_tool_note && x.name == TOOL_NOTE {
            for entry in [&mut a, &mut b] {
                entry.fields.retain(|(field, _)| *field != entries::SIZE);
            }
        }
        list::compare(Area::Section, "", &[a], &[b], &mut self.out);
    }

    /// Gaps, overlaps and bytes between the parts. The offset of each part follows from the sizes,
    /// unless a file puts it elsewhere.
    fn layout(&mut self) {
        let (Ok(a), Ok(b)) = (Image::from_cubin(self.a.cubin), Image::from_cubin(self.b.cubin))
        else {
            return;
        };
        let mut parts = vec![
            ("section headers".into(), a.section_headers, b.section_headers),
            ("program headers".into(), a.program_headers, b.program_headers),
        ];
        for &(i, j) in &self.pairing.both {
            if let (Some(x), Some(y)) = (a.sections.get(i), b.sections.get(j)) {
                parts.push((self.a.section_name(i as u32), x.placement, y.placement));
            }
        }
        for (place, x, y) in parts {
            if x != y {
                let (a, b) = (placement(&self.a, x), placement(&self.b, y));
                let change = Change::Field { field: "place", a, b };
                self.out.push(Difference { area: Area::Layout, place, change });
            }
        }
        let fillers = |image: &Image<'_>| -> Vec<Vec<u8>> {
            image.fillers.iter().map(|f| f.bytes.to_vec()).collect()
        };
        let (a, b) = (fillers(&a), fillers(&b));
        for at in 0..a.len().max(b.len()) {
            let bytes = |list: &[Vec<u8>]| list.get(at).cloned().unwrap_or_default();
            let place = format!("bytes between the parts, run {at},");
            bytes::compare_plain(Area::Layout, &place, &bytes(&a), &bytes(&b), &mut self.out);
        }
    }

    fn content(&mut self, x: &SectionRef<'a>, y: &SectionRef<'a>) {
        if x.data == y.data && self.same_numbers {
            return;
        }
        let (class, other) = (classify::section(x).class, classify::section(y).class);
        let before = self.out.len();
        let both = match std::mem::discriminant(&class) == std::mem::discriminant(&other) {
            true => self.entries(class, x, y),
            false => None,
        };
        match both {
            Some((area, a, b)) => {
                let place = match area {
                    Area::Symbol if x.name == names::SYMTAB => String::new(),
                    Area::Note | Area::CallGraph | Area::Compatibility => String::new(),
                    _ => words::reference(x.name).into_owned(),
                };
                list::compare(area, &place, &a, &b, &mut self.out);
                // The same words for different bytes: only the numbers tell them apart.
                let tool_note = self.ignore_tool_note && x.name == TOOL_NOTE;
                if before == self.out.len() && self.same_numbers && !tool_note {
                    self.bytes.compare(x, y, &mut self.out);
                }
            }
            None => self.bytes.compare(x, y, &mut self.out),
        }
    }

    /// The section's entries in both files, if it has entries in both.
    fn entries(
        &self,
        class: SectionClass<'a>,
        x: &SectionRef<'a>,
        y: &SectionRef<'a>,
    ) -> Option<(Area, Vec<Entry>, Vec<Entry>)> {
        let both = |area, read: fn(&File<'c, 'a>, &SectionRef<'a>) -> Option<Vec<Entry>>| {
            Some((area, read(&self.a, x)?, read(&self.b, y)?))
        };
        match class {
            SectionClass::Symbols => both(Area::Symbol, tables::symbols),
            SectionClass::Strings => both(Area::String, tables::strings),
            SectionClass::Relocations { .. } | SectionClass::ResolvedRela => {
                both(Area::Relocation, tables::relocations)
            }
            SectionClass::Info(_) => both(Area::Attribute, tables::attributes),
            SectionClass::Compat => both(Area::Compatibility, tables::compat),
            SectionClass::CallGraph => both(Area::CallGraph, tables::call_graph),
            SectionClass::Prototype => both(Area::Prototype, tables::prototypes),
            SectionClass::RelAction => both(Area::RelocationAction, tables::actions),
            SectionClass::Capsule(_) => both(Area::Capsule, tables::capsule),
            SectionClass::Note(kind) => {
                let (area, mut a, mut b) = both(Area::Note, tables::notes)?;
                if self.ignore_tool_note && kind == NoteClass::ToolInfo {
                    // The linker's note is the first.
                    a.drain(..a.len().min(1));
                    b.drain(..b.len().min(1));
                }
                Some((area, a, b))
            }
            _ => None,
        }
    }

    /// The last resort: files that mean the same with different bytes.
    fn raw(&mut self) {
        for (i, j) in self.pairing.both.clone() {
            if let (Some(x), Some(y)) = (section(self.a.cubin, i), section(self.b.cubin, j))
                && !(self.ignore_tool_note && x.name == TOOL_NOTE)
            {
                self.bytes.compare(&x, &y, &mut self.out);
            }
        }
        if self.out.is_empty() && !self.ignore_tool_note {
            let (a, b) = (self.a.cubin.bytes(), self.b.cubin.bytes());
            bytes::compare_plain(Area::Bytes, "of the file", a, b, &mut self.out);
        }
    }
}

fn section<'a>(cubin: &Cubin<'a>, index: usize) -> Option<SectionRef<'a>> {
    cubin.section(u32::try_from(index).ok()?)
}

fn placement(file: &File<'_, '_>, placement: Placement) -> String {
    match placement {
        Placement::Natural => "the next aligned place".to_owned(),
        Placement::After(gap) => format!("{gap} bytes after the next aligned place"),
        Placement::SameAs(other) => format!("on the bytes of {}", file.section_name(other)),
        Placement::At(offset) => format!("{offset:#x}"),
    }
}
