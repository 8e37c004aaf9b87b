//! Text for the constants and records of a file, in one place, so that all output uses the same
//! words.

use crate::attr::{Attr, Format, KernelParam, ParamBank, Shape};
use crate::callgraph::List;
use crate::classify::{self, SectionClass};
use crate::compat::Compat;
use crate::consts::{Binding, FileType, SectionType, SymbolType, shn};
use crate::entries::{SectionRef, SymbolRef};
use crate::flags::CodeState;
use crate::info::Record;
use crate::read::Cubin;
use crate::reloc::RelocKind;
use crate::tables::SymbolTable;
use std::borrow::Cow;

/// Names in references are truncated to this length: a short entry can refer to a name as long as
/// the file.
pub const LONGEST_REFERENCE: usize = 4096;

/// A name as text; invalid UTF-8 is replaced.
pub fn lossy(name: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(name)
}

/// A name for use in a reference, truncated.
pub fn reference(name: &[u8]) -> Cow<'_, str> {
    match name.get(..LONGEST_REFERENCE) {
        Some(start) if start.len() < name.len() => Cow::Owned(format!("{}…", lossy(start))),
        _ => lossy(name),
    }
}

/// A text in which nothing is hidden: control characters, line ends and marks that change the
/// direction of text stand as escapes. Whoever writes a file chooses its names, and no name may
/// move a cursor, end a line or read other than it is.
pub fn shown(text: &str) -> Cow<'_, str> {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain || !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_hidden(c) {
            true if c.is_ascii_control() && !c.is_ascii_whitespace() => {
                out.push_str(&format!("\\x{:02x}", u32::from(c)));
            }
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Whether a character is none that can be seen.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// The symbol's name; a nameless section symbol has that of its section.
pub fn symbol_name<'a>(cubin: &Cubin<'a>, symbol: &SymbolRef<'a>) -> &'a [u8] {
    match cubin.section(symbol.shndx) {
        Some(s) if symbol.name.is_empty() && symbol.kind() == SymbolType::SECTION => s.name,
        _ => symbol.name,
    }
}

/// The name of a symbol that something refers to.
pub fn symbol_reference<'a>(
    cubin: &Cubin<'a>,
    table: Option<&SymbolTable<'a>>,
    index: u32,
) -> Option<Cow<'a, str>> {
    let symbol = table?.get(index)?;
    Some(reference(symbol_name(cubin, &symbol)))
}

/// `sh_type`.
pub fn section_type(kind: SectionType) -> String {
    match (kind.name(), kind.constant_bank()) {
        (Some(name), _) => name.to_owned(),
        (None, Some(bank)) => format!("CUDA_CONSTANT_B{bank}"),
        (None, None) => format!("{:#x}", kind.0),
    }
}

/// `e_type`.
pub fn file_type(kind: FileType) -> String {
    kind.name().map_or_else(|| format!("{:#x}", kind.0), str::to_owned)
}

/// The type of a symbol.
pub fn symbol_type(kind: SymbolType) -> String {
    kind.name().map_or_else(|| kind.0.to_string(), str::to_owned)
}

/// The binding of a symbol.
pub fn binding(kind: Binding) -> String {
    kind.name().map_or_else(|| kind.0.to_string(), str::to_owned)
}

/// A reserved section index.
pub fn reserved_section(index: u32) -> String {
    match index {
        shn::ABS => "ABS".to_owned(),
        shn::COMMON => "COMMON".to_owned(),
        _ => format!("{index:#x}"),
    }
}

/// What code sections hold.
pub fn state(state: CodeState) -> &'static str {
    match state {
        CodeState::Sass => "SASS",
        CodeState::CapsuleMercury => "SASS with Mercury capsules",
        CodeState::Mercury => "Mercury",
    }
}

/// The full name of a relocation kind, or its number.
pub fn reloc_kind(kind: RelocKind) -> String {
    kind.name().map_or_else(|| format!("{:#x}", kind.0), str::to_owned)
}

/// Toolkit 130 is CUDA 13.0.
pub fn toolkit(number: u32) -> String {
    format!("{}.{}", number / 10, number % 10)
}

/// An attribute's name without prefix, or its number.
pub fn attribute_name(code: u8) -> String {
    Attr(code).name().map_or_else(|| format!("{code:#04x}"), str::to_owned)
}

/// The name of an attribute of `.nv.compat`, or its number.
pub fn compat_name(code: u8) -> String {
    Compat(code).name().map_or_else(|| format!("{code:#04x}"), str::to_owned)
}

/// The name of an attribute's format, or its number.
pub fn format_name(format: u8) -> String {
    Format(format).name().map_or_else(|| format!("{format:#x}"), str::to_owned)
}

/// Hexadecimal bytes separated by spaces.
pub fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 3);
    for (i, byte) in bytes.iter().enumerate() {
        if i > 0 {
            out.push(' ');
        }
        out.push_str(&format!("{byte:02x}"));
    }
    out
}

/// The symbol tables of a file, checked once.
pub struct Tables<'c, 'a> {
    cubin: &'c Cubin<'a>,
    all: Vec<SymbolTable<'a>>,
}

