//! Puts cubins into fatbins the way nvcc does, one file each: the image, compressed, behind one for
//! another architecture that has the same bytes. Every third file is compressed with LZ4.
//!
//! `pack FOLDER CUBIN...` writes `FOLDER/NAME.fatbin` for each `NAME.cubin`.

use cubin::{Arch, Cubin};
use fatbin::write::{Image, Writer};
use fatbin::{Compression, Flags, Kind};
use std::error::Error;
use std::path::{Path, PathBuf};

fn pack(image: &[u8], compression: Compression) -> Result<Vec<u8>, Box<dyn Error>> {
    let cubin = Cubin::parse(image)?;
    let arch = cubin::flags::Identity::of(&cubin)?.arch;
    let compat = cubin.section_by_name(b".nv.compat").filter(|_| arch.is_mercury());
    let mut writer = Writer::new();
    for arch in [Arch { number: 75, ..arch }, arch] {
        writer.add(&Image {
            kind: Kind::ELF,
            arch,
            version: (1, 8),
            flags: Flags::ADDRESS_64.union(Flags::LINUX),
            ident: None,
            options: None,
            compat: compat.as_ref().map(|section| section.data),
            compression,
            payload: image,
        })?;
    }
    Ok(writer.finish())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut paths = std::env::args_os().skip(1).map(PathBuf::from);
    let folder = paths.next().ok_or("usage: pack FOLDER CUBIN...")?;
    std::fs::create_dir_all(&folder)?;
    for (number, path) in paths.enumerate() {
        let compression = if number % 3 == 2 { Compression::Lz4 } else { Compression::Zstd };
        let name = Path::new(path.file_name().ok_or("no file name")?).with_extension("fatbin");
        std::fs::write(folder.join(name), pack(&std::fs::read(&path)?, compression)?)?;
    }
    Ok(())
}
