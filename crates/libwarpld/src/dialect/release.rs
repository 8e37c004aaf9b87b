//! Releases of the CUDA toolkit, one row each. A row names what changed since the row before it
//! and takes the rest over.

use super::board_rules::BoardRules;
use super::compat_rules::{self, CompatRule};
use super::target::{self, CarriesOver};
use cubin::compat::Compat;
use cubin::{Arch, Attr};

/// What a release of nvlink does in its own way.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Release {
    /// `13.0.88`.
    pub version: &'static str,
    /// The version line of the note that names the linker.
    pub note_version: &'static str,
    /// The build line of the same note.
    pub note_build: &'static str,
    /// The number in `.note.nv.cuinfo`. Code of a newer toolkit is refused.
    pub toolkit: u32,
    /// Whether its rules were read off libnvJitLink alone.
    pub provisional: bool,
    /// The oldest toolkit whose objects are linked, from sm_90 on.
    pub(crate) oldest_toolkit: u32,
    /// The newest version of Mercury code, major and minor: 1.1 is 0x101.
    pub(crate) newest_mercury: u16,
    /// The record of `.nv.compat` that names the version of Mercury code.
    pub(crate) mercury_version: Compat,
    /// Whether nvlink says why the finalizer refuses a file.
    pub(crate) explains_finalizer: bool,
    /// How records of `.nv.compat` are merged.
    pub(super) compat: &'static [CompatRule],
    /// The version of the finalizer that `.nv.compat` of a file with Mercury code names last.
    pub(super) finalizer_version: Option<u16>,
    /// The numbers of its targets.
    pub(super) targets: &'static [u16],
    /// Which targets take machine code of other numbers.
    pub(super) carries_over: CarriesOver,
    /// Whether code for an `a` target is refused in links for all others.
    pub(super) refuses_accelerated: bool,
    /// How the option `-astoolspatch` is spelt in the message about functions without its mark.
    pub(crate) tools_patch_option: &'static str,
    /// Whether a link that registers its inputs tells which of them come without host code.
    pub(crate) tells_of_missing_host_code: bool,
    /// Whether dynamic shared arrays start at their own alignment, and the size of the section
    /// is a multiple of it.
    pub(super) aligns_shared_arrays: bool,
    /// Whether relocations against shared memory stay in relocatable output.
    pub(super) keeps_shared_relocations: bool,
    /// Whether the externals of an only kernel are listed in ascending order.
    pub(super) lists_externals_ascending: bool,
    /// Whether kernels list the languages of the functions that they reach.
    pub(super) passes_languages_up: bool,
    /// Whether kernels say that functions that they reach cancel launches of clusters.
    pub(super) passes_launch_control_up: bool,
    /// Whether the only kernel is refused for tensor memory that its functions use in both ways.
    pub(super) compares_tensor_memory_of_functions: bool,
    /// Whether a definition of zeros takes the place of a common variable.
    pub(super) prefers_zeros_to_common: bool,
    /// Whether weak symbols are among the global ones in the symbol table.
    pub(super) weak_is_global: bool,
    /// Whether the names of relocations without addends are in the string tables of files that
    /// have addends.
    pub(super) names_missing_rel: bool,
    /// Whether the finalizer writes string tables anew, and the sections of the Mercury half in
    /// the order of the other one, after its symbols.
    pub(super) rebuilds_names: bool,
    /// Whether shared objects of one kernel are shown as local symbols.
    pub(super) localizes_assigned_shared: bool,
    /// Whether shared memory without names is kept in files that are linked again, too.
    pub(super) keeps_nameless_shared: bool,
    /// Whether the call graph and the prototypes have counterparts for Mercury code.
    pub(super) doubles_call_tables: bool,
    /// Whether a file without code allows all targets of its family.
    pub(super) runs_anywhere_without_code: bool,
    /// Whether the finalizer removes NOPs that only delay.
    pub(super) removes_delays: bool,
    /// Whether calls wait themselves, not the instruction before them, and wide fences for the
    /// narrow ones before them.
    pub(super) waits_at_calls: bool,
    /// How scoreboards are chosen.
    pub(super) boards: BoardRules,
    /// Whether a comparison of single precision with a number counts for one of double precision.
    pub(super) mistakes_comparisons: bool,
    /// Whether the finalizer leaves code of `-O0` without timing.
    pub(super) untimes_unoptimised: bool,
    /// Whether a variable is in its register from the last machine instruction of the Mercury
    /// instruction that sets it, not only from what prepares the next one.
    pub(super) registers_start_with_setter: bool,
    /// The newest attribute of machine code that the finalizer writes.
    pub(super) newest_attribute: Attr,
}

