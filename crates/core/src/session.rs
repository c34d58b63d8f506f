//! One agent at work under supervision: the fold of its events, and what may happen to it next.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    Actor, AgentError, Ask, AskId, Attach, CommandProgress, EndedTurn, Facts, Origin, Policy,
    Progress, Prompt, Seq, Settled, Spec, ToAgent, Turn,
    event::{Envelope, Event},
};

mod again;
mod apply;
mod caller;
mod from_agent;
mod intent;

pub use self::{
    caller::CallerRequest,
    intent::{Intent, Refusal, WhenBusy},
};

/// Most asks that a session may have pending; more are refused at once.
pub const MAX_PENDING_ASKS: usize = 256;
/// Most questions of callers that may be pending; beside them there is room for commands, most of
/// which a rule answers at once.
pub const MAX_PENDING_QUESTIONS: usize = 64;
/// Most callers that may ask for a session at the same time.
pub const MAX_PENDING_ADOPTIONS: usize = 8;
/// Most prompts that may wait for their turn.
pub const MAX_QUEUED_PROMPTS: usize = 16;
/// How often nobody may answer the same thing in one turn before the turn is stopped: the agent would
/// ask for ever, and nobody is there.
pub const MAX_EXPIRIES: u32 = 3;
/// Most settlements that are remembered for those who answer late.
pub(crate) const MAX_REMEMBERED: usize = 1_024;

/// A session. [`Session::apply`] is the only thing that changes one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Session {
    seq: Seq,
    opening: Option<Opening>,
    /// Whose it is by a person's word.
    #[serde(default)]
    adopter: Option<Actor>,
    spec: Spec,
    thread: Option<Thread>,
    agent: Option<Facts>,
    attaching: bool,
    attach_error: Option<AgentError>,
    turn: Option<Turn>,
    turns: u32,
    last_turn: Option<EndedTurn>,
    /// The name under which the attached agent ended its last turn: late words of that turn say it.
    ended_name: Option<String>,
    queue: VecDeque<(Prompt, Actor)>,
    asks: BTreeMap<AskId, Ask>,
    asked: u32,
    settlements: BTreeMap<AskId, Settlement>,
    /// What the attached agent was told, or was about to be: by the agent's names for its requests.
    #[serde(default)]
    told: BTreeMap<String, AskId>,
    /// How often each thing was asked in this turn and nobody answered, by digest.
    #[serde(default)]
    expiries: BTreeMap<String, u32>,
    /// What callers ran, or may.
    #[serde(default)]
    commands: BTreeMap<AskId, CommandProgress>,
    closing: Option<Closing>,
    active_at: Option<Timestamp>,
}

/// How a session began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    /// When.
    pub at: Timestamp,
    /// Who wanted it.
    pub by: Actor,
    /// Where it comes from, if it is a fork.
    pub fork_of: Option<Origin>,
}

/// The agent's thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// The agent's name for it.
    pub name: String,
    /// It outlives its process: Codex writes a thread down with its first turn, not before.
    pub durable: bool,
}

/// How and when an ask stopped being pending.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settlement {
    /// When.
    pub at: Timestamp,
    /// How.
    pub how: Settled,
}

/// How a session was closed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Closing {
    /// When.
    pub at: Timestamp,
    /// Why.
    pub reason: String,
    /// Who wanted it.
    pub by: Actor,
}

/// What a decision may depend on beside the session itself.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    /// The time.
    pub now: Timestamp,
    /// A person who may answer is looking at a surface of this store.
    pub human_present: bool,
    /// The rules.
    pub policy: &'a Policy,
}

/// What to do: first put `record` on record, all or nothing; `then` do the rest.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use = "a step that is dropped is a decision that never happened"]
pub struct Step {
    /// Facts to append to the log.
    pub record: Vec<Event>,
    /// Effects to perform once they are appended.
    pub then: Vec<Effect>,
}

/// Something for the world outside to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Bring an agent.
    Attach(Attach),
    /// Tell the agent.
    Tell(ToAgent),
    /// Let the agent go: end what it runs for this session, and no more.
    Detach,
}

impl Session {
    /// How many events it is made of.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// How it began; nothing before its first event.
    pub fn opening(&self) -> Option<&Opening> {
        self.opening.as_ref()
    }

