//! Containers: walking, unpacking within a limit, and writing what was read.
#![no_main]

use fatbin::write::Writer;
use fatbin::{Container, Containers};
use libfuzzer_sys::fuzz_target;

/// More than any seed unpacks to, less than the fuzzer's memory limit.
const LIMIT: u64 = 16 << 20;

fuzz_target!(|data: &[u8]| {
    for container in Containers::new(data) {
        let Ok(container) = container else { return };
        assert!(container.end() <= data.len());
        rewrite(&container);
        let Ok(entries) = container.flat_entries() else { continue };
        for entry in entries {
            let _ = (entry.ident(), entry.options(), entry.compat(), entry.arch());
            if let Ok(payload) = entry.payload_up_to(LIMIT) {
                let declared = entry.header().uncompressed_size.get();
                let stored = entry.stored().len();
                assert!(payload.len() == stored || payload.len() as u64 == declared);
            }
        }
    }
});

/// Copying all entries gives the same bytes.
fn rewrite(container: &Container<'_>) {
    let mut writer = Writer::new();
    for entry in container.entries() {
        let Ok(entry) = entry else { return };
        writer.copy(&entry);
    }
    let written = writer.finish();
    // Only the header may differ, where it is longer than ours.
    assert!(container.bytes().ends_with(&written[16..]));
}
