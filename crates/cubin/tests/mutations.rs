//! Any byte string is safe input: damaged real files never panic, hang, or
//! make the reader allocate out of proportion, and whatever can still be
//! modelled comes back byte for byte.
//!
//! One test only: it measures what its process allocates.
#![allow(unsafe_code)]

use cubin::capsule::Capsule;
use cubin::classify;
use cubin::flags::Identity;
use cubin::model::Image;
use cubin::relaction::RelActions;
use cubin::validate::validate;
use cubin::{Cubin, callgraph, info, note};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use support::{Random, fixtures, mutate};

/// Counts what is allocated at once.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Inputs in all; the issue is breadth, so they are spread over all fixtures.
const INPUTS: u64 = 100_000;

#[test]
fn damaged_files_are_harmless() {
    let fixtures = fixtures();
    let (mut readable, mut modelled) = (0_u64, 0_u64);
    let mut slowest = Duration::ZERO;
    for seed in 0..INPUTS {
        let (path, original) = &fixtures[(seed % fixtures.len() as u64) as usize];
        let bytes = mutate(original, &mut Random::new(seed));
        PEAK.store(NOW.load(Relaxed), Relaxed);
        let before = NOW.load(Relaxed);
        let start = Instant::now();
        let outcome = exercise(&bytes);
        slowest = slowest.max(start.elapsed());
        let peak = PEAK.load(Relaxed) - before;
        let most = 24 * bytes.len() + (64 << 10);
        assert!(peak <= most, "{} seed {seed}: {peak} bytes allocated", path.display());
        readable += u64::from(outcome.readable);
        if let Some(differs) = outcome.round_trip {
            modelled += 1;
            assert_eq!(differs, None, "{} seed {seed}", path.display());
        }
    }
    assert!(slowest < Duration::from_secs(5), "one input took {slowest:?}");
    // The damage must neither miss everything nor kill everything at once.
    assert!(readable > INPUTS / 4 && readable < INPUTS, "{readable} readable");
    assert!(modelled > INPUTS / 8, "{modelled} modelled");
    println!("{INPUTS} inputs: {readable} readable, {modelled} modelled, slowest {slowest:?}");
}

struct Outcome {
    readable: bool,
    /// Where the model's bytes first differ, if there was a model.
    round_trip: Option<Option<usize>>,
}

/// Runs everything that reads on one input.
fn exercise(bytes: &[u8]) -> Outcome {
    let _ = cubin::identify(bytes);
    if let Err(violation) = validate(bytes) {
        assert!(!violation.to_string().is_empty());
    }
    let Ok(cubin) = Cubin::parse(bytes) else {
        return Outcome { readable: false, round_trip: None };
    };
    let _ = Identity::of(&cubin);
    let mut sum = 0;
    for symbol in cubin.symbols() {
        let _ = classify::symbol(&cubin, &symbol);
        sum += symbol.name.len();
    }
    for section in cubin.sections() {
        let _ = classify::section(&section);
        let _ = cubin.relocs(&section);
        sum += info::records(section.data).filter_map(Result::ok).map(|r| r.size()).sum::<usize>();
        sum += note::notes(section.data).filter_map(Result::ok).count();
        if let Ok(entries) = callgraph::entries(section.data) {
            sum += entries.count();
        }
        let _ = RelActions::parse(section.data);
        if let Ok(capsule) = Capsule::parse(section.data) {
            assert_eq!(capsule.to_bytes(), section.data);
        }
    }
    std::hint::black_box(sum);
    let image = Image::from_cubin(&cubin);
    Outcome {
        readable: true,
        round_trip: image.ok().and_then(|i| i.to_bytes().ok()).map(|written| {
            let differs = written.iter().zip(bytes).position(|(a, b)| a != b);
            differs.or((written.len() != bytes.len()).then_some(written.len()))
        }),
    }
}
