//! Many packed images, which are unpacked side by side.

use crate::images;
use fatbin::write::{Image, Writer};
use fatbin::{Compression, Flags, Kind};
use libwarpld::driver::{Block, Diagnostics, Found, InputFile, SelectOptions, Store, scan};
use libwarpld::{Code, Config, Error, Severity};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
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

/// The image as a toolkit of the future would have made it.
fn of_newer_toolkit(image: &[u8]) -> Vec<u8> {
    let info =
        cubin::Cubin::parse(image).unwrap().section_by_name(b".note.nv.cuinfo").unwrap().data;
    let toolkit = info.as_ptr() as usize - image.as_ptr() as usize + info.len() - 4;
    let mut image = image.to_vec();
    image[toolkit..toolkit + 4].copy_from_slice(&999_u32.to_le_bytes());
    image
}

/// How many bytes images were unpacked into.
static UNPACKED: AtomicUsize = AtomicUsize::new(0);

fn counted(size: usize) -> Option<Box<dyn Block>> {
    UNPACKED.fetch_add(size, Ordering::Relaxed);
    Some(Box::new(vec![0; size]))
}

/// How a link of these files ends, and how much it unpacked together.
fn refusal(files: &[Vec<u8>]) -> (Code, String, usize) {
    let found = files.iter().enumerate().map(|(n, f)| InputFile::new(n.to_string(), f));
    let found: Vec<Found<'_>> = found.map(Found::File).collect();
    let (store, mut diagnostics) = (Store::new(counted), Diagnostics::default());
    let options = SelectOptions::of(&Config::builder("sm_90".parse().unwrap()).build());
    UNPACKED.store(0, Ordering::Relaxed);
    let error = scan(&found, &store, "").select(&options, &mut diagnostics).unwrap_err();
    let [only] = error.diagnostics() else { panic!("{error:?}") };
    assert_eq!(only.severity, Severity::Fatal);
    (only.code, only.message.clone(), UNPACKED.load(Ordering::Relaxed))
}

/// nvlink, too, ends at the first input that it refuses. [13.0.88 with NCCL 2.32.3]
#[test]
fn nothing_is_unpacked_after_an_input_that_is_refused() {
    let images = images::load();
    let (newer, other) = (of_newer_toolkit(&images["m1"]), &images["80"]);
    let make = |image: &[u8], n| container(&payload(image, n), Compression::Zstd);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    // The buffer of the first images is made before they are looked at.
    let one_buffer = 2 << 20;
    let all_newer: Vec<Vec<u8>> = (0..30).map(|n| make(&newer, n)).collect();
    let (code, message, unpacked) = pool.install(|| refusal(&all_newer));
    assert_eq!(code, Code::NewerToolkit);
    assert!(message.starts_with("Input file '0' newer"), "{message}");
    assert!((1..one_buffer).contains(&unpacked), "{unpacked}");
    let fit = |n| make(&images["m1"], n);
    let one_unfit = (0..30).map(|n| if n == 12 { make(other, n) } else { fit(n) });
    let one_unfit: Vec<Vec<u8>> = one_unfit.collect();
    let (code, message, unpacked) = pool.install(|| refusal(&one_unfit));
    assert_eq!(code, Code::ArchMismatch);
    assert!(message.starts_with("Input file '12' arch"), "{message}");
    assert!((one_buffer..2 * one_buffer).contains(&unpacked), "{unpacked}");
    // What is not packed is looked at first of all.
    let mut bare: Vec<Vec<u8>> = (0..30).map(fit).collect();
    bare[0].clone_from(other);
    let (code, message, unpacked) = pool.install(|| refusal(&bare));
    assert_eq!((code, unpacked), (Code::ArchMismatch, 0));
    assert!(message.starts_with("Input file '0' arch"), "{message}");
}
