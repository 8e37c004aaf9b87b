//! The device images of a file, whatever contains them: for commands that show or compare images.

use crate::files::{Opened, whole};
use clap::Args;
use cubin::Arch;
use cubin_tools::extract::{Sections, Walk, name_images, stem};
use fatbin::{Content, Kind};
use libwarpld::driver::InputFile;
use std::borrow::Cow;
use std::io;
use std::path::Path;

/// Which images of a container are meant.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct Choice {
    /// Only images for this architecture, such as sm_90
    #[arg(long, value_name = "ARCH")]
    pub arch: Option<Arch>,
    /// Only the image with this number, or images whose name contains this text; 'warpld extract
    /// --list' shows both
    #[arg(long, value_name = "N|TEXT")]
    pub image: Option<String>,
    /// Look into relocatable code too where a file has linked code
    #[arg(long)]
    pub all: bool,
}

/// A file of the command line.
pub(super) enum File {
    Opened(Opened),
    Stream(io::Result<Vec<u8>>),
}

/// A device ELF file, and what to call it.
pub(super) struct Image<'f> {
    pub(super) name: String,
    pub(super) bytes: Cow<'f, [u8]>,
}

impl File {
    /// Opens a file; `-` is standard input.
    pub(super) fn open(path: &Path) -> Self {
        match path == Path::new("-") {
            true => Self::Stream(whole::read_to_end(io::stdin().lock())),
            false => Self::Opened(Opened::file(path, false)),
        }
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::Opened(opened) => &opened.name,
            Self::Stream(_) => "-",
        }
    }

    /// What the names of its images begin with.
    pub(super) fn stem(&self) -> String {
        match self {
            Self::Opened(opened) => stem(&opened.name),
            // Files whose names begin with a dash are awkward to handle.
            Self::Stream(_) => "stdin".into(),
        }
    }

    /// The file as the linker sees it.
    pub(super) fn input(&self) -> InputFile<'_> {
        match self {
            Self::Opened(opened) => opened.input(),
            Self::Stream(Ok(bytes)) => InputFile::new("-", bytes),
            Self::Stream(Err(error)) => {
                InputFile { data: Err(error.to_string()), ..InputFile::new("-", &[]) }
            }
        }
    }

    /// The device ELF files in it that are meant, and what is wrong with the others.
    pub(super) fn images(&self, choice: &Choice) -> (Vec<Image<'_>>, Vec<String>) {
        let input = self.input();
        let sections = if choice.all { Sections::All } else { Sections::LinkedFirst };
        let walk = Walk::new(&input, sections);
        let mut errors: Vec<String> = walk.errors.iter().map(ToString::to_string).collect();
        let named = name_images(&self.stem(), walk.images);
        let found = named.len();
        let mut images = Vec::new();
        for named in named {
            let image = &named.image;
            let is_meant = image.kind == Kind::ELF
                && choice.arch.is_none_or(|arch| arch == image.arch)
                && choice.image.as_ref().is_none_or(|text| match text.parse::<usize>() {
                    Ok(wanted) => wanted == named.number,
                    Err(_) => named.name.contains(text.as_str()),
                });
            if !is_meant {
                continue;
            }
            let name = match (&image.member, image.bare) {
                (_, true) => self.name().to_owned(),
                (Some(member), _) => format!("{}:{member}:{}", self.name(), named.name),
                (None, _) => format!("{}:{}", self.name(), named.name),
            };
            match image.payload() {
                Ok(bytes) => images.push(Image { name, bytes }),
                Err(error) => errors.push(format!("{}: {error}", named.name)),
            }
        }
        if images.is_empty() && errors.is_empty() {
            errors.push(nothing(&input, found, choice));
        }
        (images, errors)
    }

    /// The only image that is meant.
    pub(super) fn one_image(&self, choice: &Choice) -> Result<Image<'_>, String> {
        let (mut images, errors) = self.images(choice);
        match (images.len(), errors.first()) {
            (1, _) => Ok(images.remove(0)),
            (0, Some(error)) => Err(error.clone()),
            (count, _) => {
                let names: Vec<&str> = images.iter().take(3).map(|image| &*image.name).collect();
                let more = if count > 3 { ", …" } else { "" };
                let names = names.join(", ");
                Err(format!("{count} images, choose by --arch or --image: {names}{more}"))
            }
        }
    }
}

/// Why a file has no image.
fn nothing(input: &InputFile<'_>, found: usize, choice: &Choice) -> String {
    match input.data.as_ref().map_or(Content::Unknown, |data| Content::of(data)) {
        _ if found > 0 && choice.arch.is_none() && choice.image.is_none() => {
            "only PTX or LTO-IR in it, and no machine code; 'warpld extract --list' shows it".into()
        }
        _ if found > 0 => {
            "no image that fits --arch and --image; 'warpld extract --list' shows all".into()
        }
        Content::HostElf | Content::HostCoff => "a host file without device code".into(),
        Content::Archive | Content::Fatbin => "no device code in it".into(),
        Content::Empty => "it is empty".into(),
        _ => "neither a device ELF file nor a container of one".into(),
    }
}
