//! Containers: what is written is read back, and no byte string does harm.

use cubin::{Arch, Variant};
use fatbin::write::{Image, Writer};
use fatbin::{Compression, Container, Containers, DecodeError, Entry, FatbinError, Flags, Kind};
use proptest::prelude::*;

fn arch(number: u16) -> Arch {
    Arch { number, variant: Variant::Plain }
}

fn image(payload: &[u8], compression: Compression) -> Image<'_> {
    Image {
        kind: Kind::ELF,
        arch: arch(90),
        version: (1, 8),
        flags: Flags::ADDRESS_64,
        ident: None,
        options: None,
        compat: None,
        compression,
        payload,
    }
}

fn container(images: &[Image<'_>]) -> Vec<u8> {
    let mut writer = Writer::new();
    for image in images {
        writer.add(image).unwrap();
    }
    writer.finish()
}

fn payload() -> Vec<u8> {
    (0..2000u32).flat_map(|i| (i / 7).to_le_bytes()).collect()
}

/// Everything there is to read in a byte string.
fn walk(data: &[u8]) -> Result<Vec<Entry<'_>>, FatbinError> {
    let mut entries = Vec::new();
    for container in Containers::new(data) {
        for entry in container?.flat_entries()? {
            let _ = (entry.ident(), entry.options(), entry.compat(), entry.arch());
            entries.push(entry);
        }
    }
    Ok(entries)
}

#[test]
fn all_compressions_round_trip() {
    let payload = payload();
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let bytes = container(&[image(&payload, compression)]);
        let entries = walk(&bytes).unwrap();
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].compression(), compression);
        assert_eq!(entries[0].payload().unwrap(), payload);
        let packed = entries[0].stored().len() < payload.len() / 2;
        assert_eq!(packed, compression != Compression::None);
    }
}

#[test]
fn strings_are_where_the_toolkit_puts_them() {
    let compat = [9u8; 36];
    let with_strings = Image {
        kind: Kind::PTX,
        ident: Some(b"hello"),
        options: Some(b"abc"),
        ..image(b"text\0", Compression::None)
    };
    let with_compat =
        Image { arch: arch(100), compat: Some(&compat), ..image(&[0; 16], Compression::None) };
    let bytes = container(&[with_strings, with_compat]);
    let entries = walk(&bytes).unwrap();
    assert_eq!(entries[0].ident(), Some(&b"hello"[..]));
    assert_eq!(entries[0].options(), Some(&b"abc"[..]));
    assert_eq!(entries[0].compat(), None);
    assert_eq!(entries[1].compat(), Some(&compat[..]));
    assert_eq!(entries[1].options(), None);
    // Header sizes that fatbinary 13.0 writes for such entries.
    assert_eq!(entries[0].header().header_size.get(), 88);
    assert_eq!(entries[1].header().header_size.get(), 112);
    assert!(entries[1].flags().contains(Flags::MERCURY));
}

#[test]
fn unknown_kinds_and_flags_survive_a_rewrite() {
    let odd = Image {
        kind: Kind(77),
        flags: Flags(0x4000_0000_0000_0005),
        ..image(&[1; 24], Compression::None)
    };
    let bytes = container(&[odd, image(&payload(), Compression::Lz4)]);
    let mut writer = Writer::new();
    for entry in walk(&bytes).unwrap() {
        writer.copy(&entry);
    }
    assert_eq!(writer.finish(), bytes);
}

#[test]
fn concatenated_and_nested_containers() {
    let one = container(&[image(b"11111111", Compression::None)]);
    let two = container(&[image(b"22222222", Compression::Zstd)]);
    let mut both = one.clone();
    both.extend([0; 24]);
    both.extend(&two);
    both.extend([0; 5]);
    let read = |data: &[u8]| -> Vec<Vec<u8>> {
        walk(data).unwrap().iter().map(|e| e.payload().unwrap().into_owned()).collect()
    };
    assert_eq!(read(&both), [b"11111111", b"22222222"]);
    let nested =
        container(&[image(&both, Compression::None), image(b"33333333", Compression::None)]);
    assert_eq!(read(&nested), [b"11111111", b"22222222", b"33333333"]);
}

#[test]
fn deep_nesting_ends() {
    let mut bytes = container(&[image(b"11111111", Compression::None)]);
    for _ in 0..1000 {
        bytes = container(&[image(&bytes, Compression::None)]);
    }
    assert_eq!(walk(&bytes).unwrap().len(), 1);
}

