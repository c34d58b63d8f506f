//! Secrets that are known by how they begin.

use super::Secret;

/// From this length on a word that may be a secret is one.
pub(super) const LONG: usize = 16;

/// How a kind of secret looks.
struct Shape {
    prefix: &'static str,
    kind: &'static str,
    is_rest: fn(&[u8]) -> bool,
    /// Words that are no secrets may hold the prefix in their middle, such as `task-`.
    common: bool,
}

const fn own(prefix: &'static str, kind: &'static str) -> Shape {
    Shape { prefix, kind, is_rest: |it| it.len() >= 8, common: false }
}

const fn common(prefix: &'static str, kind: &'static str) -> Shape {
    Shape {
        prefix,
        kind,
        is_rest: |it| it.len() >= 20 && has_digit(it) && has_upper(it),
        common: true,
    }
}

/// Those of the services that agents are given keys of, and our own.
const SHAPES: &[Shape] = &[
    own("sk-ant-", "api-key"),
    own("sk-proj-", "api-key"),
    own("sk-or-", "api-key"),
    own("sk_live_", "api-key"),
    own("sk_test_", "api-key"),
    own("rk_live_", "api-key"),
    Shape {
        prefix: "sk-",
        kind: "api-key",
        is_rest: |it| it.len() >= 20 || (it.len() >= 8 && has_digit(it)),
        common: true,
    },
    own("ghp_", "github-token"),
    own("gho_", "github-token"),
    own("ghu_", "github-token"),
    own("ghs_", "github-token"),
    own("ghr_", "github-token"),
    own("github_pat_", "github-token"),
    own("glpat-", "gitlab-token"),
    own("xoxa-", "slack-token"),
    own("xoxb-", "slack-token"),
    own("xoxe-", "slack-token"),
    own("xoxe.", "slack-token"),
    own("xoxo-", "slack-token"),
    own("xoxp-", "slack-token"),
    own("xoxr-", "slack-token"),
    own("xoxs-", "slack-token"),
    own("xapp-", "slack-token"),
    Shape { prefix: "AKIA", kind: "aws-key", is_rest: is_aws, common: false },
    Shape { prefix: "ASIA", kind: "aws-key", is_rest: is_aws, common: false },
    Shape { prefix: "AIza", kind: "api-key", is_rest: |it| it.len() >= 30, common: false },
    Shape { prefix: "ya29.", kind: "token", is_rest: |it| it.len() >= LONG, common: false },
    Shape { prefix: "pypi-AgE", kind: "token", is_rest: |it| it.len() >= LONG, common: false },
    own("dop_v1_", "token"),
    own("shpat_", "token"),
    own("lin_api_", "api-key"),
    own("tskey-", "token"),
    common("npm_", "token"),
    common("hf_", "token"),
    common("SG.", "api-key"),
    own("pht_", "token"),
    own("phh_", "token"),
    own("phl_", "token"),
    Shape {
        prefix: "eyJ",
        kind: "jwt",
        is_rest: |it| it.len() >= LONG && it.contains(&b'.'),
        common: false,
    },
];

/// The secret in a word, which is all of it from its prefix on.
pub(super) fn in_word(text: &str, from: usize, end: usize) -> Option<Secret> {
    if text[from..end].ends_with("hooks.slack.com") {
        return webhook(text, end);
    }
    let word = &text.as_bytes()[from..end];
    (0..word.len()).find_map(|at| {
        let shape = SHAPES.iter().find(|it| {
            let Some(rest) = word[at..].strip_prefix(it.prefix.as_bytes()) else { return false };
            let rest = trimmed(rest);
            let strong = rest.len() >= 20 && has_digit(rest) && has_upper(rest);
            (it.is_rest)(rest) && (!it.common || strong || begins(text, from, from + at))
        })?;
        let to = from + at + trimmed(&word[at..]).len();
        Some(Secret { from: from + at, to, kind: shape.kind })
    })
}

/// The path of an incoming webhook, whoever knows which may write.
fn webhook(text: &str, end: usize) -> Option<Secret> {
    let path = text[end..].strip_prefix("/services/")?;
    let length = path.bytes().take_while(|it| it.is_ascii_alphanumeric() || *it == b'/').count();
    let from = text.len() - path.len();
    (length >= 8).then_some(Secret { from, to: from + length, kind: "slack-token" })
}

/// Whether a word may begin here: not after a letter, unless that belongs to an escape (`\n`, `%3D`).
fn begins(text: &str, word: usize, at: usize) -> bool {
    let bytes = text.as_bytes();
    let before = |n: usize| at.checked_sub(n).map(|it| bytes[it]);
    let plain = at == word || !before(1).is_some_and(|it| it.is_ascii_alphanumeric());
    plain || before(2) == Some(b'\\') || before(3) == Some(b'%')
}

/// A full stop ends the sentence, not the secret.
fn trimmed(word: &[u8]) -> &[u8] {
    let n_after = word.iter().rev().take_while(|it| matches!(it, b'.' | b'-')).count();
    &word[..word.len() - n_after]
}

fn is_aws(rest: &[u8]) -> bool {
    rest.len() >= 16 && rest[..16].iter().all(|it| it.is_ascii_uppercase() || it.is_ascii_digit())
}

fn has_digit(bytes: &[u8]) -> bool {
    bytes.iter().any(u8::is_ascii_digit)
}

fn has_upper(bytes: &[u8]) -> bool {
    bytes.iter().any(u8::is_ascii_uppercase)
}
