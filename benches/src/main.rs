//! One command measures warpld against nvlink on programs made here.
//!
//! `bench --toolkit DIR --warpld FILE [--work DIR] [--quick] [--only NAME]
//! [--growth] [--without-nvlink] [--repeat N] [--json FILE] [--nccl libnccl.so.2]
//! [--nvshmem libnvshmem_device.a] [--threads 1,2,4]` prints a table, or with `--threads` one of warpld's times
//! on so many threads; `bench --list` names the corpora. Both linkers run alternately on the same files, each at least three
//! times, and the best run counts.

mod corpus;
mod host;
mod measure;
mod ptx;
mod report;
mod scaling;
mod template;
mod unlike;

use corpus::{Corpus, Maker};
use measure::Usage;
use report::Row;
use scaling::Scaling;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Where the tools are and what to run.
struct Request {
    toolkit: PathBuf,
    warpld: PathBuf,
    work: PathBuf,
    only: Vec<String>,
    quick: bool,
    repeat: usize,
    /// Corpora that show growth, with warpld alone.
    growth: bool,
    without_nvlink: bool,
    nccl: Option<PathBuf>,
    nvshmem: Option<PathBuf>,
    /// Measure warpld alone with these numbers of threads.
    threads: Vec<usize>,
    json: Option<PathBuf>,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("bench: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<(), String> {
    if args.first().is_some_and(|word| word == measure::CHILD) {
        return measure::child(&args[1..]);
    }
    if args.iter().any(|word| word == "--list") {
        let all = corpus::all(false).into_iter().chain(corpus::growth(false));
        all.for_each(|c| println!("{:<16} {}", c.name, c.what));
        return Ok(());
    }
    let request = parse(args)?;
    let (mut rows, mut scalings) = (Vec::new(), Vec::new());
    let chosen = match request.growth {
        true => corpus::growth(request.quick),
        false => corpus::all(request.quick),
    };
    for corpus in chosen {
        if !request.only.is_empty() && !request.only.iter().any(|name| corpus.name == name) {
            continue;
        }
        if corpus.is_missing(request.nccl.is_some(), request.nvshmem.is_some()) {
            eprintln!("{} left out: its file is not given", corpus.name);
            continue;
        }
        eprintln!("{} ...", corpus.name);
        match request.threads[..] {
            [] => rows.push(compare(&request, &corpus)?),
            _ => scalings.push(scale(&request, &corpus)?),
        }
    }
    if !request.threads.is_empty() {
        print!("{}", scaling::table(&scalings, &request.threads));
        return Ok(());
    }
    print!("{}", report::table(&rows));
    if let Some(path) = &request.json {
        let text = report::json(&rows);
        std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    let wrong: Vec<&str> = rows.iter().filter(|row| !row.is_right()).map(|row| row.name).collect();
    match wrong[..] {
        [] => Ok(()),
        _ => Err(format!("the output is not nvlink's: {}", wrong.join(", "))),
    }
}

fn parse(args: &[String]) -> Result<Request, String> {
    let mut request = Request {
        toolkit: PathBuf::from("/usr/local/cuda"),
        warpld: PathBuf::from("target/release/warpld"),
        work: std::env::temp_dir().join("warpld-bench"),
        only: Vec::new(),
        quick: false,
        repeat: 3,
        growth: false,
        without_nvlink: false,
        nccl: None,
        nvshmem: None,
        threads: Vec::new(),
        json: None,
    };
    let mut args = args.iter();
    while let Some(word) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--toolkit" => request.toolkit = value()?.into(),
            "--warpld" => request.warpld = value()?.into(),
            "--work" => request.work = value()?.into(),
            "--only" => request.only.push(value()?.clone()),
            "--threads" => {
                let counts = value()?.split(',').map(str::parse).collect::<Result<_, _>>();
                request.threads = counts.map_err(|_| "--threads needs numbers: 1,2,4")?;
            }
            "--nccl" => request.nccl = Some(value()?.into()),
            "--nvshmem" => request.nvshmem = Some(value()?.into()),
            "--json" => request.json = Some(value()?.into()),
            "--repeat" => {
                request.repeat = value()?.parse().map_err(|_| "--repeat needs a number")?;
            }
            "--quick" => request.quick = true,
            "--growth" => (request.growth, request.without_nvlink) = (true, true),
            "--without-nvlink" => request.without_nvlink = true,
            _ => return Err(format!("unknown option {word}")),
        }
    }
    let absolute = |path: &Path| std::path::absolute(path).map_err(|e| e.to_string());
    request.warpld = absolute(&request.warpld)?;
    request.work = absolute(&request.work)?;
    request.toolkit = absolute(&request.toolkit)?;
    Ok(request)
}

