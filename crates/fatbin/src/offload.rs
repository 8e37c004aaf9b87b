//! `.llvm.offloading`: device code as clang's new driver embeds it, for its linker wrapper. A
//! sequence of binaries, each with one entry: a few numbers, strings such as `arch` and `triple`,
//! and the image. All numbers are little-endian.

/// The section's name.
pub const SECTION: &[u8] = b".llvm.offloading";

const MAGIC: [u8; 4] = [0x10, 0xFF, 0x10, 0xAD];
/// Binaries are aligned to this.
const ALIGN: usize = 8;

/// An image of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offloaded<'a> {
    /// The architecture, such as `sm_90`.
    pub arch: &'a [u8],
    /// The image: a cubin, a fatbin, PTX or bitcode.
    pub image: &'a [u8],
}

/// A binary that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the section .llvm.offloading is malformed")]
pub struct Malformed;

/// The images of a section.
pub fn images(section: &[u8]) -> Result<Vec<Offloaded<'_>>, Malformed> {
    let mut images = Vec::new();
    let mut rest = section;
    loop {
        // Padding between binaries.
        let zeros = rest.iter().take_while(|&&byte| byte == 0).count();
        rest = rest.get(zeros..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(images);
        }
        let (image, size) = binary(rest).ok_or(Malformed)?;
        images.push(image);
        rest = rest.get(size.next_multiple_of(ALIGN)..).unwrap_or_default();
    }
}

/// The image of the first binary, and the size of the binary.
fn binary(data: &[u8]) -> Option<(Offloaded<'_>, usize)> {
    if !data.starts_with(&MAGIC) {
        return None;
    }
    let size = number(data, 8)?;
    let data = data.get(..size)?;
    let entry = data.get(number(data, 16)?..)?;
    let (strings, count) = (number(entry, 8)?, number(entry, 16)?);
    let (image, image_size) = (number(entry, 24)?, number(entry, 32)?);
    let image = data.get(image..)?.get(..image_size)?;
    let mut arch = None;
    // Each string takes 16 bytes, so their number is bounded by the section. Only one value is
    // walked to its end: all of them may be as long as the section.
    for pair in data.get(strings..)?.chunks_exact(16).take(count) {
        let (key, value) = (data.get(number(pair, 0)?..)?, data.get(number(pair, 8)?..)?);
        if key.starts_with(b"arch\0") {
            arch = Some(value);
        }
    }
    let arch = arch.and_then(|text| text.split(|&byte| byte == 0).next()).unwrap_or_default();
    // At least the header, so that a walk gets on.
    (size >= 32).then_some((Offloaded { arch, image }, size))
}

fn number(data: &[u8], at: usize) -> Option<usize> {
    let bytes = data.get(at..)?.first_chunk::<8>()?;
    usize::try_from(u64::from_le_bytes(*bytes)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `llvm-offload-binary` writes it.
    fn made(arch: &[u8], image: &[u8]) -> Vec<u8> {
        let word = |n: usize| (n as u64).to_le_bytes();
        let (entry, strings, texts) = (32, 32 + 40, 32 + 40 + 16);
        let key_end = texts + 5;
        let image_at = (key_end + arch.len() + 1).next_multiple_of(8);
        let mut out =
            [&MAGIC[..], &1_u32.to_le_bytes(), &word(0), &word(entry), &word(40)].concat();
        // Object, CUDA, no flags.
        out.extend([3, 0, 2, 0, 0, 0, 0, 0]);
        for number in [strings, 1, image_at, image.len(), texts, key_end] {
            out.extend(word(number));
        }
        out.extend(b"arch\0");
        out.extend(arch);
        out.resize(image_at, 0);
        out.extend(image);
        out.resize(out.len().next_multiple_of(8), 0);
        let size = out.len();
        out[8..16].copy_from_slice(&word(size));
        out
    }

    /// Many strings, each as long as half of the section, take no longer than one.
    #[test]
    fn long_strings_are_walked_once() {
        const LONG: usize = 4 << 20;
        let word = |n: usize| (n as u64).to_le_bytes();
        let (strings, count) = (32 + 40, LONG / 16);
        let texts = strings + 16 * count;
        let size = texts + 5 + LONG;
        let mut out =
            [&MAGIC[..], &1_u32.to_le_bytes(), &word(size), &word(32), &word(40)].concat();
        out.extend([3, 0, 2, 0, 0, 0, 0, 0]);
        [strings, count, 0, 0].into_iter().for_each(|number| out.extend(word(number)));
        (0..count).for_each(|_| out.extend([word(texts), word(texts + 5)].concat()));
        out.extend(b"arch\0");
        out.resize(size, b'x');
        assert_eq!(images(&out).unwrap()[0].arch.len(), LONG);
    }

    #[test]
    fn images_one_after_the_other() {
        let section = [made(b"sm_90", b"first"), vec![0; 8], made(b"sm_80", b"second!")].concat();
        let found = images(&section).unwrap();
        let [first, second] = found[..] else { panic!("{found:?}") };
        assert_eq!((first.arch, first.image), (&b"sm_90"[..], &b"first"[..]));
        assert_eq!((second.arch, second.image), (&b"sm_80"[..], &b"second!"[..]));
        assert_eq!(images(b"").unwrap(), []);
    }

    #[test]
    fn damage_is_an_error() {
        let whole = made(b"sm_90", b"image");
        for at in 0..40 {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xff;
            // Whatever comes of it.
            let _ = images(&bytes);
        }
        for size in 1..whole.len() {
            assert!(images(&whole[..size]).is_err(), "{size}");
        }
        for at in [8, 16, 32 + 24, 32 + 32] {
            let mut bytes = whole.clone();
            bytes[at..at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
            assert_eq!(images(&bytes), Err(Malformed), "{at}");
        }
    }
}
