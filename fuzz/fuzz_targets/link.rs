//! A whole link of one input, damaged as the fuzzer likes, with an intact one that has
//! copies of what some inputs define.
//! Half of the damage knows the format: it changes one field of a record.
#![no_main]

#[path = "../../crates/warpld/tests/mutations/families.rs"]
#[allow(dead_code)]
mod families;
#[path = "../../crates/warpld/tests/mutations/structure.rs"]
mod structure;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use libwarpld::driver::{Diagnostics, Inputs, LinkInput, Memory, link_images};
use libwarpld::{Config, Release};
use std::borrow::Cow;

const INTACT: [&[u8]; 2] = [
    include_bytes!("../../tests/fixtures/switch_b.sm_90.cubin"),
    include_bytes!("../../tests/fixtures/scale.sm_90.cubin"),
];
const INTACT_100: [&[u8]; 2] = [
    include_bytes!("../../tests/fixtures/lines_b.sm_100.cubin"),
    include_bytes!("../../tests/fixtures/switch_b.sm_100.cubin"),
];

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut random = support::Random::new(seed.into());
    random.number();
    if size < 66 || random.below(2) == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    if random.below(8) == 0 {
        data[random.below(2)] = random.number() as u8;
    }
    // The first byte holds the options, the second the release. Such damage never changes the size.
    let changed = structure::mutate(&data[2..size], &mut random);
    data[2..size].copy_from_slice(&changed);
    size
});

fuzz_target!(|data: &[u8]| {
    let [flags, release, image @ ..] = data else { return };
    let input = |name: &str, image| LinkInput::new(name.into(), Cow::Borrowed(image));
    let mut images = vec![input("a.o", image)];
    let (arch, intact) = match flags & 2 != 0 {
        true => ("sm_100", INTACT_100),
        false => ("sm_90", INTACT),
    };
    if flags & 1 != 0 {
        images.extend(intact.map(|image| input("b.o", image)));
    }
    let mut config = Config::builder(arch.parse().expect("a target"))
        .relocatable(flags & 4 != 0)
        .debug(flags & 8 != 0)
        .preserve_relocs(flags & 16 != 0)
        .force_rela(flags & 32 != 0)
        .report(flags & 64 != 0)
        .release(&Release::ALL[usize::from(*release) % Release::ALL.len()]);
    if flags & 128 != 0 {
        config = config.uidx(families::index());
    }
    let inputs = Inputs { images, ..Inputs::default() };
    let (mut diagnostics, mut image) = (Diagnostics::default(), Vec::new());
    let config = config.build();
    match link_images(&inputs, &config, &mut diagnostics, &mut image, Memory::Freed) {
        Ok(linked) => assert!(linked.complete || diagnostics.failed(), "no output and no reason"),
        Err(error) => assert!(error.errors().next().is_some(), "no reason"),
    }
});
