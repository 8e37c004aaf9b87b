//! `--report`: the page about a link. `scripts/ci-report.sh` looks at it in a browser.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use support::{Program, example, fixture, stderr};

const WARPLD: Program = support::warpld!();

/// A folder with fixtures.
fn folder(name: &str, fixtures: &[&str]) -> PathBuf {
    let folder = WARPLD.folder(name);
    for name in fixtures {
        fs::write(folder.join(name), fixture(name)).unwrap();
    }
    folder
}

fn link(folder: &Path, args: &[&str]) -> String {
    let all = ["-arch=sm_90", "-o", "out.cubin", "--report=page.html"];
    let output = WARPLD.run(folder, all.iter().chain(args));
    assert!(output.status.success(), "{}", stderr(&output));
    fs::read_to_string(folder.join("page.html")).unwrap()
}

/// The text of the script element with this id.
fn element<'p>(page: &'p str, id: &str) -> &'p str {
    let start = format!("<script type=\"application/json\" id=\"{id}\">\n");
    let (_, rest) = page.split_once(&start).unwrap();
    rest.split_once("</script>").unwrap().0
}

fn data(page: &str) -> Value {
    serde_json::from_str(element(page, "data")).unwrap()
}

fn text(data: &Value, index: &Value) -> String {
    data["strings"][index.as_u64().unwrap() as usize].as_str().unwrap().to_owned()
}

fn names(data: &Value) -> Vec<String> {
    data["functions"]["name"].as_array().unwrap().iter().map(|name| text(data, name)).collect()
}

fn without_times(page: &str) -> String {
    page.replace(element(page, "times"), "")
}

#[test]
fn the_page_describes_the_link() {
    let folder = WARPLD.folder("describes");
    let page = link(&folder, &[&example("saxpy.sm_90.cubin"), &example("scale.sm_90.cubin")]);
    let data = data(&page);
    assert_eq!(data["format"], 1);
    assert_eq!(data["target"], "sm_90");
    assert_eq!(text(&data, &data["output"]), "out.cubin");
    let size = fs::metadata(folder.join("out.cubin")).unwrap().len();
    assert_eq!(data["size"], size);
    let names = names(&data);
    let kernel = &data["kernels"][0];
    let name = &names[kernel[0].as_u64().unwrap() as usize];
    assert_eq!(name, "_Z5saxpyifPKfPf");
    assert!(names.contains(&"_Z5scalef".to_owned()));
    // All sections are in the file, and their parts are counted.
    let sections = &data["sections"];
    let column = |name: &str| sections[name].as_array().unwrap().clone();
    let counts: u64 = column("parts").iter().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(sections["part"]["size"].as_array().unwrap().len() as u64, counts);
    for ((offset, bytes), here) in
        column("offset").iter().zip(&column("size")).zip(&column("inFile"))
    {
        assert!(here == 0 || offset.as_u64().unwrap() + bytes.as_u64().unwrap() <= size);
    }
    let times: Value = serde_json::from_str(element(&page, "times")).unwrap();
    let phases: Vec<&str> =
        times.as_array().unwrap().iter().map(|row| row[1].as_str().unwrap()).collect();
    for phase in ["open", "select", "resolve", "merge", "write"] {
        assert!(phases.contains(&phase), "{phases:?}");
    }
}

/// One file, and no request to anybody.
#[test]
fn the_page_loads_nothing() {
    let folder = WARPLD.folder("loads");
    let page = link(&folder, &[&example("saxpy.sm_90.cubin"), &example("scale.sm_90.cubin")]);
    for word in [" src=", "<link", "@import", "url(", "fetch(", "XMLHttpRequest", "innerHTML"] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.contains("default-src 'none'"));
    let addresses = page.matches("://").count();
    assert_eq!(addresses, page.matches("http://www.w3.org/2000/svg").count());
}

#[test]
fn the_cubin_is_the_same_with_and_without_a_page() {
    let folder = folder("same", &["switch_a.sm_90.cubin", "switch_b.sm_90.cubin"]);
    let inputs = ["switch_a.sm_90.cubin", "switch_b.sm_90.cubin"];
    link(&folder, &inputs);
    let with = fs::read(folder.join("out.cubin")).unwrap();
    let plain = WARPLD.run(&folder, ["-arch=sm_90", "-o", "plain.cubin"].iter().chain(&inputs));
    assert!(plain.status.success());
    assert_eq!(with, fs::read(folder.join("plain.cubin")).unwrap());
}

