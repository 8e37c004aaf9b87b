//! Archives, the search for libraries, and the system library.

use super::{Scenario, ar, calls, long_text, m1, m2, scenario, system_library, text};
use crate::make::{Host, Make, host, plain_host, rdc};
use object::Architecture;

pub(super) fn archives() -> Vec<Scenario> {
    let one = |name, members| scenario(name, vec![("l.a", ar(members))], "l.a");
    let damaged = |name, at, bytes: &[u8]| {
        let archive = Box::new(ar(vec![("x.o", m1())]));
        scenario(name, vec![("l.a", Make::Patched(archive, vec![(at, bytes.to_vec())]))], "l.a")
    };
    vec![
        one("all members are linked", vec![("x.o", m1()), ("y.o", m2())]),
        one("member names do not matter", vec![("x.foo", m1()), ("y", m2())]),
        one("plain members", vec![("p.o", Make::Host(plain_host())), ("x.o", m1())]),
        one("text member", vec![("x.o", m1()), ("t.txt", long_text()), ("y.o", m2())])
            .differs("links k_m1 k_m2\nregisters id_m1 id_m2"),
        one("empty member", vec![("x.o", m1()), ("e", text("")), ("y.o", m2())])
            .differs("links k_m1 k_m2\nregisters id_m1 id_m2"),
        one("cubin member", vec![("c.cubin", Make::Cubin("m1")), ("y.o", m2())])
            .differs("links k_m1 k_m2\nregisters ROOT_l_a_c_cubin id_m2"),
        one("fatbin member", vec![("f.fatbin", Make::Fatbin(vec!["m1"])), ("y.o", m2())])
            .differs("links k_m1 k_m2\nregisters ROOT_l_a_f_fatbin id_m2"),
        one("archive member", vec![("n.a", ar(vec![("x.o", m1())])), ("y.o", m2())])
            .differs("links k_m2\nregisters id_m2"),
        scenario(
            "BSD names",
            vec![("l.a", Make::BsdArchive(vec![("x.o", m1()), ("y.o", m2())]))],
            "l.a",
        )
        .differs("links k_m1 k_m2\nregisters id_m1 id_m2"),
        scenario(
            "archive between objects",
            vec![("a.o", m1()), ("l.a", ar(vec![("x.o", m2())])), ("b.o", host("id_m3", &["m3"]))],
            "a.o l.a b.o",
        ),
        scenario(
            "archive twice",
            vec![("l.a", ar(vec![("x.o", m1())])), ("s.a", Make::Symlink("l.a"))],
            "l.a ./l.a s.a",
        ),
        scenario(
            "thin archive",
            vec![("x.o", m1()), ("y.o", m2()), ("t.a", Make::ThinArchive(vec!["x.o", "y.o"]))],
            "t.a",
        ),
        scenario(
            "thin archive in another folder",
            vec![("d/x.o", m1()), ("d/t.a", Make::ThinArchive(vec!["x.o"]))],
            "d/t.a",
        )
        .differs("links k_m1\nregisters id_m1"),
        scenario(
            "thin archive relative to the working directory",
            vec![("x.o", m1()), ("d/t.a", Make::ThinArchive(vec!["x.o"]))],
            "d/t.a",
        ),
        scenario(
            "thin archive without its file",
            vec![("t.a", Make::ThinArchive(vec!["x.o"]))],
            "t.a",
        ),
        damaged("archive with a bad member end", 8 + 58, b"x")
            .differs("says fatal: unexpected archive format"),
        damaged("archive with a bad member size", 8 + 48, b"x123"),
        damaged("archive with a member past its end", 8 + 48, b"99999")
            .differs("says fatal: unexpected archive format"),
        scenario(
            "damaged member",
            vec![("l.a", ar(vec![("h.o", Make::Cut(Box::new(m1()), 500)), ("y.o", m2())]))],
            "l.a",
        )
        .differs("says warning: 'l.a:h.o' is damaged and not linked\nlinks k_m2\nregisters id_m2"),
    ]
}