/// Where the files of a corpus go.
fn folder(request: &Request, corpus: &Corpus) -> PathBuf {
    let size = if request.quick { "quick" } else { "full" };
    request.work.join(format!("{}-{size}", corpus.name))
}

/// The files of a corpus, and the words that link them.
struct Made {
    inputs: Vec<String>,
    words: Vec<String>,
}

fn make(request: &Request, corpus: &Corpus, folder: &Path) -> Result<Made, String> {
    let maker = Maker {
        toolkit: &request.toolkit,
        folder,
        nccl: request.nccl.as_deref(),
        nvshmem: request.nvshmem.as_deref(),
        sm: corpus.sm,
    };
    let inputs = corpus.make(&maker)?;
    let mut words: Vec<String> = vec![format!("-arch=sm_{}", corpus.sm)];
    words.extend(corpus.options.iter().map(|word| word.to_string()));
    words.extend(["-optf".into(), "inputs.txt".into()]);
    std::fs::write(folder.join("inputs.txt"), inputs.join("\n") + "\n")
        .map_err(|e| e.to_string())?;
    Ok(Made { inputs, words })
}

/// Measures warpld with each number of threads.
fn scale(request: &Request, corpus: &Corpus) -> Result<Scaling, String> {
    let folder = folder(request, corpus);
    let words = make(request, corpus, &folder)?.words;
    let Request { warpld, threads, repeat, .. } = request;
    scaling::measure(corpus.name, warpld, &words, &folder, threads, *repeat)
}

fn compare(request: &Request, corpus: &Corpus) -> Result<Row, String> {
    let folder = folder(request, corpus);
    let Made { inputs, words } = make(request, corpus, &folder)?;
    let nvlink = request.toolkit.join("bin/nvlink");
    // The note of a debug link holds the output's name: both write `out`, one
    // after the other, into folders of their own.
    let (mut theirs, mut ours, mut reading) = (None, None, None);
    let output = folder.join("out");
    let mut images = [None, None];
    let best = |best: &mut Option<Usage>, new: Usage| match best {
        Some(old) => old.keep_best(&new),
        None => *best = Some(new),
    };
    for _ in 0..request.repeat.max(1) {
        if !request.without_nvlink {
            let out = ["-o".to_string(), "out".to_string()];
            let _ = std::fs::remove_file(&output);
            let usage = measure::run(&nvlink, words.iter().chain(&out), &folder)?;
            images[0] = std::fs::read(&output).ok();
            best(&mut theirs, usage);
        }
        let mut out = ["--identity=nvlink", "-o", "out"].map(String::from).to_vec();
        if corpus.is_compiled() {
            out.push(format!("--cuda-path={}", request.toolkit.display()));
        }
        let _ = std::fs::remove_file(&output);
        let usage = measure::run(&request.warpld, words.iter().chain(&out), &folder)?;
        images[1] = std::fs::read(&output).ok();
        // What a large link leaves to others is counted too.
        out.push("--no-fork".into());
        let whole = measure::run(&request.warpld, words.iter().chain(&out), &folder)?;
        best(&mut ours, Usage { wall: usage.wall, ..whole });
        best(&mut reading, measure::cat(&folder)?);
    }
    let input_bytes =
        inputs.iter().map(|name| std::fs::metadata(folder.join(name)).map_or(0, |m| m.len())).sum();
    let [theirs_image, ours_image] = images;
    Ok(Row {
        name: corpus.name,
        files: inputs.len(),
        input_bytes,
        output_bytes: ours_image.as_ref().map_or(0, |image| image.len() as u64),
        identical: theirs_image.map(|image| Some(image) == ours_image),
        nvlink: theirs,
        warpld: ours.ok_or("warpld was not run")?,
        cat: reading.ok_or("cat was not run")?,
    })
}
