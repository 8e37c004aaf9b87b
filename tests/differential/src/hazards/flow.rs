//! Where control can go from each instruction of a function.

use super::listing::{Function, Instruction};

/// Successors of every instruction, by index.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// Where control may go.
    pub next: Vec<Vec<usize>>,
    /// First instructions of blocks, in order.
    pub blocks: Vec<usize>,
    /// Jumps whose targets are not known.
    pub unknown: usize,
}

/// Names of labels in an instruction's text: `` `(NAME) ``, or the list of targets of a jump table (which
/// in code that is not linked follows what the jump is relative to, the start of the function).
fn targets<'a>(function: &'a Function, text: &'a str) -> impl Iterator<Item = usize> + 'a {
    let text = text.split_once("BRANCH_TARGETS").map_or(text, |(_, list)| list);
    let ends = |c: char| matches!(c, '(' | ')' | '`' | ',' | '"' | ' ' | '*');
    text.split(ends).filter_map(|word| function.labels.get(word).copied())
}

/// Whether the jump or end may not happen.
fn may_fall_through(instruction: &Instruction) -> bool {
    let operands = instruction.operands();
    let conditional = ["P", "!P", "UP", "!UP", "UR"].iter().any(|&start| {
        operands
            .strip_prefix(start)
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    instruction.is_guarded() || conditional || instruction.has("DIV") || instruction.has("CONV")
}

impl Flow {
    /// The control flow of `function`. Threads that end at BSYNC go on behind it or at the target
    /// of its BSSY; a function called within the section returns behind every call.
    pub fn of(function: &Function) -> Self {
        let code = &function.code;
        let mut flow = Self { next: vec![Vec::new(); code.len()], ..Self::default() };
        let returns = returns(function);
        for (at, instruction) in code.iter().enumerate() {
            let next = &mut flow.next[at];
            let falls = match instruction.operation() {
                "BRA" | "JMP" => {
                    next.extend(targets(function, &instruction.text));
                    may_fall_through(instruction)
                }
                "BRX" | "BRXU" | "JMX" | "JMXU" => {
                    next.extend(targets(function, &instruction.text));
                    flow.unknown += usize::from(next.is_empty());
                    may_fall_through(instruction)
                }
                "EXIT" | "KILL" => may_fall_through(instruction),
                "RET" => {
                    next.extend(&returns);
                    instruction.is_guarded()
                }
                "CALL" => {
                    next.extend(targets(function, &instruction.text));
                    true
                }
                "WARPSYNC" if instruction.has("COLLECTIVE") => {
                    next.extend(targets(function, &instruction.text));
                    true
                }
                _ => true,
            };
            if falls && at + 1 < code.len() {
                next.push(at + 1);
            }
            next.sort_unstable();
            next.dedup();
        }
        flow.find_blocks(function);
        flow
    }

    fn find_blocks(&mut self, function: &Function) {
        let mut first = vec![false; self.next.len()];
        if let Some(entry) = first.first_mut() {
            *entry = true;
        }
        for &at in function.labels.values() {
            first[at] = true;
        }
        for (at, next) in self.next.iter().enumerate() {
            if *next != [at + 1] {
                next.iter().for_each(|&to| first[to] = true);
                if let Some(behind) = first.get_mut(at + 1) {
                    *behind = true;
                }
            }
        }
        self.blocks = (0..first.len()).filter(|&at| first[at]).collect();
    }

    /// The end of the block that starts at number `block`.
    pub fn end(&self, block: usize) -> usize {
        self.blocks.get(block + 1).copied().unwrap_or(self.next.len())
    }

    /// The number of the block that holds an instruction.
    pub fn block_of(&self, at: usize) -> usize {
        self.blocks.partition_point(|&start| start <= at).saturating_sub(1)
    }
}

/// Where functions inside the section return to.
fn returns(function: &Function) -> Vec<usize> {
    let calls = function.code.iter().enumerate().filter(|(_, i)| i.operation() == "CALL");
    calls
        .filter(|(_, call)| targets(function, &call.text).next().is_some())
        .map(|(at, _)| at + 1)
        .filter(|&at| at < function.code.len())
        .collect()
}
