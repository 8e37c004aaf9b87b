//! `e_flags` in its two layouts, and the identity of a file.
//!
//! The OS/ABI byte determines the layout: 0x33 (ABI version 7, CUDA 12 and earlier for targets up
//! to sm_90) or 0x41 (ABI version 8).

use crate::arch::{Arch, Variant};
use crate::compat::{self, Compat};
use crate::consts::{EM_CUDA, FileType, SectionType};
use crate::entries::SectionRef;
use crate::header::{Class, Header};
use crate::info::InfoError;
use crate::names;
use crate::note::{self, CudaInfo, NoteType, ToolInfo};
use crate::read::Cubin;
use crate::sections::lone_section;

/// `EI_OSABI` of the old layout.
pub const OSABI_V7: u8 = 0x33;
/// `EI_OSABI` of the new layout.
pub const OSABI_V8: u8 = 0x41;

/// What the code sections of a file hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodeState {
    Sass,
    /// Machine code, and capsules from which it can be finalized again for other targets.
    CapsuleMercury,
    /// Only Mercury code; no public tool writes it.
    Mercury,
}

/// Decoded `e_flags`. Encoding yields the same word again, including unknown bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flags {
    /// OS/ABI 0x33.
    V7(FlagsV7),
    /// OS/ABI 0x41.
    V8(FlagsV8),
}

/// The old layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct FlagsV7 {
    /// Bits 0-7: number of the real architecture.
    pub sm: u8,
    /// Bits 8-15, see [`v7`].
    pub modes: u8,
    /// Bits 16-23: number of the virtual architecture.
    pub virtual_sm: u8,
    /// Bits 24-31.
    pub high: u8,
}

/// The new layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct FlagsV8 {
    /// Bits 0-7, see [`v8`].
    pub kind: u8,
    /// Bits 8-23: number of the real architecture.
    pub sm: u16,
    /// Bits 24-31: index of the section `.note.nv.cuinfo`.
    pub cuinfo: u8,
}

/// Bits of [`FlagsV7::modes`] and [`FlagsV7::high`].
pub mod v7 {
    pub const TEXMODE_UNIFIED: u8 = 0x01;
    pub const TEXMODE_INDEPENDENT: u8 = 0x02;
    pub const ADDRESS_64: u8 = 0x04;
    pub const ACCELERATED: u8 = 0x08;
    pub const CAPSULE_MERCURY: u8 = 0x40;
    /// In [`super::FlagsV7::high`].
    pub const MERCURY: u8 = 0x80;
}

/// Bits of [`FlagsV8::kind`].
pub mod v8 {
    pub const MERCURY: u8 = 0x01;
    pub const CAPSULE_MERCURY: u8 = 0x02;
    pub const SASS: u8 = 0x04;
    /// Written by ptxas 12.9 for targets such as `sm_100a`, not by 13.0.
    pub const ACCELERATED: u8 = 0x08;
}

impl Flags {
    /// Decodes the flags of a header.
    pub fn decode(header: &Header) -> Self {
        let [a, b, c, d] = header.flags.to_le_bytes();
        match header.osabi() {
            OSABI_V8 => Self::V8(FlagsV8 { kind: a, sm: u16::from_le_bytes([b, c]), cuinfo: d }),
            _ => Self::V7(FlagsV7 { sm: a, modes: b, virtual_sm: c, high: d }),
        }
    }

    /// The word.
    pub fn encode(self) -> u32 {
        u32::from_le_bytes(match self {
            Self::V7(f) => [f.sm, f.modes, f.virtual_sm, f.high],
            Self::V8(f) => {
                let [low, high] = f.sm.to_le_bytes();
                [f.kind, low, high, f.cuinfo]
            }
        })
    }

    /// Number of the real architecture.
    pub fn sm(self) -> u16 {
        match self {
            Self::V7(f) => f.sm.into(),
            Self::V8(f) => f.sm,
        }
    }

    /// What the code sections hold. nvlink treats any word with bit 1 set as capsules, even 0x03,
    /// and a word with neither bit 0 nor bit 1 as SASS.
    pub fn state(self) -> CodeState {
        let (capsule, mercury) = match self {
            Self::V7(f) => (f.modes & v7::CAPSULE_MERCURY, f.high & v7::MERCURY),
            Self::V8(f) => (f.kind & v8::CAPSULE_MERCURY, f.kind & v8::MERCURY),
        };
        match (capsule != 0, mercury != 0) {
            (true, _) => CodeState::CapsuleMercury,
            (false, true) => CodeState::Mercury,
            (false, false) => CodeState::Sass,
        }
    }

    /// Whether the flags mark an architecture with the letter `a`. CUDA 13 uses `.nv.compat` for
    /// that.
    pub fn accelerated(self) -> bool {
        match self {
            Self::V7(f) => f.modes & v7::ACCELERATED != 0,
            Self::V8(f) => f.kind & v8::ACCELERATED != 0,
        }
    }

    /// Whether addresses have 64 bits. In the new layout they always do.
    pub fn address_64(self) -> bool {
        match self {
            Self::V7(f) => f.modes & v7::ADDRESS_64 != 0,
            Self::V8(_) => true,
        }
    }
}

