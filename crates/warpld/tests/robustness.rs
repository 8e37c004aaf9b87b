//! What a link leaves behind when the machine lets it down, and whether it
//! matters how many threads it uses.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use support::{Program, fixture, stderr};

const WARPLD: Program = support::warpld!();
const OLD: &[u8] = b"what was there before";

/// The same object under other names: the last two letters of every name that
/// is seen from outside are replaced by a number.
fn renamed(image: &[u8], number: usize) -> Vec<u8> {
    let cubin = cubin::Cubin::parse(image).expect("a fixture");
    let symbols = cubin.symtab_section().and_then(|s| cubin.section(s.0)).expect(".symtab");
    let strings = cubin.section(symbols.link).expect(".strtab").offset as usize;
    let mut out = image.to_vec();
    for symbol in cubin.symbols() {
        let foreign = symbol.is_undefined() || symbol.binding() == cubin::Binding::LOCAL;
        if !foreign && symbol.name.len() > 2 {
            let end = strings + symbol.name_offset as usize + symbol.name.len();
            out[end - 2..end].copy_from_slice(format!("{number:02}").as_bytes());
        }
    }
    out
}

/// Writes many objects; the words that link them.
fn inputs(dir: &Path) -> Vec<String> {
    let image = fixture("scale.sm_90.cubin");
    let mut words = vec!["-arch=sm_90".to_string(), "-o".into(), "out".into()];
    for i in 0..60 {
        fs::write(dir.join(format!("{i}.cubin")), renamed(&image, i)).expect("an input");
        words.push(format!("{i}.cubin"));
    }
    words
}

fn link(dir: &Path, words: &[String]) -> Output {
    WARPLD.run(dir, words)
}

/// The output of an undisturbed, verified link.
fn good(dir: &Path, words: &[String]) -> Vec<u8> {
    let verified = [words, &["--verify".to_string()]].concat();
    let output = link(dir, &verified);
    assert!(output.status.success(), "{}", stderr(&output));
    fs::read(dir.join("out")).expect("an output")
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let dir = WARPLD.folder("threads");
    let words = inputs(&dir);
    let expected = good(&dir, &words);
    for threads in [1, 2, 16] {
        let words = [&words[..], &[format!("--threads={threads}")]].concat();
        assert!(link(&dir, &words).status.success());
        assert!(fs::read(dir.join("out")).expect("an output") == expected, "{threads} threads");
    }
}

/// A large link ends before its memory is given back: whoever started it need not wait for
/// what does that, which goes away by itself.
#[test]
#[cfg(target_os = "linux")]
fn the_memory_of_a_large_link_is_given_back_behind_it() {
    let dir = WARPLD.folder("left-behind");
    fs::write(dir.join("part.cubin"), fixture("scale.sm_90.cubin")).expect("an input");
    // Every copy clashes with the first, after all have been read.
    fs::write(dir.join("names"), "part.cubin\n".repeat(10_000)).expect("a list of inputs");
    let words = ["-arch=sm_90", "-o", "out", "-optf", "names"].map(String::from);
    let waits = link(&dir, &[&words[..], &["--no-fork".to_string()]].concat());
    let leaves = link(&dir, &words);
    assert_eq!((waits.status, waits.stderr), (leaves.status, leaves.stderr));
    let is_left = || {
        let processes = fs::read_dir("/proc").expect("processes").flatten();
        processes.filter_map(|p| fs::read_link(p.path().join("cwd")).ok()).any(|cwd| cwd == dir)
    };
    let gone = (0..1000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        !is_left()
    });
    assert!(gone, "a process is left");
}

