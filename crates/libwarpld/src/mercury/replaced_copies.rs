//! Replaced copies of a function: offsets in the Mercury code of a replaced copy, translated with
//! the map of the selected one.

use super::CapsuleFile;
use crate::collections::Map;
use crate::dialect::Dialect;
use crate::ids::{InputSection, ObjectId, SectionId, SymbolId};
use crate::linked::Linked;
use crate::mercury::code::instruction::Instruction;
use crate::mercury::code::{Edited, MercuryMap, Moves, block_starts, is_lost};
use crate::object::Object;
use cubin::SectionRef;
use cubin::attr::Attr;
use cubin::capsule::Capsule;
use cubin::info::{self, Record};
use cubin::names::prefix;
use std::cell::OnceCell;
use std::sync::OnceLock;

/// Where a range starts at an instruction without a place.
const LOST: u64 = 0xffff_ffff;

/// The code in the output that a function's name refers to.
pub struct SelectedCode<'a, 'e> {
    /// The input it comes from.
    pub from: InputSection,
    /// Size of its machine code in the output.
    pub size: u64,
    code: &'a [u8],
    capsule: &'a [u8],
    /// Maps Mercury offsets to the input's machine code; built on first use.
    map: OnceCell<Option<MercuryMap>>,
    /// Maps jump table targets from Mercury to machine code; built on first use.
    jumps: OnceCell<Map<u32, u32>>,
    /// Where blocks of the input's machine code start; built on first use.
    block_starts: OnceCell<Vec<bool>>,
    /// How its code moved, if it did.
    pub moves: Option<&'e Moves>,
}

impl<'a, 'e> SelectedCode<'a, 'e> {
    /// The function that an input symbol refers to.
    pub fn of_symbol(
        linked: Linked<'a, '_>,
        edited: &'e Map<SectionId, Edited>,
        object: ObjectId,
        symbol: u32,
    ) -> Option<Self> {
        Self::new(linked, edited, function_of(linked, object, symbol)?)
    }

    /// A function of the link.
    pub fn new(
        linked: Linked<'a, '_>,
        edited: &'e Map<SectionId, Edited>,
        function: SymbolId,
    ) -> Option<Self> {
        let function = linked.cx.graph.function(function)?;
        let text = linked.merged.function_sections.get(function)?.text.get()?;
        let from = linked.layout.chunks(linked.merged, text).first()?.from;
        let object = linked.cx.objects.get(from.object)?;
        let code = object.halves.as_ref()?.counterpart(from.section)?.data;
        let capsule = object.cubin.section(from.section)?.data;
        let edited = edited.get(&text);
        let size = edited.map_or(code.len(), |e| e.code.len()) as u64;
        let moves = edited.map(|e| &e.moves);
        let (map, jumps, block_starts) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Some(Self { from, size, code, capsule, map, jumps, block_starts, moves })
    }

    /// Maps an offset in some copy's Mercury code to the output's machine code; `None` if no
    /// instruction of the selected copy starts there.
    pub fn place(&self, mercury: u64) -> Option<u64> {
        self.map()?.place(mercury).map(|at| self.moved(at))
    }

    /// The same, but `None` for the end.
    pub fn place_before_end(&self, mercury: u64) -> Option<u64> {
        self.map()?.instruction(mercury).map(|at| self.moved(at))
    }

    /// Like [`place`](Self::place) of an offset that stands for the instruction itself, without what is
    /// inserted before it.
    pub fn instruction(&self, mercury: u64) -> Option<u64> {
        self.map()?.place(mercury).map(|at| self.itself(at))
    }

