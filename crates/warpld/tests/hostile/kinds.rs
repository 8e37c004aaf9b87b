//! Kinds of hostile files.

use std::fs;
use std::path::Path;
use support::{Random, example, fifo, member_header, mutate, thin_archive};

/// Makes a file from a seed.
pub type Make = fn(&mut Random) -> Vec<u8>;

/// What lies at a path.
pub enum Kind {
    /// A file with these bytes.
    Bytes(Make),
    /// Something that is no ordinary file.
    Place(fn(&Path)),
}

use Kind::{Bytes, Place};

/// All kinds, by name.
pub const KINDS: &[(&str, Kind)] = &[
    ("empty", Bytes(|_| Vec::new())),
    ("one-byte", Bytes(|r| vec![r.number() as u8])),
    ("zeros", Bytes(|r| vec![0; 1 + r.below(100_000)])),
    ("noise", Bytes(noise)),
    ("elf-magic", Bytes(|r| [b"\x7fELF".to_vec(), noise(r)].concat())),
    (
        "cut",
        Bytes(|r| {
            let mut c = cubin(r);
            c.truncate(r.below(c.len()));
            c
        }),
    ),
    ("mutated", Bytes(|r| mutate(&cubin(r), r))),
    (
        "mutated-twice",
        Bytes(|r| {
            let c = mutate(&cubin(r), r);
            mutate(&c, r)
        }),
    ),
    ("huge-table", Bytes(|r| patched(r, 40, &(u64::MAX - 63).to_le_bytes()))),
    (
        "table-at-end",
        Bytes(|r| {
            let c = cubin(r);
            let n = c.len() as u64 - 1;
            patch(c, 40, &n.to_le_bytes())
        }),
    ),
    ("many-sections", Bytes(|r| patched(r, 60, &[0xff, 0xff]))),
    ("no-sections", Bytes(|r| patched(r, 60, &[0, 0]))),
    ("names-elsewhere", Bytes(|r| patched(r, 62, &[0xfe, 0xff]))),
    ("section-entries-of-nothing", Bytes(|r| patched(r, 58, &[0, 0]))),
    ("huge-segments", Bytes(|r| patched(r, 56, &[0xff, 0xff]))),
    ("other-machine", Bytes(|r| patched(r, 18, &[r_byte(18), 0]))),
    ("sizes-at-most", Bytes(|r| each_section(r, 32, u64::MAX))),
    ("offsets-at-most", Bytes(|r| each_section(r, 24, u64::MAX - 4096))),
    ("alignment-of-gigabytes", Bytes(|r| each_section(r, 48, 1 << 40))),
    ("entries-of-nothing", Bytes(|r| each_section(r, 56, 0))),
    ("links-to-nowhere", Bytes(|r| each_section(r, 40, u64::MAX))),
    ("links-to-themselves", Bytes(|r| each_section(r, 40, 0x0000_0003_0000_0003))),
    ("nobits-of-terabytes", Bytes(nobits)),
    ("hostile-names", Bytes(names)),
    ("fatbin-head", Bytes(|r| [&0xba55_ed50_u32.to_le_bytes()[..], &noise(r)].concat())),
    (
        "fatbin-mutated",
        Bytes(|r| {
            let f = fatbin(&cubin(r));
            mutate(&f, r)
        }),
    ),
    ("fatbin-huge", Bytes(|r| patch(fatbin(&cubin(r)), 8, &u64::MAX.to_le_bytes()))),
    ("fatbin-of-damage", Bytes(|r| fatbin(&mutate(&cubin(r), r)))),
    ("fatbin-of-noise", Bytes(|r| fatbin(&noise(r)))),
    ("fatbin-claims-zstd", Bytes(|r| claims(r, 0x8000))),
    ("fatbin-claims-lz4", Bytes(|r| claims(r, 0x2000))),
    (
        "archive-cut",
        Bytes(|r| {
            let mut a = archive("x", &cubin(r));
            a.truncate(r.below(a.len()));
            a
        }),
    ),
    (
        "archive-mutated",
        Bytes(|r| {
            let a = archive("x", &cubin(r));
            mutate(&a, r)
        }),
    ),
    ("archive-of-damage", Bytes(|r| archive("x", &mutate(&cubin(r), r)))),
    ("archive-of-archives", Bytes(|r| (0..64).fold(cubin(r), |inside, _| archive("x.a", &inside)))),
    ("archive-huge-member", Bytes(|r| patch(archive("x", &cubin(r)), 56, b"9999999999"))),
    ("archive-negative-member", Bytes(|r| patch(archive("x", &cubin(r)), 56, b"-1        "))),
    ("archive-name-nowhere", Bytes(|r| archive_of("/99999999", &cubin(r)))),
    ("archive-name-hostile", Bytes(|r| archive_of("\x1b[2J\n\r../x/", &cubin(r)))),
    ("archive-bsd-name", Bytes(|r| archive_of("#1/999999", &cubin(r)))),
    ("thin-itself", Bytes(|_| thin_archive(&["file"]))),
    ("thin-device", Bytes(|_| thin_archive(&["../../../../../../../../../../../dev/zero"]))),
    ("thin-absolute", Bytes(|_| thin_archive(&["/etc/passwd"]))),
    ("ptx-comment-without-end", Bytes(|_| [&b"/*"[..], &[b'x'; 200_000]].concat())),
    ("ptx-noise", Bytes(|r| [b".version 9.0\n.target sm_90\n".to_vec(), noise(r)].concat())),
    ("lto-noise", Bytes(|r| [vec![0xed, 0x43, 0x4e, 0x7f], noise(r)].concat())),
    ("bitcode", Bytes(|r| [b"BC\xc0\xde".to_vec(), noise(r)].concat())),
    ("coff", Bytes(|r| [vec![0x64, 0x86], noise(r)].concat())),
    ("includes-itself", Bytes(|_| b"@file -optf=file".to_vec())),
    ("many-words", Bytes(|_| b"x.o ".repeat(100_000))),
    ("long-word", Bytes(|_| vec![b'y'; 300_000])),
    ("quotes", Bytes(|r| b"\"\\'\n\0\t".iter().cycle().take(r.below(5000)).copied().collect())),
    (
        "hostile-options",
        Bytes(|_| {
            b"--threads=2147483647 --map=/proc/self/mem --error-limit=-1 -o /dev/full".to_vec()
        }),
    ),
    ("fifo", Place(fifo)),
    ("folder", Place(|path| fs::create_dir(path).unwrap())),
    ("link-to-itself", Place(|path| std::os::unix::fs::symlink("file", path).unwrap())),
    ("link-to-nowhere", Place(|path| std::os::unix::fs::symlink("nowhere", path).unwrap())),
    ("link-to-device", Place(|path| std::os::unix::fs::symlink("/dev/zero", path).unwrap())),
    ("sparse-cubin", Place(|path| sparse(path, &cubin(&mut Random::new(1))))),
    ("sparse-archive", Place(|path| sparse(path, b"!<arch>\n"))),
    ("sparse-text", Place(|path| sparse(path, b"a.o "))),
];