    /// Whose it is: who opened it, or who was given it last.
    pub fn owner(&self) -> Option<&Actor> {
        self.adopter.as_ref().or(self.opening.as_ref().map(|it| &it.by))
    }

    /// What it is asked to be by now.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The agent's thread.
    pub fn thread(&self) -> Option<&Thread> {
        self.thread.as_ref()
    }

    /// The agent that is attached.
    pub fn agent(&self) -> Option<&Facts> {
        self.agent.as_ref()
    }

    /// An agent is being brought.
    pub fn is_attaching(&self) -> bool {
        self.attaching
    }

    /// Why no agent could be brought the last time.
    pub fn attach_error(&self) -> Option<&AgentError> {
        self.attach_error.as_ref()
    }

    /// The turn under way.
    pub fn turn(&self) -> Option<&Turn> {
        self.turn.as_ref()
    }

    /// How many turns it has had.
    pub fn turns(&self) -> u32 {
        self.turns
    }

    /// The last turn that ended.
    pub fn last_turn(&self) -> Option<&EndedTurn> {
        self.last_turn.as_ref()
    }

    /// What it waits for.
    pub fn asks(&self) -> &BTreeMap<AskId, Ask> {
        &self.asks
    }

    /// How an ask stopped being pending, if that is remembered.
    pub fn settlement(&self, ask: AskId) -> Option<&Settlement> {
        self.settlements.get(&ask)
    }

    /// How far a command is that a caller asked for, if that is remembered.
    pub fn command(&self, ask: AskId) -> Option<&CommandProgress> {
        self.commands.get(&ask)
    }

    /// Whether a caller runs a command that it asked for.
    pub fn runs_command(&self) -> bool {
        self.commands.values().any(|it| matches!(it, CommandProgress::Started))
    }

    /// How it was closed.
    pub fn closing(&self) -> Option<&Closing> {
        self.closing.as_ref()
    }

    /// When something last happened.
    pub fn active_at(&self) -> Option<Timestamp> {
        self.active_at
    }

    /// When to call [`Session::on_tick`] next.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.asks.values().filter_map(|it| it.expires_at).min()
    }

    /// Decides what the passing of time leads to.
    pub fn on_tick(&self, now: Timestamp) -> Step {
        let mut step = Step::default();
        let mut in_vain = false;
        for ask in self.asks.values() {
            if ask.expires_at.is_some_and(|it| it <= now) {
                let waited = now.duration_since(ask.raised_at).as_secs();
                let waited_s = u64::try_from(waited).unwrap_or(0);
                let answer = ask.answer_on_expiry();
                let n_before = self.expiries.get(&ask.digest).copied().unwrap_or(0);
                in_vain |= ask.is_of_agent() && answer.is_none() && n_before + 1 >= MAX_EXPIRIES;
                let how = Settled::Expired { waited_s, answer: answer.clone() };
                step.record.push(Event::AskSettled { ask: ask.id, how });
                if ask.is_of_agent() {
                    let key = ask.key.clone();
                    step.then.push(Effect::Tell(match answer {
                        Some(answer) => ToAgent::Answer { key, answer, reason: None },
                        None => ToAgent::Expire { key, waited_s },
                    }));
                }
            }
        }
        if in_vain
            && let Some(turn) = self.turn.as_ref().filter(|it| !it.interrupted)
            && let Progress::Started(name) = &turn.progress
        {
            step.record.push(Event::InterruptRequested { turn: turn.id, by: Actor::Clock });
            step.then.push(Effect::Tell(ToAgent::Interrupt { turn: name.clone() }));
        }
        step
    }

    /// Takes note of a fact that is on record.
    pub fn apply(&mut self, envelope: &Envelope) {
        self.seq = envelope.seq;
        self.active_at = Some(envelope.at);
        self.apply_event(envelope.at, &envelope.event);
    }

    /// How to bring an agent to the session as it is.
    fn attach(&self) -> Attach {
        match (&self.thread, &self.opening) {
            (Some(Thread { name, durable: true }), _) => Attach::Resume { thread: name.clone() },
            (None, Some(Opening { fork_of: Some(origin), .. })) => {
                Attach::Fork { thread: origin.thread.clone() }
            }
            (Some(Thread { durable: false, .. }) | None, _) => Attach::Start,
        }
    }
}
