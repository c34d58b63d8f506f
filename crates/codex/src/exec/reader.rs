//! What the process of one turn says: today's events and those of the two early formats.

use pilothouse_core::{AgentError, Facts, FromAgent, Outcome, Report};
use serde_json::{Map, Value, json};

use super::{
    command::Invocation,
    exit::Exit,
    items::{Item, item, plan, usage},
};
use crate::{
    app_server::{gathered::Gathered, wire::text},
    garble,
    proto::events::Events,
};

/// What the early format's first line says of the thread, as far as we have words for it.
const EARLY_FACTS: [&str; 4] = ["model", "sandbox", "workdir", "reasoning effort"];

/// Reads what the process of one turn says.
#[derive(Debug)]
pub struct Reader {
    turn: String,
    /// The thread that it was to take up.
    expected: Option<String>,
    facts: Facts,
    warnings: Vec<String>,
    phase: Phase,
    format: Format,
    gathered: Gathered,
    /// The events of the early format.
    events: Events,
    /// The turn's end, which counts once the process has ended too.
    end: Option<End>,
    /// An error that is the turn's unless something follows it.
    held: Option<Value>,
    plan: Value,
    is_interrupted: bool,
    n_malformed: u64,
}

/// How far the process is.
#[derive(Debug, Clone, PartialEq)]
enum Phase {
    /// It has said nothing.
    Silent,
    /// It named its thread, and is at work.
    Started,
    /// It is in another thread than it was told to be: nothing more is heard.
    Astray(String),
    /// It has ended.
    Over,
}

/// What the lines look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// Events of the thread, with the end of the turn.
    Today,
    /// The same, as far as 0.42 had them: the turn ends with the process.
    Untold,
    /// Events of the old protocol; the turn ends with the process.
    Early,
}

/// How the turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Completed,
    Failed,
}

impl Reader {
    /// Reads the process of an invocation. The turn's name must never come again in its session:
    /// Codex names no turns here.
    pub fn new(invocation: &Invocation, turn: &str) -> Self {
        Self {
            turn: turn.to_owned(),
            expected: invocation.thread.clone(),
            facts: invocation.facts.clone(),
            warnings: invocation.warnings.clone(),
            phase: Phase::Silent,
            format: Format::Today,
            gathered: Gathered::default(),
            events: Events::of_turn(turn),
            end: None,
            held: None,
            plan: Value::Null,
            is_interrupted: false,
            n_malformed: 0,
        }
    }

    /// Takes a line of its standard output.
    pub fn line(&mut self, line: &str) -> Vec<FromAgent> {
        if matches!(self.phase, Phase::Over | Phase::Astray(_)) {
            return vec![];
        }
        let Ok(Value::Object(fields)) = serde_json::from_str(line) else {
            self.n_malformed = self.n_malformed.saturating_add(1);
            return vec![];
        };
        let kind = fields.get("type").and_then(Value::as_str).map(ToOwned::to_owned);
        let mut said = match kind.as_deref() {
            Some("error" | "turn.failed") => vec![],
            Some(_) | None => self.release(),
        };
        said.extend(match kind.as_deref() {
            Some(kind) => self.event(kind, Value::Object(fields)),
            None => self.early(fields),
        });
        said
    }

    /// Somebody wants the turn to stop: the process is about to be ended.
    pub fn interrupted(&mut self) {
        self.is_interrupted = true;
    }

    /// The process has nothing left to do: the turn's end was told, or it went astray. If it does
    /// not end by itself soon, end it.
    pub fn is_over(&self) -> bool {
        self.end.is_some()
            || self.events.is_over()
            || matches!(self.phase, Phase::Astray(_) | Phase::Over)
    }

    /// The turn's name.
    pub fn turn(&self) -> &str {
        &self.turn
    }

    /// How many lines made no sense.
    pub fn n_malformed(&self) -> u64 {
        self.n_malformed
    }

    /// It has said much, and nothing of the protocol: nobody need wait for more.
    pub fn is_garbled(&self) -> bool {
        self.phase == Phase::Silent && garble::is_much(self.n_malformed)
    }

    /// What to say of a process that has said nothing of the protocol and does not end.
    pub fn unspoken(&self, cause: &str) -> Option<AgentError> {
        (self.n_malformed > 0).then(|| garble::error(self.n_malformed, cause))
    }

