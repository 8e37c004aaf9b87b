//! What a link costs inside of a process, alone and on a pool of the caller's:
//!
//!     cargo run --release -p libwarpld --example in_process -- sm_90 a.cubin b.cubin

use libwarpld::{Config, Error, Input, link};
use std::time::{Duration, Instant};

const LINKS: usize = 2_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let arch = args.next().ok_or("usage: in_process ARCH FILE...")?.parse()?;
    let files: Vec<String> = args.collect();
    let mut inputs = Vec::new();
    for file in &files {
        inputs.push(Input::new(file.as_str(), std::fs::read(file)?));
    }
    let config = Config::builder(arch).build();
    let times = |what: &str| -> Result<(), Error> {
        let mut times = Vec::with_capacity(LINKS);
        for _ in 0..LINKS {
            let start = Instant::now();
            let output = link(&inputs, &config)?;
            times.push(start.elapsed());
            assert!(!output.cubin.is_empty());
        }
        times.sort_unstable();
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        println!("{what}: {:.0} µs, at best {:.0} µs", micros(times[LINKS / 2]), micros(times[0]));
        Ok(())
    };
    times("a link by itself")?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    pool.install(|| times("on a pool of one thread"))?;
    Ok(())
}