impl Release {
    /// CUDA 13.0.
    pub const CUDA_13_0: Self = Self {
        version: "13.0.88",
        note_version: "Cuda compilation tools, release 13.0, V13.0.88",
        note_build: "Build cuda_13.0.r13.0/compiler.36424714_0",
        toolkit: 130,
        provisional: false,
        oldest_toolkit: 120,
        newest_mercury: 0x101,
        mercury_version: Compat::MERCURY_ISA_MAJOR_MINOR_VERSION,
        explains_finalizer: false,
        compat: compat_rules::CUDA_13_0,
        finalizer_version: None,
        targets: target::CUDA_13_0,
        carries_over: target::CARRIES_OVER_13_0,
        refuses_accelerated: false,
        tools_patch_option: "--astoolspatch",
        tells_of_missing_host_code: false,
        aligns_shared_arrays: false,
        keeps_shared_relocations: false,
        lists_externals_ascending: false,
        passes_languages_up: false,
        passes_launch_control_up: false,
        compares_tensor_memory_of_functions: false,
        prefers_zeros_to_common: false,
        weak_is_global: false,
        names_missing_rel: true,
        rebuilds_names: false,
        localizes_assigned_shared: false,
        keeps_nameless_shared: false,
        doubles_call_tables: false,
        runs_anywhere_without_code: false,
        removes_delays: true,
        waits_at_calls: false,
        boards: BoardRules::CUDA_13_0,
        mistakes_comparisons: true,
        untimes_unoptimised: false,
        registers_start_with_setter: false,
        newest_attribute: Attr::RT_LIVESTATE_SASS_MAP,
    };

    /// The first CUDA 13.0.
    pub const CUDA_13_0_48: Self = Self {
        version: "13.0.48",
        note_version: "Cuda compilation tools, release 13.0, V13.0.48",
        note_build: "Build cuda_13.0.r13.0/compiler.36260728_0",
        ..Self::CUDA_13_0
    };

    /// CUDA 13.1.
    pub const CUDA_13_1: Self = Self {
        version: "13.1.115",
        note_version: "Cuda compilation tools, release 13.1, V13.1.115",
        note_build: "Build cuda_13.1.r13.1/compiler.37061995_0",
        toolkit: 131,
        explains_finalizer: true,
        compat: compat_rules::CUDA_13_1,
        refuses_accelerated: true,
        aligns_shared_arrays: true,
        waits_at_calls: true,
        boards: BoardRules::CUDA_13_1,
        registers_start_with_setter: true,
        ..Self::CUDA_13_0
    };

    /// The first CUDA 13.1.
    pub const CUDA_13_1_80: Self = Self {
        version: "13.1.80",
        note_version: "Cuda compilation tools, release 13.1, V13.1.80",
        note_build: "Build cuda_13.1.r13.1/compiler.36836380_0",
        ..Self::CUDA_13_1
    };

    /// CUDA 13.2.
    pub const CUDA_13_2: Self = Self {
        version: "13.2.86",
        note_version: "Cuda compilation tools, release 13.2, V13.2.86",
        note_build: "Build cuda_13.2.r13.2/compiler.37953736_0",
        toolkit: 132,
        newest_mercury: 0x102,
        compat: compat_rules::CUDA_13_2,
        carries_over: target::CARRIES_OVER_13_2,
        keeps_shared_relocations: true,
        lists_externals_ascending: true,
        passes_languages_up: true,
        passes_launch_control_up: true,
        compares_tensor_memory_of_functions: true,
        removes_delays: false,
        newest_attribute: Attr::NVSAL_SW_WAR,
        ..Self::CUDA_13_1
    };

