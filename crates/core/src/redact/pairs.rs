//! Secrets that are known by what stands before them: a name, a scheme, a user.

use super::{MAX_NAME, Secret, is_masked, masked_len, tokens::LONG};

/// Most blanks between a name, its sign and its value.
const MAX_GAP: usize = 8;
/// Most backslashes before a quote: text in JSON in JSON.
const MAX_ESCAPES: usize = 16;

/// How names end that have a secret for a value, without case and punctuation.
const ENDINGS: &[(&str, &str)] = &[
    ("password", "password"),
    ("passwd", "password"),
    ("passphrase", "password"),
    ("passcode", "password"),
    ("pwd", "password"),
    ("apikey", "api-key"),
    ("accesskey", "access-key"),
    ("accesskeyid", "access-key"),
    ("accountkey", "access-key"),
    ("privatekey", "private-key"),
    ("secretkey", "secret"),
    ("signingkey", "secret"),
    ("encryptionkey", "secret"),
    ("masterkey", "secret"),
    ("sessionkey", "secret"),
    ("authkey", "secret"),
    ("secret", "secret"),
    ("token", "token"),
    ("credential", "credential"),
    ("credentials", "credential"),
    ("authorization", "authorization"),
    ("cookie", "cookie"),
    ("xamzsignature", "signature"),
];
/// Whole names, likewise.
const NAMES: &[(&str, &str)] =
    &[("pass", "password"), ("auth", "credential"), ("otp", "password"), ("sig", "signature")];
/// What may stand before the secret of an `Authorization`.
const SCHEMES: &[&str] =
    &["bearer", "basic", "token", "digest", "negotiate", "apikey", "aws4-hmac-sha256"];
/// Values that say nothing.
const EMPTY: &[&str] = &["true", "false", "null", "none", "nil", "undefined"];

/// What a name's value is, if it is a secret.
pub(super) fn kind_of(name: &str) -> Option<&'static str> {
    let from = name.len().saturating_sub(MAX_NAME);
    let bytes = &name.as_bytes()[from..];
    let mut plain: Vec<u8> =
        bytes.iter().filter(|it| it.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect();
    while plain.last().is_some_and(u8::is_ascii_digit) {
        plain.pop();
    }
    let ending = ENDINGS.iter().find(|(ending, _)| plain.ends_with(ending.as_bytes()));
    let whole = || NAMES.iter().find(|(name, _)| plain == name.as_bytes());
    if let Some((_, kind)) = ending.or_else(whole) {
        return Some(kind);
    }
    let last = bytes.rsplit(|it| !it.is_ascii_alphanumeric()).next().unwrap_or_default();
    if last.eq_ignore_ascii_case(b"pass") {
        return Some("password");
    }
    // Of variables, any key but a public one.
    let is_key = last == b"KEY" && !bytes.iter().any(u8::is_ascii_lowercase);
    (is_key && bytes.len() > 3 && !plain.ends_with(b"publickey")).then_some("key")
}

/// How a name and its value are joined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Join {
    /// `a=b`: what follows is the value.
    Equals,
    /// `a: b`, which prose writes too.
    Colon,
    /// `--a b`, or two texts of a list.
    Next,
}

/// The value of a name that stands here, if that is a secret.
pub(super) fn after_name(text: &str, from: usize, end: usize) -> Option<Secret> {
    let name = &text[from..end];
    let kind = kind_of(name)?;
    let quote = quote_at(text, end);
    let quoted = quote.is_some();
    let (join, at) = join(text, from, quote.map_or(end, |it| it.end), quoted)?;
    let inner = quote_at(text, at);
    if matches!(kind, "authorization" | "cookie") && join != Join::Next {
        return header(text, at, inner, kind);
    }
    let (begin, to, plain) = value(text, at, inner, quoted);
    let said = &text[begin..to];
    if !is_secret(said) || (name == "PWD" || name == "OLDPWD") && said.starts_with('/') {
        return None;
    }
    if join == Join::Colon && plain && !stands_out(text, at, to) {
        return None;
    }
    Some(Secret { from: begin, to, kind })
}

/// What follows `Bearer` or `Basic`, wherever they stand.
pub(super) fn after_scheme(text: &str, from: usize, end: usize) -> Option<Secret> {
    let word = &text[from..end];
    let basic = word.eq_ignore_ascii_case("basic");
    // After an escape, as in `\nBearer`, the word has another letter before it.
    let bearer = word.len() <= "nbearer".len() && word.to_ascii_lowercase().ends_with("bearer");
    if !basic && !bearer {
        return None;
    }
    let begin = gap(text, end)?;
    let is_part = |it: &u8| it.is_ascii_alphanumeric() || b"._~+/=-".contains(it);
    let length = text.as_bytes()[begin..].iter().take_while(|it| is_part(it)).count();
    let said = &text.as_bytes()[begin..begin + length];
    let odd = said.iter().any(|it| it.is_ascii_digit() || b"~+/=".contains(it));
    let is_secret = (odd && length >= 6) || (length >= LONG && !basic);
    is_secret.then_some(Secret { from: begin, to: begin + length, kind: "authorization" })
}

