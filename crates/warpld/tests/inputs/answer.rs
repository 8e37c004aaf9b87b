//! Asking nvlink and warpld the same question.

use crate::scenarios::Scenario;
use cubin::{Cubin, SymbolType};
use libwarpld::driver::{Diagnostics, SelectOptions};
use libwarpld::{Config, Severity};
use std::fmt;
use std::path::Path;
use std::process::Command;
use warpld::files::{CpuArch, Files, LoadRequest};

/// What a linker made of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Answer {
    /// Messages with their severity.
    pub messages: Vec<String>,
    /// The kernels that ended up in the link, in order of registration.
    pub linked: Vec<String>,
    /// Ids for the host code.
    pub registered: Vec<String>,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for message in &self.messages {
            writeln!(f, "says {message}")?;
        }
        writeln!(f, "links {}", self.linked.join(" "))?;
        writeln!(f, "registers {}", self.registered.join(" "))
    }
}

impl Answer {
    pub fn parse(text: &str) -> Self {
        let mut answer = Self::default();
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        for line in text.lines() {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("says", message) => answer.messages.push(message.to_owned()),
                ("links", names) => answer.linked = words(names),
                ("registers", names) => answer.registered = words(names),
                _ => panic!("bad line in expected.txt: {line}"),
            }
        }
        answer
    }
}

/// The scenario's folder in a registered path.
fn without_root(id: &str, root: &Path) -> String {
    let root: String = root.to_string_lossy().replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    id.replace(&root, "ROOT")
}

pub fn ask_nvlink(toolkit: &Path, root: &Path, scenario: &Scenario) -> Answer {
    let mut command = Command::new(toolkit.join("bin/nvlink"));
    command.current_dir(root).env_remove("LIBRARY_PATH");
    if let Some(list) = scenario.library_path {
        command.env("LIBRARY_PATH", list);
    }
    // A relocatable link takes the same inputs, but drops no code and has
    // nothing to say about undefined symbols.
    if !scenario.final_link {
        command.arg("-r");
    }
    let output = command
        .arg(format!("-arch={}", scenario.arch))
        .args(["-o", "out.cubin", "--register-link-binaries=reg.c"])
        .args(&scenario.args)
        .output()
        .unwrap();
    let mut answer = Answer::default();
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        let line = line.strip_prefix("nvlink ").unwrap_or(line);
        let (severity, text) = line.split_once(':').unwrap_or(("", line));
        answer.messages.push(format!("{}: {}", severity.trim(), text.trim()));
    }
    tidy(&mut answer.messages);
    if let Ok(image) = std::fs::read(root.join("out.cubin")) {
        answer.linked = kernels(&image);
        answer.linked.sort();
    }
    if let Ok(text) = std::fs::read_to_string(root.join("reg.c")) {
        let ids = text.lines().filter_map(|line| line.strip_prefix("DEFINE_REGISTER_FUNC("));
        answer.registered = ids.map(|id| without_root(id.trim_end_matches(')'), root)).collect();
    }
    answer
}

/// Drops lines that add nothing to the ones before.
fn tidy(messages: &mut Vec<String>) {
    let empty = ["fatal: elfLink internal error", "fatal: elfLink fatbinary error"];
    if messages.len() > 1 {
        messages.retain(|m| !empty.contains(&m.as_str()));
    }
    messages.dedup();
}

/// The kernels that an image defines.
pub fn kernels(image: &[u8]) -> Vec<String> {
    let cubin = Cubin::parse(image).unwrap();
    let kernels = cubin.symbols().filter(|s| s.kind() == SymbolType::FUNC && !s.is_undefined());
    kernels
        .map(|s| String::from_utf8_lossy(s.name).into_owned())
        .filter(|name| name.starts_with("k_"))
        .collect()
}

pub fn ask_warpld(root: &Path, scenario: &Scenario) -> Answer {
    std::env::set_current_dir(root).unwrap();
    let mut request = LoadRequest {
        working_directory: root.to_owned(),
        library_path_env: scenario.library_path.map(Into::into),
        ..LoadRequest::default()
    };
    let mut options = SelectOptions::of(&Config::builder(scenario.arch.parse().unwrap()).build());
    options.register = true;
    for arg in &scenario.args {
        match *arg {
            "-suppress-arch-warning" => options.suppress_arch_warning = true,
            "-keep-system-libraries" => options.keep_system_libraries = true,
            "-cpu-arch=AARCH64" => request.cpu_arch = CpuArch::Aarch64,
            _ => match (arg.strip_prefix("-l"), arg.strip_prefix("-L")) {
                (Some(library), _) => request.libraries.push(library.into()),
                (_, Some(folder)) => request.library_paths.push(folder.into()),
                _ => request.files.push(arg.into()),
            },
        }
    }
    options.lazy_archives = scenario.lazy_archives;
    let files = Files::open(&request);
    let mut diagnostics = Diagnostics::default();
    let selected = files.scan().select(&options, &mut diagnostics);
    if let Err(error) = &selected {
        diagnostics = error.clone().into();
    }
    let mut answer = Answer::default();
    for message in diagnostics.as_slice() {
        let severity = match message.severity {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
            Severity::Fatal => "fatal",
        };
        answer.messages.push(format!("{severity}: {}", message.message));
    }
    tidy(&mut answer.messages);
    let Ok(selected) = selected else { return answer };
    answer.registered =
        selected.registration.module_ids.iter().map(|id| without_root(id, root)).collect();
    answer.linked = selected.inputs.images.iter().flat_map(|i| kernels(&i.image)).collect();
    if let (true, Some(references)) = (scenario.final_link, &selected.inputs.host_references) {
        answer.linked.retain(|kernel| {
            references.kernels_external.iter().any(|p| is_match(p, kernel.as_bytes()))
        });
    }
    answer.linked.sort();
    answer
}

/// `*` stands for any text.
fn is_match(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => (0..=name.len()).any(|skip| is_match(rest, &name[skip..])),
        ([p, pattern @ ..], [n, name @ ..]) => p == n && is_match(pattern, name),
        _ => false,
    }
}
