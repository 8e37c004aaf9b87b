//! PTX that was picked in place of machine code, and what a compiler makes of it.

use super::messages;
use super::scan::Source;
use super::source_images::{How, Pick, Picked};
use crate::collections::Map;
use crate::compile::{Compiled, Compiler, Failure, PtxModule};
use std::borrow::Cow;

/// The compilations of a link. A selection may be made twice, for want of a release that only
/// the images tell, but nothing is compiled twice.
#[derive(Default)]
pub(super) struct Compilations<'c> {
    pub(super) compiler: Option<&'c dyn Compiler>,
    done: Map<Key, Compiled>,
    /// The text and the code of all LTO-IR.
    lto_text: Option<Compiled>,
    lto_image: Option<Compiled>,
}

/// A step of the scan, and the place of the image in it.
type Key = (usize, usize);

impl<'c> Compilations<'c> {
    pub(super) fn new(compiler: Option<&'c dyn Compiler>) -> Self {
        Self { compiler, ..Self::default() }
    }

    /// The text of all LTO-IR, made once.
    pub(super) fn lto_text(&mut self, make: impl FnOnce() -> Compiled) -> &Compiled {
        self.lto_text.get_or_insert_with(make)
    }

    /// The code of all LTO-IR, made once.
    pub(super) fn lto_image(&mut self, make: impl FnOnce() -> Compiled) -> &Compiled {
        self.lto_image.get_or_insert_with(make)
    }

    /// Compiles what is pending among `picks`, all at once, and puts the images in place.
    pub(super) fn finish<'f>(
        &mut self,
        sources: &[Option<&Source<'f>>],
        picks: &mut [Option<Pick<'f>>],
        how: How<'_>,
    ) {
        let mut waiting = picks.iter_mut().enumerate().filter_map(|(step, pick)| match pick {
            Some(Pick::Other(picked)) if !picked.pending.is_empty() => Some((step, &mut **picked)),
            _ => None,
        });
        let mut waiting: Vec<(usize, &mut Picked<'f>)> = waiting.by_ref().collect();
        if waiting.is_empty() {
            return;
        }
        self.compile(&waiting);
        for (step, picked) in &mut waiting {
            if let Some(Some(source)) = sources.get(*step) {
                self.put(*step, source, picked, how);
            }
        }
    }

    /// The same for a single source.
    pub(super) fn finish_one<'f>(
        &mut self,
        step: usize,
        source: &Source<'f>,
        picked: &mut Picked<'f>,
        how: How<'_>,
    ) {
        self.compile(&[(step, picked)]);
        self.put(step, source, picked, how);
    }

    /// Compiles what has not been compiled yet.
    fn compile<'f>(&mut self, waiting: &[(usize, &mut Picked<'f>)]) {
        let Some(compiler) = self.compiler else { return };
        let pending = waiting.iter().flat_map(|(step, picked)| {
            picked.pending.iter().map(|pending| ((*step, pending.place), &pending.module))
        });
        let new: Vec<(Key, &PtxModule<'f>)> =
            pending.filter(|(key, _)| !self.done.contains_key(key)).collect();
        if new.is_empty() {
            return;
        }
        let (keys, modules): (Vec<Key>, Vec<PtxModule<'f>>) =
            new.into_iter().map(|(key, module)| (key, module.clone())).unzip();
        self.done.extend(keys.into_iter().zip(compiler.ptx(&modules)));
    }

    /// Puts the images of a source in place, with what the compiler said of each.
    fn put<'f>(&self, step: usize, source: &Source<'f>, picked: &mut Picked<'f>, how: How<'_>) {
        for pending in std::mem::take(&mut picked.pending) {
            let Some(compiled) = self.done.get(&(step, pending.place)) else {
                // A compiler owes one result for each module.
                return picked.messages.push(messages::not_compiled(&source.name));
            };
            if !compiled.messages.is_empty() {
                picked.messages.push(messages::compiler_said(&source.name, &compiled.messages));
            }
            match &compiled.output {
                Ok(image) => {
                    picked.compiled = true;
                    picked.add_at(pending.place, source, Cow::Owned(image.clone()), how);
                }
                Err(Failure::Refused) => {
                    let refused = messages::ptx_refused(&source.name, &compiled.messages);
                    return picked.messages.push(refused);
                }
                Err(Failure::Unavailable(reason)) => {
                    return picked.messages.push((**reason).clone());
                }
            }
        }
    }
}
