//! Our end of one `codex proto`: a thread, its turns, its approvals.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use pilothouse_core::{
    AgentError, Answer, Attach, Decision, Facts, Fault, FromAgent, Management, Prompt, Spec,
    ToAgent,
};
use serde_json::{Map, Value, json};

use super::{
    args,
    events::{Events, note},
    ops,
};
use crate::{
    app_server::{Output, Tag, answers::unanswered},
    garble::Garble,
};

/// How long Codex may take to say that it is there. It waits for the MCP servers before.
const START_TIMEOUT: SignedDuration = SignedDuration::from_secs(120);
/// How long it may take to begin a turn. It says nothing of a submission that it cannot read.
const TURN_TIMEOUT: SignedDuration = SignedDuration::from_secs(60);
/// How long it may take to say that it shuts down.
const SHUTDOWN_TIMEOUT: SignedDuration = SignedDuration::from_secs(5);

/// Our end of the conversation with one `codex proto`, which serves one session.
#[derive(Debug)]
pub struct Peer {
    pub(super) process: String,
    pub(super) version: Option<String>,
    pub(super) phase: Phase,
    pub(super) seat: Option<Seat>,
    pub(super) events: Events,
    /// What Codex waits for, by our names.
    pub(super) asks: BTreeMap<String, Asked>,
    /// A turn that was asked for and has not begun.
    pub(super) awaited: Option<Awaited>,
    n_submissions: u64,
    pub(super) n_asks: u64,
    n_malformed: u64,
    /// What came before Codex said that it is there.
    garble: Garble,
    /// Why there is nobody to talk to.
    over: Option<AgentError>,
}

/// How far the conversation is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Phase {
    /// Codex has said nothing, and is given up then.
    New { until: Option<Timestamp> },
    /// It has a thread.
    Up { thread: String, model: Option<String>, effort: Option<String> },
    /// It was told to shut down, and is given up then.
    Leaving { until: Timestamp },
    /// There is nobody to talk to.
    Over,
}

/// The session that is here.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) tag: Tag,
    pub(super) facts: Facts,
    config: Map<String, Value>,
}

#[derive(Debug)]
pub(super) struct Asked {
    pub(super) submission: String,
    pub(super) call: String,
    /// The op that answers it.
    pub(super) op: &'static str,
}

#[derive(Debug)]
pub(super) struct Awaited {
    pub(super) submission: String,
    until: Timestamp,
}

impl Peer {
    /// An end that has said nothing yet. `process` must never come again on this machine: it is
    /// part of the names of turns, items and asks. Codex doesn't tell its version here.
    pub fn new(process: String, version: Option<String>) -> Self {
        Self {
            events: Events::new(&process),
            process,
            version,
            phase: Phase::New { until: None },
            seat: None,
            asks: BTreeMap::new(),
            awaited: None,
            n_submissions: 0,
            n_asks: 0,
            n_malformed: 0,
            garble: Garble::default(),
            over: None,
        }
    }

    /// Waits for the first words, which are Codex's.
    pub fn hello(&mut self, now: Timestamp) -> Vec<Output> {
        if let Phase::New { until } = &mut self.phase {
            *until = Some(after(now, START_TIMEOUT));
        }
        vec![]
    }

    /// Brings the session to the process's thread. `Ready` or `NotReady` follows, unless it
    /// leaves. The process was started for it, with [`args`](super::args()).
    pub fn attach(&mut self, _now: Timestamp, tag: Tag, how: &Attach, spec: &Spec) -> Vec<Output> {
        let problem = match how {
            _ if self.seat.is_some() => Some("this process serves another session already"),
            Attach::Resume { .. } => Some(
                "`codex proto` cannot take up a thread whose process is gone; start a new session",
            ),
            Attach::Fork { .. } => Some("`codex proto` cannot copy a thread; start a new session"),
            Attach::Start => match self.phase {
                Phase::Leaving { .. } | Phase::Over => Some("its process is gone"),
                Phase::New { .. } | Phase::Up { .. } => None,
            },
        };
        if let Some(problem) = problem {
            // It may have broken off before anybody came to it.
            if let (Phase::Over, Some(error)) = (&self.phase, self.over.clone()) {
                return vec![Output::Said(tag, FromAgent::NotReady { error })];
            }
            return vec![not_ready(tag, problem)];
        }
        let facts = Facts {
            version: self.version.clone(),
            dialect: "proto".to_owned(),
            model: spec.model.clone(),
            approval_policy: spec.approval_policy.map(|it| args::policy(it).to_owned()),
            sandbox: spec.sandbox.map(|it| args::sandbox(it).to_owned()),
            effort: spec.effort.clone(),
            cwd: Some(spec.cwd.clone()).filter(|it| !it.is_empty()),
            process: Some(self.process.clone()),
        };
        self.seat = Some(Seat { tag, facts, config: spec.config.clone() });
        self.ready()
    }

