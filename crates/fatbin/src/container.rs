//! Iterates over fatbin containers.

use crate::compress::{self, Compression, DecodeError};
use crate::content::Content;
use crate::raw::{
    CONTAINER_MAGIC, CONTAINER_VERSION, ContainerHeader, EntryHeader, Flags, Kind, OptionsBlock,
};
use cubin::{Arch, Variant};
use std::borrow::Cow;
use zerocopy::FromBytes;

/// Maximum depth of nested containers.
const MAX_DEPTH: usize = 4;

/// Why bytes are not a readable fatbin. Offsets count from the start of the
/// bytes given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FatbinError {
    /// The magic is missing.
    #[error("no fatbin container at offset {offset:#x}")]
    NotAContainer { offset: usize },
    /// A version that is not 1.
    #[error("fatbin container at offset {offset:#x} has version {version}, expected 1")]
    Version { offset: usize, version: u16 },
    /// The bytes end before the record does.
    #[error("{what} at offset {offset:#x} needs {needed} bytes but {available} are left")]
    Truncated { what: &'static str, offset: usize, needed: u64, available: usize },
    /// A header size too small to hold the header.
    #[error("{what} at offset {offset:#x} has the header size {size}")]
    HeaderSize { what: &'static str, offset: usize, size: u64 },
}

/// Consecutive containers with zero padding between them, as a host linker concatenates them. After
/// an error the iterator ends.
#[derive(Clone, Debug)]
pub struct Containers<'a> {
    data: &'a [u8],
    offset: usize,
}

impl<'a> Containers<'a> {
    /// Iterates over all of `data`.
    pub fn new(data: &'a [u8]) -> Self {
        Self { data, offset: 0 }
    }
}

impl<'a> Iterator for Containers<'a> {
    type Item = Result<Container<'a>, FatbinError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.data.get(self.offset..)?;
        let padding = rest.iter().take_while(|&&b| b == 0).count();
        if padding == rest.len() {
            self.offset = self.data.len();
            return None;
        }
        self.offset += padding;
        let result = Container::read_at(self.data, self.offset);
        self.offset = result.as_ref().map_or(self.data.len(), Container::end);
        Some(result)
    }
}

/// One container: images of the same code for several architectures.
#[derive(Clone, Copy, Debug)]
pub struct Container<'a> {
    data: &'a [u8],
    offset: usize,
    entries_at: usize,
    end: usize,
}

impl<'a> Container<'a> {
    /// The container at the start of `data`.
    pub fn parse(data: &'a [u8]) -> Result<Self, FatbinError> {
        Self::read_at(data, 0)
    }

    fn read_at(data: &'a [u8], offset: usize) -> Result<Self, FatbinError> {
        let rest = data.get(offset..).unwrap_or_default();
        if !rest.starts_with(&CONTAINER_MAGIC.to_le_bytes()) {
            return Err(FatbinError::NotAContainer { offset });
        }
        let what = "fatbin container";
        let truncated =
            |needed| FatbinError::Truncated { what, offset, needed, available: rest.len() };
        let (header, _) = ContainerHeader::ref_from_prefix(rest)
            .map_err(|_| truncated(size_of::<ContainerHeader>() as u64))?;
        if header.version != CONTAINER_VERSION {
            return Err(FatbinError::Version { offset, version: header.version.get() });
        }
        let header_size = usize::from(header.header_size.get());
        if header_size < size_of::<ContainerHeader>() {
            return Err(FatbinError::HeaderSize { what, offset, size: header_size as u64 });
        }
        let needed = header.size.get().saturating_add(header_size as u64);
        if needed > rest.len() as u64 {
            return Err(truncated(needed));
        }
        let end = offset + needed as usize;
        Ok(Self { data, offset, entries_at: offset + header_size, end })
    }