    /// It said things that make no sense, and nothing about why it ended.
    fn unclear(&self, exit: &Exit) -> Option<AgentError> {
        if exit.tells_why() { None } else { self.unspoken(&exit.cause()) }
    }

    /// The process has ended, and with it the turn.
    pub fn exited(&mut self, exit: &Exit) -> Vec<FromAgent> {
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Over => vec![],
            Phase::Silent => {
                let error = self.unclear(exit).unwrap_or_else(|| exit.error());
                self.never(error)
            }
            Phase::Astray(thread) => {
                let expected = self.expected.as_deref().unwrap_or_default();
                let message = format!(
                    "Codex has no record of the thread {expected} here and began another, \
                     {thread}, which was ended; start a new session"
                );
                self.never(AgentError { message, detail: Value::Null })
            }
            Phase::Started => vec![self.ended(exit)],
        }
    }

    /// To a session that waits for its agent the one means something, to one that has it the other.
    fn never(&mut self, error: AgentError) -> Vec<FromAgent> {
        let error = self.failure().unwrap_or(error);
        vec![FromAgent::NotReady { error: error.clone() }, FromAgent::TurnRefused { error }]
    }

    fn event(&mut self, kind: &str, event: Value) -> Vec<FromAgent> {
        match kind {
            "thread.started" => self.named(text(&event, &["thread_id"])),
            "session.created" => {
                self.format = Format::Untold;
                self.named(text(&event, &["session_id"]))
            }
            // Nothing tells it from the start of the process.
            "turn.started" => vec![],
            "turn.completed" => {
                let mut said = vec![];
                if let Some(usage) = event.get("usage").and_then(usage) {
                    self.gathered.usage(&usage);
                    let body = json!({"tokenUsage": usage});
                    said.push(note("thread/tokenUsage/updated", body));
                }
                self.end = Some(End::Completed);
                said
            }
            "turn.failed" => {
                self.held = None;
                self.gathered.error(event.get("error").unwrap_or(&Value::Null));
                self.end = Some(End::Failed);
                vec![]
            }
            "error" => self.error(event),
            "item.started" | "item.updated" | "item.completed" => {
                self.item(kind, event.get("item").unwrap_or(&Value::Null))
            }
            other => vec![note(&format!("exec/{other}"), event)],
        }
    }

    /// Codex named the thread.
    fn named(&mut self, thread: Option<&str>) -> Vec<FromAgent> {
        let Some(thread) = thread.filter(|_| self.phase == Phase::Silent) else { return vec![] };
        // Versions to 0.47 at least begin a new thread when they don't find the wanted one.
        if self.expected.as_deref().is_some_and(|it| it != thread) {
            self.phase = Phase::Astray(thread.to_owned());
            return vec![];
        }
        // The turn is under way with the process: were it told only once Codex says so, nobody
        // could stop a process that hangs before.
        self.phase = Phase::Started;
        let mut said = vec![
            FromAgent::Ready { thread: thread.to_owned(), facts: self.facts.clone() },
            FromAgent::TurnStarted { name: self.turn.clone() },
        ];
        if self.expected.is_none() {
            let warnings = std::mem::take(&mut self.warnings);
            said.extend(warnings.iter().map(|it| note("warning", json!({"message": it}))));
        }
        said
    }

    /// Retries are told as errors too, and only what follows tells them apart.
    fn error(&mut self, mut event: Value) -> Vec<FromAgent> {
        if let Some(event) = event.as_object_mut() {
            event.remove("type");
        }
        let mut said = self.release();
        let is_retry = text(&event, &["message"]).is_some_and(|it| it.starts_with("Reconnecting"));
        if is_retry {
            said.push(retry(&event));
        } else {
            self.held = Some(event);
        }
        said
    }

    /// Something follows the error: it was not the turn's.
    fn release(&mut self) -> Vec<FromAgent> {
        self.held.take().iter().map(retry).collect()
    }

    fn item(&mut self, event: &str, told: &Value) -> Vec<FromAgent> {
        let Some(item) = item(&self.turn, told) else { return vec![] };
        let Item { name, kind, body } = item;
        match kind.as_str() {
            // An error that hinders nothing.
            "error" => {
                let message = text(&body, &["message"]).unwrap_or_default();
                return vec![note("warning", json!({"message": message}))];
            }
            "todoList" => {
                let Some(plan) = plan(told).filter(|it| *it != self.plan) else { return vec![] };
                self.plan.clone_from(&plan);
                return vec![note("turn/plan/updated", plan)];
            }
            _ => {}
        }
        vec![match event {
            "item.started" => FromAgent::ItemStarted { item: name, kind, body, agent: None },
            "item.completed" => {
                self.gathered.item(&body, false);
                FromAgent::ItemCompleted { item: name, kind, body, agent: None }
            }
            _ => note("item/updated", json!({"item": body})),
        }]
    }

    /// Lines of the early format: what it was configured with, the prompt, and events.
    fn early(&mut self, mut fields: Map<String, Value>) -> Vec<FromAgent> {
        if let Some(message) = fields.remove("msg") {
            let mut said = self.begin_early();
            let submission = fields.get("id").and_then(Value::as_str).unwrap_or_default();
            let events = self.events.event(submission, &message);
            // The turn began with the process and ends with it.
            said.extend(
                events.into_iter().filter(|it| !matches!(it, FromAgent::TurnStarted { .. })),
            );
            return said;
        }
        let [model, sandbox, cwd, effort] = EARLY_FACTS.map(|name| {
            fields.get(name).and_then(Value::as_str).filter(|it| *it != "none").map(str::to_owned)
        });
        if cwd.is_none() || self.phase != Phase::Silent {
            return vec![];
        }
        // What may be written follows in brackets.
        let sandbox = sandbox.and_then(|it| it.split(' ').next().map(ToOwned::to_owned));
        for (fact, said) in [
            (&mut self.facts.model, model),
            (&mut self.facts.sandbox, sandbox),
            (&mut self.facts.cwd, cwd),
            (&mut self.facts.effort, effort),
        ] {
            if said.is_some() {
                *fact = said;
            }
        }
        self.begin_early()
    }

    /// This format never says which thread it is in, so the turn's name stands for it.
    fn begin_early(&mut self) -> Vec<FromAgent> {
        self.format = Format::Early;
        let thread = self.expected.clone().unwrap_or_else(|| self.turn.clone());
        self.named(Some(&thread))
    }

    /// What went wrong, if the process said so last.
    fn failure(&mut self) -> Option<AgentError> {
        let held = self.held.take()?;
        let message = text(&held, &["message"]).unwrap_or("Codex did not say why").to_owned();
        Some(AgentError { message, detail: Value::Null })
    }

    fn ended(&mut self, exit: &Exit) -> FromAgent {
        let name = Some(self.turn.clone());
        let (outcome, report) = if self.format == Format::Early {
            // The end of a turn that goes well is not told.
            let status = self.events.status();
            let (told, report) = self.events.outcome(status.unwrap_or("completed"));
            (if status.is_some() { told } else { self.untold(exit) }, report)
        } else {
            self.told(exit)
        };
        FromAgent::TurnEnded { name, outcome, report }
    }

    /// As the thread's events tell it, or the way that the process ended.
    fn told(&mut self, exit: &Exit) -> (Outcome, Report) {
        let gathered = std::mem::take(&mut self.gathered);
        match self.end {
            Some(End::Completed) => gathered.end(&json!({"status": "completed"})),
            Some(End::Failed) => gathered.end(&json!({"status": "failed"})),
            None => {
                let outcome = self.untold(exit);
                (outcome, gathered.end(&json!({"status": "completed"})).1)
            }
        }
    }

    /// How a turn ended of which only the process's end is known.
    fn untold(&mut self, exit: &Exit) -> Outcome {
        if self.is_interrupted {
            return Outcome::Interrupted;
        }
        if let Some(error) = self.failure() {
            return Outcome::Failed { error };
        }
        match exit.code {
            Some(0) if self.format != Format::Today => Outcome::Completed,
            Some(0) | None => Outcome::Lost { cause: exit.cause(), fault: None },
            Some(_) if exit.is_signal() => Outcome::Lost { cause: exit.cause(), fault: None },
            Some(_) => Outcome::Failed { error: exit.error() },
        }
    }
}

fn note(method: &str, body: Value) -> FromAgent {
    FromAgent::Notes { method: method.to_owned(), body }
}

fn retry(error: &Value) -> FromAgent {
    note("error", json!({"error": error, "willRetry": true}))
}
