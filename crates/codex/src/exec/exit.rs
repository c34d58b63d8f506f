//! How a turn's process ended, and what it said about that on standard error.

use pilothouse_core::AgentError;
use serde_json::json;

use crate::app_server::wire::explained;

/// Codes from here on mean a signal: 128 and its number.
const SIGNALS: i32 = 128;
/// What begins a line that says what went wrong.
const ERRORS: [&str; 2] = ["Error: ", "error: "];
/// What begins a line that is no reason for anything.
const NOISE: [&str; 7] = [
    "WARNING:",
    "warning:",
    "Reading additional input",
    "Reading prompt",
    "Stack backtrace",
    "For more information",
    "Usage:",
];

/// How a process ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// The last that it wrote to standard error.
    pub stderr: String,
}

impl Exit {
    /// A signal ended it, or it ended itself because of one.
    pub(crate) fn is_signal(&self) -> bool {
        self.code.is_none_or(|it| it >= SIGNALS)
    }

    /// It said why, or that it meant to.
    pub(crate) fn tells_why(&self) -> bool {
        self.reason().is_some()
    }

    /// In words.
    pub(crate) fn cause(&self) -> String {
        let how = match self.code {
            Some(code) => format!("`codex exec` ended with exit code {code}"),
            None => "`codex exec` was ended by a signal".to_owned(),
        };
        match self.reason() {
            Some(reason) => format!("{how}: {reason}"),
            None => how,
        }
    }

    /// As Codex's reason for giving up.
    pub(crate) fn error(&self) -> AgentError {
        let message = match self.reason() {
            Some(reason) => explained(reason),
            None => self.cause(),
        };
        AgentError { message, detail: json!({"exitCode": self.code}) }
    }

    /// What went wrong: the last line that says so, else the last that says anything.
    fn reason(&self) -> Option<&str> {
        let lines = || self.stderr.lines().map(str::trim).rev().filter(|it| !it.is_empty());
        let named = lines().find_map(|line| ERRORS.iter().find_map(|it| line.strip_prefix(it)));
        named.or_else(|| {
            lines().find(|line| {
                let is_frame = line.ends_with("<unknown>");
                // Codex's own log, which is about anything.
                let is_log = line.contains(" ERROR codex") || line.contains(" WARN codex");
                !is_frame && !is_log && !NOISE.iter().any(|it| line.starts_with(it))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_says_why_is_found() {
        let check = |stderr: &str, expected: &str| {
            let exit = Exit { code: Some(1), stderr: stderr.to_owned() };
            assert_eq!(exit.error().message, expected);
        };
        check("", "`codex exec` ended with exit code 1");
        check("WARNING: x\nReading prompt from stdin...\n", "`codex exec` ended with exit code 1");
        check("No prompt provided via stdin.\n", "No prompt provided via stdin.");
        check(
            "2026-11-30T18:31:36.852079Z ERROR codex_core::session: failed to record\n",
            "`codex exec` ended with exit code 1",
        );
        check("Error: a\n\nStack backtrace:\n   0: <unknown>\n", "a");
        check(
            "error: unexpected argument '--x' found\n\n  tip: y\n\nUsage: codex\n",
            "unexpected argument '--x' found",
        );
    }

    #[test]
    fn signals_are_known_in_both_guises() {
        let check = |code, expected| {
            assert_eq!(Exit { code, stderr: String::new() }.is_signal(), expected, "{code:?}");
        };
        check(None, true);
        check(Some(143), true);
        check(Some(0), false);
        check(Some(1), false);
    }
}
