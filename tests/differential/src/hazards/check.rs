//! The checks of one function, and what they count.

use super::flow::Flow;
use super::listing::{Function, Instruction};
use super::operations::group;
use super::pairs;
use super::proof::{Count, Fault, Kind, Proof};
use super::seeded::{self, Seeds, Sown, Wanted};
use super::stalls::{self, Distances};
use std::collections::{BTreeMap, HashMap};
use std::ops::AddAssign;

/// A function of an input with what is compared with.
pub struct Original {
    /// The function.
    pub function: Function,
    /// Its results of fixed latency.
    pub distances: Distances,
    sm: u16,
    exact: bool,
}

impl Original {
    /// Prepares a function of an input for `sm`; `exact` if that is the output's target, and not
    /// another of its family.
    pub fn new(function: Function, sm: u16, exact: bool) -> Self {
        let distances = stalls::distances(&function, &Flow::of(&function), sm);
        Self { function, distances, sm, exact }
    }

    /// Takes out the faults that the compiler's own code has; how many.
    fn forgive(&self, origins: &[Option<usize>], faults: &mut Vec<Fault>) -> usize {
        if faults.is_empty() {
            return 0;
        }
        let all = faults.len();
        let own = Proof::new(&self.function, &Flow::of(&self.function), self.sm).faults();
        faults.retain(|fault| {
            let (producer, consumer) = (origins[fault.producer], origins[fault.consumer]);
            !own.iter().any(|own| {
                (Some(own.producer), Some(own.consumer)) == (producer, consumer)
                    && own.kind == fault.kind
                    && fault.registers.without(&own.registers).is_empty()
            })
        });
        all - faults.len()
    }
}

/// Functions of inputs, by name. Static functions of several inputs can have the same.
#[derive(Default)]
pub struct Originals(HashMap<String, Vec<Original>>);

impl Originals {
    /// Adds the functions of an input; for `exact` see [`Original::new`].
    pub fn add(&mut self, functions: Vec<Function>, sm: u16, exact: bool) {
        for function in functions {
            let same = self.0.entry(function.name.clone()).or_default();
            same.push(Original::new(function, sm, exact));
        }
    }

    /// The one that `function` was made of: most of its instructions are that one's. Code for several
    /// targets may differ in stall counts alone.
    pub fn of(&self, function: &Function) -> Option<(&Original, Vec<Option<usize>>)> {
        let known = self.0.get(&function.name)?.iter();
        known
            .map(|original| (original, stalls::origins(&function.code, &original.function.code)))
            .max_by_key(|(original, origins)| (origins.iter().flatten().count(), original.exact))
    }
}

/// Whether a function has no timing at all: nothing that is executed stalls, sets a scoreboard or waits. So does code of
/// `-O0` since 13.3, the compiler's as well as the linker's. There the compiler puts `@!PT LDS RZ, [RZ]` before a MEMBAR,
/// each of one cycle, which the linker takes out.
fn is_untimed(function: &Function) -> bool {
    let is_bare = |i: &Instruction| {
        (i.stall(), i.waits(), i.write_board(), i.read_board()) == (0, 0, None, None)
    };
    function.code.iter().all(|i| i.guard.is_some_and(|guard| guard.is_never()) || is_bare(i))
}

/// Whether a function was compiled with `-O0`: it has no timing, or waits for everything from the start.
fn is_unoptimised(function: &Function) -> bool {
    const MOST: u8 = 15;
    let waits_first = |first: &Instruction| first.stall() == MOST && first.waits() != 0;
    is_untimed(function) || function.code.first().is_some_and(waits_first)
}

