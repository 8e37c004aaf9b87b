//! Memory that packed images are unpacked into: parts of large regions with huge pages, where the system has them. Of
//! the 106 MB of NCCL's images that takes 4.5 ms of processor time, and 34 ms with pages of 4 KiB.

use super::small_files;
use libwarpld::driver::Block;
use memmap2::MmapMut;
#[cfg(target_os = "linux")]
use std::fs;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Size of a huge page.
const HUGE: usize = 2 << 20;

/// Address space of a region; what is not used takes no memory.
const REGION: usize = 64 << 20;

/// Blocks from this size on are worth a huge page, which has to be zeroed (0.1 ms).
const LEAST: usize = HUGE / 4;

/// Alignment of blocks in a region: a cache line.
const ALIGN: usize = 64;

/// The unused part of the latest region.
static UNUSED: Mutex<&'static mut [u8]> = Mutex::new(&mut []);

/// A block of zeroed memory.
pub(super) fn allocate(size: usize) -> Option<Box<dyn Block>> {
    static HUGE_PAGES: OnceLock<bool> = OnceLock::new();
    if size >= LEAST
        && *HUGE_PAGES.get_or_init(|| !host_takes_free_memory())
        && let Some(part) = part_of_region(size)
    {
        return Some(Box::new(Part(part)));
    }
    Some(Box::new(Separate(MmapMut::map_anon(size).ok()?)))
}

/// The next `size` bytes of a region. They are never freed: the process exits after its link.
fn part_of_region(size: usize) -> Option<&'static mut [u8]> {
    let taken = size.checked_next_multiple_of(ALIGN)?;
    let mut unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
    if unused.len() < taken {
        *unused = region(taken.max(REGION))?;
    }
    let (part, rest) = std::mem::take(&mut *unused).split_at_mut_checked(taken)?;
    *unused = rest;
    part.get_mut(..size)
}

/// At least `size` bytes that begin where a huge page can.
#[cfg(target_os = "linux")]
fn region(size: usize) -> Option<&'static mut [u8]> {
    let map = MmapMut::map_anon(size.checked_add(HUGE)?).ok()?;
    map.advise(memmap2::Advice::HugePage).ok()?;
    let bytes: &'static mut [u8] = &mut Box::leak(Box::new(map))[..];
    let start = bytes.as_ptr().align_offset(HUGE);
    bytes.get_mut(start..)
}

/// Whether the host of a virtual machine takes back what is free. It takes large pieces only, and gives them again 4 KiB
/// at a time: a huge page takes 4 ms then instead of 0.1, and small pages, which come from what is left, are faster.
#[cfg(target_os = "linux")]
fn host_takes_free_memory() -> bool {
    /// `VIRTIO_BALLOON_F_REPORTING`: features are a text of bits.
    const REPORTING: usize = 5;
    let reports = |device: fs::DirEntry| {
        let features = fs::read(device.path().join("features"));
        features.is_ok_and(|bits| bits.get(REPORTING) == Some(&b'1'))
    };
    let devices = fs::read_dir("/sys/bus/virtio/drivers/virtio_balloon");
    devices.is_ok_and(|mut devices| devices.any(|device| device.is_ok_and(reports)))
        || fs::exists("/sys/bus/vmbus/drivers/hv_balloon").unwrap_or(true)
}

#[cfg(not(target_os = "linux"))]
fn region(_: usize) -> Option<&'static mut [u8]> {
    None
}

#[cfg(not(target_os = "linux"))]
fn host_takes_free_memory() -> bool {
    true
}

/// Part of a region.
struct Part(&'static mut [u8]);

impl Block for Part {
    fn bytes(&self) -> &[u8] {
        self.0
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.0
    }
}

/// Memory with small pages, which are faulted in together.
struct Separate(MmapMut);

impl Block for Separate {
    fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }

    fn prepare(&self, start: usize, size: usize) {
        small_files::provide(&self.0, start, size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_overlap() {
        let sizes = [1, 100, HUGE, 3 * HUGE + 5, REGION + 1, 64, 30 << 20, 30 << 20, 30 << 20];
        let parts = sizes.map(part_of_region).into_iter().flatten();
        let mut parts: Vec<Part> = parts.map(Part).collect();
        assert!(parts.is_empty() || parts.iter().map(|part| part.bytes().len()).eq(sizes));
        for (number, part) in parts.iter_mut().enumerate() {
            assert!(part.bytes().iter().step_by(4096).all(|&byte| byte == 0));
            let middle = part.bytes().len().div_ceil(2);
            part.bytes_mut().iter_mut().step_by(middle).for_each(|byte| *byte = number as u8);
        }
        for (number, part) in parts.iter().enumerate() {
            let middle = part.bytes().len().div_ceil(2);
            let mut marks = part.bytes().iter().step_by(middle);
            assert!(marks.all(|&mark| mark == number as u8), "part {number}");
        }
    }
}
