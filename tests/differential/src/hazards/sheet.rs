//! Listings of many functions by one run of nvdisasm: starting it takes as long as listing thousands of
//! instructions. The functions of any number of files are put into one file.

use super::flow::Flow;
use super::listing::{self, CONTROL, Function, Instruction};
use super::raw::{INSTRUCTION, Raw};
use cubin::{Arch, Attr, Variant};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Instructions in a file.
const SIZE: usize = 60_000;
/// NOP without control bits.
const NOP: u128 = 0x7918;
/// nvdisasm has no table of registers for functions with more: it says "Invalid register count : '255'".
const MOST_REGISTERS: u32 = 254;

/// The disassembler, and a folder for its files.
#[derive(Clone, Debug)]
pub struct Lister {
    /// The program.
    pub nvdisasm: PathBuf,
    /// The folder; each thread needs its own.
    pub folder: PathBuf,
}

/// Listings by function without control bits; or why there is none.
pub type Listings = HashMap<Raw, Result<Function, String>>;

impl Lister {
    /// Lists functions, all of [`Raw::shape`].
    pub fn list(&self, shapes: Vec<Raw>) -> Result<Listings, String> {
        let mut by_arch: HashMap<Arch, Vec<Raw>> = HashMap::new();
        for shape in shapes {
            by_arch.entry(shape.arch).or_default().push(shape);
        }
        let mut all = Listings::new();
        for (_, shapes) in by_arch {
            let (mut part, mut size) = (Vec::new(), 0);
            for shape in shapes {
                size += shape.code.len();
                part.push(shape);
                if size >= SIZE {
                    self.list_part(std::mem::take(&mut part), &mut all)?;
                    size = 0;
                }
            }
            self.list_part(part, &mut all)?;
        }
        Ok(all)
    }

    /// Lists functions of one target. Where nvdisasm refuses a file, its halves are tried.
    fn list_part(&self, mut shapes: Vec<Raw>, all: &mut Listings) -> Result<(), String> {
        if shapes.is_empty() {
            return Ok(());
        }
        let path = self.folder.join("sheet.cubin");
        fs::write(&path, file(&shapes)).map_err(|e| format!("{}: {e}", path.display()))?;
        match run(&self.nvdisasm, &path)? {
            Ok(text) => {
                let listed = listing::functions(&text);
                let mut listed: HashMap<String, Function> =
                    listed.into_iter().map(|function| (function.name.clone(), function)).collect();
                for (number, shape) in shapes.into_iter().enumerate() {
                    let function = listed.remove(&name(number));
                    let function = function.ok_or("nvdisasm does not list it".to_owned());
                    let function = function.and_then(|function| complete(function, &shape));
                    all.insert(shape, function);
                }
                Ok(())
            }
            Err(message) if shapes.len() == 1 => {
                let line = message.lines().next().unwrap_or("nvdisasm fails").to_owned();
                all.insert(shapes.remove(0), Err(line));
                Ok(())
            }
            Err(_) => {
                let second = shapes.split_off(shapes.len() / 2);
                self.list_part(shapes, all)?;
                self.list_part(second, all)
            }
        }
    }
}

/// Whether control can come to the end of a listing or to a label that is not in it.
fn leaves_listing(function: &Function) -> bool {
    let end = function.code.len();
    let mut longer = function.clone();
    longer.code.push(listing::instruction("NOP"));
    let is_unknown = |word: &str| word.starts_with(".L_") && !function.labels.contains_key(word);
    let names = |i: &Instruction| i.text.split(['(', ')', '`', ',', ' ']).any(is_unknown);
    let flow = Flow::of(&longer);
    let mut reached = vec![false; end + 1];
    let mut work: Vec<usize> = function.labels.values().copied().chain([0]).collect();
    while let Some(at) = work.pop() {
        if !std::mem::replace(&mut reached[at], true) {
            work.extend(&flow.next[at]);
        }
    }
    reached[end] || function.code.iter().any(names)
}