#[test]
#[cfg(unix)]
fn a_failed_write_leaves_the_old_output() {
    let dir = WARPLD.folder("write");
    let words = inputs(&dir);
    good(&dir, &words);
    let before = fs::read_dir(&dir).expect("a folder").count();
    // A file size limit: the write fails where the signal is ignored, and ends
    // the process where it is not.
    for (trap, cleans_up) in [("trap '' XFSZ;", true), ("", false)] {
        fs::write(dir.join("out"), OLD).expect("an old output");
        let script = format!("{trap} ulimit -c 0; ulimit -f 8; exec \"$0\" \"$@\"");
        let status = Command::new("sh")
            .args(["-c", &script])
            .arg(WARPLD.path())
            .args(&words)
            .current_dir(&dir)
            .stderr(Stdio::null())
            .status()
            .expect("sh runs");
        assert!(!status.success());
        assert_eq!(fs::read(dir.join("out")).expect("an output"), OLD);
        if cleans_up {
            assert_eq!(fs::read_dir(&dir).expect("a folder").count(), before);
        }
    }
}

#[test]
fn a_killed_link_leaves_the_old_output_or_the_new_one() {
    let dir = WARPLD.folder("kill");
    let words = inputs(&dir);
    let expected = good(&dir, &words);
    let mut cut_short = 0;
    for delay in (0..60).map(|i| Duration::from_micros(i * i * 10)) {
        fs::write(dir.join("out"), OLD).expect("an old output");
        let mut child = WARPLD
            .command()
            .args(&words)
            .current_dir(&dir)
            .stderr(Stdio::null())
            .spawn()
            .expect("warpld runs");
        std::thread::sleep(delay);
        let _ = child.kill();
        child.wait().expect("it ended");
        let found = fs::read(dir.join("out")).expect("an output");
        assert!(found == OLD || found == expected, "after {delay:?}");
        cut_short += usize::from(found == OLD);
    }
    assert!(cut_short > 0, "no link was killed in time");
}

#[test]
#[cfg(unix)]
fn an_interrupted_link_leaves_nothing_else() {
    let dir = WARPLD.folder("interrupt");
    let words = inputs(&dir);
    let expected = good(&dir, &words);
    let before = fs::read_dir(&dir).expect("a folder").count();
    let mut cut_short = 0;
    for (i, signal) in (0..60).zip(["-TERM", "-ABRT", "-INT"].into_iter().cycle()) {
        let delay = Duration::from_micros(i * i * 10);
        fs::write(dir.join("out"), OLD).expect("an old output");
        let mut child = WARPLD
            .command()
            .args(&words)
            .current_dir(&dir)
            .stderr(Stdio::null())
            .spawn()
            .expect("warpld runs");
        std::thread::sleep(delay);
        let _ = Command::new("kill")
            .arg(signal)
            .arg(child.id().to_string())
            .stderr(Stdio::null())
            .status();
        child.wait().expect("it ended");
        let found = fs::read(dir.join("out")).expect("an output");
        assert!(found == OLD || found == expected, "{signal} after {delay:?}");
        cut_short += usize::from(found == OLD);
        let names = fs::read_dir(&dir).expect("a folder").count();
        assert_eq!(names, before, "{signal} after {delay:?}");
    }
    assert!(cut_short > 0, "no link was interrupted in time");
}

