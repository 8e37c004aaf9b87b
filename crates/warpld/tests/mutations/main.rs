//! Whole links of damaged objects: none may panic, hang, or allocate out of
//! proportion, whatever the bytes. What comes of whole ones stands up to the
//! verifier.
//!
//! `WARPLD_MUTATIONS=N` sets the number of seeds, `WARPLD_MUTATION_SEED=N` the
//! first; one that fails says so and can be run alone. Every fourth seed also
//! makes a link of containers, which are read from files.
//!
//! One test only: it measures what its process allocates.
#![allow(unsafe_code)]

mod containers;
mod families;
mod line_tables;
mod structure;

use cubin::Arch;
use families::{Family, RELEASES, families};
use libwarpld::driver::{Diagnostics, Inputs, LinkInput, Memory, link_images, verify};
use libwarpld::report::{self, LinkReport};
use libwarpld::{Config, ConfigBuilder, Error};
use std::alloc::{GlobalAlloc, Layout, System};
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use support::{Random, mutate};
use warpld::render::{Format, Renderer};

/// Counts what is allocated at once.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let pointer = unsafe { System.alloc(layout) };
        if !pointer.is_null() {
            let now = NOW.fetch_add(layout.size(), Relaxed).wrapping_add(layout.size());
            PEAK.fetch_max(now, Relaxed);
        }
        pointer
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Links in an ordinary test run.
const LINKS: u64 = 4_000;

/// More than this for inputs of some 50 KB is out of proportion.
const MOST_MEMORY: usize = 96 << 20;

/// More than this is a hang.
const LONGEST: Duration = Duration::from_secs(5);

/// One link, made from a seed.
struct Case {
    inputs: Inputs<'static>,
    config: Config,
    report: bool,
}

impl Case {
    fn new(seed: u64, families: &[Family]) -> Self {
        let mut random = Random::new(seed);
        for _ in 0..4 {
            random.number();
        }
        let family = &families[random.below(families.len())];
        let (count, start) = (1 + random.below(3), random.number() as usize % 64);
        let images = (0..count).map(|i| {
            let original = family.member(start + i, &mut random);
            let image = match random.below(8) {
                0 if i > 0 => original.to_vec(),
                1 => mutate(original, &mut random),
                _ => structure::mutate(original, &mut random),
            };
            LinkInput {
                system_library: random.below(32) == 0,
                ..LinkInput::new(format!("{i}.o"), Cow::Owned(image))
            }
        });
        let inputs = Inputs { images: images.collect(), ..Inputs::default() };
        let index = family.index(&mut random);
        let mut one_in = |of: usize| random.below(of) == 0;
        // The order is that of earlier seeds.
        let mut config = Config::builder(family.arch)
            .relocatable(one_in(6))
            .debug(one_in(8))
            .preserve_relocs(one_in(8))
            .force_rela(one_in(12))
            .suppress_debug_info(one_in(16));
        let report = one_in(8);
        config = config
            .report(report)
            .reserve_null_pointer(one_in(16))
            .disable_smem_reservation(one_in(16))
            .extended_smem(one_in(16))
            .extra_warnings(one_in(16))
            .allow_undefined_globals(one_in(8));
        if one_in(16) {
            config = config.kernels_used(["a"]);
        }
        if one_in(16) {
            config = config.variables_used(["a"]);
        }
        config = config.rescoreboard(one_in(4)).self_check(one_in(8));
        if let Some(index) = index {
            config = config.uidx(index);
        }
        config = config.release(RELEASES[random.below(RELEASES.len())]);
        Self { inputs, config: config.build(), report }
    }

    fn link(&self, diagnostics: &mut Diagnostics) -> Result<Option<Vec<u8>>, Error> {
        let mut image = Vec::new();
        let linked =
            link_images(&self.inputs, &self.config, diagnostics, &mut image, Memory::Freed)?;
        if self.report {
            tell(self.config.arch(), &linked.report);
        }
        Ok(linked.complete.then_some(image))
    }
}

