//! Choosing and unpacking the images of one source. Sources are picked from
//! in parallel.

use super::best_image::{Choice, choose, choose_lto_ir};
use super::check::{Limits, PlainlyFit};
use super::options::SelectOptions;
use super::scan::{Body, Source};
use super::{check, messages};
use crate::compile::{Compiler, PtxModule};
use crate::diag::{Code, Diagnostic, Severity};
use crate::dialect::target::has_mercury;
use crate::inputs::LinkInput;
use cubin::flags::{self, CodeState, Flags};
use cubin::{Arch, Cubin, Header};
use fatbin::{Compression, Container, Content, DecodeError, Entry, MAX_UNUSUAL_SIZE};
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How images are picked.
#[derive(Clone, Copy)]
pub(super) struct How<'o> {
    pub(super) options: &'o SelectOptions,
    /// The releases whose code may take part.
    pub(super) limits: Limits,
    /// Whether all are to be read, as something here looks into them.
    pub(super) read_all: bool,
    /// Who compiles PTX.
    pub(super) compiler: Option<&'o dyn Compiler>,
    /// How many bytes with an unusual compression ratio have been unpacked.
    pub(super) unusual: &'o AtomicU64,
}

impl How<'_> {
    /// Unpacks an image. All images of a link with an unusual compression ratio together are
    /// limited: many small files do not take gigabytes either.
    fn unpack<'f>(self, entry: &Entry<'f>) -> Result<Cow<'f, [u8]>, DecodeError> {
        let declared = entry.header().uncompressed_size.get();
        if entry.compression() != Compression::None && entry.ordinary_size().is_none() {
            let before = self.unusual.fetch_add(declared, Ordering::Relaxed);
            if before > 0 && before.saturating_add(declared) > MAX_UNUSUAL_SIZE {
                let limit = MAX_UNUSUAL_SIZE.saturating_sub(before);
                return Err(DecodeError::TooLarge { declared, limit });
            }
        }
        entry.payload()
    }
}

/// The LTO-IR of one source.
#[derive(Clone, Copy, Debug)]
pub(super) struct LtoIr<'f> {
    /// The container, or the file.
    pub(super) data: &'f [u8],
    /// What the container says about its compilation; files by themselves say nothing.
    pub(super) options: Option<&'f [u8]>,
}

/// PTX that stands for an image of a source.
#[derive(Debug)]
pub(super) struct Pending<'f> {
    /// The place of the image among those of the source.
    pub(super) place: usize,
    pub(super) module: PtxModule<'f>,
}

/// What one source yields.
#[derive(Debug, Default)]
pub(super) struct Picked<'f> {
    /// As a rule there is one.
    pub(super) images: SmallVec<[LinkInput<'f>; 1]>,
    /// PTX in place of images, to be compiled.
    pub(super) pending: Vec<Pending<'f>>,
    /// LTO-IR in place of an image.
    pub(super) lto: Option<LtoIr<'f>>,
    /// Whether some image was compiled.
    pub(super) compiled: bool,
    pub(super) messages: Vec<Diagnostic>,
    /// Whether some image is a whole program for others to extend.
    pub(super) whole_program: bool,
    /// Why there is no image.
    pub(super) ignored: Option<String>,
}

/// What one source yields, as a rule an image and nothing else.
#[derive(Debug)]
pub(super) enum Pick<'f> {
    Image(LinkInput<'f>),
    Other(Box<Picked<'f>>),
}

impl<'f> Pick<'f> {
    /// Chooses and unpacks, unless that was done already.
    pub(super) fn from(
        source: &Source<'f>,
        unpacked: impl Fn(&Entry<'f>) -> Option<&'f [u8]>,
        how: How<'_>,
    ) -> Self {
        if let Body::Cubin(data) = source.body
            && let Some(fit) = is_plainly_fit(data, how)
            && !fit.is_whole_program
        {
            return Self::Image(LinkInput {
                name: source.name.clone(),
                image: Cow::Borrowed(data),
                parsed: None,
                toolkit: fit.toolkit,
                system_library: source.system_library,
            });
        }
        let mut picked = Picked::from(source, unpacked, how);
        let is_plain = picked.images.len() == 1
            && picked.pending.is_empty()
            && picked.lto.is_none()
            && picked.messages.is_empty()
            && !picked.whole_program
            && picked.ignored.is_none();
        let image = if is_plain { picked.images.pop() } else { None };
        image.map_or_else(|| Self::Other(Box::new(picked)), Self::Image)
    }

    /// Whether the selection ends here.
    pub(super) fn is_refused(&self) -> bool {
        let is_fatal = |message: &Diagnostic| message.severity == Severity::Fatal;
        matches!(self, Self::Other(picked) if picked.messages.iter().any(is_fatal))
    }

    /// The image, if there is nothing else.
    pub(super) fn image(self) -> Option<LinkInput<'f>> {
        match self {
            Self::Image(image) => Some(image),
            Self::Other(_) => None,
        }
    }

    /// All of it.
    pub(super) fn all(self) -> Picked<'f> {
        match self {
            Self::Image(image) => Picked { images: smallvec![image], ..Picked::default() },
            Self::Other(picked) => *picked,
        }
    }
}