    /// The first CUDA 13.2.
    pub const CUDA_13_2_51: Self = Self {
        version: "13.2.51",
        note_version: "Cuda compilation tools, release 13.2, V13.2.51",
        note_build: "Build cuda_13.2.r13.2/compiler.37434383_0",
        removes_delays: true,
        newest_attribute: Attr::RT_LIVESTATE_SASS_MAP,
        ..Self::CUDA_13_2
    };

    /// The second CUDA 13.2.
    pub const CUDA_13_2_78: Self = Self {
        version: "13.2.78",
        note_version: "Cuda compilation tools, release 13.2, V13.2.78",
        note_build: "Build cuda_13.2.r13.2/compiler.37668154_0",
        removes_delays: true,
        newest_attribute: Attr::RT_LIVESTATE_SASS_MAP,
        ..Self::CUDA_13_2
    };

    /// CUDA 13.3.
    pub const CUDA_13_3: Self = Self {
        version: "13.3.73",
        note_version: "Cuda compilation tools, release 13.3, V13.3.73",
        note_build: "Build cuda_13.3.r13.3/compiler.38244171_0",
        toolkit: 133,
        newest_mercury: 0x103,
        mercury_version: Compat(0x0d),
        runs_anywhere_without_code: true,
        compat: compat_rules::CUDA_13_3,
        tells_of_missing_host_code: true,
        prefers_zeros_to_common: true,
        mistakes_comparisons: false,
        untimes_unoptimised: true,
        ..Self::CUDA_13_2
    };

    /// The first CUDA 13.3.
    pub const CUDA_13_3_33: Self = Self {
        version: "13.3.33",
        note_version: "Cuda compilation tools, release 13.3, V13.3.33",
        note_build: "Build cuda_13.3.r13.3/compiler.37862127_0",
        ..Self::CUDA_13_3
    };

    /// CUDA 13.4.
    pub const CUDA_13_4: Self = Self {
        version: "13.4.92",
        note_version: "Cuda compilation tools, release 13.4, V13.4.92",
        note_build: "Build cuda_13.4.r13.4/compiler.38855100_0",
        toolkit: 134,
        newest_mercury: 0x104,
        compat: compat_rules::CUDA_13_4,
        targets: target::CUDA_13_4,
        tools_patch_option: "-astoolspatch",
        carries_over: target::CARRIES_OVER_13_4,
        finalizer_version: Some(0x400),
        weak_is_global: true,
        newest_attribute: Attr::PREEXIT_USED,
        localizes_assigned_shared: true,
        keeps_nameless_shared: true,
        doubles_call_tables: true,
        ..Self::CUDA_13_3
    };

    /// The first CUDA 13.4.
    pub const CUDA_13_4_59: Self = Self {
        version: "13.4.59",
        note_version: "Cuda compilation tools, release 13.4, V13.4.59",
        note_build: "Build cuda_13.4.r13.4/compiler.38657139_0",
        ..Self::CUDA_13_4
    };

    /// CUDA 13.5, as far as its libnvJitLink shows it: there is no nvlink of that release to
    /// compare with yet, and its build number is not known.
    pub const CUDA_13_5: Self = Self {
        version: "13.5.37",
        note_version: "Cuda compilation tools, release 13.5, V13.5.37",
        note_build: "Build cuda_13.5.r13.5",
        toolkit: 135,
        provisional: true,
        finalizer_version: Some(0x440),
        names_missing_rel: false,
        rebuilds_names: true,
        ..Self::CUDA_13_4
    };

    /// All releases, oldest first.
    pub const ALL: &[Self] = &[
        Self::CUDA_13_0_48,
        Self::CUDA_13_0,
        Self::CUDA_13_1_80,
        Self::CUDA_13_1,
        Self::CUDA_13_2_51,
        Self::CUDA_13_2_78,
        Self::CUDA_13_2,
        Self::CUDA_13_3_33,
        Self::CUDA_13_3,
        Self::CUDA_13_4_59,
        Self::CUDA_13_4,
        Self::CUDA_13_5,
    ];

