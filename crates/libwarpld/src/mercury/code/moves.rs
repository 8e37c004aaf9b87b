//! Where instructions moved when some before them were removed or inserted.

use super::instruction::Instruction;

/// Old and new offsets of a function's instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moves {
    /// By old instruction: the first new one that stands for it.
    first: Vec<u32>,
    /// By old instruction: its new index, or that of the next one if it was removed.
    itself: Vec<u32>,
    /// New number of instructions.
    count: u32,
}

impl Moves {
    /// Records what became of each old instruction. `first` and `itself` are of
    /// equal length.
    pub fn new(first: Vec<u32>, itself: Vec<u32>, count: u32) -> Self {
        Self { first, itself, count }
    }

    /// Nothing moved.
    pub fn none(count: usize) -> Self {
        let same: Vec<u32> = (0..count as u32).collect();
        Self { first: same.clone(), itself: same, count: count as u32 }
    }

    /// The new target of a branch to this offset; rows of line tables and ranges start here, too.
    pub fn target(&self, offset: u64) -> u64 {
        self.moved(&self.first, offset)
    }

    /// The new offset of the instruction at this offset.
    pub fn place(&self, offset: u64) -> u64 {
        self.moved(&self.itself, offset)
    }

    /// New size of the function.
    pub fn size(&self) -> u64 {
        u64::from(self.count) * Instruction::SIZE as u64
    }

    /// Stall counts before the move, by new instruction; `None` for those that were inserted.
    pub fn stalls_before(&self, old: &[u8]) -> Vec<Option<u8>> {
        let mut out = vec![None; self.count as usize];
        for (instruction, &new) in old.chunks_exact(Instruction::SIZE).zip(&self.itself) {
            let Ok(bytes) = instruction.try_into() else { continue };
            if let Some(slot) = out.get_mut(new as usize) {
                *slot = Some(Instruction(u128::from_le_bytes(bytes)).stall());
            }
        }
        out
    }

    fn moved(&self, list: &[u32], offset: u64) -> u64 {
        let size = Instruction::SIZE as u64;
        let index = usize::try_from(offset / size).unwrap_or(usize::MAX);
        match list.get(index) {
            Some(&new) => (u64::from(new) * size).saturating_add(offset % size),
            None => {
                let old = list.len() as u64 * size;
                self.size().saturating_add(offset.saturating_sub(old))
            }
        }
    }
}
