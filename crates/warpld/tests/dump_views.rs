//! `warpld dump`: filters, orders, widths, lines, code and bytes; JSON of all commands by its schemas.

use serde_json::Value;
use std::fs;
use std::path::Path;
use support::{Program, example, fixture_path, fixtures, schema_errors, stderr, toolkit};

const WARPLD: Program = support::warpld!();

fn path(name: &str) -> String {
    fixture_path(name).to_str().unwrap().to_owned()
}

fn run(args: &[&str]) -> String {
    let output = WARPLD.run(Path::new("."), args);
    assert!(output.status.success(), "{args:?} {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn dump(file: &str, more: &[&str]) -> String {
    run(&[&["dump", file][..], more].concat())
}

fn json(file: &str, more: &[&str]) -> Value {
    let text = dump(file, &[&["--json"][..], more].concat());
    let all: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(schema_errors("dump", &all), Vec::<String>::new(), "{file} {more:?}");
    all["files"][0].clone()
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

#[test]
fn a_function_and_what_belongs_to_it() {
    let file = path("linked-object.sm_90.cubin");
    for wanted in ["spaces", "spaces(int*)", "_Z6spacesPi", "sp?ces(*)"] {
        let text = dump(&file, &["--function", wanted]);
        let names = ["_Z6spacesPi  spaces(int*)", ".nv.info._Z6spacesPi", ".text._Z6spacesPi"];
        assert!(names.iter().all(|name| text.contains(name)), "{wanted}: {text}");
        assert!(!text.contains(".text._Z7boundedPiPy"), "{wanted}: {text}");
        assert!(!text.contains(".shstrtab"), "{wanted}: {text}");
    }
    let found = json(&file, &["--function", "spaces"]);
    assert_eq!(names(&found["functions"]), ["_Z6spacesPi"]);
    let sections = names(&found["sections"]);
    assert!(sections.iter().all(|name| name.ends_with("_Z6spacesPi")), "{sections:?}");
    assert!(sections.len() >= 3, "{sections:?}");
    for more in [["--function", "none*"], ["--section", ".none"], ["--hex", ".none"]] {
        let output = WARPLD.run(Path::new("."), ["dump", &file].iter().chain(&more));
        assert_eq!(output.status.code(), Some(1), "{more:?}");
        let message = format!("nothing in it is called '{}'\n", more[1]);
        assert!(stderr(&output).ends_with(&message), "{}", stderr(&output));
    }
}

#[test]
fn sections_and_kinds() {
    let file = path("linked-object.sm_90.cubin");
    let found = json(&file, &["--section", ".nv.constant*"]);
    assert!(!names(&found["sections"]).is_empty());
    assert!(names(&found["sections"]).iter().all(|name| name.contains(".nv.constant")));
    let found = json(&file, &["--kind", "kernel"]);
    assert!(names(&found["sections"]).is_empty());
    assert!(found["functions"].as_array().unwrap().iter().all(|f| f["kernel"] == true));
    assert!(found["symbols"].as_array().unwrap().iter().all(|s| s["class"] == "kernel"));
    let text = dump(&file, &["--kind", "text", "--kind", "info"]);
    assert!(text.contains("\nSections\n") && text.contains("\nAttributes of .nv.info\n"), "{text}");
    assert!(!text.contains("\nSymbols") && !text.contains("\nKernels"), "{text}");
}

/// Parts and kinds may be lists, as in most programs.
#[test]
fn lists_with_commas() {
    let file = example("saxpy.sm_90.cubin");
    let list = dump(&file, &["--only", "functions,callgraph"]);
    let twice = dump(&file, &["--only", "functions", "--only", "callgraph"]);
    assert_eq!(list, twice);
    assert!(list.contains("Kernels") && !list.contains("Symbols"), "{list}");
}

#[test]
fn orders() {
    let file = path("linked-object.sm_90.cubin");
    let sizes = |list: &Value, key: &str| -> Vec<i64> {
        list.as_array().unwrap().iter().map(|item| item[key].as_i64().unwrap_or(-1)).collect()
    };
    let by_size = json(&file, &["--sort", "size"]);
    for (list, key) in [("sections", "size"), ("symbols", "size"), ("functions", "code_size")] {
        let sizes = sizes(&by_size[list], key);
        assert!(sizes.is_sorted_by(|a, b| a >= b) && !sizes.is_sorted(), "{list} {sizes:?}");
    }
    assert!(names(&json(&file, &["--sort=name"])["sections"]).is_sorted());
    let registers = sizes(&json(&file, &["--sort=registers"])["functions"], "registers");
    assert!(registers.is_sorted_by(|a, b| a >= b), "{registers:?}");
    assert_ne!(registers, sizes(&json(&file, &[])["functions"], "registers"));
}

/// Everything of every fixture, in terminals of several widths.
#[test]
fn no_line_is_wider_than_the_terminal() {
    for (file, _) in fixtures() {
        let name = file.to_str().unwrap();
        for width in ["40", "80", "132"] {
            let more = [
                "--width",
                width,
                "-o",
                "identity",
                "-o",
                "functions",
                "-o",
                "sections",
                "-o",
                "symbols",
                "-o",
                "relocations",
                "-o",
                "attributes",
                "-o",
                "callgraph",
                "-o",
                "capsules",
                "-o",
                "segments",
                "-o",
                "actions",
                "-o",
                "lines",
                "-o",
                "code",
                "--hex",
                ".nv.info*",
            ];
            let text = dump(name, &more);
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            // The name of the file stands alone, and people copy it.
            let first = text.lines().next().unwrap().chars().count();
            assert!(
                widest <= width.parse::<usize>().unwrap().max(first),
                "{name} {width}: {widest}"
            );
        }
    }
    let text = dump(&path("linked-object.sm_90.cubin"), &[]);
    assert!(text.lines().any(|line| line.len() > 132), "a pipe has no width");
}

#[test]
fn images_of_kernels() {
    let found = json(&path("textures.sm_90.cubin"), &[]);
    let kernel = &found["functions"].as_array().unwrap().iter().find(|f| f["kernel"] == true);
    let kernel = kernel.unwrap();
    // By the relocations of its text: tex_a, tex_c and surf_a; tex_b is another function's.
    assert_eq!((&kernel["textures"], &kernel["surfaces"]), (&2.into(), &1.into()));
    let text = dump(&path("textures.sm_90.cubin"), &["-o", "functions"]);
    assert!(text.contains(" tex surf samp "), "{text}");
    assert!(!dump(&path("vec.sm_90.cubin"), &["-o", "functions"]).contains(" tex "));
}

#[test]
fn bytes_of_a_section() {
    let file = example("scale.sm_90.cubin");
    let found = json(&file, &["--hex", ".nv.constant3"]);
    let bytes = found["hex"][0]["bytes"].as_str().unwrap();
    let text = dump(&file, &["--hex", ".nv.constant3"]);
    assert!(text.starts_with("\nBytes of .nv.constant3\n  00000000  "), "{text}");
    let line = text.lines().nth(2).unwrap();
    let shown: String = line[12..].split('|').next().unwrap().split_whitespace().collect();
    assert_eq!(shown, bytes.split_whitespace().collect::<String>());
    assert!(text.ends_with("\n  00000010\n"), "{text}");
    let text = dump(&example("saxpy.sm_90.cubin"), &["-x", ".nv.global"]);
    assert!(text.ends_with("  4 bytes that are not in the file\n"), "{text}");
}

/// As `nvdisasm -g` has them.
#[test]
fn lines_of_code() {
    let found = json(&path("lines_a.sm_90.cubin"), &["--lines"]);
    let tables = found["lines"].as_array().unwrap();
    let rows = |name: &str| -> Vec<(u64, &str, u64)> {
        let is_meant = |table: &&Value| table["of"] == "source" && table["name"] == name;
        let table = tables.iter().find(is_meant).unwrap();
        let number = |row: &Value, key: &str| row[key].as_u64().unwrap();
        let rows = table["rows"].as_array().unwrap().iter();
        rows.map(|r| (number(r, "offset"), r["file"].as_str().unwrap(), number(r, "line")))
            .collect()
    };
    assert_eq!(rows(".text.aliased"), [(0, "lines_a.cu", 33), (0x50, "lines_a.cu", 34)]);
    let inlined = [
        (0, "lines_a.cu", 13),
        (0x40, "lines_a.cu", 14),
        (0x60, "lines_a.cu", 14),
        (0x60, "inlined.cuh", 16),
        (0x70, "inlined.cuh", 17),
        (0x90, "lines_a.cu", 19),
        (0xa0, "lines_a.cu", 20),
    ];
    assert_eq!(rows(".text.copied"), inlined);
    assert!(tables.iter().any(|table| table["of"] == "ptx"), "{tables:?}");
    // No row is where the code ends.
    for table in tables {
        let index = table["section"].as_u64().unwrap() as usize;
        let size = found["sections"][index]["size"].as_u64();
        let offsets = table["rows"].as_array().unwrap().iter().map(|row| row["offset"].as_u64());
        assert!(offsets.max().unwrap() < size, "{table}");
    }
    let text = dump(&path("lines_a.sm_90.cubin"), &["--lines"]);
    assert!(text.starts_with("\nSource lines of .text."), "{text}");
    assert!(text.contains("\nPTX lines of .text."), "{text}");
    let text = dump(&path("vec.sm_75.cubin"), &["--lines"]);
    assert!(text.contains("No line tables"), "{text}");
}

#[test]
fn code_with_control_fields() {
    let file = example("scale.sm_90.cubin");
    let none = "--nvdisasm=/nothing/here";
    let output = WARPLD.run(Path::new("."), ["dump", &file, "--code", none]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("'/nothing/here'"), "{}", stderr(&output));
    // The code is shown all the same, as numbers.
    let text = String::from_utf8(output.stdout).unwrap();
    let heading =
        "\nCode of .text._Z5scalef\n  offset stall yield write read wait   reuse instruction\n";
    assert!(text.starts_with(heading), "{text}");
    assert_eq!(text.lines().count(), 3 + 384 / 16);
    assert!(text.lines().nth(3).unwrap().ends_with("7919"), "{text}");
    let text = dump(&path("data.sm_50.cuda12.exec.cubin"), &["--code"]);
    assert!(text.contains("before sm_70 are not decoded"), "{text}");
}

/// A script in the place of nvdisasm gives texts.
#[test]
#[cfg(unix)]
fn texts_of_a_disassembler() {
    use std::os::unix::fs::PermissionsExt;
    let folder = WARPLD.folder("disassembler");
    let script = folder.join("nvdisasm");
    let text = "#!/bin/sh\n[ \"$1\" = -c ] && [ -s \"$2\" ] || exit 3\ncat <<'X'\n\t.section\t\
                .text._Z5scalef,\"ax\",@progbits\n        /*0010*/   UMOV UR4, `(gain) ;\nX\n";
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let named = format!("--nvdisasm={}", script.display());
    let file = example("scale.sm_90.cubin");
    let text = dump(&file, &["--code", &named]);
    assert!(text.lines().nth(4).unwrap().ends_with(" UMOV UR4, `(gain)"), "{text}");
    let found = json(&file, &["--code", &named]);
    let code = &found["code"][0]["instructions"];
    assert_eq!(code[1]["text"], "UMOV UR4, `(gain)");
    assert_eq!((&code[0]["text"], &code[0]["offset"]), (&Value::Null, &0.into()));
}

/// The real one, where it is installed: each instruction has a text, and NOPs are NOPs.
#[test]
fn texts_of_nvdisasm() {
    let Some(toolkit) = toolkit() else { return };
    let nvdisasm = toolkit.join("bin/nvdisasm");
    if !nvdisasm.exists() {
        return;
    }
    let named = format!("--nvdisasm={}", nvdisasm.display());
    for name in ["linked-object.sm_90.cubin", "linked-vec.sm_75.cubin", "linked-vec.sm_100.cubin"] {
        let found = json(&path(name), &["--code", &named]);
        for section in found["code"].as_array().unwrap() {
            for instruction in section["instructions"].as_array().unwrap() {
                let text = instruction["text"].as_str().unwrap_or_default();
                assert!(!text.is_empty(), "{name} {instruction}");
                let is_nop = instruction["encoding"].as_str().unwrap().ends_with("7918");
                assert_eq!(text == "NOP", is_nop, "{name} {instruction}");
            }
        }
    }
}

/// One of several images is named even where only a part of it is shown.
#[test]
fn parts_of_several_images_have_names() {
    let folder = WARPLD.folder("several");
    let (saxpy, scale) = (example("saxpy.sm_90.cubin"), example("scale.sm_90.cubin"));
    for part in ["--code", "--lines", "--hex=.nv.info", "--only=sections"] {
        let text = dump(&saxpy, &[part]);
        assert!(!text.contains(&saxpy), "{part}: {text}");
        let text = dump(&saxpy, &[part, &scale]);
        let titles: Vec<_> = text.lines().filter(|line| line.ends_with(".cubin:")).collect();
        assert_eq!(titles, [format!("{saxpy}:"), format!("{scale}:")], "{part}");
    }
    // A container's images are named by the container.
    let archive = support::archive(&[
        ("saxpy.cubin", &fs::read(&saxpy).unwrap()),
        ("scale.cubin", &fs::read(&scale).unwrap()),
    ]);
    fs::write(folder.join("both.a"), archive).unwrap();
    let file = folder.join("both.a");
    let text = dump(file.to_str().unwrap(), &["--code"]);
    assert!(text.contains("both.a:saxpy.cubin:"), "{text}");
    assert!(text.contains("both.a:scale.cubin:"), "{text}");
    // A function of one of them is found there, and nothing is wrong with the other.
    let text = dump(&saxpy, &["--code", "--function=saxpy", &scale]);
    assert!(text.starts_with(&format!("{saxpy}:\n")) && !text.contains(&scale), "{text}");
    let output = WARPLD.run(&folder, ["dump", "--function=none", &saxpy, &scale]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).ends_with("nothing in these images is called 'none'\n"));
    // What is compared is named, too.
    for command in ["diff", "compare"] {
        let image = ["--image=1", "both.a", &scale];
        let text = WARPLD.run(&folder, [command].iter().chain(&image)).stdout;
        let text = String::from_utf8(text).unwrap();
        assert!(text.lines().next().unwrap().contains("both.a:saxpy.cubin:"), "{text}");
    }
}

/// Schemas hold for what the commands write of all fixtures.
#[test]
fn json_fits_its_schemas() {
    let all = |args: &[&str]| -> Value {
        let output = WARPLD.run(Path::new("."), args);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}"))
    };
    let fits = |name: &str, value: &Value| {
        assert_eq!(schema_errors(name, value), Vec::<String>::new(), "{name}");
    };
    let (old, new) = (path("linked-vec.sm_90.cubin"), path("linked-object.sm_90.cubin"));
    for (file, _) in fixtures() {
        let file = file.to_str().unwrap();
        fits("dump", &all(&["dump", "--json", "--lines", "--code", "-x*", file]));
        fits("extract", &all(&["extract", "--list", "--json", file]));
    }
    fits("compare", &all(&["compare", "--json", &old, &new]));
    fits("diff", &all(&["diff", "--json", &old, &new]));
    let input = example("saxpy.sm_90.cubin");
    let args = ["-arch=sm_90", &input, "-o", "/dev/null", "--error-format=json", "-report-arch"];
    let text = stderr(&WARPLD.run(Path::new("."), args));
    assert!(text.contains("undefined-symbol"), "{text}");
    for line in text.lines() {
        fits("message", &serde_json::from_str(line).unwrap());
    }
}

