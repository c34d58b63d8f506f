//! What Codex says and asks of its own accord, and whose business it is.

use jiff::Timestamp;
use pilothouse_core::{FromAgent, Outcome, SubAgent};
use serde_json::Value;

use super::{
    Output, Tag,
    asks::{self, Asked, Source},
    items, methods,
    peer::{MAX_ASKS, MAX_WARNINGS, Peer, Phase},
    refusals::refuse,
    seat::{Child, MAX_SUB_AGENTS},
    strangers::request_id,
    wire::{self, INVALID_PARAMS, Incoming, REFUSED, refusal, text},
};

/// Whose business a message is.
enum Place {
    /// A session's.
    Known { tag: Tag, thread: String, agent: Option<SubAgent> },
    /// A session's that has left.
    Gone,
    /// That of a thread that we may yet hear of.
    Unknown(String),
    /// Nobody's, or everybody's.
    Nowhere,
}

impl Peer {
    /// Takes a line from Codex.
    pub fn receive(&mut self, now: Timestamp, line: &str) -> Vec<Output> {
        if let Some(message) = wire::parse(line) {
            self.garble.clear();
            return self.on_message(now, message, line.len());
        }
        self.n_malformed = self.n_malformed.saturating_add(1);
        if self.phase != Phase::New {
            return vec![];
        }
        self.garble.add(now);
        self.give_up_on_garble(now)
    }

    pub(super) fn on_message(
        &mut self,
        now: Timestamp,
        message: Incoming,
        n_bytes: usize,
    ) -> Vec<Output> {
        match message {
            Incoming::Response { id, result } => self.on_response(now, id, result),
            Incoming::Notification { method, params } => {
                self.on_notification(now, method, params, n_bytes)
            }
            Incoming::Request { id, method, params } => {
                self.on_request(now, id, method, params, n_bytes)
            }
        }
    }

    fn place(&self, method: &str, params: &Value) -> Place {
        let named = text(params, &["threadId"])
            .or_else(|| text(params, &["conversationId"]))
            .or_else(|| text(params, &["thread", "id"]));
        let Some(thread) = named else {
            // Before 0.66 nothing of a turn says whose it is; one thread is all there can be.
            let is_of_turn = ["turn/", "item/", "error"].iter().any(|it| method.starts_with(it));
            return match (self.threads.first_key_value(), self.threads.len()) {
                (Some((thread, tag)), 1) if is_of_turn => {
                    Place::Known { tag: *tag, thread: thread.clone(), agent: None }
                }
                _ => Place::Nowhere,
            };
        };
        match self.threads.get(thread) {
            Some(tag) => Place::Known {
                tag: *tag,
                thread: thread.to_owned(),
                agent: self.seats.get(tag).and_then(|it| it.sub_agent(thread)),
            },
            None if self.gone.iter().any(|it| it == thread) => Place::Gone,
            None => Place::Unknown(thread.to_owned()),
        }
    }

    fn on_request(
        &mut self,
        now: Timestamp,
        id: Value,
        method: String,
        params: Value,
        n_bytes: usize,
    ) -> Vec<Output> {
        let place = self.place(&method, &params);
        if !asks::METHODS.contains(&method.as_str()) {
            return self.refuse(&place, &id, &method, &params);
        }
        match place {
            Place::Known { tag, .. } if self.is_rejoining(tag) => {
                self.hold(now, tag, Incoming::Request { id, method, params }, n_bytes)
            }
            Place::Known { tag, thread, agent } => {
                let mut outputs = match agent {
                    None => self.join_turn(tag, &params),
                    Some(_) => vec![],
                };
                outputs.extend(self.on_ask(tag, thread, agent, id, &method, &params));
                outputs
            }
            Place::Gone => {
                vec![Output::Line(refusal(&id, REFUSED, "the session was closed"))]
            }
            Place::Unknown(thread) => {
                let message = Incoming::Request { id, method, params };
                let back = self.strangers.keep(now, &thread, message, n_bytes);
                let refused = back.and_then(request_id).map(|id| {
                    Output::Line(refusal(&id, REFUSED, "too many threads are unknown already"))
                });
                refused.into_iter().collect()
            }
            Place::Nowhere => {
                vec![Output::Line(refusal(&id, INVALID_PARAMS, "the request names no thread"))]
            }
        }
    }