#[test]
fn a_cut_at_every_byte_is_an_error() {
    let payload = payload();
    let bytes = container(&[
        image(&payload, Compression::Zstd),
        image(&payload, Compression::Lz4),
        image(&payload[..64], Compression::None),
    ]);
    assert_eq!(walk(&bytes).unwrap().len(), 3);
    assert!(walk(&bytes[..0]).unwrap().is_empty());
    for end in 1..bytes.len() {
        let cut = &bytes[..end];
        assert!(walk(cut).is_err(), "{end}");
        assert!(Container::parse(cut).is_err(), "{end}");
    }
}

#[test]
fn a_cut_stream_is_an_error() {
    let payload = payload();
    for compression in [Compression::Lz4, Compression::Zstd] {
        let bytes = container(&[image(&payload, compression)]);
        let size = walk(&bytes).unwrap()[0].stored().len() as u32;
        for shorter in 0..size {
            let mut cut = bytes.clone();
            cut[16 + 0x10..16 + 0x14].copy_from_slice(&shorter.to_le_bytes());
            assert!(walk(&cut).unwrap()[0].payload().is_err(), "{compression:?} {shorter}");
        }
    }
}

fn with_declared_size(bytes: &[u8], size: u64) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[16 + 0x38..16 + 0x40].copy_from_slice(&size.to_le_bytes());
    bytes
}

#[test]
fn declared_sizes_bind() {
    let payload = payload();
    for compression in [Compression::Lz4, Compression::Zstd] {
        let bytes = container(&[image(&payload, compression)]);
        for size in [0, 1, payload.len() as u64 - 1, payload.len() as u64 + 1] {
            let lie = with_declared_size(&bytes, size);
            assert!(walk(&lie).unwrap()[0].payload().is_err(), "{compression:?} {size}");
        }
        for size in [1 << 40, u64::MAX] {
            let lie = with_declared_size(&bytes, size);
            let error = walk(&lie).unwrap()[0].payload().unwrap_err();
            assert!(matches!(error, DecodeError::TooLarge { .. }), "{error}");
        }
    }
}

#[test]
fn a_bomb_is_held_to_the_limit() {
    let zeros = vec![0; 50 << 20];
    let bytes = container(&[image(&zeros, Compression::Zstd)]);
    assert!(bytes.len() < 1 << 20);
    let entry = walk(&bytes).unwrap()[0];
    let error = entry.payload_up_to(1 << 20).unwrap_err();
    assert_eq!(error, DecodeError::TooLarge { declared: 50 << 20, limit: 1 << 20 });
    let lie = with_declared_size(&bytes, 1000);
    assert!(walk(&lie).unwrap()[0].payload().is_err());
}

proptest! {
    #[test]
    fn any_bytes_are_safe(data in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = walk(&data);
    }

    #[test]
    fn any_damage_is_safe(
        at in 0usize..400,
        bytes in proptest::collection::vec(any::<u8>(), 1..9),
    ) {
        let payload = payload();
        let mut data = container(&[
            Image { ident: Some(b"i"), options: Some(b"o"), ..image(&payload, Compression::Zstd) },
            image(&payload, Compression::Lz4),
        ]);
        for (to, from) in data.iter_mut().skip(at).zip(&bytes) {
            *to = *from;
        }
        if let Ok(entries) = walk(&data) {
            for entry in entries {
                let _ = entry.payload_up_to(1 << 20);
            }
        }
    }

    #[test]
    fn any_image_round_trips(
        payload in proptest::collection::vec(any::<u8>(), 0..500),
        ident in proptest::option::of("[a-z]{1,20}"),
        options in proptest::option::of("[ -~]{0,20}"),
        lz4 in any::<bool>(),
    ) {
        let compression = if lz4 { Compression::Lz4 } else { Compression::Zstd };
        let bytes = container(&[Image {
            kind: Kind::PTX,
            ident: ident.as_deref().map(str::as_bytes),
            options: options.as_deref().map(str::as_bytes),
            ..image(&payload, compression)
        }]);
        let entry = walk(&bytes).unwrap()[0];
        prop_assert_eq!(entry.payload().unwrap(), payload);
        prop_assert_eq!(entry.ident(), ident.as_deref().map(str::as_bytes));
        prop_assert_eq!(entry.options(), options.as_deref().map(str::as_bytes));
    }
}
