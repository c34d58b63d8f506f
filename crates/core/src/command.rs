//! A command that a caller asked for and runs itself, and what becomes of it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Seq;

/// How long an accepted command may wait to be run, in seconds. An acceptance is for now.
pub const COLLECT_WITHIN_S: i64 = 600;

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandResult {
    /// How it ended.
    pub end: CommandEnd,
    /// What it printed, or its beginning and end.
    #[serde(default)]
    pub stdout: String,
    /// What it complained of, or its beginning and end.
    #[serde(default)]
    pub stderr: String,
    /// Something of either is left out.
    #[serde(default)]
    pub truncated: bool,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CommandEnd {
    /// By itself.
    Exited {
        /// With this code.
        code: i32,
    },
    /// By a signal that was not ours.
    Signalled {
        /// Which.
        signal: i32,
    },
    /// It took too long, and was ended with all that it had started.
    TimedOut {
        /// How long it had, in milliseconds.
        after_ms: u64,
    },
    /// Whoever wanted it took that back, and it was ended with all that it had started.
    TakenBack,
    /// It never began.
    NotStarted {
        /// Why.
        problem: String,
    },
    /// The process that ran it is gone; it may have done anything or nothing.
    Lost,
}

/// How far a command is that a caller asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandProgress {
    /// A person said yes.
    Accepted {
        /// When.
        at: Timestamp,
    },
    /// It runs.
    Started,
    /// It is over.
    Ended {
        /// Where the log says how.
        seq: Seq,
    },
}
