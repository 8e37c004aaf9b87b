//! Every image for every target, and every pair of images of one container, by release.

use crate::answer::kernels;
use crate::images::{self, ARCHS, Images};
use crate::make::Make;
use fatbin::Container;
use libwarpld::Release;
use libwarpld::internals::best_image::{Choice, choose};
use libwarpld::internals::check::{Limits, check};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// Releases that answer otherwise than the one before.
const RELEASES: [&str; 4] = ["13.0", "13.1", "13.2", "13.4"];

/// Architectures that take each other's code, with which pairs are made.
const FAMILIES: [&[&str]; 3] = [
    &["90", "90a"],
    &["100", "100a", "100f", "103", "103a", "103f", "107", "107a", "107f"],
    &["120", "120a", "120f", "121", "121a", "121f"],
];

/// How an image is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    Bare,
    Fatbin,
    Ptx,
}

impl Form {
    const ALL: [Self; 3] = [Self::Bare, Self::Fatbin, Self::Ptx];

    fn name(self) -> &'static str {
        match self {
            Self::Bare => "cubin",
            Self::Fatbin => "fatbin",
            Self::Ptx => "ptx",
        }
    }
    fn make(self, arch: &'static str) -> Make {
        match self {
            Self::Bare => Make::Cubin(arch),
            Self::Fatbin => Make::Fatbin(vec![arch]),
            Self::Ptx => Make::Fatbin(vec![Box::leak(format!("ptx:{arch}").into_boxed_str())]),
        }
    }
}

/// The release whose answers stand for those of another.
fn answers_of(release: &Release) -> &'static str {
    let is_before = |name: &&str| Release::named(name).unwrap().toolkit <= release.toolkit;
    RELEASES.into_iter().rev().find(is_before).unwrap()
}

#[test]
fn every_image_for_every_target() {
    let images = images::load();
    if let Some(toolkit) = support::toolkit() {
        let release = crate::release_of(&toolkit);
        let real = render(release, &images, |file, target| ask_nvlink(&toolkit, file, target));
        let file = crate::data_file(&format!("matrix-{}.txt", answers_of(release)));
        if crate::bless() {
            std::fs::write(&file, &real).unwrap();
        }
        assert_eq!(std::fs::read_to_string(file).unwrap(), real, "nvlink changed its mind");
    }
    let mut questions = 0;
    for release in Release::ALL {
        let file = crate::data_file(&format!("matrix-{}.txt", answers_of(release)));
        let ours = render(release, &images, |file, target| {
            questions += 1;
            ask_warpld(file, target, release)
        });
        assert_eq!(std::fs::read_to_string(file).unwrap(), ours, "{}", release.version);
    }
    println!("{questions} answers agree with nvlink");
}

/// A cubin or a container.
#[derive(Clone, Copy)]
enum File<'a> {
    Cubin(&'a [u8]),
    Fatbin(&'a [u8]),
}

/// The answers to all questions: which image, if any, is linked for a target.
fn render(
    release: &Release,
    images: &Images,
    mut ask: impl FnMut(File<'_>, &'static str) -> Option<String>,
) -> String {
    let archs = images::archs(release);
    let name = answers_of(release);
    let mut text = format!("# Which image nvlink of CUDA {name} takes for which target.\n");
    for form in Form::ALL {
        for arch in &archs {
            let bytes = form.make(arch).bytes(images);
            let file = if form == Form::Bare { File::Cubin(&bytes) } else { File::Fatbin(&bytes) };
            let is_taken = |target: &&'static str| ask(file, target).is_some();
            let targets: Vec<_> = archs.iter().copied().filter(is_taken).collect();
            writeln!(text, "{} {arch}: {}", form.name(), targets.join(" ")).unwrap();
        }
    }
    for (first, second, family) in pairs(&archs) {
        let bytes = Make::Fatbin(vec![first, second]).bytes(images);
        let answer = |target: &&'static str| {
            Some(format!("{target}={}", ask(File::Fatbin(&bytes), target)?))
        };
        let answers: Vec<_> = family.iter().filter_map(answer).collect();
        writeln!(text, "pair {first} {second}: {}", answers.join(" ")).unwrap();
    }
    text
}

/// Pairs of images, with the targets that may take either.
fn pairs(archs: &[&'static str]) -> Vec<(&'static str, &'static str, Vec<&'static str>)> {
    let mut pairs = Vec::new();
    for family in FAMILIES {
        let family: Vec<_> = family.iter().copied().filter(|a| archs.contains(a)).collect();
        for (at, first) in family.iter().copied().enumerate() {
            pairs.extend(family.iter().skip(at + 1).map(|second| (first, *second, family.clone())));
        }
    }
    pairs
}

fn ask_nvlink(toolkit: &Path, file: File<'_>, target: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let (name, bytes) = match file {
        File::Cubin(bytes) => ("x.cubin", bytes),
        File::Fatbin(bytes) => ("x.fatbin", bytes),
    };
    std::fs::write(folder.path().join(name), bytes).unwrap();
    Command::new(toolkit.join("bin/nvlink"))
        .current_dir(folder.path())
        .args([&format!("-arch=sm_{target}"), name, "-o", "out"])
        .output()
        .unwrap();
    let output = std::fs::read(folder.path().join("out")).ok()?;
    Some(kernels(&output).first()?.trim_start_matches("k_").to_owned())
}

fn ask_warpld(file: File<'_>, target: &str, release: &'static Release) -> Option<String> {
    // What matters is the target here; images for new ones are of a new release.
    let limits = Limits { release, newest: Release::NEWEST.toolkit };
    let target = images::arch(target);
    let name = |image: &[u8]| {
        check("x", image, target, limits).ok()?;
        Some(kernels(image).first()?.trim_start_matches("k_").to_owned())
    };
    let bytes = match file {
        File::Cubin(bytes) => return name(bytes),
        File::Fatbin(bytes) => bytes,
    };
    let entries = Container::parse(bytes).unwrap().flat_entries().unwrap();
    match choose(&entries, target, release) {
        Choice::MachineCode(entry) => {
            let name = name(&entry.payload().unwrap());
            assert!(name.is_some(), "chosen for {target} and then refused");
            name
        }
        Choice::Ptx(entry) => Some(format!("ptx{}", entry.arch())),
        _ => None,
    }
}

/// The idents are unique, so no image shadows another.
#[test]
fn images_are_distinct() {
    let images = images::load();
    let distinct: BTreeMap<_, _> = images.iter().map(|(name, bytes)| (bytes, name)).collect();
    assert!(images.len() > ARCHS.len());
    assert_eq!(distinct.len(), images.len());
}
