//! A word of a command: what the shell makes of its quotes, and how much of it is known.

use super::scan::is_name;

/// How much is known of what a program will see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Exactly the value.
    Exact,
    /// Any number of names that match the value, or the value itself.
    Pattern,
    /// Nothing: a variable, a substitution or braces.
    Unknown,
    /// Any number of words that come from another command.
    Input,
    /// Any number of paths that a search from this directory down has found.
    Names,
}

/// The most words of a loop that are tried one by one; with more of them its variable is not known.
const MAX_ITEMS: usize = 64;

/// A word of a command.
#[derive(Clone, Debug)]
pub(super) struct Word {
    /// As it stands in the line.
    pub(super) raw: String,
    /// Without quotes. A pattern's is the pattern, an unknown word's is as it was written.
    pub(super) value: String,
    pub(super) kind: Kind,
    /// What it is in the other rounds of a loop.
    others: Vec<String>,
    /// Whether the shell would put something in the place of a part of it.
    expands: bool,
}

impl Word {
    pub(super) fn exact(value: &str) -> Self {
        Self::new(value, value.to_owned(), Kind::Exact, false)
    }

    fn new(raw: &str, value: String, kind: Kind, expands: bool) -> Self {
        Self { raw: raw.to_owned(), value, kind, others: Vec::new(), expands }
    }

    /// The words that `xargs` appends.
    pub(super) fn input() -> Self {
        Self::new("…", "…".to_owned(), Kind::Input, true)
    }

    /// The words that `xargs` appends if they can only be paths below this directory.
    pub(super) fn names() -> Self {
        Self::new("…", "./…".to_owned(), Kind::Names, true)
    }

    /// It as a program takes it that reads patterns itself.
    pub(super) fn to_pattern(&self) -> Self {
        Self { kind: Kind::Pattern, ..self.clone() }
    }

    /// It with a part replaced by something that is not known.
    pub(super) fn unknown(&self) -> Self {
        Self { kind: Kind::Unknown, expands: true, ..self.clone() }
    }

    /// Reads a word as the scanner and the parser have cut it out, inside of the loops over
    /// `variables`.
    pub(super) fn decode(raw: &str, variables: &[Variable]) -> Self {
        if let Some((kind, mut values)) = variables.iter().rev().find_map(|it| it.values_of(raw))
            && !values.is_empty()
        {
            let value = values.remove(0);
            return Self { others: values, ..Self::new(raw, value, kind, true) };
        }
        let unknown = || Self::new(raw, raw.to_owned(), Kind::Unknown, true);
        if raw.starts_with("<(") {
            // The shell hands over the name of a pipe.
            let kind = if raw.ends_with(')') { Kind::Exact } else { Kind::Unknown };
            return Self::new(raw, "/dev/fd/63".to_owned(), kind, true);
        }
        let Some(Unquoted { chars, expands }) = unquote(raw) else { return unknown() };
        if has_braces(&chars) {
            return unknown();
        }
        let value: String = chars.iter().map(|it| it.char).collect();
        let magic = |it: &Char| !it.quoted && matches!(it.char, '*' | '?' | '[');
        let kind = if value != "[" && value != "[[" && chars.iter().any(magic) {
            Kind::Pattern
        } else {
            Kind::Exact
        };
        Self::new(raw, value, kind, expands)
    }

    /// In how many rounds of a loop it is another word.
    pub(super) fn n_values(&self) -> usize {
        1 + self.others.len()
    }

    /// It in one of those rounds.
    pub(super) fn in_round(&self, nth: usize) -> Self {
        let value = nth.checked_sub(1).and_then(|it| self.others.get(it)).unwrap_or(&self.value);
        Self { value: value.clone(), others: Vec::new(), ..self.clone() }
    }

    /// Whether it is quoted as a whole, so that the shell makes one word of it, whatever it holds.
    pub(super) fn is_one(&self) -> bool {
        let inner = self.raw.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
        // Of `"$@"`, `"${x[@]}"` and `"${!x}"` it makes any number.
        self.kind == Kind::Exact || inner.is_some_and(|it| !it.contains(['"', '@', '!']))
    }

    /// The value, if it is exactly known.
    pub(super) fn known(&self) -> Option<&str> {
        (self.kind == Kind::Exact).then_some(self.value.as_str())
    }

    /// What a person is shown as this word of the argv.
    pub(super) fn shown(&self) -> &str {
        if self.kind == Kind::Exact && !self.expands { &self.value } else { &self.raw }
    }

    /// Whether quotes or backslashes cut the word in the middle, as in `r\m` or `l''s`. Whole
    /// quoted words and `\ls` are ordinary.
    pub(super) fn is_spliced(&self) -> bool {
        let bare = self.raw.trim_start_matches('\\').trim_matches(['\'', '"']);
        bare != self.value
    }
}

/// The variable of a loop.
#[derive(Debug)]
pub(super) struct Variable {
    name: String,
    kind: Kind,
    /// All that it can be, each a pattern if it may be one.
    values: Vec<String>,
    /// Without quotes too it is always one word and no pattern.
    stays_whole: bool,
}

