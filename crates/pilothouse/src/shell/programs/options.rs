//! Options as programs read them: clusters, attached values, `--`.
//!
//! A table lists what is known to be harmless, so that what is missing asks. Long options may be
//! abbreviated by many programs; an abbreviation is never in a table, so it asks too.

use super::{Class, Finding, Word, content, uncertain};

/// The options of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spec {
    /// Short options without a value.
    pub(super) flags: &'static str,
    /// Short options whose value is attached or the next word.
    pub(super) valued: &'static str,
    /// Short options whose value, if any, is attached.
    pub(super) attached: &'static str,
    /// Long options, separated by blanks: `name`, `name=` with a value, `name?` with one that is
    /// attached or missing.
    pub(super) long: &'static str,
    /// Options that are known to do harm, to say which: `-o`, `--output`.
    pub(super) risky: &'static [(&'static str, Class, &'static str)],
    /// Whether `-5` is an option.
    pub(super) digits: bool,
}

impl Spec {
    pub(super) const NONE: Self =
        Self { flags: "", valued: "", attached: "", long: "", risky: &[], digits: false };
}

/// Options whose value is a file or a folder in some program. What is in a file of patterns or names
/// is shown where it is no such thing.
const NAMES_FILE: [&str; 12] = [
    "--base-directory",
    "--exclude-from",
    "--file",
    "--ignore-file",
    "--ignore-revs-file",
    "--rawfile",
    "--reference",
    "--search-path",
    "--slurpfile",
    "-S",
    "-X",
    "-f",
];

/// Arguments taken apart.
#[derive(Debug, Default)]
pub(super) struct Parsed<'a> {
    pub(super) operands: Vec<&'a Word>,
    /// Names as they are in the table, with dashes.
    pub(super) options: Vec<String>,
    pub(super) values: Vec<String>,
}

impl Parsed<'_> {
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|it| names.contains(&it.as_str()))
    }
}

/// Takes arguments apart, or finds what is not known to be harmless.
pub(super) fn parse<'a>(spec: &Spec, words: &'a [Word]) -> Result<Parsed<'a>, Finding> {
    let mut parsed = Parsed::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if let Some(finding) = uncertain(word) {
            return Err(finding);
        }
        let value = word.value.as_str();
        if value == "--" {
            for word in words.by_ref() {
                if word.known().is_none() && uncertain(word).is_some_and(|_| !is_glob(word)) {
                    return Err(Finding::unknown(word));
                }
                parsed.operands.push(word);
            }
        } else if let Some(name) = value.strip_prefix("--") {
            long(spec, name, &mut words, &mut parsed)?;
        } else if value.len() > 1 && value.starts_with('-') {
            short(spec, &value[1..], &mut words, &mut parsed)?;
        } else {
            parsed.operands.push(word);
        }
    }
    let mut named = parsed.options.iter().zip(&parsed.values);
    let secret = named.find_map(|(name, value)| {
        let finding = content(&[&Word::exact(value)], "it only reads");
        (NAMES_FILE.contains(&name.as_str()) && !finding.is_safe()).then_some(finding)
    });
    secret.map_or(Ok(parsed), Err)
}

fn is_glob(word: &Word) -> bool {
    word.kind == super::Kind::Pattern
}

fn long<'a>(
    spec: &Spec,
    text: &str,
    words: &mut impl Iterator<Item = &'a Word>,
    parsed: &mut Parsed<'a>,
) -> Result<(), Finding> {
    let (name, attached) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    for entry in spec.long.split_ascii_whitespace() {
        let value = if entry == name && attached.is_none() {
            None
        } else if entry.strip_suffix('?') == Some(name) {
            attached.map(str::to_owned)
        } else if entry.strip_suffix('=') == Some(name) {
            match attached {
                Some(value) => Some(value.to_owned()),
                None => next(words)?,
            }
        } else {
            continue;
        };
        parsed.options.push(format!("--{name}"));
        parsed.values.push(value.unwrap_or_default());
        return Ok(());
    }
    let found = spec.risky.iter().find(|it| {
        it.0.strip_prefix("--").is_some_and(|it| !name.is_empty() && it.starts_with(name))
    });
    Err(refused(found, &format!("--{name}")))
}

fn short<'a>(
    spec: &Spec,
    cluster: &str,
    words: &mut impl Iterator<Item = &'a Word>,
    parsed: &mut Parsed<'a>,
) -> Result<(), Finding> {
    if spec.digits && cluster.bytes().all(|it| it.is_ascii_digit()) {
        return Ok(());
    }
    for (at, char) in cluster.char_indices() {
        let rest = &cluster[at + char.len_utf8()..];
        if spec.flags.contains(char) {
            parsed.options.push(format!("-{char}"));
            parsed.values.push(String::new());
        } else if spec.valued.contains(char) || spec.attached.contains(char) {
            let value = if rest.is_empty() && spec.valued.contains(char) {
                next(words)?.unwrap_or_default()
            } else {
                rest.to_owned()
            };
            parsed.options.push(format!("-{char}"));
            parsed.values.push(value);
            return Ok(());
        } else {
            let name = format!("-{char}");
            let found = spec.risky.iter().find(|it| it.0 == name);
            return Err(refused(found, &name));
        }
    }
    Ok(())
}

/// The word that is an option's value. A pattern might become several words, and the second of
/// them an option.
fn next<'a>(words: &mut impl Iterator<Item = &'a Word>) -> Result<Option<String>, Finding> {
    match words.next() {
        None => Ok(None),
        Some(word) => match word.known() {
            Some(value) => Ok(Some(value.to_owned())),
            None => Err(Finding::unknown(word)),
        },
    }
}

fn refused(found: Option<&(&str, Class, &str)>, name: &str) -> Finding {
    match found {
        Some((full, class, why)) => Finding { class: *class, reason: format!("{full} {why}") },
        None => Finding::unclear(format!("what {name} does is not known")),
    }
}
