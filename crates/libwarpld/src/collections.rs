//! Hash maps and sets whose hashes, and with them the order of their elements, are the same in
//! every run.

use foldhash::fast::FixedState;

/// A hash map.
pub type Map<K, V> = hashbrown::HashMap<K, V, FixedState>;

/// A hash set.
pub type Set<T> = hashbrown::HashSet<T, FixedState>;