/// The password in `-u user:password`.
pub(super) fn after_user(text: &str, from: usize, end: usize) -> Option<Secret> {
    if !matches!(&text[from..end], "-u" | "--user" | "--proxy-user" | "-U") {
        return None;
    }
    let quote = quote_at(text, end);
    let (_, at) = join(text, from, quote.map_or(end, |it| it.end), quote.is_some())?;
    let (begin, to, _) = value(text, at, quote_at(text, at), false);
    let colon = text[begin..to].find(':')?;
    let secret = Secret { from: begin + colon + 1, to, kind: "password" };
    // The colon of a mark is none of these.
    let masked = text[begin..begin + colon].contains('[');
    (!masked && is_secret(&text[secret.from..to])).then_some(secret)
}

/// Whether a value is one: not a word for nothing, a variable, or masked already.
pub(super) fn is_secret(said: &str) -> bool {
    let variable = said.strip_prefix('$').is_some_and(|it| {
        let name = it.strip_prefix('{').and_then(|it| it.strip_suffix('}')).unwrap_or(it);
        let is_part = |it: u8| it.is_ascii_uppercase() || it.is_ascii_digit() || it == b'_';
        !name.is_empty() && name.bytes().all(is_part)
    });
    let empty = said.is_empty() || EMPTY.iter().any(|it| said.eq_ignore_ascii_case(it));
    !variable && !empty && !is_masked(said)
}

/// Past the blanks that stand here, at least one, or what stands for one.
fn gap(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    let escaped = ["\\ ", "%20", "+"].into_iter().find(|it| rest.starts_with(it)).map(str::len);
    let n_blank = blanks(rest);
    let length = escaped.or((n_blank > 0).then_some(n_blank))?;
    Some(at + length)
}

fn blanks(text: &str) -> usize {
    text.bytes().take(MAX_GAP).take_while(|it| matches!(it, b' ' | b'\t')).count()
}

/// Where the value is, and how it is joined to the name.
fn join(text: &str, name: usize, at: usize, quoted: bool) -> Option<(Join, usize)> {
    // `a["token"] = b`
    let at = at + usize::from(quoted && text[at..].starts_with(']'));
    let n_before = blanks(&text[at..]);
    let sign = at + n_before;
    let rest = &text[sign..];
    let flag = text[name..].starts_with('-');
    for (written, join) in [
        ("=>", Join::Equals),
        ("==", Join::Equals),
        (":=", Join::Equals),
        ("=", Join::Equals),
        ("%3D", Join::Equals),
        ("%3d", Join::Equals),
        ("::", Join::Next),
        (":", Join::Colon),
    ] {
        if !rest.starts_with(written) {
            continue;
        }
        let after = sign + written.len();
        let n_after = blanks(&text[after..]);
        let begin = after + n_after;
        let literal = quote_at(text, begin).is_some();
        return match (written, join) {
            // A path of some program's own names.
            ("::", _) => None,
            // `a == b` compares, and `a= b` gives nothing to a.
            ("==", _) if !literal => None,
            ("=", _) if n_after > 0 && n_before == 0 && !literal => None,
            (_, join) => Some((join, begin)),
        };
    }
    if quoted {
        let pair = name > 1 && text[..name].trim_end_matches(['"', '\'', '\\']).ends_with('(');
        let after = rest.strip_prefix(',').filter(|_| flag || pair)?;
        let begin = sign + 1 + blanks(after);
        return quote_at(text, begin).map(|_| (Join::Next, begin));
    }
    (flag && n_before > 0 && !rest.starts_with('-')).then_some((Join::Next, sign))
}

/// A quote, with the backslashes before it.
#[derive(Clone, Copy)]
struct Quote {
    n_escapes: usize,
    mark: u8,
    /// Past it.
    end: usize,
}

fn quote_at(text: &str, at: usize) -> Option<Quote> {
    let bytes = &text.as_bytes()[at..];
    let n_escapes = bytes.iter().take(MAX_ESCAPES).take_while(|it| **it == b'\\').count();
    let mark = *bytes.get(n_escapes)?;
    matches!(mark, b'"' | b'\'' | b'`').then_some(Quote {
        n_escapes,
        mark,
        end: at + n_escapes + 1,
    })
}

