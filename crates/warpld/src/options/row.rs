//! What one row of the option table says.

/// How an option takes its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Takes none.
    Flag,
    /// `true` or `false`.
    Bool,
    /// A 32-bit integer as C's `strtol` with base 0 reads it.
    Number,
    /// An integer out of a fixed set.
    NumberChoice(&'static [i32]),
    /// One word out of a fixed set.
    Choice(&'static [&'static str]),
    /// The name of a target.
    Target,
    /// Any text, kept as it stands (quotes included).
    Text,
    /// Comma-separated items; repeats add to the list.
    List,
    /// One item per use, commas kept; repeats add to the list.
    Repeated,
    /// Options files, read on the spot.
    OptionsFiles,
}

/// Who is told about an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// An option nvlink documents.
    Documented,
    /// Accepted by nvlink and passed by drivers, but not in its help.
    Hidden,
    /// Only warpld has it.
    Own,
}

/// Whether and how the tool note's command line shows an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// Not at all.
    Absent,
    /// Always, with its value.
    Always,
    /// Only in a verbose note, its value cut to the base name.
    VerboseFile,
    /// Only in a verbose note, with the value left out.
    VerboseName,
}

/// The themes under which help and guide list the options.
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
    /// Link-time optimisation.
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
            Self::Lto => "Link-time optimisation",
            Self::General => "General",
        }
    }
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Spelled `--long`; empty if there is no such spelling.
    pub long: &'static str,
    /// Spelled `-short`; empty if there is no such spelling.
    pub short: &'static str,
    /// How the value is taken.
    pub kind: Kind,
    /// What the value is called in the help.
    pub metavar: &'static str,
    /// `-short` may be followed by the value without a blank.
    pub glued: bool,
    /// Who is told.
    pub audience: Audience,
    /// How the tool note shows it.
    pub note: Note,
    /// Its theme.
    pub group: Group,
    /// One or more sentences.
    pub help: &'static str,
}

impl Row {
    /// A flag that nvlink documents, for the table's builder chain.
    pub(super) const fn new(long: &'static str, short: &'static str, group: Group) -> Self {
        Self {
            long,
            short,
            kind: Kind::Flag,
            metavar: "",
            glued: false,
            audience: Audience::Documented,
            note: Note::Absent,
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
    pub(super) const fn help(mut self, help: &'static str) -> Self {
        self.help = help;
        self
    }

    /// The name messages use: the long one where there is one.
    pub fn name(&self) -> &'static str {
        if self.long.is_empty() { self.short } else { self.long }
    }
}
