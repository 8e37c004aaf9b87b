//! The life of a link, from Create to Destroy.

use crate::forward;
use crate::images::{self, Image, Looked};
use crate::input::{self, Input, Kind, Name};
use crate::log::Log;
use crate::native::{self, Linked};
use crate::options::{self, Options};
use crate::ptxas;
use crate::real::{self, Handle};
use crate::result::{Code, Major, Refusal};
use crate::settings;
use libwarpld::Release;
use libwarpld::compile::Compiler as _;
use std::ffi::{CStr, CString, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Instant;
use std::{fs, io};

/// One link.
pub(crate) struct Session {
    major: Major,
    /// As they were given.
    texts: Vec<CString>,
    /// None if one of them was refused.
    options: Option<Options>,
    /// The release that the link stands for, if a setting fixes it.
    release: Option<&'static Release>,
    /// Goes on with the link, once something must be compiled.
    remote: Option<Handle>,
    /// What was added and accepted.
    inputs: Vec<Input>,
    /// The device code of these.
    images: Vec<Image>,
    /// Whether Complete was called, and what it came to.
    completed: Option<Option<Vec<u8>>>,
    error_log: Log,
    info_log: Log,
    created: Instant,
}

/// What a link can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Product {
    Cubin,
    Ptx,
    LtoIr,
    ErrorLog,
    InfoLog,
}

impl Product {
    fn is_text(self) -> bool {
        matches!(self, Self::Ptx | Self::ErrorLog | Self::InfoLog)
    }
}

impl Session {
    /// A link with these options. One whose options are refused can still be asked for its log.
    pub(crate) fn new(major: Major, texts: Vec<CString>) -> (Self, Code) {
        let mut session = Self {
            major,
            texts,
            options: None,
            release: settings::release(),
            remote: None,
            inputs: Vec::new(),
            images: Vec::new(),
            completed: None,
            error_log: Log::default(),
            info_log: Log::default(),
            created: Instant::now(),
        };
        let texts: Vec<_> = session.texts.iter().map(|text| text.to_string_lossy()).collect();
        let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
        match options::parse(&texts, session.release) {
            Ok(options) => {
                session.options = Some(options);
                (session, Code::Success)
            }
            Err(refusal) => {
                let code = session.refuse(refusal);
                (session, code)
            }
        }
    }

    /// Adds bytes.
    pub(crate) fn add(&mut self, number: c_int, data: &[u8], name: Option<&CStr>) -> Code {
        let name = Name::new(name);
        match self.try_add(number, data, name) {
            Ok(()) => Code::Success,
            Err(refusal) => self.refuse(refusal),
        }
    }

    /// Adds a file.
    pub(crate) fn add_file(&mut self, number: c_int, path: &CStr) -> Code {
        match read_file(Path::new(std::ffi::OsStr::from_bytes(path.to_bytes()))) {
            Ok(data) => self.add(number, &data, Some(path)),
            Err(_) => {
                let line = format!("no such file: {}", path.to_string_lossy());
                self.refuse(Refusal::new(Code::InvalidInput, line))
            }
        }
    }

    fn try_add(&mut self, number: c_int, data: &[u8], name: Name) -> Result<(), Refusal> {
        let kind = input::classify(number, data, &name)?;
        let Some(options) = self.options.as_ref().filter(|_| self.completed.is_none()) else {
            let line = format!("ERROR 1: empty elfw when adding cubin{}", name.text());
            return Err(Refusal::new(Code::Internal, line));
        };
        let lto = options.lto;
        if kind == Kind::LtoIr && !lto {
            return Err(images::lto_not_enabled());
        }
        let input = Input { kind, data: data.into(), name };
        let mut found = Vec::new();
        // Whoever goes on with the link gets no damaged file: it might not survive it.
        if !matches!(kind, Kind::Ptx | Kind::LtoIr | Kind::Index) {
            match images::look_into(&input, options, self.release)? {
                Looked::Images(images) if !lto => found = images,
                Looked::Images(images) if self.remote.is_none() => {
                    found = images;
                    self.forward_if_there(Some(&input))?;
                }
                Looked::Images(_) => {}
                Looked::NeedsCompiler(reason) => found = self.forward(&input, &reason)?,
                Looked::Unfit(_) if self.remote.is_some() => {}
                Looked::Unfit(refusal) => return Err(refusal),
            }
        } else {
            found = self.forward(&input, &format!("'{}' must be compiled", input.name.text()))?;
        }
        if let Some(remote) = &mut self.remote {
            forward::add(remote, &input).map_err(Refusal::silent)?;
        }
        self.images.extend(found);
        self.inputs.push(input);
        Ok(())
    }

    /// Lets another library go on with the link, which has come to something to compile. If there is none,
    /// PTX may be compiled here: then it is the code of the input.
    fn forward(&mut self, input: &Input, reason: &str) -> Result<Vec<Image>, Refusal> {
        let lto = self.options.as_ref().is_some_and(|options| options.lto);
        if self.remote.is_some() {
            return Ok(Vec::new());
        }
        match forward::start(self.major, &self.texts, &self.inputs, reason) {
            Ok(remote) => self.remote = Some(remote),
            Err(stopped @ forward::Stopped::Missing(_)) => {
                let assembled = self.assemble(input);
                return assembled.unwrap_or_else(|| Err(stopped.refusal(input, lto)));
            }
            Err(stopped) => return Err(stopped.refusal(input, lto)),
        }
        Ok(Vec::new())
    }

