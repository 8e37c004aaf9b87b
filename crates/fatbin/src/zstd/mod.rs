//! Decompresses zstd frames (RFC 8878) directly into the memory of an image: there is no separate
//! window, nothing is copied twice, and there is no unsafe code. Device code is nearly always
//! stored this way, and decompressing it takes most of the time of linking it.

mod bits;
mod fse;
mod huffman;
mod output;
mod sequences;

use huffman::Codes;
use output::Output;
use sequences::Sequences;

const FRAME: u32 = 0xfd2f_b528;
/// Skippable frames have one of sixteen magic numbers.
const SKIPPABLE: u32 = 0x184d_2a50;
/// Maximum decompressed size of a block.
pub(crate) const BLOCK_AT_MOST: usize = 128 << 10;
/// Literals are copied in blocks of this size, which may go past their end.
const MARGIN: usize = 16;

/// What is wrong with a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Damage {
    /// The only kind that a larger buffer may fix.
    #[error("it unpacks to more than there is room for")]
    TooMuch,
    #[error("it ends too early")]
    CutShort,
    #[error("it does not begin like a frame")]
    NoFrame,
    #[error("it needs a dictionary")]
    NeedsDictionary,
    #[error("reserved bits are set")]
    Reserved,
    #[error("a block is too large")]
    LargeBlock,
    #[error("a frame does not unpack to what it declares")]
    WrongFrameSize,
    #[error("a table is impossible")]
    BadTable,
    #[error("there is no table to use again")]
    NothingToRepeat,
    #[error("a stream of bits has no end")]
    NoEndMark,
    #[error("a stream of bits does not end where it should")]
    BitsLeft,
    #[error("there are fewer literals than needed")]
    BadLiterals,
    #[error("something is repeated that was not there before")]
    BadOffset,
}

/// Decompresses all frames of `stored` into `buffer`, and returns the size.
pub(crate) fn unpack(stored: &[u8], buffer: &mut [u8]) -> Result<usize, Damage> {
    // A block has no more literals than the image has bytes.
    let mut decoder = Decoder::new(buffer.len());
    let mut output = Output::new(buffer);
    let mut data = stored;
    loop {
        let (magic, rest) = number(data, 4)?;
        data = match magic as u32 {
            FRAME => decoder.frame(rest, &mut output)?,
            other if other & !15 == SKIPPABLE => {
                let (size, rest) = number(rest, 4)?;
                rest.get(size as usize..).ok_or(Damage::CutShort)?
            }
            _ => return Err(Damage::NoFrame),
        };
        if data.is_empty() {
            return Ok(output.len());
        }
    }
}

/// Decompresses the start of the first frame into `buffer`, as much as there is room for.
pub(crate) fn unpack_start(stored: &[u8], buffer: &mut [u8]) -> Result<(), Damage> {
    let (magic, rest) = number(stored, 4)?;
    if magic as u32 != FRAME {
        return Err(Damage::NoFrame);
    }
    let (_, rest) = Header::read(rest)?;
    Decoder::new(BLOCK_AT_MOST).blocks(rest, &mut Output::new(buffer)).map(|_| ())
}

/// A number of `size` bytes at the start of `data`, and the rest.
fn number(data: &[u8], size: usize) -> Result<(u64, &[u8]), Damage> {
    let (bytes, rest) = data.split_at_checked(size).ok_or(Damage::CutShort)?;
    let value = bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
    Ok((value, rest))
}

/// State shared by the blocks of a frame.
struct Decoder {
    codes: Codes,
    codes_known: bool,
    sequences: Sequences,
    /// The literals of a block that are not stored uncompressed.
    literals: Vec<u8>,
}

/// The literals of a block that are still to be copied, and a margin of bytes after them.
struct Literals<'a> {
    data: &'a [u8],
    margin: usize,
}

impl<'a> Literals<'a> {
    /// The first `size` bytes of `data`.
    fn new(data: &'a [u8], size: usize) -> Self {
        Self { data, margin: data.len().saturating_sub(size) }
    }

    fn left(&self) -> usize {
        self.data.len().saturating_sub(self.margin)
    }

    #[inline(always)]
    fn write(&mut self, count: usize, output: &mut Output<'_>) -> Result<(), Damage> {
        if count > self.left() {
            return Err(Damage::BadLiterals);
        }
        output.append(self.data, count)?;
        self.data = self.data.get(count..).ok_or(Damage::BadLiterals)?;
        Ok(())
    }
}

impl Decoder {
    /// For blocks of at most so many literals.
    fn new(literals: usize) -> Self {
        Self {
            codes: Codes::empty(),
            codes_known: false,
            sequences: Sequences::new(),
            literals: vec![0; literals.min(BLOCK_AT_MOST) + MARGIN],
        }
    }

    /// Decompresses a frame after its magic number, and returns the rest.
    fn frame<'a>(&mut self, data: &'a [u8], output: &mut Output<'_>) -> Result<&'a [u8], Damage> {
        let (header, data) = Header::read(data)?;
        if header.size.is_some_and(|size| size > output.space_left() as u64) {
            return Err(Damage::TooMuch);
        }
        self.codes_known = false;
        self.sequences.forget();
        output.begin_frame();
        let start = output.len();
        let data = self.blocks(data, output)?;
        if header.size.is_some_and(|size| size != (output.len() - start) as u64) {
            return Err(Damage::WrongFrameSize);
        }
        data.get(header.check..).ok_or(Damage::CutShort)
    }