/// All that a report can be asked.
fn tell(arch: Arch, report: &LinkReport) {
    let mut size = report::map_text(report).len() + report::map_json(report).len();
    size += report::dot_text(&report.callgraph).len() + report::resources_text(report).len();
    size += report::dump_text(arch.number, report, true).len() + report.verbose().len();
    if let Some(function) = report.callgraph.last() {
        size += report::why_live(report, &function.name).len();
        size += report::why_dead(report, &function.name).len();
    }
    assert!(size > 0, "nothing to say");
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// What became of all links.
#[derive(Default)]
struct Tally {
    linked: u64,
    refused: u64,
    failures: Vec<String>,
}

impl Tally {
    /// Makes one link and watches it.
    fn watch(
        &mut self,
        what: &str,
        link: impl FnOnce(&mut Diagnostics) -> Result<Option<Vec<u8>>, Error>,
    ) {
        let before = NOW.load(Relaxed);
        PEAK.store(before, Relaxed);
        let start = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut diagnostics = Diagnostics::default();
            let image = link(&mut diagnostics).unwrap_or_else(|error| {
                diagnostics = error.into();
                None
            });
            let renderer = Renderer { format: Format::Json, ..Renderer::default() };
            for diagnostic in diagnostics.as_slice() {
                assert!(renderer.render(diagnostic, true).is_some(), "not said");
            }
            // Silence is no refusal.
            assert!(image.is_some() || diagnostics.failed(), "no output and no reason");
            image
        }));
        match outcome {
            Ok(Some(_)) => self.linked += 1,
            Ok(None) => self.refused += 1,
            Err(_) => self.failures.push(format!("{what}: panic")),
        }
        let peak = PEAK.load(Relaxed).saturating_sub(before);
        if peak > MOST_MEMORY {
            self.failures.push(format!("{what}: {peak} bytes allocated"));
        }
        if start.elapsed() > LONGEST {
            self.failures.push(format!("{what}: took {:?}", start.elapsed()));
        }
    }

    fn total(&self) -> u64 {
        self.linked + self.refused
    }

    fn print(&self, what: &str) {
        println!("{} links {what}: {} linked, {} refused", self.total(), self.linked, self.refused);
    }

    /// Nothing failed, and the damage neither missed everything nor stopped
    /// everything early.
    fn check(&self) {
        let failures = self.failures.join("\n");
        assert!(failures.is_empty(), "{} failures:\n{failures}", self.failures.len());
        if self.total() >= LINKS / 4 {
            let few = self.total() / 20;
            assert!(self.linked > few, "{} linked", self.linked);
            assert!(self.refused > few, "{} refused", self.refused);
        }
    }
}

#[test]
fn damaged_objects_are_linked_or_refused() {
    let families = families();
    intact_objects_stand_up_to_the_verifier(&families);
    line_tables::take_memory_in_proportion();
    let folder = containers::Folder::new();
    let first = number("WARPLD_MUTATION_SEED", 1);
    let seeds = number("WARPLD_MUTATIONS", LINKS);
    let (mut objects, mut contained) = (Tally::default(), Tally::default());
    for seed in first..first + seeds {
        let case = Case::new(seed, &families);
        objects.watch(&format!("seed {seed}"), |diagnostics| case.link(diagnostics));
        if seed % 4 == 0 {
            let case = containers::Case::new(seed, &families, &folder);
            let what = format!("seed {seed}, containers");
            contained.watch(&what, |diagnostics| case.link(diagnostics));
        }
    }
    objects.print(&format!("of objects from seed {first}"));
    contained.print(&format!("of containers from seed {first}"));
    objects.check();
    contained.check();
}

/// What is asked of a link; the first one asks for nothing.
const MODES: [fn(ConfigBuilder) -> ConfigBuilder; 4] = [
    |plain| plain,
    |config| config.relocatable(true),
    |config| config.debug(true),
    |config| config.preserve_relocs(true),
];

fn intact_objects_stand_up_to_the_verifier(families: &[Family]) {
    for release in RELEASES {
        let mut verified = [0; MODES.len()];
        for family in families {
            let before = verified[0];
            for (mode, verified) in MODES.iter().zip(&mut verified) {
                let mut config = mode(Config::builder(family.arch)).release(release);
                if let Some(uidx) = &family.uidx {
                    config = config.uidx(uidx.clone());
                }
                let config = config.build();
                *verified += family.members.iter().filter(|m| is_linked(m, &config)).count();
            }
            let arch = family.arch;
            assert!(verified[0] > before, "nothing of a family of {arch} can be linked alone");
        }
        let version = release.version;
        assert!(verified.iter().all(|count| *count > 10), "{version}: {verified:?} outputs");
    }
}

/// Whether an object can be linked alone; the output must stand up to the verifier then.
fn is_linked(image: &[u8], config: &Config) -> bool {
    let input = LinkInput::new("a.o".into(), Cow::Borrowed(image));
    let inputs = Inputs { images: vec![input], ..Inputs::default() };
    let (mut image, mut diagnostics) = (Vec::new(), Diagnostics::default());
    let output = link_images(&inputs, config, &mut diagnostics, &mut image, Memory::Freed);
    let linked = output.is_ok_and(|output| output.complete);
    if linked {
        assert_eq!(verify(&image, config), Ok(()), "{config:?}");
    }
    linked
}
