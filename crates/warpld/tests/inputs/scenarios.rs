//! The scenarios: files, arguments, and where warpld differs on purpose.

use crate::make::{Host, Make, host, plain_host, rdc};
use object::Architecture;

/// A question to a linker.
pub struct Scenario {
    pub name: &'static str,
    pub arch: &'static str,
    pub files: Vec<(&'static str, Make)>,
    pub args: Vec<&'static str>,
    /// The environment's `LIBRARY_PATH`.
    pub library_path: Option<&'static str>,
    /// Ask for an executable image, where kernels may be dropped.
    pub final_link: bool,
    /// Only for warpld.
    pub lazy_archives: bool,
    /// warpld's answer where it is meant to differ from nvlink's.
    pub differs: Option<String>,
}

fn scenario(name: &'static str, files: Vec<(&'static str, Make)>, args: &str) -> Scenario {
    Scenario {
        name,
        arch: "sm_90",
        files,
        args: Box::leak(args.to_owned().into_boxed_str()).split_whitespace().collect(),
        library_path: None,
        final_link: false,
        lazy_archives: false,
        differs: None,
    }
}

impl Scenario {
    fn arch(mut self, arch: &'static str) -> Self {
        self.arch = arch;
        self
    }
    fn library_path(mut self, list: &'static str) -> Self {
        self.library_path = Some(list);
        self
    }
    fn executable(mut self) -> Self {
        self.final_link = true;
        self
    }
    fn lazy(mut self) -> Self {
        self.lazy_archives = true;
        self
    }
    /// Lines of an answer, without which `links` and `registers` are empty.
    fn differs(mut self, answer: &str) -> Self {
        let mut text: String = answer.lines().map(|line| format!("{}\n", line.trim())).collect();
        if !text.contains("links ") {
            let at = text.find("registers ").unwrap_or(text.len());
            text.insert_str(at, "links \n");
        }
        if !text.contains("registers ") {
            text.push_str("registers \n");
        }
        self.differs = Some(text);
        self
    }
}

fn text(text: &str) -> Make {
    Make::Bytes(text.as_bytes().to_vec())
}

fn long_text() -> Make {
    Make::Bytes(vec![b'x'; 100])
}

fn ptx_text() -> Make {
    text(&crate::images::ptx("90", ".visible .entry k_text() { ret; }"))
}

fn m1() -> Make {
    host("id_m1", &["m1"])
}

fn m2() -> Make {
    host("id_m2", &["m2"])
}

fn calls() -> Make {
    host("id_calls", &["calls"])
}

fn ar(members: Vec<(&'static str, Make)>) -> Make {
    Make::Archive(members)
}

/// A stand-in: only the file's name makes it the system library.
fn system_library() -> Make {
    ar(vec![("rt.o", host("id_rt", &["m4"]))])
}

pub fn all() -> Vec<Scenario> {
    let mut list = by_suffix();
    list.extend(small_and_odd_files());
    list.extend(host_objects());
    list.extend(fatbins());
    list.extend(image_choice());
    list.extend(cubin_checks());
    list.extend(archives());
    list.extend(searches());
    list.extend(system_libraries());
    list.extend(registration());
    list.extend(host_references());
    list.extend(lazy_archives());
    list
}

/// Every kind of content under every suffix.
fn by_suffix() -> Vec<Scenario> {
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

fn leak(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

fn small_and_odd_files() -> Vec<Scenario> {
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

fn host_objects() -> Vec<Scenario> {
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

fn fatbins() -> Vec<Scenario> {
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

fn image_choice() -> Vec<Scenario> {
    let mut list = Vec::new();
    for (arch, images) in [
        ("sm_90", "80 90"),
        ("sm_90", "90 90a"),
        ("sm_90", "90a 90"),
        ("sm_90a", "90 90a"),
        ("sm_90a", "90a 90"),
        ("sm_89", "80 86"),
        ("sm_89", "86 80"),
        ("sm_86", "80 86 89"),
        ("sm_87", "80 86"),
        ("sm_103", "100 100a 100f"),
        ("sm_103", "100f 103"),
        ("sm_103", "103 100f"),
        ("sm_103a", "100 103"),
        ("sm_100a", "100f 100a 100"),
        ("sm_100f", "100 100f 100a"),
        ("sm_100", "100a 100"),
        ("sm_121", "120 120f 120a"),
        ("sm_121f", "120 121"),
        ("sm_90", "m1 m2"),
        ("sm_90", "90 ptx:90"),
        ("sm_90", "ptx:90 90"),
        ("sm_90", "90 ptx:80"),
        ("sm_90", "80"),
        ("sm_90a", "80 100"),
        ("sm_90", "lto:90"),
        ("sm_90", "lto:80"),
        ("sm_90", "lto:100"),
        ("sm_90", "90 lto:90"),
        ("sm_90", "80 lto:90"),
    ] {
        let name = leak(format!("{arch} of {images}"));
        let images: Vec<&'static str> = images.split(' ').collect();
        list.push(scenario(name, vec![("h.o", host("id", &images))], "h.o").arch(arch));
    }
    for (arch, images, answer) in [
        (
            "sm_90",
            "ptx:90",
            "says error: 'h.o' has no machine code for sm_90, only PTX for compute_90\nregisters id",
        ),
        (
            "sm_90",
            "ptx:80 100",
            "says error: 'h.o' has no machine code for sm_90, only PTX for compute_80\nregisters id",
        ),
        (
            "sm_86",
            "80 ptx:86",
            "says warning: using the sm_80 code of 'h.o', not its newer PTX\nlinks k_80\nregisters id",
        ),
    ] {
        let name = leak(format!("{arch} of {images}"));
        let images: Vec<&'static str> = images.split(' ').collect();
        let question = scenario(name, vec![("h.o", host("id", &images))], "h.o").arch(arch);
        list.push(question.differs(answer));
    }
    list.push(scenario("ptx too new", vec![("h.o", host("id", &["ptx:100"]))], "h.o"));
    list.push(scenario(
        "arch warning suppressed",
        vec![("h.o", host("id", &["80"]))],
        "h.o -suppress-arch-warning",
    ));
    list.push(scenario(
        "no arch warning for members",
        vec![("l.a", ar(vec![("h.o", host("id", &["80"]))]))],
        "l.a",
    ));
    list.push(scenario("cubin for another arch", vec![("c.cubin", Make::Cubin("80"))], "c.cubin"));
    list
}

fn cubin_checks() -> Vec<Scenario> {
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

fn archives() -> Vec<Scenario> {
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

fn searches() -> Vec<Scenario> {
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

fn system_libraries() -> Vec<Scenario> {
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

fn registration() -> Vec<Scenario> {
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

fn host_references() -> Vec<Scenario> {
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

fn lazy_archives() -> Vec<Scenario> {
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