/// What is wrong with a function, in words.
pub fn faults(function: &Function, sm: u16, originals: &Originals) -> (Vec<String>, Tally) {
    let original = originals.of(function);
    let is_unoptimised = |(original, _): &(&Original, _)| is_unoptimised(&original.function);
    if is_untimed(function) && original.as_ref().is_some_and(is_unoptimised) {
        return (Vec::new(), Tally { functions: 1, untimed: 1, ..Tally::default() });
    }
    let flow = Flow::of(function);
    let proof = Proof::new(function, &flow, sm);
    let mut tally = Tally { functions: 1, jumps: flow.unknown, ..Tally::default() };
    for instruction in proof.unknown() {
        *tally.unknown.entry(instruction.operation().to_owned()).or_default() += 1;
    }
    tally.pairs = pairs::pairs(&function.code, &flow, &proof).len();
    let (mut faults, doubtful): (Vec<_>, Vec<_>) =
        proof.faults().into_iter().partition(|fault| !fault.doubtful);
    tally.doubtful = doubtful.len();
    if let Some((original, origins)) = &original {
        tally.inherited = original.forgive(origins, &mut faults);
    }
    let mut words: Vec<String> = faults.iter().map(|fault| in_words(function, fault)).collect();
    if let Some((original, origins)) = original {
        let output = stalls::distances(function, &flow, sm);
        let (close, compared) =
            stalls::compare(&function.code, &output, &original.distances, &origins);
        tally.stalls = compared;
        for pair in close {
            let (consumer, producer) =
                (text(function, pair.consumer), text(function, pair.producer));
            let (now, before) = (pair.cycles, pair.before);
            words.push(format!("{consumer} follows {producer} after {now} cycles, not {before}"));
        }
        words.extend(lost_groups(function, &original.function, &origins));
        // Code for another target of the family is compiled again.
        if original.exact {
            words.extend(kept_operands(function, &original.function, &origins));
        }
    }
    tally.rejected = usize::from(!words.is_empty());
    (words, tally)
}

fn text(function: &Function, at: usize) -> String {
    let instruction = &function.code[at];
    format!("{:04x} {}", instruction.offset, instruction.full_text())
}

fn in_words(function: &Function, fault: &Fault) -> String {
    let what = match fault.kind {
        Kind::Write => "the result of",
        Kind::Read => "the operands of",
    };
    let (consumer, producer) = (text(function, fault.consumer), text(function, fault.producer));
    format!("{consumer} does not wait for {what} {producer} ({})", fault.registers)
}

/// Groups of copies that a DEPBAR counted in the input, but does no longer.
fn lost_groups(function: &Function, input: &Function, origins: &[Option<usize>]) -> Vec<String> {
    let before = groups(input);
    let mut lost = Vec::new();
    for ((group, counter), counted) in groups(function) {
        if let (Some(from), Some(to)) = (origins[group], origins[counter])
            && before.get(&(from, to)).is_some_and(|&was| was && !counted)
        {
            let (counter, group) = (text(function, counter), text(function, group));
            lost.push(format!("{counter} no longer counts {group}"));
        }
    }
    lost
}

/// Ends of groups of copies and the DEPBARs of a function, and whether one counts the other. No
/// register tells what depends on a copy, so that the input's pairs must remain.
fn groups(function: &Function) -> BTreeMap<(usize, usize), bool> {
    let code = function.code.iter().enumerate();
    let ends: Vec<_> = code.clone().filter(|(_, i)| group::is_end(i)).collect();
    let counters: Vec<_> = code.filter_map(|(at, i)| Some((at, Count::of(i)?.board))).collect();
    let pairs = ends.iter().flat_map(|(at, end)| {
        counters.iter().map(|&(counter, board)| ((*at, counter), group::board(end) == Some(board)))
    });
    pairs.collect()
}

/// Instructions whose operands stay for the next one although the input's do not. (Not to keep them costs time alone.)
fn kept_operands(function: &Function, input: &Function, origins: &[Option<usize>]) -> Vec<String> {
    let kept = function.code.iter().enumerate().filter(|(_, i)| i.kept() != 0);
    let before = |at: usize| origins[at].map_or(0, |from| input.code[from].kept());
    kept.filter(|&(at, i)| i.kept() & !before(at) != 0)
        .map(|(at, _)| {
            format!("{} keeps operands that the input does not keep", text(function, at))
        })
        .collect()
}

/// Seeds faults into a function that has none; those that are not found, in words.
pub fn seed(
    function: &Function,
    sm: u16,
    seeds: &mut Seeds,
    wanted: &Wanted,
) -> (Vec<String>, Tally) {
    let mut tally = Tally::default();
    let mut words = Vec::new();
    let mut originals = Originals::default();
    originals.add(vec![function.clone()], sm, true);
    for Sown { kind, code, what } in seeds.sow(function, sm, wanted) {
        let changed = Function { code, ..function.clone() };
        let found = !faults(&changed, sm, &originals).0.is_empty();
        let entry = tally.seeded.entry(kind).or_default();
        entry.0 += 1;
        entry.1 += usize::from(found);
        if !found {
            words.push(format!("not found: {kind}: {what}"));
        }
    }
    (words, tally)
}

