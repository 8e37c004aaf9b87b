//! Whatever comes before an input, it is read the same.

use crate::dialect::Half;
use crate::inputs::LinkInput;
use crate::name_hash::NameHash;
use crate::object::{Object, ObjectBatch};
use std::fmt::Write;
use support::fixture;

/// All that is known of the last of some inputs, or what is wrong with one of them.
fn last_of(files: &[&[u8]]) -> String {
    let inputs: Vec<_> =
        files.iter().map(|&file| LinkInput::new("input".into(), file.into())).collect();
    let shelf = ObjectBatch::default();
    let mut objects: Vec<_> = inputs.iter().map(Object::unread).collect();
    match shelf.read(&mut objects, &inputs, Half::Machine) {
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
            let figures = is_function.then(|| object.figures(named.symbol));
            let (symbol, hash, place) = (named.symbol, named.hash, named.place);
            let (binding, other) = (named.binding(), named.other);
            let _ = writeln!(out, "{symbol} {name:?} {hash:?} {size:?} {place:?} {figures:?}");
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
        assert_eq!(last_of(&[&first, &first]), last_of(&[&first]), "{name}");
        let mut no_sections = first.clone();
        no_sections[40..48].fill(0);
        assert_eq!(last_of(&[&first, &no_sections]), last_of(&[&no_sections]), "{name}");
        for at in (0..first.len()).step_by(3) {
            let mut second = first.clone();
            second[at] ^= [1, 0x40, 0xff][at / 3 % 3];
            let alone = last_of(&[&second]);
            assert_eq!(last_of(&[&first, &second]), alone, "{name} {at:#x}");
            if at % 5 == 0 {
                assert_eq!(last_of(&[&first, &second, &second]), alone, "{name} {at:#x} twice");
            }
        }
    }
}
