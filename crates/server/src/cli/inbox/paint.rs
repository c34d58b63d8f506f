//! Words for a terminal: our own as they are, those of agents made safe and kept apart.

use pilothouse_core::display::{Found, Piece, Room, pieces, show};

/// What is wanted of a terminal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    /// Colours may be used.
    pub(super) colour: bool,
    /// How wide it is; nothing when what is printed goes to a file.
    pub(super) width: Option<usize>,
}

/// Narrowest terminal that lines are broken for.
const MIN_WIDTH: usize = 20;
/// What stands before each line of an agent's, so that none looks like one of ours.
const BAR: &str = "  │ ";
const N_BAR: usize = 4;

/// Colours, by what they mean.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ink {
    Bold,
    Dim,
    Red,
    Green,
    Cyan,
    /// What stands for something that is not shown.
    Instead,
}

impl Ink {
    const fn begin(self) -> &'static str {
        match self {
            Self::Bold => "\x1b[1m",
            Self::Dim => "\x1b[2m",
            Self::Red => "\x1b[31m",
            Self::Green => "\x1b[32m",
            Self::Cyan => "\x1b[36m",
            Self::Instead => "\x1b[7m",
        }
    }
}

/// A text that grows, with what was found in the words of agents.
#[derive(Debug)]
pub(super) struct Paint {
    style: Style,
    text: String,
    found: Found,
}

impl Paint {
    pub(super) fn new(style: Style) -> Self {
        Self { style, text: String::new(), found: Found::default() }
    }

    /// A line of our own.
    pub(super) fn say(&mut self, ink: Option<Ink>, line: &str) {
        let line = self.inked(ink, line);
        self.text.extend([line.as_str(), "\n"]);
    }

    /// A label of ours and words of somebody's, on one line.
    pub(super) fn field(&mut self, label: &str, words: &str) {
        let shown = show(words, Room::Line);
        self.found.add(&shown.found);
        let label = self.inked(Some(Ink::Dim), &format!("{label:<9}"));
        self.text.extend([label.as_str(), " ", &shown.text, "\n"]);
    }

    /// Words of somebody's as they are, line by line, behind a bar.
    pub(super) fn quote(&mut self, words: &str) {
        self.quote_inked(words, |_| None);
    }

    /// Likewise, each line in its own colour.
    pub(super) fn quote_inked(&mut self, words: &str, ink: impl Fn(&str) -> Option<Ink>) {
        self.found.add(&show(words, Room::Lines).found);
        self.lines(words, ink);
    }

    /// A part of what was quoted before, so that what was found in it is counted once.
    pub(super) fn requote(&mut self, words: &str) {
        self.lines(words, |_| None);
    }

    fn lines(&mut self, words: &str, ink: impl Fn(&str) -> Option<Ink>) {
        let all = pieces(words, Room::Lines);
        let mut line = vec![];
        for piece in &all {
            let (text, instead) = match piece {
                Piece::Plain(text) | Piece::Blank(text) => (*text, false),
                Piece::Instead { text, .. } => (text.as_str(), true),
                Piece::Cut { .. } => ("…", true),
            };
            let mut parts = text.split('\n');
            line.extend(parts.next().map(|it| (it.to_owned(), instead)));
            for part in parts {
                self.quoted_line(&line, &ink);
                line = vec![(part.to_owned(), instead)];
            }
        }
        let ends = line.iter().all(|(it, _)| it.is_empty()) && words.ends_with('\n');
        if !ends {
            self.quoted_line(&line, &ink);
        }
    }

    /// One line of somebody's, broken where the terminal would: what it breaks by itself would have
    /// no bar, and could be anything.
    fn quoted_line(&mut self, line: &[(String, bool)], ink: &impl Fn(&str) -> Option<Ink>) {
        let whole: String = line.iter().map(|(text, _)| text.as_str()).collect();
        let colour = ink(&whole);
        let room = self.style.width.map(|it| it.max(MIN_WIDTH) - N_BAR);
        self.text += BAR;
        let mut used = 0;
        for (text, instead) in line {
            let ink = if *instead { Some(Ink::Instead) } else { colour };
            let mut run = String::new();
            for letter in text.chars() {
                let letter = if letter == '\t' { "    ".to_owned() } else { letter.to_string() };
                let wide = letter.chars().map(width_of).sum::<usize>();
                if room.is_some_and(|it| used + wide > it) {
                    self.text += &self.inked(ink, &run);
                    self.text.extend(["\n", BAR]);
                    run.clear();
                    used = 0;
                }
                run += &letter;
                used += wide;
            }
            self.text += &self.inked(ink, &run);
        }
        self.text.push('\n');
    }

    /// Says what of the words of agents is not shown as it is.
    pub(super) fn warn(&mut self) {
        if self.found.is_empty() {
            return;
        }
        let warning = format!("WARNING  it holds what cannot be seen or misleads: {}", self.found);
        self.say(Some(Ink::Red), &warning);
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    fn inked(&self, ink: Option<Ink>, text: &str) -> String {
        match ink {
            Some(ink) if self.style.colour && !text.is_empty() => {
                [ink.begin(), text, "\x1b[0m"].concat()
            }
            Some(_) | None => text.to_owned(),
        }
    }
}

/// How many columns a letter takes; in doubt two.
fn width_of(letter: char) -> usize {
    if u32::from(letter) < 0x1100 { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(words: &str, style: Style) -> String {
        let mut paint = Paint::new(style);
        paint.quote(words);
        paint.finish()
    }

    #[test]
    fn no_line_of_an_agents_can_pass_for_one_of_ours() {
        let style = Style { colour: false, width: Some(20) };
        let words = format!("{}Digest x\nDigest y\r\n\u{1b}[2K", "x".repeat(16));
        let said = quoted(&words, style);
        assert!(said.lines().all(|it| it.starts_with("  │ ")), "{said}");
        assert!(said.lines().all(|it| it.chars().count() <= 20), "{said}");
        assert!(said.contains("Digest y\\r") && said.contains("\\e[2K"), "{said}");
    }

    #[test]
    fn what_stands_for_something_is_told_apart_by_colour() {
        let style = Style { colour: true, width: None };
        assert_eq!(quoted("\\e\u{1b}x", style), "  │ \\e\x1b[7m\\e\x1b[0mx\n");
        assert_eq!(quoted("a\nb\n", style), "  │ a\n  │ b\n");
        assert_eq!(quoted("", style), "  │ \n");
    }
}
