//! Both linkers on the same inputs.

use crate::again::Differing;
use crate::program::{Case, Link};
use crate::release::Release;
use crate::tools::{self, Outcome, Tools};
use crate::verdict::{self, Comparison, Run, Verdict};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A judged link.
#[derive(Clone, Debug)]
pub struct Judged {
    /// How the two runs compare.
    pub comparison: Comparison,
    /// What nvlink made of it.
    pub nvlink: Run,
    /// What warpld made of it.
    pub warpld: Option<Run>,
}

/// The two folders outputs go to. Equal output names keep the notes equal.
pub const NVLINK_OUT: &str = "n";
pub const WARPLD_OUT: &str = "w";
/// Status of the program that stands in for nvlink if its library cannot do such a link.
const UNAVAILABLE: i32 = 77;
/// For links with new scoreboards.
const KEPT_OUT: &str = "s";
/// For more runs of either.
const AGAIN_OUT: &str = "v";

/// Folders that links name.
#[derive(Clone, Debug, Default)]
pub struct Folders {
    /// The toolkit's libraries.
    lib: String,
    /// The parent of `lib64/libnvvm.so`.
    nvvm: String,
}

impl Folders {
    fn of(tools: &Tools) -> Self {
        let text = |path: PathBuf| path.display().to_string();
        Self { lib: text(tools.toolkit.join("lib64")), nvvm: text(tools.nvvm()) }
    }
}

/// Arguments of one run whose output goes to the folder `out` below the case's.
fn arguments(link: &Link, out: &str, folders: &Folders) -> Vec<String> {
    let mut args = vec![format!("-arch={}", link.sm)];
    for arg in &link.args {
        let arg = arg.replace(Link::LIBRARIES, &folders.lib).replace(Link::NVVM, &folders.nvvm);
        args.push(match arg.strip_prefix("--register-link-binaries=") {
            Some(file) => format!("--register-link-binaries={out}/{file}"),
            None => arg,
        });
    }
    args.extend(link.inputs.iter().cloned());
    args.extend(["-o".into(), format!("{out}/{}", link.output)]);
    args
}

/// Runs `linker`, whose command line is complete but for the link's own arguments.
fn run(
    mut linker: Command,
    link: &Link,
    folder: &Path,
    out: &str,
    folders: &Folders,
) -> io::Result<Run> {
    fs::create_dir_all(folder.join(out))?;
    let _ = fs::remove_file(folder.join(out).join(&link.output));
    linker.args(arguments(link, out, folders));
    let outcome = tools::run(&mut linker, folder, &format!("{out}/{}.log", link.label))?;
    let read = |name: &str| fs::read(folder.join(out).join(name)).ok();
    let side_file = link.side_file.as_deref().and_then(read);
    let side_file = side_file.map(|text| without_folder(&text, folder));
    Ok(Run { outcome, output: read(&link.output), side_file })
}

/// A registration file without the case's folder, which is part of the names in it: so the same
/// case gives the same file wherever it runs.
fn without_folder(text: &[u8], folder: &Path) -> Vec<u8> {
    let folder = folder.canonicalize().unwrap_or(folder.into());
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = folder.to_string_lossy().chars().map(letter).collect();
    String::from_utf8_lossy(text).replace(&name, "_FOLDER").into_bytes()
}

/// What warpld says of LTO-IR that libnvJitLink cannot compile as nvlink does.
const NEEDS_NVLINK: &str = "[lto-unsupported]";

/// What warpld stands in for.
#[derive(Clone, Debug)]
pub struct Stand {
    release: Release,
    jit: bool,
    /// The toolkit whose compilers it is to run; none for links of machine code.
    compilers: Option<PathBuf>,
}

impl Stand {
    /// nvlink of that release, for machine code.
    pub fn of(release: Release) -> Self {
        Self { release, jit: false, compilers: None }
    }

    fn in_for(tools: &Tools) -> Self {
        let compilers = tools.gives_compilers.then(|| tools.compilers_for_warpld());
        Self { release: tools.release, jit: tools.is_jit(), compilers }
    }

    /// Options by which warpld does what the other does.
    fn options(&self) -> Vec<String> {
        let tool = if self.jit { "nvjitlink" } else { "nvlink" };
        let release = self.release;
        let mut options = vec![format!("--identity={tool}"), format!("--cuda-release={release}")];
        options.extend(self.compilers.iter().map(|path| format!("--cuda-path={}", path.display())));
        options
    }
}

/// Runs warpld on a link whose inputs lie in `folder`.
pub fn run_warpld(
    program: &Path,
    stand: &Stand,
    link: &Link,
    folder: &Path,
    folders: &Folders,
) -> io::Result<Run> {
    run(warpld_command(program, stand), link, folder, WARPLD_OUT, folders)
}

/// warpld without the arguments of the link. Every output is read back and checked.
fn warpld_command(program: &Path, stand: &Stand) -> Command {
    let mut warpld = Command::new(program);
    warpld.args(stand.options()).arg("--verify");
    warpld
}

