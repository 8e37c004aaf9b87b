//! Files of every kind, whole and damaged, under every name.

use super::{Scenario, ar, leak, long_text, m1, m2, ptx_text, scenario, system_library, text};
use crate::make::{Host, Make, host, plain_host, rdc};
use object::Architecture;

/// Every kind of content under every suffix.
pub(super) fn by_suffix() -> Vec<Scenario> {
    type Maker = fn() -> Make;
    let contents: [(&str, Maker); 7] = [
        ("cubin", || Make::Cubin("m1")),
        ("host", m1),
        ("plain", || Make::Host(plain_host())),
        ("archive", || ar(vec![("x.o", m1())])),
        ("fatbin", || Make::Fatbin(vec!["m1"])),
        ("ptx", ptx_text),
        ("text", long_text),
    ];
    let suffixes =
        ["cubin", "ptx", "fatbin", "o", "so", "bc", "ltoir", "nvvm", "a", "foo", "so.1", "O"];
    let mut list = Vec::new();
    for (content, make) in contents {
        for suffix in suffixes {
            let name = leak(format!("{content} named .{suffix}"));
            let file = leak(format!("f.{suffix}"));
            let mut entry = scenario(name, vec![(file, make())], file);
            let linked = |id: &str| format!("links k_m1\nregisters {id}");
            let id = format!("ROOT_{}", file.replace('.', "_"));
            match (content, suffix) {
                // Device code under a name that makes nvlink pass it over.
                ("cubin", "so" | "a" | "foo" | "so.1" | "O")
                | ("fatbin", "o" | "so" | "a" | "foo" | "so.1" | "O") => {
                    entry = entry.differs(&linked(&id));
                }
                ("host", "so") => entry = entry.differs(&linked("id_m1")),
                // PTX is not compiled.
                ("ptx", "ptx") => {
                    entry = entry.differs(&format!(
                        "says error: 'f.ptx' has no machine code for sm_90, only a PTX file\nregisters {id}"
                    ));
                }
                ("text", "ptx") => {
                    entry = entry.differs(&format!(
                        "says error: 'f.ptx' has no machine code for sm_90, only a PTX file\nregisters {id}"
                    ));
                }
                _ => {}
            }
            list.push(entry);
        }
    }
    list
}

pub(super) fn small_and_odd_files() -> Vec<Scenario> {
    let two = |name, file, make| scenario(name, vec![("m1.o", m1()), (file, make)], "");
    let ask = |mut s: Scenario| {
        s.args = s.files.iter().map(|(file, _)| *file).collect();
        s
    };
    vec![
        ask(two("empty object", "e.o", text(""))),
        ask(two("empty cubin", "e.cubin", text(""))),
        ask(two("empty fatbin", "e.fatbin", text(""))),
        ask(two("one byte", "e.o", text("x"))),
        ask(two("55 bytes", "e.o", Make::Bytes(vec![b'x'; 55]))),
        ask(two("56 bytes", "e.o", Make::Bytes(vec![b'x'; 56]))),
        ask(two("short archive", "e.a", text("!<arch>\n"))),
        ask(two("directory", "d.o", Make::Folder)),
        scenario("missing file", vec![("m1.o", m1())], "m1.o gone.o"),
        scenario(
            "messages keep the order of inputs",
            vec![("m1.o", host("id", &["80"]))],
            "m1.o gone.o",
        ),
        scenario("same object twice", vec![("m1.o", m1())], "m1.o ./m1.o")
            .differs("links k_m1 k_m1\nregisters id_m1 id_m1"),
    ]
}

