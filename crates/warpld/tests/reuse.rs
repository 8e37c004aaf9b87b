//! Links in which inputs share what they have in common, and the same links without that, come to
//! the same bytes and messages, on any number of threads.

use cubin::consts::sto;
use cubin::{Binding, Cubin, SymbolRef, SymbolType};
use differential::recorded;
use libwarpld::driver::{Diagnostics, Inputs, LinkInput, Memory, link_images};
use libwarpld::{Config, Diagnostic};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::{BTreeMap, BTreeSet};

/// The output, if there is one, and all messages.
type Outcome = (Option<Vec<u8>>, Vec<Diagnostic>);

struct Link {
    name: String,
    arch: String,
    images: Vec<Vec<u8>>,
}

impl Link {
    fn outcome(&self, relocatable: bool, reuse: bool) -> Outcome {
        let config = Config::builder(self.arch.parse().expect("a target"))
            .relocatable(relocatable)
            .extra_warnings(true)
            .reuse(reuse)
            .build();
        let inputs = self.images.iter().enumerate();
        let inputs =
            inputs.map(|(number, image)| LinkInput::new(format!("{number}.o"), image.into()));
        let inputs = Inputs { images: inputs.collect(), host_references: None, release: None };
        let (mut diagnostics, mut output) = (Diagnostics::default(), Vec::new());
        match link_images(&inputs, &config, &mut diagnostics, &mut output, Memory::Freed) {
            Ok(linked) => (linked.complete.then_some(output), diagnostics.into_vec()),
            Err(error) => (None, error.diagnostics().to_vec()),
        }
    }
}

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().expect("threads")
}

/// Makes links with reuse and without, on one thread and on four; returns how many links have an
/// output.
fn compare(links: &[Link]) -> usize {
    let pools = [1, 4].map(pool);
    let (mut linked, mut differ) = (0, Vec::new());
    for link in links {
        for relocatable in [false, true] {
            let expected = pools[0].install(|| link.outcome(relocatable, false));
            linked += usize::from(expected.0.is_some());
            for (pool, reuse) in [(&pools[0], true), (&pools[1], false), (&pools[1], true)] {
                if pool.install(|| link.outcome(relocatable, reuse)) != expected {
                    let (Link { name, arch, .. }, threads) = (link, pool.current_num_threads());
                    differ.push(format!(
                        "{name} {arch}, relocatable: {relocatable}, reuse: {reuse}, {threads} \
                         threads"
                    ));
                }
            }
        }
    }
    assert!(differ.is_empty(), "{} links differ: {differ:#?}", differ.len());
    linked
}

/// Where the names of all symbols begin that a file defines for others.
fn names_seen_by_others(image: &[u8]) -> BTreeSet<usize> {
    let cubin = Cubin::parse(image).expect("an object");
    let symbols = cubin.symbols().filter(|symbol| {
        symbol.binding() != Binding::LOCAL && !symbol.is_undefined() && !symbol.name.is_empty()
    });
    // Names are slices of the file.
    symbols.map(|symbol| symbol.name.as_ptr().addr() - image.as_ptr().addr()).collect()
}

/// The same file with everything behind its header moved.
fn moved(image: &[u8], distance: u64) -> Vec<u8> {
    const OFFSET_OF_TABLE: usize = 40;
    const COUNT: usize = 60;
    const HEADER: usize = 64;
    const OFFSET_OF_SECTION: usize = 24;
    let number = |bytes: &[u8], at: usize| {
        u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
    };
    let mut copy = image[..HEADER].to_vec();
    copy.resize(HEADER + distance as usize, 0);
    copy.extend_from_slice(&image[HEADER..]);
    let table = number(image, OFFSET_OF_TABLE) + distance;
    copy[OFFSET_OF_TABLE..OFFSET_OF_TABLE + 8].copy_from_slice(&table.to_le_bytes());
    let count = u16::from_le_bytes([image[COUNT], image[COUNT + 1]]);
    for section in 1..usize::from(count) {
        let at = table as usize + section * HEADER + OFFSET_OF_SECTION;
        let offset = number(&copy, at) + distance;
        copy[at..at + 8].copy_from_slice(&offset.to_le_bytes());
    }
    copy
}

/// An object followed by copies of it that define other names; some of them have their sections
/// elsewhere in the file.
fn alike(image: &[u8], copies: u8) -> Vec<Vec<u8>> {
    let names = names_seen_by_others(image);
    let copy = |number: u8| {
        let mut copy = image.to_vec();
        // No letter becomes that of another copy, or the end of a name.
        names.iter().for_each(|&at| copy[at] ^= number << 5);
        if (number / 2).is_multiple_of(2) { copy } else { moved(&copy, 128) }
    };
    (0..=copies).map(copy).collect()
}