/// Runs one link with nvlink and, if there is one, with warpld. An output of
/// nvlink becomes an input for later links of both.
pub fn judge(tools: &Tools, link: &Link, folder: &Path) -> io::Result<Judged> {
    let folders = &Folders::of(tools);
    let run_nvlink = |out| run(Command::new(tools.nvlink()), link, folder, out, folders);
    let run_warpld = |program: &Path, out| {
        run(warpld_command(program, &Stand::in_for(tools)), link, folder, out, folders)
    };
    let mut nvlink = run_nvlink(NVLINK_OUT)?;
    if tools.is_jit() && nvlink.outcome.status == Some(UNAVAILABLE) {
        let comparison = Comparison::of(Verdict::Unavailable);
        return Ok(Judged { comparison, nvlink, warpld: None });
    }
    let warpld = match (&tools.twin, &tools.warpld) {
        (Some(twin), _) => Some(run(Command::new(twin), link, folder, WARPLD_OUT, folders)?),
        (None, Some(program)) => Some(run_warpld(program, WARPLD_OUT)?),
        (None, None) => None,
    };
    if let (true, Some(0 | 1), Some(warpld)) = (tools.is_jit(), nvlink.outcome.status, &warpld) {
        nvlink.outcome.liken(&warpld.outcome);
    }
    let mut comparison = match &warpld {
        Some(warpld) => verdict::compare(&nvlink, warpld, tools.release),
        None => Comparison::of(verdict::alone(&nvlink.outcome)),
    };
    if tools.without_nvlink
        && warpld.as_ref().is_some_and(|warpld| warpld.outcome.text.contains(NEEDS_NVLINK))
    {
        comparison = Comparison::of(Verdict::Unavailable);
    }
    if let Some(warpld) = &warpld
        && comparison.verdict == Verdict::Different
    {
        let differing = Differing { nvlink: &nvlink, warpld, release: tools.release };
        let mut nvlink = || run_nvlink(AGAIN_OUT);
        comparison.verdict = match &tools.warpld {
            Some(program) if link.is_lto() => {
                differing.lto(&mut nvlink, &mut || run_warpld(program, AGAIN_OUT))?
            }
            _ => differing.machine_code(&mut nvlink)?,
        };
        if comparison.verdict.agrees() {
            comparison.detail.clear();
        }
    }
    if !tools.is_jit() && tools.has_own_objects() {
        expect(link, &nvlink.outcome, &mut comparison);
    }
    if link.is_relocatable()
        && let Some(output) = &nvlink.output
    {
        fs::write(folder.join(&link.output), output)?;
    }
    Ok(Judged { comparison, nvlink, warpld })
}

/// What warpld writes if it keeps the compiler's scoreboards, if it writes anything.
pub fn kept(tools: &Tools, link: &Link, folder: &Path) -> io::Result<Option<Vec<u8>>> {
    let Some(program) = &tools.warpld else { return Ok(None) };
    let mut warpld = warpld_command(program, &Stand::in_for(tools));
    warpld.arg("--no-rescoreboard");
    let run = run(warpld, link, folder, KEPT_OUT, &Folders::of(tools))?;
    Ok(run.output.filter(|_| run.outcome.status == Some(0)))
}

/// A case is of no use where nvlink does not do what it says.
fn expect(link: &Link, nvlink: &Outcome, comparison: &mut Comparison) {
    let Some(expected) = link.expected.filter(|&e| nvlink.status != Some(e)) else { return };
    let detail = &mut comparison.detail;
    detail.push(format!("nvlink should exit with {expected}, not {:?}", nvlink.status));
    detail.extend(nvlink.text.lines().take(4).map(str::to_owned));
    comparison.verdict = Verdict::Unbuilt;
}

/// Command lines to run a link by hand in the case's folder.
pub fn command_lines(tools: &Tools, case: &Case) -> String {
    let quote = |args: Vec<String>| args.join(" ");
    let warpld = tools.warpld.as_ref().map_or("warpld".into(), |w| w.display().to_string());
    let folders = &Folders::of(tools);
    let mut text = String::new();
    for module in &case.modules {
        let (ptxas, flags) = (tools.compiler("ptxas"), module.flags.join(" "));
        let (name, sm) = (&module.name, module.sm);
        text += &format!("# {} -c -arch={sm} {flags} {name}.ptx\n", ptxas.display());
    }
    for link in &case.links {
        let nvlink = tools.nvlink();
        text += &format!("# {}\n", link.label);
        text += &format!("{} {}\n", nvlink.display(), quote(arguments(link, NVLINK_OUT, folders)));
        if link.is_relocatable() {
            text += &format!("cp {NVLINK_OUT}/{0} {0}\n", link.output);
        }
        let args = [Stand::in_for(tools).options(), arguments(link, WARPLD_OUT, folders)].concat();
        text += &format!("{warpld} {}\n", quote(args));
    }
    text
}
