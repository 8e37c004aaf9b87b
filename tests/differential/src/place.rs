//! Where the toolkits are.

use crate::release::{Release, Releases};
use crate::tools::Tools;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What the command line says of toolkits.
#[derive(Default)]
pub struct Place {
    pub release: Option<String>,
    pub toolkit: Option<PathBuf>,
    pub objects: Option<String>,
    pub twin: Option<String>,
}

impl Place {
    /// Finds them, and asks which releases they are of.
    pub fn find(self, tools: &mut Tools) -> Result<(), String> {
        match (self.toolkit, &self.release) {
            (Some(folder), _) => tools.toolkit = folder,
            (None, Some(release)) => tools.toolkit = installed(release)?,
            (None, None) => {}
        }
        if !tools.nvlink().exists() {
            let toolkit = tools.toolkit.display();
            return Err(format!("no nvlink in '{toolkit}/bin'; use --toolkit or --release"));
        }
        tools.release = Release::of_toolkit(&tools.toolkit)?;
        if let Some(wanted) = self.release
            && !wanted.parse::<Releases>()?.contains(tools.release)
        {
            let toolkit = tools.toolkit.display();
            return Err(format!("{toolkit} is of release {}, not {wanted}", tools.release));
        }
        if let Some(objects) = self.objects {
            let folder = folder(&objects)?;
            let release = Release::of_toolkit(&folder)?;
            tools.compilers = Some((folder, release));
        }
        if let Some(twin) = self.twin {
            tools.twin = Some(folder(&twin)?.join("bin/nvlink"));
        }
        Ok(())
    }
}

/// The toolkit of a release, or in a folder.
fn folder(toolkit: &str) -> Result<PathBuf, String> {
    match toolkit.parse::<Releases>() {
        Ok(_) => installed(toolkit),
        Err(_) => std::path::absolute(toolkit).map_err(|e| e.to_string()),
    }
}

/// The toolkit of that release, which is installed if need be.
fn installed(release: &str) -> Result<PathBuf, String> {
    const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/toolkit.sh");
    let mut command = Command::new(SCRIPT);
    command.arg(release).stderr(Stdio::inherit());
    let output = command.output().map_err(|e| format!("{SCRIPT}: {e}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().into()),
        false => Err(format!("{SCRIPT} {release} failed")),
    }
}
