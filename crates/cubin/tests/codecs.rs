//! Every codec gives back what it was given.

use cubin::attr::{Format, KernelParam, ParamBank};
use cubin::capsule::{Capsule, CapsuleHeader, Item, ItemForm};
use cubin::consts::{FileType, SectionType};
use cubin::flags::{Flags, OSABI_V7, OSABI_V8};
use cubin::info::{self, Record};
use cubin::model::{Content, Counter, Image, Placement, Section, StringTable, Symbol};
use cubin::note::{self, CudaInfo, NoteType, ToolInfo};
use cubin::raw::Pair;
use cubin::relaction::{Action, RelActions};
use cubin::{
    Class, Cubin, EM_CUDA, Header, Reloc, RelocKind, Segment, SegmentType, SymbolIndex, callgraph,
    reloc,
};
use proptest::collection::vec;
use proptest::prelude::*;
use zerocopy::{FromBytes, IntoBytes};

fn class() -> impl Strategy<Value = Class> {
    prop_oneof![Just(Class::Elf32), Just(Class::Elf64)]
}

/// A number that fits a field of either class.
fn word(class: Class) -> BoxedStrategy<u64> {
    match class {
        Class::Elf32 => any::<u32>().prop_map(u64::from).boxed(),
        Class::Elf64 => any::<u64>().boxed(),
    }
}

prop_compose! {
    fn header()(class in class())(
        class in Just(class),
        ident_tail in any::<[u8; 10]>(),
        file_type in any::<u16>(),
        numbers in any::<[u16; 6]>(),
        version in any::<u32>(),
        flags in any::<u32>(),
        entry in word(class),
        phoff in word(class),
        shoff in word(class),
    ) -> Header {
        let mut ident = [0; 16];
        ident[..4].copy_from_slice(b"\x7fELF");
        ident[4] = match class { Class::Elf32 => 1, Class::Elf64 => 2 };
        ident[5] = 1;
        ident[6..].copy_from_slice(&ident_tail);
        let [ehsize, phentsize, phnum, shentsize, shnum, shstrndx] = numbers;
        Header {
            class, ident, file_type: FileType(file_type), machine: EM_CUDA, version, entry, phoff,
            shoff, flags, ehsize, phentsize, phnum, shentsize, shnum, shstrndx,
        }
    }
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    vec(1..=255_u8, 0..20)
}

fn reloc_entry(class: Class, addends: bool) -> BoxedStrategy<Reloc> {
    let (kinds, symbols) = match class {
        Class::Elf32 => (0..=0xff_u32, 0..=0xff_ffff_u32),
        Class::Elf64 => (0..=u32::MAX, 0..=u32::MAX),
    };
    let addend = match class {
        Class::Elf32 => any::<i32>().prop_map(i64::from).boxed(),
        Class::Elf64 => any::<i64>().boxed(),
    };
    (word(class), kinds, symbols, addend)
        .prop_map(move |(offset, kind, symbol, addend)| Reloc {
            offset,
            kind: RelocKind(kind),
            symbol: SymbolIndex(symbol),
            addend: addends.then_some(addend),
        })
        .boxed()
}

fn symbol(class: Class, sections: u16) -> impl Strategy<Value = Symbol> {
    let shndx = prop_oneof![0..sections, Just(0xfff1), Just(0xfff2)];
    (any::<u8>(), any::<u8>(), shndx, word(class), word(class)).prop_map(
        |(info, other, shndx, value, size)| Symbol { name: 0, info, other, shndx, value, size },
    )
}

/// What a test puts into the sections after the tables.
#[derive(Clone, Debug)]
enum Extra {
    Bytes(Vec<u8>),
    NoBits(u32),
    Relocations(Vec<Reloc>),
    Pairs(Vec<(u32, u32)>),
}

