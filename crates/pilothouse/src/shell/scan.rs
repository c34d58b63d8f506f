//! A second reader that cuts a line into words and operators, for the parser to agree with.
//!
//! It knows less of the shell than the grammar does and refuses the rest. What it knows, it knows
//! as bash reads it, so an oddity of the grammar shows as a disagreement.

use std::ops::Range;

/// How deep substitutions and subshells may nest.
const MAX_NESTING: usize = 16;

/// Longest first, so that the first that matches is the one that the shell sees.
const OPERATORS: [&str; 17] = [
    "&>>", "<<<", "<<-", "&&", "||", "|&", "&>", ">>", ">&", "<&", ">|", "<<", ";", "&", "|", "<",
    ">",
];

/// Why a line cannot be read whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opaque(&'static str);

impl Opaque {
    pub(super) const fn new(reason: &'static str) -> Self {
        Self(reason)
    }

    pub(super) const fn reason(self) -> &'static str {
        self.0
    }
}

/// Refuses text that a person would not see as it is.
pub(super) fn visible(text: &str) -> Result<(), Opaque> {
    for char in text.chars() {
        if is_hidden(char) {
            return Err(Opaque("it has characters that do not show"));
        }
    }
    Ok(())
}

fn is_hidden(char: char) -> bool {
    match char {
        '\n' | '\t' | ' ' => false,
        // Blanks that no shell splits at, fillers, joiners, direction marks, variation selectors,
        // tags.
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        it => it.is_control() || it.is_whitespace(),
    }
}

/// The places of all words and operators, those inside of substitutions too, in order; an outer
/// one before those that it holds.
pub(super) fn tokens(line: &str) -> Result<Vec<Range<usize>>, Opaque> {
    let mut scanner = Scanner {
        line,
        at: 0,
        tokens: Vec::new(),
        documents: Vec::new(),
        nesting: 0,
        ticks: false,
    };
    scanner.list(Closer::End)?;
    if !scanner.documents.is_empty() {
        return Err(Opaque("a here-document has no end"));
    }
    let mut tokens = scanner.tokens;
    tokens.sort_by_key(|it| (it.start, usize::MAX - it.end));
    Ok(tokens)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Closer {
    End,
    Paren,
    Tick,
}

struct Scanner<'a> {
    line: &'a str,
    at: usize,
    tokens: Vec<Range<usize>>,
    /// Here-documents whose text begins with the next line: the word that ends each, and whether
    /// the shell expands it.
    documents: Vec<Document>,
    nesting: usize,
    /// Inside of backticks, where backslashes and quotes are read twice.
    ticks: bool,
}

struct Document {
    end: String,
    strip_tabs: bool,
    expands: bool,
}

