//! A turn, from a prompt to the agent's rest, and how it ends.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Actor, Prompt, TurnId, spec};

/// Why the agent gave up, in its own words.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentError {
    /// What a person can read.
    pub message: String,
    /// The agent's own classification, kept whole.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub detail: Value,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Outcome {
    /// The agent finished.
    Completed,
    /// Someone stopped it.
    Interrupted,
    /// The agent gave up.
    Failed {
        /// Why.
        error: AgentError,
    },
    /// The agent's process went away.
    Lost {
        /// What is known about it.
        cause: String,
        /// What kind of fault it was, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fault: Option<Fault>,
    },
}

impl Outcome {
    /// Why it did not end well, if it did not.
    pub fn error(&self) -> Option<AgentError> {
        match self {
            Self::Completed | Self::Interrupted => None,
            Self::Failed { error } => Some(error.clone()),
            Self::Lost { cause, fault } => {
                let detail = fault.map_or(Value::Null, |it| json!({ "code": it.code() }));
                Some(AgentError { message: cause.clone(), detail })
            }
        }
    }
}

/// What kind of fault ended an agent's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fault {
    /// It did not read what it was told.
    DoesNotRead,
    /// What it said was not its protocol.
    MakesNoSense,
}

impl Fault {
    /// The code by which surfaces tell it.
    pub fn code(self) -> &'static str {
        match self {
            Self::DoesNotRead => "WRITE_QUEUE_DROPPED",
            Self::MakesNoSense => "PROTOCOL_PARSE_ERROR",
        }
    }
}

/// What a turn came to, as the agent's dialect gathered it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Report {
    /// The final message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Token use, in the agent's own words.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "spec::given")]
    pub usage: Option<Value>,
    /// The files that were changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// The turn that is under way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Its number.
    pub id: TurnId,
    /// What was asked for.
    pub prompt: Prompt,
    /// Who asked for it.
    pub by: Actor,
    /// How far it is.
    pub progress: Progress,
    /// Someone wants it to stop.
    pub interrupted: bool,
    /// Items that have begun and aren't over.
    pub open_items: BTreeSet<String>,
    /// When it was asked for.
    pub requested_at: Timestamp,
}

/// How far a turn is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Progress {
    /// On record; no agent was there to be told.
    Waiting,
    /// The agent was told.
    Told,
    /// The agent took it up, under this name.
    Started(String),
}

/// The last turn that ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndedTurn {
    /// Its number.
    pub id: TurnId,
    /// What was asked for.
    pub prompt: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What it came to.
    pub report: Report,
    /// The agent's name for it, if it ever started.
    pub name: Option<String>,
    /// When it was asked for.
    pub requested_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
}
