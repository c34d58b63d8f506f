//! Reads the script of sed command by command, since some write files or run programs.

use super::{
    Class, Finding, Word, content,
    options::{Spec, parse},
};

const SED: Spec = Spec {
    flags: "nErsuz",
    valued: "e",
    long: "quiet silent expression= regexp-extended posix separate unbuffered null-data sandbox debug version",
    risky: &[
        ("-i", Class::Writes, "changes the file"),
        ("--in-place", Class::Writes, "changes the file"),
        ("-f", Class::NotUnderstood, "reads a script from a file"),
        ("--file", Class::NotUnderstood, "reads a script from a file"),
    ],
    ..Spec::NONE
};

/// Judges sed by its script.
pub(super) fn judge(words: &[Word]) -> Finding {
    let parsed = match parse(&SED, words) {
        Ok(parsed) => parsed,
        Err(finding) => return finding,
    };
    let scripts: Vec<&str> = parsed
        .options
        .iter()
        .zip(&parsed.values)
        .filter(|it| matches!(it.0.as_str(), "-e" | "--expression"))
        .map(|it| it.1.as_str())
        .collect();
    let (script, files) = match (scripts.is_empty(), parsed.operands.split_first()) {
        (false, _) => (scripts.join("\n"), parsed.operands.as_slice()),
        (true, Some((first, files))) => match first.known() {
            Some(script) => (script.to_owned(), files),
            // A name in this directory would be the script.
            None => return Finding::unknown(first),
        },
        (true, None) => return Finding::unclear("sed without a script"),
    };
    match (Script { rest: &script }).check() {
        Ok(()) => content(files, "its script only prints"),
        Err(finding) => finding,
    }
}

struct Script<'a> {
    rest: &'a str,
}

impl Script<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let char = self.peek()?;
        self.rest = &self.rest[char.len_utf8()..];
        Some(char)
    }

    fn skip(&mut self, chars: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(chars);
    }

    fn check(&mut self) -> Result<(), Finding> {
        loop {
            self.skip(|it| matches!(it, ' ' | '\t' | '\n' | ';'));
            if self.rest.is_empty() {
                return Ok(());
            }
            self.addresses()?;
            let Some(command) = self.take() else {
                return Err(Finding::unclear("a sed address without a command"));
            };
            match command {
                '{' => continue,
                '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x'
                | 'z' | 'F' => {}
                'q' | 'Q' | 'l' => self.skip(|it| it == ' ' || it.is_ascii_digit()),
                '#' => self.skip(|it| it != '\n'),
                ':' | 'b' | 't' | 'T' => {
                    self.skip(|it| it == ' ');
                    self.skip(|it| it.is_ascii_alphanumeric() || it == '_');
                }
                's' => self.substitute()?,
                'y' => {
                    let delimiter = self.delimiter()?;
                    self.part(delimiter, false)?;
                    self.part(delimiter, false)?;
                }
                'w' | 'W' => return Err(Finding::writes(format!("{command} writes a file"))),
                'e' => return Err(Finding::runs("e runs a program")),
                it => {
                    return Err(Finding::unclear(format!("the sed command {it} is not modelled")));
                }
            }
            self.skip(|it| it == ' ');
            if !self.rest.is_empty() && !self.rest.starts_with([';', '\n', '}']) {
                return Err(Finding::unclear("the sed script is not understood"));
            }
        }
    }

    fn addresses(&mut self) -> Result<(), Finding> {
        self.address()?;
        self.skip(|it| it == ' ');
        if self.rest.starts_with(',') {
            self.take();
            self.skip(|it| it == ' ');
            self.skip(|it| it == '+' || it == '~');
            self.address()?;
        }
        self.skip(|it| it == ' ' || it == '!');
        Ok(())
    }

    fn address(&mut self) -> Result<(), Finding> {
        match self.peek() {
            Some('0'..='9') => self.skip(|it| it.is_ascii_digit() || it == '~'),
            Some('$') => {
                self.take();
            }
            Some('/') => {
                self.take();
                self.part('/', true)?;
                self.skip(|it| it == 'I' || it == 'M');
            }
            Some('\\') => {
                self.take();
                let delimiter = self.delimiter()?;
                self.part(delimiter, true)?;
                self.skip(|it| it == 'I' || it == 'M');
            }
            _ => {}
        }
        Ok(())
    }

    fn substitute(&mut self) -> Result<(), Finding> {
        let delimiter = self.delimiter()?;
        self.part(delimiter, true)?;
        self.part(delimiter, false)?;
        loop {
            match self.peek() {
                Some('g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9') => {
                    self.take();
                }
                Some('w') => return Err(Finding::writes("s///w writes a file")),
                Some('e') => return Err(Finding::runs("s///e runs what it makes")),
                _ => return Ok(()),
            }
        }
    }

    fn delimiter(&mut self) -> Result<char, Finding> {
        match self.take() {
            // Letters and blanks are delimiters to sed, but nobody uses them in good faith.
            Some(it) if it.is_ascii_punctuation() && !matches!(it, '\\' | '[' | ']') => Ok(it),
            _ => Err(Finding::unclear("the sed script is not understood")),
        }
    }

    /// Up to the delimiter. Versions of sed differ on whether one in brackets counts, so then
    /// nothing is understood.
    fn part(&mut self, delimiter: char, is_pattern: bool) -> Result<(), Finding> {
        let mut in_brackets = false;
        loop {
            match self.take() {
                None => return Err(Finding::unclear("the sed script is not understood")),
                Some(it) if it == delimiter => break,
                Some('\\') => {
                    if self.take().is_none() {
                        return Err(Finding::unclear("the sed script is not understood"));
                    }
                }
                Some('[') if is_pattern && !in_brackets => {
                    in_brackets = true;
                    // Here a closing bracket stands for itself.
                    self.rest = self.rest.strip_prefix('^').unwrap_or(self.rest);
                    self.rest = self.rest.strip_prefix(']').unwrap_or(self.rest);
                }
                Some('[') if is_pattern && self.rest.starts_with([':', '.', '=']) => {
                    let Some(end) = self.rest.find(']') else {
                        return Err(Finding::unclear("the sed script is not understood"));
                    };
                    if self.rest[..end].contains(delimiter) {
                        return Err(Finding::unclear("a sed pattern that can be read in two ways"));
                    }
                    self.rest = &self.rest[end + 1..];
                }
                Some(']') => in_brackets = false,
                Some(_) => {}
            }
        }
        if in_brackets {
            return Err(Finding::unclear("a sed pattern that can be read in two ways"));
        }
        Ok(())
    }
}
