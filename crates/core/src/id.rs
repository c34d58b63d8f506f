//! Names of sessions, turns, asks and places in a log, the same on every surface.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// A session's name, minted outside (a UUID of version 7) and written `sess_` and 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub Uuid);

/// A turn's number within its session. The first is 1.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct TurnId(pub u32);

/// An ask's number within its session. The first is 1.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct AskId(pub u32);

/// An event's place in its session's log. The first is 1; 0 is before all of them.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Seq(pub u64);

/// An ask's name outside its session, written `req_`, the session's digits, `_` and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AskRef {
    /// The session that it belongs to.
    pub session: SessionId,
    /// Its number there.
    pub ask: AskId,
}

/// Text that is no name of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {expected}")]
pub struct ParseIdError {
    /// What was given, cut to a readable length.
    pub text: String,
    /// What it should look like.
    pub expected: &'static str,
}

const SESSION_FORM: &str = "a session id (\"sess_\" and 32 hexadecimal digits)";
const ASK_FORM: &str = "a request id (\"req_\", 32 hexadecimal digits, \"_\" and a number)";

fn malformed(text: &str, expected: &'static str) -> ParseIdError {
    ParseIdError { text: text.chars().take(80).collect(), expected }
}

/// Only the form that we write: the `uuid` crate would take hyphens, braces and capitals too, and
/// two spellings of one name would be two keys.
fn parse_simple(text: &str) -> Option<Uuid> {
    let plain = text.len() == 32 && text.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
    if plain { Uuid::try_parse(text).ok() } else { None }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sess_{}", self.0.simple())
    }
}

impl FromStr for SessionId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let digits = text.strip_prefix("sess_").and_then(parse_simple);
        digits.map(Self).ok_or_else(|| malformed(text, SESSION_FORM))
    }
}

impl fmt::Display for AskRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "req_{}_{}", self.session.0.simple(), self.ask.0)
    }
}

impl FromStr for AskRef {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let parts = text.strip_prefix("req_").and_then(|it| it.split_once('_'));
        let parsed = parts.and_then(|(digits, number)| {
            let ask = number.parse().ok().filter(|it: &u32| it.to_string() == number)?;
            Some(Self { session: SessionId(parse_simple(digits)?), ask: AskId(ask) })
        });
        parsed.ok_or_else(|| malformed(text, ASK_FORM))
    }
}

macro_rules! serde_as_text {
    ($($name:ty),*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}
serde_as_text!(SessionId, AskRef);

impl Seq {
    /// The place after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}
