//! The codecs of single sections; the first byte chooses one.
#![no_main]

use cubin::capsule::Capsule;
use cubin::note::{self, CudaInfo, ToolInfo};
use cubin::relaction::RelActions;
use cubin::{callgraph, info, reloc, unified};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&which, data)) = data.split_first() else { return };
    match which % 8 {
        0 => {
            let Ok(records) = info::records(data).collect::<Result<Vec<_>, _>>() else { return };
            let mut out = Vec::new();
            records.iter().for_each(|r| r.write(&mut out));
            assert_eq!(out, data);
        }
        1 => {
            for note in note::notes(data).map_while(Result::ok) {
                let _ = ToolInfo::parse(note.desc);
                let _ = CudaInfo::parse(note.desc);
            }
        }
        2 => {
            if let Ok(entries) = callgraph::entries(data) {
                let _ = entries.count();
            }
        }
        3 => {
            if let Ok(actions) = RelActions::parse(data) {
                assert_eq!(actions.to_bytes(), data);
            }
        }
        4 => {
            if let Ok(capsule) = Capsule::parse(data) {
                assert_eq!(capsule.size(), data.len());
                assert_eq!(capsule.to_bytes(), data);
            }
        }
        6 => {
            if let Ok(index) = unified::Index::parse(data) {
                let slots = index.functions.slots.len() + index.data.slots.len();
                assert!(slots * size_of::<unified::Slot>() <= data.len());
            }
        }
        7 => {
            let entries = unified::entries(data);
            assert!(size_of_val(entries) <= data.len());
            let _ = entries.iter().map(unified::Entry::uuid).max();
        }
        _ => {
            let Some((head, place)) = data.split_at_checked(12) else { return };
            let kind = u32::from(head[0]);
            let value = u64::from_le_bytes(head[4..12].try_into().unwrap());
            let mut place = place.to_vec();
            if let Some(kind) = reloc::cuda(cubin::RelocKind(kind)) {
                let _ = reloc::patch(kind.fields, &mut place, value, head[1].into());
                let _ = reloc::extract(kind.fields, &place);
            }
        }
    }
});
