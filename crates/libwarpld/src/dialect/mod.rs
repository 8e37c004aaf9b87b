//! What differs between toolkit releases, targets and the two halves of a file.
//!
//! A link speaks one [`Dialect`]: a release of the toolkit, a target, and the half of its inputs
//! that it works on. Phases ask it questions with names; they never compare a release, a number
//! of an architecture or a half themselves. A new release is a row in [`release`], a new target
//! a row in [`target`].

mod board_rules;
mod compat_rules;
mod images;
mod release;
pub mod target;

pub use board_rules::BoardRules;
pub use compat_rules::{Combine, CompatRule, Missing};
pub use release::Release;

use cubin::compat::Compat;
use cubin::names::prefix;
use cubin::{Arch, Attr, Variant};

/// The least alignment of dynamic shared arrays.
pub const DYNAMIC_ALIGN: u64 = 16;

/// The half of its inputs that a link works on. Files for sm_100 and later hold machine code and
/// Mercury code, which name their sections, symbols and relocations in different ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Half {
    /// Machine code; the only one there is up to sm_90.
    Machine,
    /// Mercury code. The machine half of the output is derived from it.
    Mercury,
}

/// The release, target and half of one link.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    release: &'static Release,
    arch: Arch,
    half: Half,
}

/// Identity of the release and sizes of the target.
impl Dialect {
    /// The dialect of a link.
    pub fn new(release: &'static Release, arch: Arch, half: Half) -> Self {
        Self { release, arch, half }
    }

    /// The release whose nvlink the link stands for.
    pub fn release(self) -> &'static Release {
        self.release
    }

    /// The number of the toolkit that the version note of the output names.
    pub fn toolkit(self) -> u32 {
        self.release.toolkit
    }

    /// The target.
    pub fn arch(self) -> Arch {
        self.arch
    }

    /// The number that the version note names where no input has a virtual architecture.
    pub fn virtual_arch(self) -> u16 {
        self.arch.number
    }

    /// Static shared memory that a kernel may have: 48 KiB, or with `extended` limits and on
    /// architecture-specific targets all that the target has (sm_107a: no more than sm_100a).
    pub fn max_static_shared(self, extended: bool) -> u64 {
        match (extended, self.arch.variant) {
            (true, _) => target::shared_memory(self.arch.number),
            (false, Variant::Accelerated) => target::accelerated_shared_memory(self.arch.number),
            (false, _) => 0xc000,
        }
    }

    /// Shared memory that the system keeps at the start of each kernel's.
    pub fn reserved_shared(self) -> u64 {
        if self.since_sm_90() { 0x400 } else { 0 }
    }

    /// Whether files carry `.nv.compat`.
    pub fn has_compat(self) -> bool {
        self.since_sm_90()
    }

    /// How records of `.nv.compat` are merged. The finalizer writes its version anew.
    pub fn compat_rules(self) -> impl Iterator<Item = &'static CompatRule> + Clone {
        let is_merged =
            move |rule: &&CompatRule| !self.is_mercury() || rule.code != Compat::FINALIZER_VERSION;
        self.release.compat.iter().filter(is_merged)
    }

    /// The version of the finalizer that stands in `.nv.compat`.
    pub fn finalizer_version(self) -> Option<u16> {
        self.release.finalizer_version
    }

    /// Whether the high byte of a text section's `sh_info` is the register count of the
    /// function.
    pub fn registers_in_text_info(self) -> bool {
        !self.since_sm_90()
    }

    /// Whether the externals of an only kernel are listed in the order in which they are met, and
    /// not the last one first.
    pub fn lists_externals_ascending(self) -> bool {
        self.release.lists_externals_ascending
    }

    /// Whether kernels list the languages of the functions that they reach.
    pub fn passes_languages_up(self) -> bool {
        self.release.passes_languages_up
    }

    /// Whether kernels say that functions that they reach cancel launches of clusters
    /// (`cluster-launch-control`).
    pub fn passes_launch_control_up(self) -> bool {
        self.release.passes_launch_control_up
    }

    /// Whether the only kernel of a link is refused for functions that use tensor memory in
    /// both ways, too (`tensor-memory-groups`).
    pub fn compares_tensor_memory_of_functions(self) -> bool {
        self.release.compares_tensor_memory_of_functions
    }

    /// Whether a reached function without SPARSE_MMA_MASK counts as 0x8000.
    pub fn missing_sparse_mask_counts(self) -> bool {
        self.since_sm_90()
    }

    /// Whether `-v` counts the system's part of shared memory in a kernel's own.
    pub fn reports_reserved_shared(self) -> bool {
        self.arch.number <= 90
    }

    /// sm_90 on: `.nv.compat`, RELA only, no register count in `sh_info`.
    fn since_sm_90(self) -> bool {
        self.arch.number >= 90
    }

    fn is_mercury(self) -> bool {
        self.half == Half::Mercury
    }
}

