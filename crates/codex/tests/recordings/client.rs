//! A client of ours that does what a recorded client did, as far as one of ours would do it.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use pilothouse_codex::{Output, Peer, Tag};
use pilothouse_core::{
    Actor, Answer, ApprovalPolicy, Attach, Decision, Effect, Envelope, FromAgent, Intent,
    Management, Moment, Overrides, Policy, Prompt, Sandbox, Session, Spec, Step, WhenBusy,
};
use pilothouse_testkit::{
    Recording,
    recording::{Direction, Normaliser},
};
use serde_json::{Value, json};

use crate::lines;

/// What came of a replay.
pub(crate) struct Replayed {
    /// What each session would have kept, a line an event.
    pub(crate) log: String,
    /// What our client said.
    pub(crate) said: Vec<Value>,
}

/// Our client, with a session for each thread that the recorded one began, resumed or forked.
pub(crate) struct Client {
    peer: Peer,
    n_processes: u32,
    now: Timestamp,
    sessions: Vec<Session>,
    policy: Policy,
    said: Vec<Value>,
    /// Our ids by theirs.
    ids: BTreeMap<String, Value>,
    log: String,
    last_delta: Option<(Tag, String)>,
}

fn person() -> Actor {
    Actor::Human { via: "replay".into(), verified: true }
}

fn new_peer(n: u32) -> Peer {
    let client = pilothouse_codex::Client {
        name: "replay".into(),
        title: "Replay".into(),
        version: "0.0.0".into(),
    };
    Peer::new(client, format!("p{n}"))
}

impl Client {
    pub(crate) fn replay(recording: &Recording) -> Replayed {
        let mut client = Self {
            peer: new_peer(0),
            n_processes: 0,
            now: Timestamp::UNIX_EPOCH,
            sessions: vec![],
            policy: Policy::default(),
            said: vec![],
            ids: BTreeMap::new(),
            log: String::new(),
            last_delta: None,
        };
        let lines = recording.lines();
        for (n, line) in lines.iter().enumerate() {
            let t = i64::try_from(line.t).unwrap();
            let now = Timestamp::UNIX_EPOCH + SignedDuration::from_millis(t);
            client.now = client.now.max(now);
            match line.dir {
                Direction::Out => {
                    let later = lines[n..].iter().filter(|it| it.dir == Direction::Out);
                    client.out(&line.msg, later.map(|it| &it.msg));
                }
                Direction::In => client.hear(&line.msg),
                Direction::Note => client.note(&line.msg),
            }
        }
        let mut normaliser = Normaliser::default();
        let log = Value::String(client.log);
        let log = normaliser.message(&log).as_str().unwrap().to_owned();
        Replayed { log, said: client.said }
    }

    fn note(&mut self, note: &Value) {
        let text = note["note"].as_str().unwrap_or_default();
        if text.contains("EOF") || text.contains("exit") {
            let outputs = self.peer.exited(text, None);
            self.perform(outputs, None);
        }
    }

    fn hear(&mut self, message: &Value) {
        let mut message = message.clone();
        if message.get("method").is_none() && message.get("id").is_some() {
            let Some(id) = self.ids.remove(&message["id"].to_string()) else { return };
            message["id"] = id;
        }
        let outputs = self.peer.receive(self.now, &message.to_string());
        self.perform(outputs, None);
    }

