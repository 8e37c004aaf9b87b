//! Frames made by the `zstd` program at all kinds of levels, and by the encoder of another
//! library, come out as they went in; damaged ones do no harm, and never come out as
//! something else than that library makes of them.
//!
//! `WARPLD_BLESS=1 cargo test -p fatbin --test zstd` makes the frames anew, if there is such
//! a program.

use fatbin::DecodeError;
use fatbin::{Compression, decompress};
use proptest::prelude::*;
use std::path::PathBuf;
use std::process::Command;

/// What the frames were made with: the name of the contents, and options.
const FRAMES: [(&str, &str); 13] = [
    ("code", "-1"),
    ("code", "-3 --no-check"),
    ("code", "-9"),
    ("code", "-19"),
    ("code", "-3 --no-content-size"),
    ("words", "--fast=5"),
    ("words", "-3"),
    ("words", "-12"),
    ("words", "--ultra -22"),
    ("noise", "-3"),
    ("noise", "-19"),
    ("zeros", "-3"),
    ("nothing", "-3"),
];

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Contents that need several blocks, of several kinds.
fn contents(name: &str) -> Vec<u8> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut bytes = Vec::new();
    match name {
        // Like instructions: few kinds of them, with registers and offsets.
        "code" => {
            while bytes.len() < 200_000 {
                let mut word = [0; 16];
                let kind = random.below(12);
                word[0] = kind as u8 * 5;
                word[1] = 0x78 + (kind % 3) as u8;
                word[2] = random.below(6) as u8;
                word[3] = random.below(4) as u8;
                word[8] = random.below(1 + kind % 5) as u8;
                word[13..].copy_from_slice(&[0xea, 0xc7, 0x0f]);
                bytes.extend(word);
            }
        }
        "words" => {
            let words: Vec<String> =
                (0..500).map(|_| format!("_Z{:x}v", random.below(1 << 40))).collect();
            while bytes.len() < 150_000 {
                bytes.extend(words[random.below(500) as usize].as_bytes());
                bytes.push(random.below(3) as u8);
            }
        }
        "noise" => {
            while bytes.len() < 20_000 {
                bytes.extend(random.below(u64::MAX).to_le_bytes());
                bytes.extend(vec![7; random.below(30) as usize]);
            }
        }
        "zeros" => bytes.resize(1 << 20, 0),
        _ => {}
    }
    bytes
}

fn path(name: &str, options: &str) -> PathBuf {
    let file = format!("{name}{options}.zst").replace(' ', "");
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/zstd").join(file)
}

fn frame(name: &str, options: &str) -> Vec<u8> {
    std::fs::read(path(name, options)).unwrap()
}

fn make(name: &str, options: &str) {
    let path = path(name, options);
    let source = path.with_extension("");
    std::fs::write(&source, contents(name)).unwrap();
    let mut zstd = Command::new("zstd");
    zstd.args(options.split(' ')).args(["-q", "-f", "-o"]).arg(&path).arg(&source);
    assert!(zstd.status().unwrap().success(), "{zstd:?}");
    std::fs::remove_file(source).unwrap();
}

fn unpack(stored: &[u8], size: usize) -> Result<Vec<u8>, DecodeError> {
    decompress(Compression::Zstd, stored, size as u64, 1 << 30)
}

/// What the other library makes of it.
fn unpack_elsewhere(stored: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut room = vec![0; size + 1];
    let mut decoder = ruzstd::decoding::FrameDecoder::new();
    let count = decoder.decode_all(stored, &mut room).ok()?;
    room.truncate(count);
    Some(room)
}

#[test]
fn frames_of_the_zstd_program_unpack() {
    for (name, options) in FRAMES {
        if std::env::var_os("WARPLD_BLESS").is_some() {
            make(name, options);
        }
        let (stored, contents) = (frame(name, options), contents(name));
        assert!(unpack(&stored, contents.len()).unwrap() == contents, "{name} {options}");
    }
}

#[test]
fn several_frames_are_one_image() {
    let (code, noise) = (contents("code"), contents("noise"));
    let skipped = [&0x184d_2a57_u32.to_le_bytes()[..], &3_u32.to_le_bytes(), b"abc"].concat();
    let frames = [&frame("code", "-9")[..], &skipped, &frame("noise", "-3")].concat();
    let all = [&code[..], &noise].concat();
    assert!(unpack(&frames, all.len()).unwrap() == all);
    // Nothing but frames.
    assert!(unpack(&[&frames, &b"x"[..]].concat(), all.len()).is_err());
}

#[test]
fn a_frame_cut_short_is_an_error() {
    for (name, options) in [("noise", "-19"), ("words", "-12"), ("zeros", "-3")] {
        let (stored, size) = (frame(name, options), contents(name).len());
        let step = stored.len().div_ceil(500);
        for end in (0..stored.len()).step_by(step) {
            assert!(unpack(&stored[..end], size).is_err(), "{name} {options} {end}");
        }
    }
}

#[test]
fn what_is_wrong_is_said() {
    let check = |expected: &str, change: fn(&mut Vec<u8>)| {
        let mut stored = frame("code", "-3 --no-check");
        change(&mut stored);
        let said = unpack(&stored, contents("code").len()).unwrap_err().to_string();
        assert!(said.starts_with("damaged zstd stream: ") && said.contains(expected), "{said}");
    };
    check("does not begin like a frame", |frame| frame[0] ^= 1);
    check("reserved bits", |frame| frame[4] |= 8);
    check("ends too early", |frame| frame.truncate(frame.len() - 1));
    check("needs a dictionary", |frame| {
        frame[4] |= 1;
        frame.insert(6, 9);
    });
}

proptest! {
    #[test]
    fn what_another_encoder_packs_unpacks(
        parts in proptest::collection::vec((any::<u8>(), 1usize..2000, any::<bool>()), 0..60),
    ) {
        let fill = |&(byte, count, plain): &(u8, usize, bool)| {
            (0..count).map(move |n| if plain { byte } else { byte.wrapping_mul((n / 3) as u8) })
        };
        let contents: Vec<u8> = parts.iter().flat_map(fill).collect();
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        let stored = ruzstd::encoding::compress_to_vec(&contents[..], level);
        prop_assert_eq!(unpack(&stored, contents.len()).unwrap(), contents);
    }

    #[test]
    fn damage_does_no_harm(
        which in 0..FRAMES.len(),
        at in any::<prop::sample::Index>(),
        bytes in proptest::collection::vec(any::<u8>(), 1..4),
    ) {
        let (name, options) = FRAMES[which];
        let (mut stored, size) = (frame(name, options), contents(name).len());
        let start = at.index(stored.len());
        for (to, from) in stored.iter_mut().skip(start).zip(bytes) {
            *to = from;
        }
        if let (Ok(ours), Some(theirs)) = (unpack(&stored, size), unpack_elsewhere(&stored, size)) {
            prop_assert!(ours == theirs);
        }
    }
}