/// Names, sections and symbols of the half that is linked.
impl Dialect {
    /// The half that is linked.
    pub fn half(self) -> Half {
        self.half
    }

    /// Whether the output holds Mercury capsules beside machine code.
    pub fn makes_capsules(self) -> bool {
        self.is_mercury()
    }

    /// Whether weak symbols are in the list of global ones, and not in that of local ones.
    pub fn lists_weak_with_global(self) -> bool {
        self.release.weak_is_global
    }

    /// Whether definitions without bytes take the place of common symbols, as those with bytes do.
    pub fn prefers_zeros_to_common(self) -> bool {
        self.release.prefers_zeros_to_common
    }

    /// Prefix of the name of a function's own bank 2.
    pub fn bank2_prefix(self) -> &'static [u8] {
        if self.is_mercury() { prefix::MERCURY_CONSTANT_OPTIMIZER } else { prefix::CONSTANT2 }
    }

    /// Whether kernels have their parameters in a bank 0 of this half.
    pub fn has_parameter_bank(self) -> bool {
        !self.is_mercury()
    }

    /// Whether an index of unified symbols (`--uidx-file`) can be linked.
    pub fn links_unified_index(self) -> bool {
        !self.is_mercury()
    }

    /// Whether a compiler's constant is named after its bank and its number in the input.
    pub fn numbers_compiler_constants(self) -> bool {
        self.is_mercury()
    }

    /// Whether it is named after its function, its offset and its size instead.
    pub fn names_constants_by_offset(self) -> bool {
        self.release.rebuilds_names
    }

    /// Whether functions of one name in a relinked file share the attributes of the first.
    pub fn merges_attributes_of_namesakes(self) -> bool {
        self.is_mercury()
    }

    /// Whether the attributes of a function get the Mercury version of its input.
    pub fn adds_mercury_version(self) -> bool {
        self.is_mercury()
    }

    /// Whether the call graph and the prototypes have counterparts for Mercury code
    /// (`call-tables-twice`).
    pub fn doubles_call_tables(self) -> bool {
        self.release.doubles_call_tables
    }

    /// Whether the output has `.nv.rel.action`.
    pub fn has_relocation_actions(self) -> bool {
        !self.is_mercury()
    }

    /// Whether files whose relocations have addends name those without all the same.
    pub fn names_missing_rel(self) -> bool {
        self.release.names_missing_rel
    }

    /// Whether string tables are written anew at the end, with only the names that are used, and
    /// the sections of the Mercury half begin with its symbols and are in the order of the other
    /// half (`names-anew`).
    pub fn rebuilds_names(self) -> bool {
        self.release.rebuilds_names
    }

    /// Whether line tables without rows have the end of a sequence (`names-anew`).
    pub fn ends_empty_lines(self) -> bool {
        self.release.rebuilds_names
    }

    /// Whether looking up a name `.rel.X` takes a second creation number.
    pub fn looks_up_rel_names_twice(self) -> bool {
        self.is_mercury()
    }

    /// Whether the banks of handles are created before shared memory.
    pub fn creates_handle_banks_early(self) -> bool {
        self.is_mercury()
    }

    /// Whether banks 2 are handed to kernels in the order in which they came, replaced ones
    /// included (`bank2-order`).
    pub fn orders_bank2_by_input(self) -> bool {
        self.is_mercury()
    }
}

