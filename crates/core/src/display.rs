//! Makes text from agents safe to read: what can't be seen, or would move other text, is shown.
//!
//! Text from an agent may hold escape sequences that move a terminal's cursor, marks that turn the
//! direction of what follows, letters without width, and blanks by the thousand, all of which hide
//! what a person is asked about. [`pieces`] splits a text into runs that are shown as they are and
//! stand-ins for what is not: `\u{202E}`, `\e`, `␠×4000`. [`show`] is the same as one string, with
//! what was found in it for the warning beside it.
//!
//! The console has the same rules; `fixtures/display.json` holds both to them.

use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
};

/// The longest run of one kind of blank that is shown as it is: deeper than any code is indented.
pub const MAX_BLANKS: usize = 64;
/// The most empty lines in a row that are shown.
pub const MAX_EMPTY_LINES: usize = 4;
/// The most times that the same escape is repeated.
pub const MAX_REPEATS: usize = 3;

/// What is not shown as it is. In order of how much it should worry a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trouble {
    /// It would move the cursor, or worse.
    Control,
    /// It turns the direction of the text around it.
    Direction,
    /// It has no width.
    Invisible,
    /// A tag, which no program shows.
    Tag,
    /// It changes how the letter before it looks, and carries hidden bytes.
    Variation,
    /// It breaks a line where no line feed is.
    LineBreak,
    /// It looks like a space and is none.
    Space,
    /// Blanks that push what follows out of sight.
    Padding,
}

impl Trouble {
    /// The words that a person is shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Control => "control character",
            Self::Direction => "changes text direction",
            Self::Invisible => "invisible character",
            Self::Tag => "invisible tag",
            Self::Variation => "variation selector",
            Self::LineBreak => "line break",
            Self::Space => "looks like a space",
            Self::Padding => "padding",
        }
    }

    /// What a letter is, if it is not shown as it is. Line feeds and tabs are text.
    pub const fn of(letter: char) -> Option<Self> {
        Some(match letter {
            '\n' | '\t' => return None,
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => Self::Control,
            '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{61c}' => Self::Direction,
            '\u{200b}'..='\u{200d}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{180e}'
            | '\u{fff9}'..='\u{fffb}' => Self::Invisible,
            '\u{a0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200a}'
            | '\u{202f}'
            | '\u{205f}'
            | '\u{3000}'
            | '\u{2800}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{3164}'
            | '\u{ffa0}' => Self::Space,
            '\u{2028}' | '\u{2029}' => Self::LineBreak,
            '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => Self::Variation,
            '\u{e0000}'..='\u{e007f}' => Self::Tag,
            _ => return None,
        })
    }
}

/// How much room there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// One line: line feeds and tabs are shown as `\n` and `\t`.
    Line,
    /// As many lines as it takes.
    Lines,
}

/// A part of a text as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<'a> {
    /// As it is.
    Plain(&'a str),
    /// A line feed or a tab where there is no room for it.
    Blank(&'static str),
    /// What stands for letters that are not shown as they are.
    Instead {
        /// What is shown.
        text: String,
        /// What they are.
        trouble: Trouble,
        /// How many.
        count: usize,
    },
    /// What stands for letters that there is no room for.
    Cut {
        /// How many.
        count: usize,
    },
}

impl fmt::Display for Piece<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(text) | Self::Blank(text) => f.write_str(text),
            Self::Instead { text, .. } => f.write_str(text),
            Self::Cut { count } => write!(f, " … {count} more characters … "),
        }
    }
}

/// What was found in a text, by kind and number of letters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found(BTreeMap<Trouble, usize>);

impl Found {
    /// Whether all of it is shown as it is.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each kind with how many letters of it there are, the worst first.
    pub fn counts(&self) -> impl Iterator<Item = (Trouble, usize)> {
        self.0.iter().map(|(trouble, count)| (*trouble, *count))
    }

    /// Takes note of what was found in another text.
    pub fn add(&mut self, other: &Self) {
        for (trouble, count) in other.counts() {
            *self.0.entry(trouble).or_default() += count;
        }
    }

    fn note(&mut self, pieces: &[Piece<'_>]) {
        for piece in pieces {
            if let Piece::Instead { trouble, count, .. } = piece {
                *self.0.entry(*trouble).or_default() += count;
            }
        }
    }
}

/// In words: `3 × control character, 1 × changes text direction`.
impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (trouble, count)) in self.counts().enumerate() {
            let comma = if n > 0 { ", " } else { "" };
            write!(f, "{comma}{count} × {}", trouble.as_str())?;
        }
        Ok(())
    }
}

