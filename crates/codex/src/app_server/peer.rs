//! Our end of one `codex app-server`: who is here, and what happens from outside.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use pilothouse_core::{AgentError, Attach, Fault, FromAgent, Spec, ToAgent};
use serde_json::{Value, json};

use super::{
    Client, Output, Tag,
    answers::abandon,
    asks::Asked,
    methods, params,
    requests::{Outgoing, Purpose, Requests},
    seat::Seat,
    strangers::Strangers,
    versions::Version,
    wire::{REFUSED, refusal},
};
use crate::garble::Garble;

/// Most asks that Codex may have pending on one connection; more are refused at once.
pub(crate) const MAX_ASKS: usize = 4_096;
/// Most warnings that are kept for sessions that come after them.
pub(crate) const MAX_WARNINGS: usize = 16;
/// Most threads that are remembered after their sessions left.
pub(crate) const MAX_GONE: usize = 1_024;

/// Our end of the conversation with one `codex app-server`, which serves many sessions.
#[derive(Debug)]
pub struct Peer {
    pub(super) client: Client,
    pub(super) process: String,
    pub(super) phase: Phase,
    pub(super) requests: Requests,
    pub(super) n_seats: u64,
    pub(super) seats: BTreeMap<Tag, Seat>,
    /// Attachments that wait for the handshake, or for their thread to have gone.
    pub(super) early: Vec<(Tag, u64, Attach, Spec)>,
    /// Threads on their way out.
    pub(super) leaving: BTreeSet<String>,
    pub(super) threads: BTreeMap<String, Tag>,
    pub(super) gone: Vec<String>,
    pub(super) strangers: Strangers,
    pub(super) asks: BTreeMap<String, Asked>,
    pub(super) warnings: Vec<(String, Value)>,
    pub(super) n_malformed: u64,
    /// What came before the handshake was over.
    pub(super) garble: Garble,
    /// Why there is nobody to talk to.
    pub(super) over: Option<AgentError>,
}

/// How far the conversation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The handshake is not over.
    New,
    /// It is, and this is the version.
    Up(Version),
    /// There is nobody to talk to.
    Over,
}

impl Peer {
    /// An end that has said nothing yet. `process` must never come again on this machine: it is
    /// part of the names of asks.
    pub fn new(client: Client, process: String) -> Self {
        Self {
            client,
            process,
            phase: Phase::New,
            requests: Requests::default(),
            n_seats: 0,
            seats: BTreeMap::new(),
            early: vec![],
            leaving: BTreeSet::new(),
            threads: BTreeMap::new(),
            gone: vec![],
            strangers: Strangers::default(),
            asks: BTreeMap::new(),
            warnings: vec![],
            n_malformed: 0,
            garble: Garble::default(),
            over: None,
        }
    }

    /// The first words.
    pub fn hello(&mut self, now: Timestamp) -> Vec<Output> {
        let Client { name, title, version } = &self.client;
        let params = json!({
            "clientInfo": {"name": name, "title": title, "version": version},
            "capabilities": {
                "experimentalApi": true,
                "optOutNotificationMethods": methods::unwanted(),
            },
        });
        self.submit(now, Outgoing::new(Purpose::Initialize, "initialize", params))
    }

    /// Brings a session to its thread. `Ready` or `NotReady` follows, unless the session leaves.
    pub fn attach(&mut self, now: Timestamp, tag: Tag, how: &Attach, spec: &Spec) -> Vec<Output> {
        // A session has one thread; what it had is not its any more.
        let mut outputs = self.detach(now, tag, false);
        let awaits = match how {
            Attach::Resume { thread } => Some(thread.clone()),
            Attach::Start | Attach::Fork { .. } => None,
        };
        if let Some(thread) = &awaits {
            if self.is_taken(thread) {
                outputs
                    .push(not_ready(tag, "another session has this thread open; close it first"));
                return outputs;
            }
            self.gone.retain(|it| it != thread);
        }
        self.n_seats += 1;
        let seat = self.n_seats;
        match self.phase {
            // It may have broken off before anybody came to it.
            Phase::Over => outputs.push(match self.over.clone() {
                Some(error) => Output::Said(tag, FromAgent::NotReady { error }),
                None => not_ready(tag, "its process is gone"),
            }),
            Phase::New => {
                self.seats.insert(tag, Seat::new(seat, awaits, spec));
                self.early.push((tag, seat, how.clone(), spec.clone()));
            }
            // What is left of its last session would be taken for this one's.
            Phase::Up(_) if awaits.as_ref().is_some_and(|it| self.leaving.contains(it)) => {
                self.seats.insert(tag, Seat::new(seat, awaits, spec));
                self.early.push((tag, seat, how.clone(), spec.clone()));
            }
            Phase::Up(version) => {
                self.seats.insert(tag, Seat::new(seat, awaits, spec));
                outputs.extend(self.bring(now, version, tag, seat, how, spec));
            }
        }
        outputs
    }