/// What was proved.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Functions of all outputs.
    pub met: usize,
    /// Different ones that an earlier run has proved.
    pub earlier: usize,
    /// Functions analysed.
    pub functions: usize,
    /// Functions without any timing, of which nothing is to be proved: the input's are code of `-O0`.
    pub untimed: usize,
    /// Functions of which nvdisasm lists a part, so that they are not proved.
    pub unlisted: usize,
    /// Functions with a fault.
    pub rejected: usize,
    /// Pairs of an event of variable latency and what depends on it.
    pub pairs: usize,
    /// Pairs of fixed latency that were compared with the input.
    pub stalls: usize,
    /// Instructions of operations that are not known.
    pub unknown: BTreeMap<String, usize>,
    /// Dependences of these that are not waited for.
    pub doubtful: usize,
    /// Jumps whose targets are not known.
    pub jumps: usize,
    /// Dependences that the compiler's own code does not wait for either.
    pub inherited: usize,
    /// Seeded faults of each kind, and how many of them were found.
    pub seeded: BTreeMap<&'static str, (usize, usize)>,
    /// How many of each kind were wanted; there may be fewer places for some.
    pub wanted: usize,
}

impl AddAssign<&Self> for Tally {
    fn add_assign(&mut self, other: &Self) {
        self.met += other.met;
        self.earlier += other.earlier;
        self.functions += other.functions;
        self.untimed += other.untimed;
        self.unlisted += other.unlisted;
        self.rejected += other.rejected;
        self.pairs += other.pairs;
        self.stalls += other.stalls;
        self.doubtful += other.doubtful;
        self.jumps += other.jumps;
        self.inherited += other.inherited;
        for (name, count) in &other.unknown {
            *self.unknown.entry(name.clone()).or_default() += count;
        }
        for (kind, (sown, found)) in &other.seeded {
            let entry = self.seeded.entry(kind).or_default();
            *entry = (entry.0 + sown, entry.1 + found);
        }
    }
}

impl Tally {
    /// Whether everything was proved and every seeded fault found.
    pub fn is_good(&self) -> bool {
        let all_found = self.seeded.values().all(|(sown, found)| sown == found);
        self.rejected == 0 && all_found
    }

    /// Kinds of faults of which fewer than `wanted` are sown, and how many of them the next function gets.
    pub fn lacking(&self, wanted: usize) -> Wanted {
        let left = |kind| wanted.saturating_sub(self.seeded.get(kind).map_or(0, |(sown, _)| *sown));
        let left = seeded::kinds().map(|kind| (kind, left(kind).min(seeded::most(kind))));
        left.filter(|(_, count)| *count > 0).collect()
    }

    /// Prints the seeded faults by kind, the operations that are not known, and the sums.
    pub fn print(&self) {
        let kinds = seeded::kinds().filter(|_| self.wanted > 0);
        for kind in kinds {
            let (sown, found) = self.seeded.get(kind).copied().unwrap_or_default();
            let few = if sown < self.wanted { "   TOO FEW" } else { "" };
            println!("seeded faults: {kind:<40} {found:>6} of {sown:>6} rejected{few}");
        }
        if !self.unknown.is_empty() {
            println!("operations not known: {:?}", self.unknown);
        }
        if self.unlisted > 0 {
            println!(
                "not run: proofs of {} functions (nvdisasm lists a part of them)",
                self.unlisted
            );
        }
        println!("{self}");
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let add = |(a, b): (usize, usize), (c, d): &(usize, usize)| (a + c, b + d);
        let (sown, found) = self.seeded.values().fold((0, 0), add);
        write!(
            f,
            "{} functions, {} different ones proved before, {} now, {} without timing (-O0), {} rejected; {} pairs and {} stalls proved; {found} of {sown} seeded faults \
             rejected; {} instructions not known ({} pairs), {} jumps; {} faults of the compiler",
            self.met,
            self.earlier,
            self.functions - self.untimed - self.unlisted - self.rejected,
            self.untimed,
            self.rejected,
            self.pairs,
            self.stalls,
            self.unknown.values().sum::<usize>(),
            self.doubtful,
            self.jumps,
            self.inherited
        )
    }
}
