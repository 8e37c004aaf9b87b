//! Whatever comes before an input, it is read the same.

use crate::dialect::Half;
use crate::inputs::LinkInput;
use crate::name_hash::NameHash;
use crate::object::{Object, ObjectBatch};
use cubin::Cubin;
use std::fmt::Write;
use support::fixture;

/// All that is known of the last of some inputs, or what is wrong with one of them.
fn last_of(files: &[&[u8]], reuse: bool) -> String {
    let inputs: Vec<_> =
        files.iter().map(|&file| LinkInput::new("input".into(), file.into())).collect();
    let shelf = ObjectBatch::default();
    let mut objects: Vec<_> = inputs.iter().map(Object::unread).collect();
    match shelf.read(&mut objects, &inputs, Half::Machine, reuse) {
        Ok((objects, calls)) => {
            let calls = calls.iter().last().map(|(lists, prototypes)| {
                let prototypes = prototypes.to_vec();
                format!("{lists:?} {prototypes:?}")
            });
            format!("{} {calls:?}", described(objects.last().expect("an input")))
        }
        Err(error) => format!("{error:?}"),
    }
}

fn described(object: &Object<'_>) -> String {
    let mut out = String::new();
    for (section, class) in (0..).zip(object.classes) {
        let bytes = NameHash::of(object.section_data(section));
        let section =
            object.section(section).map(|s| (s.kind, s.flags, s.size, s.align, s.entsize));
        let _ = writeln!(out, "{class:?} {section:?} {bytes:?}");
    }
    for (list, is_function) in [(object.functions, true), (object.data, false)] {
        for named in list {
            let (name, size) = (object.name_of(named), named.small_size());
            let function_info = is_function.then(|| object.function_info(named.symbol));
            let (symbol, hash, place) = (named.symbol, named.hash, named.place);
            let (binding, other) = (named.binding(), named.other);
            let _ =
                writeln!(out, "{symbol} {name:?} {hash:?} {size:?} {place:?} {function_info:?}");
            let _ = writeln!(out, "{binding:?} {other} {}", named.is_function());
        }
    }
    let Object { compat, whole_program, virtual_sm, unified, barriers_in_flags, .. } = object;
    let shared_or_images = object.has_shared_or_images;
    let _ = writeln!(out, "{compat:?} {whole_program} {virtual_sm} {unified} {shared_or_images}");
    let _ = writeln!(out, "{barriers_in_flags} {} {}", object.has_bank2(), object.shares_code);
    out
}

/// Objects with functions, variables of all kinds, notes and tables of all toolkits.
const FIXTURES: [&str; 6] = [
    "object.sm_90.cubin",
    "object.sm_70.cuda12.cubin",
    "data.sm_75.cubin",
    "shared.sm_90.cubin",
    "texref.sm_90.cubin",
    "partial.sm_90.cubin",
];

#[test]
fn inputs_are_read_the_same_after_one_that_they_differ_from_in_a_byte() {
    for name in FIXTURES {
        let first = fixture(name);
        assert_eq!(last_of(&[&first, &first], true), last_of(&[&first], true), "{name}");
        let mut no_sections = first.clone();
        no_sections[40..48].fill(0);
        let alone = last_of(&[&no_sections], true);
        assert_eq!(last_of(&[&first, &no_sections], true), alone, "{name}");
        for at in (0..first.len()).step_by(3) {
            let mut second = first.clone();
            second[at] ^= [1, 0x40, 0xff][at / 3 % 3];
            let alone = last_of(&[&second], true);
            assert_eq!(last_of(&[&first, &second], true), alone, "{name} {at:#x}");
            if at % 5 == 0 {
                let twice = [&first[..], &second, &second];
                assert_eq!(last_of(&twice, true), alone, "{name} {at:#x} twice");
                assert_eq!(last_of(&twice, false), alone, "{name} {at:#x} without reuse");
            }
        }
    }
}

/// Nameless symbols take no part, but the same symbols of the next input do if they have names.
#[test]
fn inputs_are_read_the_same_after_one_that_lacks_a_name() {
    for name in FIXTURES {
        let image = fixture(name);
        let cubin = Cubin::parse(&image).expect("a fixture");
        let table = cubin.symtab_section().and_then(|at| cubin.section(at.0)).expect("symbols");
        let alone = last_of(&[&image], true);
        for symbol in cubin.symbols() {
            let mut nameless = image.clone();
            let at = table.offset as usize + table.entsize as usize * symbol.index.0 as usize;
            nameless[at..at + 4].fill(0);
            assert_eq!(last_of(&[&nameless, &image], true), alone, "{name} {symbol:?}");
        }
    }
}

/// What of inputs is shared with the input before: the flags, and whether lists are.
fn shared(files: &[&[u8]], reuse: bool) -> Vec<[bool; 4]> {
    let inputs: Vec<_> =
        files.iter().map(|&file| LinkInput::new("input".into(), file.into())).collect();
    let batch = ObjectBatch::default();
    let mut objects: Vec<_> = inputs.iter().map(Object::unread).collect();
    let (objects, _) = batch.read(&mut objects, &inputs, Half::Machine, reuse).expect("inputs");
    let pairs = objects.windows(2).map(|pair| {
        let [previous, next] = pair else { unreachable!("two inputs") };
        let shares_classes = next.shares_classes(previous.classes);
        let repeats = next.data.iter().any(|named| named.repeats);
        [next.repeats_data, next.repeats_compat, shares_classes, repeats]
    });
    pairs.collect()
}

#[test]
fn without_the_switch_nothing_is_shared() {
    let [object, vec] = ["object.sm_90.cubin", "vec.sm_90.cubin"].map(fixture);
    // One has variables of its own beside those of the compiler.
    for (file, all) in [(&object, false), (&vec, true)] {
        let twice = [&file[..], file];
        assert_eq!(shared(&twice, true), [[all, true, true, !all]]);
        assert_eq!(shared(&twice, false), [[false; 4]]);
    }
    // Unlike inputs share what they have in common.
    let unlike = [&object[..], &vec];
    assert_eq!(shared(&unlike, true), [[false, true, false, true]]);
    assert_eq!(shared(&unlike, false), [[false; 4]]);
}