/// A text as it is shown, and what was found in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The text.
    pub text: String,
    /// What is not shown as it is.
    pub found: Found,
    /// How many letters are not shown at all.
    pub n_cut: usize,
}

/// The whole text.
pub fn show(text: &str, room: Room) -> Shown {
    join(&pieces(text, room), 0)
}

/// The text's head and tail, in about so many letters if all of it is more.
///
/// What a person decides about is never cut; this is for lists and titles.
pub fn show_within(text: &str, room: Room, limit: usize) -> Shown {
    let mut letters = text.char_indices();
    // No letter takes less than one of those that are shown.
    let Some((_, _)) = letters.by_ref().nth(limit) else { return show(text, room) };
    let count = text.chars().count();
    let n_head = limit * 2 / 3;
    let n_tail = limit - n_head;
    let at = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(at, _)| at);
    let n_cut = count - limit;
    let mut res = pieces(&text[..at(n_head)], room);
    let mut found = Found::default();
    // What is not shown counts, too.
    found.note(&pieces(text, room));
    res.push(Piece::Cut { count: n_cut });
    res.extend(pieces(&text[at(count - n_tail)..], room));
    Shown { found, ..join(&res, n_cut) }
}

fn join(pieces: &[Piece<'_>], n_cut: usize) -> Shown {
    let mut res = Shown { text: String::new(), found: Found::default(), n_cut };
    for piece in pieces {
        // Writing to a string cannot fail.
        write!(res.text, "{piece}").ok();
    }
    res.found.note(pieces);
    res
}

/// The text in one line, without what was found in it: for names and titles.
pub fn line(text: &str) -> String {
    show(text, Room::Line).text
}

/// Splits a text into what is shown as it is and what stands for the rest.
pub fn pieces(text: &str, room: Room) -> Vec<Piece<'_>> {
    let mut res = vec![];
    let mut kept = 0;
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        let rest = &text[at..];
        let n_same = rest.chars().take_while(|it| *it == letter).count();
        let end = at + n_same * letter.len_utf8();
        let instead = instead_of(letter, n_same, room);
        if !instead.is_empty() {
            if kept < at {
                res.push(Piece::Plain(&text[kept..at]));
            }
            res.extend(instead);
            kept = end;
        }
        at = end;
    }
    if kept < text.len() {
        res.push(Piece::Plain(&text[kept..]));
    }
    res
}

/// What stands for a run of one letter; nothing if it is shown as it is.
fn instead_of(letter: char, count: usize, room: Room) -> Vec<Piece<'static>> {
    let times =
        |text: String, trouble| Piece::Instead { text: format!("{text}×{count}"), trouble, count };
    if let Some(trouble) = Trouble::of(letter) {
        let text = escape_of(letter);
        if count > MAX_REPEATS {
            return vec![times(text, trouble)];
        }
        return vec![Piece::Instead { text, trouble, count: 1 }; count];
    }
    let (most, mark, blank) = match letter {
        ' ' => (MAX_BLANKS, '␠', None),
        '\t' => (MAX_BLANKS / 8, '␉', Some("\\t")),
        '\n' => (MAX_EMPTY_LINES + 1, '␊', Some("\\n")),
        _ => return vec![],
    };
    if count <= most {
        let blank = blank.filter(|_| room == Room::Line);
        return blank.map_or_else(Vec::new, |it| vec![Piece::Blank(it); count]);
    }
    let mut res = vec![times(mark.to_string(), Trouble::Padding)];
    // What follows is still on another line.
    if letter == '\n' && room == Room::Lines {
        res.push(Piece::Blank("\n"));
    }
    res
}

/// How a letter is written that is not shown as it is.
fn escape_of(letter: char) -> String {
    match letter {
        '\r' => "\\r".to_owned(),
        '\u{1b}' => "\\e".to_owned(),
        '\0'..='\u{1f}' | '\u{7f}' => format!("\\x{:02x}", u32::from(letter)),
        _ => format!("\\u{{{:04X}}}", u32::from(letter)),
    }
}

/// JSON that means the same and holds nothing that a terminal would heed.
pub fn json(text: &str) -> String {
    let mut res = String::with_capacity(text.len());
    for letter in text.chars() {
        if Trouble::of(letter).is_none() {
            res.push(letter);
            continue;
        }
        // Outside of its texts JSON holds no such letters.
        for unit in letter.encode_utf16(&mut [0; 2]) {
            write!(res, "\\u{unit:04x}").ok();
        }
    }
    res
}
