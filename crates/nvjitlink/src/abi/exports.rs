//! The names that programs bind: one table, from which the functions are made, and the files by which
//! `scripts/build-nvjitlink.sh` exports them.
//!
//! NVIDIA's header makes each function an inline one over a name with the header's release, so that
//! a program binds the release that it was built with. NVIDIA's libraries export the names of their own and
//! older minor releases. Here all minor releases of a major one are exported, those to come included.

use super::*;
use std::fmt::Write;

/// A major release: its number, the highest minor one, and the name of its library.
pub struct MajorRelease {
    /// 12 or 13.
    pub number: u32,
    /// The highest minor release whose names are exported.
    pub last_minor: u32,
    /// Name of the library, and of the version of its symbols.
    pub soname: &'static str,
}

/// The releases that there are libraries for.
pub const MAJORS: &[MajorRelease] = &[
    MajorRelease { number: 12, last_minor: 9, soname: "libnvJitLink.so.12" },
    MajorRelease { number: 13, last_minor: 9, soname: "libnvJitLink.so.13" },
];

/// Makes functions of one table: for each name, what it takes and what it calls.
macro_rules! functions {
    ($($name:literal ($($argument:ident: $type:ty),*) $call:ident $extra:tt;)*) => {
        /// The functions, without `nvJitLink` before their names.
        pub const FUNCTIONS: &[&str] = &[$($name),*];
        $(minors!($name ($($argument: $type),*) $call $extra);)*
    };
}

macro_rules! minors {
    ($name:literal $arguments:tt $call:ident $extra:tt) => {
        export!(Cuda12 12 [0 1 2 3 4 5 6 7 8 9] $name $arguments $call $extra);
        export!(Cuda13 13 [0 1 2 3 4 5 6 7 8 9] $name $arguments $call $extra);
    };
}

macro_rules! export {
    ($major:ident $number:literal [$($minor:literal)*] $name:literal $arguments:tt $call:ident
     $extra:tt) => {
        $(export!(@one $major $number $minor $name $arguments $call $extra);)*
    };
    (@one $major:ident $number:literal $minor:literal $name:literal
     ($($argument:ident: $type:ty),*) $call:ident [$($extra:expr)?]) => {
        const _: () = {
            #[unsafe(export_name = concat!("__nvJitLink", $name, "_", $number, "_", $minor))]
            unsafe extern "C" fn exported($($argument: $type),*) -> c_int {
                // SAFETY: the caller promises what the function asks for.
                unsafe { $call(Major::$major, $($extra,)? $($argument),*) }
            }
        };
    };
}

functions! {
    "Create" (out: *mut Handle, count: u32, options: *const *const c_char) create [];
    "Destroy" (handle: *mut Handle) destroy [];
    "AddData" (handle: Handle, kind: c_int, data: *const c_void, size: usize, name: *const c_char) add_data [];
    "AddFile" (handle: Handle, kind: c_int, path: *const c_char) add_file [];
    "Complete" (handle: Handle) complete [];
    "GetLinkedCubinSize" (handle: Handle, value: *mut usize) size [Product::Cubin];
    "GetLinkedCubin" (handle: Handle, out: *mut c_void) get [Product::Cubin];
    "GetLinkedPtxSize" (handle: Handle, value: *mut usize) size [Product::Ptx];
    "GetLinkedPtx" (handle: Handle, out: *mut c_void) get [Product::Ptx];
    "GetLinkedLTOIRSize" (handle: Handle, value: *mut usize) size [Product::LtoIr];
    "GetLinkedLTOIR" (handle: Handle, out: *mut c_void) get [Product::LtoIr];
    "GetErrorLogSize" (handle: Handle, value: *mut usize) size [Product::ErrorLog];
    "GetErrorLog" (handle: Handle, out: *mut c_void) get [Product::ErrorLog];
    "GetInfoLogSize" (handle: Handle, value: *mut usize) size [Product::InfoLog];
    "GetInfoLog" (handle: Handle, out: *mut c_void) get [Product::InfoLog];
}

/// # Safety
/// Both point to room for a number, or are NULL.
#[unsafe(export_name = "warpld_nvJitLinkVersion_12")]
unsafe extern "C" fn version_12(first: *mut c_uint, second: *mut c_uint) -> c_int {
    // SAFETY: the caller promises it.
    unsafe { version(Major::Cuda12, first, second) }
}

/// # Safety
/// Both point to room for a number, or are NULL.
#[unsafe(export_name = "warpld_nvJitLinkVersion_13")]
unsafe extern "C" fn version_13(first: *mut c_uint, second: *mut c_uint) -> c_int {
    // SAFETY: the caller promises it.
    unsafe { version(Major::Cuda13, first, second) }
}

/// The version script of a library: every symbol has the library's name as its version, and nothing
/// else is visible.
pub fn version_script(major: &MajorRelease) -> String {
    let mut script = format!("{} {{\n  global:\n", major.soname);
    for name in names(major) {
        let _ = writeln!(script, "    {name};");
    }
    script.push_str("  local: *;\n};\n");
    script
}

/// Options for the linker that give functions their plain names, which libraries of two major releases
/// have in common.
pub fn aliases(major: &MajorRelease) -> String {
    let number = major.number;
    let mut options = String::new();
    for name in FUNCTIONS {
        let _ = writeln!(options, "--defsym=nvJitLink{name}=__nvJitLink{name}_{number}_0");
    }
    let _ = writeln!(options, "--defsym=nvJitLinkVersion=warpld_nvJitLinkVersion_{number}");
    options
}

/// All names that a library exports.
pub fn names(major: &MajorRelease) -> Vec<String> {
    let plain = FUNCTIONS.iter().map(|name| format!("nvJitLink{name}"));
    let versioned = (0..=major.last_minor).flat_map(|minor| {
        let number = major.number;
        FUNCTIONS.iter().map(move |name| format!("__nvJitLink{name}_{number}_{minor}"))
    });
    // The last one tells the library from NVIDIA's.
    let single = ["nvJitLinkVersion", "warpld_nvjitlink_version"].map(str::to_owned);
    plain.chain(versioned).chain(single).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The files that the script gives to the linker are those of the table.
    /// `WARPLD_BLESS=1` writes them.
    #[test]
    fn files_for_the_linker_are_of_the_table() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("exports");
        for major in MAJORS {
            for (suffix, text) in [("map", version_script(major)), ("aliases", aliases(major))] {
                let path = folder.join(format!("{}.{suffix}", major.soname));
                if std::env::var_os("WARPLD_BLESS").is_some() {
                    std::fs::create_dir_all(&folder).unwrap();
                    std::fs::write(&path, &text).unwrap();
                }
                let file = std::fs::read_to_string(&path).unwrap();
                assert_eq!(file, text, "{}: run with WARPLD_BLESS=1", path.display());
            }
        }
    }
}