    pub(super) fn bring(
        &mut self,
        now: Timestamp,
        version: Version,
        tag: Tag,
        seat: u64,
        how: &Attach,
        spec: &Spec,
    ) -> Vec<Output> {
        match params::attach(version, how, spec) {
            Ok((method, params)) => {
                self.submit(now, Outgoing::new(Purpose::Attach { tag, seat }, method, params))
            }
            Err(problem) => {
                self.seats.remove(&tag);
                vec![not_ready(tag, &problem)]
            }
        }
    }

    /// Puts something to Codex in its words.
    pub fn tell(&mut self, now: Timestamp, tag: Tag, message: ToAgent) -> Vec<Output> {
        if self.is_rejoining(tag) {
            return self.hold_wish(now, tag, message);
        }
        match message {
            ToAgent::StartTurn { turn: _, prompt } => self.start_turn(now, tag, &prompt),
            ToAgent::Steer { turn, prompt } => self.steer(now, tag, &turn, &prompt),
            ToAgent::Interrupt { turn } => self.interrupt(now, tag, &turn),
            ToAgent::Answer { key, answer, reason } => {
                self.answer(now, tag, &key, &answer, reason.as_deref())
            }
            ToAgent::Expire { key, waited_s } => self.expire(now, tag, &key, waited_s),
            ToAgent::Manage(what) => self.manage(now, tag, what),
        }
    }

    /// Lets a session's thread go, with all that runs for it: its turn and those of its
    /// sub-agents are stopped, commands that run on are ended, what is asked is answered. Codex
    /// then unloads the thread, and its MCP servers go (see [`app_server_args`]); it stays in the
    /// user's history, and a session that comes back resumes it from there.
    ///
    /// [`app_server_args`]: crate::app_server_args
    pub fn detach(&mut self, now: Timestamp, tag: Tag, _forever: bool) -> Vec<Output> {
        let Some(mut seat) = self.seats.remove(&tag) else { return vec![] };
        self.early.retain(|(it, ..)| *it != tag);
        let mut outputs = self.abandon_asks(tag);
        outputs.extend(seat.rejoin.take().into_iter().flat_map(|it| it.refuse()));
        for (thread, turn) in seat.threads() {
            self.forget_thread(&thread);
            outputs.extend(self.leave(now, &thread, turn.as_deref()));
        }
        outputs
    }

    /// Whether a session has a thread, or is about to.
    pub(super) fn is_taken(&self, thread: &str) -> bool {
        self.threads.contains_key(thread)
            || self.seats.values().any(|it| it.awaits.as_deref() == Some(thread))
    }

    fn abandon_asks(&mut self, tag: Tag) -> Vec<Output> {
        let (left, kept) =
            std::mem::take(&mut self.asks).into_iter().partition(|(_, it)| it.tag == tag);
        self.asks = kept;
        let left: BTreeMap<String, Asked> = left;
        left.values().map(|it| Output::Line(abandon(it))).collect()
    }

    /// Late words of it are dropped, and its late requests refused.
    pub(super) fn forget_thread(&mut self, thread: &str) {
        self.threads.remove(thread);
        if self.gone.len() >= MAX_GONE {
            self.gone.remove(0);
        }
        self.gone.push(thread.to_owned());
    }

    /// Sends a request as it is; with a tag, about that session's thread. [`Output::Answered`]
    /// follows, always.
    pub fn request(
        &mut self,
        now: Timestamp,
        tag: Option<Tag>,
        id: u64,
        method: &str,
        mut params: Value,
    ) -> Vec<Output> {
        let failed = |message: &str| {
            let error = AgentError { message: message.to_owned(), detail: Value::Null };
            vec![Output::Answered { id, result: Err(error) }]
        };
        if self.phase == Phase::Over {
            return failed("its process is gone");
        }
        if params.is_null() {
            params = json!({});
        }
        if let Some(tag) = tag {
            let Some(thread) = self.seats.get(&tag).and_then(|it| it.thread.clone()) else {
                return failed("the session has no thread at the moment; a prompt brings one");
            };
            if let Some(params) = params.as_object_mut() {
                params.entry("threadId").or_insert_with(|| thread.into());
            }
        }
        self.submit(now, Outgoing::new(Purpose::Raw(id), method, params))
    }

