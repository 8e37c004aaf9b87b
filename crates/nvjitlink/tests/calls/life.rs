//! From Create to Destroy.

use crate::library::*;
use crate::{SM_90, saxpy, scale};
use std::ffi::{CString, c_int};
use std::ptr;

#[test]
fn refused_options_leave_a_handle_with_a_log() {
    for (options, result, log) in [
        (&[][..], 2, ""),
        (&["-lto"], 2, ""),
        (&[SM_90, "-nosuch"], 1, "unrecognized option: -nosuch\n"),
        (
            &["-arch=90"],
            1,
            "ERROR NVJITLINK_ERROR_UNRECOGNIZED_OPTION: missing option value (-arch=90)\n",
        ),
        (
            &["-arch=sm_999"],
            16,
            "ERROR NVJITLINK_ERROR_UNRECOGNIZED_ARCH: unrecognized architecture (compute_999)\n",
        ),
        (
            &["-arch=sm_70"],
            17,
            "ERROR NVJITLINK_ERROR_UNSUPPORTED_ARCH: unsupported architecture (compute_70)\n",
        ),
        (&[SM_90, "-O2"], 1, "unsupported value of -O: 2. Only 0 and 3 are supported.\n"),
        (&["-arch=compute_90"], 11, "ERROR: virtual arch requires -ptx\n"),
        (&[SM_90, "-ptx"], 11, "ERROR: -ptx requires -lto\n"),
    ] {
        let mut link = Link::new(options);
        assert_eq!((link.results[0], link.errors()), (result, log.to_owned()), "{options:?}");
        assert!(!link.handle.is_null());
        // NVIDIA's crashes in Complete.
        assert_eq!(link.add(CUBIN, &saxpy(), "a"), 6);
        assert_eq!(link.errors(), format!("{log}ERROR 1: empty elfw when adding cubina\n"));
        assert_eq!((link.complete(), link.cubin()), (6, Err(6)));
        assert_eq!(link.destroy(), 0);
    }
}

#[test]
fn null_is_a_result() {
    let mut link = Link::new(&[SM_90]);
    let null = ptr::null_mut();
    let option = CString::new(SM_90).unwrap();
    let options = [option.as_ptr(), ptr::null()];
    let mut handle = ptr::without_provenance_mut(7);
    // SAFETY: NULL is allowed everywhere.
    unsafe {
        assert_eq!(create(ptr::null_mut(), 1, options.as_ptr()), 10);
        assert_eq!(create(&mut handle, 0, ptr::null()), 10);
        assert_eq!(create(&mut handle, 1, ptr::null()), 10);
        assert_eq!(create(&mut handle, 2, options.as_ptr()), 10);
        assert_eq!(handle, ptr::without_provenance_mut(7), "untouched");
        assert_eq!(destroy(ptr::null_mut()), 10);
        assert_eq!(add_data(null, CUBIN, b"x".as_ptr().cast(), 1, ptr::null()), 10);
        assert_eq!(add_data(link.handle, CUBIN, ptr::null(), 4, ptr::null()), 3);
        assert_eq!(add_data(link.handle, CUBIN, ptr::null(), 0, ptr::null()), 3);
        assert_eq!(add_data(link.handle, CUBIN, b"x".as_ptr().cast(), usize::MAX, ptr::null()), 3);
        assert_eq!(add_file(null, CUBIN, c"x".as_ptr()), 10);
        assert_eq!(add_file(link.handle, CUBIN, ptr::null()), 10);
        assert_eq!(complete(null), 10);
        for size_of in [cubin_size, ptx_size, ltoir_size, error_log_size, info_log_size] {
            let mut size = UNTOUCHED;
            assert_eq!((size_of(null, &mut size), size), (10, UNTOUCHED));
            assert_eq!(size_of(link.handle, ptr::null_mut()), 10);
        }
        for get in [cubin, ptx, ltoir, error_log, info_log] {
            let mut byte = 0_u8;
            assert_eq!(get(null, (&raw mut byte).cast()), 10);
            assert_eq!(get(link.handle, ptr::null_mut()), 10);
        }
        let mut number = 0;
        assert_eq!(version(ptr::null_mut(), &mut number), 10);
        assert_eq!(version(&mut number, ptr::null_mut()), 10);
        assert_eq!(version(ptr::null_mut(), ptr::null_mut()), 10);
    }
    assert_eq!((link.complete(), link.destroy(), link.destroy()), (0, 0, 10));
}

