//! Basic blocks of a kernel, in the order in which boards are allocated.

use super::instruction::{Flow, Instruction};

/// Operations after which a block ends: BSYNC, BRA, BRX, EXIT, RET, ENDCOLLECTIVE.
const ENDS: [u16; 6] = [Instruction::BSYNC, 0x147, 0x149, 0x14d, 0x150, 0x11b];
/// BRXU, which only [`Blocks`] looks at.
const UNIFORM_JUMP: u16 = 0x158;
/// Starts a region; its end is a meeting place.
const BSSY: u16 = 0x145;

/// The blocks of a kernel.
#[derive(Debug)]
pub struct Blocks {
    /// First and last instruction of each.
    ranges: Vec<(usize, usize)>,
    /// The block of each instruction.
    of: Vec<usize>,
    successors: Vec<Vec<usize>>,
    predecessors: Vec<Vec<usize>>,
    /// Reverse post order, and each block's place in it.
    order: Vec<usize>,
    places: Vec<usize>,
}

impl Blocks {
    /// The blocks, given where control may go from each instruction.
    pub fn new(body: &[Instruction], next: &[Vec<usize>]) -> Option<Self> {
        let first = leaders(body, next)?;
        let starts: Vec<usize> = (0..body.len()).filter(|&i| first[i]).collect();
        let ends = starts.iter().skip(1).map(|start| start - 1).chain(body.len().checked_sub(1));
        let ranges: Vec<(usize, usize)> = starts.iter().copied().zip(ends).collect();
        let mut of = vec![0; body.len()];
        for (block, &(start, end)) in ranges.iter().enumerate() {
            of[start..=end].fill(block);
        }
        let mut successors = Vec::new();
        let mut predecessors = vec![Vec::new(); ranges.len()];
        // Where control goes from each, but for warps that have split; the first is visited first.
        let mut visited: Vec<Vec<usize>> = Vec::new();
        for (block, &(_, end)) in ranges.iter().enumerate() {
            let mut list: Vec<usize> = next.get(end)?.iter().map(|&i| of[i]).collect();
            list.sort_by_key(|&s| (s != block + 1, s));
            list.dedup();
            for &s in &list {
                predecessors[s].push(block);
            }
            // Code for warps that have split comes last.
            let splits = body.get(end)?.branches_if_split();
            let mut turns: Vec<_> =
                list.iter().copied().filter(|&s| !splits || s == block + 1).collect();
            turns.sort_by_key(|&s| bucket(s));
            visited.push(turns);
            successors.push(list);
        }
        let order = reverse_post_order(&visited);
        let mut places = vec![0; ranges.len()];
        for (place, &block) in order.iter().enumerate() {
            places[block] = place;
        }
        Some(Self { ranges, of, successors, predecessors, order, places })
    }

    /// The blocks in the order of allocation.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.ranges.len()
    }

    /// First and last instruction of a block.
    pub fn range(&self, block: usize) -> (usize, usize) {
        self.ranges[block]
    }

    /// The block of an instruction.
    pub fn of(&self, i: usize) -> usize {
        self.of[i]
    }

    /// When the turn of an instruction's block is.
    pub fn place(&self, i: usize) -> usize {
        self.places[self.of[i]]
    }

    /// Whether control may leave a block for another.
    pub fn goes_on(&self, block: usize) -> bool {
        !self.successors[block].is_empty()
    }

    /// Where control goes from a block.
    pub fn successors(&self, block: usize) -> &[usize] {
        &self.successors[block]
    }

    /// Whether a block is entered by a back edge.
    pub fn is_header(&self, block: usize) -> bool {
        self.predecessors[block].iter().any(|&p| self.places[p] >= self.places[block])
    }

    /// Whether a loop may start after a block.
    pub fn precedes_loop(&self, block: usize) -> bool {
        let place = self.places[block];
        self.successors[block].iter().any(|&s| self.places[s] > place && self.is_header(s))
    }

    /// Where a block is entered from.
    pub fn predecessors(&self, block: usize) -> &[usize] {
        &self.predecessors[block]
    }

    /// Other blocks that enter the successors of this one.
    pub fn rivals(&self, block: usize) -> impl Iterator<Item = usize> + '_ {
        let entries = self.successors[block].iter().flat_map(|&s| &self.predecessors[s]);
        entries.copied().filter(move |&p| p != block)
    }
}

/// Whether each instruction is the first of a block.
fn leaders(body: &[Instruction], next: &[Vec<usize>]) -> Option<Vec<bool>> {
    let mut first = vec![false; body.len() + 1];
    *first.first_mut()? = true;
    for (i, instruction) in body.iter().enumerate() {
        let operation = instruction.operation();
        let ends = ENDS.contains(&operation) || operation == UNIFORM_JUMP;
        if ends || instruction.is_collective() {
            *first.get_mut(i + 1)? = true;
            for &j in next.get(i)? {
                *first.get_mut(j)? = true;
            }
        }
        if operation == BSSY
            && let Flow::To(target) = instruction.flow((i * Instruction::SIZE) as i64)
            && let Some(at) = first.get_mut(usize::try_from(target).ok()? / Instruction::SIZE)
        {
            *at = true;
        }
    }
    Some(first)
}

/// Whether each instruction is the first of a block, as far as the code alone says: jump tables are
/// not looked at. `WARPSYNC.COLLECTIVE` is a block of its own. (`offsets-in-groups`)
pub fn block_starts(code: &[Instruction]) -> Vec<bool> {
    let mut first = vec![false; code.len()];
    let mut mark = |at: usize| {
        if let Some(first) = first.get_mut(at) {
            *first = true;
        }
    };
    for (i, instruction) in code.iter().enumerate() {
        if instruction.is_collective() {
            mark(i);
        }
        if ENDS.contains(&instruction.operation()) || instruction.is_collective() {
            mark(i + 1);
        }
        if let Flow::To(target) = instruction.flow((i * Instruction::SIZE) as i64)
            && let Ok(target) = usize::try_from(target)
        {
            mark(target / Instruction::SIZE);
        }
    }
    first
}

/// Which of the successors of a block is visited first depends on its number alone: the compiler keeps them in
/// a hash table with eight buckets. (Found with 107 kernels in which the two arms of a branch have all kinds
/// of numbers; FNV-1a is the usual function that explains them all.)
fn bucket(block: usize) -> u32 {
    const BUCKETS: u32 = 8;
    let bytes = (block as u32).to_le_bytes();
    let mix = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    bytes.into_iter().fold(0x811c_9dc5, mix) % BUCKETS
}

fn reverse_post_order(successors: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = vec![false; successors.len()];
    let mut order = Vec::new();
    for root in 0..successors.len() {
        if seen[root] {
            continue;
        }
        seen[root] = true;
        let mut post = Vec::new();
        let mut stack = vec![(root, 0)];
        while let Some((block, tried)) = stack.pop() {
            let Some(&s) = successors[block].get(tried) else {
                post.push(block);
                continue;
            };
            stack.push((block, tried + 1));
            if !seen[s] {
                seen[s] = true;
                stack.push((s, 0));
            }
        }
        order.extend(post.into_iter().rev());
    }
    order
}
