//! The properties of relocation kinds that the linker needs.

use crate::config::Config;
use crate::dialect::Half;
use cubin::RelocKind;
use cubin::reloc;

/// Properties of relocation kinds, looked up again and again.
pub(super) struct Kinds {
    /// The first kind.
    first: u32,
    info: &'static [KindInfo],
    /// Whether addresses through the unified tables stay what they are.
    keeps_unified: bool,
}

/// Properties of one kind.
#[derive(Clone, Copy)]
pub(super) struct KindInfo {
    pub linker_applies: bool,
    /// Whether it clears its field if the code it refers to is dead.
    pub clears: bool,
    /// Whether it changes instructions that yield, which no tool does any more.
    pub yields: bool,
    /// Bytes that it may change, starting at its offset.
    pub span: u8,
    /// The kind for an ordinary address.
    plain: RelocKind,
}

static MACHINE: [KindInfo; reloc::CUDA_KINDS] = properties(0);
static MERCURY: [KindInfo; reloc::MERCURY_KINDS] = properties(reloc::MERCURY_BASE);

/// The properties of the kinds from a number on. The compiler evaluates it: in a link of two
/// objects it took every fiftieth instruction.
const fn properties<const KINDS: usize>(first: u32) -> [KindInfo; KINDS] {
    let mut all = [KindInfo::of(RelocKind(first)); KINDS];
    let mut number = 0;
    while number < KINDS {
        all[number] = KindInfo::of(RelocKind(first + number as u32));
        number += 1;
    }
    all
}

impl KindInfo {
    const fn of(kind: RelocKind) -> Self {
        let span = match kind.info() {
            Some(known) => known.span() as u8,
            None => 0,
        };
        Self {
            linker_applies: kind.linker_applies(),
            clears: kind.clears_unused(),
            yields: kind.removes_yield(),
            span,
            plain: kind.without_unified_table(),
        }
    }
}

impl Kinds {
    /// The kinds of one half of the inputs.
    pub fn new(config: &Config, half: Half) -> Self {
        let (first, info): (u32, &'static [KindInfo]) = match half {
            Half::Mercury => (reloc::MERCURY_BASE, &MERCURY),
            Half::Machine => (0, &MACHINE),
        };
        Self { first, info, keeps_unified: keeps_unified(config) }
    }

    /// The properties of a kind, if that half can have it.
    #[inline]
    pub fn get(&self, kind: RelocKind) -> Option<&'static KindInfo> {
        self.info.get(kind.0.checked_sub(self.first)? as usize)
    }

    /// The kind that stands for `kind`, with these properties, when it is emitted.
    #[inline]
    pub fn emitted(&self, kind: RelocKind, info: &KindInfo) -> RelocKind {
        if self.keeps_unified { kind } else { info.plain }
    }
}

/// Unified-table kinds become their plain counterparts in an executable without an index of unified
/// symbols.
pub fn final_kind(config: &Config, kind: RelocKind) -> RelocKind {
    if keeps_unified(config) { kind } else { kind.without_unified_table() }
}

fn keeps_unified(config: &Config) -> bool {
    config.relocatable || config.uidx.is_some()
}
