//! Comparisons of real files, and of files with one thing changed.

use cubin::model::{Content, Image, StringTable};
use cubin::{Cubin, SectionType};
use cubin_tools::diff::{Area, Change, Difference, Input, Options, compare};
use std::borrow::Cow;
use support::{fixture, fixtures};

fn differences(a: &[u8], b: &[u8]) -> Vec<Difference> {
    compare(a, b, &Options::default()).unwrap().differences
}

fn lines(a: &[u8], b: &[u8]) -> Vec<String> {
    differences(a, b).iter().map(Difference::to_string).collect()
}

/// The file after `change`.
fn changed(file: &[u8], change: impl FnOnce(&mut Image<'_>)) -> Vec<u8> {
    let cubin = Cubin::parse(file).unwrap();
    let mut image = Image::from_cubin(&cubin).unwrap();
    change(&mut image);
    image.to_bytes().unwrap()
}

fn index_of(image: &Image<'_>, name: &[u8]) -> usize {
    image.sections.iter().position(|s| image.section_name(s) == Some(name)).unwrap()
}

#[test]
fn every_fixture_is_the_same_as_itself_and_unlike_the_others() {
    let mut files: Vec<Vec<u8>> = fixtures().into_iter().map(|(_, bytes)| bytes).collect();
    files.sort();
    for pair in files.windows(2) {
        assert!(compare(&pair[0], &pair[0], &Options::default()).unwrap().is_same());
        let report = compare(&pair[0], &pair[1], &Options::default()).unwrap();
        assert_eq!(report.is_same(), pair[0] == pair[1]);
    }
}

#[test]
fn a_changed_symbol_is_named_with_the_field() {
    let file = fixture("linked-vec.sm_90.cubin");
    let mut name = String::new();
    let other = changed(&file, |image| {
        let at = index_of(image, b".symtab");
        let Content::Symbols(symbols) = &mut image.sections[at].content else { panic!() };
        let symbol = symbols.iter_mut().rev().find(|s| s.info & 15 == 2).unwrap();
        symbol.size += 0x10;
        let offset = symbol.name;
        let strings = index_of(image, b".strtab");
        let Content::Strings(strings) = &image.sections[strings].content else { panic!() };
        name = String::from_utf8(strings.get(offset).unwrap().to_vec()).unwrap();
    });
    let found = lines(&file, &other);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with(&format!("symbol {name}: size is 0x")), "{}", found[0]);
}

#[test]
fn a_changed_instruction_is_named_by_function_and_input() {
    let file = fixture("linked-vec.sm_90.cubin");
    let mut function = String::new();
    let other = changed(&file, |image| {
        let at = (0..image.sections.len())
            .find(|&i| {
                let name = image.section_name(&image.sections[i]).unwrap();
                name.starts_with(b".text.")
            })
            .unwrap();
        let name = image.section_name(&image.sections[at]).unwrap();
        function = String::from_utf8(name[6..].to_vec()).unwrap();
        let Content::Bytes(bytes) = &mut image.sections[at].content else { panic!() };
        bytes.to_mut()[0x42] ^= 0xff;
    });
    let inputs: Vec<Vec<u8>> =
        ["vec.sm_90.cubin", "scale.sm_90.cubin"].iter().map(|name| fixture(name)).collect();
    let inputs: Vec<Input<'_>> = inputs
        .iter()
        .enumerate()
        .map(|(i, data)| Input { name: format!("input{i}"), cubin: Cubin::parse(data).unwrap() })
        .collect();
    let options = Options { inputs: &inputs, ..Options::default() };
    let report = compare(&file, &other, &options).unwrap();
    let [difference] = report.differences.as_slice() else { panic!("{report:?}") };
    assert_eq!(difference.area, Area::Bytes);
    assert_eq!(difference.place, format!("of .text.{function} {function}+0x42"));
    let Change::Bytes { offset: 0x42, size: 1, notes, .. } = &difference.change else {
        panic!("{difference:?}")
    };
    let from = |note: &String| note.starts_with("from input") && note.ends_with("+0x42");
    assert!(notes.iter().any(from), "{notes:?}");
}

#[test]
fn attributes_go_by_name() {
    let file = fixture("linked-vec.sm_90.cubin");
    let other = changed(&file, |image| {
        let at = index_of(image, b".nv.info");
        let Content::Records(records) = &mut image.sections[at].content else { panic!() };
        let at = records.iter().position(|r| r.attr() == cubin::attr::Attr::REGCOUNT).unwrap();
        records.remove(at);
    });
    let found = lines(&file, &other);
    let gone = |line: &&String| {
        line.starts_with("attribute .nv.info REGCOUNT of ") && line.contains(": only in A: value ")
    };
    assert_eq!(found.iter().filter(gone).count(), 1, "{found:?}");
    let size = |line: &String| line.starts_with("section .nv.info: size is ");
    assert!(found.iter().any(size), "{found:?}");
}