    /// Decompresses the blocks of a frame, and returns what is after the last one.
    fn blocks<'a>(
        &mut self,
        mut data: &'a [u8],
        output: &mut Output<'_>,
    ) -> Result<&'a [u8], Damage> {
        loop {
            let (block, rest) = number(data, 3)?;
            let size = (block >> 3) as usize;
            data = match block >> 1 & 3 {
                0 => {
                    output.append(rest, size.min(rest.len()))?;
                    rest.get(size..).ok_or(Damage::CutShort)?
                }
                1 => {
                    let (&byte, rest) = rest.split_first().ok_or(Damage::CutShort)?;
                    output.fill(byte, size)?;
                    rest
                }
                2 => {
                    let (block, rest) = rest.split_at_checked(size).ok_or(Damage::CutShort)?;
                    self.block(block, output)?;
                    rest
                }
                _ => return Err(Damage::Reserved),
            };
            if size > BLOCK_AT_MOST {
                return Err(Damage::LargeBlock);
            }
            if block & 1 == 1 {
                return Ok(data);
            }
        }
    }

    /// A compressed block: literals, then the sequences that use them.
    fn block(&mut self, data: &[u8], output: &mut Output<'_>) -> Result<(), Damage> {
        let (header, data) = LiteralsHeader::read(data)?;
        if header.size > BLOCK_AT_MOST {
            return Err(Damage::LargeBlock);
        }
        let (mut literals, rest) = if header.kind == LiteralsHeader::AS_THEY_ARE {
            // The bytes after them are the margin.
            let rest = data.get(header.size..).ok_or(Damage::CutShort)?;
            (Literals::new(data, header.size), rest)
        } else {
            let rest = self.unpack_literals(&header, data)?;
            let margin = self.literals.get(..header.size + MARGIN).unwrap_or_default();
            (Literals::new(margin, header.size), rest)
        };
        self.sequences.write(rest, &mut literals, output)?;
        literals.write(literals.left(), output)
    }

    /// Decodes the literals, and returns the rest.
    fn unpack_literals<'a>(
        &mut self,
        header: &LiteralsHeader,
        data: &'a [u8],
    ) -> Result<&'a [u8], Damage> {
        let most = self.literals.len() - MARGIN;
        let literals = self.literals.get_mut(..most).and_then(|all| all.get_mut(..header.size));
        let literals = literals.ok_or(Damage::TooMuch)?;
        if header.kind == LiteralsHeader::ONE_BYTE {
            let (&byte, rest) = data.split_first().ok_or(Damage::CutShort)?;
            literals.fill(byte);
            return Ok(rest);
        }
        let (mut coded, rest) = data.split_at_checked(header.coded).ok_or(Damage::CutShort)?;
        if header.kind == LiteralsHeader::CODED {
            coded = self.codes.read(coded)?;
            self.codes_known = true;
        } else if !self.codes_known {
            return Err(Damage::NothingToRepeat);
        }
        match header.one_stream {
            true => self.codes.one(coded, literals)?,
            false => self.codes.four(coded, literals)?,
        }
        Ok(rest)
    }
}

/// A frame's header.
struct Header {
    size: Option<u64>,
    /// Size of the checksum at its end.
    check: usize,
}

impl Header {
    fn read(data: &[u8]) -> Result<(Self, &[u8]), Damage> {
        let (&flags, data) = data.split_first().ok_or(Damage::CutShort)?;
        if flags & 8 != 0 {
            return Err(Damage::Reserved);
        }
        // Window size: how far back a block may refer. Here it may refer to everything.
        let single_segment = flags & 0x20 != 0;
        let data = data.get(usize::from(!single_segment)..).ok_or(Damage::CutShort)?;
        let (dictionary, data) = number(data, [0, 1, 2, 4][usize::from(flags & 3)])?;
        if dictionary != 0 {
            return Err(Damage::NeedsDictionary);
        }
        let (size, data) = match flags >> 6 {
            0 if !single_segment => (None, data),
            0 => number(data, 1).map(|(size, data)| (Some(size), data))?,
            1 => number(data, 2).map(|(size, data)| (Some(size + 256), data))?,
            wide => number(data, 1 << wide).map(|(size, data)| (Some(size), data))?,
        };
        Ok((Self { size, check: if flags & 4 != 0 { 4 } else { 0 } }, data))
    }
}

/// The header of a literals section.
struct LiteralsHeader {
    kind: u8,
    one_stream: bool,
    size: usize,
    /// Compressed size, for coded ones.
    coded: usize,
}

impl LiteralsHeader {
    const AS_THEY_ARE: u8 = 0;
    const ONE_BYTE: u8 = 1;
    const CODED: u8 = 2;

    fn read(data: &[u8]) -> Result<(Self, &[u8]), Damage> {
        let first = *data.first().ok_or(Damage::CutShort)?;
        let (kind, format) = (first & 3, first >> 2 & 3);
        if kind < Self::CODED {
            let (bytes, shift) = [(1, 3), (2, 4), (1, 3), (3, 4)][usize::from(format)];
            let (value, rest) = number(data, bytes)?;
            let size = (value >> shift) as usize;
            return Ok((Self { kind, one_stream: true, size, coded: 0 }, rest));
        }
        let (bytes, width) = [(3, 10), (3, 10), (4, 14), (5, 18)][usize::from(format)];
        let (value, rest) = number(data, bytes)?;
        let part = |start: u32| (value >> start & ((1 << width) - 1)) as usize;
        let (size, coded) = (part(4), part(4 + width));
        Ok((Self { kind, one_stream: format == 0, size, coded }, rest))
    }
}
