//! Containers around device code as nvcc would write them: fatbin, host
//! object and archive. Only what a device linker looks at is filled in.

use crate::program::{HostRefs, Sm};
use cubin::{Cubin, SectionType};

fn pad(out: &mut Vec<u8>, align: usize) {
    out.resize(out.len().next_multiple_of(align), 0);
}

const ENTRY_HEADER: usize = 64;

/// What follows the header of a Blackwell image: where its copy of `.nv.compat` starts, the size of
/// it, a zero byte and the copy. nvlink 13.1 and later choose no image for another target without it.
fn compat(image: &[u8], sm: Sm) -> Vec<u8> {
    let file = Cubin::parse(image).ok().filter(|_| sm.is_mercury());
    let records = file
        .and_then(|file| Some(file.sections().of_kind(SectionType::CUDA_COMPAT_INFO).next()?.data));
    let Some(records) = records.filter(|records| !records.is_empty()) else { return Vec::new() };
    let mut out = Vec::new();
    out.extend((ENTRY_HEADER as u32 + 8).to_le_bytes());
    out.extend((records.len() as u32).to_le_bytes());
    out.push(0);
    out.extend(records);
    pad(&mut out, 8);
    out
}

/// A fatbin container with one uncompressed ELF image.
pub fn fatbin(image: &[u8], sm: Sm) -> Vec<u8> {
    const IS_64_BIT_LINUX: u64 = 0x11;
    let flags = IS_64_BIT_LINUX
        | match sm.suffix {
            Some('a') => 0x10_0000,
            Some(_) => 0x20_0000,
            None => 0,
        }
        | if sm.number >= 100 { 0x100_0000 } else { 0 };
    let compat = compat(image, sm);
    let header = ENTRY_HEADER + compat.len();
    let payload = image.len().next_multiple_of(8);
    let mut out = Vec::new();
    out.extend(0xba55_ed50_u32.to_le_bytes());
    out.extend(1u16.to_le_bytes());
    out.extend(16u16.to_le_bytes());
    out.extend(((header + payload) as u64).to_le_bytes());
    out.extend(2u16.to_le_bytes());
    out.extend(0x101u16.to_le_bytes());
    out.extend((header as u32).to_le_bytes());
    out.extend((payload as u64).to_le_bytes());
    out.extend([0; 4]);
    out.extend((if compat.is_empty() { 0 } else { ENTRY_HEADER as u32 }).to_le_bytes());
    out.extend(8u16.to_le_bytes());
    out.extend(1u16.to_le_bytes());
    out.extend(u32::from(sm.number).to_le_bytes());
    out.extend([0; 8]);
    out.extend(flags.to_le_bytes());
    out.extend([0; 16]);
    out.extend(compat);
    out.extend(image);
    pad(&mut out, 8);
    out
}

/// A host object with device code, module id and host references.
pub fn object(container: &[u8], module_id: &str, refs: &HostRefs) -> Vec<u8> {
    let list = |names: &[String]| {
        let mut bytes: Vec<u8> = names.iter().flat_map(|n| n.bytes().chain([0])).collect();
        if bytes.is_empty() {
            bytes.push(0);
        }
        bytes
    };
    elf(&[
        (".nvFatBinSegment", vec![0; 24]),
        ("__nv_relfatbin", container.to_vec()),
        ("__nv_module_id", list(&[module_id.to_owned()])),
        (".nvHRKE", list(&refs.kernels)),
        (".nvHRKI", list(&refs.static_kernels)),
        (".nvHRDE", list(&refs.variables)),
        (".nvHRDI", list(&[])),
        (".nvHRCE", list(&refs.constants)),
        (".nvHRCI", list(&[])),
    ])
}

/// A relocatable x86-64 ELF file with these sections.
fn elf(sections: &[(&str, Vec<u8>)]) -> Vec<u8> {
    const PROGBITS: u32 = 1;
    const STRTAB: u32 = 3;
    const ALLOC: u64 = 2;
    let mut names = vec![0u8];
    let mut out = vec![0u8; 64];
    let mut headers = vec![0u8; 64];
    let mut add = |name: &str, kind: u32, flags: u64, data: &[u8], names: &mut Vec<u8>| {
        pad(&mut out, 8);
        let offset = out.len() as u64;
        let name_at = names.len() as u32;
        names.extend(name.bytes().chain([0]));
        let data = if kind == STRTAB { names.clone() } else { data.to_vec() };
        out.extend(&data);
        headers.extend(name_at.to_le_bytes());
        headers.extend(kind.to_le_bytes());
        for word in [flags, 0, offset, data.len() as u64] {
            headers.extend(word.to_le_bytes());
        }
        headers.extend([0; 8]);
        headers.extend(8u64.to_le_bytes());
        headers.extend(0u64.to_le_bytes());
    };
    for (name, data) in sections {
        add(name, PROGBITS, ALLOC, data, &mut names);
    }
    add(".shstrtab", STRTAB, 0, &[], &mut names);
    pad(&mut out, 8);
    let table = out.len() as u64;
    out.extend(&headers);
    let count = sections.len() as u16 + 2;
    let mut header = Vec::new();
    header.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    header.extend(1u16.to_le_bytes());
    header.extend(62u16.to_le_bytes());
    header.extend(1u32.to_le_bytes());
    header.extend([0; 16]);
    header.extend(table.to_le_bytes());
    header.extend([0; 4]);
    for half in [64, 0, 0, 64, count, count - 1] {
        header.extend(half.to_le_bytes());
    }
    out[..64].copy_from_slice(&header);
    out
}

/// A GNU archive of `members`.
pub fn archive(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    for (name, data) in members {
        let name = format!("{name}/");
        out.extend(
            format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, data.len()).bytes(),
        );
        out.extend(data);
        if data.len() % 2 == 1 {
            out.push(b'\n');
        }
    }
    out
}
