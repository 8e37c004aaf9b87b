//! Which of the committed objects are linked together.

use cubin::Arch;
use libwarpld::Release;
use support::{Random, fixtures, mutate};

/// The releases whose rules are tried: that of the objects, the newest one with an nvlink, and the
/// newest one.
pub const RELEASES: [&Release; 3] = [Release::OLDEST, &Release::CUDA_13_4, Release::NEWEST];

/// Objects for one target.
pub struct Family {
    pub arch: Arch,
    pub members: Vec<Vec<u8>>,
    /// They have copies of each other's functions or refer to each other, so a link takes
    /// different ones.
    related: bool,
    /// The index of their unified functions and variables.
    pub uidx: Option<Vec<u8>>,
}

impl Family {
    /// The `nth` object of a link.
    pub fn member(&self, nth: usize, random: &mut Random) -> &[u8] {
        let index =
            if self.related { nth % self.members.len() } else { random.below(self.members.len()) };
        &self.members[index]
    }

    /// The index, now and then damaged or left out.
    pub fn index(&self, random: &mut Random) -> Option<Vec<u8>> {
        let index = self.uidx.as_ref()?;
        match random.below(12) {
            0 => None,
            1 | 2 => Some(mutate(index, random)),
            _ => Some(index.clone()),
        }
    }
}

/// Relocatable fixtures that can be linked together, by target.
pub fn families() -> Vec<Family> {
    let all: Vec<(String, Vec<u8>)> = fixtures()
        .into_iter()
        .map(|(path, bytes)| {
            let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
            (name.to_owned(), bytes)
        })
        .collect();
    let any = |arch: &str, suffix: &str| {
        let members = all.iter().filter(|(name, bytes)| {
            let linked = name.starts_with("linked-") || name.contains("exec");
            // Without an index, whatever a unified object is linked with is refused.
            let unified = name.starts_with("unified");
            name.ends_with(suffix) && !linked && !unified && bytes.len() < 24_000
        });
        let members = members.map(|(_, bytes)| bytes.clone()).collect();
        Family { arch: arch.parse().expect("a target"), members, related: false, uidx: None }
    };
    let related = |arch: &str, names: &[&str]| {
        let member = |name: &&str| {
            let name = format!("{name}.{arch}.cubin");
            let found = all.iter().find(|(other, _)| *other == name);
            found.unwrap_or_else(|| panic!("no fixture {name}")).1.clone()
        };
        let members = names.iter().map(member).collect();
        Family { arch: arch.parse().expect("a target"), members, related: true, uidx: None }
    };
    vec![
        any("sm_90", ".sm_90.cubin"),
        any("sm_75", ".sm_75.cubin"),
        any("sm_100", ".sm_100.cubin"),
        any("sm_70", ".sm_70.cuda12.cubin"),
        any("sm_90a", ".sm_90a.cuda12.cubin"),
        related("sm_90", &["lines_a", "lines_b", "switch_a", "switch_b", "textures"]),
        related("sm_100", &["lines_b", "lines_a", "debug"]),
        related("sm_100", &["switch_b", "switch_a"]),
        related("sm_100", &["textures", "texref", "weak"]),
        Family { uidx: Some(index()), ..related("sm_90", &["unified", "scale", "switch_a"]) },
    ]
}

/// Where the functions and variables of `unified` lie in their tables.
pub fn index() -> Vec<u8> {
    const FUNCTIONS: [[u64; 3]; 2] = [[1, 2, 0x80], [3, 4, 0]];
    const VARIABLES: [[u64; 3]; 2] = [[11, 12, 8], [13, 14, 0]];
    let header = [0x100, FUNCTIONS.len() as u64, 0x10, VARIABLES.len() as u64];
    let slots = FUNCTIONS.iter().chain(&VARIABLES).flatten();
    let numbers = header.iter().chain(slots).flat_map(|number| number.to_le_bytes());
    b"\x7fUFTINDX\x01\0\0\0\0\0\0\0".iter().copied().chain(numbers).collect()
}