impl Scanner<'_> {
    fn rest(&self) -> &str {
        &self.line[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.line.as_bytes().get(self.at).copied()
    }

    fn list(&mut self, closer: Closer) -> Result<(), Opaque> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(Opaque("it nests too deep"));
        }
        let mut n_open = 0_usize;
        loop {
            match self.peek() {
                None if closer == Closer::End && n_open == 0 => break,
                None => return Err(Opaque("something is not closed")),
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\n') => {
                    self.at += 1;
                    self.documents()?;
                }
                Some(b'\\') if self.rest().starts_with("\\\n") && !self.ticks => self.at += 2,
                Some(b'#') if closer == Closer::End && self.may_comment() => {
                    let length = self.rest().find('\n').unwrap_or(self.rest().len());
                    self.at += length;
                }
                Some(b'#') => return Err(Opaque("a comment that not all shells may see")),
                Some(b'(') => {
                    n_open += 1;
                    if n_open + self.nesting > MAX_NESTING {
                        return Err(Opaque("it nests too deep"));
                    }
                    self.token(1);
                }
                Some(b')') if n_open > 0 => {
                    n_open -= 1;
                    self.token(1);
                }
                Some(b')') if closer == Closer::Paren => {
                    self.at += 1;
                    break;
                }
                Some(b')') => return Err(Opaque("a parenthesis that nothing opened")),
                Some(b'`') if closer == Closer::Tick && n_open == 0 => {
                    self.at += 1;
                    break;
                }
                Some(b'<') if self.rest().starts_with("<(") => self.word()?,
                Some(b';' | b'&' | b'|' | b'<' | b'>') => self.operator()?,
                Some(_) => self.word()?,
            }
        }
        if closer != Closer::End && !self.documents.is_empty() {
            return Err(Opaque("a here-document inside of a substitution"));
        }
        self.nesting -= 1;
        Ok(())
    }

    /// Whether what is before could stand before a comment in any shell.
    fn may_comment(&self) -> bool {
        let before = self.at.checked_sub(1).map(|it| self.line.as_bytes()[it]);
        before.is_none_or(|it| b" \t\n;&|()".contains(&it))
    }

    fn token(&mut self, length: usize) {
        self.tokens.push(self.at..self.at + length);
        self.at += length;
    }

    fn operator(&mut self) -> Result<(), Opaque> {
        let rest = self.rest();
        if ["<>", ">(", ";;", ";&"].iter().any(|it| rest.starts_with(it)) {
            return Err(Opaque("an operator that is not modelled"));
        }
        let operator = OPERATORS.iter().find(|it| rest.starts_with(**it)).copied().unwrap_or(";");
        let mut length = operator.len();
        if matches!(operator, ">&" | "<&") && rest[length..].starts_with('-') {
            length += 1;
            // Shells differ on `>&-x`.
            if rest[length..].starts_with(|it: char| !" \t\n;&|)".contains(it)) {
                return Err(Opaque("a redirection that is not modelled"));
            }
        }
        self.token(length);
        if matches!(operator, "<<" | "<<-") {
            self.document(operator == "<<-")?;
        }
        Ok(())
    }

    fn document(&mut self, strip_tabs: bool) -> Result<(), Opaque> {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let start = self.at;
        self.word()?;
        let raw = &self.line[start..self.at];
        let quoted =
            ['\'', '"'].into_iter().find_map(|quote| raw.strip_prefix(quote)?.strip_suffix(quote));
        let end = quoted.unwrap_or(raw);
        if end.is_empty() || !end.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_') {
            return Err(Opaque("a here-document whose end is not a plain word"));
        }
        self.documents.push(Document {
            end: end.to_owned(),
            strip_tabs,
            expands: quoted.is_none(),
        });
        Ok(())
    }

    /// Skips the here-documents that begin at this line.
    fn documents(&mut self) -> Result<(), Opaque> {
        for document in std::mem::take(&mut self.documents) {
            loop {
                if self.at >= self.line.len() {
                    return Err(Opaque("a here-document has no end"));
                }
                let rest = self.rest();
                let length = rest.find('\n').unwrap_or(rest.len());
                let text = &rest[..length];
                let compared =
                    if document.strip_tabs { text.trim_start_matches('\t') } else { text };
                if document.expands && text.contains(['$', '`', '\\']) {
                    return Err(Opaque("a here-document that the shell expands"));
                }
                let is_end = compared == document.end;
                self.at = (self.at + length + 1).min(self.line.len());
                if is_end {
                    break;
                }
            }
        }
        Ok(())
    }

    fn word(&mut self) -> Result<(), Opaque> {
        let start = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')' => break,
                b'<' if self.at == start && self.rest().starts_with("<(") => {
                    self.at += 2;
                    self.list(Closer::Paren)?;
                }
                b'<' | b'>' => {
                    if self.line[start..self.at].starts_with('{') {
                        return Err(Opaque("a redirection that names a variable"));
                    }
                    break;
                }
                b'(' => return Err(Opaque("a parenthesis inside of a word")),
                b'`' if self.ticks => break,
                b'`' => self.ticks()?,
                b'\\' => self.escape()?,
                b'\'' => {
                    let Some(length) = self.rest()[1..].find('\'') else {
                        return Err(Opaque("a quote is not closed"));
                    };
                    if self.ticks && self.rest()[1..=length].contains('`') {
                        return Err(Opaque("quotes inside of backticks"));
                    }
                    self.at += length + 2;
                }
                b'"' => self.quotes()?,
                b'$' => self.dollar(false)?,
                _ => self.char(),
            }
        }
        if self.at == start {
            return Err(Opaque("something stands where no word can"));
        }
        self.tokens.push(start..self.at);
        Ok(())
    }

    fn char(&mut self) {
        self.at += self.rest().chars().next().map_or(0, char::len_utf8);
    }

    fn escape(&mut self) -> Result<(), Opaque> {
        self.at += 1;
        if self.ticks {
            return Err(Opaque("a backslash inside of backticks"));
        }
        if self.peek().is_none() {
            return Err(Opaque("a backslash at the end"));
        }
        self.char();
        Ok(())
    }

    fn ticks(&mut self) -> Result<(), Opaque> {
        self.at += 1;
        self.ticks = true;
        self.list(Closer::Tick)?;
        self.ticks = false;
        Ok(())
    }

    fn quotes(&mut self) -> Result<(), Opaque> {
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err(Opaque("a quote is not closed")),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'`') if self.ticks => return Err(Opaque("quotes inside of backticks")),
                Some(b'`') => self.ticks()?,
                Some(b'\\') => self.escape()?,
                Some(b'$') => self.dollar(true)?,
                Some(_) => self.char(),
            }
        }
    }

    fn dollar(&mut self, in_quotes: bool) -> Result<(), Opaque> {
        self.at += 1;
        match self.peek() {
            Some(b'(') if self.rest().starts_with("((") => self.arithmetic(),
            Some(b'(') => {
                self.at += 1;
                // What is between `$(` and `)` is read afresh, quotes and all.
                if self.ticks {
                    return Err(Opaque("a substitution inside of backticks"));
                }
                self.list(Closer::Paren)
            }
            Some(b'{') => {
                let Some(length) = self.rest().find('}') else {
                    return Err(Opaque("a brace is not closed"));
                };
                let inner = &self.rest()[1..length];
                let name = inner.strip_prefix('#').unwrap_or(inner);
                if !is_name(name) {
                    return Err(Opaque("an expansion that is not modelled"));
                }
                self.at += length + 1;
                Ok(())
            }
            Some(b'\'') if !in_quotes => {
                self.at += 1;
                loop {
                    match self.peek() {
                        None => return Err(Opaque("a quote is not closed")),
                        Some(b'\'') => break,
                        // Shells without this kind of quotes would end the string here.
                        Some(b'\\') if self.rest().starts_with("\\'") => {
                            return Err(Opaque("a quote that not all shells read alike"));
                        }
                        Some(b'\\') => self.escape()?,
                        Some(_) => self.char(),
                    }
                }
                self.at += 1;
                Ok(())
            }
            Some(b'"') if !in_quotes => Err(Opaque("a translated string")),
            Some(b'[') => Err(Opaque("old arithmetic")),
            Some(b'?' | b'#' | b'$' | b'!' | b'@' | b'*' | b'-' | b'0'..=b'9') => {
                self.at += 1;
                Ok(())
            }
            Some(it) if it.is_ascii_alphabetic() || it == b'_' => {
                while self.peek().is_some_and(|it| it.is_ascii_alphanumeric() || it == b'_') {
                    self.at += 1;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Names in arithmetic are evaluated, and what they hold with them; so numbers only.
    fn arithmetic(&mut self) -> Result<(), Opaque> {
        let Some(length) = self.rest().find("))") else {
            return Err(Opaque("arithmetic is not closed"));
        };
        let inner = &self.rest()[2..length];
        let plain = |it: u8| it.is_ascii_digit() || b" +-*/%".contains(&it);
        if inner.is_empty() || !inner.bytes().all(plain) {
            return Err(Opaque("arithmetic with more than numbers"));
        }
        self.at += length + 2;
        Ok(())
    }
}

/// Whether a shell takes it as the name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_')
        && text.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_')
}
