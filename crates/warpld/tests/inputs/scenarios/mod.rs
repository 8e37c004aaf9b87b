//! The scenarios: files, arguments, and where warpld differs on purpose.

mod files;
mod host_side;
mod image_choice;
mod libraries;

use crate::make::{Make, host};

/// A question to a linker.
pub struct Scenario {
    pub name: &'static str,
    pub arch: &'static str,
    pub files: Vec<(&'static str, Make)>,
    pub args: Vec<&'static str>,
    /// The environment's `LIBRARY_PATH`.
    pub library_path: Option<&'static str>,
    /// Ask for an executable image, where kernels may be dropped.
    pub final_link: bool,
    /// Only for warpld.
    pub lazy_archives: bool,
    /// warpld's answer where it is meant to differ from nvlink's.
    pub differs: Option<String>,
}

fn scenario(name: &'static str, files: Vec<(&'static str, Make)>, args: &str) -> Scenario {
    Scenario {
        name,
        arch: "sm_90",
        files,
        args: Box::leak(args.to_owned().into_boxed_str()).split_whitespace().collect(),
        library_path: None,
        final_link: false,
        lazy_archives: false,
        differs: None,
    }
}

impl Scenario {
    fn arch(mut self, arch: &'static str) -> Self {
        self.arch = arch;
        self
    }
    fn library_path(mut self, list: &'static str) -> Self {
        self.library_path = Some(list);
        self
    }
    fn executable(mut self) -> Self {
        self.final_link = true;
        self
    }
    fn lazy(mut self) -> Self {
        self.lazy_archives = true;
        self
    }
    /// Lines of an answer, without which `links` and `registers` are empty.
    fn differs(mut self, answer: &str) -> Self {
        let mut text: String = answer.lines().map(|line| format!("{}\n", line.trim())).collect();
        if !text.contains("links ") {
            let at = text.find("registers ").unwrap_or(text.len());
            text.insert_str(at, "links \n");
        }
        if !text.contains("registers ") {
            text.push_str("registers \n");
        }
        self.differs = Some(text);
        self
    }
}

fn text(text: &str) -> Make {
    Make::Bytes(text.as_bytes().to_vec())
}

fn long_text() -> Make {
    Make::Bytes(vec![b'x'; 100])
}

fn ptx_text() -> Make {
    text(&crate::images::ptx("90", ".visible .entry k_text() { ret; }"))
}

fn m1() -> Make {
    host("id_m1", &["m1"])
}

fn m2() -> Make {
    host("id_m2", &["m2"])
}

fn calls() -> Make {
    host("id_calls", &["calls"])
}

fn ar(members: Vec<(&'static str, Make)>) -> Make {
    Make::Archive(members)
}

/// A stand-in: only the file's name makes it the system library.
fn system_library() -> Make {
    ar(vec![("rt.o", host("id_rt", &["m4"]))])
}

fn leak(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// All of them, in the order of `expected.txt`.
pub fn all() -> Vec<Scenario> {
    let groups = [
        files::by_suffix(),
        files::small_and_odd_files(),
        files::host_objects(),
        files::fatbins(),
        image_choice::image_choice(),
        files::cubin_checks(),
        libraries::archives(),
        libraries::searches(),
        libraries::system_libraries(),
        host_side::registration(),
        host_side::host_references(),
        libraries::lazy_archives(),
    ];
    groups.into_iter().flatten().collect()
}
