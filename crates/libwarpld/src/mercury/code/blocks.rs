//! Basic blocks of a kernel, in the order in which boards are allocated.

use super::instruction::{Flow, Instruction};
use smallvec::SmallVec;

/// Operations after which a block ends: BSYNC, BRA, BRX, EXIT, RET, ENDCOLLECTIVE.
const ENDS: [u16; 6] = [Instruction::BSYNC, 0x147, 0x149, 0x14d, 0x150, 0x11b];
/// BRXU, which only [`Blocks`] looks at.
const UNIFORM_JUMP: u16 = 0x158;
/// CALL.ABS, a block of its own: a load that it takes its target from leaves the block before, so that it has the last
/// board (in functions with calls 10 of 1,340 boards are not explained, otherwise 29). LEPC begins one.
const CALL: u16 = 0x143;
const LEPC: u16 = 0x14e;
/// Starts a region; its end is a meeting place.
const BSSY: u16 = 0x145;

const NOP: u16 = 0x118;

/// Where control may go from an instruction or a block.
pub type Next = SmallVec<[usize; 2]>;

/// The blocks of a kernel.
#[derive(Debug)]
pub struct Blocks {
    /// First and last instruction of each.
    ranges: Vec<(usize, usize)>,
    /// The block of each instruction.
    of: Vec<usize>,
    successors: Vec<Next>,
    predecessors: Vec<Next>,
    /// Reverse post order, and each block's place in it.
    order: Vec<usize>,
    places: Vec<usize>,
    /// The block from which each was found.
    roots: Vec<usize>,
    /// Whether each place is between the start and the end of a loop.
    in_loop: Vec<bool>,
    /// Whether each block is entered by a back edge.
    headers: Vec<bool>,
    /// Whether each block is entered from one whose turn is later, or from itself.
    reentered: Vec<bool>,
}

impl Blocks {
    /// The blocks, given where control may go from each instruction.
    pub fn new(body: &[Instruction], next: &[Next]) -> Option<Self> {
        let first = leaders(body, next)?;
        let starts: Vec<usize> = (0..body.len()).filter(|&i| first[i]).collect();
        let ends = starts.iter().skip(1).map(|start| start - 1).chain(body.len().checked_sub(1));
        let ranges: Vec<(usize, usize)> = starts.iter().copied().zip(ends).collect();
        let mut of = vec![0; body.len()];
        for (block, &(start, end)) in ranges.iter().enumerate() {
            of[start..=end].fill(block);
        }
        let mut successors = Vec::with_capacity(ranges.len());
        let mut predecessors = vec![Next::new(); ranges.len()];
        // Where control goes from each, but for warps that have split; the first is visited first.
        let mut visited: Vec<Next> = Vec::with_capacity(ranges.len());
        let is_alone = !body.iter().any(|i| i.leaves_function());
        for (block, &(_, end)) in ranges.iter().enumerate() {
            let mut list: Next = next.get(end)?.iter().map(|&i| of[i]).collect();
            list.sort_by_key(|&s| (s != block + 1, s));
            list.dedup();
            for &s in &list {
                predecessors[s].push(block);
            }
            // Code for warps that have split comes last if nothing is called.
            let splits = is_alone && body.get(end)?.branches_if_split();
            let mut turns: Next =
                list.iter().copied().filter(|&s| !splits || s == block + 1).collect();
            turns.sort_by_key(|&s| bucket(s));
            visited.push(turns);
            successors.push(list);
        }
        let (order, roots) = reverse_post_order(&visited);
        let mut places = vec![0; ranges.len()];
        for (place, &block) in order.iter().enumerate() {
            places[block] = place;
        }
        let late = |block: usize, list: &Next| list.iter().any(|&p| places[p] >= places[block]);
        let reentered = predecessors.iter().enumerate().map(|(block, p)| late(block, p)).collect();
        let mut out = Self {
            ranges,
            of,
            successors,
            predecessors,
            order,
            places,
            roots,
            in_loop: Vec::new(),
            headers: Vec::new(),
            reentered,
        };
        (out.in_loop, out.headers) = out.loops();
        Some(out)
    }

    /// Whether each place in the order is between the start and the end of a loop, and whether each block starts one.
    fn loops(&self) -> (Vec<bool>, Vec<bool>) {
        let mut last = vec![0; self.count()];
        let mut headers = vec![false; self.count()];
        for (block, predecessors) in self.predecessors.iter().enumerate() {
            let ends = predecessors.iter().filter(|&&p| self.is_back(p, block));
            last[self.places[block]] = ends.map(|&p| self.places[p] + 1).max().unwrap_or(0);
            headers[block] = last[self.places[block]] != 0;
        }
        let mut end = 0;
        let place = |(place, &last): (usize, &usize)| {
            end = last.max(end);
            place < end
        };
        (last.iter().enumerate().map(place).collect(), headers)
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
        self.headers[block]
    }

    /// Whether a block is entered from one whose turn is later, or from itself.
    pub fn is_reentered(&self, block: usize) -> bool {
        self.reentered[block]
    }

    /// Whether control may go from a block to one whose turn is earlier, or to itself.
    pub fn goes_back(&self, block: usize) -> bool {
        self.successors[block].iter().any(|&s| self.places[s] <= self.places[block])
    }

    /// Whether an edge between blocks closes a loop. Code for warps that have split comes last and goes back to the
    /// others, but is no part of one (`split_warps_close_no_loop`).
    fn is_back(&self, from: usize, to: usize) -> bool {
        self.places[from] >= self.places[to] && self.roots[from] == self.roots[to]
    }

