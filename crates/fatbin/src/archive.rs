//! Iterates over archives: GNU, BSD, COFF and thin ones.

use object::read::archive::{ArchiveFile, ArchiveMemberIterator};

/// The archive is damaged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("damaged archive: {reason}")]
pub struct ArchiveError {
    pub reason: String,
}

fn damaged(reason: impl ToString) -> ArchiveError {
    ArchiveError { reason: reason.to_string() }
}

/// An archive. Symbol and name tables are not shown as members.
#[derive(Clone, Copy, Debug)]
pub struct Archive<'a> {
    data: &'a [u8],
    file: ArchiveFile<'a>,
}

/// Where a member's bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberData<'a> {
    /// In the archive.
    Inline(&'a [u8]),
    /// In the file that the member's name gives (thin archives).
    External,
}

/// A file in an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// Its name; for thin archives a path.
    pub name: &'a [u8],
    pub data: MemberData<'a>,
}

impl<'a> Archive<'a> {
    /// Reads the archive's own tables.
    pub fn parse(data: &'a [u8]) -> Result<Self, ArchiveError> {
        Ok(Self { data, file: ArchiveFile::parse(data).map_err(damaged)? })
    }
    /// Whether the members are separate files.
    pub fn is_thin(&self) -> bool {
        self.file.is_thin()
    }
    /// The members in order. After an error the iterator ends.
    pub fn members(&self) -> Members<'a> {
        Members { data: self.data, thin: self.is_thin(), inner: self.file.members() }
    }
}

/// Iterator of [`Archive::members`].
#[derive(Debug)]
pub struct Members<'a> {
    data: &'a [u8],
    thin: bool,
    inner: ArchiveMemberIterator<'a>,
}

impl<'a> Iterator for Members<'a> {
    type Item = Result<Member<'a>, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        let member = match self.inner.next()? {
            Ok(member) => member,
            Err(error) => return Some(Err(damaged(error))),
        };
        // GNU ar adds a slash to thin members' paths.
        let name = member.name().strip_suffix(b"/").unwrap_or(member.name());
        if self.thin {
            return Some(Ok(Member { name, data: MemberData::External }));
        }
        Some(match member.data(self.data) {
            Ok(data) => Ok(Member { name, data: MemberData::Inline(data) }),
            Err(error) => Err(damaged(error)),
        })
    }
}