impl Variable {
    /// A variable that is each of the words in turn.
    pub(super) fn over(name: &str, words: &[Word]) -> Self {
        let is_plain = |it: &Word| matches!(it.kind, Kind::Exact | Kind::Pattern);
        let values: Vec<&String> =
            words.iter().flat_map(|it| std::iter::once(&it.value).chain(&it.others)).collect();
        let is_known = !values.is_empty()
            && values.len() <= MAX_ITEMS
            && words.iter().all(is_plain)
            // An empty one can be set by `${name:=…}`.
            && !values.iter().any(|it| it.is_empty() || it.starts_with('-'));
        // What a directory is called may have blanks in it.
        let is_whole = |it: &Word| {
            let is_letter = |it: char| it.is_ascii_alphanumeric() || "._/,:@%+=^-".contains(it);
            it.kind == Kind::Exact && !it.expands && it.value.chars().all(is_letter)
        };
        let kind = match words {
            [word] if is_known && values.len() == 1 => word.kind,
            _ if is_known => Kind::Pattern,
            _ => Kind::Unknown,
        };
        Self {
            name: name.to_owned(),
            kind,
            values: values.into_iter().cloned().collect(),
            stays_whole: words.iter().all(is_whole),
        }
    }

    /// The values of a word that is this variable, perhaps as a part of a path.
    fn values_of(&self, raw: &str) -> Option<(Kind, Vec<String>)> {
        let quoted = raw.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
        let inner = quoted.unwrap_or(raw);
        let (before, after) = [format!("${{{}}}", self.name), format!("${}", self.name)]
            .iter()
            .find_map(|it| inner.split_once(it.as_str()))?;
        let is_plain =
            |it: &str| it.bytes().all(|it| it.is_ascii_alphanumeric() || b"._/-".contains(&it));
        let fits = (before.is_empty() || before.ends_with('/') && !before.starts_with('-'))
            && (after.is_empty() || after.starts_with('/'));
        let is_word = quoted.is_some() || self.stays_whole;
        if self.kind == Kind::Unknown || !is_word || !fits || !is_plain(before) || !is_plain(after)
        {
            return None;
        }
        let values = self.values.iter().map(|it| format!("{before}{it}{after}"));
        Some((self.kind, values.collect()))
    }
}

struct Unquoted {
    chars: Vec<Char>,
    expands: bool,
}

struct Char {
    char: char,
    quoted: bool,
}

/// The characters that are left when the shell has taken its quotes; `None` where it would put in
/// something that is not known.
fn unquote(raw: &str) -> Option<Unquoted> {
    let mut res = Vec::new();
    let mut expands = false;
    let mut chars = raw.chars().peekable();
    let mut in_quotes = false;
    while let Some(char) = chars.next() {
        match char {
            '"' => in_quotes = !in_quotes,
            '\'' if !in_quotes => {
                for inner in chars.by_ref().take_while(|it| *it != '\'') {
                    res.push(Char { char: inner, quoted: true });
                }
            }
            '\\' => match chars.next()? {
                '\n' => {}
                it if in_quotes && !matches!(it, '$' | '`' | '"' | '\\') => {
                    res.push(Char { char: '\\', quoted: true });
                    res.push(Char { char: it, quoted: true });
                }
                it => res.push(Char { char: it, quoted: true }),
            },
            '`' => return None,
            '$' if !in_quotes && chars.peek() == Some(&'\'') => {
                chars.next();
                ansi(&mut chars, &mut res)?;
            }
            '$' => {
                let rest: String = chars.clone().collect();
                let (known, length) = variable(&rest, res.is_empty() && in_quotes)?;
                expands |= length > 0;
                res.extend(known.chars().map(|char| Char { char, quoted: true }));
                for _ in 0..length {
                    chars.next();
                }
            }
            it => res.push(Char { char: it, quoted: in_quotes }),
        }
    }
    Some(Unquoted { chars: res, expands })
}

/// What a variable stands for, and how many characters name it. Only what no environment can turn
/// into something else or into several words: the home and working directories at the start of a quoted
/// word, and numbers.
fn variable(rest: &str, at_quoted_start: bool) -> Option<(&'static str, usize)> {
    let braced = rest.strip_prefix('{').and_then(|it| it.split_once('}')).map(|it| it.0);
    let (name, length) = if let Some(name) = braced {
        (name, name.len() + 2)
    } else {
        let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_';
        let length = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
        (&rest[..length], length)
    };
    match name {
        "HOME" if at_quoted_start => Some(("~", length)),
        "PWD" if at_quoted_start => Some((".", length)),
        _ if name.starts_with('#') && is_name(&name[1..]) => Some(("0", length)),
        "" => match rest.chars().next() {
            Some('?' | '#' | '$') => Some(("0", 1)),
            // Of `$!` there may be nothing, and then no word.
            Some('!' | '@' | '*' | '-' | '(' | '{' | '[') => None,
            _ => Some(("$", 0)),
        },
        _ => None,
    }
}

/// The inside of `$'…'`, of which only the plain escapes are known.
fn ansi(chars: &mut impl Iterator<Item = char>, res: &mut Vec<Char>) -> Option<()> {
    loop {
        let char = match chars.next()? {
            '\'' => return Some(()),
            '\\' => match chars.next()? {
                'n' => '\n',
                't' => '\t',
                it @ ('\\' | '"') => it,
                _ => return None,
            },
            it => it,
        };
        res.push(Char { char, quoted: true });
    }
}

/// Whether the shell would make several words of it: `{a,b}` and `{1..9}`, but not `@{1}..`.
fn has_braces(chars: &[Char]) -> bool {
    let is = |it: &Char, char: char| !it.quoted && it.char == char;
    let Some(open) = chars.iter().position(|it| is(it, '{')) else { return false };
    let Some(close) = chars.iter().rposition(|it| is(it, '}')) else { return false };
    if close < open {
        return false;
    }
    let inner = &chars[open..close];
    let lists = inner.iter().any(|it| is(it, ','));
    let ranges = inner.split(|it| is(it, '{')).skip(1).any(|it| {
        let body = it.split(|it| is(it, '}')).next().unwrap_or_default();
        body.windows(2).any(|it| it.iter().all(|it| is(it, '.')))
    });
    lists || ranges
}