    /// Whether a block comes between the first block of a loop and its end, in the order of allocation.
    pub fn is_in_loop(&self, block: usize) -> bool {
        self.in_loop.get(self.places[block]).copied().unwrap_or(false)
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
}

/// Whether each instruction is the first of a block.
fn leaders(body: &[Instruction], next: &[Next]) -> Option<Vec<bool>> {
    let mut first = vec![false; body.len() + 1];
    *first.first_mut()? = true;
    for (i, instruction) in body.iter().enumerate() {
        let operation = instruction.operation();
        let calls = operation == CALL;
        if calls || operation == LEPC || instruction.sleeps_for_barrier() {
            *first.get_mut(i)? = true;
        }
        let ends = ENDS.contains(&operation) || operation == UNIFORM_JUMP || calls;
        if ends || instruction.is_collective() {
            *first.get_mut(i + 1)? = true;
            for &j in next.get(i)? {
                *first.get_mut(j)? = true;
            }
        }
    }
    for (i, instruction) in body.iter().enumerate().filter(|(_, i)| i.operation() == BSSY) {
        let Flow::To(target) = instruction.flow((i * Instruction::SIZE) as i64) else { continue };
        let Ok(target) = usize::try_from(target) else { continue };
        let target = target / Instruction::SIZE;
        // A NOP that branches pass over delays the block before.
        let is_entered = first.get(target) == Some(&true);
        let start = if is_entered { target } else { before_delay(body, target) };
        if let Some(at) = first.get_mut(start) {
            *at = true;
        }
    }
    Some(first)
}

/// Where the block of a BSYNC starts: the NOP that delays it since 13.2 is no block of its own, and
/// the numbers of blocks count it with the BSYNC. (`jump-tables-in-a-row`)
fn before_delay(body: &[Instruction], at: usize) -> usize {
    let operation = |i: usize| body.get(i).map(|i| i.operation());
    match at.checked_sub(1) {
        Some(delay)
            if operation(at) == Some(Instruction::BSYNC) && operation(delay) == Some(NOP) =>
        {
            delay
        }
        _ => at,
    }
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

fn reverse_post_order(successors: &[Next]) -> (Vec<usize>, Vec<usize>) {
    let mut seen = vec![false; successors.len()];
    let mut order = Vec::new();
    let mut roots = vec![0; successors.len()];
    for root in 0..successors.len() {
        if seen[root] {
            continue;
        }
        seen[root] = true;
        let mut post = Vec::new();
        let mut stack = vec![(root, 0)];
        while let Some((block, tried)) = stack.pop() {
            roots[block] = root;
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
    (order, roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `BRA.DIV 3; NOP; EXIT; 3: BRA 1`: no loop, although the last block leads back to one before it.
    #[test]
    fn code_of_split_warps_makes_no_loop() {
        const SPLITS: u128 = 0x000f_ea00_0b80_0000_0000_0000_0008_7947 | 1 << 91;
        const BACK: u128 = 0x000f_ea00_0383_ffff_ffff_fffc_00f4_7947;
        const EXIT: u128 = 0x000f_ea00_0380_0000_0000_0000_0000_794d;
        let body = [SPLITS, Instruction::NOP.0, EXIT, BACK].map(Instruction);
        let next = [&[1, 3][..], &[2], &[], &[1]].map(Next::from_slice);
        let blocks = Blocks::new(&body, &next).unwrap();
        assert_eq!((blocks.count(), blocks.place(3)), (3, 2), "the last in every order");
        assert!(!blocks.is_header(1) && !blocks.precedes_loop(0));
    }

    /// The same with RET: in functions that are called or call others, split warps come before what they lead to.
    #[test]
    fn code_of_split_warps_has_its_place_in_functions() {
        const SPLITS: u128 = 0x000f_ea00_0b80_0000_0000_0000_0008_7947 | 1 << 91;
        const BACK: u128 = 0x000f_ea00_0383_ffff_ffff_fffc_00f4_7947;
        const RETURN: u128 = 0x000f_ec00_03e0_0000_0000_0000_1400_7950;
        let body = [SPLITS, Instruction::NOP.0, RETURN, BACK].map(Instruction);
        let next = [&[1, 3][..], &[2], &[], &[1]].map(Next::from_slice);
        let blocks = Blocks::new(&body, &next).unwrap();
        assert_eq!((blocks.place(3), blocks.place(1)), (1, 2));
        assert!(!blocks.is_header(1));
    }

    /// `BSSY 4; @P0 BRA 4; BREAK; NOP; 4: BSYNC`: the branch passes over the NOP, which is no start of a block then.
    #[test]
    fn delays_that_branches_pass_over_belong_to_the_block_before() {
        const REGION: u128 = 0x000f_e200_0380_0200_0000_0040_0006_7945;
        const BRANCH: u128 = 0x000f_ea00_0380_0000_0000_0000_0008_0947;
        const BREAK: u128 = 0x000f_ea00_0380_0000_0000_0000_0000_7942;
        const MEET: u128 = 0x000f_ea00_0380_0200_0000_0000_0006_7941;
        const EXIT: u128 = 0x000f_ea00_0380_0000_0000_0000_0000_794d;
        let starts = |branches: bool| {
            let branch = if branches { BRANCH } else { Instruction::NOP.0 };
            let body = [REGION, branch, BREAK, Instruction::NOP.0, MEET, EXIT].map(Instruction);
            let to = if branches { &[4, 2][..] } else { &[2] };
            let next = [&[1], to, &[3], &[4], &[5], &[]].map(Next::from_slice);
            let blocks = Blocks::new(&body, &next).unwrap();
            (0..blocks.count()).map(|block| blocks.range(block).0).collect::<Vec<_>>()
        };
        assert_eq!(starts(true), [0, 2, 4, 5]);
        assert_eq!(starts(false), [0, 3, 5]);
    }
}