/// The page of the guide shows what is printed today.
#[test]
fn examples_of_the_guide_are_current() {
    let folder = WARPLD.folder("guide");
    fs::create_dir(folder.join("examples")).unwrap();
    for target in ["sm_90", "sm_100"] {
        let names = ["saxpy", "scale"].map(|name| format!("{name}.{target}.cubin"));
        for name in &names {
            fs::copy(example(name), folder.join("examples").join(name)).unwrap();
        }
        let linked = format!("linked.{target}.cubin");
        let arch = format!("-arch={target}");
        let inputs = names.map(|name| format!("examples/{name}"));
        let args = [&*arch, &*inputs[0], &*inputs[1], "--identity=nvlink", "-o", &*linked];
        assert!(WARPLD.run(&folder, args).status.success());
    }
    let page = fs::read_to_string(support::root().join("docs/guide/dump.md")).unwrap();
    let mut checked = 0;
    for block in page.split("```console\n$ warpld ").skip(1) {
        let block = block.split("```").next().unwrap();
        let (command, wanted) = block.split_once('\n').unwrap();
        // What needs other programs is not checked.
        if command.contains("--code") || command.contains('|') {
            continue;
        }
        let output = WARPLD.run(&folder, command.split(' '));
        assert_eq!(String::from_utf8(output.stdout).unwrap(), wanted, "{command}");
        checked += 1;
    }
    assert_eq!(checked, 3);
}
