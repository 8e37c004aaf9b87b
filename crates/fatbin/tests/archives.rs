//! Archives and host objects: what is there is found, and no byte string does
//! harm.

use fatbin::{Archive, HostKind, HostObject, MemberData};
use object::write::Object;
use object::{Architecture, BinaryFormat, Endianness, SectionKind};

fn header(name: &str, size: usize) -> Vec<u8> {
    format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644).into_bytes()
}

/// A GNU archive with a short and a long name.
fn gnu() -> Vec<u8> {
    let names = "a_name_of_more_than_fifteen_bytes.o/\n";
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, data) in
        [("/", &b"\0\0\0\0"[..]), ("//", names.as_bytes()), ("x.o/", b"one"), ("/0", b"four")]
    {
        bytes.extend(header(name, data.len()));
        bytes.extend(data);
        if data.len() % 2 == 1 {
            bytes.push(b'\n');
        }
    }
    bytes
}

/// Name and bytes; `None` where those are in another file.
type Listed = (String, Option<Vec<u8>>);

fn members(data: &[u8]) -> Result<Vec<Listed>, String> {
    let archive = Archive::parse(data).map_err(|e| e.to_string())?;
    archive
        .members()
        .map(|member| {
            let member = member.map_err(|e| e.to_string())?;
            let data = match member.data {
                MemberData::Inline(data) => Some(data.to_vec()),
                MemberData::External => None,
            };
            Ok((String::from_utf8_lossy(member.name).into_owned(), data))
        })
        .collect()
}

#[test]
fn gnu_names() {
    let expected = vec![
        ("x.o".to_owned(), Some(b"one".to_vec())),
        ("a_name_of_more_than_fifteen_bytes.o".to_owned(), Some(b"four".to_vec())),
    ];
    assert_eq!(members(&gnu()), Ok(expected));
}

#[test]
fn bsd_names() {
    let mut bytes = b"!<arch>\n".to_vec();
    bytes.extend(header("#1/8", 8 + 3));
    bytes.extend(b"long.o\0\0one\n");
    assert_eq!(members(&bytes), Ok(vec![("long.o".to_owned(), Some(b"one".to_vec()))]));
}

#[test]
fn thin_members_are_outside() {
    let mut bytes = b"!<thin>\n".to_vec();
    bytes.extend(header("//", 8));
    bytes.extend(b"d/x.o/\n\n");
    bytes.extend(header("/0", 1000));
    assert!(Archive::parse(&bytes).unwrap().is_thin());
    assert_eq!(members(&bytes), Ok(vec![("d/x.o".to_owned(), None)]));
}

#[test]
fn a_cut_at_every_byte_is_an_error_or_a_shorter_answer() {
    let bytes = gnu();
    let whole = members(&bytes).unwrap();
    for end in 0..bytes.len() {
        if let Ok(list) = members(&bytes[..end]) {
            assert!(list.len() < whole.len() || list == whole, "{end}");
            assert_eq!(list[..], whole[..list.len()], "{end}");
        }
    }
}

fn host_object() -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    for (name, data) in [
        ("__nv_relfatbin", &b"12345678"[..]),
        (".nvFatBinSegment", &[0; 24]),
        ("__nv_module_id", b"id_a\0id_b\0"),
        (".nvHRKE", b"_Z1k*\0"),
        (".nvHRKI", b"\0"),
        ("__nv_relfatbin", b"abcdefgh"),
    ] {
        let kind = SectionKind::ReadOnlyData;
        let section = object.add_section(vec![], name.as_bytes().to_vec(), kind);
        object.section_mut(section).set_data(data, 8);
    }
    object.write().unwrap()
}

#[test]
fn host_sections_are_found() {
    let bytes = host_object();
    let host = HostObject::parse(&bytes).unwrap();
    assert_eq!(host.kind, HostKind::Relocatable);
    assert_eq!(host.machine, Some(62));
    assert!(host.has_segment);
    assert_eq!(host.relocatable, [b"12345678", b"abcdefgh"]);
    assert!(host.linked.is_empty());
    assert_eq!(host.module_ids().collect::<Vec<_>>(), [b"id_a", b"id_b"]);
    assert_eq!(host.references.kernels_external, Some(&b"_Z1k*\0"[..]));
    assert_eq!(host.references.kernels_internal, Some(&b"\0"[..]));
    assert_eq!(host.references.constants_external, None);
}

#[test]
fn coff_objects_are_read_too() {
    let mut object = Object::new(BinaryFormat::Coff, Architecture::X86_64, Endianness::Little);
    for name in ["__nv_relfatbin", ".nvFatBinSegment"] {
        let kind = SectionKind::ReadOnlyData;
        let section = object.add_section(vec![], name.as_bytes().to_vec(), kind);
        object.section_mut(section).set_data(&b"12345678"[..], 8);
    }
    let bytes = object.write().unwrap();
    assert_eq!(fatbin::Content::of(&bytes), fatbin::Content::HostCoff);
    let host = HostObject::parse(&bytes).unwrap();
    assert!(host.has_segment);
    assert_eq!(host.relocatable, [b"12345678"]);
}

#[test]
fn a_cut_host_object_is_an_error_or_says_less() {
    let bytes = host_object();
    for end in 0..bytes.len() {
        if let Ok(host) = HostObject::parse(&bytes[..end]) {
            assert!(host.relocatable.iter().all(|s| s.len() == 8), "{end}");
        }
    }
}
