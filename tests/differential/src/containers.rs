//! What a link that compiles takes of a toolkit: containers of PTX as nvcc has them made, and the
//! folder in which nvlink looks for libnvvm, and a toolkit without nvlink.

use crate::program::{Module, Pack};
use crate::tools::{self, Tools};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

impl Tools {
    /// The folder for `-nvvmpath`: nvlink takes `lib64/libnvvm.so` from it.
    pub fn nvvm(&self) -> PathBuf {
        match self.toolkit.join("nvvm/lib64/libnvvm.so").exists() {
            true => self.toolkit.join("nvvm"),
            false => self.work.join("nvvm").join(self.release.to_string()),
        }
    }

    /// Makes that folder where the toolkit has none: pip has the library of 13.0 in `lib`.
    pub fn make_nvvm(&self) -> io::Result<()> {
        let folder = self.nvvm().join("lib64");
        let link = folder.join("libnvvm.so");
        if link.exists() {
            return Ok(());
        }
        fs::create_dir_all(&folder)?;
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(self.toolkit.join("lib/libnvvm.so.4"), link)
    }

    /// The toolkit that warpld is told of.
    pub fn compilers_for_warpld(&self) -> PathBuf {
        match self.without_nvlink {
            true => self.work.join("without-nvlink").join(self.release.to_string()),
            false => self.toolkit.clone(),
        }
    }

    /// Makes that toolkit if it is to be one without nvlink.
    pub fn make_compilers(&self) -> io::Result<()> {
        let folder = self.compilers_for_warpld();
        if !self.without_nvlink {
            return Ok(());
        }
        for file in ["bin/ptxas", "lib/libnvJitLink.so.13"] {
            let link = folder.join(file);
            fs::create_dir_all(link.parent().unwrap_or(&folder))?;
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(self.toolkit.join(file), link)?;
        }
        Ok(())
    }

    /// The PTX of a module, in a container unless it is to be bare.
    pub fn keep_ptx(
        &self,
        module: &Module,
        compressed: bool,
        folder: &Path,
    ) -> Result<Vec<u8>, String> {
        if module.pack == Pack::Cubin {
            return Ok(module.ptx.clone().into_bytes());
        }
        let options = stored_options(&module.flags);
        let kind = if compressed { "ptx" } else { "ptx-uncompressed" };
        let key = tools::content_key(&[
            module.key(module.compiler).as_bytes(),
            options.as_bytes(),
            kind.as_bytes(),
        ]);
        let cached = self.cache().join(format!("{key}.fatbin"));
        if let Ok(bytes) = fs::read(&cached) {
            return Ok(bytes);
        }
        let [source, output] =
            ["kept.ptx", "kept"].map(|end| folder.join(format!("{}.{end}", module.name)));
        fs::write(&source, &module.ptx).map_err(|e| e.to_string())?;
        let sm = module.sm.to_string();
        let number = sm.trim_start_matches("sm_");
        let mut command = Command::new(self.compiler("fatbinary"));
        command.arg("-64").arg("--device-c").arg(format!("--cmdline={options}"));
        command.args((!compressed).then_some("--compress=false"));
        command
            .arg(format!("--image3=kind=ptx,sm={number},file={}", source.display()))
            .arg(format!("--create={}", output.display()));
        let outcome =
            tools::run(&mut command, folder, "fatbinary.log").map_err(|e| e.to_string())?;
        if outcome.status != Some(0) {
            return Err(format!("fatbinary {} failed: {}", module.name, outcome.text.trim()));
        }
        let bytes = fs::read(&output).map_err(|e| e.to_string())?;
        tools::publish(&output, &cached).map_err(|e| e.to_string())?;
        Ok(bytes)
    }
}

/// The options of ptxas as `nvcc -dc` has them stored beside PTX.
fn stored_options(flags: &[String]) -> String {
    let mut words = String::from("--compile-only  ");
    let mut flags = flags.iter().map(String::as_str).peekable();
    while let Some(flag) = flags.next() {
        match (flag, flags.peek()) {
            ("-g", _) => words += "-g --dont-merge-basicblocks --return-at-end",
            ("-lineinfo", _) => words += "--generate-line-info",
            (_, Some(value)) if !value.starts_with('-') => {
                words += &format!("{flag}={value}");
                flags.next();
            }
            _ => words += flag,
        }
        words.push(' ');
    }
    words
}

#[cfg(test)]
mod tests {
    #[test]
    fn options_are_stored_in_the_words_of_nvcc() {
        let stored = |text: &str| {
            super::stored_options(&text.split(' ').map(str::to_owned).collect::<Vec<_>>())
        };
        assert_eq!(super::stored_options(&[]), "--compile-only  ");
        assert_eq!(
            stored("-maxrregcount 24 -g"),
            "--compile-only  -maxrregcount=24 -g --dont-merge-basicblocks --return-at-end "
        );
        assert_eq!(stored("-lineinfo -O1"), "--compile-only  --generate-line-info -O1 ");
    }
}
