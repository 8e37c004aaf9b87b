//! `.note.nv.tkinfo`, `.note.nv.cuinfo` and `.note.nv.cuver`: ELF notes with
//! the owner "NVIDIA Corp".

use crate::consts::open_enum;
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Owner of all of NVIDIA's notes, including the terminating NUL.
pub const OWNER: &[u8; 12] = b"NVIDIA Corp\0";

/// The note version that tools of CUDA 13 write.
pub const VERSION: u16 = 2;

open_enum!(
    /// `n_type`.
    NoteType(u32) {
        CUINFO = 1000,
        TKINFO = 2000,
    }
);

/// One note, borrowed from its section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note<'a> {
    pub kind: NoteType,
    /// Owner, including the terminating NUL.
    pub owner: &'a [u8],
    /// Description, without the padding that follows it.
    pub desc: &'a [u8],
}

impl Note<'_> {
    /// Size of the note in bytes, including padding.
    pub fn size(&self) -> usize {
        12 + self.owner.len().next_multiple_of(4) + self.desc.len().next_multiple_of(4)
    }
}

/// Why a note section could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoteError {
    /// The section ends inside a note.
    #[error("note at offset {offset:#x} runs past the end")]
    Truncated { offset: usize },
    /// A description too short for its type.
    #[error("note description of {size} bytes is too short")]
    Short { size: usize },
    /// A string that starts or ends outside the description.
    #[error("note string at offset {offset:#x} lies outside the description")]
    String {
        /// Offset in the string area.
        offset: u32,
    },
}

/// The notes of a section.
pub fn notes(data: &[u8]) -> impl Iterator<Item = Result<Note<'_>, NoteError>> {
    let mut offset = 0;
    let mut failed = false;
    std::iter::from_fn(move || {
        if failed || offset >= data.len() {
            return None;
        }
        let note = read_note(data, offset);
        match &note {
            Some((_, next)) => offset = *next,
            None => failed = true,
        }
        Some(note.map(|(note, _)| note).ok_or(NoteError::Truncated { offset }))
    })
}

fn read_note(data: &[u8], offset: usize) -> Option<(Note<'_>, usize)> {
    let (head, _) = <[U32; 3]>::read_from_prefix(data.get(offset..)?).ok()?;
    let [owner_size, desc_size, kind] = head.map(U32::get);
    let owner_start = offset + 12;
    let owner_end = owner_start.checked_add(owner_size as usize)?;
    let desc_start = owner_end.checked_next_multiple_of(4)?;
    let desc_end = desc_start.checked_add(desc_size as usize)?;
    let note = Note {
        kind: NoteType(kind),
        owner: data.get(owner_start..owner_end)?,
        desc: data.get(desc_start..desc_end)?,
    };
    Some((note, desc_end.checked_next_multiple_of(4)?))
}

/// Appends one of NVIDIA's notes to a section.
pub fn write_note(kind: NoteType, desc: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(OWNER.len() as u32).to_le_bytes());
    out.extend_from_slice(&(desc.len() as u32).to_le_bytes());
    out.extend_from_slice(&kind.0.to_le_bytes());
    out.extend_from_slice(OWNER);
    out.extend_from_slice(desc);
    out.resize(out.len().next_multiple_of(4), 0);
}

/// The tool that wrote a file: the description of a [`NoteType::TKINFO`] note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolInfo<'a> {
    /// Note version since CUDA 13.0; before that, the toolkit (129).
    pub version: u32,
    /// Object file name, usually empty.
    pub object: &'a [u8],
    pub tool: &'a [u8],
    /// Version line.
    pub release: &'a [u8],
    /// Build line.
    pub build: &'a [u8],
    /// Command line.
    pub options: &'a [u8],
}

impl<'a> ToolInfo<'a> {
    /// Reads the description of a TKINFO note.
    pub fn parse(desc: &'a [u8]) -> Result<Self, NoteError> {
        let (head, strings) = <[U32; 6]>::read_from_prefix(desc)
            .map_err(|_| NoteError::Short { size: desc.len() })?;
        let string = |offset: U32| {
            let offset = offset.get();
            let rest = strings.get(offset as usize..);
            let end = rest.and_then(|r| r.iter().position(|&b| b == 0));
            rest.zip(end).map(|(r, end)| &r[..end]).ok_or(NoteError::String { offset })
        };
        let [version, object, tool, release, build, options] = head;
        Ok(Self {
            version: version.get(),
            object: string(object)?,
            tool: string(tool)?,
            release: string(release)?,
            build: string(build)?,
            options: string(options)?,
        })
    }

    /// Encodes the description: header, strings in order, zero padding to 4 bytes, which counts
    /// towards the description's size.
    pub fn to_desc(&self) -> Vec<u8> {
        let strings = [self.object, self.tool, self.release, self.build, self.options];
        let mut desc = self.version.to_le_bytes().to_vec();
        let mut offset = 0_u32;
        for s in strings {
            desc.extend_from_slice(&offset.to_le_bytes());
            offset += s.len() as u32 + 1;
        }
        for s in strings {
            desc.extend_from_slice(s);
            desc.push(0);
        }
        desc.resize(desc.len().next_multiple_of(4), 0);
        desc
    }
}

/// What a file was compiled for: the description of a [`NoteType::CUINFO`]
/// note.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct CudaInfo {
    pub version: U16,
    pub virtual_sm: U16,
    /// Toolkit, 130 for CUDA 13.0. Valid since note version 2; version 1, in `.note.nv.cuver` of
    /// CUDA 12.9, has other words here.
    pub toolkit: U32,
}

impl CudaInfo {
    /// Reads the description of a CUINFO note.
    pub fn parse(desc: &[u8]) -> Result<Self, NoteError> {
        let (info, _) =
            Self::read_from_prefix(desc).map_err(|_| NoteError::Short { size: desc.len() })?;
        Ok(info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_info_round_trips() {
        let info = ToolInfo {
            version: VERSION.into(),
            object: b"",
            tool: b"warpld",
            release: b"1",
            build: b"b",
            options: b"-arch sm_90 ",
        };
        let mut section = Vec::new();
        write_note(NoteType::TKINFO, &info.to_desc(), &mut section);
        write_note(NoteType::CUINFO, CudaInfo::default().as_bytes(), &mut section);
        let read: Vec<_> = notes(&section).collect::<Result<_, _>>().unwrap();
        assert_eq!(read[0].owner, OWNER);
        assert_eq!(ToolInfo::parse(read[0].desc), Ok(info));
        assert_eq!(CudaInfo::parse(read[1].desc), Ok(CudaInfo::default()));
        assert_eq!(read.len(), 2);
    }

    #[test]
    fn cut_notes_are_errors() {
        let mut section = Vec::new();
        write_note(NoteType::CUINFO, CudaInfo::default().as_bytes(), &mut section);
        for end in 1..section.len() {
            assert!(notes(&section[..end]).any(|n| n.is_err()), "{end}");
        }
        assert!(ToolInfo::parse(&[0; 23]).is_err());
        assert_eq!(ToolInfo::parse(&[0; 24]), Err(NoteError::String { offset: 0 }));
    }
}