    /// Compiles PTX by the ptxas of a toolkit. None if that is not to be had, or not what the input needs.
    fn assemble(&mut self, input: &Input) -> Option<Result<Vec<Image>, Refusal>> {
        let options = self.options.as_ref().filter(|options| !options.lto)?;
        if matches!(input.kind, Kind::Cubin | Kind::LtoIr | Kind::Index) {
            return None;
        }
        let compiler = ptxas::compiler(&self.texts);
        if !compiler.compiles_ptx() {
            return None;
        }
        let mut said = Vec::new();
        let images = images::compile(input, options, self.release, &compiler, &mut said);
        let program = compiler.used().map(|path| path.display().to_string()).unwrap_or_default();
        settings::trace(|| format!("'{}' compiled by {program}", input.name.text()));
        said.iter().for_each(|line| self.info_log.line(line));
        Some(images)
    }

    /// The same for a link with `-lto`, which may end without anything to compile.
    fn forward_if_there(&mut self, input: Option<&Input>) -> Result<(), Refusal> {
        match forward::start(self.major, &self.texts, &self.inputs, "-lto was given") {
            Ok(remote) => self.remote = Some(remote),
            Err(stopped @ forward::Stopped::Refused(..)) if input.is_some() => {
                return input.map_or(Ok(()), |input| Err(stopped.refusal(input, true)));
            }
            Err(_) => {}
        }
        Ok(())
    }

    /// Links.
    pub(crate) fn complete(&mut self) -> Code {
        let Some(options) = self.options.clone().filter(|_| self.completed.is_none()) else {
            return Code::Internal;
        };
        if options.lto && self.remote.is_none() && self.inputs.is_empty() {
            let _ = self.forward_if_there(None);
        }
        self.completed = Some(None);
        if let Some(remote) = &mut self.remote {
            return remote.complete().err().map_or(Code::Success, of_refusal);
        }
        if options.lto {
            let line = "ERROR in nvvmCompileProgram: NVVM_ERROR_NO_MODULE_IN_PROGRAM";
            return self.refuse(Refusal::new(Code::NvvmCompile, line));
        }
        settings::trace(|| format!("linking {} images for {}", self.images.len(), options.arch));
        if options.time {
            let time = milliseconds(self.created);
            self.info_log.line(&format!("nvJitLink time until Complete: {time}"));
        }
        let start = Instant::now();
        let Linked { cubin, code } = native::link(
            &self.images,
            &options,
            self.release,
            &mut self.error_log,
            &mut self.info_log,
        );
        if options.time {
            let time = milliseconds(start);
            self.info_log.line(&format!("nvJitLinkComplete time to finish: {time}"));
        }
        self.completed = Some(cubin);
        code
    }

    /// A product, with the closing NUL of a text; an empty text has none.
    pub(crate) fn get(&self, product: Product) -> Result<Vec<u8>, Code> {
        let own = self.own(product);
        let mut bytes = match &self.remote {
            None => own?.to_vec(),
            // Lines of this library, as far as there are any, then those of the other one.
            Some(remote) => match product {
                Product::ErrorLog => [own?, &remote.error_log()].concat(),
                Product::InfoLog => [own?, &remote.info_log()].concat(),
                Product::Cubin => remote.cubin().map_err(of_refusal)?,
                Product::Ptx => remote.ptx().map_err(of_refusal)?,
                Product::LtoIr => remote
                    .lto_ir()
                    .or_else(|refusal| self.sole_module().ok_or(of_refusal(refusal)))?,
            },
        };
        if product.is_text() && !bytes.is_empty() {
            bytes.push(0);
        }
        Ok(bytes)
    }

    /// The LTO-IR of a link that has no other input, where NVIDIA's library is older than the function that
    /// gives it (13.2): what is linked then is the input itself. Newer libraries also optimize it.
    fn sole_module(&self) -> Option<Vec<u8>> {
        let is_linked = self.completed.is_some();
        let is_older = self.remote.as_ref().is_some_and(|remote| !remote.has_lto_ir());
        match self.inputs.as_slice() {
            [input] if input.kind == Kind::LtoIr && is_linked && is_older => {
                Some(input.data.to_vec())
            }
            _ => None,
        }
    }

    /// What this library has of a product, without a closing NUL.
    fn own(&self, product: Product) -> Result<&[u8], Code> {
        match product {
            Product::ErrorLog => Ok(self.error_log.as_bytes()),
            Product::InfoLog => Ok(self.info_log.as_bytes()),
            Product::Cubin => {
                self.completed.as_ref().and_then(Option::as_deref).ok_or(Code::Internal)
            }
            Product::Ptx if self.options.as_ref().is_some_and(|options| options.ptx) => {
                Err(Code::Internal)
            }
            Product::LtoIr if self.options.as_ref().is_some_and(|options| options.lto) => {
                Err(Code::Internal)
            }
            Product::Ptx | Product::LtoIr => Err(Code::InvalidInput),
        }
    }

    fn refuse(&mut self, refusal: Refusal) -> Code {
        if let Some(line) = &refusal.line {
            self.error_log.line(line);
        }
        refusal.code
    }
}

/// Reads a file. Pipes and devices are none: they may have no end, or wait for one who writes.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    match fs::metadata(path)?.is_file() {
        true => fs::read(path),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn of_refusal(refusal: real::Refusal) -> Code {
    Code::of_number(refusal.0)
}

fn milliseconds(since: Instant) -> String {
    format!("{:.6}", since.elapsed().as_micros() as f64 / 1000.0)
}
