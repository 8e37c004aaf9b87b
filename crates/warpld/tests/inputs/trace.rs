//! `--trace`, and what selection leaves untouched.

use crate::images;
use crate::make::{Make, host, plain_host};
use fatbin::{Compression, Containers};
use libwarpld::Config;
use libwarpld::driver::{Diagnostics, SelectOptions, Selected};
use std::borrow::Cow;
use warpld::files::{Files, LoadRequest};

/// Loads files into a folder of their own and hands over the selection.
fn select(files: &[(&'static str, Vec<u8>)], look: impl FnOnce(Selected<'_>)) {
    let folder = tempfile::tempdir().unwrap();
    let mut request = LoadRequest::default();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        request.files.push(path);
    }
    let opened = Files::open(&request);
    let mut diagnostics = Diagnostics::default();
    let mut options = SelectOptions::of(&Config::builder("sm_90".parse().unwrap()).build());
    options.trace = true;
    let selected = opened.scan().select(&options, &mut diagnostics);
    look(selected.unwrap());
}

#[test]
fn every_input_is_traced_in_order() {
    let images = images::load();
    let archive = Make::Archive(vec![
        ("x.o", host("a", &["m1"])),
        ("text", Make::Bytes(vec![b'x'; 99])),
        ("old.o", host("b", &["80"])),
    ]);
    let files = [
        ("l.a", archive.bytes(&images)),
        ("plain.o", Make::Host(plain_host()).bytes(&images)),
        ("m.o", host("c", &["m2"]).bytes(&images)),
    ];
    select(&files, |selected| {
        let trace: Vec<_> = selected
            .trace
            .iter()
            .map(|t| {
                let name = t.name.rsplit('/').next().unwrap();
                (name, t.images, t.ignored.as_deref().unwrap_or_default())
            })
            .collect();
        let expected = [
            ("l.a:x.o", 1, ""),
            ("l.a:text", 0, "no format that carries device code"),
            ("l.a:old.o", 0, "nothing in it fits sm_90: it has sm_80"),
            ("plain.o", 0, "it has no device code"),
            ("m.o", 1, ""),
        ];
        assert_eq!(trace, expected);
    });
}

/// Six of seven images cannot be unpacked, and nobody notices.
#[test]
fn only_the_chosen_image_is_unpacked() {
    let images = images::load();
    let names = vec!["75", "80", "86", "89", "m1", "100", "120"];
    let mut bytes = Make::Fatbin(names.clone()).bytes(&images);
    let entries: Vec<_> =
        Containers::new(&bytes).flat_map(|c| c.unwrap().flat_entries().unwrap()).collect();
    assert_eq!(entries.len(), 7);
    let payloads: Vec<_> = entries
        .iter()
        .filter(|entry| entry.arch().number != 90)
        .map(|entry| {
            assert_eq!(entry.compression(), Compression::Zstd);
            entry.offset() + entry.header().header_size.get() as usize
        })
        .collect();
    for at in payloads {
        bytes[at..at + 16].fill(0xFF);
    }
    select(&[("f.fatbin", bytes)], |selected| {
        let chosen = &selected.inputs.images[0].image;
        assert_eq!(chosen[..], images["m1"][..]);
    });
}

#[test]
fn plain_images_are_borrowed() {
    let images = images::load();
    select(&[("c.cubin", images["m1"].clone())], |selected| {
        assert!(matches!(selected.inputs.images[0].image, Cow::Borrowed(_)));
    });
}