/// Objects of each target with copies of them, next to each other and in turn.
#[test]
fn fixtures_link_the_same_without_reuse() {
    let mut by_target: BTreeMap<String, Vec<Vec<Vec<u8>>>> = BTreeMap::new();
    for (path, image) in support::fixtures() {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        // Those of old targets are for readers, a variable of `unified` has a namesake, and those
        // for sm_107 have textures, which are refused there.
        let others = ["linked", "exec", "partial", "unified", "sm_50", "sm_70", "sm_107"];
        if others.iter().all(|word| !name.contains(word)) {
            let target = name.split('.').nth(1).expect("a target");
            by_target.entry(target.to_owned()).or_default().push(alike(&image, 6));
        }
    }
    let mut links = Vec::new();
    for (arch, copies) in by_target {
        let turns = 0..copies.iter().map(Vec::len).max().unwrap_or_default();
        let in_turn = turns.flat_map(|turn| copies.iter().map(move |of| of[turn].clone()));
        links.push(Link { name: "in turn".into(), arch: arch.clone(), images: in_turn.collect() });
        links.push(Link { name: "in a row".into(), arch, images: copies.concat() });
    }
    assert!(links.len() >= 10, "{} links", links.len());
    assert_eq!(compare(&links), links.len() * 2);
}

#[test]
fn recorded_cases_link_the_same_without_reuse() {
    let root = support::root();
    let [cases, recorded] =
        ["tests/differential/cases", recorded::FOLDER].map(|folder| root.join(folder));
    let mut links = Vec::new();
    for case in recorded::modules(&cases, &recorded).expect("recordings") {
        let images = case.objects.iter().flat_map(|(_, image)| alike(image, 3)).collect();
        links.push(Link { name: case.case, arch: case.target, images });
    }
    let linked = compare(&links);
    // Some are about conflicts, or need a library.
    assert!(links.len() > 350 && linked > links.len() * 3 / 2, "{linked} of {}", links.len() * 2);
}

/// Places in a symbol: its other bits, its section, its end.
const OTHER: usize = 5;
const SECTION: usize = 6;
const SYMBOL: usize = 24;
/// The section of symbols at fixed addresses.
const FIXED: u16 = 0xfff1;

/// A copy of an object in which a symbol of this kind gets the name of the last variable that the
/// object refers to, and defines it with other bits; nothing if there are no such two.
fn with_namesakes(image: &[u8], first_is: impl Fn(&SymbolRef<'_>) -> bool) -> Option<Vec<u8>> {
    let cubin = Cubin::parse(image).expect("an object");
    let table = cubin.section(cubin.symtab_section()?.0)?;
    let place = |symbol: SymbolRef<'_>| table.offset as usize + SYMBOL * symbol.index.0 as usize;
    let mut seen: Vec<_> = cubin.symbols().filter(|s| s.binding() != Binding::LOCAL).collect();
    let first = place(*seen.iter().find(|symbol| first_is(symbol))?);
    seen.retain(is_reference);
    let second = place(seen.pop()?);
    let mut copy = image.to_vec();
    copy.copy_within(second..second + 4, first);
    copy[first + OTHER] = image[second + OTHER] ^ sto::MANAGED;
    if is_reference(&cubin.symbol(((first - table.offset as usize) / SYMBOL) as u32)?) {
        copy[first + SECTION..][..2].copy_from_slice(&FIXED.to_le_bytes());
    }
    (first != second).then_some(copy)
}

fn is_function(symbol: &SymbolRef<'_>) -> bool {
    symbol.kind() == SymbolType::FUNC && !symbol.is_undefined()
}

fn is_reference(symbol: &SymbolRef<'_>) -> bool {
    symbol.kind() != SymbolType::FUNC && symbol.is_undefined()
}

/// A file that defines what it refers to, otherwise than it does, after one with the same
/// references: both of its symbols are in conflict with what is known.
#[test]
fn conflicts_are_found_with_and_without_reuse() {
    for first_is in [is_function, is_reference] {
        let mut links = Vec::new();
        for (path, image) in support::fixtures() {
            let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
            let is_object = name.ends_with(".sm_90.cubin") && !name.contains("linked");
            let copy = with_namesakes(&image, first_is).filter(|_| is_object);
            links.extend(copy.map(|copy| {
                let images = vec![image.clone(), copy];
                Link { name: name.into(), arch: "sm_90".into(), images }
            }));
        }
        assert!(links.len() >= 10, "{} links", links.len());
        assert_eq!(compare(&links), 0);
    }
}