    /// Its start in the enclosing bytes.
    pub fn offset(&self) -> usize {
        self.offset
    }
    /// Its end in the enclosing bytes.
    pub fn end(&self) -> usize {
        self.end
    }
    /// All its bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.data.get(self.offset..self.end).unwrap_or_default()
    }
    /// Its entries. After an error the iterator ends.
    pub fn entries(&self) -> Entries<'a> {
        let data = self.data.get(..self.end).unwrap_or_default();
        Entries { data, offset: self.entries_at }
    }
    /// All its entries, including those of nested containers. A nested container is followed only
    /// if its payload is stored uncompressed.
    pub fn flat_entries(&self) -> Result<Vec<Entry<'a>>, FatbinError> {
        let mut list = Vec::new();
        self.flatten(MAX_DEPTH, &mut list)?;
        Ok(list)
    }

    fn flatten(&self, depth: usize, list: &mut Vec<Entry<'a>>) -> Result<(), FatbinError> {
        for entry in self.entries() {
            let entry = entry?;
            let inner = entry.stored();
            let nested = depth > 0
                && entry.compression() == Compression::None
                && inner.starts_with(&CONTAINER_MAGIC.to_le_bytes());
            if !nested {
                list.push(entry);
                continue;
            }
            for container in Containers::new(inner) {
                container?.flatten(depth - 1, list)?;
            }
        }
        Ok(())
    }
}

/// Iterator of [`Container::entries`].
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    data: &'a [u8],
    offset: usize,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, FatbinError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.data.get(self.offset..)?;
        if rest.is_empty() {
            return None;
        }
        let result = Entry::read_at(rest, self.offset);
        self.offset = match &result {
            Ok(entry) => self.offset + entry.bytes.len(),
            Err(_) => self.data.len(),
        };
        Some(result)
    }
}