/// What is known of an image that need not be read to see that it takes part.
fn is_plainly_fit(image: &[u8], how: How<'_>) -> Option<PlainlyFit> {
    if how.read_all {
        return None;
    }
    check::is_plainly_fit(image, how.options.arch, how.limits)
}

/// Whether an image has machine code alone where the target has Mercury code. nvlink tells that
/// before it looks at the architecture. [objects for sm_75 to sm_90a, for all later targets]
fn is_limiting(image: &[u8], target: Arch) -> bool {
    let is_machine_code = |header: Header| Flags::decode(&header).state() == CodeState::Sass;
    has_mercury(target) && Header::parse(image).is_ok_and(is_machine_code)
}

impl<'f> Picked<'f> {
    /// Chooses and unpacks, unless that was done already.
    pub(super) fn from(
        source: &Source<'f>,
        unpacked: impl Fn(&Entry<'f>) -> Option<&'f [u8]>,
        how: How<'_>,
    ) -> Self {
        let options = how.options;
        let mut picked = Self::default();
        match &source.body {
            Body::Cubin(data) => picked.add(source, Cow::Borrowed(data), how),
            Body::LtoIr(data) => picked.take_lto_file(source, data, options),
            Body::Ptx(text) if how.compiler.is_some() => {
                picked.compile_later(source, Cow::Borrowed(text), &[], options.arch);
            }
            Body::Ptx(_) => {
                picked.messages.push(messages::ptx_only(&source.name, "a PTX file", options.arch));
            }
            Body::Fatbins(containers) => {
                let mut unfit = Vec::new();
                for container in containers {
                    picked.pick_from(source, (container, &unpacked), how, &mut unfit);
                }
                if !unfit.is_empty() {
                    picked.not_found(source, options, &unfit);
                }
            }
        }
        picked
    }

    /// Picks from one container, whose image may be unpacked already; where nothing
    /// fits, what it has is added to `unfit`.
    fn pick_from(
        &mut self,
        source: &Source<'f>,
        (container, unpacked): (&Container<'f>, impl Fn(&Entry<'f>) -> Option<&'f [u8]>),
        how: How<'_>,
        unfit: &mut Vec<String>,
    ) {
        let (name, options) = (&source.name, how.options);
        let entries = match container.flat_entries() {
            Ok(entries) => entries,
            Err(error) => return self.messages.push(messages::damaged_fatbin(name, error)),
        };
        if options.lto.is_some()
            && let Some(entry) = choose_lto_ir(&entries, options.arch)
            && how.compiler.is_some_and(|compiler| compiler.compiles_lto())
        {
            return self.take_lto_ir(container, entry);
        }
        let code = match choose(&entries, options.arch, how.limits.release) {
            Choice::MachineCode(code) => code,
            Choice::MachineCodeOverPtx { ptx, .. }
                if how.compiler.is_some_and(|compiler| compiler.compiles_ptx()) =>
            {
                return self.compile_entry_later(source, ptx, how);
            }
            Choice::MachineCodeOverPtx { code, ptx } => {
                self.messages.push(messages::code_over_ptx(name, code, ptx));
                code
            }
            Choice::Ptx(ptx) if how.compiler.is_some() => {
                return self.compile_entry_later(source, ptx, how);
            }
            Choice::Ptx(ptx) => {
                let what = messages::describe(ptx);
                return self.messages.push(messages::ptx_only(name, &what, options.arch));
            }
            Choice::LtoIr(entry) if options.lto.is_some() && how.compiler.is_some() => {
                return self.take_lto_ir(container, entry);
            }
            Choice::LtoIr(_) => return self.messages.push(messages::lto_only(name)),
            Choice::Nothing if entries.is_empty() => return unfit.push("no image at all".into()),
            Choice::Nothing => return unfit.extend(entries.iter().map(messages::describe)),
        };
        match unpacked(code).map_or_else(|| how.unpack(code), |image| Ok(Cow::Borrowed(image))) {
            Ok(image) => self.add(source, image, how),
            Err(error) => self.messages.extend(messages::damaged_payload(name, error)),
        }
    }

    /// Takes the LTO-IR of a container. As in nvlink, the first container of an object counts.
    fn take_lto_ir(&mut self, container: &Container<'f>, entry: &Entry<'f>) {
        let options = Some(entry.options().unwrap_or_default());
        self.lto.get_or_insert(LtoIr { data: container.bytes(), options });
    }

    /// Takes LTO-IR that is a file of its own.
    fn take_lto_file(&mut self, source: &Source<'f>, data: &'f [u8], options: &SelectOptions) {
        if options.lto.is_none() {
            self.messages.push(messages::lto_not_asked_for(&source.name));
        } else if Content::of(data) != Content::LtoIr {
            self.messages.push(messages::not_lto_ir(&source.name));
        } else {
            self.lto = Some(LtoIr { data, options: None });
        }
    }

    /// Leaves the PTX of a container to be compiled.
    fn compile_entry_later(&mut self, source: &Source<'f>, entry: &Entry<'f>, how: How<'_>) {
        let target = how.options.arch;
        match how.unpack(entry) {
            Ok(text) => {
                self.compile_later(source, text, entry.options().unwrap_or_default(), target);
            }
            Err(error) => self.messages.extend(messages::damaged_payload(&source.name, error)),
        }
    }

    /// Leaves PTX to be compiled.
    fn compile_later(
        &mut self,
        source: &Source<'f>,
        text: Cow<'f, [u8]>,
        options: &'f [u8],
        target: Arch,
    ) {
        let place = self.images.len() + self.pending.len();
        let text = match text {
            Cow::Borrowed(text) => Cow::Borrowed(c_string(text)),
            Cow::Owned(text) => Cow::Owned(c_string(&text).to_vec()),
        };
        let options = Cow::Borrowed(c_string(options));
        let name = source.name.clone();
        let module = PtxModule { name, text, options, target, relocatable: true };
        self.pending.push(Pending { place, module });
    }

    fn add(&mut self, source: &Source<'f>, image: Cow<'f, [u8]>, how: How<'_>) {
        self.add_at(self.images.len(), source, image, how);
    }

    /// Checks an image and gives it a place among the others.
    pub(super) fn add_at(
        &mut self,
        place: usize,
        source: &Source<'f>,
        image: Cow<'f, [u8]>,
        how: How<'_>,
    ) {
        match self.check(&source.name, &image, how) {
            Err(message) => {
                let target = how.options.arch;
                if message.code == Code::ArchMismatch && is_limiting(&image, target) {
                    self.messages.push(messages::limited_output(&source.name, target));
                }
                self.messages.push(message);
            }
            Ok(parsed) => {
                let input = LinkInput {
                    name: source.name.clone(),
                    toolkit: flags::glance(&image).map_or(0, |(_, info)| info.toolkit.get()),
                    image,
                    parsed,
                    system_library: source.system_library,
                };
                self.images.insert(place.min(self.images.len()), input);
            }
        }
    }

    /// Checks an image; the cubin, if it was read and the image will stay where it is.
    fn check(
        &mut self,
        name: &str,
        image: &Cow<'f, [u8]>,
        how: How<'_>,
    ) -> Result<Option<Arc<Cubin<'f>>>, Diagnostic> {
        if let Some(fit) = is_plainly_fit(image, how) {
            self.whole_program |= fit.is_whole_program;
            return Ok(None);
        }
        let whole_program = |cubin: &Cubin<'_>| cubin.header().is_whole_program();
        let (parsed, whole_program) = match *image {
            Cow::Borrowed(image) => {
                let cubin = check::check(name, image, how.options.arch, how.limits)?;
                let whole_program = whole_program(&cubin);
                (Some(Arc::new(cubin)), whole_program)
            }
            Cow::Owned(ref image) => {
                (None, whole_program(&check::check(name, image, how.options.arch, how.limits)?))
            }
        };
        self.whole_program |= whole_program;
        Ok(parsed)
    }

    /// Only inputs named on the command line are worth a warning; archives
    /// are often made for fewer architectures.
    fn not_found(&mut self, source: &Source<'f>, options: &SelectOptions, unfit: &[String]) {
        let has = unfit.join(", ");
        if source.archive.is_none() && !options.suppress_arch_warning {
            let (name, strict) = (&source.name, options.strict);
            self.messages.push(messages::arch_not_found(name, options.arch, &has, strict));
        }
        self.ignored = Some(format!("nothing in it fits {}: it has {has}", options.arch));
    }
}

/// Bytes up to the first NUL.
fn c_string(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}