#[test]
fn the_tool_note_can_be_ignored() {
    let file = fixture("linked-vec.sm_90.cubin");
    let other = changed(&file, |image| {
        let at = index_of(image, b".note.nv.tkinfo");
        let Content::Notes(notes) = &mut image.sections[at].content else { panic!() };
        let blank = "x".repeat(notes[0].desc.len());
        let tool = |fill: usize| cubin::note::ToolInfo {
            version: 2,
            object: b"",
            tool: b"another linker",
            release: b"1",
            build: b"2",
            options: &blank.as_bytes()[..fill],
        };
        // As long as the old one, since the program headers are not laid out anew.
        let fill = notes[0].desc.len() - tool(0).to_desc().len();
        let desc: &'static [u8] = tool(fill).to_desc().leak();
        notes[0].desc = desc;
    });
    let found = lines(&file, &other);
    assert!(
        found.iter().any(|l| l.starts_with("note of a tool: tool is ") && l.contains("another")),
        "{found:?}"
    );
    let options = Options { ignore_tool_note: true, ..Options::default() };
    let report = compare(&file, &other, &options).unwrap();
    assert!(report.is_same(), "{report:?}");
    // A difference elsewhere still counts.
    let third = changed(&other, |image| image.header.flags ^= 1);
    assert!(!compare(&file, &third, &options).unwrap().is_same());
}

#[test]
fn one_section_more_is_not_a_difference_everywhere() {
    let file = fixture("linked-vec.sm_90.cubin");
    let other = changed(&file, |image| {
        let names = usize::from(image.header.shstrndx);
        let Content::Strings(table) = &mut image.sections[names].content else { panic!() };
        let name = table.add(b".debug_extra").unwrap();
        let mut section = image.sections[names].clone();
        section.name = name;
        section.kind = SectionType::PROGBITS;
        section.content = Content::Bytes(Cow::Borrowed(&[1, 2, 3, 4]));
        image.sections.push(section);
    });
    let found = lines(&file, &other);
    assert!(found.iter().any(|l| l == "section .debug_extra: only in B: PROGBITS, 4 bytes"));
    assert!(found.iter().any(|l| l.starts_with("string .shstrtab \".debug_extra\": only in B")));
    let elsewhere = |line: &&String| {
        ["symbol", "relocation", "attribute", "call graph"]
            .iter()
            .any(|area| line.starts_with(area))
    };
    assert_eq!(found.iter().find(elsewhere), None);
}

#[test]
fn equal_words_with_other_bytes_are_still_different() {
    let file = fixture("vec.sm_90.cubin");
    // A name that is there twice, and a symbol that uses the other one.
    let twice = changed(&file, |image| {
        let strings = index_of(image, b".strtab");
        let Content::Strings(table) = &mut image.sections[strings].content else { panic!() };
        let mut bytes = table.as_bytes().to_vec();
        bytes.extend_from_within(1..);
        *table = StringTable::new(bytes);
    });
    let other = changed(&twice, |image| {
        let strings = index_of(image, b".strtab");
        let Content::Strings(table) = &image.sections[strings].content else { panic!() };
        let shift = table.as_bytes().len() as u32 / 2;
        let at = index_of(image, b".symtab");
        let Content::Symbols(symbols) = &mut image.sections[at].content else { panic!() };
        symbols.iter_mut().rev().find(|s| s.name > 0).unwrap().name += shift;
    });
    let found = lines(&twice, &other);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("bytes of .symtab"), "{}", found[0]);
}

#[test]
fn files_of_other_kinds_are_trouble() {
    let file = fixture("vec.sm_90.cubin");
    let error = compare(&file, b"text", &Options::default()).unwrap_err();
    assert_eq!(
        (error.side, error.to_string().as_str()),
        (cubin_tools::diff::Side::B, "not an ELF file")
    );
    assert!(compare(b"text", b"text", &Options::default()).unwrap().is_same());
}

#[test]
fn damaged_files_are_safe() {
    let good = fixture("linked-object.sm_100.cubin");
    let mut random = 0x9e37_79b9_u32;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        random as usize % below
    };
    let cubin = Cubin::parse(&good).unwrap();
    let inputs = [Input { name: "good".into(), cubin }];
    let mut compared = 0;
    for _ in 0..400 {
        let mut bad = good.clone();
        for _ in 0..1 + next(4) {
            let at = next(bad.len());
            bad[at] ^= 1 << next(8);
        }
        let options = Options { inputs: &inputs, ignore_tool_note: next(2) == 1 };
        for (a, b) in [(&good, &bad), (&bad, &good)] {
            if let Ok(report) = compare(a, b, &options) {
                compared += 1;
                assert!(options.ignore_tool_note || report.is_same() == (a == b));
                report.write_text(&mut std::io::sink(), ["a", "b"], 9).unwrap();
                report.to_json(["a", "b"], 9);
            }
        }
    }
    assert!(compared > 300, "{compared}");
}
