//! Stall counts: results of fixed latency must be given as many cycles as in the input.

use super::flow::Flow;
use super::listing::{Function, Instruction};
use super::operations;
use super::registers::{File, Registers};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

/// Cycles after which every result of fixed latency is there.
pub const LONGEST: u32 = 40;

/// Cycles after which a result of this operation is there: where more lie between, some may go (with
/// a fence that is removed). A predicate takes 13 until it can guard, a register of the vector file
/// 13 until it can be used as a uniform one; what takes longer is listed.
fn longest(instruction: &Instruction) -> u32 {
    match instruction.operation() {
        name if name.ends_with("MMA") => LONGEST,
        "DADD" | "DMUL" | "DFMA" | "DSETP" | "UF2I" | "UFRND" | "UI2F" | "UF2F" => LONGEST,
        _ => 13,
    }
}

/// Cycles that are enough between a result and an instruction that depends on it, where the input
/// has more. Compilers put 6 between integer arithmetic in uniform registers and in general ones, and
/// no more than 5 between integer sums in general ones; the finalizer takes away what is over.
pub fn enough(producer: &Instruction, consumer: &Instruction) -> u32 {
    let sums = ["UIADD3", "UIMAD", "ULEA", "ULOP3", "USEL", "USHF"];
    let users = ["IADD", "IADD3", "IMAD", "ISETP", "LOP3", "MOV"];
    let shared = producer.writes & (consumer.reads | consumer.writes);
    let is_sum = |i: &Instruction| match i.operation() {
        "IADD" => !i.has("64"),
        name => matches!(name, "IADD3" | "ISETP"),
    };
    if is_sum(producer) && is_sum(consumer) && shared == shared.of(File::General) {
        return 6;
    }
    if sums.contains(&producer.operation())
        && users.contains(&consumer.operation())
        && shared == shared.of(File::Uniform)
    {
        return 6;
    }
    longest(producer)
}

/// Pairs of a producer of fixed latency and an instruction that depends on it, with the fewest
/// cycles between them on any path. Only those fewer than [`LONGEST`] apart.
pub type Distances = BTreeMap<(usize, usize), u32>;

/// The pairs of a function.
pub fn distances(function: &Function, flow: &Flow, sm: u16) -> Distances {
    let mut all = Distances::new();
    for (at, instruction) in function.code.iter().enumerate() {
        let results = operations::fixed_results(instruction, sm);
        if !results.is_empty() {
            Search { function, flow, producer: at }.run(results, &mut all);
        }
    }
    all
}

struct Search<'a> {
    function: &'a Function,
    flow: &'a Flow,
    producer: usize,
}

impl Search<'_> {
    /// Goes forward along all paths, nearest instructions first.
    fn run(&self, results: Registers, found: &mut Distances) {
        let code = &self.function.code;
        let mut seen: HashMap<usize, Registers> = HashMap::new();
        let mut left: Vec<Registers> = vec![results];
        let mut queue = BinaryHeap::new();
        let step = |at: usize| u32::from(code[at].stall());
        for &next in &self.flow.next[self.producer] {
            queue.push(Reverse((step(self.producer), next, 0)));
        }
        while let Some(Reverse((cycles, at, set))) = queue.pop() {
            let live = left[set];
            let known = seen.entry(at).or_default();
            if cycles >= LONGEST || live.without(known).is_empty() {
                continue;
            }
            *known |= live;
            let instruction = &code[at];
            if live.meets(&(instruction.reads | instruction.writes)) {
                found.entry((self.producer, at)).or_insert(cycles);
            }
            let rest =
                if instruction.is_guarded() { live } else { live.without(&instruction.writes) };
            if rest.is_empty() {
                continue;
            }
            left.push(rest);
            for &next in &self.flow.next[at] {
                queue.push(Reverse((cycles + step(at), next, left.len() - 1)));
            }
        }
    }
}

/// A pair that is closer than it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooClose {
    /// Whose result it is.
    pub producer: usize,
    /// What depends on it.
    pub consumer: usize,
    /// Cycles in the output.
    pub cycles: u32,
    /// Cycles in the input.
    pub before: u32,
}

/// The pairs of `output` that have fewer cycles than those of `input`. `origin` tells which
/// instruction of the input each one of the output is. Also the number of pairs compared.
pub fn compare(
    code: &[Instruction],
    output: &Distances,
    input: &Distances,
    origin: &[Option<usize>],
) -> (Vec<TooClose>, usize) {
    let mut compared = 0;
    let mut close = Vec::new();
    for (&(producer, consumer), &cycles) in output {
        let (Some(from), Some(to)) = (origin[producer], origin[consumer]) else { continue };
        compared += 1;
        let before = input.get(&(from, to)).copied().unwrap_or(LONGEST);
        if cycles < before.min(enough(&code[producer], &code[consumer])) {
            close.push(TooClose { producer, consumer, cycles, before });
        }
    }
    (close, compared)
}

/// Which instruction of `input` each one of `output` is, by operation and registers: the longest
/// common subsequence.
pub fn origins(output: &[Instruction], input: &[Instruction]) -> Vec<Option<usize>> {
    let same = |a: &Instruction, b: &Instruction| {
        a.name() == b.name() && a.writes == b.writes && a.reads == b.reads && a.guard == b.guard
    };
    let head = output.iter().zip(input).take_while(|(a, b)| same(a, b)).count();
    let tail = output[head..]
        .iter()
        .rev()
        .zip(input[head..].iter().rev())
        .take_while(|(a, b)| same(a, b))
        .count();
    let mut origin: Vec<Option<usize>> =
        (0..output.len()).map(|at| (at < head).then_some(at)).collect();
    for back in 1..=tail {
        origin[output.len() - back] = Some(input.len() - back);
    }
    let (a, b) = (&output[head..output.len() - tail], &input[head..input.len() - tail]);
    let width = b.len() + 1;
    let mut lengths = vec![0_u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            lengths[i * width + j] = if same(&a[i], &b[j]) {
                lengths[(i + 1) * width + j + 1] + 1
            } else {
                lengths[(i + 1) * width + j].max(lengths[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        if same(&a[i], &b[j]) {
            origin[head + i] = Some(head + j);
            (i, j) = (i + 1, j + 1);
        } else if lengths[(i + 1) * width + j] >= lengths[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    origin
}