    /// Takes a line from Codex.
    pub fn receive(&mut self, now: Timestamp, line: &str) -> Vec<Output> {
        let message: Option<Map<String, Value>> = serde_json::from_str(line).ok();
        let Some(event) = message.as_ref().and_then(|it| it.get("msg")).filter(|it| it.is_object())
        else {
            self.n_malformed = self.n_malformed.saturating_add(1);
            if !matches!(self.phase, Phase::New { .. }) {
                return vec![];
            }
            self.garble.add(now);
            return self.give_up_on_garble(now);
        };
        self.garble.clear();
        let id = message.as_ref().and_then(|it| it.get("id")).and_then(Value::as_str);
        self.on_event(id.unwrap_or_default(), event)
    }

    /// Puts something to Codex in its words.
    pub fn tell(&mut self, now: Timestamp, tag: Tag, message: ToAgent) -> Vec<Output> {
        let is_here = self.seat.as_ref().is_some_and(|it| it.tag == tag);
        if !is_here || !matches!(self.phase, Phase::Up { .. }) {
            return match message {
                ToAgent::StartTurn { .. } => {
                    let message =
                        "the agent has no thread for this session; prompt again to bring one";
                    vec![refused(tag, message)]
                }
                ToAgent::Steer { .. }
                | ToAgent::Interrupt { .. }
                | ToAgent::Answer { .. }
                | ToAgent::Expire { .. }
                | ToAgent::Manage(_) => vec![],
            };
        }
        match message {
            ToAgent::StartTurn { turn: _, prompt } => self.start_turn(now, tag, &prompt),
            ToAgent::Steer { turn, prompt } => self.steer(tag, &turn, &prompt),
            // There is one turn at a time, and the interrupt names none.
            ToAgent::Interrupt { turn } if self.events.turn() == Some(&turn) => {
                vec![self.submit(&json!({"type": "interrupt"}))]
            }
            ToAgent::Interrupt { turn: _ } => vec![],
            ToAgent::Answer { key, answer, reason } => {
                self.answer(tag, &key, &answer, reason.as_deref())
            }
            ToAgent::Expire { key, waited_s } => self.expire(tag, &key, waited_s),
            ToAgent::Manage(what) => self.manage(tag, what),
        }
    }

    /// Lets the session go, and with it the thread: Codex is told to shut down, which stops its
    /// turn. [`Output::Broken`] follows when it has, or has not in time.
    pub fn detach(&mut self, now: Timestamp, tag: Tag, _forever: bool) -> Vec<Output> {
        if self.seat.as_ref().is_none_or(|it| it.tag != tag) {
            return vec![];
        }
        self.seat = None;
        self.asks.clear();
        self.awaited = None;
        match self.phase {
            Phase::New { .. } | Phase::Up { .. } => {
                self.phase = Phase::Leaving { until: after(now, SHUTDOWN_TIMEOUT) };
                vec![self.submit(&json!({"type": "shutdown"}))]
            }
            Phase::Leaving { .. } | Phase::Over => vec![],
        }
    }

    /// There are no requests in this dialect: [`Output::Answered`] says so.
    pub fn request(
        &mut self,
        _now: Timestamp,
        _tag: Option<Tag>,
        id: u64,
        method: &str,
        _params: Value,
    ) -> Vec<Output> {
        let message =
            format!("`codex proto` has no {method}; use a Codex that is spoken to as app-server");
        vec![Output::Answered { id, result: Err(AgentError { message, detail: Value::Null }) }]
    }