#[test]
fn only_the_times_differ_between_links() {
    let folder = folder("threads", &["switch_a.sm_90.cubin", "switch_b.sm_90.cubin"]);
    let page = |threads: &str| {
        let page = link(&folder, &["switch_a.sm_90.cubin", "switch_b.sm_90.cubin", threads]);
        assert!(element(&page, "times").len() > 10);
        without_times(&page)
    };
    let one = page("--threads=1");
    assert_eq!(one, page("--threads=1"));
    assert_eq!(one, page("--threads=4"));
}

/// Ends its element, begins a comment, breaks out of attributes, moves the cursor, turns text around.
#[test]
#[cfg(unix)]
fn hostile_names_stay_text() {
    let folder = WARPLD.folder("hostile");
    let renamed = |mut bytes: Vec<u8>, from: &str, to: &str| {
        assert_eq!(from.len(), to.len());
        while let Some(at) = bytes.windows(from.len()).position(|w| w == from.as_bytes()) {
            bytes[at..at + from.len()].copy_from_slice(to.as_bytes());
        }
        bytes
    };
    let (kernel, function) = ("</script><b>\"'&", "<!--\u{1b}\u{202e}\n");
    let read = |name| fs::read(example(name)).unwrap();
    let a = renamed(read("saxpy.sm_90.cubin"), "_Z5saxpyifPKfPf", kernel);
    let a = renamed(a, "_Z5scalef", function);
    let b = renamed(read("scale.sm_90.cubin"), "_Z5scalef", function);
    let file = "@data@\n<script>alert(1)\u{7}\u{2028}\u{200f}'\".cubin";
    fs::write(folder.join(file), a).unwrap();
    fs::write(folder.join("b.cubin"), b).unwrap();
    let page = link(&folder, &[file, "b.cubin"]);
    let hidden = |c: char| {
        c != '\n'
            && (c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'))
    };
    assert!(!page.contains(hidden));
    assert!(!element(&page, "data").contains(['<', '>', '&']));
    assert!(!element(&page, "times").contains(['<', '>', '&']));
    assert_eq!(page.matches("</script").count(), 3);
    let data = data(&page);
    assert!(names(&data).contains(&kernel.to_owned()));
    assert!(names(&data).contains(&"<!--\\x1b\\u{202e}\\n".to_owned()));
    let input = text(&data, &data["objects"][0]);
    assert_eq!(input, "@data@\\n<script>alert(1)\\x07\\u{2028}\\u{200f}'\".cubin");
}

#[test]
fn copies_and_equal_code_are_counted() {
    let folder = folder("copies", &["switch_a.sm_90.cubin", "switch_b.sm_90.cubin"]);
    let data = data(&link(&folder, &["switch_a.sm_90.cubin", "switch_b.sm_90.cubin"]));
    let copies = data["copies"].as_array().unwrap();
    let named: BTreeSet<String> = copies.iter().map(|copy| text(&data, &copy[0])).collect();
    assert_eq!(named, BTreeSet::from(["choose".to_owned(), "chosen".to_owned()]));
    for copy in copies {
        // Kept from the first input; the copy of the second one had bytes.
        assert_eq!(copy[2], 0);
        assert_eq!(copy[4][0], 1);
        assert!(copy[4][1].as_u64().unwrap() > 384);
    }
    let same = data["same"].as_array().unwrap();
    let names = names(&data);
    let of = |group: &Value| -> Vec<&str> {
        let functions = group[1].as_array().unwrap().iter();
        functions.map(|f| &*names[f.as_u64().unwrap() as usize]).collect()
    };
    assert_eq!(same.iter().map(of).collect::<Vec<_>>(), [["switch_a", "switch_b"]]);
}

/// Shared memory as the link laid it out: the reserve, what kernels share, what is their own, and
/// where the dynamic array starts.
#[test]
fn memory_is_mapped() {
    let folder = folder("memory", &["shared.sm_90.cubin", "textures.sm_90.cubin"]);
    let page = data(&link(&folder, &["shared.sm_90.cubin"]));
    let parts = |data: &Value, section: &str| -> Vec<(String, u64, u64)> {
        let maps = data["memory"].as_array().unwrap();
        let map = maps.iter().find(|map| text(data, &map[0]) == section).unwrap();
        let flat = map[4].as_array().unwrap();
        let part = |part: &[Value]| {
            (text(data, &part[0]), part[3].as_u64().unwrap(), part[4].as_u64().unwrap())
        };
        flat.chunks(5).map(part).collect()
    };
    let named = |list: &[(&str, u64, u64)]| -> Vec<(String, u64, u64)> {
        list.iter().map(|&(name, offset, size)| (name.to_owned(), offset, size)).collect()
    };
    assert_eq!(
        parts(&page, ".nv.shared.first"),
        named(&[
            ("reserved by the system", 0, 1024),
            ("module_tile", 1024, 256),
            ("$__own__25", 1280, 128),
            ("$__mine__10", 1408, 48),
            ("dyn", 1456, 0),
        ])
    );
    let page = data(&link(&folder, &["textures.sm_90.cubin"]));
    let bank = parts(&page, ".nv.constant0.use_textures");
    assert_eq!(bank[0], ("driver".to_owned(), 0, 0x210));
    assert_eq!(bank[1], ("parameter 0".to_owned(), 0x210, 8));
    assert_eq!(bank.iter().filter(|part| part.0.starts_with("tex_")).count(), 3);
}

#[test]
fn what_was_removed_has_a_reason() {
    let folder = folder("removed", &["dead.sm_90.cubin"]);
    let data = data(&link(&folder, &["dead.sm_90.cubin", "--kernels-used=none"]));
    let flags = data["functions"]["flags"].as_array().unwrap();
    let reasons: BTreeSet<(String, u64)> = names(&data)
        .into_iter()
        .zip(flags)
        .filter(|(_, flags)| flags.as_u64().unwrap() & 2 != 0)
        .map(|(name, flags)| (name, flags.as_u64().unwrap() >> 4))
        .collect();
    // Not named by the option; called by nobody; called by what was removed.
    for reason in [("kern_x00000x", 2), ("dead_x00000x", 3), ("live_x00000x", 4)] {
        assert!(reasons.contains(&(reason.0.to_owned(), reason.1)), "{reasons:?}");
    }
}

/// Files of two halves and relocatable outputs have pages too.
#[test]
fn other_kinds_of_output() {
    let folder = folder("kinds", &["switch_a.sm_100.cubin", "shared.sm_90.cubin"]);
    let args = ["-arch=sm_100", "-o", "o", "--report=m.html", "switch_a.sm_100.cubin"];
    let output = WARPLD.run(&folder, args);
    assert!(output.status.success(), "{}", stderr(&output));
    let mercury = data(&fs::read_to_string(folder.join("m.html")).unwrap());
    assert_eq!(mercury["mercury"], true);
    let relocatable = data(&link(&folder, &["-r", "shared.sm_90.cubin"]));
    assert_eq!(relocatable["relocatable"], true);
    assert_eq!(relocatable["kernels"].as_array().unwrap().len(), 2);
}

#[test]
fn standard_output_and_failures() {
    let folder = folder("stdout", &["shared.sm_90.cubin"]);
    let run =
        |args: &[&str]| WARPLD.run(&folder, ["-arch=sm_90", "-o", "out.cubin"].iter().chain(args));
    let output = run(&["shared.sm_90.cubin", "--report=-"]);
    assert!(output.status.success() && output.stdout.starts_with(b"<!doctype html>"));
    assert!(!folder.join("-").exists());
    // A link that fails leaves the page alone.
    fs::write(folder.join("page.html"), "old").unwrap();
    let failed = run(&[&example("saxpy.sm_90.cubin"), "--report=page.html"]);
    assert!(!failed.status.success());
    assert_eq!(fs::read(folder.join("page.html")).unwrap(), b"old");
    // The page cannot take the place of an input or of the output.
    for path in ["shared.sm_90.cubin", "out.cubin"] {
        let refused = run(&["shared.sm_90.cubin", &format!("--report={path}")]);
        assert!(stderr(&refused).contains("[output-conflict]"), "{}", stderr(&refused));
    }
}
