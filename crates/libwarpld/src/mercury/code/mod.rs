//! Edits to machine code that nvlink makes when it finalizes Mercury code: instructions that are
//! removed or inserted, where the others move, which scoreboards they use, and the debug tables
//! that follow. All of it works on one function's bytes.

mod blocks;
#[cfg(test)]
mod board_calls;
mod board_check;
mod board_choice;
mod board_clock;
mod board_ends;
#[cfg(test)]
mod board_kernels;
#[cfg(test)]
mod board_large;
#[cfg(test)]
mod board_releases;
mod board_reserved;
mod board_sides;
mod board_stalls;
#[cfg(test)]
mod board_textures;
mod board_times;
mod board_waits;
mod capsules;
mod dependences;
mod edits;
mod event;
mod event_flow;
mod event_set;
mod exponentials;
pub mod frame_moves;
pub mod frame_rows;
mod guard_boards;
pub(in crate::mercury) mod instruction;
mod kernel;
mod later_waits;
pub mod line_rows;
mod lost_fences;
mod lost_syncs;
mod lost_waits;
mod mercury_map;
mod moves;
mod older_code;
mod registers;
mod retarget;
mod scoreboards;
mod units;
mod untimed;

pub use blocks::block_starts;
pub use edits::{Edited, Purpose, edit};
pub use exponentials::relies_on_one_unit;
pub use kernel::{Change, Jumps};
pub use later_waits::wait_later;
pub use lost_syncs::is_lost;
pub use mercury_map::MercuryMap;
pub use moves::Moves;
pub use older_code::renew;
pub use scoreboards::rescoreboard;
pub use untimed::{lacks_optimisation, untime};