/// One image.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    header: &'a EntryHeader,
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Entry<'a> {
    fn read_at(rest: &'a [u8], offset: usize) -> Result<Self, FatbinError> {
        let what = "fatbin entry";
        let truncated =
            |needed| FatbinError::Truncated { what, offset, needed, available: rest.len() };
        let (header, _) = EntryHeader::ref_from_prefix(rest)
            .map_err(|_| truncated(size_of::<EntryHeader>() as u64))?;
        let header_size = u64::from(header.header_size.get());
        if header_size < size_of::<EntryHeader>() as u64 {
            return Err(FatbinError::HeaderSize { what, offset, size: header_size });
        }
        let needed = header_size.saturating_add(header.payload_size.get());
        let bytes = usize::try_from(needed).ok().and_then(|n| rest.get(..n));
        Ok(Self { header, bytes: bytes.ok_or_else(|| truncated(needed))?, offset })
    }

    /// Its header.
    pub fn header(&self) -> &'a EntryHeader {
        self.header
    }
    /// Its start in the bytes that enclose the container.
    pub fn offset(&self) -> usize {
        self.offset
    }
    /// Header, strings and payload.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
    /// What it holds.
    pub fn kind(&self) -> Kind {
        Kind(self.header.kind.get())
    }
    /// Its flags.
    pub fn flags(&self) -> Flags {
        Flags(self.header.flags.get())
    }
    /// The architecture it was compiled for; numbers that do not fit become `u16::MAX`.
    pub fn arch(&self) -> Arch {
        let flags = self.flags();
        let variant = if flags.contains(Flags::ACCELERATED) {
            Variant::Accelerated
        } else if flags.contains(Flags::FAMILY) {
            Variant::Family
        } else {
            Variant::Plain
        };
        let number = u16::try_from(self.header.sm.get()).unwrap_or(u16::MAX);
        Arch { number, variant }
    }
    /// How the payload is stored.
    pub fn compression(&self) -> Compression {
        Compression::of(self.flags())
    }
    /// The string given with `fatbinary --ident`.
    pub fn ident(&self) -> Option<&'a [u8]> {
        let size = self.header.ident_size.get();
        if size == 0 {
            return None;
        }
        self.head_range(self.header.ident_offset.get(), size)
    }
    /// The compile options (PTX, LTO-IR).
    pub fn options(&self) -> Option<&'a [u8]> {
        let block = self.options_block()?;
        if self.flags().contains(Flags::MERCURY) {
            return None;
        }
        self.head_range(block.text_offset.get(), block.size.get())
    }
    /// The `.nv.compat` of the image. Entries for sm_100 and later repeat it, so that it can be
    /// read without decompressing.
    pub fn compat(&self) -> Option<&'a [u8]> {
        let block = self.options_block()?;
        if !self.flags().contains(Flags::MERCURY) {
            return None;
        }
        let text = self.head()?.get(block.text_offset.get() as usize..)?;
        let text_end = text.iter().position(|&b| b == 0)?;
        text.get(text_end + 1..)?.get(..block.size.get() as usize)
    }

    fn options_block(&self) -> Option<&'a OptionsBlock> {
        let offset = self.header.options_offset.get();
        if offset == 0 {
            return None;
        }
        let block = self.head_range(offset, size_of::<OptionsBlock>() as u32)?;
        OptionsBlock::ref_from_bytes(block).ok()
    }

    fn head_range(&self, offset: u32, size: u32) -> Option<&'a [u8]> {
        let start = offset as usize;
        let end = start.checked_add(size as usize)?;
        self.head()?.get(start..end)
    }

    fn head(&self) -> Option<&'a [u8]> {
        self.bytes.get(..self.header.header_size.get() as usize)
    }

    /// The payload as stored. An uncompressed payload includes the padding: the format does not
    /// give its exact size.
    pub fn stored(&self) -> &'a [u8] {
        let payload = self.bytes.get(self.header.header_size.get() as usize..).unwrap_or_default();
        match self.compression() {
            Compression::None => payload,
            _ => payload.get(..self.header.compressed_size.get() as usize).unwrap_or(payload),
        }
    }
    /// The payload, decompressed if necessary.
    pub fn payload(&self) -> Result<Cow<'a, [u8]>, DecodeError> {
        self.payload_up_to(compress::most(self.stored()))
    }
    /// Like [`Entry::payload`], but fails if it exceeds `limit` bytes.
    pub fn payload_up_to(&self, limit: u64) -> Result<Cow<'a, [u8]>, DecodeError> {
        if self.flags().contains(Flags::SCRAMBLED) {
            return Err(DecodeError::Scrambled);
        }
        let compression = self.compression();
        if compression == Compression::None {
            return Ok(Cow::Borrowed(self.stored()));
        }
        let (stored, size) = (self.stored(), self.header.uncompressed_size.get());
        let is_ordinary = compress::is_ordinary(compression, stored, size);
        if size <= limit && !is_ordinary && !self.begins_like_an_image() {
            return Err(DecodeError::NotAnImage);
        }
        compress::decompress(compression, stored, size, limit).map(Cow::Owned)
    }

    /// Whether the first bytes of a compressed payload are those of its kind: a stream that
    /// expands beyond measure is looked at before it is decompressed.
    fn begins_like_an_image(&self) -> bool {
        let head = compress::first_bytes(self.compression(), self.stored());
        match self.kind() {
            Kind::ELF => Content::of(&head) == Content::DeviceElf,
            Kind::PTX => {
                head.first().is_some_and(|b| b.is_ascii_graphic() || b.is_ascii_whitespace())
            }
            _ => true,
        }
    }

    /// The decompressed size of a payload with an ordinary compression ratio. For others, memory
    /// must not be allocated in advance.
    pub fn ordinary_size(&self) -> Option<u64> {
        let size = self.header.uncompressed_size.get();
        let ordinary = compress::is_ordinary(self.compression(), self.stored(), size);
        (ordinary && !self.flags().contains(Flags::SCRAMBLED)).then_some(size)
    }

    /// Decompresses a payload into a buffer of [`Entry::ordinary_size`] bytes.
    pub fn unpack_into(&self, image: &mut [u8]) -> Result<(), DecodeError> {
        compress::decompress_into(self.compression(), self.stored(), image)
    }
}