pub(super) fn searches() -> Vec<Scenario> {
    let lib = |make| ar(vec![("x.o", make)]);
    let foreign = || Make::Host(Host { arch: Architecture::Aarch64, ..rdc("id_f", &["m3"]) });
    vec![
        scenario("library", vec![("a.o", m1()), ("L/libq.a", lib(m2()))], "a.o -LL -lq"),
        scenario(
            "libraries follow all files",
            vec![("a.o", m1()), ("L/libq.a", lib(m2()))],
            "-lq -LL a.o",
        ),
        scenario(
            "first folder wins",
            vec![("a.o", m1()), ("L/libq.a", lib(m2())), ("K/libq.a", lib(host("id_m3", &["m3"])))],
            "a.o -LK -LL -lq",
        ),
        scenario("library not found", vec![("a.o", m1())], "a.o -LL -lq"),
        scenario(
            "working directory is not searched",
            vec![("a.o", m1()), ("libq.a", lib(m2()))],
            "a.o -lq",
        ),
        scenario(
            "library path of the environment",
            vec![("a.o", m1()), ("L/libq.a", lib(m2()))],
            "a.o -lq",
        )
        .library_path("K:L"),
        scenario(
            "environment after -L",
            vec![("a.o", m1()), ("L/libq.a", lib(m2())), ("K/libq.a", lib(host("id_m3", &["m3"])))],
            "a.o -lq -LK",
        )
        .library_path("L"),
        scenario(
            "shared library hides",
            vec![("a.o", m1()), ("L/libq.a", lib(m2())), ("K/libq.so", long_text())],
            "a.o -LL -LK -lq",
        ),
        scenario(
            "shared library hides from the environment",
            vec![("a.o", m1()), ("L/libq.a", lib(m2())), ("K/libq.so", long_text())],
            "a.o -LL -lq",
        )
        .library_path("K"),
        scenario(
            "folder named like a shared library hides",
            vec![("a.o", m1()), ("L/libq.a", lib(m2())), ("K/libq.so", Make::Folder)],
            "a.o -LL -LK -lq",
        ),
        scenario(
            "dangling link does not hide",
            vec![("a.o", m1()), ("L/libq.a", lib(m2())), ("K/libq.so", Make::Symlink("gone"))],
            "a.o -LL -LK -lq",
        ),
        scenario(
            "foreign library is skipped",
            vec![("a.o", m1()), ("L/libq.a", lib(foreign())), ("K/libq.a", lib(m2()))],
            "a.o -LL -LK -lq",
        ),
        scenario(
            "foreign library for -cpu-arch",
            vec![("a.o", m1()), ("L/libq.a", lib(foreign()))],
            "a.o -LL -lq -cpu-arch=AARCH64",
        ),
        scenario(
            "mixed library is taken whole",
            vec![("a.o", m1()), ("L/libq.a", ar(vec![("f.o", foreign()), ("x.o", m2())]))],
            "a.o -LL -lq",
        ),
        scenario(
            "library of cubins",
            vec![("a.o", m1()), ("L/libq.a", lib(Make::Cubin("m2")))],
            "a.o -LL -lq",
        )
        .differs("links k_m1 k_m2\nregisters id_m1 ROOT_L_libq_a_x_o"),
        scenario("empty library", vec![("a.o", m1()), ("L/libq.a", ar(vec![]))], "a.o -LL -lq"),
        scenario(
            "library that is none",
            vec![("a.o", m1()), ("L/libq.a", long_text())],
            "a.o -LL -lq",
        ),
        scenario(
            "folder named like a library",
            vec![("a.o", m1()), ("L/libq.a", Make::Folder)],
            "a.o -LL -lq",
        )
        .differs("says fatal: Could not open input file 'L/libq.a'"),
        scenario(
            "file name as library",
            vec![("a.o", m1()), ("L/libq.a", lib(m2()))],
            "a.o -LL -l:libq.a",
        ),
        scenario("library twice", vec![("a.o", m1()), ("L/libq.a", lib(m2()))], "a.o -LL -lq -lq"),
        scenario(
            "library and file",
            vec![("a.o", m1()), ("L/libq.a", lib(m2()))],
            "a.o -LL -lq L/libq.a",
        ),
        scenario(
            "absolute-looking folder",
            vec![("a.o", m1()), ("L/libq.a", lib(foreign()))],
            "a.o -L./L/ -lq",
        ),
    ]
}

