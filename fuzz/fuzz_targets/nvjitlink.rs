//! Calls of libnvJitLink's functions: which, in which order and with what, the bytes say.
#![no_main]
#![allow(unsafe_code)]

#[path = "../../crates/nvjitlink/tests/calls/library.rs"]
#[allow(dead_code)]
mod library;

use libfuzzer_sys::fuzz_target;
use library::*;
use std::ptr;
use warpld_nvjitlink as _;

const OPTIONS: [&str; 8] =
    ["-arch=sm_90", "-arch=sm_100", "-r", "-g", "-verbose", "-kernels-used=s", "-lto", "-nosuch"];

const INTACT: [&[u8]; 3] = [
    include_bytes!("../../examples/saxpy.sm_90.cubin"),
    include_bytes!("../../examples/scale.sm_90.cubin"),
    include_bytes!("../../examples/scale.sm_100.cubin"),
];

// The first byte says how many of the others are calls; what follows them is an input.
fuzz_target!(|data: &[u8]| {
    let Some((&count, rest)) = data.split_first() else { return };
    let Some((calls, input)) = rest.split_at_checked(usize::from(count % 32)) else { return };
    let mut links = [Link::new(&OPTIONS[..1]), Link::new(&OPTIONS[1..2])];
    for call in calls {
        let (what, argument) = (call % 8, usize::from(call / 16));
        let at = usize::from(call / 8 % 2);
        let link = &mut links[at];
        match what {
            0 => {
                let first = argument % 2;
                *link = Link::new(&[OPTIONS[first], OPTIONS[argument % 8]]);
            }
            1 => {
                link.destroy();
            }
            2 => {
                link.add(argument as i32 % 12, input, "input");
            }
            3 => {
                link.add(CUBIN, INTACT[argument % 3], "intact");
            }
            4 => {
                link.complete();
            }
            5 => drop((link.cubin(), link.ptx(), link.ltoir())),
            6 if !link.handle.is_null() => drop((link.errors(), link.infos())),
            // SAFETY: handles need not be any.
            _ => unsafe {
                let handle = ptr::without_provenance_mut(link.handle.addr() ^ argument);
                if argument != 0 {
                    complete(handle);
                }
            },
        }
    }
});
