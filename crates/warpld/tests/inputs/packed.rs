//! Many packed images, which are unpacked side by side.

use crate::images;
use fatbin::write::{Image, Writer};
use fatbin::{Compression, Flags, Kind};
use libwarpld::driver::{Diagnostics, SelectOptions};
use libwarpld::{Config, Error, Severity};
use std::path::PathBuf;
use warpld::files::{Files, LoadRequest};

/// An image for sm_90 in a container.
fn container(payload: &[u8], compression: Compression) -> Vec<u8> {
    let mut writer = Writer::new();
    let image = Image {
        kind: Kind::ELF,
        arch: images::arch("90"),
        version: (1, 8),
        flags: Flags::ADDRESS_64.union(Flags::LINUX),
        ident: None,
        options: None,
        compat: None,
        compression,
        payload,
    };
    writer.add(&image).unwrap();
    writer.finish()
}

/// The cubin, and behind it so much that 30 of them take several huge pages.
fn payload(cubin: &[u8], number: usize) -> Vec<u8> {
    let rest = (0..150_000 + 97 * number).map(|at| ((at * (number + 3)) >> 4) as u8);
    cubin.iter().copied().chain(rest).collect()
}

fn select(files: Vec<PathBuf>) -> Result<Vec<Vec<u8>>, Error> {
    let files = Files::open(&LoadRequest { files, ..Default::default() });
    let options = SelectOptions::of(&Config::builder("sm_90".parse().unwrap()).build());
    let (loaded, mut selections) = (files.scan(), Vec::new());
    // The second one finds the memory for images taken.
    for _ in 0..2 {
        let mut diagnostics = Diagnostics::default();
        let selected = loaded.select(&options, &mut diagnostics);
        assert_eq!(diagnostics.worst(), None);
        let images = selected.map(|selected| selected.inputs.images);
        let images = images.map(|all| all.into_iter().map(|i| i.image.into_owned()).collect());
        selections.push(images);
    }
    assert!(selections[0] == selections[1]);
    selections.pop().unwrap()
}

#[test]
fn many_images_are_unpacked_in_their_order() {
    let (images, folder) = (images::load(), tempfile::tempdir().unwrap());
    let payloads: Vec<Vec<u8>> = (0..30).map(|number| payload(&images["m1"], number)).collect();
    let kinds = [Compression::Zstd, Compression::Lz4, Compression::Zstd, Compression::None];
    let mut paths = Vec::new();
    for (number, payload) in payloads.iter().enumerate() {
        paths.push(folder.path().join(format!("{number}.fatbin")));
        std::fs::write(&paths[number], container(payload, kinds[number % 4])).unwrap();
    }
    let selected = select(paths.clone()).unwrap();
    for (number, (image, payload)) in selected.iter().zip(&payloads).enumerate() {
        // Where a plain payload ends the format does not say.
        assert!(image.starts_with(payload), "image {number}");
        assert!(image.len() == payload.len() || kinds[number % 4] == Compression::None);
    }
    // One that does not unpack is told from the others.
    let mut damaged = std::fs::read(&paths[14]).unwrap();
    let middle = damaged.len() / 2;
    damaged[middle..].fill(0xff);
    std::fs::write(&paths[14], damaged).unwrap();
    let error = select(paths).unwrap_err();
    assert!(error.diagnostics().iter().any(|d| d.severity == Severity::Fatal));
    let told = format!("{error:?}");
    assert!(told.contains("14.fatbin"), "{told}");
}
