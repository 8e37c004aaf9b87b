//! Every image for every target.

use crate::images::{self, ARCHS, Images};
use fatbin::Container;
use libwarpld::Release;
use libwarpld::internals::best_image::{Choice, choose};
use libwarpld::internals::check::{Limits, check};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// The answers are those of nvlink 13.0.
const LIMITS: Limits = Limits { release: &Release::CUDA_13_0, newest: Release::CUDA_13_0.toolkit };

const HEADER: &str =
    "# Targets for which nvlink V13.0.88 takes an image, per kind and architecture of the image.\n";

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
    fn make(self, arch: &'static str, images: &Images) -> (&'static str, Vec<u8>) {
        let ptx: &'static str = Box::leak(format!("ptx:{arch}").into_boxed_str());
        let (file, make) = match self {
            Self::Bare => ("x.cubin", crate::make::Make::Cubin(arch)),
            Self::Fatbin => ("x.fatbin", crate::make::Make::Fatbin(vec![arch])),
            Self::Ptx => ("x.fatbin", crate::make::Make::Fatbin(vec![ptx])),
        };
        (file, make.bytes(images))
    }
}

#[test]
fn every_image_for_every_target() {
    let images = images::load();
    let file = crate::data_file("matrix.txt");
    let mut expected = std::fs::read_to_string(&file).unwrap_or_default();
    if let Some(toolkit) = support::toolkit() {
        let real = render(|form, arch, target| nvlink_takes(&toolkit, form, arch, target, &images));
        if crate::bless() {
            std::fs::write(&file, &real).unwrap();
            expected = real;
        } else {
            assert_eq!(expected, real, "nvlink changed its mind");
        }
    }
    let ours = render(|form, arch, target| warpld_takes(form, arch, target, &images));
    assert_eq!(expected, ours);
    let pairs = Form::ALL.len() * ARCHS.len() * ARCHS.len();
    println!("{pairs} pairs of image and target agree with nvlink");
}

fn render(takes: impl Fn(Form, &'static str, &'static str) -> bool) -> String {
    let mut text = String::from(HEADER);
    for form in Form::ALL {
        for arch in ARCHS {
            let targets: Vec<_> = ARCHS.into_iter().filter(|t| takes(form, arch, t)).collect();
            writeln!(text, "{} {arch}: {}", form.name(), targets.join(" ")).unwrap();
        }
    }
    text
}

fn nvlink_takes(
    toolkit: &Path,
    form: Form,
    arch: &'static str,
    target: &str,
    images: &Images,
) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let (file, bytes) = form.make(arch, images);
    std::fs::write(folder.path().join(file), bytes).unwrap();
    Command::new(toolkit.join("bin/nvlink"))
        .current_dir(folder.path())
        .args([&format!("-arch=sm_{target}"), file, "-o", "out"])
        .output()
        .unwrap();
    let output = std::fs::read(folder.path().join("out")).unwrap_or_default();
    output.windows(2).any(|w| w == b"k_")
}

fn warpld_takes(form: Form, arch: &'static str, target: &str, images: &Images) -> bool {
    let (_, bytes) = form.make(arch, images);
    let target = images::arch(target);
    if form == Form::Bare {
        return check("x", &bytes, target, LIMITS).is_ok();
    }
    let entries = Container::parse(&bytes).unwrap().flat_entries().unwrap();
    match choose(&entries, target, LIMITS.release) {
        Choice::MachineCode(entry) => {
            assert!(check("x", &entry.payload().unwrap(), target, LIMITS).is_ok());
            form == Form::Fatbin
        }
        Choice::Ptx(_) => form == Form::Ptx,
        _ => false,
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
