//! Constant banks. Machine code identifies them by number (`.nv.constant3`), Mercury code by name
//! (`.nv.constant.user`). The section name of a function's own bank ends with the function's name.

use crate::consts::SectionType;
use crate::names::prefix;

/// The bank of a kernel's parameters. In the machine code of capsule files it also holds the
/// kernel's texture, sampler and surface handles.
pub const PARAMETERS: u8 = 0;
/// The bank of compiler-generated constants.
pub const OPTIMIZER: u8 = 2;
/// The bank of constants that the program declares.
pub const USER: u8 = 3;
/// The bank of addresses that code loads from memory, instead of as immediates.
pub const PIC: u8 = 4;

/// The banks that Mercury code identifies by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NamedBank {
    EntryParams,
    EntryImageHeaderIndices,
    Driver,
    Optimizer,
    User,
    Pic,
    ToolsData,
}

impl NamedBank {
    pub const ALL: [Self; 7] = [
        Self::EntryParams,
        Self::EntryImageHeaderIndices,
        Self::Driver,
        Self::Optimizer,
        Self::User,
        Self::Pic,
        Self::ToolsData,
    ];

    /// The name, as in `.nv.constant.<name>`.
    pub fn name(self) -> &'static str {
        match self {
            Self::EntryParams => "entry_params",
            Self::EntryImageHeaderIndices => "entry_image_header_indices",
            Self::Driver => "driver",
            Self::Optimizer => "optimizer",
            Self::User => "user",
            Self::Pic => "pic",
            Self::ToolsData => "tools_data",
        }
    }

    /// The number of the same bank in machine code, if objects have it in both halves.
    pub fn number(self) -> Option<u8> {
        match self {
            Self::EntryImageHeaderIndices => Some(PARAMETERS),
            Self::Optimizer => Some(OPTIMIZER),
            Self::User => Some(USER),
            Self::Pic => Some(PIC),
            Self::EntryParams | Self::Driver | Self::ToolsData => None,
        }
    }

    /// Splits a string such as `user` or `optimizer.f` into the bank and the rest: nothing, or a
    /// dot and the function that owns the bank.
    fn split(text: &[u8]) -> Option<(Self, &[u8])> {
        Self::ALL.into_iter().find_map(|bank| {
            let rest = text.strip_prefix(bank.name().as_bytes())?;
            matches!(rest.first(), None | Some(b'.')).then_some((bank, rest))
        })
    }
}

/// A constant bank as identified by its section's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Bank {
    Numbered(u8),
    Named(NamedBank),
}

/// Parses a section name into the bank and the function that owns it.
pub(crate) fn parse(name: &[u8]) -> Option<(Bank, Option<&[u8]>)> {
    let rest = name.strip_prefix(prefix::CONSTANT)?;
    if let Some(named) = rest.strip_prefix(b".") {
        let (bank, rest) = NamedBank::split(named)?;
        return Some((Bank::Named(bank), rest.strip_prefix(b".")));
    }
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let (number, rest) = rest.split_at_checked(digits)?;
    let bank = match number {
        [a] => a - b'0',
        [b'1', b @ b'0'..=b'7'] => 10 + (b - b'0'),
        _ => return None,
    };
    match rest {
        [] => Some((Bank::Numbered(bank), None)),
        [b'.', function @ ..] => Some((Bank::Numbered(bank), Some(function))),
        _ => None,
    }
}

/// The number of a section's bank, by type or else by name. Accepts any number, followed by
/// anything.
pub fn number_of(name: &[u8], kind: SectionType) -> Option<u8> {
    if let Some(bank) = kind.constant_bank() {
        return u8::try_from(bank).ok();
    }
    if let Some((bank, _)) = mercury(name) {
        return Some(bank);
    }
    let digits = name.strip_prefix(prefix::CONSTANT)?;
    let end = digits.iter().position(|b| !b.is_ascii_digit()).unwrap_or(digits.len());
    std::str::from_utf8(digits.get(..end)?).ok()?.parse().ok()
}

