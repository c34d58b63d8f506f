//! A program that says things and nothing of the protocol: how long it is listened to, and what is
//! said of it then.

use jiff::{SignedDuration, Timestamp};
use pilothouse_core::AgentError;
use serde_json::json;

/// Most lines that make no sense before the first that does. Wrappers print a banner, or the log
/// of an installation.
const MAX_LINES: u64 = 64;
/// How long after such a line the first that makes sense may take.
const PATIENCE: SignedDuration = SignedDuration::from_secs(10);

/// What a program said before it spoke its protocol.
#[derive(Debug, Default)]
pub(crate) struct Garble {
    n_lines: u64,
    until: Option<Timestamp>,
}

impl Garble {
    /// A line made no sense.
    pub(crate) fn add(&mut self, now: Timestamp) {
        self.n_lines = self.n_lines.saturating_add(1);
        self.until.get_or_insert(now.checked_add(PATIENCE).unwrap_or(Timestamp::MAX));
    }

    /// It spoke its protocol: from now on a line without sense is a slip.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// When nobody waits any longer for a line that makes sense.
    pub(crate) fn until(&self) -> Option<Timestamp> {
        self.until
    }

    /// Whether nothing that makes sense is to be expected.
    pub(crate) fn is_hopeless(&self, now: Timestamp) -> bool {
        is_much(self.n_lines) || self.until.is_some_and(|it| it <= now)
    }

    /// What to say of a program that failed for this cause: not that, if it spoke garble.
    pub(crate) fn explain(&self, cause: &str) -> Option<AgentError> {
        (self.n_lines > 0).then(|| error(self.n_lines, cause))
    }
}

/// Whether so many lines without sense, and none with it, are enough.
pub(crate) fn is_much(n_lines: u64) -> bool {
    n_lines >= MAX_LINES
}

/// A failure of a program that said so many lines, and none of its protocol.
pub(crate) fn error(n_lines: u64, cause: &str) -> AgentError {
    let lines = if n_lines == 1 { "one line" } else { "lines" };
    let message = format!(
        "Pilothouse could not understand Codex, which said {lines} that made no sense before a \
         word of its protocol; install a version that is supported, and see that nothing else \
         writes to its stdout ({cause})"
    );
    AgentError { message, detail: json!({ "code": "PROTOCOL_PARSE_ERROR" }) }
}
