//! What a command line would run, and whether all of it only reads.
//!
//! [`read`] takes a line for a shell, [`read_argv`] a program with its arguments, and
//! [`reading_of`] what an agent asks for. None touches the machine: a [`Reading`] is a statement
//! about text. It decides whether a person is asked; it is no sandbox.
//!
//! A line is read twice, by tree-sitter-bash and by a scanner of our own that knows only plain
//! shell. Where the two cut it into different words, or either meets something it does not know,
//! nothing in the line counts as understood. The programs are modelled by what each does with its
//! options: an option that is not in a model is not understood, however harmless it may be.

mod parse;
mod paths;
mod programs;
mod scan;
mod words;

use pilothouse_codex::shell_line;
use pilothouse_core::{Actor, Subject};
use serde::{Serialize, Serializer};

use self::{
    parse::{Line, Simple},
    programs::Finding,
    words::{Kind, Word},
};

/// The longest line that is read; a longer one asks. Agents write files by here-documents, which
/// ask anyway, and what a person can judge at a glance is far shorter.
pub const MAX_LINE_BYTES: usize = 16 * 1024;

/// The most commands that are read in a line; more of them ask, however harmless each may be.
pub const MAX_SEGMENTS: usize = 64;

/// How much of a reason is kept; it may quote a word of any length.
pub const MAX_REASON_CHARS: usize = 160;

/// Whether a person has to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Everything in it is understood and only reads.
    Safe,
    /// A person should look at it.
    Ask,
}

impl Verdict {
    /// The name in JSON and in tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Ask => "ask",
        }
    }
}

/// What a simple command does, as far as it can be told from its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// It reads files or the state of the machine, and prints.
    ReadsOnly,
    /// It changes files, processes or settings, or may.
    Writes,
    /// It runs another program, named by its words or by a setting that they change.
    RunsProgram,
    /// It talks to other machines.
    Network,
    /// It cannot be told.
    NotUnderstood,
}

impl Class {
    /// The words that a person is shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadsOnly => "reads only",
            Self::Writes => "writes",
            Self::RunsProgram => "runs a program it names",
            Self::Network => "network",
            Self::NotUnderstood => "not understood",
        }
    }
}

/// As a person is shown it.
impl Serialize for Class {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One simple command of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Segment {
    /// Its words without their quotes; a word that the shell would still expand is kept as it was
    /// written. Empty where the line was not understood.
    pub argv: Vec<String>,
    /// It as it stands in the line.
    pub text: String,
    /// Whether a person has to be asked because of it.
    pub verdict: Verdict,
    /// What it does.
    pub class: Class,
    /// Why, for a person.
    pub reason: String,
    /// The words are all that it is: nothing in the line sets a variable, none of its words is made
    /// by the shell when it runs, and it writes to no file by a redirection. Only such a command
    /// may be allowed by a rule about its words.
    #[serde(skip)]
    pub is_plain: bool,
}

/// What was read from a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reading {
    /// The strictest verdict of its segments.
    pub verdict: Verdict,
    /// Its simple commands in the order they are written, those in substitutions after the
    /// command that they are part of.
    pub segments: Vec<Segment>,
}

/// Reads a line for a shell such as bash.
pub fn read(line: &str) -> Reading {
    match parse::line(line) {
        Ok(line) => judge(&line),
        Err(opaque) => Reading::opaque(line, opaque.reason()),
    }
}

/// Reads a line for a shell that begins in a directory of somebody else's choice. What programs do
/// by what they find around them, as git by a repository's settings, is not known there.
pub fn read_elsewhere(line: &str) -> Reading {
    match parse::line(line) {
        Ok(line) => judge(&Line { moves: true, ..line }),
        Err(opaque) => Reading::opaque(line, opaque.reason()),
    }
}

/// Reads a program with its arguments, which no shell will see.
pub fn read_argv(argv: &[String]) -> Reading {
    read_words(argv, false)
}

/// The same, in a directory of somebody else's choice: see [`read_elsewhere`].
pub fn read_argv_elsewhere(argv: &[String]) -> Reading {
    read_words(argv, true)
}

fn read_words(argv: &[String], moves: bool) -> Reading {
    let text = argv.join(" ");
    if let Err(opaque) = argv.iter().try_for_each(|it| scan::visible(it)) {
        return Reading::opaque(&text, opaque.reason());
    }
    if text.len() > MAX_LINE_BYTES {
        return Reading::opaque(&text, "it is too long to read");
    }
    if argv.is_empty() {
        return Reading::opaque("", "there is no command in it");
    }
    let words = argv.iter().map(|it| Word::exact(it)).collect();
    let line = Line::of(Simple { text, words, ..Simple::default() });
    judge(&Line { moves: moves || line.moves, ..line })
}

/// Reads the command that an ask is about; nothing if it is about none, or about input for a
/// program that runs. The shell that Codex wraps around a command is taken off before. A caller's
/// own command is taken as it stands, and its directory for one of the caller's choice.
pub fn reading_of(subject: &Subject, asked_by: Option<&Actor>) -> Option<Reading> {
    match subject {
        Subject::Command { write_stdin: true, .. }
        | Subject::FileChange { .. }
        | Subject::Permissions { .. }
        | Subject::Question { .. }
        | Subject::Form { .. }
        | Subject::Url { .. }
        | Subject::Tool { .. }
        | Subject::Adoption { .. } => None,
        Subject::Command { argv, command, .. } if asked_by.is_some() => {
            let is_line = argv.is_empty();
            Some(if is_line { read_elsewhere(command) } else { read_argv_elsewhere(argv) })
        }
        Subject::Command { argv, .. } if !argv.is_empty() => Some(read_argv(argv)),
        Subject::Command { command, .. } => {
            Some(read(shell_line(command).as_deref().unwrap_or(command)))
        }
    }
}

impl Reading {
    fn opaque(line: &str, reason: &str) -> Self {
        let segment = Segment {
            argv: Vec::new(),
            text: line.to_owned(),
            verdict: Verdict::Ask,
            class: Class::NotUnderstood,
            reason: format!("the line was not understood: {reason}"),
            is_plain: false,
        };
        Self { verdict: Verdict::Ask, segments: vec![segment] }
    }
}

fn judge(line: &Line) -> Reading {
    let sets = line.commands.iter().any(Simple::sets_variables);
    let segments: Vec<Segment> = line
        .commands
        .iter()
        .map(|it| {
            let Finding { class, reason } = programs::judge(it, line);
            let verdict = if class == Class::ReadsOnly { Verdict::Safe } else { Verdict::Ask };
            let argv = it.words.iter().map(|word| word.shown().to_owned()).collect();
            Segment {
                argv,
                text: it.text.clone(),
                verdict,
                class,
                reason: shortened(reason),
                is_plain: !sets && is_plain(it),
            }
        })
        .collect();
    let verdict = segments.iter().map(|it| it.verdict).max().unwrap_or(Verdict::Ask);
    Reading { verdict, segments }
}

/// A name that matches files is what a rule's author expects behind a program's name; a name that
/// is put in by the shell, or comes from another command, may be anything.
fn is_plain(simple: &Simple) -> bool {
    let is_known = |it: &Word| matches!(it.kind, Kind::Exact | Kind::Pattern);
    simple.words.first().is_some_and(|it| it.known() == Some(it.raw.as_str()))
        && simple.words.iter().all(is_known)
        && simple.redirections.iter().all(programs::only_reads)
}

fn shortened(reason: String) -> String {
    match reason.char_indices().nth(MAX_REASON_CHARS) {
        Some((at, _)) => format!("{}…", &reason[..at]),
        None => reason,
    }
}