/// The identity of a file, as it declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    pub class: Class,
    /// Relocatable, executable …
    pub file_type: FileType,
    /// ABI version byte, 7 or 8.
    pub abi: u8,
    pub flags: Flags,
    pub state: CodeState,
    /// Real architecture. The letter `f` is not recorded in a file.
    pub arch: Arch,
    pub virtual_sm: Option<u16>,
    /// Toolkit, 130 for CUDA 13.0.
    pub toolkit: Option<u32>,
    pub address_bits: u8,
}

impl Identity {
    /// Reads it from the header, `.nv.compat` and `.note.nv.cuinfo`.
    pub fn of(cubin: &Cubin<'_>) -> Result<Self, InfoError> {
        let header = cubin.header();
        let flags = Flags::decode(&header);
        let marked = compat::value(cubin, Compat::CUDA_ACCELERATOR_TARGET)?;
        let accelerated = flags.accelerated() || marked.is_some_and(|v| v != 0);
        let variant = if accelerated { Variant::Accelerated } else { Variant::Plain };
        let cuinfo = cuda_info(cubin);
        let virtual_sm = match (flags, cuinfo) {
            (_, Some(i)) => Some(i.virtual_sm.get()),
            (Flags::V7(f), None) => Some(f.virtual_sm.into()),
            (Flags::V8(_), None) => None,
        };
        let toolkit = match (flags, cuinfo) {
            (_, Some(i)) if i.version.get() >= note::VERSION => Some(i.toolkit.get()),
            // 12.9 writes it at the start of the tool note.
            (Flags::V8(_), _) => tool_version(cubin),
            (Flags::V7(_), _) => Some(header.version),
        };
        Ok(Self {
            class: header.class,
            file_type: header.file_type,
            abi: header.abi_version(),
            flags,
            state: flags.state(),
            arch: Arch { number: flags.sm(), variant },
            virtual_sm,
            toolkit,
            address_bits: if flags.address_64() { 64 } else { 32 },
        })
    }
}

/// The first word of the first TKINFO note.
fn tool_version(cubin: &Cubin<'_>) -> Option<u32> {
    let sections = cubin.sections().of_kind(SectionType::NOTE);
    let mut notes = sections.flat_map(|s| note::notes(s.data).map_while(Result::ok));
    let tool = notes.find(|n| n.kind == NoteType::TKINFO)?;
    ToolInfo::parse(tool.desc).ok().map(|t| t.version)
}

/// The CUINFO note that the header's flags refer to, or else the section with that name.
pub fn cuda_info(cubin: &Cubin<'_>) -> Option<CudaInfo> {
    let pointed = match Flags::decode(&cubin.header()) {
        Flags::V8(f) => cubin.section(f.cuinfo.into()).and_then(cuda_info_in),
        Flags::V7(_) => None,
    };
    let named = |name: &[u8]| cubin.section_by_name(name).and_then(cuda_info_in);
    pointed.or_else(|| named(names::NOTE_CUINFO)).or_else(|| named(names::NOTE_CUVER))
}

/// The header of a file with the new layout and the CUINFO note it refers to; `None` if there is no
/// such note. Reads and checks nothing else of the file.
pub fn glance(file: &[u8]) -> Option<(Header, CudaInfo)> {
    let header = Header::parse(file).ok().filter(|header| header.machine == EM_CUDA)?;
    let Flags::V8(flags) = Flags::decode(&header) else { return None };
    let section = lone_section(file, &header, flags.cuinfo.into())?;
    Some((header, cuda_info_in(section).filter(|_| section.name == names::NOTE_CUINFO)?))
}

fn cuda_info_in(section: SectionRef<'_>) -> Option<CudaInfo> {
    if section.kind != SectionType::NOTE {
        return None;
    }
    let mut notes = note::notes(section.data).filter_map(Result::ok);
    CudaInfo::parse(notes.find(|n| n.kind == NoteType::CUINFO)?.desc).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(osabi: u8, flags: u32) -> Header {
        let mut file = [0; 64];
        file[..9].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, osabi, 8]);
        file[48..52].copy_from_slice(&flags.to_le_bytes());
        Header::parse(&file).unwrap()
    }

    #[test]
    fn words_written_by_the_tools() {
        let old = Flags::decode(&header(OSABI_V7, 0x005a_0d5a));
        assert_eq!((old.sm(), old.state(), old.accelerated()), (90, CodeState::Sass, true));
        assert!(old.address_64());
        let new = Flags::decode(&header(OSABI_V8, 0x0600_5a04));
        assert_eq!((new.sm(), new.state(), new.accelerated()), (90, CodeState::Sass, false));
        let capsule = Flags::decode(&header(OSABI_V8, 0x0600_640a));
        assert_eq!(capsule.state(), CodeState::CapsuleMercury);
        assert!(capsule.accelerated());
        assert_eq!(Flags::decode(&header(OSABI_V8, 0x6401)).state(), CodeState::Mercury);
    }

    #[test]
    fn every_bit_survives() {
        for osabi in [OSABI_V7, OSABI_V8] {
            for bit in 0..32 {
                assert_eq!(Flags::decode(&header(osabi, 1 << bit)).encode(), 1 << bit);
            }
        }
    }
}