    /// The process is gone, and with it all that was asked and answered.
    pub fn exited(&mut self, cause: &str, fault: Option<Fault>) -> Vec<Output> {
        let unclear = self.garble.explain(cause);
        let fault = fault.or(unclear.as_ref().map(|_| Fault::MakesNoSense));
        self.garble.clear();
        self.phase = Phase::Over;
        self.asks.clear();
        self.awaited = None;
        let unclear = |it: &Seat| {
            let error = unclear?;
            Some(Output::Said(it.tag, FromAgent::NotReady { error }))
        };
        let gone =
            |it: Seat| Output::Said(it.tag, FromAgent::Exited { cause: cause.to_owned(), fault });
        let Some(seat) = self.seat.take() else { return vec![] };
        unclear(&seat).into_iter().chain([gone(seat)]).collect()
    }

    /// When to call [`Peer::on_tick`] next.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let phase = match self.phase {
            Phase::New { until } => until,
            Phase::Leaving { until } => Some(until),
            Phase::Up { .. } | Phase::Over => None,
        };
        let awaited = self.awaited.as_ref().map(|it| it.until);
        phase.into_iter().chain(awaited).chain(self.garble.until()).min()
    }

    /// Does what time has come for.
    pub fn on_tick(&mut self, now: Timestamp) -> Vec<Output> {
        let mut outputs = Vec::new();
        if self.awaited.as_ref().is_some_and(|it| it.until <= now) {
            self.awaited = None;
            let waited = TURN_TIMEOUT.as_secs();
            let message = format!("Codex did not begin the turn within {waited} s");
            let detail = json!({ "code": "TIMEOUT" });
            let error = AgentError { message, detail };
            let refused = |it: &Seat| Output::Said(it.tag, FromAgent::TurnRefused { error });
            outputs.extend(self.seat.as_ref().map(refused));
        }
        outputs.extend(self.give_up_on_garble(now));
        let cause = match self.phase {
            Phase::New { until: Some(until) } if until <= now => {
                format!("Codex did not answer within {} s", START_TIMEOUT.as_secs())
            }
            Phase::Leaving { until } if until <= now => {
                format!("Codex did not shut down within {} s", SHUTDOWN_TIMEOUT.as_secs())
            }
            Phase::New { .. } | Phase::Up { .. } | Phase::Leaving { .. } | Phase::Over => {
                return outputs;
            }
        };
        outputs.extend(self.break_off(AgentError { message: cause, detail: Value::Null }));
        outputs
    }

    /// Nobody waits any longer for a program to speak that has said what makes no sense.
    fn give_up_on_garble(&mut self, now: Timestamp) -> Vec<Output> {
        if !matches!(self.phase, Phase::New { .. }) || !self.garble.is_hopeless(now) {
            return vec![];
        }
        let unclear = self.garble.explain("it goes on");
        unclear.map(|it| self.break_off(it)).unwrap_or_default()
    }

    fn break_off(&mut self, error: AgentError) -> Vec<Output> {
        let cause = error.message.clone();
        self.over.get_or_insert_with(|| error.clone());
        self.garble.clear();
        self.phase = Phase::Over;
        let told = |it: Seat| Output::Said(it.tag, FromAgent::NotReady { error });
        self.seat.take().map(told).into_iter().chain([Output::Broken { cause }]).collect()
    }

    /// The session that is here.
    pub fn tags(&self) -> impl Iterator<Item = Tag> + '_ {
        self.seat.iter().map(|it| it.tag)
    }

    /// How many lines of Codex's made no sense.
    pub fn n_malformed(&self) -> u64 {
        self.n_malformed
    }

    fn start_turn(&mut self, now: Timestamp, tag: Tag, prompt: &Prompt) -> Vec<Output> {
        let config = self.seat.as_ref().map(|it| it.config.clone()).unwrap_or_default();
        let overrides = match ops::overrides(&prompt.overrides, &config) {
            Ok(overrides) => overrides,
            Err(options) => {
                let options = options.join(", ");
                let message = format!(
                    "`codex proto` does not take {options}; leave that out, or use a Codex that \
                     is spoken to as app-server"
                );
                return vec![refused(tag, &message)];
            }
        };
        let mut outputs: Vec<_> = overrides.iter().map(|it| self.submit(it)).collect();
        outputs.push(self.submit(&ops::input(prompt)));
        let submission = self.submission();
        self.awaited = Some(Awaited { submission, until: after(now, TURN_TIMEOUT) });
        outputs
    }

    /// Input while a turn runs is added to it. The model reads it twice; so 0.42 does it.
    fn steer(&mut self, tag: Tag, turn: &str, prompt: &Prompt) -> Vec<Output> {
        if self.events.turn() == Some(turn) {
            return vec![self.submit(&ops::input(prompt))];
        }
        vec![failure(tag, "turn/steer", "the turn is over; prompt again")]
    }

    fn answer(&mut self, tag: Tag, key: &str, said: &Answer, reason: Option<&str>) -> Vec<Output> {
        let Some(asked) = self.asks.remove(key) else { return vec![] };
        let decision = match said {
            Answer::Decided { decision, .. } => *decision,
            // None of these is offered.
            Answer::Chosen { .. } | Answer::Filled { .. } | Answer::Redacted => Decision::Decline,
        };
        let mut outputs = Vec::new();
        let reason = reason.filter(|it| !it.trim().is_empty() && decision != Decision::Cancel);
        if let Some(reason) = reason {
            outputs.push(self.submit(&ops::input(&Prompt::text(reason))));
        }
        outputs.push(self.submit(&ops::decision(asked.op, &asked.submission, decision)));
        if decision == Decision::Decline {
            outputs.extend(self.give_up(tag, &asked, "declined"));
        }
        outputs
    }

    /// There is a word for yes and one for no. After a no the model reads that the user said so,
    /// and right after it what we say here.
    fn expire(&mut self, tag: Tag, key: &str, waited_s: u64) -> Vec<Output> {
        let Some(asked) = self.asks.remove(key) else { return vec![] };
        let words = format!(
            "{} Codex reports it as \"rejected by user\" all the same; no user has rejected it.",
            unanswered(waited_s)
        );
        let denied = ops::decision(asked.op, &asked.submission, Decision::Decline);
        let mut outputs =
            vec![self.submit(&ops::input(&Prompt::text(&words))), self.submit(&denied)];
        outputs.extend(self.give_up(tag, &asked, "failed"));
        outputs
    }

    /// Codex says nothing of a call that it was not allowed.
    fn give_up(&mut self, tag: Tag, asked: &Asked, status: &str) -> Option<Output> {
        self.events.give_up(&asked.call, status).map(|it| Output::Said(tag, it))
    }

    fn manage(&mut self, tag: Tag, what: Management) -> Vec<Output> {
        match what {
            Management::Compact => vec![self.submit(&json!({"type": "compact"}))],
            Management::Review { target } => vec![self.submit(&ops::review(&target))],
            // Nothing runs on after its turn here.
            Management::CleanTerminals => vec![],
            Management::Archive => {
                vec![failure(tag, "thread/archive", "`codex proto` cannot put a thread away")]
            }
        }
    }

    fn submit(&mut self, op: &Value) -> Output {
        self.n_submissions = self.n_submissions.saturating_add(1);
        Output::Line(ops::submission(&self.submission(), op))
    }

    /// The name of the last submission.
    fn submission(&self) -> String {
        format!("sub-{}", self.n_submissions)
    }
}

fn after(now: Timestamp, wait: SignedDuration) -> Timestamp {
    now.checked_add(wait).unwrap_or(Timestamp::MAX)
}

pub(super) fn not_ready(tag: Tag, message: &str) -> Output {
    let error = AgentError { message: message.to_owned(), detail: Value::Null };
    Output::Said(tag, FromAgent::NotReady { error })
}

pub(super) fn refused(tag: Tag, message: &str) -> Output {
    let error = AgentError { message: message.to_owned(), detail: Value::Null };
    Output::Said(tag, FromAgent::TurnRefused { error })
}

fn failure(tag: Tag, method: &str, message: &str) -> Output {
    Output::Said(tag, note(method, json!({"error": {"message": message}})))
}