    /// The process is gone, and with it all that was asked and answered.
    pub fn exited(&mut self, cause: &str, fault: Option<Fault>) -> Vec<Output> {
        // It may not be the Codex that it is taken for.
        let unclear = self.garble.explain(cause).filter(|_| self.phase == Phase::New);
        let fault = fault.or(unclear.as_ref().map(|_| Fault::MakesNoSense));
        let detail = fault.map_or(Value::Null, |it| json!({ "code": it.code() }));
        let error = AgentError { message: cause.to_owned(), detail };
        let mut outputs = self.end(unclear.as_ref().unwrap_or(&error), false);
        self.asks.clear();
        self.threads.clear();
        for tag in std::mem::take(&mut self.seats).into_keys() {
            if let Some(error) = unclear.clone() {
                outputs.push(Output::Said(tag, FromAgent::NotReady { error }));
            }
            outputs.push(Output::Said(tag, FromAgent::Exited { cause: cause.to_owned(), fault }));
        }
        outputs
    }

    /// Nothing will be answered any more. Unless the end of the process tells them, sessions that
    /// wait for their threads hear of it.
    pub(super) fn end(&mut self, error: &AgentError, tell_attaching: bool) -> Vec<Output> {
        self.phase = Phase::Over;
        self.over.get_or_insert_with(|| error.clone());
        self.garble.clear();
        let mut outputs = Vec::new();
        for outgoing in self.requests.drain() {
            if let Purpose::Raw(id) = outgoing.purpose {
                outputs.push(Output::Answered { id, result: Err(error.clone()) });
            }
        }
        self.early.clear();
        self.leaving.clear();
        if tell_attaching {
            let attaching: Vec<_> = self
                .seats
                .iter()
                .filter(|(_, it)| it.thread.is_none())
                .map(|(it, _)| *it)
                .collect();
            for tag in attaching {
                self.seats.remove(&tag);
                outputs.push(Output::Said(tag, FromAgent::NotReady { error: error.clone() }));
            }
        }
        outputs
    }

    /// When to call [`Peer::on_tick`] next.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let deadlines = [self.requests.next_deadline(), self.strangers.next_deadline()];
        let more = self.garble.until().into_iter().chain(self.unasked_until());
        deadlines.into_iter().flatten().chain(more).min()
    }

    /// Does what time has come for.
    pub fn on_tick(&mut self, now: Timestamp) -> Vec<Output> {
        let mut outputs = Vec::new();
        for outgoing in self.requests.overdue(now) {
            let waited = outgoing.timeout().as_secs();
            let message = format!("Codex did not answer {} within {waited} s", outgoing.method);
            let detail = match outgoing.purpose {
                // A handshake that fails is a failed start, whatever it fails of.
                Purpose::Initialize => Value::Null,
                Purpose::Attach { .. }
                | Purpose::StartTurn { .. }
                | Purpose::Interrupt { .. }
                | Purpose::Leave { .. }
                | Purpose::Manage { .. }
                | Purpose::LookBack { .. }
                | Purpose::Quiet
                | Purpose::Raw(_) => json!({ "code": "TIMEOUT" }),
            };
            outputs.extend(self.on_failure(now, outgoing, AgentError { message, detail }));
        }
        outputs.extend(self.give_up_on_garble(now));
        outputs.extend(self.note_unasked(now));
        for id in self.strangers.give_up(now) {
            let line = refusal(&id, REFUSED, "Pilothouse does not know this thread");
            outputs.push(Output::Line(line));
        }
        outputs.extend(self.pump(now));
        outputs
    }

    /// The sessions that are here.
    pub fn tags(&self) -> impl Iterator<Item = Tag> + '_ {
        self.seats.keys().copied()
    }

    /// How many lines of Codex's made no sense.
    pub fn n_malformed(&self) -> u64 {
        self.n_malformed
    }

    pub(super) fn version(&self) -> Version {
        match self.phase {
            Phase::Up(version) => version,
            Phase::New | Phase::Over => Version::NEWEST,
        }
    }

    /// Sends a request, or has it wait, or tells at once that it failed.
    pub(super) fn submit(&mut self, now: Timestamp, outgoing: Outgoing) -> Vec<Output> {
        if self.phase == Phase::Over {
            return vec![];
        }
        match self.requests.submit(now, outgoing) {
            Ok(line) => line.into_iter().map(Output::Line).collect(),
            Err(outgoing) => {
                let message = format!(
                    "too many requests wait for Codex already; {} was not sent",
                    outgoing.method
                );
                self.on_failure(now, outgoing, AgentError { message, detail: Value::Null })
            }
        }
    }

    pub(super) fn pump(&mut self, now: Timestamp) -> Vec<Output> {
        self.requests.pump(now).into_iter().map(Output::Line).collect()
    }
}

pub(super) fn not_ready(tag: Tag, message: &str) -> Output {
    let error = AgentError { message: message.to_owned(), detail: Value::Null };
    Output::Said(tag, FromAgent::NotReady { error })
}