/// A listing, unless instructions or registers are missing in it. nvdisasm leaves out padding at the end, and code behind an
/// EXIT there to which nothing leads (`-G` has a second EXIT).
fn complete(mut function: Function, shape: &Raw) -> Result<Function, String> {
    let listed = function.code.len();
    let is_cut = shape.code.iter().skip(listed).any(|bits| bits & !CONTROL != NOP);
    let is_reached = is_cut && leaves_listing(&function);
    for (at, bits) in shape.code.iter().enumerate().skip(listed) {
        if is_reached {
            return Err(format!("{} of {} instructions are listed", listed, shape.code.len()));
        }
        let mut padding = listing::instruction("NOP");
        (padding.bits, padding.offset) = (*bits, at * INSTRUCTION);
        function.code.push(padding);
    }
    let other = |(at, i): &(usize, &Instruction)| {
        i.offset != at * INSTRUCTION || shape.code.get(*at) != Some(&i.bits)
    };
    if let Some((_, i)) = function.code.iter().enumerate().find(other) {
        return Err(format!("{:x} {} is listed as {:x}", i.offset, i.text, i.bits));
    }
    let most = shape.registers.min(MOST_REGISTERS);
    let names = function.code.iter().flat_map(|instruction| {
        instruction
            .text
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter_map(|word| word.strip_prefix('R')?.parse::<u32>().ok())
    });
    match names.max().filter(|register| *register >= most) {
        Some(register) => Err(format!("R{register} is not in the table of registers")),
        None => Ok(function),
    }
}

/// What nvdisasm prints; inside, its own message if it fails.
fn run(nvdisasm: &Path, path: &Path) -> Result<Result<String, String>, String> {
    let output = Command::new(nvdisasm)
        .args(["-c", "-hex", "-plr", "-lrm", "narrow"])
        .arg(path)
        .output()
        .map_err(|e| format!("{}: {e}", nvdisasm.display()))?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let ok = output.status.success();
    Ok(if ok { Ok(text(output.stdout)) } else { Err(text(output.stderr)) })
}

/// The name of a function in the file.
fn name(number: usize) -> String {
    format!("w{number}")
}

/// A section to be written.
#[derive(Default)]
struct Section {
    name: String,
    kind: u32,
    flags: u64,
    data: Vec<u8>,
    link: u32,
    info: u32,
    align: u64,
    entry: u64,
}

const NOBODY: u32 = 0;
const STRTAB: u32 = 2;
const SYMTAB: u32 = 3;
const GLOBAL_FUNCTION: u8 = 0x12;
/// Flag of a kernel in a symbol's other byte.
const KERNEL: u8 = 0x10;
const CUDA_INFO: u32 = 0x7000_0000;
const CUDA_COMPAT: u32 = 0x7000_0086;
const ELF_HEADER: usize = 64;

#[derive(Default)]
struct Symbols {
    entries: Vec<u8>,
    names: Vec<u8>,
}

impl Symbols {
    fn add(&mut self, name: &str, (info, other, section): (u8, u8, u32), size: u64) {
        self.entries.extend((self.names.len() as u32).to_le_bytes());
        self.entries.extend([info, other]);
        self.entries.extend((section as u16).to_le_bytes());
        self.entries.extend(0_u64.to_le_bytes());
        self.entries.extend(size.to_le_bytes());
        self.names.extend(name.bytes().chain([0]));
    }
}