pub(super) fn host_objects() -> Vec<Scenario> {
    let one = |name, make: Host| scenario(name, vec![("h.o", Make::Host(make))], "h.o");
    let fat = |names: &[&'static str]| Make::Fatbin(names.to_vec());
    let junk = || Make::Bytes(vec![7; 40]);
    let zeros = || Make::Bytes(vec![0; 24]);
    vec![
        one("host without segment", Host { segment: false, ..rdc("id", &["m1"]) }),
        one("host without any fatbin", Host { relocatable: vec![], ..rdc("id", &[]) }),
        one("host with junk for a fatbin", Host { relocatable: vec![junk()], ..rdc("id", &[]) }),
        one(
            "host with a whole program",
            Host { relocatable: vec![], linked: vec![fat(&["m1"])], ..rdc("id", &[]) },
        ),
        one("host with both", Host { linked: vec![fat(&["m2"])], ..rdc("id", &["m1"]) }),
        one(
            "host with junk after the fatbin",
            Host { relocatable: vec![fat(&["m1"]), junk()], ..rdc("id", &[]) },
        ),
        one(
            "merged host object",
            Host {
                relocatable: vec![fat(&["m1"]), zeros(), fat(&["m2"])],
                module_ids: vec!["id_a", "id_b"],
                ..rdc("", &[])
            },
        )
        .differs("links k_m1 k_m2\nregisters id_a id_b"),
        one("foreign host object", Host { arch: Architecture::Aarch64, ..rdc("id", &["m1"]) }),
        one("32-bit host object", Host { arch: Architecture::I386, ..rdc("id", &["m1"]) }),
        scenario("cut host object", vec![("h.o", Make::Cut(Box::new(m1()), 500))], "h.o"),
        scenario(
            "host executable",
            vec![("h.o", Make::Patched(Box::new(m1()), vec![(16, vec![2])]))],
            "h.o",
        ),
        scenario(
            "host shared library",
            vec![("h.o", Make::Patched(Box::new(m1()), vec![(16, vec![3])]))],
            "h.o",
        ),
    ]
}

pub(super) fn fatbins() -> Vec<Scenario> {
    let one = |name, make| scenario(name, vec![("f.fatbin", make)], "f.fatbin");
    let patched = |at, bytes: &[u8]| {
        Make::Patched(Box::new(Make::Fatbin(vec!["m1"])), vec![(at, bytes.to_vec())])
    };
    vec![
        one("fatbin of version 2", patched(4, &[2])),
        one("fatbin with a damaged stream", patched(16 + 64 + 8, &[0xFF; 8])),
        one("fatbin with an unknown kind", patched(16, &[9])),
        one("fatbin with no entry", Make::Fatbin(vec![])),
    ]
}

pub(super) fn cubin_checks() -> Vec<Scenario> {
    let one = |name, patches: &[(usize, &[u8])]| {
        let patches = patches.iter().map(|(at, bytes)| (*at, bytes.to_vec())).collect();
        let make = Make::Patched(Box::new(Make::Cubin("m1")), patches);
        scenario(name, vec![("c.cubin", make)], "c.cubin")
    };
    vec![
        one("cubin with another ABI version", &[(8, &[9])]),
        one("cubin with another OS ABI", &[(7, &[0])])
            .differs("says fatal: Input file 'c.cubin' abi does not match"),
        one("cubin without a number", &[(0x31, &[0])]),
        one("cubin with a wrong note index", &[(0x33, &[5])]),
        one("cubin with another number", &[(0x31, &[80])]),
        one("linked cubin", &[(16, &[2])]),
        one("lone extensible program", &[(16, &[0, 0xFF])]),
        scenario(
            "extensible program beside others",
            vec![
                ("a.o", m2()),
                ("p.cubin", Make::Patched(Box::new(Make::Cubin("m1")), vec![(16, vec![0, 0xFF])])),
                ("b.o", host("id_m3", &["m3"])),
                ("L/libcudadevrt.a", system_library()),
            ],
            "a.o p.cubin b.o -LL -lcudadevrt -keep-system-libraries",
        ),
        one("32-bit cubin", &[(4, &[1])])
            .differs("says fatal: Input file 'c.cubin' size does not match target '-m64'"),
        one("cubin with a section table out of the file", &[(0x28, &[0xFF, 0xFF, 0xFF])])
            .differs("says fatal: Input file 'c.cubin' is damaged"),
    ]
}