    fn on_ask(
        &mut self,
        tag: Tag,
        thread: String,
        agent: Option<SubAgent>,
        id: Value,
        method: &str,
        params: &Value,
    ) -> Vec<Output> {
        let key = self.key(&id);
        let version = self.version();
        let Some(seat) = self.seats.get(&tag) else { return vec![] };
        let source = Source { version, seat, thread: &thread, agent: agent.clone() };
        let read = asks::read(method, params, &source, &key);
        let (Some((request, form)), true) = (read, self.asks.len() < MAX_ASKS) else {
            let place = Place::Known { tag, thread, agent };
            return self.refuse(&place, &id, method, params);
        };
        let turn = text(params, &["turnId"]).map(ToOwned::to_owned);
        self.asks.insert(key, Asked { id, tag, thread, turn, form });
        vec![Output::Said(tag, FromAgent::Asks(Box::new(request)))]
    }

    /// Says no at once, and tells the session; everybody, if it is about nobody's thread.
    fn refuse(&self, place: &Place, id: &Value, method: &str, params: &Value) -> Vec<Output> {
        let (line, answer) = refuse(self.version(), id, method);
        let tags = match place {
            Place::Known { tag, .. } => vec![*tag],
            Place::Gone | Place::Unknown(_) => vec![],
            Place::Nowhere => self.ready_tags(),
        };
        let told = tags.into_iter().map(|tag| {
            let (method, body, answer) = (method.to_owned(), params.clone(), answer.clone());
            Output::Said(tag, FromAgent::Refused { method, body, answer })
        });
        [Output::Line(line)].into_iter().chain(told).collect()
    }

    fn key(&self, id: &Value) -> String {
        format!("{}:{id}", self.process)
    }

    fn ready_tags(&self) -> Vec<Tag> {
        self.seats.iter().filter(|(_, it)| it.thread.is_some()).map(|(tag, _)| *tag).collect()
    }

    fn on_notification(
        &mut self,
        now: Timestamp,
        method: String,
        params: Value,
        n_bytes: usize,
    ) -> Vec<Output> {
        if methods::is_unwanted(&method) {
            return vec![];
        }
        match self.place(&method, &params) {
            Place::Known { tag, .. } if self.is_rejoining(tag) => {
                self.hold(now, tag, Incoming::Notification { method, params }, n_bytes)
            }
            Place::Known { tag, thread, agent: None } => {
                // Other notifications may name a turn that is long over.
                let is_of_turn = method.starts_with("item/") || method.starts_with("turn/");
                let mut outputs = if is_of_turn { self.join_turn(tag, &params) } else { vec![] };
                outputs.extend(self.on_own(now, tag, &thread, &method, params));
                outputs
            }
            Place::Known { tag, thread, agent: Some(agent) } => {
                self.on_child(now, tag, &thread, agent, &method, params)
            }
            Place::Gone => vec![],
            Place::Unknown(thread) => self.on_unknown(now, &thread, method, params, n_bytes),
            Place::Nowhere => self.on_global(method, params),
        }
    }

    fn on_unknown(
        &mut self,
        now: Timestamp,
        thread: &str,
        method: String,
        params: Value,
        n_bytes: usize,
    ) -> Vec<Output> {
        match method.as_str() {
            // About a thread that we left, or yet before its first turn.
            "thread/status/changed" | "thread/closed" | "thread/archived" | "thread/deleted" => {
                return vec![];
            }
            "serverRequest/resolved" => {
                if let Some(request) = params.get("requestId") {
                    self.strangers.settle(thread, request);
                }
                return vec![];
            }
            _ => {}
        }
        // A sub-agent's turn names the turn that it serves.
        let root = text(&params, &["turn", "rootTurnId"]);
        let parent = root.and_then(|root| {
            self.seats.iter().find(|(_, it)| it.turn.as_deref() == Some(root)).map(|(tag, _)| *tag)
        });
        let message = Incoming::Notification { method, params };
        if let Some(tag) = parent {
            let mut outputs = self.adopt(now, tag, thread, None);
            outputs.extend(self.on_message(now, message, n_bytes));
            return outputs;
        }
        // What does not fit is lost: it belongs to nobody so far.
        drop(self.strangers.keep(now, thread, message, n_bytes));
        vec![]
    }

