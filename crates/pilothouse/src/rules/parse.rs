//! `[[rules]]` as it is written: keys, bounds, and what is wrong with them in which line.

use jiff::Timestamp;
use pilothouse_core::{AskKind, OnExpiry, RuleOutcome, SessionId};
use serde::{Deserialize, de::IntoDeserializer as _};
use toml::{Spanned, Value};

use super::{About, MAX_RULES, Paths, WrittenRule, examples, place};

/// Most words of a pattern.
pub(super) const MAX_PATTERN_WORDS: usize = 32;
/// Most alternatives for a word, patterns of paths, kinds, and examples of each sort.
const MAX_LIST: usize = 64;
/// Longest name.
const MAX_NAME_CHARS: usize = 64;

/// The rules cannot be used. Completes "Pilothouse could not understand FILE: …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RulesError {
    /// It is no TOML, a key is not known, or a value is of another kind.
    #[error("{0}")]
    Syntax(String),
    /// There are too many.
    #[error("there are {0} rules, and no more than {MAX_RULES} are held against every ask")]
    TooMany(usize),
    /// A rule says what can't be, or does not do what its examples say.
    #[error("line {line}, rule {name:?}: {problem}")]
    Rule {
        /// Where it begins.
        line: usize,
        /// Its name.
        name: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
}

