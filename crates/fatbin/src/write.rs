//! Writing fatbin containers.

use crate::compress::Compression;
use crate::container::Entry;
use crate::raw::{
    ALIGNMENT, CONTAINER_MAGIC, CONTAINER_VERSION, ContainerHeader, ENTRY_VERSION, EntryHeader,
    Flags, Kind, OptionsBlock,
};
use cubin::{Arch, Variant};
use std::borrow::Cow;
use zerocopy::IntoBytes;

/// The image or one of its strings is too large for the format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} of {size} bytes does not fit a fatbin entry")]
pub struct TooLarge {
    pub what: &'static str,
    pub size: usize,
}

/// An image to write.
#[derive(Clone, Debug)]
pub struct Image<'a> {
    pub kind: Kind,
    pub arch: Arch,
    /// Version of the format of the payload: ABI 8 is (1, 8), PTX 9.0 is (9, 0).
    pub version: (u16, u16),
    /// Flags, except those for compression and architecture.
    pub flags: Flags,
    /// `fatbinary --ident`.
    pub ident: Option<&'a [u8]>,
    /// The compile options. PTX must have some, even if empty.
    pub options: Option<&'a [u8]>,
    /// The image's `.nv.compat` (sm_100 and later): which other targets can use it.
    pub compat: Option<&'a [u8]>,
    pub compression: Compression,
    pub payload: &'a [u8],
}

/// Builds one container.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    entries: Vec<u8>,
}

impl Writer {
    /// An empty container.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an entry unchanged, whatever its kind and flags.
    pub fn copy(&mut self, entry: &Entry<'_>) {
        self.entries.extend_from_slice(entry.bytes());
    }

    /// Appends an image.
    pub fn add(&mut self, image: &Image<'_>) -> Result<(), TooLarge> {
        let (stored, compression) = pack(image);
        let compressed = compression != Compression::None;
        let ident_at = size_of::<EntryHeader>();
        let ident = image.ident.map(terminated).unwrap_or_default();
        let options_at = ident_at + padded(ident.len());
        let options = options_block(image, options_at)?;
        let header_size = options_at + padded(options.len());
        let header = EntryHeader {
            kind: image.kind.0.into(),
            version: ENTRY_VERSION.into(),
            header_size: fit("header", header_size)?.into(),
            payload_size: (padded(stored.len()) as u64).into(),
            compressed_size: if compressed { fit("payload", stored.len())? } else { 0 }.into(),
            options_offset: if options.is_empty() { 0 } else { fit("ident", options_at)? }.into(),
            minor: image.version.1.into(),
            major: image.version.0.into(),
            sm: u32::from(image.arch.number).into(),
            ident_offset: if ident.is_empty() { 0 } else { fit("header", ident_at)? }.into(),
            ident_size: fit("ident", ident.len().saturating_sub(1))?.into(),
            flags: flags_of(image, compression).0.into(),
            reserved: 0.into(),
            uncompressed_size: if compressed { image.payload.len() as u64 } else { 0 }.into(),
        };
        self.entries.extend_from_slice(header.as_bytes());
        self.push_padded(&ident);
        self.push_padded(&options);
        self.push_padded(&stored);
        Ok(())
    }

    fn push_padded(&mut self, bytes: &[u8]) {
        self.entries.extend_from_slice(bytes);
        self.entries.resize(padded(self.entries.len()), 0);
    }

    /// The container.
    pub fn finish(self) -> Vec<u8> {
        let header = ContainerHeader {
            magic: CONTAINER_MAGIC.into(),
            version: CONTAINER_VERSION.into(),
            header_size: (size_of::<ContainerHeader>() as u16).into(),
            size: (self.entries.len() as u64).into(),
        };
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend_from_slice(&self.entries);
        bytes
    }
}

/// nvlink reads strings up to their NUL and ignores their size field.
fn terminated(text: &[u8]) -> Vec<u8> {
    let mut bytes = text.to_vec();
    bytes.push(0);
    bytes
}

/// The options with the block that points to them; empty if there are none.
fn options_block(image: &Image<'_>, at: usize) -> Result<Vec<u8>, TooLarge> {
    if image.options.is_none() && image.compat.is_none() {
        return Ok(Vec::new());
    }
    let options = image.options.unwrap_or_default();
    let size = image.compat.unwrap_or(options).len();
    let block = OptionsBlock {
        text_offset: fit("ident", at + size_of::<OptionsBlock>())?.into(),
        size: fit("options", size)?.into(),
    };
    let mut bytes = block.as_bytes().to_vec();
    bytes.extend(terminated(options));
    bytes.extend_from_slice(image.compat.unwrap_or_default());
    Ok(bytes)
}

fn padded(size: usize) -> usize {
    size.next_multiple_of(ALIGNMENT)
}

fn fit(what: &'static str, size: usize) -> Result<u32, TooLarge> {
    u32::try_from(size).map_err(|_| TooLarge { what, size })
}

fn flags_of(image: &Image<'_>, compression: Compression) -> Flags {
    let letter = match image.arch.variant {
        Variant::Plain => Flags(0),
        Variant::Family => Flags::FAMILY,
        Variant::Accelerated => Flags::ACCELERATED,
    };
    let compat = if image.compat.is_some() { Flags::MERCURY } else { Flags(0) };
    image.flags.without(Flags::COMPRESSION).union(compression.flags()).union(letter).union(compat)
}

/// The payload as stored; uncompressed if compression does not make it smaller.
fn pack<'a>(image: &Image<'a>) -> (Cow<'a, [u8]>, Compression) {
    let packed = match image.compression {
        Compression::Lz4 => lz4_flex::block::compress(image.payload),
        Compression::Zstd => ruzstd::encoding::compress_to_vec(
            image.payload,
            ruzstd::encoding::CompressionLevel::Fastest,
        ),
        Compression::None | Compression::Unknown(_) => {
            return (Cow::Borrowed(image.payload), Compression::None);
        }
    };
    (Cow::Owned(packed), image.compression)
}
