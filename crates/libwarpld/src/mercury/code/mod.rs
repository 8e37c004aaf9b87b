//! Changes to machine code that nvlink makes when it turns Mercury into code that a driver loads:
//! instructions that are removed or added, where the others move, which scoreboards they use; and
//! what of debug tables follows. All of it works on one function's bytes.

mod bit_set;
mod capsules;
mod edits;
pub mod frame_moves;
pub mod frame_rows;
mod instruction;
pub mod line_rows;
mod mercury_map;
mod moves;
mod scoreboards;

pub use edits::{Edited, Purpose, edit};
pub use mercury_map::MercuryMap;
pub use moves::Moves;
pub use scoreboards::rescoreboard;