fn extra(class: Class) -> BoxedStrategy<Extra> {
    prop_oneof![
        vec(any::<u8>(), 0..40).prop_map(Extra::Bytes),
        any::<u32>().prop_map(Extra::NoBits),
        any::<bool>()
            .prop_flat_map(move |addends| vec(reloc_entry(class, addends), 0..5))
            .prop_map(Extra::Relocations),
        vec(any::<(u32, u32)>(), 0..5).prop_map(Extra::Pairs),
    ]
    .boxed()
}

fn section<'a>(kind: SectionType, content: Content<'a>, align: u64, entsize: u64) -> Section<'a> {
    Section {
        name: 0,
        kind,
        flags: 0,
        addr: 0,
        link: 2,
        info: 0,
        align,
        entsize,
        content,
        placement: Placement::Natural,
    }
}

fn extra_section(class: Class, extra: &Extra, align: u64, gap: u64) -> Section<'static> {
    let mut section = match extra {
        Extra::Bytes(bytes) => {
            section(SectionType::PROGBITS, Content::Bytes(bytes.clone().into()), align, 0)
        }
        Extra::NoBits(size) => {
            section(SectionType::NOBITS, Content::NoBits((*size).into()), align, 0)
        }
        Extra::Relocations(list) => {
            let addends = list.first().is_some_and(|r| r.addend.is_some());
            let kind = if addends { SectionType::RELA } else { SectionType::REL };
            section(kind, Content::Relocations(list.clone()), 8, class.reloc_size(addends))
        }
        Extra::Pairs(list) => {
            let pair = |&(a, b): &(u32, u32)| Pair { first: a.into(), second: b.into() };
            let pairs = Content::Pairs(list.iter().map(pair).collect());
            section(SectionType::CUDA_PROTOTYPE, pairs, 4, 8)
        }
    };
    if gap > 0 {
        section.placement = Placement::After(gap);
    }
    section
}

prop_compose! {
    fn image()(header in header(), count in 0..6_u16)(
        header in Just(header),
        extras in vec((extra(header.class), 0..5_u32, 0..20_u64), usize::from(count)),
        names in vec(name(), 1..5),
        symbols in vec(symbol(header.class, count + 4), 0..8),
        segments in vec(any::<[u32; 4]>(), 0..4),
    ) -> Image<'static> {
        let class = header.class;
        let mut strings = StringTable::new(vec![0]);
        let offsets: Vec<u32> = names.iter().map(|n| strings.add(n).unwrap()).collect();
        let symbols = symbols.into_iter().zip(offsets.iter().cycle());
        let symbols = symbols.map(|(s, &name)| Symbol { name, ..s }).collect();
        let mut sections = vec![
            section(SectionType::NULL, Content::NoBits(0), 0, 0),
            section(SectionType::STRTAB, Content::Strings(strings.clone()), 1, 0),
            section(SectionType::STRTAB, Content::Strings(strings), 1, 0),
            section(SectionType::SYMTAB, Content::Symbols(symbols), 8, class.symbol_size()),
        ];
        sections[0].placement = Placement::At(0);
        for (extra, align, gap) in &extras {
            sections.push(extra_section(class, extra, 1 << align, *gap));
        }
        let segment = |[kind, flags, offset, size]: [u32; 4]| Segment {
            kind: SegmentType(kind), flags, offset: offset.into(), vaddr: 0, paddr: 0, filesz: size.into(),
            memsz: size.into(), align: 8,
        };
        Image {
            header: Header {
                shnum: 1,
                shstrndx: 1,
                shentsize: class.section_header_size(),
                phentsize: class.program_header_size(),
                ..header
            },
            sections,
            segments: segments.into_iter().map(segment).collect(),
            section_headers: Placement::Natural,
            program_headers: Placement::Natural,
            fillers: Vec::new(),
        }
    }
}

fn item() -> impl Strategy<Value = (Option<u16>, u8, Vec<u8>, u16)> {
    (proptest::option::of(0..512_u16), 0..6_u8, vec(any::<u8>(), 31), 0..512_u16)
}