/// Dynamic shared arrays.
impl Dialect {
    /// What an array without a size is aligned to, if it was declared with this alignment. Objects
    /// from 13.1 on say it; 13.0 does not ask.
    pub fn array_alignment(self, declared: u64) -> u64 {
        match self.release.aligns_shared_arrays {
            true => declared.max(DYNAMIC_ALIGN),
            false => DYNAMIC_ALIGN,
        }
    }

    /// The value of the symbol of an array that was declared with this value, and got no place.
    pub fn value_of_unplaced_array(self, declared: u64) -> u64 {
        if self.release.aligns_shared_arrays { declared } else { 0 }
    }

    /// Whether relocations against shared memory are emitted in a relocatable file.
    pub fn leaves_shared_open(self) -> bool {
        self.release.keeps_shared_relocations
    }

    /// Whether shared memory of a kernel with an array is as large as its alignment asks for.
    pub fn rounds_shared_with_arrays(self) -> bool {
        self.release.aligns_shared_arrays
    }
}

/// Shared memory and handles of images.
impl Dialect {
    /// Whether sections of shared memory are sized without the system's part.
    pub fn sizes_exclude_reserved_shared(self) -> bool {
        self.is_mercury()
    }

    /// Whether the system's part is added to values in shared memory once, and not for every
    /// copy of the symbol that was ever selected.
    pub fn adds_reserved_shared_once(self) -> bool {
        self.is_mercury()
    }

    /// Whether values in shared memory leave room for the system's part even with
    /// `--disable-smem-reservation` (`reserved-shared-off`).
    pub fn always_shifts_shared(self) -> bool {
        self.is_mercury()
    }

    /// Whether kernels that were compiled as a whole and use no shared memory get the system's
    /// part all the same.
    pub fn reserves_shared_of_empty_kernels(self) -> bool {
        self.is_mercury()
    }

    /// Whether shared memory of a kernel in which nothing has a name is kept in any input, and not
    /// only in whole programs.
    pub fn keeps_nameless_shared(self) -> bool {
        self.release.keeps_nameless_shared
    }

    /// Whether nameless shared memory of a whole program moves the value of symbol 0.
    pub fn moves_null_symbol(self) -> bool {
        !self.is_mercury()
    }

    /// Whether shared objects that were assigned to their only kernel are local symbols.
    pub fn localizes_assigned_shared(self) -> bool {
        self.release.localizes_assigned_shared
    }

    /// Whether `--preserve-relocs` shows shared objects that have no place of their own.
    pub fn preserves_unplaced_shared(self) -> bool {
        !self.is_mercury()
    }

    /// Whether relocations of image handles have addends.
    pub fn handles_have_addends(self) -> bool {
        self.is_mercury()
    }

    /// Whether the only kernel that is asked for gets handles for images that are mentioned
    /// anywhere, and for no others.
    pub fn only_kernel_takes_mentioned_images(self) -> bool {
        self.is_mercury()
    }
}

/// Other targets that Mercury code allows (CAN_FASTPATH_FINALIZE).
impl Dialect {
    /// Whether the output may name other targets: that of the first of a family does.
    pub fn allows_other_targets(self) -> bool {
        target::is_first_of_family(self.arch.number)
    }

    /// The only target that code for a plain target may name in the output, if that has the letter
    /// `a` (13.1 on; `fastpath-accelerated`). Code that has it names what it declares.
    pub fn only_target(self) -> Option<u64> {
        let bound = self.arch.variant == Variant::Accelerated && self.release.refuses_accelerated;
        target::capability_bit(self.arch.number).filter(|_| bound)
    }

    /// Whether code that does not say so may run on sm_103, if its latencies are the same there.
    pub fn may_run_on_sm_103(self) -> bool {
        self.arch.number == 100
    }

    /// Whether a comparison of single precision with a number counts for one of double precision, which takes
    /// another time on sm_103 (`fastpath-comparisons`).
    pub fn mistakes_comparisons(self) -> bool {
        self.release.mistakes_comparisons
    }

    /// The targets that a file without code allows (`finalizer-records`).
    pub fn targets_without_code(self) -> u64 {
        match self.release.runs_anywhere_without_code {
            true => target::family(self.arch.number),
            false => 0,
        }
    }

    /// The targets of code that names none (ptxas 12.9).
    pub fn undeclared_targets(self) -> u64 {
        target::undeclared_targets(self.arch.number)
    }
}

