//! Which images a link for a target would take, and what finding them costs:
//!
//!     cargo run --release --example select -- sm_90 a.o libb.a

use libwarpld::Config;
use libwarpld::driver::{Diagnostics, SelectOptions};
use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Instant;
use warpld::files::{Files, LoadRequest};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let arch = args.next().ok_or("usage: select ARCH FILE...")?.parse()?;
    let files: Vec<PathBuf> = args.map(PathBuf::from).collect();
    let mut mapped = 0;
    for file in &files {
        mapped += std::fs::metadata(file)?.len();
    }
    let start = Instant::now();
    let files = Files::open(&LoadRequest { files, ..LoadRequest::default() });
    let loaded = files.scan();
    let scanned = start.elapsed();
    let mut diagnostics = Diagnostics::default();
    let selected =
        loaded.select(&SelectOptions::of(&Config::builder(arch).build()), &mut diagnostics);
    let selected_after = start.elapsed();
    for message in diagnostics.as_slice() {
        eprintln!("{}", message.message);
    }
    let images = selected?.inputs.images;
    let unpacked: usize = images
        .iter()
        .map(|input| match &input.image {
            Cow::Owned(bytes) => bytes.len(),
            Cow::Borrowed(_) => 0,
        })
        .sum();
    println!(
        "{} images, {mapped} bytes mapped, {unpacked} unpacked; scan {:.2} ms, select {:.2} ms",
        images.len(),
        scanned.as_secs_f64() * 1e3,
        (selected_after - scanned).as_secs_f64() * 1e3,
    );
    Ok(())
}
