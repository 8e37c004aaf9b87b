//! Whole files: reading, checking, classifying, and writing what was read.
#![no_main]

use cubin::flags::Identity;
use cubin::model::Image;
use cubin::{Cubin, classify, validate::validate};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let valid = validate(data).is_ok();
    let Ok(cubin) = Cubin::parse(data) else {
        assert!(!valid, "a valid file must be readable");
        return;
    };
    let _ = Identity::of(&cubin);
    for symbol in cubin.symbols() {
        let _ = classify::symbol(&cubin, &symbol);
    }
    for section in cubin.sections() {
        let _ = classify::section(&section);
        let _ = cubin.relocs(&section);
    }
    if let Ok(image) = Image::from_cubin(&cubin) {
        if let Ok(written) = image.to_bytes() {
            assert_eq!(image.serialized_size().unwrap(), written.len() as u64);
            assert!(written == data, "writing must give the same bytes");
        }
    }
});