/// Every system call that a link needs fails once, in turn. Needs strace.
#[test]
#[cfg(target_os = "linux")]
fn a_failed_system_call_leaves_the_old_output_or_the_new_one() {
    let strace = |words: &[&str]| {
        let mut command = Command::new("strace");
        command.args(words).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let why = match strace(&["-o", "/dev/null", "true"]).status() {
        Ok(status) if status.success() => None,
        Ok(_) => Some("strace may not trace here"),
        Err(_) => Some("strace cannot be started"),
    };
    if let Some(why) = why {
        // Not by eprintln!, which is not shown of a test that passes; .ci/run collects such lines.
        let _ = writeln!(std::io::stderr(), "not run: failing system calls ({why})");
        return;
    }
    let dir = WARPLD.folder("calls");
    let words = inputs(&dir);
    let expected = good(&dir, &words);
    let calls = [
        "pwrite64", "write", "rename", "mmap", "openat", "read", "brk", "mremap", "close", "statx",
        "fchmod",
    ];
    for call in calls {
        let mut prevented = 0;
        for nth in [1, 2, 3, 5, 8, 13, 21, 34, 55] {
            fs::write(dir.join("out"), OLD).expect("an old output");
            let inject = format!("inject={call}:error=EIO:when={nth}");
            let status = strace(&["-f", "-o", "/dev/null", "-e", &inject])
                .arg(WARPLD.path())
                .args(&words)
                .current_dir(&dir)
                .status()
                .expect("strace runs");
            let found = fs::read(dir.join("out")).expect("an output");
            assert!(found == OLD || found == expected, "{inject}");
            assert!(status.code() != Some(101), "{inject}: panic");
            if status.success() {
                assert!(found == expected, "{inject}: success, but the old output");
            }
            prevented += usize::from(found == OLD);
        }
        // Without these there is no output.
        if ["pwrite64", "rename", "openat", "fchmod"].contains(&call) {
            assert!(prevented > 0, "no failure of {call} mattered");
        }
    }
}

#[test]
fn an_input_cut_short_is_an_error() {
    let dir = WARPLD.folder("cut");
    let image = fixture("object.sm_90.cubin");
    for size in (997..image.len()).step_by(997) {
        fs::write(dir.join("a.cubin"), &image[..size]).expect("an input");
        fs::write(dir.join("out"), OLD).expect("an old output");
        let words = ["-arch=sm_90", "a.cubin", "-o", "out"].map(String::from);
        let output = link(&dir, &words);
        let code = output.status.code();
        assert!(matches!(code, Some(1 | 255)), "{size} bytes: {code:?}");
        assert_eq!(fs::read(dir.join("out")).expect("an output"), OLD);
    }
}

/// What somebody does to an input while it is being linked, and what the link
/// says. The link stops half-way, after its inputs were mapped, to read a named
/// pipe.
#[cfg(target_os = "linux")]
fn disturbed(name: &str, disturb: impl FnOnce(&fs::File)) -> Output {
    let dir = WARPLD.folder(name);
    let image = fixture("scale.sm_90.cubin");
    let members: Vec<_> = (0..100).map(|i| (format!("{i}.cubin"), renamed(&image, i))).collect();
    let members: Vec<_> = members.iter().map(|(name, data)| (name.as_str(), data)).collect();
    let archive = support::archive(&members);
    assert!(archive.len() > 400_000, "too small to be mapped");
    fs::write(dir.join("a.a"), archive).expect("an input");
    fs::write(dir.join("out"), OLD).expect("an old output");
    support::fifo(&dir.join("pipe"));
    let child = WARPLD
        .command()
        .args(["-arch=sm_90", "-o", "out", "a.a", "--nv-host", "pipe"])
        .current_dir(&dir)
        .stderr(Stdio::piped())
        .spawn()
        .expect("warpld runs");
    // Opening waits for the reader.
    let pipe = fs::OpenOptions::new().write(true).open(dir.join("pipe")).expect("a pipe");
    disturb(&fs::OpenOptions::new().append(true).open(dir.join("a.a")).expect("the input"));
    drop(pipe);
    let output = child.wait_with_output().expect("it ended");
    if !output.status.success() {
        assert_eq!(fs::read(dir.join("out")).expect("an output"), OLD);
    }
    output
}

#[test]
#[cfg(target_os = "linux")]
fn an_input_that_changes_under_the_link_is_an_error() {
    use std::io::Write;
    let quiet = disturbed("undisturbed", |_| ());
    assert!(quiet.status.success(), "{}", stderr(&quiet));
    // At the end of a page what follows is gone; within one it reads as zeros.
    let gone = disturbed("truncated", |input| input.set_len(0).expect("truncated"));
    let zeros = disturbed("cut", |input| input.set_len(5_000).expect("cut"));
    let grown = disturbed("grown", |mut input| input.write_all(b"more").expect("written"));
    for output in [gone, zeros, grown] {
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        let message = "Input file 'a.a' changed while it was being linked [input-changed]\n";
        assert!(text.ends_with(&format!("warpld fatal   : {message}")), "{text}");
    }
}
