//! Reads every file named on the command line, checks it, and checks that
//! writing its model gives the same bytes.

use cubin::model::{Content, Image};
use cubin::validate::validate;
use std::process::ExitCode;

fn main() -> ExitCode {
    let (mut good, mut bad, mut bytes) = (0, 0, 0);
    for path in std::env::args_os().skip(1) {
        match std::fs::read(&path).map_err(|e| e.to_string()).and_then(|data| check(&data)) {
            Ok(size) => {
                good += 1;
                bytes += size;
            }
            Err(message) => {
                bad += 1;
                println!("{}: {message}", path.display());
            }
        }
    }
    println!("round trip: {good} identical ({bytes} bytes), {bad} different");
    if bad == 0 && good > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn check(data: &[u8]) -> Result<usize, String> {
    let cubin = validate(data).map_err(|e| e.to_string())?;
    let image = Image::from_cubin(&cubin).map_err(|e| e.to_string())?;
    let size = image.serialized_size().map_err(|e| e.to_string())?;
    let written = image.to_bytes().map_err(|e| e.to_string())?;
    if size != written.len() as u64 {
        return Err(format!("announced {size} bytes, wrote {}", written.len()));
    }
    if let Some(at) = written.iter().zip(data).position(|(a, b)| a != b) {
        return Err(format!("differs at {at:#x}"));
    }
    if written.len() != data.len() {
        return Err(format!("wrote {} bytes of {}", written.len(), data.len()));
    }
    untyped(&cubin, &image)?;
    Ok(written.len())
}

/// Metadata must be decoded, and nothing may be outside of the sections.
fn untyped(cubin: &cubin::Cubin<'_>, image: &Image<'_>) -> Result<(), String> {
    use cubin::classify::SectionClass as C;
    for (section, modelled) in cubin.sections().iter().zip(&image.sections) {
        let has_codec = matches!(
            cubin::classify::section(&section).class,
            C::Strings
                | C::Symbols
                | C::Relocations { .. }
                | C::ResolvedRela
                | C::Info(_)
                | C::Compat
                | C::CallGraph
                | C::Prototype
                | C::RelAction
                | C::Note(_)
                | C::Capsule(_)
        );
        if has_codec && matches!(modelled.content, Content::Bytes(_)) {
            return Err(format!("{} was not decoded", section.name.escape_ascii()));
        }
    }
    for filler in &image.fillers {
        let stray = filler.bytes.iter().zip(filler.offset..).find(|&(&byte, offset)| {
            byte != 0 && !cubin.sections().iter().any(|s| reserves_file_space(&s, offset))
        });
        if let Some((_, offset)) = stray {
            return Err(format!("stray byte at {offset:#x}"));
        }
    }
    Ok(())
}

/// On sm_110 the Mercury counterpart of the reserved shared memory takes space in the file although
/// its type has no bytes; the bytes there have no meaning.
fn reserves_file_space(s: &cubin::SectionRef<'_>, offset: u64) -> bool {
    let counterpart = s.kind == cubin::SectionType::CUDA_RESERVED_SHARED
        && s.flags & cubin::consts::shf::MERCURY != 0;
    counterpart && (s.offset..s.offset + s.size).contains(&offset)
}
