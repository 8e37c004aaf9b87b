//! Which image of a fatbin a target takes.

use super::{Scenario, ar, leak, scenario};
use crate::make::{Make, host};

pub(super) fn image_choice() -> Vec<Scenario> {
    let mut list = Vec::new();
    for (arch, images) in [
        ("sm_90", "80 90"),
        ("sm_90", "90 90a"),
        ("sm_90", "90a 90"),
        ("sm_90a", "90 90a"),
        ("sm_90a", "90a 90"),
        ("sm_89", "80 86"),
        ("sm_89", "86 80"),
        ("sm_86", "80 86 89"),
        ("sm_87", "80 86"),
        ("sm_103", "100 100a 100f"),
        ("sm_103", "100f 103"),
        ("sm_103", "103 100f"),
        ("sm_103a", "100 103"),
        ("sm_100a", "100f 100a 100"),
        ("sm_100f", "100 100f 100a"),
        ("sm_100", "100a 100"),
        ("sm_121", "120 120f 120a"),
        ("sm_121f", "120 121"),
        ("sm_90", "m1 m2"),
        ("sm_90", "90 ptx:90"),
        ("sm_90", "ptx:90 90"),
        ("sm_90", "90 ptx:80"),
        ("sm_90", "80"),
        ("sm_90a", "80 100"),
        ("sm_90", "lto:90"),
        ("sm_90", "lto:80"),
        ("sm_90", "lto:100"),
        ("sm_90", "90 lto:90"),
        ("sm_90", "80 lto:90"),
    ] {
        let name = leak(format!("{arch} of {images}"));
        let images: Vec<&'static str> = images.split(' ').collect();
        list.push(scenario(name, vec![("h.o", host("id", &images))], "h.o").arch(arch));
    }
    for (arch, images, answer) in [
        (
            "sm_90",
            "ptx:90",
            "says error: 'h.o' has no machine code for sm_90, only PTX for compute_90\nregisters id",
        ),
        (
            "sm_90",
            "ptx:80 100",
            "says error: 'h.o' has no machine code for sm_90, only PTX for compute_80\nregisters id",
        ),
        (
            "sm_86",
            "80 ptx:86",
            "says warning: using the sm_80 code of 'h.o', not its newer PTX\nlinks k_80\nregisters id",
        ),
    ] {
        let name = leak(format!("{arch} of {images}"));
        let images: Vec<&'static str> = images.split(' ').collect();
        let question = scenario(name, vec![("h.o", host("id", &images))], "h.o").arch(arch);
        list.push(question.differs(answer));
    }
    list.push(scenario("ptx too new", vec![("h.o", host("id", &["ptx:100"]))], "h.o"));
    list.push(scenario(
        "arch warning suppressed",
        vec![("h.o", host("id", &["80"]))],
        "h.o -suppress-arch-warning",
    ));
    list.push(scenario(
        "no arch warning for members",
        vec![("l.a", ar(vec![("h.o", host("id", &["80"]))]))],
        "l.a",
    ));
    list.push(scenario("cubin for another arch", vec![("c.cubin", Make::Cubin("80"))], "c.cubin"));
    list
}
