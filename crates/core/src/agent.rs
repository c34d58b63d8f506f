//! The port to an agent: what it can tell us and what we can tell it, in our words.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AgentError, Answer, AskRef, Fault, Offer, Outcome, Prompt, Report, Subject, TurnId};

/// What an agent said its thread really is, which may differ from what was asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Facts {
    /// The agent's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The dialect it is spoken to in.
    pub dialect: String,
    /// The model in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// When it asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<String>,
    /// What its commands may touch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// How hard the model thinks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// Where it works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The process that serves it: the same for sessions that share one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
}

/// An agent that the session's agent started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubAgent {
    /// Its thread.
    pub thread_id: String,
    /// Its name, if the agent gave it one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// What a piece of a stream belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stream {
    /// What the agent says.
    Text,
    /// What a command prints.
    Output,
    /// What the agent thinks.
    Reasoning,
    /// The plan that the agent writes.
    Plan,
}

/// What an agent can tell us. Dialects translate their wire into this.
#[derive(Debug, Clone, PartialEq)]
pub enum FromAgent {
    /// The agent has a thread of its own and takes turns.
    Ready {
        /// The agent's name for the thread.
        thread: String,
        /// What the thread really is.
        facts: Facts,
    },
    /// The agent could not make or find the thread.
    NotReady {
        /// Why.
        error: AgentError,
    },
    /// A turn has begun.
    TurnStarted {
        /// The agent's name for the turn.
        name: String,
    },
    /// The agent would not begin the turn.
    TurnRefused {
        /// Why.
        error: AgentError,
    },
    /// A unit of work within the turn has begun.
    ItemStarted {
        /// The agent's name for the item.
        item: String,
        /// The agent's word for the kind of item.
        kind: String,
        /// The item as the agent sent it.
        body: Value,
        /// The sub-agent whose item it is.
        agent: Option<SubAgent>,
    },
    /// The unit of work is over; `body` is its final form.
    ItemCompleted {
        /// The agent's name for the item.
        item: String,
        /// The agent's word for the kind of item.
        kind: String,
        /// The item as the agent sent it.
        body: Value,
        /// The sub-agent whose item it is.
        agent: Option<SubAgent>,
    },
    /// A piece of an open item's stream. Live only, never on record.
    Delta {
        /// The agent's name for the item.
        item: String,
        /// Which of the item's streams.
        stream: Stream,
        /// The piece.
        text: String,
    },
    /// The agent can't go on without an answer.
    Asks(Box<Request>),
    /// The agent says what it waits for to whoever has come back to it: it may have asked before,
    /// and may have been answered without having been told.
    AsksAgain(Box<Request>),
    /// The agent no longer waits for this answer.
    Settles {
        /// The agent's name for the request.
        key: String,
    },
    /// The turn is over.
    TurnEnded {
        /// The agent's name for the turn.
        name: Option<String>,
        /// How it ended.
        outcome: Outcome,
        /// What it came to.
        report: Report,
    },
    /// Something worth keeping that changes nothing here: a plan, token use, a warning, a retry.
    Notes {
        /// The agent's word for it.
        method: String,
        /// What it said.
        body: Value,
    },
    /// The agent asked for something that the dialect refuses at once.
    Refused {
        /// The agent's word for it.
        method: String,
        /// What it asked.
        body: Value,
        /// What it was told.
        answer: String,
    },
    /// The agent's process is gone.
    Exited {
        /// What is known about it: exit status, last lines of its stderr.
        cause: String,
        /// What kind of fault it was, where that is known.
        fault: Option<Fault>,
    },
}

/// What an agent asks.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The agent's name for the request, unique in the life of the machine.
    pub key: String,
    /// What it is about.
    pub subject: Subject,
    /// The answers that the agent takes.
    pub offers: Vec<Offer>,
    /// Why it asks, in its own words.
    pub reason: Option<String>,
    /// The item that it belongs to.
    pub item: Option<String>,
    /// The request as the agent sent it.
    pub params: Value,
    /// The sub-agent that asks.
    pub agent: Option<SubAgent>,
    /// The ask of our own that this is the echo of: a tool of ours that the agent called asks
    /// through the agent as well.
    pub echo_of: Option<AskRef>,
}

/// How a session comes to its thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attach {
    /// A new thread.
    Start,
    /// The thread that it had.
    Resume {
        /// The agent's name for it.
        thread: String,
    },
    /// A copy of another session's thread.
    Fork {
        /// The agent's name for the other thread.
        thread: String,
    },
}

/// What we can tell an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum ToAgent {
    /// Begin a turn.
    StartTurn {
        /// Our number for it.
        turn: TurnId,
        /// What is wanted.
        prompt: Prompt,
    },
    /// Add to the turn that is under way.
    Steer {
        /// The agent's name for the turn.
        turn: String,
        /// What is wanted.
        prompt: Prompt,
    },
    /// Stop the turn, and what it runs.
    Interrupt {
        /// The agent's name for the turn.
        turn: String,
    },
    /// Answer a request.
    Answer {
        /// The agent's name for the request.
        key: String,
        /// The answer.
        answer: Answer,
        /// Why, for the agent to read.
        reason: Option<String>,
    },
    /// Nobody answered a request; that is no refusal, and the agent must not read it as one.
    Expire {
        /// The agent's name for the request.
        key: String,
        /// How many seconds it waited.
        waited_s: u64,
    },
    /// Something about the thread as a whole.
    Manage(Management),
}

/// What can be done to a thread between turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Management {
    /// End the commands that run on after their turn.
    CleanTerminals,
    /// Shorten the thread's memory.
    Compact,
    /// Review changes.
    Review {
        /// What to review, in the agent's own words.
        target: Value,
    },
    /// Put the thread away.
    Archive,
}