    fn out<'a>(&mut self, message: &Value, later: impl Iterator<Item = &'a Value>) {
        let params = &message["params"];
        let thread = params["threadId"].as_str().unwrap_or_default();
        let tag = self.tag(thread);
        let outputs = match message["method"].as_str() {
            None => return self.answer(message),
            Some("initialized") => return,
            Some("initialize") => {
                let outputs = self.peer.exited("gone", None);
                self.perform(outputs, None);
                self.n_processes += 1;
                self.peer = new_peer(self.n_processes);
                self.ids.clear();
                self.peer.hello(self.now)
            }
            Some(method @ ("thread/start" | "thread/resume" | "thread/fork"))
                if method != "thread/resume" || tag.is_none() =>
            {
                let how = match method {
                    "thread/start" => Attach::Start,
                    "thread/resume" => Attach::Resume { thread: thread.into() },
                    _ => Attach::Fork { thread: thread.into() },
                };
                return self.attach(message, &how, later);
            }
            Some(method) => {
                let intent = tag.and_then(|_| intent(method, params));
                if let (Some(tag), Some(intent)) = (tag, intent)
                    && self.intend(tag, intent, message)
                {
                    return;
                }
                self.peer.request(self.now, None, 0, method, params.clone())
            }
        };
        self.perform(outputs, Some(message));
    }

    fn attach<'a>(
        &mut self,
        message: &Value,
        how: &Attach,
        later: impl Iterator<Item = &'a Value>,
    ) {
        let first = later.into_iter().find(|it| it["method"] == "turn/start");
        let spec = spec(&message["params"], first.map(|it| &it["params"]));
        let tag = Tag(self.sessions.len() as u64);
        self.sessions.push(Session::default());
        let step = Session::open(spec.clone(), &person(), None, None);
        // The session would come to its thread by itself; here the recording says how.
        self.record(tag, &step);
        let outputs = self.peer.attach(self.now, tag, how, &spec);
        self.perform(outputs, Some(message));
    }

    /// Puts an intent to the session. Returns whether it went through.
    fn intend(&mut self, tag: Tag, intent: Intent, message: &Value) -> bool {
        let moment = Moment { now: self.now, human_present: true, policy: &self.policy };
        let session = &self.sessions[usize::try_from(tag.0).unwrap()];
        match session.on_intent(&moment, intent, &person()) {
            Ok(step) => {
                self.take(tag, &step, Some(message));
                true
            }
            Err(refusal) => {
                self.note_down(tag, &format!("refused: {refusal}"));
                false
            }
        }
    }

    fn answer(&mut self, message: &Value) {
        let key = format!("p{}:{}", self.n_processes, message["id"]);
        let found = self.sessions.iter().enumerate().find_map(|(n, session)| {
            let ask = session.asks().values().find(|it| it.key == key)?;
            Some((Tag(n as u64), ask.clone()))
        });
        let Some((tag, ask)) = found else { return };
        let Some(answer) = answer(&message["result"]) else { return };
        let intent = Intent::Answer {
            ask: ask.id,
            answer,
            digest: Some(ask.digest),
            reason: None,
            note: None,
        };
        self.intend(tag, intent, message);
    }

    fn tag(&self, thread: &str) -> Option<Tag> {
        let here: Vec<_> = self.peer.tags().collect();
        let is_of = |it: &&Tag| {
            let session = &self.sessions[usize::try_from(it.0).unwrap()];
            session.thread().is_some_and(|it| it.name == thread)
        };
        here.iter().find(is_of).copied()
    }

    fn perform(&mut self, outputs: Vec<Output>, mut cause: Option<&Value>) {
        for output in outputs {
            match output {
                Output::Line(line) => {
                    let line: Value = serde_json::from_str(&line).unwrap();
                    // What ours adds: it ends what runs on after an interrupt.
                    let added =
                        cause.is_none() && line["method"] == "thread/backgroundTerminals/clean";
                    if !added && line.get("error").is_none() {
                        self.said.push(line.clone());
                    }
                    if let Some(message) = cause.take()
                        && line.get("method").is_some()
                    {
                        self.ids.insert(message["id"].to_string(), line["id"].clone());
                    }
                }
                Output::Said(tag, FromAgent::Delta { item, stream: _, text: _ }) => {
                    // One mark for all pieces in a row.
                    let mark = Some((tag, item));
                    if self.last_delta != mark {
                        let (_, item) = mark.as_ref().unwrap();
                        self.note_down(tag, &format!("  … {item}"));
                        self.last_delta = mark;
                    }
                }
                Output::Said(tag, message) => {
                    self.last_delta = None;
                    let moment =
                        Moment { now: self.now, human_present: true, policy: &self.policy };
                    let session = &self.sessions[usize::try_from(tag.0).unwrap()];
                    let step = session.on_agent(&moment, message);
                    self.take(tag, &step, None);
                }
                Output::Broken { cause } => self.log.push_str(&["Broken: ", &cause, "\n"].concat()),
                Output::Up { .. } | Output::Answered { .. } => {}
            }
        }
    }

    fn note_down(&mut self, tag: Tag, text: &str) {
        self.log.extend([&lines::head(self.now, tag), " ", text, "\n"]);
    }

    fn record(&mut self, tag: Tag, step: &Step) {
        let (session, log) = (&mut self.sessions[usize::try_from(tag.0).unwrap()], &mut self.log);
        for event in &step.record {
            let envelope =
                Envelope { seq: session.seq().next(), at: self.now, event: event.clone() };
            log.extend([lines::head(self.now, tag), " ".into(), lines::event(event), "\n".into()]);
            session.apply(&envelope);
        }
    }

    fn take(&mut self, tag: Tag, step: &Step, cause: Option<&Value>) {
        self.record(tag, step);
        for effect in &step.then {
            self.note_down(tag, &format!("    → {}", lines::effect(effect)));
            let outputs = match effect {
                Effect::Tell(message) => self.peer.tell(self.now, tag, message.clone()),
                Effect::Attach(how) => {
                    let spec = self.sessions[usize::try_from(tag.0).unwrap()].spec().clone();
                    self.peer.attach(self.now, tag, how, &spec)
                }
                Effect::Detach => self.peer.detach(self.now, tag, true),
            };
            self.perform(outputs, cause);
        }
    }
}

