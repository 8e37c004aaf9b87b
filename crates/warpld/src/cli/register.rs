//! `--register-link-binaries`: the names that nvcc's link stub registers.

use libwarpld::driver::{Registration, SystemLibrary};
use std::fmt::Write;

/// How to recognize the registered name of the device runtime.
const DEVICE_RUNTIME: &[u8] = b"_cuda_device_runtime_";

/// The contents of the file.
pub fn text(registration: &Registration) -> String {
    let ids = &registration.module_ids;
    let mut out = format!("#define NUM_PRELINKED_OBJECTS {}\n", ids.len());
    for id in ids {
        let _ = writeln!(out, "DEFINE_REGISTER_FUNC({id})");
    }
    out
}

/// Whether to keep an existing file. nvcc gives the links for all targets the same file, and only
/// some of them may need the device runtime: the list that has it must win, whichever link comes
/// last.
pub fn keeps(existing: &[u8], registration: &Registration) -> bool {
    registration.system_library == SystemLibrary::Unused
        || existing.windows(DEVICE_RUNTIME.len()).any(|window| window == DEVICE_RUNTIME)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registration(ids: &[&str], system_library: SystemLibrary) -> Registration {
        Registration { module_ids: ids.iter().map(|id| id.to_string()).collect(), system_library }
    }

    #[test]
    fn content() {
        assert_eq!(
            text(&registration(&[], SystemLibrary::Absent)),
            "#define NUM_PRELINKED_OBJECTS 0\n"
        );
        assert_eq!(
            text(&registration(&["_a", "_b"], SystemLibrary::Absent)),
            "#define NUM_PRELINKED_OBJECTS 2\nDEFINE_REGISTER_FUNC(_a)\nDEFINE_REGISTER_FUNC(_b)\n"
        );
    }

    #[test]
    fn what_stays() {
        let with_runtime = b"DEFINE_REGISTER_FUNC(_22_cuda_device_runtime_cu_3)\n";
        for (existing, library, kept) in [
            (&b"old"[..], SystemLibrary::Absent, false),
            (b"old", SystemLibrary::Used, false),
            (b"old", SystemLibrary::Unused, true),
            (b"", SystemLibrary::Unused, true),
            (with_runtime, SystemLibrary::Absent, true),
            (with_runtime, SystemLibrary::Used, true),
            (b"cuda_device_runtime_", SystemLibrary::Absent, false),
        ] {
            assert_eq!(keeps(existing, &registration(&[], library)), kept, "{existing:?}");
        }
    }
}
