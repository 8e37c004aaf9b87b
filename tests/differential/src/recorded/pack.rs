//! Many small files in one compressed file.
//!
//! A list of names and sizes, an empty line, and the contents one after the other, compressed as a
//! whole with Brotli: what is linked from the same modules in several ways is much alike.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;

/// Files by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pack(BTreeMap<String, Vec<u8>>);

/// Brotli's quality and the logarithm of its window. Quality 11 saves 7 % and takes 5 times as long.
const QUALITY: u32 = 9;
const WINDOW: u32 = 24;
const BUFFER: usize = 1 << 16;

impl Pack {
    /// Adds a file. Names hold no white space.
    pub fn insert(&mut self, name: String, bytes: Vec<u8>) {
        self.0.insert(name, bytes);
    }

    /// The file of that name.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// Reads a file that [`Pack::write`] wrote.
    pub fn read(path: &Path) -> Result<Self, String> {
        let packed = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        Self::decode(&packed).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Writes the pack, unless the file holds it already: other versions of the compressor
    /// may write it otherwise. True if it was written.
    pub fn write(&self, path: &Path) -> Result<bool, String> {
        if Self::read(path).is_ok_and(|old| old == *self) {
            return Ok(false);
        }
        fs::write(path, self.encode()).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(true)
    }

    fn encode(&self) -> Vec<u8> {
        let mut plain = Vec::new();
        for (name, bytes) in &self.0 {
            plain.extend(format!("{name} {}\n", bytes.len()).bytes());
        }
        plain.push(b'\n');
        plain.extend(self.0.values().flatten());
        let mut writer = brotli::CompressorWriter::new(Vec::new(), BUFFER, QUALITY, WINDOW);
        writer.write_all(&plain).expect("memory takes all bytes");
        writer.into_inner()
    }

    fn decode(packed: &[u8]) -> Result<Self, String> {
        let mut plain = Vec::new();
        let mut reader = brotli::Decompressor::new(packed, BUFFER);
        reader.read_to_end(&mut plain).map_err(|e| e.to_string())?;
        let end = plain.windows(2).position(|pair| pair == b"\n\n").ok_or("no list of files")?;
        let list = std::str::from_utf8(&plain[..end]).map_err(|e| e.to_string())?;
        let mut rest = &plain[end + 2..];
        let mut files = BTreeMap::new();
        for line in list.lines() {
            let (name, size) = line.rsplit_once(' ').ok_or("a file without a size")?;
            let size = size.parse().map_err(|_| format!("{name}: {size} is no size"))?;
            let (bytes, behind) = rest.split_at_checked(size).ok_or("the file is cut short")?;
            files.insert(name.to_owned(), bytes.to_vec());
            rest = behind;
        }
        Ok(Self(files))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back() {
        let mut pack = Pack::default();
        pack.insert("sm_90/n/plain.log".into(), Vec::new());
        pack.insert("sm_90/n/plain.cubin".into(), b"\n\nbytes\n\n".repeat(5000));
        let packed = pack.encode();
        assert!(packed.len() < 500, "{} bytes", packed.len());
        assert_eq!(Pack::decode(&packed), Ok(pack));
        assert!(Pack::decode(&packed[..packed.len() / 2]).is_err());
        assert!(Pack::decode(b"").is_err());
    }
}
