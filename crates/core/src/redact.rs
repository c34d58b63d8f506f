//! Masks secrets in text that others may read: logs, traces, errors and exports.
//!
//! [`redact`] knows secrets by their shape (keys with well-known prefixes, JSON web tokens, private
//! keys) and by what stands before them (`password=`, `"token": `, `--api-key `, `Authorization: `,
//! `Bearer `, `https://user:`). What was masked is named and not shown: `[redacted:token]`.
//! A secret without either, such as a password in plain prose, cannot be told from other words.
//!
//! In doubt it masks. It reads the text once, whatever stands in it, and what it has masked stays
//! as it is when it is masked again.

mod pairs;
mod tokens;

use std::borrow::Cow;

use serde_json::Value;

/// Longest name that is looked at, from its end: of a longer one only the end says what it names.
const MAX_NAME: usize = 128;
/// Longest user and password in an address.
const MAX_USERINFO: usize = 1_024;
/// How far after its begin a private key's header names it.
const MAX_HEADER: usize = 64;

const OPEN: &str = "[redacted:";
const KEY_BEGINS: &str = "-----BEGIN";
const KEY_ENDS: &str = "-----END";

/// Something to mask.
#[derive(Debug, Clone, Copy)]
struct Secret {
    from: usize,
    to: usize,
    kind: &'static str,
}

/// Most times that a text is read: what was masked may bring two other words together.
const MAX_PASSES: usize = 4;

/// Masks the secrets in a text.
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut res = pass(text);
    for _ in 1..MAX_PASSES {
        let Cow::Owned(masked) = &res else { break };
        let Cow::Owned(again) = pass(masked) else { break };
        res = Cow::Owned(again);
    }
    res
}

fn pass(text: &str) -> Cow<'_, str> {
    let mut res = String::new();
    let mut kept = 0;
    let mut at = 0;
    while at < text.len() {
        match step(text, at) {
            Ok(next) => at = next,
            Err(Secret { from, to, kind }) => {
                res.push_str(&text[kept..from]);
                res.extend([OPEN, kind, "]"]);
                kept = to;
                at = to;
            }
        }
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    res.push_str(&text[kept..]);
    Cow::Owned(res)
}

/// Masks the secrets in a JSON value, which stays one: those in its texts, and what its names say.
pub fn redact_json(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match pairs::kind_of(name) {
                    Some(kind) => mask_json(kind, value),
                    None => redact_json(value),
                }
            }
        }
        Value::Array(values) => {
            let mut flag = None;
            for value in values {
                let next = value.as_str().filter(|it| it.starts_with('-')).and_then(pairs::kind_of);
                match flag {
                    Some(kind) if next.is_none() => mask_json(kind, value),
                    Some(_) | None => redact_json(value),
                }
                flag = next;
            }
        }
        Value::String(text) => {
            if let Cow::Owned(masked) = redact(text) {
                *text = masked;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What a name says is a secret: of a structure, each text in it.
fn mask_json(kind: &'static str, value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(|it| mask_json(kind, it)),
        Value::Array(values) => values.iter_mut().for_each(|it| mask_json(kind, it)),
        Value::String(text) => {
            if !text.is_empty() && !is_masked(text) {
                *text = mark(kind);
            }
        }
        Value::Number(_) => *value = Value::String(mark(kind)),
        Value::Null | Value::Bool(_) => {}
    }
}

fn mark(kind: &str) -> String {
    [OPEN, kind, "]"].concat()
}

/// What begins here: a secret, or else where to look next.
fn step(text: &str, at: usize) -> Result<usize, Secret> {
    let bytes = text.as_bytes();
    if is_name(bytes[at]) {
        let end = at + bytes[at..].iter().take_while(|it| is_name(**it)).count();
        return match word(text, at, end) {
            Some(secret) => Err(secret),
            None => Ok(end),
        };
    }
    if bytes[at..].starts_with(b"://") {
        return userinfo(text, at + 3).map_or(Ok(at + 3), Err);
    }
    if bytes[at] == b'[' {
        // What was masked before is passed over, or its own words would be read.
        return Ok(at + masked_len(&text[at..]).unwrap_or(1));
    }
    Ok(at + 1)
}

/// What names, options and most secrets are made of.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// A run of such characters: a private key's begin, a name with a value, or a secret itself.
fn word(text: &str, from: usize, end: usize) -> Option<Secret> {
    private_key(text, from, end)
        .or_else(|| pairs::after_name(text, from, end))
        .or_else(|| pairs::after_scheme(text, from, end))
        .or_else(|| pairs::after_user(text, from, end))
        .or_else(|| tokens::in_word(text, from, end))
}

/// A private key, up to its end or, if that is cut off, to the end of all.
fn private_key(text: &str, from: usize, end: usize) -> Option<Secret> {
    let from = from + text[from..end].find(KEY_BEGINS)?;
    let body = from + KEY_BEGINS.len();
    let header = text.as_bytes()[body..].iter().take(MAX_HEADER).copied().collect::<Vec<_>>();
    String::from_utf8_lossy(&header)
        .split("-----")
        .next()
        .filter(|it| it.contains("PRIVATE KEY"))?;
    let to = text[body..].find(KEY_ENDS).map(|it| body + it + KEY_ENDS.len()).and_then(|it| {
        let close = text[it..].find("-----")?;
        Some(it + close + "-----".len())
    });
    Some(Secret { from, to: to.unwrap_or(text.len()), kind: "private-key" })
}

/// The password of an address, or its user if that is one long word.
fn userinfo(text: &str, from: usize) -> Option<Secret> {
    let ends = |it: &u8| it.is_ascii_whitespace() || b"/\"'`<>\\".contains(it);
    let bytes = &text.as_bytes()[from..];
    let authority = bytes.iter().take(MAX_USERINFO).take_while(|it| !ends(it)).count();
    let length = bytes[..authority].iter().rposition(|it| *it == b'@')?;
    let user = &text[from..from + length];
    if is_masked(user) {
        return None;
    }
    let (begin, kind) = match user.find(':') {
        Some(colon) => (from + colon + 1, "password"),
        None if user.len() >= tokens::LONG && !user.contains(['?', '#']) => (from, "credential"),
        None => return None,
    };
    let secret = Secret { from: begin, to: from + length, kind };
    pairs::is_secret(&text[begin..secret.to]).then_some(secret)
}

/// How long the mark is that a text begins with.
fn masked_len(text: &str) -> Option<usize> {
    let rest = text.strip_prefix(OPEN)?;
    let kind = rest.bytes().take_while(|it| it.is_ascii_lowercase() || *it == b'-').count();
    (rest.as_bytes().get(kind) == Some(&b']')).then_some(OPEN.len() + kind + 1)
}

/// Whether a text is a mark and nothing else that says something.
fn is_masked(text: &str) -> bool {
    let Some((before, rest)) = text.find(OPEN).map(|it| text.split_at(it)) else { return false };
    let Some(length) = masked_len(rest) else { return false };
    let says = |it: &str| it.bytes().any(|it| it.is_ascii_alphanumeric() || it >= 0x80);
    let after = &rest[length..];
    !says(before) && (!says(after) || is_masked(after))
}