#[test]
fn handles_that_are_none_are_a_result() {
    let mut link = Link::new(&[SM_90]);
    let stale = link.handle;
    assert_eq!(link.destroy(), 0);
    let mut size = UNTOUCHED;
    for handle in [stale, ptr::without_provenance_mut(0x1000), ptr::without_provenance_mut(1)] {
        let mut copy = handle;
        // SAFETY: no function follows a handle.
        unsafe {
            assert_eq!(complete(handle), 3);
            assert_eq!(cubin_size(handle, &mut size), 3);
            assert_eq!(destroy(&mut copy), 3);
        }
    }
}

#[test]
fn products_have_their_time() {
    let mut link = Link::new(&[SM_90]);
    assert_eq!((link.cubin(), link.ptx(), link.ltoir()), (Err(6), Err(3), Err(3)));
    assert_eq!((link.errors(), link.infos()), (String::new(), String::new()));
    link.add(CUBIN, &saxpy(), "a");
    link.add(CUBIN, &scale(), "b");
    assert_eq!(link.complete(), 0);
    let cubin = link.cubin().unwrap();
    assert_eq!(link.complete(), 6);
    assert_eq!(link.cubin(), Ok(cubin), "still there");
    assert_eq!(link.errors(), "");
    assert_eq!(link.add(CUBIN, &scale(), "c"), 6);
    assert_eq!(link.errors(), "ERROR 1: empty elfw when adding cubinc\n");
    assert_eq!((link.ptx(), link.destroy()), (Err(3), 0));
}

#[test]
fn a_link_of_nothing_is_an_empty_cubin() {
    for (options, size) in [(&[SM_90][..], 1432), (&["-arch=sm_80"], 1352)] {
        let mut link = Link::new(options);
        assert_eq!(link.complete(), 0);
        assert_eq!(link.cubin().unwrap().len(), size);
    }
}

#[test]
fn a_failed_add_leaves_the_input_out() {
    let mut link = Link::new(&[SM_90]);
    assert_eq!(link.add(CUBIN, b"text", "x"), 12);
    assert_eq!(link.complete(), 0);
    let nothing = Link::new(&[SM_90]).cubin_of_nothing();
    assert_eq!(link.cubin().unwrap(), nothing);
}

#[test]
fn cuda_12_has_no_results_from_10_on() {
    without_compilers();
    let option = CString::new(SM_90).unwrap();
    let mut handle = ptr::null_mut();
    let (mut major, mut minor) = (0, 0);
    // SAFETY: as the header says.
    let results: Vec<c_int> = unsafe {
        vec![
            create_12(ptr::null_mut(), 1, &option.as_ptr()),
            create_12(&mut handle, 1, &option.as_ptr()),
            add_data_12(handle, CUBIN, b"text".as_ptr().cast(), 4, c"x".as_ptr()),
            add_data_12(handle, ANY, b"text".as_ptr().cast(), 4, c"x".as_ptr()),
            complete_12(handle),
            version_12(&mut major, &mut minor),
            destroy(&mut handle),
        ]
    };
    assert_eq!(results, [3, 0, 3, 8, 0, 0, 0]);
    assert_eq!((major, minor), (12, 9));
    // SAFETY: as the header says.
    assert_eq!(unsafe { version(&mut major, &mut minor) }, 0);
    assert_eq!((major, minor), (13, 0));
}

impl Link {
    fn cubin_of_nothing(mut self) -> Vec<u8> {
        assert_eq!(self.complete(), 0);
        self.cubin().unwrap()
    }
}
