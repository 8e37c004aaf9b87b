//! A row of the option table.

use libwarpld::Release;

/// How an option takes its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Takes none.
    Flag,
    /// `true` or `false`.
    Bool,
    /// A 32-bit integer in the syntax of C's `strtol` with base 0.
    Number,
    /// One of these integers.
    NumberChoice(&'static [i32]),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// The name of a target.
    Target,
    /// Any text, unchanged (including quotes).
    Text,
    /// A file, or none: the value follows `=` and is no argument of its own.
    OptionalFile,
    /// Comma-separated items; repeated options add to the list.
    List,
    /// One item per use, which may contain commas; repeated options add to the list.
    Repeated,
    /// Options files, read immediately.
    OptionsFiles,
}

/// Where an option comes from, and whether the help lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Documented by nvlink.
    Documented,
    /// Accepted by nvlink and passed by drivers, but not in its help.
    Hidden,
    /// Only warpld has it.
    Own,
}

/// Whether and how the tool note's command line shows an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// Never.
    Absent,
    /// Always, with its value.
    Always,
    /// Only in a verbose note, with its value shortened to the base name.
    VerboseFile,
    /// Only in a verbose note, without its value.
    VerboseName,
}

/// The groups of options in the help and the guide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// What to link and where to write.
    Basic,
    /// Where inputs come from.
    Search,
    /// What the output holds.
    Output,
    /// Messages.
    Messages,
    /// Reports on the link.
    Reports,
    /// Link-time optimization.
    Lto,
    /// The program itself.
    General,
}

impl Group {
    /// All groups in the order they are shown.
    pub const ALL: [Self; 7] = [
        Self::Basic,
        Self::Search,
        Self::Output,
        Self::Messages,
        Self::Reports,
        Self::Lto,
        Self::General,
    ];

    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Basic => "Inputs and output",
            Self::Search => "Libraries",
            Self::Output => "What the output holds",
            Self::Messages => "Messages",
            Self::Reports => "Reports and side files",
            Self::Lto => "Link-time optimization",
            Self::General => "General",
        }
    }
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The name after `--`; empty if there is none.
    pub long: &'static str,
    /// The name after `-`; empty if there is none.
    pub short: &'static str,
    /// How the value is taken.
    pub kind: Kind,
    /// The name of the value in the help.
    pub metavar: &'static str,
    /// Whether the value may follow `-short` without a space.
    pub glued: bool,
    /// See [`Audience`].
    pub audience: Audience,
    /// How the tool note shows it.
    pub note: Note,
    /// The first release of CUDA that has it.
    pub since: &'static Release,
    /// Its group.
    pub group: Group,
    /// One or more sentences.
    pub help: &'static str,
}

impl Row {
    /// A flag documented by nvlink; the table's builder methods change it.
    pub(super) const fn new(long: &'static str, short: &'static str, group: Group) -> Self {
        Self {
            long,
            short,
            kind: Kind::Flag,
            metavar: "",
            glued: false,
            audience: Audience::Documented,
            note: Note::Absent,
            since: Release::OLDEST,
            group,
            help: "",
        }
    }
    /// Long and short name are the same word.
    pub(super) const fn both(name: &'static str, group: Group) -> Self {
        Self::new(name, name, group)
    }
    pub(super) const fn takes(mut self, kind: Kind, metavar: &'static str) -> Self {
        self.kind = kind;
        self.metavar = metavar;
        self
    }
    pub(super) const fn glued(mut self) -> Self {
        self.glued = true;
        self
    }
    pub(super) const fn hidden(mut self) -> Self {
        self.audience = Audience::Hidden;
        self
    }
    pub(super) const fn own(mut self) -> Self {
        self.audience = Audience::Own;
        self
    }
    pub(super) const fn note(mut self, note: Note) -> Self {
        self.note = note;
        self
    }
    pub(super) const fn since(mut self, since: &'static Release) -> Self {
        self.since = since;
        self
    }
    pub(super) const fn help(mut self, help: &'static str) -> Self {
        self.help = help;
        self
    }

    /// Whether the next argument is the value of one without `=`.
    pub(super) fn takes_next(&self) -> bool {
        !matches!(self.kind, Kind::Flag | Kind::OptionalFile)
    }

    /// The name for messages: the long one if there is one.
    pub fn name(&self) -> &'static str {
        if self.long.is_empty() { self.short } else { self.long }
    }
}
