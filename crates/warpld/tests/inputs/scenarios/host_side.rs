//! What host code has to say: the modules it registers and the kernels it uses.

use super::{Scenario, ar, long_text, m1, m2, scenario, system_library, text};
use crate::make::{Host, Make, host, plain_host, rdc};

pub(super) fn registration() -> Vec<Scenario> {
    let merged = |a, b, ids: &[&'static str]| {
        Make::Host(Host {
            relocatable: vec![Make::Fatbin(vec![a, b])],
            module_ids: ids.to_vec(),
            ..rdc("", &[])
        })
    };
    let linked = |ids: &[&'static str]| {
        Make::Host(Host {
            relocatable: vec![],
            linked: vec![Make::Fatbin(vec!["m4"])],
            module_ids: ids.to_vec(),
            ..rdc("", &[])
        })
    };
    vec![
        scenario("registered cubin", vec![("c.cubin", Make::Cubin("m1"))], "./c.cubin"),
        scenario("registered fatbin", vec![("d/c.fatbin", Make::Fatbin(vec!["m1"]))], "d/c.fatbin"),
        scenario(
            "registered object without id",
            vec![("c.o", Make::Host(Host { module_ids: vec![], ..rdc("", &["m1"]) }))],
            "c.o",
        ),
        scenario(
            "registered member without id",
            vec![(
                "l.a",
                ar(vec![("c.o", Make::Host(Host { module_ids: vec![], ..rdc("", &["m1"]) }))]),
            )],
            "l.a",
        ),
        scenario(
            "registered merged objects",
            vec![
                ("a.o", merged("m1", "80", &["id_1", "id_2", "id_3"])),
                ("b.o", merged("m2", "80", &["id_4", "id_5", "id_6"])),
                ("c.o", host("id_7", &["m3"])),
            ],
            "a.o b.o c.o",
        ),
        scenario("registered without the arch", vec![("a.o", host("id", &["80"]))], "a.o"),
        scenario("registered with an empty fatbin", vec![("a.o", host("id", &[]))], "a.o"),
        scenario(
            "registered by an earlier link",
            vec![("d.o", linked(&["def id_m1"])), ("a.o", m1()), ("b.o", m2())],
            "d.o a.o b.o",
        ),
        scenario(
            "registered by a link named later",
            vec![("d.o", linked(&["def id_m1", "def id_m2"])), ("a.o", m1()), ("b.o", m2())],
            "a.o b.o d.o",
        ),
        scenario(
            "definition after an id",
            vec![("d.o", merged("m3", "80", &["id_3", "def id_m1"])), ("a.o", m1())],
            "d.o a.o",
        ),
        scenario(
            "definition first in an RDC object",
            vec![("d.o", merged("m3", "80", &["def id_m1", "id_3"])), ("a.o", m1())],
            "d.o a.o",
        ),
        scenario(
            "only definitions in an RDC object",
            vec![("d.o", merged("m3", "80", &["def id_m1"])), ("a.o", m1()), ("b.o", m2())],
            "d.o a.o b.o",
        ),
        scenario(
            "merged object with a module of an earlier link",
            vec![("d.o", linked(&["def id_2"])), ("a.o", merged("m1", "80", &["id_1", "id_2"]))],
            "d.o a.o",
        ),
        scenario("same id twice", vec![("a.o", m1()), ("b.o", host("id_m1", &["m2"]))], "a.o b.o"),
    ]
}

pub(super) fn host_references() -> Vec<Scenario> {
    let with = |id, image, kernels: &[&'static str]| {
        Make::Host(Host { kernels: Some(kernels.to_vec()), ..rdc(id, &[image]) })
    };
    let m1_used = || with("id_1", "m1", &["k_m1*"]);
    let m2_unused = || with("id_2", "m2", &[]);
    let pair = |name: &'static str, file, make, args| {
        scenario(name, vec![("a.o", m1_used()), ("b.o", m2_unused()), (file, make)], args)
            .executable()
    };
    let plain = || Make::Host(plain_host());
    let none = || text("");
    vec![
        pair("host references prune", "x", none(), "a.o b.o"),
        pair("a cubin keeps all", "c.cubin", Make::Cubin("m3"), "a.o b.o c.cubin"),
        pair("a fatbin keeps all", "c.fatbin", Make::Fatbin(vec!["m3"]), "a.o b.o c.fatbin"),
        pair("a plain object keeps all", "p.o", plain(), "a.o b.o p.o"),
        pair("a plain member keeps all", "l.a", ar(vec![("p.o", plain())]), "a.o b.o l.a"),
        pair("an empty file does not count", "e.o", none(), "a.o b.o e.o"),
        pair("a text file does not count", "t.o", long_text(), "a.o b.o t.o"),
        pair(
            "a linked cubin does not count",
            "c.cubin",
            Make::Patched(Box::new(Make::Cubin("m3")), vec![(16, vec![2])]),
            "a.o b.o c.cubin",
        ),
        pair(
            "a host program does not count",
            "p.o",
            Make::Patched(Box::new(m1()), vec![(16, vec![2])]),
            "a.o b.o p.o",
        ),
        pair(
            "a whole-program object keeps all",
            "w.o",
            Make::Host(Host {
                relocatable: vec![],
                linked: vec![Make::Fatbin(vec!["m3"])],
                ..rdc("id_w", &[])
            }),
            "a.o b.o w.o",
        ),
        pair(
            "an unused system library does not count",
            "L/libcudadevrt.a",
            system_library(),
            "a.o b.o -LL -lcudadevrt",
        ),
        pair(
            "a used system library does not count",
            "L/libcudadevrt.a",
            system_library(),
            "a.o b.o -LL -lcudadevrt -keep-system-libraries",
        ),
        pair("an object without the arch counts", "s.o", host("id_s", &["80"]), "a.o b.o s.o"),
        scenario("only empty lists", vec![("b.o", m2_unused())], "b.o").executable(),
        scenario("an empty list of two bytes", vec![("b.o", with("id_2", "m2", &["", ""]))], "b.o")
            .executable(),
        scenario(
            "patterns are anchored",
            vec![
                ("a.o", with("id_1", "m1", &["_m1*", "k_m"])),
                ("b.o", with("id_2", "m2", &["k*2"])),
            ],
            "a.o b.o",
        )
        .executable(),
    ]
}
