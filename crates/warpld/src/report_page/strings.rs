//! Strings of the page, each of them once.

use libwarpld::driver::shown;
use std::collections::HashMap;

/// A table of strings, as people may see them.
#[derive(Debug, Default)]
pub struct Strings {
    list: Vec<String>,
    index: HashMap<String, usize>,
}

impl Strings {
    /// The number of a string.
    pub fn add(&mut self, text: &str) -> usize {
        if let Some(&index) = self.index.get(text) {
            return index;
        }
        self.list.push(shown(text).into_owned());
        self.index.insert(text.to_owned(), self.list.len() - 1);
        self.list.len() - 1
    }

    /// All strings by their numbers.
    pub fn into_list(self) -> Vec<String> {
        self.list
    }
}