proptest! {
    #[test]
    fn headers(header in header()) {
        let mut bytes = Vec::new();
        header.append(header.class, &mut bytes).unwrap();
        prop_assert_eq!(bytes.len(), usize::from(header.class.header_size()));
        prop_assert_eq!(Header::parse(&bytes).unwrap(), header);
    }

    #[test]
    fn flags(word in any::<u32>(), new in any::<bool>(), mut header in header()) {
        header.flags = word;
        header.ident[7] = if new { OSABI_V8 } else { OSABI_V7 };
        let flags = Flags::decode(&header);
        prop_assert_eq!(matches!(flags, Flags::V8(_)), new);
        prop_assert_eq!(flags.encode(), word);
    }

    #[test]
    fn whole_files_of_both_classes(image in image()) {
        let bytes = image.to_bytes().unwrap();
        prop_assert_eq!(image.serialized_size().unwrap(), bytes.len() as u64);
        let mut counter = Counter::default();
        image.write(&mut counter).unwrap();
        prop_assert_eq!(counter.0, bytes.len() as u64);

        let cubin = Cubin::parse(&bytes).unwrap();
        prop_assert_eq!(cubin.sections().len(), image.sections.len());
        prop_assert_eq!(cubin.segments().unwrap(), image.segments.clone());
        for (read, section) in cubin.sections().iter().zip(&image.sections) {
            prop_assert_eq!(read.kind, section.kind);
            prop_assert_eq!(read.size, section.content.size(image.header.class));
            if let Content::Relocations(list) = &section.content {
                prop_assert_eq!(&cubin.relocs(&read).unwrap(), list);
            }
        }
        if let Content::Symbols(list) = &image.sections[3].content {
            for (read, symbol) in cubin.symbols().zip(list) {
                prop_assert_eq!((read.name_offset, read.info), (symbol.name, symbol.info));
                prop_assert_eq!((read.value, read.size), (symbol.value, symbol.size));
                prop_assert_eq!(read.shndx, u32::from(symbol.shndx));
                prop_assert_eq!(read.is_common(), symbol.shndx == 0xfff2);
            }
            prop_assert_eq!(cubin.symbol_count(), list.len());
        }
        let again = Image::from_cubin(&cubin).unwrap();
        prop_assert_eq!(again.to_bytes().unwrap(), bytes);
    }

    #[test]
    fn attribute_records(
        list in vec((1..=4_u8, any::<u8>(), any::<u16>(), vec(any::<u8>(), 0..30)), 0..20),
    ) {
        let mut bytes = Vec::new();
        let mut records = Vec::new();
        for (format, code, value, payload) in &list {
            let record = match *format {
                4 => Record::sized(*code, payload).unwrap(),
                other => Record::scalar(Format(other), *code, *value),
            };
            record.write(&mut bytes);
            records.push(record);
        }
        let read: Vec<_> = info::records(&bytes).collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(read, records);
    }

    #[test]
    fn parameter_payloads(packed in any::<u32>(), ordinal in any::<u16>(), words in any::<[u32; 2]>()) {
        let param = KernelParam { ordinal: ordinal.into(), packed: packed.into(), ..Default::default() };
        let record = Record::sized(0x17, param.as_bytes()).unwrap();
        prop_assert_eq!(record.payload_as::<KernelParam>(), Some(param));
        let rebuilt = (param.size() << 18) | (param.bank() << 12) | (param.space() << 8)
            | param.log2_alignment() | (packed & (1 << 17));
        prop_assert_eq!(rebuilt, packed);
        let bank = ParamBank::read_from_bytes(words.as_bytes()).unwrap();
        prop_assert_eq!(bank.symbol.get(), words[0]);
        prop_assert_eq!(u32::from(bank.size.get()) << 16 | u32::from(bank.offset.get()), words[1]);
    }

    #[test]
    fn notes(strings in vec(name(), 5), version in any::<u32>(), cuda in any::<[u8; 8]>()) {
        let info = ToolInfo {
            version,
            object: &strings[0],
            tool: &strings[1],
            release: &strings[2],
            build: &strings[3],
            options: &strings[4],
        };
        let cuda = CudaInfo::read_from_bytes(&cuda[..]).unwrap();
        let mut section = Vec::new();
        note::write_note(NoteType::CUINFO, cuda.as_bytes(), &mut section);
        note::write_note(NoteType::TKINFO, &info.to_desc(), &mut section);
        let read: Vec<_> = note::notes(&section).collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(read.iter().map(note::Note::size).sum::<usize>(), section.len());
        prop_assert_eq!(CudaInfo::parse(read[0].desc).unwrap(), cuda);
        prop_assert_eq!(ToolInfo::parse(read[1].desc).unwrap(), info);
    }

    #[test]
    fn call_graphs(lists in vec(vec((1..1000_u32, any::<u32>()), 0..6), 4)) {
        let mut graph = Vec::new();
        let mut expected = Vec::new();
        for (list, pairs) in callgraph::List::ALL.into_iter().zip(lists) {
            graph.push(callgraph::sentinel(list));
            for (a, b) in pairs {
                let pair = Pair { first: a.into(), second: b.into() };
                graph.push(pair);
                expected.push((list, pair));
            }
        }
        let read: Vec<_> =
            callgraph::entries(graph.as_bytes()).unwrap().collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn relocation_actions(first in any::<u64>(), raw in vec(any::<[u8; 8]>(), 0..6)) {
        let actions: Vec<_> =
            raw.iter().map(|r| Action::read_from_bytes(&r[..]).unwrap()).collect();
        let section = RelActions { first, actions: &actions };
        let bytes = section.to_bytes();
        prop_assert_eq!(RelActions::parse(&bytes).unwrap(), section);
    }

    #[test]
    fn relocation_fields(
        kind in 0..117_u32,
        value in any::<u64>(),
        bank in 0..32_u32,
        place in any::<[u8; 16]>(),
    ) {
        let kind = reloc::cuda(RelocKind(kind)).unwrap();
        let mut patched = place;
        let done = reloc::patch(kind.fields, &mut patched, value, bank);
        if kind.fields.iter().any(|f| f.value == reloc::Value::Instruction) {
            prop_assert_eq!(done, Err(reloc::PatchError::Instruction));
            prop_assert_eq!(patched, place);
            return Ok(());
        }
        done.unwrap();
        // Bits outside the fields stay, and patching again changes nothing.
        let mut outside = u128::MAX;
        for f in kind.fields {
            outside &= !(((1_u128 << f.width) - 1) << f.start);
        }
        let (before, after) = (u128::from_le_bytes(place), u128::from_le_bytes(patched));
        prop_assert_eq!(before & outside, after & outside);
        let mut twice = patched;
        reloc::patch(kind.fields, &mut twice, value, bank).unwrap();
        prop_assert_eq!(twice, patched);
        // What the fields hold is the part of the value they can hold.
        let held = reloc::extract(kind.fields, &patched).unwrap();
        let mut again = place;
        reloc::patch(kind.fields, &mut again, held, bank).unwrap();
        prop_assert_eq!(again, patched);
    }

    #[test]
    fn capsules(
        text_section in any::<u32>(),
        long in any::<bool>(),
        items in vec(item(), 0..40),
        sass_only in 0..70_u32,
        tail in vec(any::<u8>(), 0..5),
    ) {
        let mut bodies = Vec::new();
        for (_, kind, body, _) in &items {
            let (first, size) = [(1, 16), (2, 32), (0x41, 4), (0x42, 4), (0, 0), (0x31, 16)][usize::from(*kind)];
            let mut bytes = vec![first];
            bytes.extend_from_slice(body);
            bytes.truncate(size);
            bodies.push(bytes);
        }
        let items: Vec<Item<'_>> = items
            .iter()
            .zip(&bodies)
            .map(|((expands_to, kind, _, filler), body)| Item {
                expands_to: *expands_to,
                form: match kind {
                    0 | 1 => ItemForm::Full(body),
                    2 | 3 => ItemForm::Short(body),
                    5 => ItemForm::Note(body),
                    _ => ItemForm::Filler(*filler),
                },
            })
            .collect();
        let count = items.len() as u32 + sass_only;
        let mut mask = vec![0_u8; count.div_ceil(32) as usize * 4];
        for i in items.len()..count as usize {
            mask[i / 8] |= 1 << (i % 8);
        }
        let header = if long { CapsuleHeader::Long(0xc000_0001) } else { CapsuleHeader::Short };
        let capsule = Capsule { text_section, header, count, mask: &mask, items, tail: &tail };
        let bytes = capsule.to_bytes();
        prop_assert_eq!(bytes.len(), capsule.size());
        prop_assert_eq!(Capsule::parse(&bytes).unwrap(), capsule);
    }

    #[test]
    fn any_bytes_are_safe(bytes in vec(any::<u8>(), 0..300)) {
        let _ = Cubin::parse(&bytes);
        let _ = cubin::validate::validate(&bytes);
        let _ = info::records(&bytes).count();
        let _ = note::notes(&bytes).count();
        let _ = callgraph::entries(&bytes).map(Iterator::count);
        let _ = RelActions::parse(&bytes);
        if let Ok(capsule) = Capsule::parse(&bytes) {
            prop_assert_eq!(capsule.to_bytes(), bytes);
        }
    }
}

/// Past 0xff00 sections the header's count is 0 and symbols need a table of
/// their own for the index.
#[test]
fn extended_section_numbers() {
    let count = 0xff10_usize;
    let far = Symbol { name: 1, info: 0, other: 0, shndx: 0xffff, value: 7, size: 0 };
    let near = Symbol { shndx: 5, ..far };
    let strings = || Content::Strings(StringTable::new(&b"\0name\0"[..]));
    let mut indices = Vec::new();
    for index in [0xff0f_u32, 0] {
        indices.extend_from_slice(&index.to_le_bytes());
    }
    let mut sections = vec![
        section(SectionType::NULL, Content::NoBits(count as u64), 0, 0),
        section(SectionType::STRTAB, strings(), 1, 0),
        section(SectionType::STRTAB, strings(), 1, 0),
        section(SectionType::SYMTAB, Content::Symbols(vec![far, near]), 8, 24),
        section(SectionType::SYMTAB_SHNDX, Content::Bytes(indices.into()), 4, 4),
    ];
    sections[0].placement = Placement::At(0);
    sections[0].link = 1;
    sections[4].link = 3;
    while sections.len() < count {
        sections.push(section(SectionType::NOBITS, Content::NoBits(1), 1, 0));
    }
    let mut file = [0; 64];
    file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    file[16] = 1;
    file[18] = EM_CUDA as u8;
    file[52] = 64;
    file[58] = 64;
    let header = Header { shstrndx: 0xffff, ..Header::parse(&file).unwrap() };
    let mut image = Image {
        header,
        sections,
        segments: Vec::new(),
        section_headers: Placement::Natural,
        program_headers: Placement::Natural,
        fillers: Vec::new(),
    };
    let bytes = image.to_bytes().unwrap();
    let cubin = cubin::validate::validate(&bytes).unwrap();
    assert_eq!(cubin.header().shnum, 0);
    assert_eq!(cubin.sections().len(), count);
    let symbols: Vec<_> = cubin.symbols().collect();
    assert_eq!((symbols[0].shndx, symbols[0].reserved), (0xff0f, false));
    assert_eq!((symbols[1].shndx, symbols[1].name), (5, &b"name"[..]));
    assert!(Image::from_cubin(&cubin).unwrap().to_bytes().unwrap() == bytes);
    // A null section that says otherwise would make an unreadable file.
    image.sections[0].content = Content::NoBits(3);
    assert!(image.to_bytes().is_err());
}
