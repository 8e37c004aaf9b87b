//! The committed files: valid, what their names say, and the same after
//! reading and writing.

use cubin::capsule::Capsule;
use cubin::classify::{self, SectionClass, Space, SymbolClass};
use cubin::flags::{CodeState, Identity};
use cubin::model::{
    Callback, Content, Counter, Image, Memory, Placement, Sink, Stream, StringTable, Symbol,
};
use cubin::validate::{Layer, Problem, validate};
use cubin::{Cubin, FileType, Variant};
use std::time::{Duration, Instant};
use support::{fixture, fixtures};

#[test]
fn every_fixture_comes_back() {
    for (path, bytes) in fixtures() {
        let cubin = validate(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let image = Image::from_cubin(&cubin).unwrap();
        assert_eq!(image.serialized_size().unwrap(), bytes.len() as u64, "{}", path.display());
        let written = image.to_bytes().unwrap();
        assert!(written == bytes, "{}", path.display());
        // A file that grew by doubling would take twice its memory.
        assert_eq!(written.capacity(), bytes.len(), "{}", path.display());
    }
}

#[test]
fn names_tell_the_target() {
    for (path, bytes) in fixtures() {
        let name = path.file_name().unwrap().to_str().unwrap();
        let target = name.split('.').nth(1).unwrap();
        let identity = Identity::of(&Cubin::parse(&bytes).unwrap()).unwrap();
        assert_eq!(identity.arch.to_string(), target, "{name}");
        let cuda12 = name.contains("cuda12");
        let toolkit = match target {
            _ if cuda12 => 129,
            // CUDA 13.4 is the first that has it.
            "sm_107" => 134,
            _ => 130,
        };
        assert_eq!(identity.toolkit, Some(toolkit), "{name}");
        let capsule = identity.arch.number >= 100;
        assert_eq!(identity.state == CodeState::CapsuleMercury, capsule, "{name}");
        let old = cuda12 && !capsule;
        assert_eq!(identity.abi, if old { 7 } else { 8 }, "{name}");
        let executable =
            name.contains("exec") || name.contains("linked") || name.contains(".lines");
        let expected = if executable { FileType::EXEC } else { FileType::REL };
        assert_eq!(identity.file_type, expected, "{name}");
        assert_eq!(identity.address_bits, 64);
    }
}

#[test]
fn variant_letters() {
    let variant = |name: &str| {
        let bytes = fixture(name);
        Identity::of(&Cubin::parse(&bytes).unwrap()).unwrap().arch.variant
    };
    assert_eq!(variant("scale.sm_90a.exec.cubin"), Variant::Accelerated);
    assert_eq!(variant("scale.sm_100a.cuda12.cubin"), Variant::Accelerated);
    assert_eq!(variant("scale.sm_90.cubin"), Variant::Plain);
}

fn class_of(file: &str, symbol: &str) -> SymbolClass {
    let bytes = fixture(file);
    let cubin = Cubin::parse(&bytes).unwrap();
    let found = cubin.symbols().find(|s| s.name == symbol.as_bytes());
    classify::symbol(&cubin, &found.unwrap_or_else(|| panic!("{symbol} in {file}")))
}

#[test]
fn symbols_are_classified() {
    for target in ["sm_75", "sm_90", "sm_100"] {
        let data = format!("data.{target}.cubin");
        assert_eq!(class_of(&data, "_Z6spacesPi"), SymbolClass::Kernel);
        assert_eq!(class_of(&data, "table"), SymbolClass::Data(Space::Constant(3)));
        assert_eq!(class_of(&data, "zeroed"), SymbolClass::Data(Space::Global));
        assert_eq!(class_of(&data, "filled"), SymbolClass::Data(Space::Global));
        assert_eq!(class_of(&data, "both"), SymbolClass::Managed);
        let vec = format!("vec.{target}.cubin");
        assert_eq!(class_of(&vec, "_Z4polyfi"), SymbolClass::Function);
        assert_eq!(class_of(&vec, "_Z5scaleff"), SymbolClass::UndefinedFunction);
        let weak = format!("weak.{target}.cubin");
        assert_eq!(class_of(&weak, "shared_state"), SymbolClass::Common);
        let texref = format!("texref.{target}.cubin");
        assert_eq!(class_of(&texref, "tex_a"), SymbolClass::Texture);
        assert_eq!(class_of(&texref, "surf_a"), SymbolClass::Surface);
        // The linker takes the space out of st_other; the section tells it.
        let linked = format!("linked-object.{target}.cubin");
        assert_eq!(class_of(&linked, "table"), SymbolClass::Data(Space::Constant(3)));
        assert_eq!(class_of(&linked, "zeroed"), SymbolClass::Data(Space::Global));
    }
}

#[test]
fn no_section_is_unknown() {
    for (path, bytes) in fixtures() {
        for section in Cubin::parse(&bytes).unwrap().sections() {
            let class = classify::section(&section).class;
            let name = section.name.escape_ascii();
            assert_ne!(class, SectionClass::Other, "{name} in {}", path.display());
        }
    }
}

#[test]
fn capsules_add_up_to_the_machine_code() {
    let mut seen = 0;
    for (path, bytes) in fixtures() {
        let cubin = Cubin::parse(&bytes).unwrap();
        for section in cubin.sections() {
            if !matches!(classify::section(&section).class, SectionClass::Capsule(_)) {
                continue;
            }
            let capsule =
                Capsule::parse(section.data).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let text = cubin.section(capsule.text_section).unwrap();
            assert!(matches!(classify::section(&text).class, SectionClass::Text(_)));
            assert_eq!(capsule.sass_instructions() * 16, text.size as i64, "{}", path.display());
            assert!(capsule.tail.is_empty());
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen} capsules");
}

#[test]
fn all_sinks_receive_the_same_bytes() {
    let bytes = fixture("linked-object.sm_100.cubin");
    let image = Image::from_cubin(&Cubin::parse(&bytes).unwrap()).unwrap();
    let mut counter = Counter::default();
    image.write(&mut counter).unwrap();
    assert_eq!(counter.0, bytes.len() as u64);
    let mut stream = Stream(std::io::Cursor::new(Vec::new()));
    image.write(&mut stream).unwrap();
    assert!(stream.0.into_inner() == bytes);
    let mut collected = Vec::new();
    image
        .write(&mut Callback(|piece: &[u8]| {
            collected.extend_from_slice(piece);
            Ok(())
        }))
        .unwrap();
    assert!(collected == bytes);
    let mut memory = vec![0xaa; bytes.len()];
    let mut sink = Memory::new(&mut memory);
    image.write(&mut sink).unwrap();
    assert_eq!(sink.used(), bytes.len());
    assert!(memory == bytes);
    let mut short = vec![0; bytes.len() - 1];
    assert!(image.write(&mut Memory::new(&mut short)).is_err());
    let mut failing = Callback(|_: &[u8]| Err(std::io::Error::other("full")));
    assert!(failing.write(b"x").is_err());
    assert!(image.write(&mut failing).is_err());
}

#[test]
fn a_grown_section_moves_the_rest() {
    let bytes = fixture("scale.sm_90.cubin");
    let mut image = Image::from_cubin(&Cubin::parse(&bytes).unwrap()).unwrap();
    let strings = &mut image.sections[2].content;
    let Content::Strings(table) = strings else { panic!(".strtab is section 2") };
    let offset = table.add(b"a_name_of_forty_letters_to_move_all_rest").unwrap();
    assert_eq!(table.add(b"a\0b"), None);
    let written = image.to_bytes().unwrap();
    let cubin = validate(&written).unwrap();
    assert_eq!(written.len() as u64, image.serialized_size().unwrap());
    assert_eq!(cubin.symbol_string(offset).unwrap(), b"a_name_of_forty_letters_to_move_all_rest");
    let old = Cubin::parse(&bytes).unwrap();
    for (a, b) in old.sections().iter().zip(cubin.sections()).skip(3) {
        assert_eq!(a.data, b.data);
        assert_eq!(a.name, b.name);
    }
}

#[test]
fn overlaps_are_errors() {
    let bytes = fixture("scale.sm_90.cubin");
    let mut image = Image::from_cubin(&Cubin::parse(&bytes).unwrap()).unwrap();
    image.sections[4].placement = Placement::At(0x50);
    assert!(image.to_bytes().is_err());
    let mut image = Image::from_cubin(&Cubin::parse(&bytes).unwrap()).unwrap();
    image.sections[4].placement = Placement::SameAs(9);
    assert!(image.to_bytes().is_err());
}

#[test]
fn violations_say_where() {
    let bytes = fixture("scale.sm_90.cubin");
    let cubin = Cubin::parse(&bytes).unwrap();
    let rela =
        cubin.sections().iter().find(|s| s.name.starts_with(b".rela.text.")).expect("relocations");
    let symbol_at = rela.offset as usize + 12;
    let mut broken = bytes.clone();
    broken[symbol_at..symbol_at + 4].copy_from_slice(&999_u32.to_le_bytes());
    let violation = validate(&broken).unwrap_err();
    assert_eq!(violation.layer, Layer::Tables);
    assert_eq!((violation.field, violation.section), ("r_info", Some(rela.index.0)));
    assert_eq!(violation.value, 999);
    assert!(matches!(violation.problem, Problem::Index { .. }));
    let mut broken = bytes.clone();
    broken[rela.offset as usize..][..8].copy_from_slice(&u64::MAX.to_le_bytes());
    assert_eq!(validate(&broken).unwrap_err().field, "r_offset");
}

#[test]
fn many_symbols_with_one_long_name_are_refused() {
    // Reading them all would take time quadratic in the file's size.
    let original = fixture("linked-vec.sm_90.cubin");
    let cubin = Cubin::parse(&original).unwrap();
    let mut image = Image::from_cubin(&cubin).unwrap();
    let mut names = vec![0; 1];
    names.resize(4 << 20, b'x');
    names.push(0);
    for section in &mut image.sections {
        match &mut section.content {
            Content::Symbols(list) => {
                let long = Symbol { name: 1, info: 0, other: 0, shndx: 0, value: 0, size: 0 };
                *list = vec![long; 100_000];
            }
            Content::Strings(table) if section.name > 1 => {
                *table = StringTable::new(std::mem::take(&mut names));
            }
            _ => {}
        }
    }
    let hostile = image.to_bytes().unwrap();
    let start = Instant::now();
    let error = Cubin::parse(&hostile).unwrap_err();
    assert!(matches!(error, cubin::ReadError::Names { .. }), "{error}");
    assert!(start.elapsed() < Duration::from_secs(10));
}
