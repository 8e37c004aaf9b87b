//! `.note.nv.tkinfo`: the tools that built the inputs and the output.

use crate::linked::Linked;
use crate::object::{MergeClass, Object};
use cubin::note::{NoteType, ToolInfo, write_note};
use rayon::prelude::*;
use std::ops::Range;

/// The linker's note, then the inputs' in order (not in a relocatable file). Those are copied only
/// while the file is written: thousands of inputs have megabytes of them.
#[derive(Debug)]
pub struct ToolNotes<'a> {
    own: Vec<u8>,
    inputs: Vec<&'a [u8]>,
}

impl<'a> ToolNotes<'a> {
    /// Finds them all.
    pub(super) fn collect(linked: Linked<'a, '_>) -> Self {
        let (config, release) = (linked.cx.config, linked.cx.dialect.release());
        let (identity, command_line) = (&config.identity, config.note_command_line());
        let info = ToolInfo {
            version: 2,
            object: config.note_object_name.as_bytes(),
            tool: identity.tool.as_bytes(),
            release: identity.version.as_deref().unwrap_or(release.note_version).as_bytes(),
            build: identity.build.as_deref().unwrap_or(release.note_build).as_bytes(),
            options: command_line.as_bytes(),
        };
        let mut own = Vec::new();
        write_note(NoteType::TKINFO, &info.to_desc(), &mut own);
        let inputs = match config.relocatable {
            true => Vec::new(),
            false => linked.cx.objects.par_iter().flat_map_iter(notes_of).collect(),
        };
        Self { own, inputs }
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&self.own[..]).chain(self.inputs.iter().copied())
    }

    /// Total size.
    pub fn size(&self) -> usize {
        self.iter().map(<[u8]>::len).sum()
    }

    /// All notes in one buffer.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = vec![0; self.size()];
        self.write(0..out.len(), &mut out);
        out
    }

    /// Writes this range of them.
    pub fn write(&self, part: Range<usize>, mut out: &mut [u8]) {
        let mut start = 0;
        for note in self.iter() {
            if out.is_empty() {
                break;
            }
            if start + note.len() <= part.start {
                start += note.len();
                continue;
            }
            let within = |at: usize| at.clamp(start, start + note.len()) - start;
            let bytes = &note[within(part.start)..within(part.end)];
            let (place, after) = out.split_at_mut(bytes.len());
            place.copy_from_slice(bytes);
            out = after;
            start += note.len();
        }
    }
}

/// The notes of the tools that built an input. [`relink-partial`, `older-toolkit`, `messages`]
fn notes_of<'a>(object: &Object<'a>) -> impl Iterator<Item = &'a [u8]> {
    let classes = object.classes.iter().enumerate();
    let notes = classes.filter(|(_, class)| **class == MergeClass::ToolNote);
    notes.map(|(i, _)| object.section_data(i as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any part equals the same range of all notes concatenated.
    #[test]
    fn parts_of_notes() {
        let notes = ToolNotes { own: b"own".to_vec(), inputs: vec![b"first", b"", b"2", b"third"] };
        let all = b"ownfirst2third";
        assert_eq!(notes.size(), all.len());
        for start in 0..all.len() {
            for end in start..=all.len() {
                let mut out = vec![0; end - start];
                notes.write(start..end, &mut out);
                assert_eq!(out, all[start..end]);
            }
        }
    }
}
