//! What Codex answers to our requests.

use jiff::Timestamp;
use pilothouse_core::{AgentError, Facts, FromAgent};
use serde_json::{Value, json};

use super::{
    Output, Tag,
    peer::{Peer, Phase, not_ready},
    requests::{Outgoing, Purpose},
    versions::{FLOOR, Version, kebab},
    wire::{self, OVERLOADED, RpcError, text},
};

impl Peer {
    pub(super) fn on_response(
        &mut self,
        now: Timestamp,
        id: i64,
        result: Result<Value, RpcError>,
    ) -> Vec<Output> {
        // Answered twice, or too late.
        let Some(outgoing) = self.requests.take(id) else { return vec![] };
        let mut outputs = match result {
            Ok(result) => self.on_success(now, outgoing, result),
            Err(error) if error.code == OVERLOADED || is_passing(&outgoing, &error) => {
                match self.requests.retry(now, outgoing) {
                    Some(outgoing) => self.on_failure(now, outgoing, error.into()),
                    None => vec![],
                }
            }
            Err(error) => self.on_failure(now, outgoing, error.into()),
        };
        outputs.extend(self.pump(now));
        outputs
    }

    fn on_success(&mut self, now: Timestamp, outgoing: Outgoing, result: Value) -> Vec<Output> {
        match outgoing.purpose {
            Purpose::Initialize => self.on_initialized(now, &result),
            Purpose::Attach { tag, seat } => self.on_attached(now, tag, seat, &result),
            Purpose::StartTurn { tag, seat } => self.on_turn_taken(tag, seat, &result),
            Purpose::Interrupt { thread } => self.clean(now, &thread, Purpose::Quiet),
            Purpose::Leave { thread, step } => self.leave_on(now, &thread, step),
            // A review is a turn whose true name stands in the answer only.
            Purpose::Manage { tag, seat } if outgoing.method == "review/start" => {
                self.on_turn_taken(tag, seat, &result)
            }
            Purpose::LookBack { tag, seat } => {
                self.on_looked_back(now, &outgoing.method, tag, seat, &result)
            }
            Purpose::Manage { .. } | Purpose::Quiet => vec![],
            Purpose::Raw(id) => vec![Output::Answered { id, result: Ok(result) }],
        }
    }

    /// A request failed, took too long, or could not be sent.
    pub(super) fn on_failure(
        &mut self,
        now: Timestamp,
        outgoing: Outgoing,
        error: AgentError,
    ) -> Vec<Output> {
        match outgoing.purpose {
            Purpose::Initialize => {
                // It may not be the Codex that it is taken for.
                let unclear = self.garble.explain(&error.message);
                self.on_broken(&unclear.unwrap_or(error))
            }
            Purpose::Attach { tag, seat } => {
                if self.seats.get(&tag).is_none_or(|it| it.number != seat) {
                    return vec![];
                }
                self.seats.remove(&tag);
                vec![Output::Said(tag, FromAgent::NotReady { error })]
            }
            Purpose::StartTurn { tag, seat } => match self.seats.get(&tag) {
                Some(it) if it.number == seat && it.turn.is_none() => {
                    vec![Output::Said(tag, FromAgent::TurnRefused { error })]
                }
                // The agent began a turn of its own at the same moment.
                Some(it) if it.number == seat => vec![failure(tag, outgoing.method, error)],
                Some(_) | None => vec![],
            },
            Purpose::Interrupt { thread } => self.clean(now, &thread, Purpose::Quiet),
            Purpose::Leave { thread, step } => self.leave_on(now, &thread, step),
            Purpose::Manage { tag, seat } => {
                if self.seats.get(&tag).is_none_or(|it| it.number != seat) {
                    return vec![];
                }
                vec![failure(tag, outgoing.method, error)]
            }
            Purpose::LookBack { tag, seat } => match self.seats.get(&tag) {
                Some(it) if it.number == seat => self.give_up_rejoin(now, tag, &error.message),
                Some(_) | None => vec![],
            },
            Purpose::Quiet => vec![],
            Purpose::Raw(id) => vec![Output::Answered { id, result: Err(error) }],
        }
    }

    /// Nobody waits any longer for a program to speak that has said what makes no sense.
    pub(super) fn give_up_on_garble(&mut self, now: Timestamp) -> Vec<Output> {
        let is_hopeless = self.phase == Phase::New && self.garble.is_hopeless(now);
        let unclear = is_hopeless.then(|| self.garble.explain("it goes on")).flatten();
        unclear.map(|it| self.on_broken(&it)).unwrap_or_default()
    }

    fn on_broken(&mut self, error: &AgentError) -> Vec<Output> {
        let mut outputs = self.end(error, true);
        outputs.push(Output::Broken { cause: error.message.clone() });
        outputs
    }

