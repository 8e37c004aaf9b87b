//! What a link says.

/// Lines for the caller.
#[derive(Default)]
pub(crate) struct Log(String);

impl Log {
    pub(crate) fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}
