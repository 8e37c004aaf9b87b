//! Payload compression. Decompression must yield exactly the size that an entry declares: more is
//! an error, and so is less.

use crate::raw::Flags;
use crate::zstd;

/// Default limit for the size of a decompressed image.
pub const MAX_IMAGE_SIZE: u64 = 8 << 30;

/// Limit for the size of an image with an unusual compression ratio: a small file does not take
/// gigabytes.
pub const MAX_UNUSUAL_SIZE: u64 = 1 << 30;

/// Higher than any compression ratio seen for device code.
const ORDINARY_RATIO: u64 = 256;
/// A zstd block of a few bytes can expand to 128 KiB.
const ZSTD_MAX_RATIO: u64 = 128 << 10;
/// One LZ4 length byte adds at most 255 bytes.
const LZ4_MAX_RATIO: u64 = 255;
/// Slack for the ratios on tiny payloads.
const RATIO_SLACK: u64 = 64 << 10;

/// Growth factor of the buffer for a stream that has more output.
const GROWTH: u64 = 4;

/// How a payload is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Uncompressed.
    None,
    /// One LZ4 block, without a frame.
    Lz4,
    /// zstd frames.
    Zstd,
    /// Unsupported compression flags.
    Unknown(u64),
}

impl Compression {
    /// The compression that an entry's flags give.
    pub fn of(flags: Flags) -> Self {
        match flags.0 & Flags::COMPRESSION.0 {
            0 => Self::None,
            x if x == Flags::LZ4.0 => Self::Lz4,
            x if x == Flags::ZSTD.0 => Self::Zstd,
            x => Self::Unknown(x),
        }
    }
    /// The flags for it.
    pub fn flags(self) -> Flags {
        match self {
            Self::None => Flags(0),
            Self::Lz4 => Flags::LZ4,
            Self::Zstd => Flags::ZSTD,
            Self::Unknown(bits) => Flags(bits),
        }
    }
}

/// Why a payload could not be decompressed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// An unknown kind of compression.
    #[error("unknown compression {0:#x}")]
    UnknownCompression(u64),
    #[error("the payload is scrambled")]
    Scrambled,
    #[error("damaged {kind} stream: {reason}")]
    Damaged {
        /// `LZ4` or `zstd`.
        kind: &'static str,
        reason: String,
    },
    /// The output does not have the size that the entry declares.
    #[error("the payload unpacks to {actual} bytes, the entry declares {declared}")]
    WrongSize {
        /// Size of the output; a lower bound if it is more than declared.
        actual: u64,
        declared: u64,
    },
    /// More than the stream can expand to, or than the caller allows.
    #[error("the entry declares {declared} bytes, more than the {limit} that are possible")]
    TooLarge { declared: u64, limit: u64 },
    /// The first bytes are none that an image begins with.
    #[error("the payload does not begin like an image")]
    NotAnImage,
    #[error("no memory for {0} bytes")]
    OutOfMemory(u64),
}

/// Decompresses `stored` into exactly `declared` bytes.
pub fn decompress(
    compression: Compression,
    stored: &[u8],
    declared: u64,
    limit: u64,
) -> Result<Vec<u8>, DecodeError> {
    let ratio = match compression {
        Compression::None => return Ok(stored.to_vec()),
        Compression::Unknown(bits) => return Err(DecodeError::UnknownCompression(bits)),
        Compression::Lz4 => LZ4_MAX_RATIO,
        Compression::Zstd => ZSTD_MAX_RATIO,
    };
    let possible = (stored.len() as u64).saturating_mul(ratio).saturating_add(RATIO_SLACK);
    let limit = limit.min(possible);
    if declared > limit {
        return Err(DecodeError::TooLarge { declared, limit });
    }
    // A large declared size is not trusted: memory grows in proportion to the actual output.
    let mut size = declared.min(ordinary_size(stored));
    let (image, actual) = loop {
        let mut image = zeroed(size)?;
        match unpack(compression, stored, &mut image)? {
            Some(actual) => break (image, actual as u64),
            None if size == declared => {
                return Err(DecodeError::WrongSize { actual: size.saturating_add(1), declared });
            }
            None => size = size.saturating_mul(GROWTH).min(declared),
        }
    };
    if actual != declared {
        return Err(DecodeError::WrongSize { actual, declared });
    }
    Ok(image)
}

