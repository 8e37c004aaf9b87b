//! The command line. The parser, the help text, the man page, the guide's reference and the tool
//! note's command line all come from one table.

mod advice;
mod compile;
mod forward;
mod help;
mod lto;
mod note;
mod parse;
mod replay;
mod row;
mod settings;
mod sink;
mod table;
#[cfg(test)]
mod tests;
mod words;

pub use forward::Forwarded;
pub use help::{COMMANDS, guide_page, help_text, man_page, roff};
pub use lto::LtoRequest;
pub use note::NoteText;
pub use parse::{CommandLine, ParseError, Rejected, Value};
pub(crate) use replay::with_path;
pub use replay::{Replay, response_file};
pub use row::{Audience, Group, Kind, Note, Row};
pub use settings::{
    CallgraphNames, HostScript, LinkSettings, ReleaseOrigin, Request, SettingsError, SideOutputs,
    Target,
};
pub use sink::{Place, Sink};
pub use table::{Opt, TABLE, TARGET_PREFIXES, TARGETS};