    /// Learns that a thread is a sub-agent's, and hears what it said before.
    pub(super) fn adopt(
        &mut self,
        now: Timestamp,
        tag: Tag,
        thread: &str,
        path: Option<String>,
    ) -> Vec<Output> {
        if self.threads.get(thread).is_some_and(|it| *it != tag) {
            return vec![];
        }
        let Some(seat) = self.seats.get_mut(&tag) else { return vec![] };
        if seat.thread.as_deref() == Some(thread) {
            return vec![];
        }
        if let Some(child) = seat.children.get_mut(thread) {
            child.path = path.or(child.path.take());
            return vec![];
        }
        if seat.children.len() >= MAX_SUB_AGENTS {
            return vec![];
        }
        seat.children.insert(thread.to_owned(), Child { path, turn: None });
        self.threads.insert(thread.to_owned(), tag);
        let mut outputs = Vec::new();
        for message in self.strangers.take(thread) {
            outputs.extend(self.on_message(now, message, 0));
        }
        outputs
    }

    /// What is about no thread: warnings are told to everybody, also to those who come later.
    fn on_global(&mut self, method: String, params: Value) -> Vec<Output> {
        if !matches!(
            method.as_str(),
            "configWarning" | "deprecationNotice" | "warning" | "guardianWarning" | "error"
        ) {
            return vec![];
        }
        let outputs =
            self.ready_tags().into_iter().map(|tag| note(tag, &method, &params)).collect();
        if method == "configWarning" && self.warnings.len() < MAX_WARNINGS {
            self.warnings.push((method, params));
        }
        outputs
    }

    /// Hears the name of a turn that was under way when its session came to the thread.
    fn join_turn(&mut self, tag: Tag, params: &Value) -> Vec<Output> {
        let seat = self.seats.get_mut(&tag).filter(|it| it.is_joining && it.turn.is_none());
        let turn = text(params, &["turnId"]).or_else(|| text(params, &["turn", "id"]));
        let started = seat.zip(turn).and_then(|(seat, turn)| seat.start_turn(turn));
        started.into_iter().map(|it| Output::Said(tag, it)).collect()
    }

    /// What is about a session's own thread.
    fn on_own(
        &mut self,
        now: Timestamp,
        tag: Tag,
        thread: &str,
        method: &str,
        params: Value,
    ) -> Vec<Output> {
        let Some(seat) = self.seats.get_mut(&tag) else { return vec![] };
        match method {
            "turn/started" => {
                let started = text(&params, &["turn", "id"]).and_then(|it| seat.start_turn(it));
                started.into_iter().map(|it| Output::Said(tag, it)).collect()
            }
            "turn/completed" => self.on_turn_completed(tag, thread, &params),
            "error" => {
                let will_retry = params.get("willRetry").and_then(Value::as_bool) == Some(true);
                if !will_retry && let Some(error) = params.get("error") {
                    seat.gathered.error(error);
                }
                // Else the end of the turn says it.
                let is_news = will_retry || seat.turn.is_none();
                if is_news { vec![note(tag, method, &params)] } else { vec![] }
            }
            "thread/tokenUsage/updated" => {
                if let Some(usage) = params.get("tokenUsage") {
                    seat.gathered.usage(usage);
                }
                vec![note(tag, method, &params)]
            }
            "thread/settings/updated" => {
                let settings = params.get("threadSettings");
                if let Some(policy) = settings.and_then(|it| it.get("sandboxPolicy")) {
                    seat.sandboxes.confirm(policy);
                }
                vec![]
            }
            "thread/status/changed" => {
                // Only this one means an end; `idle` comes just before the turn is over.
                let is_unloaded = text(&params, &["status", "type"]) == Some("notLoaded");
                self.hear_status(now, tag, params.get("status"));
                if is_unloaded { self.on_thread_closed(tag) } else { vec![] }
            }
            "thread/closed" | "thread/archived" | "thread/deleted" => self.on_thread_closed(tag),
            _ => self.on_either(now, tag, thread, None, method, params),
        }
    }

    /// What is about a sub-agent's thread: its turns are not the session's.
    fn on_child(
        &mut self,
        now: Timestamp,
        tag: Tag,
        thread: &str,
        agent: SubAgent,
        method: &str,
        params: Value,
    ) -> Vec<Output> {
        let child = self.seats.get_mut(&tag).and_then(|it| it.children.get_mut(thread));
        match method {
            "turn/started" => {
                if let Some(child) = child {
                    child.turn = text(&params, &["turn", "id"]).map(ToOwned::to_owned);
                }
                vec![]
            }
            "turn/completed" => {
                if let Some(child) = child {
                    child.turn = None;
                }
                vec![]
            }
            "thread/status/changed" | "thread/settings/updated" | "thread/closed" => vec![],
            _ => self.on_either(now, tag, thread, Some(agent), method, params),
        }
    }