impl<'c, 'a> Tables<'c, 'a> {
    /// Reads those of a file.
    pub fn of(cubin: &'c Cubin<'a>) -> Self {
        let sections = cubin.sections().iter();
        let symbols = sections.filter(|s| classify::section(s).class == SectionClass::Symbols);
        Self { cubin, all: symbols.filter_map(|s| cubin.symbol_table(&s).ok()).collect() }
    }
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &SymbolTable<'a>> {
        self.all.iter()
    }
    /// The table in the section that `section` links to.
    pub fn linked(&self, section: &SectionRef<'_>) -> Symbols<'c, 'a> {
        let table = self.all.iter().find(|t| t.section().0 == section.link).cloned();
        Symbols { cubin: self.cubin, table }
    }
}

/// Names symbols of one table.
pub struct Symbols<'c, 'a> {
    pub cubin: &'c Cubin<'a>,
    pub table: Option<SymbolTable<'a>>,
}

impl Symbols<'_, '_> {
    /// `name`, or `symbol 12` if there is none.
    pub fn name(&self, index: u32) -> String {
        match symbol_reference(self.cubin, self.table.as_ref(), index) {
            Some(name) if !name.is_empty() => name.into_owned(),
            _ => format!("symbol {index}"),
        }
    }
    /// A prototype string.
    pub fn string(&self, offset: u32) -> Option<String> {
        Some(reference(self.table.as_ref()?.string(offset)?).into_owned())
    }
}

/// An attribute's value as text.
pub fn value_text(record: &Record<'_>, symbols: &Symbols<'_, '_>) -> String {
    if record.format != Format::SVAL.0 {
        return scalar_text(record);
    }
    match typed(record) {
        Typed::Param(p) => format!(
            "parameter {} at {:#x}, {} bytes{}",
            p.ordinal,
            p.offset,
            p.size(),
            if p.log2_alignment() > 0 {
                format!(", points to align {}", 1_u64 << p.log2_alignment().min(63))
            } else {
                String::new()
            }
        ),
        Typed::Bank(b) => {
            format!("{} at {:#x}, {} bytes", symbols.name(b.symbol.get()), b.offset, b.size)
        }
        Typed::SymbolValues => {
            let symbol = record.word(0).map(|s| symbols.name(s)).unwrap_or_default();
            format!("{symbol}: {}", amounts(record))
        }
        Typed::Symbols => record.words().map(|s| symbols.name(s)).collect::<Vec<_>>().join(" "),
        Typed::Words => record.words().map(|w| format!("{w:#x}")).collect::<Vec<_>>().join(" "),
        Typed::Bytes => hex(record.payload),
    }
}

/// The values of a record about a symbol. All ones mean that the value is unknown before run time.
pub fn amounts(record: &Record<'_>) -> String {
    let amount = |value: u32| match value {
        u32::MAX => "unknown".to_owned(),
        _ => value.to_string(),
    };
    record.words().skip(1).map(amount).collect::<Vec<_>>().join(" ")
}

fn scalar_text(record: &Record<'_>) -> String {
    match record.attr() {
        _ if record.format == Format::NVAL.0 && record.value == 0 => String::new(),
        Attr::MERCURY_ISA_VERSION => format!("{}.{}", record.value >> 8, record.value & 0xff),
        _ => record.value.to_string(),
    }
}

/// A decoded payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typed {
    Param(KernelParam),
    /// The location of a kernel's parameters.
    Bank(ParamBank),
    SymbolValues,
    Symbols,
    Words,
    /// Bytes that are not decoded.
    Bytes,
}

/// Decodes a payload according to the attribute's shape if the size fits.
pub fn typed(record: &Record<'_>) -> Typed {
    let whole = record.payload.len().is_multiple_of(4);
    match record.attr().shape() {
        Shape::KernelParam if record.attr() == Attr::KPARAM_INFO => {
            record.payload_as().map_or(Typed::Bytes, Typed::Param)
        }
        Shape::ParamBank => record.payload_as().map_or(Typed::Bytes, Typed::Bank),
        Shape::SymbolValue if whole => Typed::SymbolValues,
        Shape::Symbols if whole => Typed::Symbols,
        Shape::Words | Shape::Scalar if whole => Typed::Words,
        _ => Typed::Bytes,
    }
}

/// An entry of the call graph as a sentence.
pub fn edge(list: List, first: u32, second: u32, symbols: &Symbols<'_, '_>) -> String {
    let from = symbols.name(first);
    let prototype = || symbols.string(second).unwrap_or_default();
    match list {
        List::Calls => format!("{from} calls {}", symbols.name(second)),
        List::TakesAddress => format!("{from} takes the address of {}", symbols.name(second)),
        List::AddressTaken => {
            format!("{from} has its address taken, prototype \"{}\"", prototype())
        }
        List::IndirectCalls => format!("{from} calls through prototype \"{}\"", prototype()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hidden_stays_hidden() {
        for (text, expected) in [
            ("_Z3fooi", "_Z3fooi"),
            ("größe ∀x", "größe ∀x"),
            ("a\nb\r\tc", "a\\nb\\r\\tc"),
            ("\u{1b}[31mred\u{7f}", "\\x1b[31mred\\x7f"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("a\u{202e}b\u{2069}\u{200b}", "a\\u{202e}b\\u{2069}\\u{200b}"),
        ] {
            assert_eq!(shown(text), expected);
            assert_eq!(shown(&shown(text)), expected, "shown twice");
        }
    }
}