pub(super) fn system_libraries() -> Vec<Scenario> {
    let name = "L/libcudadevrt.a";
    let needy = ar(vec![("x.o", calls())]);
    let with =
        |label, make, args| scenario(label, vec![("a.o", make), (name, system_library())], args);
    vec![
        with("system library is not needed", m1(), "a.o -LL -lcudadevrt"),
        with("system library is needed", calls(), "a.o -LL -lcudadevrt"),
        with("system library by path", calls(), "a.o L/libcudadevrt.a"),
        with("system library before its user", calls(), "L/libcudadevrt.a a.o"),
        with("system library for a variable", host("id", &["variable"]), "a.o -LL -lcudadevrt"),
        with("system library for a built-in", host("id", &["builtin"]), "a.o -LL -lcudadevrt"),
        with("system library kept", m1(), "a.o -LL -lcudadevrt -keep-system-libraries"),
        with("system library twice", calls(), "a.o -LL -lcudadevrt -lcudadevrt"),
        scenario(
            "definition before the system library",
            vec![("a.o", calls()), ("d.o", host("id_d", &["defines"])), (name, system_library())],
            "a.o d.o -LL -lcudadevrt",
        ),
        scenario(
            "definition after the system library",
            vec![("a.o", calls()), ("d.o", host("id_d", &["defines"])), (name, system_library())],
            "a.o L/libcudadevrt.a d.o",
        ),
        scenario(
            "system library before a needy library",
            vec![("a.o", m1()), (name, system_library()), ("L/libq.a", needy.clone())],
            "a.o -LL -lcudadevrt -lq",
        ),
        scenario(
            "system library around a needy library",
            vec![("a.o", m1()), (name, system_library()), ("L/libq.a", needy)],
            "a.o -LL -lcudadevrt -lq -lcudadevrt",
        ),
        with(
            "system library after a plain object",
            Make::Host(plain_host()),
            "a.o L/libcudadevrt.a",
        ),
        scenario(
            "object after an unneeded system library",
            vec![("a.o", m1()), ("b.o", m2()), (name, system_library())],
            "a.o L/libcudadevrt.a b.o",
        ),
        scenario(
            "useless object after an unneeded system library",
            vec![("a.o", m1()), ("b.o", host("id_80", &["80"])), (name, system_library())],
            "a.o L/libcudadevrt.a b.o",
        ),
        scenario(
            "unneeded system library after a useless object",
            vec![("a.o", m1()), ("b.o", host("id_80", &["80"])), (name, system_library())],
            "b.o L/libcudadevrt.a a.o",
        ),
        scenario(
            "unneeded system library after a plain object",
            vec![("a.o", m1()), ("b.o", Make::Host(plain_host())), (name, system_library())],
            "b.o L/libcudadevrt.a a.o",
        ),
        scenario(
            "system library without the arch",
            vec![("a.o", calls()), (name, ar(vec![("rt.o", host("id_rt", &["80"]))]))],
            "a.o -LL -lcudadevrt",
        ),
    ]
}

pub(super) fn lazy_archives() -> Vec<Scenario> {
    let library = || {
        ar(vec![
            ("x.o", m2()),
            ("y.o", host("id_calls", &["calls"])),
            ("z.o", host("id_d", &["defines"])),
        ])
    };
    vec![
        scenario(
            "members by need",
            vec![
                ("a.o", calls()),
                ("l.a", ar(vec![("x.o", m2()), ("z.o", host("id_d", &["defines"]))])),
            ],
            "a.o l.a",
        )
        .lazy()
        .differs("links k_calls k_defines\nregisters id_calls id_m2 id_d"),
        scenario("no member is needed", vec![("a.o", m1()), ("l.a", library())], "a.o l.a")
            .lazy()
            .differs("links k_m1\nregisters id_m1 id_m2 id_calls id_d"),
    ]
}
