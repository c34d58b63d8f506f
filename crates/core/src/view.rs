//! Read models folded from events: what every surface shows.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Actor, AgentError, Ask, AskId, AskKind, AskRef, Offer, Outcome, Seq, Session, SessionId,
    Settlement, SubAgent, Subject, TurnId, session::Thread,
};

/// What a session is doing, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// A turn is under way.
    Running,
    /// It waits for an answer.
    WaitingApproval,
    /// It waits for a prompt.
    Idle,
    /// Its last turn failed or was lost; a prompt goes on from there.
    Error,
    /// It takes nothing any more.
    Cancelled,
}

/// Where a turn stands, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TurnStatus {
    /// On record, not taken up yet.
    Requested,
    /// Under way.
    Started,
    /// Done.
    Completed,
    /// Stopped.
    Interrupted,
    /// Given up.
    Failed,
    /// Gone with its process.
    Lost,
}

impl From<&Outcome> for TurnStatus {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Completed => Self::Completed,
            Outcome::Interrupted => Self::Interrupted,
            Outcome::Failed { error: _ } => Self::Failed,
            Outcome::Lost { cause: _, fault: _ } => Self::Lost,
        }
    }
}

/// A turn at a glance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnView {
    /// Its number.
    pub turn: TurnId,
    /// The agent's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// Where it stands.
    pub status: TurnStatus,
    /// What was asked for.
    pub prompt: String,
    /// The final message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Why it failed or was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<AgentError>,
    /// Token use, in the agent's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Value>,
    /// The files that were changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// When it was asked for.
    pub requested_at: Timestamp,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

/// A session at a glance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// Its name.
    pub session_id: SessionId,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is doing.
    pub status: Status,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When something last happened.
    pub last_active_at: Timestamp,
    /// When it was closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_at: Option<Timestamp>,
    /// Why it was closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_reason: Option<String>,
    /// The model, as the agent confirmed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// When the agent asks, as it confirmed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<String>,
    /// What commands may touch, as the agent confirmed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// How hard the model thinks, as the agent confirmed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// Where the agent works.
    pub cwd: String,
    /// The agent's thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// Whose it is: who opened it, or the caller that a person gave it to.
    pub opened_by: Actor,
    /// The node that owns it, as far as the store knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The dialect that its agent speaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialect: Option<String>,
    /// The agent's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// An agent is attached.
    pub attached: bool,
    /// Why no agent could be brought the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_error: Option<AgentError>,
    /// How many turns it has had.
    pub turns: u32,
    /// How many asks are pending.
    pub pending_request_count: u32,
    /// When the first of them expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_deadline: Option<Timestamp>,
    /// Its last event.
    pub last_seq: Seq,
    /// The turn under way, else the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn: Option<TurnView>,
}

/// An ask, complete: whoever comes late sees all of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AskView {
    /// Its name.
    pub request_id: AskRef,
    /// Its session.
    pub session_id: SessionId,
    /// What people call the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_title: Option<String>,
    /// What kind of thing is asked.
    pub kind: AskKind,
    /// Whether it waits.
    pub state: AskState,
    /// When it was raised.
    pub raised_at: Timestamp,
    /// When it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The turn it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The item it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// Why the agent asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The fingerprint that an answer must name.
    pub digest: String,
    /// What it is about.
    pub subject: Subject,
    /// What the agent takes for an answer.
    pub offers: Vec<Offer>,
    /// The request as the agent sent it.
    pub params: Value,
    /// The sub-agent that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<SubAgent>,
    /// Who asks, if it is not the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<Actor>,
    /// How it was settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settlement: Option<Settlement>,
}

/// Whether an ask waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AskState {
    /// It does.
    Pending,
    /// It was settled.
    Settled,
}

impl Session {
    /// What it is doing.
    pub fn status(&self) -> Status {
        if self.closing().is_some() {
            return Status::Cancelled;
        }
        // Who wants to have the session keeps nobody from working in it.
        if self.asks().values().any(|it| it.adopter().is_none()) {
            return Status::WaitingApproval;
        }
        if self.turn().is_some() {
            return Status::Running;
        }
        if self.attach_error().is_some() {
            return Status::Error;
        }
        match self.last_turn().map(|it| &it.outcome) {
            Some(Outcome::Failed { error: _ } | Outcome::Lost { cause: _, fault: _ }) => {
                Status::Error
            }
            Some(Outcome::Completed | Outcome::Interrupted) | None => Status::Idle,
        }
    }