/// The first bytes of what `stored` decompresses to; zeros where they cannot be told.
pub(crate) fn first_bytes(compression: Compression, stored: &[u8]) -> Vec<u8> {
    let mut head = vec![0; zstd::BLOCK_AT_MOST];
    // Whether it fits, or is damaged, is found out later.
    let _ = match compression {
        Compression::Lz4 => unpack_lz4(stored, &mut head),
        _ => zstd::unpack_start(stored, &mut head).map(|()| None).or(Ok(None)),
    };
    head
}

/// The most that `stored` may declare to decompress to.
pub(crate) fn most(stored: &[u8]) -> u64 {
    ordinary_size(stored).clamp(MAX_UNUSUAL_SIZE, MAX_IMAGE_SIZE)
}

/// Upper bound for the size that `stored` usually expands to.
fn ordinary_size(stored: &[u8]) -> u64 {
    (stored.len() as u64).saturating_mul(ORDINARY_RATIO).max(RATIO_SLACK)
}

/// Whether memory of the declared size can be allocated before decompressing.
pub(crate) fn is_ordinary(compression: Compression, stored: &[u8], declared: u64) -> bool {
    matches!(compression, Compression::Lz4 | Compression::Zstd)
        && declared <= MAX_IMAGE_SIZE.min(ordinary_size(stored))
}

/// Decompresses `stored`, which must fill `image` exactly.
pub(crate) fn decompress_into(
    compression: Compression,
    stored: &[u8],
    image: &mut [u8],
) -> Result<(), DecodeError> {
    let declared = image.len() as u64;
    let actual = unpack(compression, stored, image)?.map_or(declared + 1, |actual| actual as u64);
    match actual == declared {
        true => Ok(()),
        false => Err(DecodeError::WrongSize { actual, declared }),
    }
}

/// The size of the output; `None` if it does not fit.
fn unpack(
    compression: Compression,
    stored: &[u8],
    image: &mut [u8],
) -> Result<Option<usize>, DecodeError> {
    match compression {
        Compression::Lz4 => unpack_lz4(stored, image),
        _ => unpack_zstd(stored, image),
    }
}

/// Zeroed memory that the system commits page by page as it is written, so a wrong `declared` size
/// costs only address space.
fn zeroed(size: u64) -> Result<Vec<u8>, DecodeError> {
    let out_of_memory = || DecodeError::OutOfMemory(size);
    let size = usize::try_from(size).map_err(|_| out_of_memory())?;
    Vec::<u8>::new().try_reserve_exact(size).map_err(|_| out_of_memory())?;
    Ok(vec![0; size])
}

/// Like [`unpack`], for an LZ4 block.
fn unpack_lz4(stored: &[u8], image: &mut [u8]) -> Result<Option<usize>, DecodeError> {
    use lz4_flex::block::DecompressError;
    match lz4_flex::block::decompress_into(stored, image) {
        Ok(size) => Ok(Some(size)),
        Err(DecompressError::OutputTooSmall { .. }) => Ok(None),
        Err(error) => Err(DecodeError::Damaged { kind: "LZ4", reason: error.to_string() }),
    }
}

/// Like [`unpack`], for zstd frames.
fn unpack_zstd(stored: &[u8], image: &mut [u8]) -> Result<Option<usize>, DecodeError> {
    match zstd::unpack(stored, image) {
        Ok(size) => Ok(Some(size)),
        Err(zstd::Damage::TooMuch) => Ok(None),
        Err(damage) => Err(DecodeError::Damaged { kind: "zstd", reason: damage.to_string() }),
    }
}
