//! The contents of `.nv.capmerc.text.*`: which instructions of a function have a Mercury encoding
//! of their own, and these encodings.
//!
//! ```text
//! u32  section index of .text.F
//! u32  0xC0000001 then u32 count   (ptxas 12.9 and later)
//!   |  0x40000000 | count          (ptxas 12.8)
//! u32  mask[ceil(count / 32)]      bit set: the instruction is in .text only
//! items, one for every clear bit
//! ```

/// A decoded capsule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capsule<'a> {
    /// Index of the section with the function's machine code.
    pub text_section: u32,
    /// The form of its header.
    pub header: CapsuleHeader,
    /// Number of Mercury instructions, including the final padding.
    pub count: u32,
    /// One bit per instruction, as 32-bit little-endian words.
    pub mask: &'a [u8],
    pub items: Vec<Item<'a>>,
    /// The bytes after the last item.
    pub tail: &'a [u8],
}

/// The two forms of a capsule's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapsuleHeader {
    /// A word of flags, then the count. Holds the word.
    Long(u32),
    /// The count in the low 30 bits of the word of flags.
    Short,
}

/// One item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// Number of machine instructions it expands to, if a prefix gives it.
    pub expands_to: Option<u16>,
    pub form: ItemForm<'a>,
}

impl Item<'_> {
    /// Number of machine instructions it represents.
    pub fn sass_instructions(&self) -> u16 {
        match self.form {
            ItemForm::Full(_) | ItemForm::Short(_) => self.expands_to.unwrap_or(1),
            ItemForm::Note(_) => self.expands_to.unwrap_or(0),
            ItemForm::Filler(n) => n,
        }
    }
    /// Its size in bytes, including the prefix.
    pub fn size(&self) -> usize {
        let form = match self.form {
            ItemForm::Full(bytes) | ItemForm::Short(bytes) | ItemForm::Note(bytes) => bytes.len(),
            ItemForm::Filler(_) => 2,
        };
        form + if self.expands_to.is_some() { 2 } else { 0 }
    }
}

