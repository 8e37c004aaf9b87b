//! Archives and the host objects in them.
#![no_main]

use fatbin::{Archive, Containers, Content, HostObject, HostReferenceLists, MemberData};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if Content::of(data) != Content::Archive {
        return look(data);
    }
    let Ok(archive) = Archive::parse(data) else { return };
    let mut size = 0;
    for member in archive.members().map_while(Result::ok) {
        if let MemberData::Inline(bytes) = member.data {
            size += bytes.len();
            look(bytes);
        }
    }
    assert!(size <= data.len());
});

fn look(data: &[u8]) {
    let _ = Content::of(data);
    let Ok(host) = HostObject::parse(data) else { return };
    let _ = host.module_ids().count();
    let _ = HostReferenceLists::names(host.references.kernels_external).count();
    for section in host.relocatable.iter().chain(&host.linked) {
        let _ = Containers::new(section).filter_map(Result::ok).count();
    }
}
