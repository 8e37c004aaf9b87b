//! Damaged inputs, calls in any order, many threads.

use crate::files::{archive, fatbin, host_object};
use crate::library::*;
use crate::{SM_90, saxpy, scale};
use fatbin::Kind;
use std::ffi::c_int;
use std::ptr;
use support::Random;

/// Every length of a cubin, and each eighth of the containers.
#[test]
fn truncated_inputs_are_results() {
    let cubin = saxpy();
    let mut link = Link::new(&[SM_90]);
    for size in 0..cubin.len() {
        let result = link.add(CUBIN, &cubin[..size], "x");
        assert!(matches!(result, 3 | 12), "{size} bytes: {result}");
    }
    assert_eq!(link.complete(), 0, "nothing was added");
    let container = fatbin(Kind::ELF, "sm_90", &scale());
    let object = host_object(container.clone());
    let library = archive(&[("a.o", &object)]);
    for (kind, data) in [(FATBIN, container), (OBJECT, object), (LIBRARY, library)] {
        for size in (0..data.len()).step_by(8) {
            let mut link = Link::new(&[SM_90]);
            link.add(kind, &data[..size], "x");
            link.complete();
        }
    }
}

#[test]
fn mutated_inputs_are_results() {
    let mut random = Random::new(20);
    let (a, b) = (saxpy(), scale());
    for _ in 0..300 {
        let mut link = Link::new(&[SM_90, "-verbose"]);
        link.add(CUBIN, &support::mutate(&a, &mut random), "a");
        link.add(CUBIN, &b, "b");
        link.complete();
        let _ = (link.cubin(), link.errors(), link.infos());
    }
}

const OPTIONS: [&str; 10] = [
    SM_90,
    "-arch=sm_100",
    "-arch=sm_89",
    "-r",
    "-g",
    "-verbose",
    "-time",
    "-kernels-used=s",
    "-lto",
    "-nosuch",
];

/// One call, with any arguments.
fn any_call(random: &mut Random, handles: &mut [Handle; 3], inputs: &[Vec<u8>]) {
    let at = random.below(handles.len());
    let handle = match random.below(40) {
        0 => ptr::null_mut(),
        1 => ptr::without_provenance_mut(random.number() as usize),
        _ => handles[at],
    };
    let mut room = vec![0_u8; 1 << 16];
    let mut size = 0;
    // SAFETY: pointers point to what the header says, or are NULL; handles need not be any.
    let result: c_int = unsafe {
        match random.below(12) {
            0 | 1 => {
                destroy(&mut handles[at]);
                let count = 1 + random.below(3);
                let options: Vec<_> = (0..count).map(|_| OPTIONS[random.below(10)]).collect();
                return handles[at] = Link::new(&options).release();
            }
            2 => destroy(&mut handles[at]),
            3..=5 => {
                let data = &inputs[random.below(inputs.len())];
                let kind = random.below(12) as c_int;
                let name = if random.below(4) == 0 { ptr::null() } else { c"name".as_ptr() };
                let size = if random.below(8) == 0 { random.below(data.len()) } else { data.len() };
                add_data(handle, kind, data.as_ptr().cast(), size, name)
            }
            6 => complete(handle),
            7 => add_file(handle, random.below(12) as c_int, c"/nonexistent".as_ptr()),
            n => {
                let get: [(unsafe extern "C" fn(_, _) -> _, unsafe extern "C" fn(_, _) -> _); 5] = [
                    (cubin_size, cubin),
                    (ptx_size, ptx),
                    (ltoir_size, ltoir),
                    (error_log_size, error_log),
                    (info_log_size, info_log),
                ];
                let (size_of, bytes_of) = get[(n + random.below(5)) % 5];
                match size_of(handle, &mut size) {
                    0 if size <= room.len() => bytes_of(handle, room.as_mut_ptr().cast()),
                    result => result,
                }
            }
        }
    };
    assert!((0..=18).contains(&result), "{result}");
}

/// `WARPLD_RANDOM_CALLS` says how many.
#[test]
fn calls_in_any_order_are_results() {
    let calls = std::env::var("WARPLD_RANDOM_CALLS").ok().and_then(|n| n.parse().ok());
    let calls: usize = calls.unwrap_or(4_000);
    let container = fatbin(Kind::ELF, "sm_90", &scale());
    let object = host_object(container.clone());
    let inputs = vec![
        saxpy(),
        scale(),
        crate::files::cubin("saxpy.sm_100.cubin"),
        archive(&[("a.o", &object)]),
        container,
        object,
        b".version 9.0\n.target sm_90\n".to_vec(),
        b"\xed\x43\x4e\x7f and so on".to_vec(),
        b"text".to_vec(),
    ];
    let mut random = Random::new(7);
    let mut handles = [ptr::null_mut(); 3];
    without_compilers();
    for _ in 0..calls {
        any_call(&mut random, &mut handles, &inputs);
    }
    for handle in &mut handles {
        // SAFETY: as the header says.
        unsafe { destroy(handle) };
    }
}

/// As many as `WARPLD_THREAD_LINKS` says on each of four threads.
#[test]
fn threads_do_not_disturb_each_other() {
    let links = std::env::var("WARPLD_THREAD_LINKS").ok().and_then(|n| n.parse().ok());
    let links: usize = links.unwrap_or(50);
    let one = |options: &[&str]| {
        let mut link = Link::new(options);
        link.add(CUBIN, &saxpy(), "a");
        link.add(CUBIN, &scale(), "b");
        assert_eq!(link.complete(), 0);
        link.cubin().unwrap()
    };
    let expected = [one(&[SM_90]), one(&[SM_90, "-r"])];
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for at in 0..links {
                    let options = if at % 2 == 0 { &[SM_90][..] } else { &[SM_90, "-r"] };
                    assert_eq!(one(options), expected[at % 2]);
                }
            });
        }
    });
}

/// One link that many threads use at once comes to one result.
#[test]
fn one_link_on_many_threads_is_safe() {
    let mut link = Link::new(&[SM_90]);
    link.add(CUBIN, &scale(), "b");
    let handle = link.handle.addr();
    let done: Vec<c_int> = std::thread::scope(|scope| {
        let run = || {
            let handle = ptr::without_provenance_mut(handle);
            let data = saxpy();
            // SAFETY: as the header says; calls on one link wait for each other.
            unsafe {
                add_data(handle, CUBIN, data.as_ptr().cast(), data.len(), ptr::null());
                complete(handle)
            }
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(done.iter().filter(|&&result| result == 0).count(), 1, "{done:?}");
}

impl Link {
    /// The handle, without the duty to give it back.
    fn release(mut self) -> Handle {
        std::mem::replace(&mut self.handle, ptr::null_mut())
    }
}