fn owned(value: &Value, name: &str) -> Option<String> {
    value[name].as_str().map(Into::into)
}

fn policy(value: &Value) -> Option<ApprovalPolicy> {
    serde_json::from_value(value.clone()).ok()
}

fn spec(params: &Value, first_turn: Option<&Value>) -> Spec {
    Spec {
        cwd: owned(params, "cwd").unwrap_or_default(),
        approval_policy: policy(&params["approvalPolicy"]),
        sandbox: serde_json::from_value(params["sandbox"].clone()).ok(),
        model: owned(params, "model"),
        config: params["config"].as_object().cloned().unwrap_or_default(),
        base_instructions: owned(params, "baseInstructions"),
        developer_instructions: owned(params, "developerInstructions"),
        personality: owned(params, "personality"),
        ephemeral: params["ephemeral"] == true,
        collaboration_mode: first_turn
            .map(|it| it["collaborationMode"].clone())
            .filter(|it| !it.is_null()),
        ..Spec::default()
    }
}

fn prompt(params: &Value) -> Prompt {
    let mut prompt = Prompt::default();
    for part in params["input"].as_array().into_iter().flatten() {
        match part["type"].as_str() {
            Some("text") => prompt.text = part["text"].as_str().unwrap_or_default().into(),
            Some("localImage") => prompt.images.extend(owned(part, "path")),
            _ => prompt.images.extend(owned(part, "url")),
        }
    }
    let sandbox = match params["sandboxPolicy"]["type"].as_str() {
        Some("readOnly") => Some(Sandbox::ReadOnly),
        Some("workspaceWrite") => Some(Sandbox::WorkspaceWrite),
        Some("dangerFullAccess") => Some(Sandbox::DangerFullAccess),
        _ => None,
    };
    prompt.overrides = Overrides {
        cwd: owned(params, "cwd"),
        approval_policy: policy(&params["approvalPolicy"]),
        sandbox,
        model: owned(params, "model"),
        effort: owned(params, "effort"),
        summary: owned(params, "summary"),
        personality: owned(params, "personality"),
        output_schema: Some(params["outputSchema"].clone()).filter(|it| !it.is_null()),
    };
    prompt
}

fn intent(method: &str, params: &Value) -> Option<Intent> {
    Some(match method {
        "turn/start" => Intent::Prompt { prompt: prompt(params), when_busy: WhenBusy::Refuse },
        "turn/steer" => Intent::Prompt { prompt: prompt(params), when_busy: WhenBusy::Steer },
        "turn/interrupt" => Intent::Interrupt,
        "thread/backgroundTerminals/clean" => Intent::Manage { what: Management::CleanTerminals },
        "thread/compact/start" => Intent::Manage { what: Management::Compact },
        "review/start" => {
            Intent::Manage { what: Management::Review { target: params["target"].clone() } }
        }
        "thread/archive" => Intent::Manage { what: Management::Archive },
        _ => return None,
    })
}

/// The answer that a recorded result is, if it is one.
fn answer(result: &Value) -> Option<Answer> {
    let plain =
        |word: &Value| serde_json::from_value::<Decision>(word.clone()).ok().map(Answer::plain);
    if let Some(answers) = result.get("answers") {
        let answers = answers.as_object()?.iter();
        let answers = answers.map(|(id, it)| {
            (id.clone(), serde_json::from_value(it["answers"].clone()).unwrap_or_default())
        });
        return Some(Answer::chosen(answers.collect()));
    }
    if let Some(action) = result.get("action") {
        let content = &result["content"];
        return match (action.as_str()?, &result["_meta"]["persist"]) {
            ("accept", Value::String(word)) if word == "session" => {
                Some(Answer::plain(Decision::AcceptForSession))
            }
            ("accept", _) if content.as_object().is_some_and(|it| !it.is_empty()) => {
                Some(Answer::Filled { content: content.clone() })
            }
            _ => plain(action),
        };
    }
    if let Some(permissions) = result.get("permissions") {
        let granted = permissions.as_object().is_some_and(|it| !it.is_empty());
        return Some(Answer::plain(if granted { Decision::Accept } else { Decision::Decline }));
    }
    let decision = &result["decision"];
    if let Some(amendment) = decision.get("acceptWithExecpolicyAmendment") {
        return Some(Answer::Decided {
            decision: Decision::AcceptWithExecpolicyAmendment,
            execpolicy_amendment: serde_json::from_value(amendment["execpolicy_amendment"].clone())
                .ok(),
            network_policy_amendment: None,
        });
    }
    let legacy = json!({"approved": "accept", "approved_for_session": "acceptForSession", "denied": "decline", "abort": "cancel"});
    match decision.as_str().and_then(|it| legacy.get(it)) {
        Some(word) => plain(word),
        None => plain(decision),
    }
}
