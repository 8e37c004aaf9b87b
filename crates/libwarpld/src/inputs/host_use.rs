//! What host code says about the kernels it uses.

use crate::inputs::HostReferences;
use fatbin::HostReferenceLists;

/// What an input says about the use that host code makes of kernels.
#[derive(Clone, Debug)]
pub(crate) enum HostSide<'f> {
    /// Does not count.
    Neutral,
    /// Device code, or host code, that does not say.
    Silent,
    /// Lists; few inputs of a large link have some.
    Lists(Box<HostReferenceLists<'f>>),
}

/// Pools what inputs say about the use of kernels.
#[derive(Debug, Default)]
pub(crate) struct HostUse {
    references: HostReferences,
    any_kernel: bool,
    someone_is_silent: bool,
}

impl HostUse {
    /// Takes one input into account.
    pub(crate) fn add(&mut self, side: &HostSide<'_>) {
        let lists = match side {
            HostSide::Neutral => return,
            HostSide::Silent => {
                self.someone_is_silent = true;
                return;
            }
            HostSide::Lists(lists) => lists,
        };
        // An empty list is one byte.
        let longer = |list: Option<&[u8]>| list.is_some_and(|l| l.len() > 1);
        self.any_kernel |= longer(lists.kernels_external) || longer(lists.kernels_internal);
        let add = |into: &mut Vec<Vec<u8>>, list| {
            into.extend(HostReferenceLists::names(list).map(<[u8]>::to_vec));
        };
        let references = &mut self.references;
        add(&mut references.kernels_external, lists.kernels_external);
        add(&mut references.kernels_internal, lists.kernels_internal);
        add(&mut references.variables, lists.variables_external);
        add(&mut references.variables, lists.variables_internal);
        add(&mut references.constants_external, lists.constants_external);
        add(&mut references.constants_internal, lists.constants_internal);
    }
    /// Takes the system library into account: its names count, but that it
    /// has some does not make the names of all others count. (An object that
    /// launches nothing keeps its kernels beside it.)
    pub(crate) fn add_system_library(&mut self, side: &HostSide<'_>) {
        let any_kernel = self.any_kernel;
        self.add(side);
        self.any_kernel = any_kernel;
    }
    /// The names, if they can be relied on: every input that counts must have
    /// lists, and some list of kernels must not be empty.
    pub(crate) fn finish(self) -> Option<HostReferences> {
        (self.any_kernel && !self.someone_is_silent).then_some(self.references)
    }
}