    /// The session at a glance; nothing before its first event.
    pub fn view(&self, id: SessionId) -> Option<SessionView> {
        let opening = self.opening()?;
        let spec = self.spec();
        let facts = self.agent();
        let or = |said: Option<&String>, asked: Option<String>| said.cloned().or(asked);
        Some(SessionView {
            session_id: id,
            title: spec.title.clone(),
            status: self.status(),
            created_at: opening.at,
            last_active_at: self.active_at().unwrap_or(opening.at),
            cancelled_at: self.closing().map(|it| it.at),
            cancelled_reason: self.closing().map(|it| it.reason.clone()),
            model: or(facts.and_then(|it| it.model.as_ref()), spec.model.clone()),
            approval_policy: or(
                facts.and_then(|it| it.approval_policy.as_ref()),
                spec.approval_policy.and_then(word),
            ),
            sandbox: or(facts.and_then(|it| it.sandbox.as_ref()), spec.sandbox.and_then(word)),
            effort: or(facts.and_then(|it| it.effort.as_ref()), spec.effort.clone()),
            cwd: spec.cwd.clone(),
            thread_id: self.thread().map(|Thread { name, .. }| name.clone()),
            opened_by: self.owner().unwrap_or(&opening.by).clone(),
            node: None,
            dialect: facts.map(|it| it.dialect.clone()),
            agent_version: facts.and_then(|it| it.version.clone()),
            attached: facts.is_some(),
            agent_error: self.attach_error().cloned(),
            turns: self.turns(),
            pending_request_count: u32::try_from(self.asks().len()).unwrap_or(u32::MAX),
            next_deadline: self.next_deadline(),
            last_seq: self.seq(),
            last_turn: self.turn_view(),
        })
    }

    fn turn_view(&self) -> Option<TurnView> {
        if let Some(turn) = self.turn() {
            let (status, turn_id) = match &turn.progress {
                crate::Progress::Waiting | crate::Progress::Told => (TurnStatus::Requested, None),
                crate::Progress::Started(name) => (TurnStatus::Started, Some(name.clone())),
            };
            return Some(TurnView {
                turn: turn.id,
                turn_id,
                status,
                prompt: turn.prompt.text.clone(),
                output: None,
                error: None,
                usage: None,
                files: vec![],
                requested_at: turn.requested_at,
                ended_at: None,
            });
        }
        let turn = self.last_turn()?;
        let error = turn.outcome.error();
        Some(TurnView {
            turn: turn.id,
            turn_id: turn.name.clone(),
            status: (&turn.outcome).into(),
            prompt: turn.prompt.clone(),
            output: turn.report.output.clone(),
            error,
            usage: turn.report.usage.clone(),
            files: turn.report.files.clone(),
            requested_at: turn.requested_at,
            ended_at: Some(turn.ended_at),
        })
    }
}

impl AskView {
    /// An ask that waits.
    pub fn pending(session: SessionId, title: Option<&str>, ask: &Ask) -> Self {
        Self {
            request_id: AskRef { session, ask: ask.id },
            session_id: session,
            session_title: title.map(str::to_owned),
            kind: ask.subject.kind(),
            state: AskState::Pending,
            raised_at: ask.raised_at,
            expires_at: ask.expires_at,
            turn: ask.turn,
            item_id: ask.item.clone(),
            reason: ask.reason.clone(),
            digest: ask.digest.clone(),
            subject: ask.subject.clone(),
            offers: ask.offers.clone(),
            params: ask.params.clone(),
            agent: ask.agent.clone(),
            asked_by: ask.asked_by.clone(),
            settlement: None,
        }
    }

    /// Takes note of how it was settled.
    pub fn settle(&mut self, settlement: Settlement) {
        self.state = AskState::Settled;
        self.settlement = Some(settlement);
    }

    /// Its number within its session.
    pub fn ask(&self) -> AskId {
        self.request_id.ask
    }
}

/// A unit variant as it is written.
fn word(value: impl Serialize) -> Option<String> {
    serde_json::to_value(value).ok()?.as_str().map(str::to_owned)
}