/// The forms of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemForm<'a> {
    /// A complete Mercury instruction of 16, 32 or 48 bytes.
    Full(&'a [u8]),
    /// Four bytes that represent an instruction of 16, 32 or 48 bytes.
    Short(&'a [u8]),
    /// A multiple of 16 bytes that describe the function, a loop or an instruction and have no machine
    /// instruction. ptxas adds them to functions with `cutlass` in their name (`mercury-notes`).
    Note(&'a [u8]),
    /// This many padding instructions (the branch to itself and the NOPs after a function's end).
    Filler(u16),
}

/// Why a capsule could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CapsuleError {
    /// It ends too early.
    #[error("capsule ends at offset {offset:#x}, inside {what}")]
    Truncated { what: &'static str, offset: usize },
    /// The second word has an unknown value.
    #[error("capsule has unknown header word {word:#x}")]
    Header { word: u32 },
    /// An item starts with an unknown byte.
    #[error("capsule item at offset {offset:#x} has unknown form {form:#x}")]
    Item { offset: usize, form: u8 },
}

const LONG_HEADER: u32 = 0xc000_0001;
const SHORT_HEADER: u32 = 0x4000_0000;
const PREFIX_FILLER: u16 = 0x50;
const PREFIX_EXPANDS: u16 = 0x51;
const PREFIX_MASK: u16 = 0x7f;
const PREFIX_SHIFT: u32 = 7;

struct Reader<'a> {
    data: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    fn bytes(&mut self, size: usize, what: &'static str) -> Result<&'a [u8], CapsuleError> {
        let truncated = CapsuleError::Truncated { what, offset: self.offset };
        let end = self.offset.checked_add(size).ok_or(truncated.clone())?;
        let bytes = self.data.get(self.offset..end).ok_or(truncated)?;
        self.offset = end;
        Ok(bytes)
    }
    fn word(&mut self, what: &'static str) -> Result<u32, CapsuleError> {
        let b = self.bytes(4, what)?;
        Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }
    fn prefix(&self) -> Option<u16> {
        let b = self.data.get(self.offset..self.offset.checked_add(2)?)?;
        Some(u16::from_le_bytes([b[0], b[1]]))
    }
}

impl<'a> Capsule<'a> {
    /// Decodes a capsule.
    pub fn parse(data: &'a [u8]) -> Result<Self, CapsuleError> {
        let mut reader = Reader { data, offset: 0 };
        let text_section = reader.word("the section index")?;
        let (header, count) = match reader.word("the header")? {
            word @ LONG_HEADER => (CapsuleHeader::Long(word), reader.word("the count")?),
            word if word & 0xc000_0000 == SHORT_HEADER => {
                (CapsuleHeader::Short, word & !SHORT_HEADER)
            }
            word => return Err(CapsuleError::Header { word }),
        };
        let mask = reader.bytes(count.div_ceil(32) as usize * 4, "the mask")?;
        let stored = count - (0..count).filter(|&i| bit(mask, i)).count() as u32;
        let mut items = Vec::new();
        for _ in 0..stored {
            items.push(read_item(&mut reader)?);
        }
        let tail = data.get(reader.offset..).unwrap_or_default();
        Ok(Self { text_section, header, count, mask, items, tail })
    }

    /// The capsule's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = self.text_section.to_le_bytes().to_vec();
        match self.header {
            CapsuleHeader::Long(word) => {
                out.extend_from_slice(&word.to_le_bytes());
                out.extend_from_slice(&self.count.to_le_bytes());
            }
            CapsuleHeader::Short => {
                out.extend_from_slice(&(SHORT_HEADER | self.count).to_le_bytes());
            }
        }
        out.extend_from_slice(self.mask);
        let prefix = |kind: u16, n: u16| ((n << PREFIX_SHIFT) | kind).to_le_bytes();
        for item in &self.items {
            if let Some(n) = item.expands_to {
                out.extend_from_slice(&prefix(PREFIX_EXPANDS, n));
            }
            match item.form {
                ItemForm::Full(bytes) | ItemForm::Short(bytes) | ItemForm::Note(bytes) => {
                    out.extend_from_slice(bytes);
                }
                ItemForm::Filler(n) => out.extend_from_slice(&prefix(PREFIX_FILLER, n)),
            }
        }
        out.extend_from_slice(self.tail);
        out
    }

    /// Size of the capsule in bytes.
    pub fn size(&self) -> usize {
        let header = match self.header {
            CapsuleHeader::Long(_) => 12,
            CapsuleHeader::Short => 8,
        };
        let items: usize = self.items.iter().map(Item::size).sum();
        header + self.mask.len() + items + self.tail.len()
    }

    /// Whether instruction `index` exists only in machine code.
    pub fn is_sass_only(&self, index: u32) -> bool {
        bit(self.mask, index)
    }

    /// Number of machine instructions of the function; each takes 16 bytes of its text section.
    pub fn sass_instructions(&self) -> i64 {
        let stored = self.items.iter();
        stored
            .fold(i64::from(self.count), |sum, item| sum + i64::from(item.sass_instructions()) - 1)
    }

    /// Whether its instructions take exactly this many bytes of machine code.
    pub fn fills(&self, bytes: u64) -> bool {
        self.sass_instructions().checked_mul(16) == i64::try_from(bytes).ok()
    }
}

fn bit(mask: &[u8], index: u32) -> bool {
    mask.get(index as usize / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1)
}

fn read_item<'a>(reader: &mut Reader<'a>) -> Result<Item<'a>, CapsuleError> {
    let mut expands_to = None;
    if let Some(prefix) = reader.prefix().filter(|p| p & PREFIX_MASK == PREFIX_EXPANDS) {
        expands_to = Some(prefix >> PREFIX_SHIFT);
        reader.bytes(2, "a prefix")?;
    }
    let offset = reader.offset;
    if let Some(prefix) = reader.prefix().filter(|p| p & PREFIX_MASK == PREFIX_FILLER) {
        reader.bytes(2, "a filler")?;
        return Ok(Item { expands_to, form: ItemForm::Filler(prefix >> PREFIX_SHIFT) });
    }
    let form = match reader.data.get(offset) {
        Some(0x01) => ItemForm::Full(reader.bytes(16, "an item")?),
        Some(0x02) => ItemForm::Full(reader.bytes(32, "an item")?),
        // Copies with a cache policy (`cp.async ... L2::cache_hint`) [capsule-long-items].
        Some(0x03) => ItemForm::Full(reader.bytes(48, "an item")?),
        // A note with one or two numbers has 16 bytes, with three 32 [mercury-notes].
        Some(&form @ 0x31..=0x3f) => {
            ItemForm::Note(reader.bytes(16 * usize::from(form & 0xf), "a note")?)
        }
        Some(0x41..=0x43) => ItemForm::Short(reader.bytes(4, "an item")?),
        Some(&form) => return Err(CapsuleError::Item { offset, form }),
        None => return Err(CapsuleError::Truncated { what: "the items", offset }),
    };
    Ok(Item { expands_to, form })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [17, LONG_HEADER, 34, 0xffff_fffe, 0b10_u32] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        // Instruction 0 expands to four; instruction 32 fills seven places.
        bytes.extend_from_slice(&((4 << 7) | PREFIX_EXPANDS).to_le_bytes());
        bytes.push(1);
        bytes.extend_from_slice(&[9; 15]);
        bytes.extend_from_slice(&((7 << 7) | PREFIX_FILLER).to_le_bytes());
        bytes
    }

    #[test]
    fn a_note_stands_for_no_machine_instruction() {
        let mut bytes = Vec::new();
        for word in [17, LONG_HEADER, 2, 0_u32] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(&[0x31, 2, 0, 0x58, 0, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend_from_slice(&((7 << 7) | PREFIX_FILLER).to_le_bytes());
        let capsule = Capsule::parse(&bytes).unwrap();
        assert_eq!(capsule.sass_instructions(), 7);
        assert_eq!((capsule.size(), capsule.to_bytes()), (bytes.len(), bytes));
    }

    #[test]
    fn a_note_has_the_length_of_its_form() {
        let mut bytes = Vec::new();
        for word in [17, LONG_HEADER, 1, 0_u32] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(&[0x32, 2, 0, 0x28, 1, 4, 3, 3, 0, 0, 0, 2, 0, 0, 0, 0, 0x20]);
        bytes.extend_from_slice(&[0; 15]);
        let capsule = Capsule::parse(&bytes).unwrap();
        assert!(
            matches!(capsule.items[..], [Item { form: ItemForm::Note(note), .. }] if note.len() == 32)
        );
        assert_eq!((capsule.sass_instructions(), capsule.to_bytes()), (0, bytes));
    }

    #[test]
    fn takes_a_capsule_apart_and_puts_it_together() {
        let bytes = sample();
        let capsule = Capsule::parse(&bytes).unwrap();
        assert_eq!(capsule.text_section, 17);
        assert_eq!(capsule.items.len(), 2);
        assert!(!capsule.is_sass_only(0) && capsule.is_sass_only(1) && capsule.is_sass_only(33));
        assert_eq!(capsule.sass_instructions(), 34 + 3 + 6);
        assert_eq!(capsule.to_bytes(), bytes);
    }

    #[test]
    fn a_cut_capsule_is_an_error() {
        let bytes = sample();
        for end in 0..bytes.len() {
            assert!(Capsule::parse(&bytes[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn a_huge_count_does_not_allocate() {
        let mut bytes = sample();
        bytes[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(matches!(Capsule::parse(&bytes), Err(CapsuleError::Truncated { .. })));
    }
}
