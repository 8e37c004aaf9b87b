//! The properties of relocation kinds that the linker needs.

use crate::config::Config;
use crate::dialect::Half;
use cubin::RelocKind;
use cubin::reloc::{self, RelocInfo};

/// Properties of relocation kinds, looked up again and again.
pub(super) struct Kinds {
    /// The first kind.
    first: u32,
    info: Vec<KindInfo>,
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
    /// The kind when it is emitted.
    pub emitted: RelocKind,
}

impl Kinds {
    /// The kinds of one half of the inputs.
    pub fn new(config: &Config, half: Half) -> Self {
        let (first, table): (u32, fn(RelocKind) -> Option<&'static RelocInfo>) = match half {
            Half::Mercury => (reloc::MERCURY_BASE, reloc::mercury),
            Half::Machine => (0, reloc::cuda),
        };
        let info = |number| {
            let kind = RelocKind(number);
            let known = table(kind)?;
            Some(KindInfo {
                linker_applies: kind.linker_applies(),
                clears: kind.clears_unused(),
                yields: kind.removes_yield(),
                span: known.span() as u8,
                emitted: final_kind(config, kind),
            })
        };
        Self { first, info: (first..).map_while(info).collect() }
    }

    /// The properties of a kind, if that half can have it.
    #[inline]
    pub fn get(&self, kind: RelocKind) -> Option<&KindInfo> {
        self.info.get(kind.0.checked_sub(self.first)? as usize)
    }
}

/// Unified-table kinds become their plain counterparts in an executable without an index of unified
/// symbols.
pub fn final_kind(config: &Config, kind: RelocKind) -> RelocKind {
    if config.relocatable || config.uidx.is_some() {
        return kind;
    }
    kind.without_unified_table()
}