    fn on_either(
        &mut self,
        now: Timestamp,
        tag: Tag,
        thread: &str,
        agent: Option<SubAgent>,
        method: &str,
        mut params: Value,
    ) -> Vec<Output> {
        if method == "serverRequest/resolved" {
            let Some(key) = params.get("requestId").map(|it| self.key(it)) else { return vec![] };
            // Also comes as the echo of our own answer.
            let settled = self.asks.remove(&key).map(|it| (it.tag, FromAgent::Settles { key }));
            return settled.into_iter().map(|(tag, it)| Output::Said(tag, it)).collect();
        }
        if let Some((item, stream, text)) = items::delta(method, &params) {
            return vec![Output::Said(tag, FromAgent::Delta { item, stream, text })];
        }
        let begins = method == "item/started";
        if !begins && method != "item/completed" {
            // What is only a piece of a stream is never noted.
            let is_piece = method.ends_with("elta") || method.ends_with("summaryPartAdded");
            return if is_piece { vec![] } else { vec![note(tag, method, &params)] };
        }
        let body = params.get_mut("item").map(Value::take).unwrap_or_default();
        let Some(item) = text(&body, &["id"]).map(ToOwned::to_owned) else { return vec![] };
        let kind = text(&body, &["type"]).unwrap_or("unknown").to_owned();
        let Some(seat) = self.seats.get_mut(&tag) else { return vec![] };
        let is_news = if begins {
            seat.items.start(thread, &item, &body)
        } else {
            seat.items.complete(thread, &item);
            let is_untold = agent.is_some() || seat.is_untold(&item);
            if is_untold {
                seat.gathered.item(&body, agent.is_some());
            }
            is_untold
        };
        let sub_agents = items::sub_agents(&body);
        let mut outputs = Vec::new();
        if is_news {
            let said = if begins {
                FromAgent::ItemStarted { item, kind, body, agent }
            } else {
                FromAgent::ItemCompleted { item, kind, body, agent }
            };
            outputs.push(Output::Said(tag, said));
        }
        for (thread, path) in sub_agents {
            outputs.extend(self.adopt(now, tag, &thread, path));
        }
        outputs
    }

    fn on_turn_completed(&mut self, tag: Tag, thread: &str, params: &Value) -> Vec<Output> {
        let Some(seat) = self.seats.get_mut(&tag) else { return vec![] };
        let Some(turn) = params.get("turn") else { return vec![] };
        let told = text(turn, &["id"]).map(ToOwned::to_owned);
        if seat.turn.is_none() && told.is_some() && told == seat.last_turn {
            return vec![];
        }
        // The name that the session knows, should Codex use another at the end.
        let name = seat.turn.take().or(told);
        seat.last_turn.clone_from(&name);
        seat.told = None;
        let (outcome, report) = std::mem::take(&mut seat.gathered).end(turn);
        // Versions before 0.110 do not withdraw what the turn had asked.
        self.asks.retain(|_, it| it.tag != tag || it.thread != thread || it.turn.is_none());
        vec![Output::Said(tag, FromAgent::TurnEnded { name, outcome, report })]
    }

    /// Codex put a thread away that a session still has: to go on it must be resumed.
    fn on_thread_closed(&mut self, tag: Tag) -> Vec<Output> {
        let Some(mut seat) = self.seats.remove(&tag) else { return vec![] };
        self.asks.retain(|_, it| it.tag != tag);
        for (thread, _) in seat.threads() {
            self.forget_thread(&thread);
        }
        let cause = "Codex closed the thread".to_owned();
        let mut outputs = Vec::new();
        if let Some(turn) = seat.turn.take() {
            let (_, report) = seat.gathered.end(&Value::Null);
            let outcome = Outcome::Lost { cause: cause.clone(), fault: None };
            let ended = FromAgent::TurnEnded { name: Some(turn), outcome, report };
            outputs.push(Output::Said(tag, ended));
        }
        outputs.push(Output::Said(tag, FromAgent::Exited { cause, fault: None }));
        outputs
    }
}

fn note(tag: Tag, method: &str, params: &Value) -> Output {
    let (method, body) = (method.to_owned(), params.clone());
    Output::Said(tag, FromAgent::Notes { method, body })
}