    /// Maps a range of some copy's Mercury code in which a variable is in a register. It ends at an
    /// instruction itself, and starts with the last machine instruction of the one that sets it, or
    /// with the last before the next one. 0 stands for what is not the start of an instruction.
    /// [`registers-at-inserted-code`]
    pub fn range(&self, start: u64, end: u64, dialect: Dialect) -> [u64; 2] {
        let Some(map) = self.map() else { return [0; 2] };
        let behind = match dialect.registers_start_with_setter() {
            true => map.next_start(start).map(|at| self.moved(at)),
            false => self.next_in_block(map, start),
        };
        let last = |at: u64| match at == LOST {
            true => LOST,
            false => at.saturating_sub(Instruction::SIZE as u64),
        };
        [behind.map_or(0, last), map.instruction(end).map_or(0, |at| self.itself(at))]
    }

    /// The offset in the output of the main machine instruction after the one at a Mercury offset, or
    /// of the end of that one's block or a part that counts by itself if it comes first, or [`LOST`].
    /// [`offsets-in-groups`, `registers-at-parts`]
    fn next_in_block(&self, map: &MercuryMap, mercury: u64) -> Option<u64> {
        let (own, next) = (map.instruction(mercury)?, map.next(mercury)?);
        let read = || Instruction::all(self.code).unwrap_or_default();
        let starts = self.block_starts.get_or_init(|| block_starts(&read()));
        let size = Instruction::SIZE as u64;
        let is_start = |at: &u64| {
            usize::try_from(at / size).is_ok_and(|i| starts.get(i).is_some_and(|first| *first))
        };
        let mut behind = (own / size + 1..=next / size).map(|i| i * size);
        // What follows WARPSYNC.COLLECTIVE in its own group does not start a block here.
        let part = behind.clone().find(|at| map.is_part(*at));
        let end = behind.find(is_start).filter(|_| part.is_none_or(|_| !map.is_collective(own)));
        Some(match (part, end) {
            (Some(part), None) => self.itself(part),
            (Some(part), Some(end)) if part < end => self.itself(part),
            (_, Some(end)) => self.moved(end),
            (None, None) if is_lost(&read(), starts, (next / size) as usize) => LOST,
            (None, None) => self.itself(next),
        })
    }

    /// Maps where a row of some copy's frame begins: right behind the main machine instruction before
    /// it. `None` if no instruction of the selected copy starts there. [`offsets-in-groups`]
    pub fn row(&self, mercury: u64) -> Option<u64> {
        let map = self.map()?;
        map.place(mercury)?;
        let behind = |at| self.itself(at).saturating_add(Instruction::SIZE as u64);
        Some(map.before(mercury).map_or(0, behind))
    }

    /// The offset in the output's machine code of the selected copy's first instruction at or after
    /// an offset in some copy's Mercury code.
    pub fn place_from(&self, mercury: u64) -> Option<u64> {
        self.map()?.place_from(mercury).map(|at| self.moved(at))
    }

    fn map(&self) -> Option<&MercuryMap> {
        let read = || MercuryMap::new(self.code, &Capsule::parse(self.capsule).ok()?);
        self.map.get_or_init(read).as_ref()
    }

    /// Size of its machine code in the input.
    pub fn input_size(&self) -> u64 {
        self.code.len() as u64
    }

    /// Whether the instruction at an offset of the machine code is a MOV of Mercury: MOV, UMOV, R2UR, and
    /// what reads special registers or constants of the driver. [`preserve-place-of-special-registers`]
    pub fn moves_values(&self, machine: u64) -> bool {
        if self.map().is_some_and(|map| map.is_move(machine)) {
            return true;
        }
        let at = usize::try_from(machine).unwrap_or(usize::MAX);
        let opcode = at.checked_add(2).and_then(|end| self.code.get(at..end));
        let operation = opcode.map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]) & 0x1ff);
        operation.is_some_and(|operation| matches!(operation, 0x002 | 0x082 | 0x0ca))
    }

    /// The target of a jump that some copy's table has with this Mercury offset; `None` if none of
    /// the selected copy's own tables has it. Other offsets in its code do not count, not even
    /// where blocks start (addends changed by hand).
    pub fn jump_target(&self, file: &CapsuleFile<'_, '_>, mercury: u64) -> Option<u64> {
        let read = || jump_targets(file, self.from).unwrap_or_default();
        let found = self.jumps.get_or_init(read).get(&u32::try_from(mercury).ok()?)?;
        Some(self.moved((*found).into()))
    }

    /// The new offset of an instruction of the input's machine code.
    fn itself(&self, machine: u64) -> u64 {
        self.moves.map_or(machine, |m| m.place(machine))
    }

    /// Maps an offset in the input's machine code to the output's.
    pub fn moved(&self, machine: u64) -> u64 {
        self.moves.map_or(machine, |m| m.target(machine))
    }
}

