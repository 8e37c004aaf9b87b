//! What a link for sm_100 on reads in code, capsules and debug tables; the first byte
//! chooses the reader, the second one where a piece ends.
#![no_main]

use cubin::capsule::Capsule;
use libfuzzer_sys::fuzz_target;
use libwarpld::internals::code::frame_moves::{code_unit, move_frame};
use libwarpld::internals::code::frame_rows::{self, Rows};
use libwarpld::internals::code::{
    Change, Jumps, MercuryMap, Moves, Purpose, edit, renew, rescoreboard,
};
use libwarpld::internals::translate_sequence;
use libwarpld::internals::{BoardRules, Half};

fuzz_target!(|data: &[u8]| {
    let [which, cut, data @ ..] = data else { return };
    let cut = usize::from(*cut);
    match which % 5 {
        0 => map(data, cut),
        1 => lines(data, cut as u64),
        2 => frames(data, cut),
        3 => boards(data, cut),
        _ => edits(data, cut),
    }
});

/// By the rules of either release, with and without instructions that the link inserts.
fn boards(data: &[u8], cut: usize) {
    let jumps = (0..data.len() / 16).step_by(3).map(|i| (i, vec![cut, i / 2, i + 2]));
    let rules = |bit: usize| match cut >> bit & 1 {
        0 => BoardRules::CUDA_13_0,
        _ => BoardRules::CUDA_13_1,
    };
    let stalls = (0..cut).map(|i| (i % 5 != 0).then_some((i % 16) as u8));
    let lost_waits = (0..data.len() / 16).step_by(1 + cut % 7).map(|i| (i, (i % 6) as u8)).collect();
    let change = match cut & 4 {
        0 => Change::default(),
        _ => Change { stalls_before: stalls.collect(), keeps_stack_pointer: cut & 8 != 0, lost_waits },
    };
    drop(rescoreboard(data, &jumps.collect::<Jumps>(), &change, [rules(0), rules(1)]));
}

/// Code of so many instructions, then its capsule.
fn halves(data: &[u8], cut: usize) -> Option<(&[u8], &[u8])> {
    data.split_at_checked(16 * cut)
}

fn map(data: &[u8], cut: usize) {
    let Some((code, capsule)) = halves(data, cut) else { return };
    let Ok(capsule) = Capsule::parse(capsule) else { return };
    let Some(map) = MercuryMap::new(code, &capsule) else { return };
    for offset in (0..data.len() as u64 + 32).step_by(8).chain([u64::MAX, u64::MAX - 15]) {
        let place = map.place(offset);
        assert!(place.is_none_or(|at| at <= code.len() as u64), "behind the code");
        assert!(map.place_from(offset).is_none_or(|at| at < code.len() as u64), "behind the code");
    }
}

fn lines(data: &[u8], address: u64) {
    let as_it_is = translate_sequence(data, address, Some, None);
    let other = translate_sequence(data, address, |at| Some(at.saturating_mul(3)), Some(0x1000));
    let none = translate_sequence(data, address, |_| None, Some(0x1000));
    assert_eq!([as_it_is.is_some(), other.is_some()], [none.is_some(); 2]);
}

fn frames(data: &[u8], cut: usize) {
    let _ = code_unit(data);
    for side in [Half::Mercury, Half::Machine] {
        if let Some(rows) = frame_rows::parse(data, cut as u64, side) {
            let rows: Rows = rows.into_iter().collect();
            let _ = frame_rows::write(&rows, cut as u64);
        }
    }
    let mut entry = data.to_vec();
    let _ = move_frame(&mut entry, cut as u64, &Moves::none(cut));
    let later = (0..=cut as u32).map(|i| 2 * i).collect::<Vec<_>>();
    let _ = move_frame(&mut entry, cut as u64, &Moves::new(later.clone(), later, 2 * cut as u32));
}

fn edits(data: &[u8], cut: usize) {
    let Some((code, capsule)) = halves(data, cut) else { return };
    let Ok(capsule) = Capsule::parse(capsule) else { return };
    if let Some(renewed) = renew(code) {
        assert_eq!(renewed.len(), code.len());
    }
    let purposes = [(false, false), (false, true), (true, true)];
    for (i, (protected, report_errors)) in purposes.into_iter().cycle().take(12).enumerate() {
        let (undelayed, older) = (i % 2 == 0, i < 6);
        let timed_fences = i % 3 == 0;
        let purpose = Purpose { protected, report_errors, undelayed, older, timed_fences };
        if let Some(edited) = edit(code, &capsule, cut % 2 == 0, purpose) {
            assert_eq!(edited.moves.size(), edited.code.len() as u64);
            assert!(Capsule::parse(&edited.capsule).is_ok(), "a capsule that cannot be read");
        }
    }
}