/// The number of a Mercury bank, and the rest of its section's name (`.F` if a function owns it).
/// The name may also be that of the bank's relocation section.
pub fn mercury(name: &[u8]) -> Option<(u8, &[u8])> {
    let size = prefix::MERCURY_CONSTANT.len();
    let at = name.windows(size).position(|w| w == prefix::MERCURY_CONSTANT)?;
    let (bank, rest) = NamedBank::split(name.get(at + size..)?)?;
    Some((bank.number()?, rest))
}

/// The name that a Mercury bank, or its relocation section, has in the machine-code half.
pub fn machine_name(name: &[u8]) -> Option<Vec<u8>> {
    let (bank, rest) = mercury(name)?;
    let (start, _) = split_at_bank(name)?;
    Some([start, bank.to_string().as_bytes(), rest].concat())
}

/// The function at the end of the section name of a bank or of its relocations.
pub fn function(name: &[u8]) -> Option<&[u8]> {
    let (_, bank) = split_at_bank(name)?;
    let dot = bank.iter().position(|&b| b == b'.')?;
    bank.get(dot + 1..)
}

/// Splits a name after its first `.nv.constant`.
fn split_at_bank(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = name.windows(prefix::CONSTANT.len()).position(|w| w == prefix::CONSTANT)?;
    name.split_at_checked(at + prefix::CONSTANT.len())
}

/// The type of a bank's section in the Mercury half of a file.
pub fn mercury_section_type(bank: u8) -> Option<SectionType> {
    Some(match bank {
        PARAMETERS => SectionType::CUDA_MERCURY_CONSTANT_IMGHDR,
        OPTIMIZER => SectionType::CUDA_MERCURY_CONSTANT_OPT,
        USER => SectionType::CUDA_MERCURY_CONSTANT_USER,
        PIC => SectionType::CUDA_MERCURY_CONSTANT_PIC,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mercury_banks_have_numbers() {
        assert_eq!(mercury(b".nv.constant.user"), Some((3, &b""[..])));
        assert_eq!(mercury(b".nv.merc.nv.constant.optimizer.k"), Some((2, &b".k"[..])));
        assert_eq!(mercury(b".rela.nv.constant.pic"), Some((4, &b""[..])));
        let handles = b".rela.nv.constant.entry_image_header_indices.k";
        assert_eq!(mercury(handles), Some((0, &b".k"[..])));
        assert_eq!(mercury(b".nv.constant.users"), None);
        assert_eq!(mercury(b".nv.constant.driver"), None);
        assert_eq!(mercury(b".nv.constant3"), None);
    }

    #[test]
    fn banks_are_known_by_type_then_by_name() {
        let plain = SectionType::PROGBITS;
        assert_eq!(number_of(b".nv.constant3", plain), Some(3));
        assert_eq!(number_of(b".nv.constant17.f", plain), Some(17));
        assert_eq!(number_of(b".nv.constant.optimizer.f", plain), Some(2));
        assert_eq!(number_of(b"x", SectionType(SectionType::CUDA_CONSTANT_B0.0 + 5)), Some(5));
        assert_eq!(number_of(b".nv.constant256", plain), None);
        assert_eq!(number_of(b".nv.constant", plain), None);
        assert_eq!(number_of(b".nv.global", plain), None);
    }

    #[test]
    fn mercury_banks_have_names_in_machine_code() {
        let name = |name| machine_name(name).unwrap_or_default();
        assert_eq!(name(b".nv.constant.user"), b".nv.constant3");
        assert_eq!(name(b".rela.nv.constant.optimizer.f"), b".rela.nv.constant2.f");
        assert_eq!(machine_name(b".nv.constant3"), None);
        assert_eq!(function(b".rela.nv.constant2.a.b"), Some(&b"a.b"[..]));
        assert_eq!(function(b".nv.constant3"), None);
    }
}
