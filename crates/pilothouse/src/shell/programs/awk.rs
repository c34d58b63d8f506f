//! Tells programs of awk that print what they compute from those that redirect or run.

use super::{
    Class, Finding, Word,
    options::{Spec, parse},
    readers,
};

const AWK: Spec = Spec {
    valued: "Fv",
    risky: &[
        ("-f", Class::NotUnderstood, "reads a program from a file"),
        ("--file", Class::NotUnderstood, "reads a program from a file"),
        ("-i", Class::NotUnderstood, "includes a program, or writes in place"),
        ("-l", Class::RunsProgram, "loads a library"),
    ],
    ..Spec::NONE
};

/// Words that do more than compute, even in a string: `|` can reach them.
const SUSPECT: [&str; 8] = ["system", "getline", "@", "|&", "ARGV", "ARGC", "ENVIRON", "SYMTAB"];

/// Judges awk by its program.
pub(super) fn judge(words: &[Word]) -> Finding {
    // Options end at the program, so what follows is files, whatever it looks like.
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|it| it.value.starts_with('-')) {
        at += if matches!(word.value.as_str(), "-F" | "-v") { 2 } else { 1 };
        if word.value == "--" {
            break;
        }
    }
    let (options, rest) = words.split_at(at.min(words.len()));
    if let Err(finding) = parse(&AWK, options) {
        return finding;
    }
    let Some((program, files)) = rest.split_first() else {
        return Finding::unclear("awk without a program");
    };
    let Some(text) = program.known() else { return Finding::unknown(program) };
    if let Some(word) = SUSPECT.iter().find(|it| text.contains(**it)) {
        return Finding::runs(format!("{word} in an awk program can run or read anything"));
    }
    if let Some(finding) = redirects(text) {
        return finding;
    }
    let finding = readers::reader(files.iter());
    if finding.is_safe() { Finding::reads("its program only prints") } else { finding }
}

/// Finds `>` and `|` that are no comparison and no `||`.
fn redirects(text: &str) -> Option<Finding> {
    if !text.contains(['>', '|']) {
        return None;
    }
    let asks = || Some(Finding::writes("its program may write or run"));
    let mut chars = text.chars().peekable();
    let mut word = String::new();
    let mut prints = false;
    let mut n_open = 0_usize;
    // What came last could end a value, so that a slash divides.
    let mut after_value = false;
    while let Some(char) = chars.next() {
        if char.is_ascii_alphanumeric() || char == '_' {
            word.push(char);
            after_value = true;
            continue;
        }
        if matches!(word.as_str(), "print" | "printf") {
            prints = true;
            n_open = 0;
            after_value = false;
        }
        word.clear();
        match char {
            '"' => {
                if skip(&mut chars, '"').is_none() {
                    return asks();
                }
                after_value = true;
            }
            // A regex or a division: both readings must end the same.
            '/' if after_value => {
                if chars.clone().any(|it| it == '/') {
                    return asks();
                }
                after_value = false;
            }
            '/' => {
                // A slash in brackets need not end it.
                if skip(&mut chars, '/').is_none_or(|it| it.contains('[')) {
                    return asks();
                }
                after_value = true;
            }
            '(' => {
                n_open += 1;
                after_value = false;
            }
            ')' => {
                n_open = n_open.saturating_sub(1);
                after_value = true;
            }
            // A newline need not end what is printed.
            ';' | '{' | '}' => {
                prints = false;
                after_value = false;
            }
            '|' if chars.peek() == Some(&'|') => {
                chars.next();
                after_value = false;
            }
            '|' | '#' | '\\' => return asks(),
            '>' if prints && n_open == 0 => return asks(),
            // Of signs, for they may stand behind a value.
            ']' | '$' | '+' | '-' => after_value = true,
            ' ' | '\t' | '\n' => {}
            _ => after_value = false,
        }
    }
    None
}

/// What is in a string or a regex, up to what closes it.
fn skip(chars: &mut impl Iterator<Item = char>, close: char) -> Option<String> {
    let mut res = String::new();
    loop {
        match chars.next()? {
            '\\' => {
                chars.next()?;
            }
            it if it == close => return Some(res),
            it => res.push(it),
        }
    }
}