    /// The oldest release whose output can be written, in its last form.
    pub const OLDEST: &'static Self = &Self::CUDA_13_0;

    /// The newest release.
    pub const NEWEST: &'static Self = &Self::CUDA_13_5;

    /// The release `13.4.92`, or the last one of `13.4`.
    pub fn named(version: &str) -> Option<&'static Self> {
        let is_of = |release: &&Self| {
            let rest = release.version.strip_prefix(version);
            rest.is_some_and(|rest| rest.is_empty() || is_minor(version) && rest.starts_with('.'))
        };
        Self::ALL.iter().rev().find(is_of)
    }

    /// The release that a tool of version `13.4.92` belongs to. An unknown update stands for the last one of its
    /// release.
    pub fn of_version(version: &str) -> Option<&'static Self> {
        let minor = || Self::named(&version.split('.').take(2).collect::<Vec<_>>().join("."));
        Self::named(version).or_else(minor)
    }

    /// The first release that links for a target, in its last form; `None` if there is none.
    pub fn first_with(arch: Arch) -> Option<&'static Self> {
        let first = Self::ALL.iter().find(|release| release.has_target(arch))?;
        Some(Self::of_toolkit(first.toolkit))
    }

    /// Whether it links for a target.
    pub fn has_target(&self, arch: Arch) -> bool {
        self.targets.contains(&arch.number) && target::has_variant(arch)
    }

    /// The last release with this number, or the nearest one that is known.
    pub fn of_toolkit(toolkit: u32) -> &'static Self {
        Self::ALL.iter().rev().find(|release| release.toolkit <= toolkit).unwrap_or(Self::OLDEST)
    }
}

/// Whether a version names a minor release, such as `13.4`.
fn is_minor(version: &str) -> bool {
    version.split('.').count() == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_in_order_and_name_themselves() {
        let number = |version: &str| -> Vec<u32> {
            version.split('.').map(|part| part.parse().unwrap()).collect()
        };
        assert!(Release::ALL.is_sorted_by(|a, b| number(a.version) < number(b.version)));
        assert!(Release::ALL.is_sorted_by_key(|release| release.toolkit));
        assert_eq!(Release::ALL.last(), Some(Release::NEWEST));
        for release in Release::ALL {
            assert!(release.note_version.ends_with(&format!("V{}", release.version)));
            let (major, minor) = (release.toolkit / 10, release.toolkit % 10);
            assert!(release.version.starts_with(&format!("{major}.{minor}.")));
            assert!(release.note_build.contains(&format!("cuda_{major}.{minor}.")));
        }
    }

    #[test]
    fn a_minor_release_stands_for_its_last() {
        assert_eq!(Release::named("13.4"), Some(&Release::CUDA_13_4));
        assert_eq!(Release::named("13.4.59"), Some(&Release::CUDA_13_4_59));
        assert_eq!(Release::named("13.2"), Some(&Release::CUDA_13_2));
        for unknown in ["13", "13.", "13.4.5", "13.9", "", "12.9"] {
            assert_eq!(Release::named(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn targets_have_their_release() {
        let first = |name: &str| Release::first_with(name.parse().unwrap());
        assert_eq!(first("sm_75"), Some(&Release::CUDA_13_0));
        assert_eq!(first("sm_103f"), Some(&Release::CUDA_13_0));
        assert_eq!(first("sm_107a"), Some(&Release::CUDA_13_4));
        for unknown in ["sm_70", "sm_89a", "sm_90f", "sm_130"] {
            assert_eq!(first(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn toolkits_have_their_release() {
        assert_eq!(Release::of_toolkit(120), Release::OLDEST);
        assert_eq!(Release::of_toolkit(132), &Release::CUDA_13_2);
        assert_eq!(Release::of_toolkit(999), Release::NEWEST);
    }
}