/// The functions of the output that input symbols refer to, looked up once each.
#[derive(Default)]
pub struct SelectedCodeCache<'a, 'e>(Map<(u32, u32), Option<SelectedCode<'a, 'e>>>);

impl<'a, 'e> SelectedCodeCache<'a, 'e> {
    /// The function that an input symbol refers to.
    pub fn of_symbol(
        &mut self,
        file: &'e CapsuleFile<'a, '_>,
        object: ObjectId,
        symbol: u32,
    ) -> Option<&SelectedCode<'a, 'e>> {
        let look_up = || SelectedCode::of_symbol(file.linked, &file.edited, object, symbol);
        self.0.entry((object.as_u32(), symbol)).or_insert_with(look_up).as_ref()
    }
}

/// The function that an input symbol refers to, directly or as its section.
fn function_of(linked: Linked<'_, '_>, object: ObjectId, symbol: u32) -> Option<SymbolId> {
    let cx = linked.cx;
    let by_section = || {
        let input = cx.objects.get(object)?.cubin.symbol(symbol)?;
        cx.owner(object, input.shndx).map(|(id, _)| id)
    };
    cx.resolution.id(object, symbol).or_else(by_section)
}

/// Maps the targets of a function's jump tables from Mercury to machine code, according to its
/// attributes: per jump its offset, zero, a count, the targets.
fn jump_targets(file: &CapsuleFile<'_, '_>, text: InputSection) -> Option<Map<u32, u32>> {
    let object = file.linked.cx.objects.get(text.object)?;
    let mercury = object.cubin.section(file.attributes.of(object, text)?)?;
    let machine = object.halves.as_ref()?.counterpart(mercury.index.0)?.data;
    let lists = |data| {
        let records = info::records(data).map_while(Result::ok);
        records.filter(|r| r.attr() == Attr::INDIRECT_BRANCH_TARGETS).collect::<Vec<_>>()
    };
    let (from, to) = (lists(mercury.data), lists(machine));
    let pairs = from.iter().zip(&to).flat_map(|(from, to)| targets(from).zip(targets(to)));
    let mut out = Map::default();
    for (mercury, machine) in pairs {
        out.entry(mercury).or_insert(machine);
    }
    Some(out)
}

/// The attribute sections of each input's functions, by code section.
#[derive(Debug)]
pub struct AttributeSections(Vec<OnceLock<Map<u32, u32>>>);

impl AttributeSections {
    /// For `inputs` inputs.
    pub fn new(inputs: usize) -> Self {
        Self((0..inputs).map(|_| OnceLock::new()).collect())
    }

    /// The section with the attributes of a function. An input is scanned once, as it may have
    /// thousands.
    fn of(&self, object: &Object<'_>, text: InputSection) -> Option<u32> {
        let read = || {
            let mut out = Map::default();
            let named = |s: &SectionRef<'_>| s.name.starts_with(prefix::INFO);
            for section in object.cubin.sections().iter().filter(named) {
                out.entry(section.info).or_insert(section.index.0);
            }
            out
        };
        self.0.get(text.object.index())?.get_or_init(read).get(&text.section).copied()
    }
}

fn targets(record: &Record<'_>) -> impl Iterator<Item = u32> {
    let mut words = record.words();
    let mut left = 0;
    std::iter::from_fn(move || {
        while left == 0 {
            left = words.nth(2)?;
        }
        left -= 1;
        words.next()
    })
}
