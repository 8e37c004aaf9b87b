//! Inputs that end too early, at every byte.

use crate::images;
use crate::make::{Make, host};
use libwarpld::driver::{Diagnostics, SelectOptions};
use libwarpld::{Config, Severity};
use warpld::files::{Files, LoadRequest};

/// Opens a file and selects for sm_90; the images, or `None` after a fatal
/// message.
fn select(path: &std::path::Path) -> Option<Vec<Vec<u8>>> {
    let files = Files::open(&LoadRequest { files: vec![path.to_owned()], ..Default::default() });
    let mut diagnostics = Diagnostics::default();
    let options = SelectOptions::of(&Config::builder("sm_90".parse().unwrap()).build());
    let images = match files.scan().select(&options, &mut diagnostics) {
        Ok(selected) => selected.inputs.images,
        Err(error) => {
            let last = error.diagnostics().last();
            assert!(last.is_some_and(|last| last.severity == Severity::Fatal));
            return None;
        }
    };
    assert!(diagnostics.worst() < Some(Severity::Fatal));
    Some(images.into_iter().map(|input| input.image.into_owned()).collect())
}

#[test]
fn a_cut_input_is_an_error_or_a_shorter_answer() {
    let images = images::load();
    let archive = Make::Archive(vec![("x.o", host("a", &["m1"])), ("y.o", host("b", &["m2"]))]);
    let folder = tempfile::tempdir().unwrap();
    for (name, make) in [
        ("f.fatbin", Make::Fatbin(vec!["80", "m1"])),
        ("h.o", host("a", &["80", "m1"])),
        ("l.a", archive),
        ("c.cubin", Make::Cubin("m1")),
    ] {
        let bytes = make.bytes(&images);
        let path = folder.path().join(name);
        std::fs::write(&path, &bytes).unwrap();
        let whole = select(&path).unwrap();
        assert!(!whole.is_empty());
        for end in 0..bytes.len() {
            std::fs::write(&path, &bytes[..end]).unwrap();
            if let Some(list) = select(&path) {
                assert!(list.len() <= whole.len(), "{name} {end}");
                assert_eq!(list[..], whole[..list.len()], "{name} {end}");
            }
        }
    }
}
