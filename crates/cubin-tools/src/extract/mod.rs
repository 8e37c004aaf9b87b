//! The device images of fatbins, host objects, archives, libraries and programs.

mod walk;

pub use walk::{Image, Sections, Walk, WalkError, stem};

use cubin::words::shown;
use cubin::{Arch, Variant};
use fatbin::{Compression, Kind};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// An image with the name it is written under.
#[derive(Clone, Debug)]
pub struct NamedImage<'f> {
    /// Its place among all images of the file it was found in, from 1 on.
    pub number: usize,
    /// The name of the file.
    pub name: String,
    /// The image.
    pub image: Image<'f>,
}

/// Names images as `cuobjdump` does: `stem.N.sm_90.cubin`, where N counts the images of that kind
/// in the file. Images with a name use it as the stem, without N unless the name is taken.
pub fn name_images<'f>(stem: &str, images: Vec<Image<'f>>) -> Vec<NamedImage<'f>> {
    let mut counts: HashMap<Kind, usize> = HashMap::new();
    let mut taken: HashSet<String> = HashSet::new();
    let mut named = Vec::new();
    for (at, image) in images.into_iter().enumerate() {
        let count = counts.entry(image.kind).or_default();
        *count += 1;
        let arch = shown_arch(&image);
        let suffix = suffix(image.kind);
        let ident =
            image.ident.map(|ident| file_name(&walk::stem(&String::from_utf8_lossy(ident))));
        let own = ident.filter(|ident| !ident.is_empty());
        let stem = own.as_deref().unwrap_or(stem);
        let short = match image.kind {
            _ if own.is_some() => Some(format!("{stem}.{arch}.{suffix}")),
            Kind::ELF if image.bare => Some(format!("{stem}.{arch}.{suffix}")),
            _ if image.bare => Some(format!("{stem}.{suffix}")),
            _ => None,
        };
        // Names inside a file may be made to meet those with a number: no image hides another.
        let numbered = format!("{stem}.{count}.{arch}.{suffix}");
        let others = (at + 1..).map(|n| format!("{stem}.{count}.{n}.{arch}.{suffix}"));
        let mut names = short.into_iter().chain([numbered]).chain(others);
        let name = names.find(|name| !taken.contains(name)).unwrap_or_default();
        taken.insert(name.clone());
        named.push(NamedImage { number: at + 1, name, image });
    }
    named
}

/// A name from inside a file that a file may have: nothing in it is hidden.
fn file_name(name: &str) -> String {
    name.chars()
        .map(|c| if shown(c.encode_utf8(&mut [0; 4])) == c.to_string() { c } else { '_' })
        .collect()
}

/// Machine code with the letter `f` is shown without it: the files do not differ.
fn shown_arch(image: &Image<'_>) -> Arch {
    match (image.kind, image.arch.variant) {
        (Kind::ELF, Variant::Family) => Arch { variant: Variant::Plain, ..image.arch },
        _ => image.arch,
    }
}

fn suffix(kind: Kind) -> String {
    match kind {
        Kind::ELF => "cubin".into(),
        Kind::PTX => "ptx".into(),
        Kind::LTO_IR => "ltoir".into(),
        Kind(other) => format!("kind{other}"),
    }
}

/// What is known about an image, for other programs.
pub fn image_json(named: &NamedImage<'_>) -> Value {
    let image = &named.image;
    let options = image.options.map(String::from_utf8_lossy);
    json!({
        "number": named.number,
        "name": named.name,
        "member": image.member,
        "kind": suffix(image.kind),
        "arch": image.arch.to_string(),
        "ident": image.ident.map(String::from_utf8_lossy),
        "options": options,
        "compression": match image.compression {
            Compression::None => "none".into(),
            Compression::Lz4 => "lz4".into(),
            Compression::Zstd => "zstd".into(),
            Compression::Unknown(bits) => format!("{bits:#x}"),
        },
        "size": image.size(),
        "stored_size": image.stored_size,
    })
}

/// One line about an image, for lists.
pub fn line(named: &NamedImage<'_>) -> String {
    let image = &named.image;
    let stored = match image.compression {
        Compression::None => "plain".into(),
        Compression::Lz4 => format!("lz4 {}", image.stored_size),
        Compression::Zstd => format!("zstd {}", image.stored_size),
        Compression::Unknown(bits) => format!("compression {bits:#x}"),
    };
    let options = match image.options {
        Some(options) if image.kind != Kind::ELF => String::from_utf8_lossy(options),
        _ => "".into(),
    };
    let line = format!(
        "{:>4}  {:<40} {:>10} bytes  {stored}  {options}",
        named.number,
        named.name,
        image.size()
    );
    shown(line.trim_end()).into_owned()
}