/// What else is in the file is for others to read.
#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    rules: Vec<Spanned<Raw>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    name: String,
    command: Option<Vec<Value>>,
    paths: Option<Vec<String>>,
    reads_only: Option<bool>,
    kind: Option<Value>,
    outcome: Option<RawOutcome>,
    on_expiry: Option<RawOnExpiry>,
    workspace: Option<String>,
    session: Option<String>,
    expires: Option<Value>,
    #[serde(rename = "match", default)]
    examples: Vec<String>,
    #[serde(rename = "not_match", default)]
    counterexamples: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawOutcome {
    Allow,
    Ask,
    Refuse,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawOnExpiry {
    Decline,
    Cancel,
    Wait,
    Default,
}

pub(super) fn parse(text: &str) -> Result<Vec<WrittenRule>, RulesError> {
    let Document { rules } = toml::from_str(text)
        .map_err(|it| RulesError::Syntax(it.to_string().trim_end().to_owned()))?;
    if rules.len() > MAX_RULES {
        return Err(RulesError::TooMany(rules.len()));
    }
    let mut res: Vec<WrittenRule> = Vec::with_capacity(rules.len());
    for raw in rules {
        let before = text.get(..raw.span().start).unwrap_or_default();
        let line = before.bytes().filter(|it| *it == b'\n').count() + 1;
        let raw = raw.into_inner();
        let name = raw.name.clone();
        let failed = |problem| RulesError::Rule { line, name: name.clone(), problem };
        if res.iter().any(|it| it.name == name) {
            return Err(failed("another rule has this name already".to_owned()));
        }
        let rule = read(raw).map_err(failed)?;
        examples::check(&rule).map_err(failed)?;
        res.push(rule);
    }
    Ok(res)
}

fn read(raw: Raw) -> Result<WrittenRule, String> {
    let Raw {
        name,
        command,
        paths,
        reads_only,
        kind,
        outcome,
        on_expiry,
        workspace,
        session,
        expires,
        examples,
        counterexamples,
    } = raw;
    let is_name = |it: char| !it.is_control() && it != ',';
    if name.trim().is_empty() || name.chars().count() > MAX_NAME_CHARS || !name.chars().all(is_name)
    {
        return Err(format!(
            "`name` must be 1 to {MAX_NAME_CHARS} characters without commas and control characters"
        ));
    }
    let about = match (command, paths, reads_only, kind) {
        (Some(words), None, None, None) => About::Command(pattern(words)?),
        (None, Some(paths), None, None) => {
            bounded("paths", paths.len(), 1, MAX_LIST)?;
            About::Paths(Paths::parse(paths)?)
        }
        (None, None, Some(true), None) => About::ReadsOnly,
        (None, None, Some(false), None) => {
            return Err("`reads_only` can only be true; leave it out otherwise".to_owned());
        }
        (None, None, None, Some(kind)) => About::Kinds(kinds(kind)?),
        _ => {
            return Err(
                "it needs exactly one of `command`, `paths`, `reads_only`, `kind`: what it \
                        is about"
                    .to_owned(),
            );
        }
    };
    let outcome = match outcome {
        Some(RawOutcome::Allow) => RuleOutcome::Allow,
        Some(RawOutcome::Ask) => RuleOutcome::Ask,
        Some(RawOutcome::Refuse) => RuleOutcome::Refuse,
        None if on_expiry.is_some() => RuleOutcome::Silent,
        None => {
            return Err("it needs an `outcome` (allow, ask or refuse), or `on_expiry`".to_owned());
        }
    };
    fits(&about, outcome)?;
    for (key, list) in [("match", &examples), ("not_match", &counterexamples)] {
        bounded(key, list.len(), 0, MAX_LIST)?;
        if !list.is_empty() && matches!(about, About::Kinds(_)) {
            return Err(format!("`{key}` goes with `command`, `paths` or `reads_only`"));
        }
    }
    Ok(WrittenRule {
        name,
        about,
        outcome,
        on_expiry: on_expiry.map(|it| match it {
            RawOnExpiry::Decline => OnExpiry::Decline,
            RawOnExpiry::Cancel => OnExpiry::Cancel,
            RawOnExpiry::Wait => OnExpiry::Wait,
            RawOnExpiry::Default => OnExpiry::Default,
        }),
        workspace: workspace.map(|it| directory(&it)).transpose()?,
        session: session.map(|it| session_id(&it)).transpose()?,
        expires: expires.as_ref().map(moment).transpose()?,
        examples,
        counterexamples,
    })
}

/// What may not be said of what.
fn fits(about: &About, outcome: RuleOutcome) -> Result<(), String> {
    match (about, outcome) {
        (About::Kinds(_), RuleOutcome::Allow) => {
            Err("a `kind` can't be allowed as a whole: say which commands or files".to_owned())
        }
        (About::Kinds(kinds), RuleOutcome::Refuse) if kinds.contains(&AskKind::Question) => {
            Err("questions are for people, so no rule may refuse `user_input`".to_owned())
        }
        (About::ReadsOnly, RuleOutcome::Ask | RuleOutcome::Refuse) => {
            Err("what only reads is asked anyway; with `reads_only` only `allow` says more"
                .to_owned())
        }
        (About::Command(_) | About::Paths(_) | About::ReadsOnly | About::Kinds(_), _) => Ok(()),
    }
}

fn pattern(words: Vec<Value>) -> Result<Vec<Vec<String>>, String> {
    bounded("command", words.len(), 1, MAX_PATTERN_WORDS)?;
    let pattern: Vec<Vec<String>> =
        words.into_iter().map(alternatives).collect::<Result<_, _>>()?;
    let blank = pattern[0].iter().find(|it| it.contains(char::is_whitespace));
    match blank {
        Some(word) => {
            let words: Vec<String> = word.split_whitespace().map(|it| format!("{it:?}")).collect();
            Err(format!(
                "no program is called {word:?}; each word of `command` stands by itself: [{}]",
                words.join(", ")
            ))
        }
        None => Ok(pattern),
    }
}

fn alternatives(value: Value) -> Result<Vec<String>, String> {
    let wrong = "each word of `command` is a text or a list of texts";
    match value {
        Value::String(word) => Ok(vec![word]),
        Value::Array(words) => {
            bounded("command", words.len(), 1, MAX_LIST)?;
            let words = words.into_iter().map(|it| match it {
                Value::String(word) => Ok(word),
                Value::Integer(_)
                | Value::Float(_)
                | Value::Boolean(_)
                | Value::Datetime(_)
                | Value::Array(_)
                | Value::Table(_) => Err(wrong.to_owned()),
            });
            words.collect()
        }
        Value::Integer(_)
        | Value::Float(_)
        | Value::Boolean(_)
        | Value::Datetime(_)
        | Value::Table(_) => Err(wrong.to_owned()),
    }
}

fn kinds(value: Value) -> Result<Vec<AskKind>, String> {
    let words =
        alternatives(value).map_err(|_| "`kind` is a text or a list of texts".to_owned())?;
    let kind = |it: String| {
        let read: Result<AskKind, serde::de::value::Error> =
            AskKind::deserialize(it.into_deserializer());
        read.map_err(|it| format!("`kind`: {it}"))
    };
    words.into_iter().map(kind).collect()
}

fn directory(path: &str) -> Result<String, String> {
    match place::absolute(None, path) {
        Some(path) => Ok(path),
        None => Err(format!("`workspace` must be an absolute path, and {path:?} is none")),
    }
}

fn session_id(text: &str) -> Result<SessionId, String> {
    text.parse()
        .map_err(|_| format!("`session` must be a session's id such as sess_…, not {text:?}"))
}

fn moment(value: &Value) -> Result<Timestamp, String> {
    let text = match value {
        Value::Datetime(it) => it.to_string(),
        Value::String(it) => it.clone(),
        Value::Integer(_)
        | Value::Float(_)
        | Value::Boolean(_)
        | Value::Array(_)
        | Value::Table(_) => value.type_str().to_owned(),
    };
    text.parse().map_err(|_| {
        format!("`expires` must be a date with a time and an offset, such as 2027-01-31T18:00:00Z, not {text}")
    })
}

fn bounded(key: &str, n: usize, least: usize, most: usize) -> Result<(), String> {
    if (least..=most).contains(&n) {
        return Ok(());
    }
    Err(format!("`{key}` has {n} entries, and it takes {least} to {most}"))
}