fn r_byte(not: u8) -> u8 {
    not.wrapping_mul(7)
}

fn noise(r: &mut Random) -> Vec<u8> {
    (0..r.below(4000)).map(|_| r.number() as u8).collect()
}

pub fn cubin(r: &mut Random) -> Vec<u8> {
    let names = ["saxpy.sm_90.cubin", "scale.sm_90.cubin"];
    fs::read(example(names[r.below(2)])).unwrap()
}

fn patch(mut bytes: Vec<u8>, at: usize, with: &[u8]) -> Vec<u8> {
    if let Some(place) = bytes.get_mut(at..at + with.len()) {
        place.copy_from_slice(with);
    }
    bytes
}

fn patched(r: &mut Random, at: usize, with: &[u8]) -> Vec<u8> {
    patch(cubin(r), at, with)
}

/// Sets a field of some section headers, or of all.
fn each_section(r: &mut Random, field: usize, value: u64) -> Vec<u8> {
    let mut bytes = cubin(r);
    let table = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
    let count = usize::from(u16::from_le_bytes(bytes[60..62].try_into().unwrap()));
    let all = r.below(2) == 0;
    for index in 1..count {
        if all || r.below(4) == 0 {
            bytes = patch(bytes, table + 64 * index + field, &value.to_le_bytes());
        }
    }
    bytes
}

/// Global memory that claims a terabyte.
fn nobits(r: &mut Random) -> Vec<u8> {
    let bytes = fs::read(example("saxpy.sm_90.cubin")).unwrap();
    let table = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
    let size = [1_u64 << 40, 1 << 31, u64::MAX / 2][r.below(3)];
    // .nv.global is section 15 of this file.
    patch(bytes, table + 64 * 15 + 32, &size.to_le_bytes())
}

fn names(r: &mut Random) -> Vec<u8> {
    let mut bytes = cubin(r);
    let hostile = *b"\x1b[2J\n\r\x07\xff\xfe";
    while let Some(at) = bytes.windows(9).position(|w| w == b"_Z5scalef") {
        bytes[at..at + 9].copy_from_slice(&hostile);
    }
    bytes
}

fn fatbin(payload: &[u8]) -> Vec<u8> {
    let mut writer = fatbin::write::Writer::new();
    let image = fatbin::write::Image {
        kind: fatbin::Kind::ELF,
        arch: "sm_90".parse().unwrap(),
        version: (1, 8),
        flags: fatbin::Flags::ADDRESS_64.union(fatbin::Flags::LINUX),
        ident: None,
        options: None,
        compat: None,
        compression: fatbin::Compression::None,
        payload,
    };
    writer.add(&image).unwrap();
    writer.finish()
}

/// A payload that claims to be compressed, and to be large.
fn claims(r: &mut Random, flag: u64) -> Vec<u8> {
    let file = fatbin(&noise(r));
    let file = patch(file, 16 + 16, &(r.below(4000) as u32).to_le_bytes());
    let file = patch(file, 16 + 40, &(0x11 | flag).to_le_bytes());
    patch(file, 16 + 56, &(1_u64 << r.below(60)).to_le_bytes())
}

/// An archive with one member, whatever the name in its header is.
fn archive_of(name: &str, member: &[u8]) -> Vec<u8> {
    let mut bytes =
        [b"!<arch>\n".to_vec(), member_header(name, member.len()), member.to_vec()].concat();
    bytes.resize(bytes.len().next_multiple_of(2), b'\n');
    bytes
}

fn archive(name: &str, member: &[u8]) -> Vec<u8> {
    support::archive(&[(name, member)])
}

/// A file of 256 GiB that takes a page.
fn sparse(path: &Path, head: &[u8]) {
    fs::write(path, head).unwrap();
    fs::OpenOptions::new().write(true).open(path).unwrap().set_len(256 << 30).unwrap();
}
