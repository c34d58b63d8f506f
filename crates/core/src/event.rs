//! The facts that a session is made of: the log's format, a promise to disk, stream and SDK.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Actor, AgentError, Ask, AskId, AskRef, CommandResult, Facts, Management, Outcome, Prompt,
    Report, Seq, SessionId, Settled, Spec, SubAgent, TurnId,
};

/// The version of the log's format. It rises with what is added: 2 added `adopted`; 3 what callers
/// ask (`askedBy`, `agentless`, named options, `commandStarted`, `commandEnded`), `askEchoed`,
/// `askNotShown`, what a rule says at an ask's end, and the fault by which a turn was lost.
pub const FORMAT: u32 = 3;

/// A fact with its place and time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// Its place in the session's log.
    pub seq: Seq,
    /// When it was recorded.
    pub at: Timestamp,
    /// The fact.
    pub event: Event,
}

/// A fact about a session. Never changed, never removed, always in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Event {
    /// Someone wanted a session.
    Opened {
        /// The log's format.
        format: u32,
        /// What it was asked to be.
        spec: Spec,
        /// Who wanted it.
        by: Actor,
        /// The session and thread that it is a copy of.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fork_of: Option<Origin>,
    },
    /// The agent is ready for turns.
    Attached {
        /// The agent's name for the thread.
        thread: String,
        /// What the thread really is.
        facts: Facts,
    },
    /// Someone asked for a turn.
    TurnRequested {
        /// Its number.
        turn: TurnId,
        /// What they want.
        prompt: Prompt,
        /// Who.
        by: Actor,
        /// It came from the queue.
        #[serde(default)]
        queued: bool,
    },
    /// Someone asked for a turn while another was under way.
    PromptQueued {
        /// What they want.
        prompt: Prompt,
        /// Who.
        by: Actor,
    },
    /// Someone added to the turn that is under way.
    Steered {
        /// Its number.
        turn: TurnId,
        /// What they added.
        prompt: Prompt,
        /// Who.
        by: Actor,
    },
    /// The agent took the turn up.
    TurnStarted {
        /// Its number.
        turn: TurnId,
        /// The agent's name for it.
        name: String,
    },
    /// Someone wants the turn to stop.
    InterruptRequested {
        /// Its number.
        turn: TurnId,
        /// Who.
        by: Actor,
    },
    /// An item began.
    ItemStarted {
        /// The turn under way.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<TurnId>,
        /// The agent's name for the item.
        item: String,
        /// The agent's word for its kind.
        kind: String,
        /// The item as the agent sent it.
        body: Value,
        /// The sub-agent whose item it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<SubAgent>,
    },
    /// An item ended.
    ItemCompleted {
        /// The turn under way.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<TurnId>,
        /// The agent's name for the item.
        item: String,
        /// The agent's word for its kind.
        kind: String,
        /// The item's final form.
        body: Value,
        /// The sub-agent whose item it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<SubAgent>,
    },
    /// An item was still open when its turn ended.
    ItemAbandoned {
        /// The agent's name for the item.
        item: String,
    },
    /// The agent can't go on without an answer.
    AskRaised {
        /// All about it.
        ask: Box<Ask>,
    },
    /// The ask is no longer pending.
    AskSettled {
        /// Its number.
        ask: AskId,
        /// How.
        how: Settled,
    },
    /// A client that was to show the ask did not.
    AskNotShown {
        /// Its number.
        ask: AskId,
        /// The client.
        via: String,
        /// What it did instead.
        why: String,
    },
    /// The agent passed on what a tool of ours asks already, so that nothing was raised here.
    AskEchoed {
        /// The agent's name for the request.
        key: String,
        /// What is asked already.
        ask: AskRef,
    },
    /// A caller began to run the command that it had asked for.
    CommandStarted {
        /// The ask that allowed it.
        ask: AskId,
        /// Who runs it.
        by: Actor,
    },
    /// The command is over.
    CommandEnded {
        /// The ask that allowed it.
        ask: AskId,
        /// What became of it.
        result: CommandResult,
    },
    /// The turn is over.
    TurnEnded {
        /// Its number.
        turn: TurnId,
        /// How.
        outcome: Outcome,
        /// What it came to.
        report: Report,
    },
    /// Something that the agent said and that changes nothing here.
    Noted {
        /// The agent's word for it.
        method: String,
        /// What it said.
        body: Value,
    },
    /// The agent asked for something that was refused at once.
    RequestRefused {
        /// The agent's word for it.
        method: String,
        /// What it asked.
        body: Value,
        /// What it was told.
        answer: String,
    },
    /// Someone had something done to the thread.
    Managed {
        /// What.
        what: Management,
        /// Who.
        by: Actor,
    },
    /// The agent could not be brought to the session.
    AttachFailed {
        /// Why.
        error: AgentError,
    },
    /// The agent left, or its process is gone.
    Detached {
        /// Why.
        cause: String,
    },
    /// People call it something else now.
    Renamed {
        /// What.
        title: String,
        /// Who said so.
        by: Actor,
    },
    /// A person gave it to another caller.
    Adopted {
        /// Whose it is now.
        caller: String,
        /// Who allowed it.
        by: Actor,
    },
    /// It takes nothing any more.
    Closed {
        /// Why.
        reason: String,
        /// Who said so.
        by: Actor,
    },
}

/// Where a forked session comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// The session.
    pub session: SessionId,
    /// The agent's name for its thread.
    pub thread: String,
}