    fn on_initialized(&mut self, now: Timestamp, result: &Value) -> Vec<Output> {
        let told = text(result, &["userAgent"]).and_then(Version::in_user_agent);
        if let Some(version) = told.filter(|it| *it < FLOOR) {
            let message = format!(
                "Codex {version} does not say when a turn is over; install {FLOOR} or later, best \
                 the current version"
            );
            return self.on_broken(&AgentError { message, detail: Value::Null });
        }
        let version = told.unwrap_or(Version::NEWEST);
        self.phase = Phase::Up(version);
        self.requests.open();
        let mut outputs = vec![
            Output::Line(wire::notification("initialized")),
            Output::Up { version: told.map(|it| it.to_string()) },
        ];
        for (tag, seat, how, spec) in std::mem::take(&mut self.early) {
            outputs.extend(self.bring(now, version, tag, seat, &how, &spec));
        }
        outputs
    }

    fn on_attached(
        &mut self,
        now: Timestamp,
        tag: Tag,
        number: u64,
        result: &Value,
    ) -> Vec<Output> {
        let thread = text(result, &["thread", "id"]).map(ToOwned::to_owned);
        let is_wanted = self.seats.get(&tag).is_some_and(|it| it.number == number);
        let taken = thread.as_ref().is_some_and(|it| self.threads.contains_key(it));
        let Some(thread) = thread else {
            if !is_wanted {
                return vec![];
            }
            self.seats.remove(&tag);
            return vec![not_ready(tag, "Codex did not name the thread")];
        };
        if !is_wanted {
            // The session left while its thread was starting; a third may have come to it.
            if taken {
                return vec![];
            }
            self.forget_thread(&thread);
            return self.leave(now, &thread, None);
        }
        if taken {
            self.seats.remove(&tag);
            return vec![not_ready(tag, "another session has this thread open; close it first")];
        }
        let facts = self.facts(result);
        let Some(seat) = self.seats.get_mut(&tag) else { return vec![] };
        seat.thread = Some(thread.clone());
        seat.awaits = None;
        seat.is_joining = text(result, &["thread", "status", "type"]) == Some("active");
        if let Some(cwd) = &facts.cwd {
            seat.cwd.clone_from(cwd);
        }
        if let Some(policy) = result.get("sandbox") {
            seat.sandboxes.confirm(policy);
        }
        self.gone.retain(|it| *it != thread);
        self.threads.insert(thread.clone(), tag);
        let early = self.strangers.take(&thread);
        let mut outputs = vec![Output::Said(tag, FromAgent::Ready { thread, facts })];
        outputs.extend(self.warnings.iter().map(|(method, body)| {
            let (method, body) = (method.clone(), body.clone());
            Output::Said(tag, FromAgent::Notes { method, body })
        }));
        for message in early {
            outputs.extend(self.on_message(now, message, 0));
        }
        outputs.extend(self.look_back(now, tag, result));
        outputs
    }

    /// What Codex says that the thread really is.
    fn facts(&self, result: &Value) -> Facts {
        let word = |name: &str| match result.get(name) {
            Some(Value::String(word)) => Some(kebab(word)),
            // A granular policy has its name as the only member.
            Some(Value::Object(fields)) => match fields.get("type") {
                Some(Value::String(word)) => Some(kebab(word)),
                Some(_) | None => fields.keys().next().map(|it| kebab(it)),
            },
            Some(_) | None => None,
        };
        let owned = |name: &str| text(result, &[name]).map(ToOwned::to_owned);
        let version = match self.phase {
            Phase::Up(version) if version != Version::NEWEST => Some(version.to_string()),
            Phase::Up(_) | Phase::New | Phase::Over => None,
        };
        Facts {
            version,
            dialect: "app-server".to_owned(),
            model: owned("model"),
            approval_policy: word("approvalPolicy"),
            sandbox: word("sandbox"),
            effort: owned("reasoningEffort"),
            cwd: owned("cwd"),
            process: Some(self.process.clone()),
        }
    }

    /// The answer names the turn before the notification does.
    fn on_turn_taken(&mut self, tag: Tag, number: u64, result: &Value) -> Vec<Output> {
        let seat = self.seats.get_mut(&tag).filter(|it| it.number == number);
        let Some(seat) = seat else { return vec![] };
        let started = text(result, &["turn", "id"]).and_then(|it| seat.start_turn(it));
        started.into_iter().map(|it| Output::Said(tag, it)).collect()
    }
}

/// A failure of which nothing but a note comes.
fn failure(tag: Tag, method: String, error: AgentError) -> Output {
    let AgentError { message, detail } = error;
    let body = json!({"error": {"message": message, "detail": detail}});
    Output::Said(tag, FromAgent::Notes { method, body })
}

/// Codex is still putting the thread away that we want back.
fn is_passing(outgoing: &Outgoing, error: &RpcError) -> bool {
    let attaches = outgoing.method == "thread/resume" || outgoing.method == "thread/fork";
    attaches && error.message.contains("is closing; retry")
}