/// Where a quoted text ends, and where what follows its closing quote begins. Without one all of the
/// rest is in it, as when it was cut off.
fn closing(text: &str, quote: Quote) -> (usize, usize) {
    let bytes = text.as_bytes();
    let mut n_escapes = 0;
    for (at, byte) in bytes.iter().enumerate().skip(quote.end) {
        if *byte == b'\\' {
            n_escapes += 1;
            continue;
        }
        // Fewer backslashes close a text around this one, more are within it.
        let closes = match (quote.n_escapes, quote.mark) {
            (0, b'\'') => true,
            (0, _) => n_escapes % 2 == 0,
            (own, _) => n_escapes <= own,
        };
        if *byte == quote.mark && closes {
            let inner = if quote.n_escapes == 0 { at } else { at - n_escapes };
            return (inner, at + 1);
        }
        n_escapes = 0;
    }
    (bytes.len(), bytes.len())
}

/// The value that begins here: from where, to where, and whether it has no quotes.
fn value(text: &str, at: usize, quote: Option<Quote>, json: bool) -> (usize, usize, bool) {
    let Some(quote) = quote else { return (at, plain_end(text, at, json), true) };
    let (to, after) = closing(text, quote);
    // A shell joins what touches.
    let touches = text
        .as_bytes()
        .get(after)
        .is_some_and(|it| it.is_ascii_alphanumeric() || matches!(it, b'$' | b'"' | b'\''));
    if quote.n_escapes == 0 && touches && !json {
        return (at, plain_end(text, after, json), false);
    }
    (quote.end, to, false)
}

/// Where a value without quotes ends, as a shell, an address or JSON would say.
fn plain_end(text: &str, from: usize, json: bool) -> usize {
    let bytes = text.as_bytes();
    let is_part = |it: Option<&u8>| it.is_some_and(|it| it.is_ascii_alphanumeric() || *it >= 0x80);
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        let next = bytes.get(at + 1);
        match byte {
            b'&' | b';' | b'|' | b'<' | b'>' => break,
            _ if byte.is_ascii_whitespace() => break,
            b'\\' if matches!(next, Some(b'"' | b'\'' | b'`')) => break,
            b'[' => at += masked_len(&text[at..]).unwrap_or(1),
            b'$' if next == Some(&b'{') => at = variable_end(text, at + 2),
            // Together with what it escapes, which may be of several bytes.
            b'\\' => at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
            b'"' | b'\'' | b'`' => {
                let quote = Quote { n_escapes: 0, mark: *byte, end: at + 1 };
                let (inner, after) = closing(text, quote);
                if !is_part(next) || inner == after {
                    break;
                }
                at = after;
            }
            b',' | b')' | b'}' | b']' if json || !is_part(next) => break,
            _ => at += 1,
        }
    }
    // An escape at the very end may have gone past it.
    at.min(bytes.len())
}

/// Past the name of a variable, and the brace that closes it.
fn variable_end(text: &str, from: usize) -> usize {
    let rest = &text.as_bytes()[from..];
    let name = rest.iter().take_while(|it| it.is_ascii_alphanumeric() || **it == b'_').count();
    from + name + usize::from(rest.get(name) == Some(&b'}'))
}

/// Whether what follows a colon looks like a value rather than like a sentence.
fn stands_out(text: &str, from: usize, to: usize) -> bool {
    let said = &text[from..to];
    let odd = said.bytes().any(|it| !it.is_ascii_alphabetic() && !b"'.,-".contains(&it));
    let last = text[to..].bytes().find(|it| !matches!(it, b' ' | b'\t'));
    odd || said.len() >= LONG || last.is_none_or(|it| b"\r\n\"'`,}\\".contains(&it))
}

/// What follows `Authorization:`, to the end of its line or text: a scheme may stay.
fn header(text: &str, at: usize, quote: Option<Quote>, kind: &'static str) -> Option<Secret> {
    let (begin, to) = match quote {
        Some(quote) => (quote.end, closing(text, quote).0),
        None => (at, line_end(text, at)),
    };
    let said = text[begin..to].trim_end();
    let to = begin + said.len();
    let word = said.bytes().take_while(|it| it.is_ascii_alphanumeric() || *it == b'-').count();
    let scheme = SCHEMES.iter().any(|it| said[..word].eq_ignore_ascii_case(it));
    let begin = if scheme { gap(text, begin + word).filter(|it| *it < to) } else { Some(begin) };
    let begin = begin?;
    is_secret(&text[begin..to]).then_some(Secret { from: begin, to, kind })
}

fn line_end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let ends = |it: usize| match bytes[it] {
        b'\n' | b'\r' | b'"' | b'\'' | b'`' => true,
        b'\\' => matches!(bytes.get(it + 1), Some(b'n' | b'r' | b'"' | b'\'')),
        _ => false,
    };
    (at..bytes.len()).find(|it| ends(*it)).unwrap_or(bytes.len())
}