/// A relocatable file with all functions, under the names `w0`, `w1` and so on. Other functions that they
/// name are one that is not defined.
fn file(shapes: &[Raw]) -> Vec<u8> {
    let arch = shapes.first().map_or(Arch { number: 100, variant: Variant::Plain }, |s| s.arch);
    let mut symbols = Symbols::default();
    symbols.add("", (0, 0, NOBODY), 0);
    let other = shapes.len() as u64 + 1;
    let mut sections: Vec<Section> = (0..6).map(|_| Section::default()).collect();
    let mut counts = Vec::new();
    for (number, shape) in shapes.iter().enumerate() {
        let (name, text) = (name(number), sections.len() as u32);
        let symbol = number as u64 + 1;
        let code: Vec<u8> = shape.code.iter().flat_map(|bits| bits.to_le_bytes()).collect();
        symbols.add(&name, (GLOBAL_FUNCTION, KERNEL, text), code.len() as u64);
        counts.extend([4, Attr::REGCOUNT.0, 8, 0]);
        counts.extend((symbol as u32).to_le_bytes());
        counts.extend(shape.registers.min(MOST_REGISTERS).to_le_bytes());
        let about = |prefix: &str, kind, data, (align, entry)| Section {
            name: format!("{prefix}{name}"),
            kind,
            flags: 0x40,
            data,
            link: SYMTAB,
            info: text,
            align,
            entry,
        };
        let mut relocations = Vec::new();
        for relocation in &shape.relocations {
            let (symbol, addend) = relocation.own.map_or((other, 0), |addend| (symbol, addend));
            relocations.extend(relocation.offset.to_le_bytes());
            relocations.extend((symbol << 32 | u64::from(relocation.kind)).to_le_bytes());
            relocations.extend(addend.to_le_bytes());
        }
        let info = symbol as u32;
        let code = Section { flags: 6, info, ..about(".text.", 1, code, (128, 0)) };
        sections.push(code);
        if !shape.jumps.is_empty() {
            sections.push(about(".nv.info.", CUDA_INFO, shape.jumps.clone(), (4, 0)));
        }
        if !relocations.is_empty() {
            sections.push(about(".rela.text.", 4, relocations, (8, 24)));
        }
    }
    symbols.add("others", (GLOBAL_FUNCTION, 0, NOBODY), 0);
    let accelerated = u8::from(arch.variant == Variant::Accelerated);
    let table = |name: &str, kind, data, link| Section {
        name: name.into(),
        kind,
        data,
        link,
        align: 8,
        ..Section::default()
    };
    sections[2] = table(".strtab", 3, symbols.names, 0);
    sections[3] = Section { info: 1, entry: 24, ..table(".symtab", 2, symbols.entries, STRTAB) };
    sections[4] = table(".nv.info", CUDA_INFO, counts, SYMTAB);
    let target = vec![2, 9, accelerated, 0];
    sections[5] = table(".nv.compat", CUDA_COMPAT, target, 0);
    sections[1] = table(".shstrtab", 3, Vec::new(), 0);
    write(arch.number, sections)
}

fn write(sm: u16, mut sections: Vec<Section>) -> Vec<u8> {
    let mut names = Vec::new();
    let mut offsets = Vec::new();
    for section in &sections {
        offsets.push(names.len() as u32);
        names.extend(section.name.bytes().chain([0]));
    }
    sections[1].data = names;
    let mut body = vec![0; ELF_HEADER];
    let mut headers = Vec::new();
    for (section, name) in sections.iter().zip(offsets) {
        let align = section.align.max(1);
        body.resize(body.len().next_multiple_of(align as usize), 0);
        headers.extend(name.to_le_bytes());
        headers.extend(section.kind.to_le_bytes());
        for field in [section.flags, 0, body.len() as u64, section.data.len() as u64] {
            headers.extend(field.to_le_bytes());
        }
        headers.extend(section.link.to_le_bytes());
        headers.extend(section.info.to_le_bytes());
        headers.extend(section.align.to_le_bytes());
        headers.extend(section.entry.to_le_bytes());
        body.extend(&section.data);
    }
    body.resize(body.len().next_multiple_of(8), 0);
    let table = body.len() as u64;
    body.extend(headers);
    let mut header = b"\x7fELF\x02\x01\x01\x41\x08\0\0\0\0\0\0\0".to_vec();
    header.extend([1_u16, cubin::EM_CUDA].map(u16::to_le_bytes).concat());
    header.extend(1_u32.to_le_bytes());
    header.extend([0, 0, table].map(u64::to_le_bytes).concat());
    // Machine code in the layout of CUDA 13.
    header.extend((4 | u32::from(sm) << 8).to_le_bytes());
    let counts = [64_u16, 0, 0, 64, sections.len() as u16, 1];
    header.extend(counts.map(u16::to_le_bytes).concat());
    body[..ELF_HEADER].copy_from_slice(&header);
    body
}