/// Machine code that the finalizer makes.
impl Dialect {
    /// Whether NOPs that only delay the instruction they share a Mercury instruction with are
    /// removed (`delays`).
    pub fn removes_delays(self) -> bool {
        self.release.removes_delays
    }

    /// Whether code of a toolkit gets the form that compilers since 13.0 give it
    /// (`code-of-cuda-12`).
    pub fn renews_code(self, toolkit: u32) -> bool {
        toolkit < Release::OLDEST.toolkit
    }

    /// Whether code of a toolkit is changed to wait where that of this release does
    /// (`waits-at-calls`).
    pub fn moves_waits(self, toolkit: u32) -> bool {
        self.release.waits_at_calls && !Release::of_toolkit(toolkit).waits_at_calls
    }

    /// How scoreboards were chosen in code of a toolkit, and how this release chooses them.
    pub fn board_rules(self, toolkit: u32) -> [BoardRules; 2] {
        let own = match self.renews_code(toolkit) {
            true => BoardRules::CUDA_12,
            false => Release::of_toolkit(toolkit).boards,
        };
        let reserves_matrix_operands = target::reserves_matrix_operands(self.arch.number);
        let has_few_double_units = target::has_few_double_units(self.arch.number);
        [own, self.release.boards].map(|rules| BoardRules {
            reserves_matrix_operands,
            has_few_double_units,
            ..rules
        })
    }

    /// Whether fences take a fixed time and set no scoreboard (`fences-call-free`).
    pub fn has_timed_fences(self) -> bool {
        target::has_timed_fences(self.arch.number)
    }

    /// Whether code of `-O0` loses its timing: stall counts, boards and waits
    /// (`unoptimised-code`).
    pub fn untimes_unoptimised(self) -> bool {
        self.release.untimes_unoptimised
    }

    /// Whether a variable is in its register from the last machine instruction of the Mercury
    /// instruction that sets it; otherwise from the one before the next Mercury instruction's main
    /// one, which comes later where something prepares that. [`registers-at-inserted-code`]
    pub fn registers_start_with_setter(self) -> bool {
        self.release.registers_start_with_setter
    }

    /// Whether attribute 0x67 ends those of a function's machine code in an executable
    /// (`call-tables-twice`).
    pub fn adds_attribute_67(self) -> bool {
        target::has_attribute_67(self.arch.number)
    }

    /// The newest attribute of a function's machine code that is copied, or added where the
    /// compiler did not write it yet (`code-of-older-compilers`).
    pub fn newest_attribute(self) -> Attr {
        self.release.newest_attribute
    }
}

/// Relocations.
impl Dialect {
    /// Whether functions inside kernels are named by relocations
    /// (`whole-programs-capsules`).
    pub fn names_functions_inside_kernels(self) -> bool {
        self.is_mercury()
    }

    /// Whether jump tables that are copied into a kernel's bank bring their relocations.
    pub fn copies_table_relocations(self) -> bool {
        self.is_mercury()
    }

    /// Whether `--preserve-relocs` records relocations of code against shared memory alone.
    pub fn preserves_shared_relocations_only(self) -> bool {
        self.is_mercury()
    }

    /// Whether offsets in debug tables stay relocations, whose addends move with the table.
    pub fn keeps_debug_offsets(self) -> bool {
        self.is_mercury()
    }

    /// Whether it is noted which relocation each applied value comes from, so that the
    /// counterpart in the other half can be applied.
    pub fn traces_applied_relocations(self) -> bool {
        self.is_mercury()
    }

    /// Whether a constant that was never allocated leaves the bank in the instruction alone.
    pub fn keeps_bank_of_missing_constants(self) -> bool {
        self.is_mercury()
    }

    /// Whether references to images stay open in a relocatable file.
    pub fn leaves_images_open(self) -> bool {
        self.is_mercury()
    }

    /// Whether jump tables of a discarded copy keep their relocations.
    pub fn keeps_relocations_of_discarded_tables(self) -> bool {
        self.is_mercury()
    }

    /// Whether only the name is left of a kernel's table that a replacement cleared.
    pub fn forgets_cleared_tables(self) -> bool {
        self.is_mercury()
    }
}
