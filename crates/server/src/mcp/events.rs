//! A session's events as `codex_check` tells them: what a model needs, or everything.

use jiff::Timestamp;
use pilothouse_core::{
    Actor, AgentError, Answer, AskRef, Envelope, Event, Management, Outcome, SessionId, Settled,
    TurnStatus, decision_name,
};
use serde_json::{Map, Value, json};

use super::{bounds, problem::who};

/// Bytes of a prompt that are told to those who want little.
const MAX_OWN_WORDS: usize = 200;

/// How much of an event is told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// What a model needs.
    #[default]
    Minimal,
    /// The same, with longer texts and with where it came from.
    Compact,
    /// The agent's own objects.
    Full,
}

impl Mode {
    pub(crate) const WORDS: [(&str, Self); 3] =
        [("minimal", Self::Minimal), ("delta_compact", Self::Compact), ("full", Self::Full)];

    /// Bytes of a text that are told; of a longer one the beginning and the end.
    fn text_limit(self) -> usize {
        match self {
            Self::Minimal => 1_500,
            Self::Compact => 8 * 1_024,
            Self::Full => usize::MAX,
        }
    }

    /// Bytes of a change that someone must answer for; all of it can be read by its item.
    pub(crate) fn change_limit(self) -> usize {
        match self {
            Self::Minimal => 4 * 1_024,
            Self::Compact => 16 * 1_024,
            Self::Full => usize::MAX,
        }
    }

    /// Bytes of the tail of an open item's stream.
    pub(crate) fn live_limit(self) -> usize {
        match self {
            Self::Minimal => 256,
            Self::Compact => 2_048,
            Self::Full => 64 * 1_024,
        }
    }
}

/// An event with its number, its type and its time.
pub(crate) fn event(session: SessionId, envelope: &Envelope, mode: Mode) -> Value {
    let (kind, mut data) = told(session, &envelope.event, mode);
    if mode == Mode::Full {
        data.append(&mut whole(&envelope.event));
    }
    json!({
        "id": envelope.seq.0.saturating_sub(1),
        "type": kind,
        "data": data,
        "timestamp": time(envelope.at),
    })
}

/// A time, to the millisecond: nobody needs more of it, and each digit is paid for.
pub(crate) fn time(at: Timestamp) -> String {
    Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at).to_string()
}

/// What the log has of it that is the agent's own.
fn whole(event: &Event) -> Map<String, Value> {
    let res = match event {
        Event::ItemStarted { body, .. } | Event::ItemCompleted { body, .. } => {
            json!({ "item": body })
        }
        Event::Noted { body, .. } | Event::RequestRefused { body, .. } => json!({ "params": body }),
        Event::AskRaised { ask } => json!({ "params": ask.params }),
        Event::TurnEnded { report, .. } => json!({ "usage": report.usage, "files": report.files }),
        Event::TurnRequested { prompt, .. }
        | Event::PromptQueued { prompt, .. }
        | Event::Steered { prompt, .. } => json!({ "prompt": prompt.text }),
        Event::Opened { .. }
        | Event::Attached { .. }
        | Event::TurnStarted { .. }
        | Event::InterruptRequested { .. }
        | Event::ItemAbandoned { .. }
        | Event::AskSettled { .. }
        | Event::AskNotShown { .. }
        | Event::AskEchoed { .. }
        | Event::CommandStarted { .. }
        | Event::CommandEnded { .. }
        | Event::Managed { .. }
        | Event::AttachFailed { .. }
        | Event::Detached { .. }
        | Event::Renamed { .. }
        | Event::Adopted { .. }
        | Event::Closed { .. } => return Map::new(),
    };
    fields(res)
}

fn told(session: SessionId, event: &Event, mode: Mode) -> (&'static str, Map<String, Value>) {
    let (kind, data) = match event {
        Event::Opened { fork_of, .. } => {
            let of = fork_of.as_ref().map(|it| it.session.to_string());
            ("progress", json!({ "method": "session/opened", "forkOf": of }))
        }
        Event::Attached { thread, facts } => (
            "progress",
            json!({ "method": "thread/started", "threadId": thread, "model": facts.model }),
        ),
        Event::TurnRequested { turn, .. } => {
            ("progress", json!({ "method": "turn/requested", "turn": turn.0 }))
        }
        Event::PromptQueued { .. } => ("progress", json!({ "method": "turn/queued" })),
        Event::Steered { turn, .. } => {
            ("progress", json!({ "method": "turn/steered", "turn": turn.0 }))
        }
        Event::TurnStarted { turn: _, name } => {
            ("progress", json!({ "method": "turn/started", "turnId": name }))
        }
        Event::InterruptRequested { turn: _, by } => {
            ("progress", json!({ "method": "turn/interruptRequested", "by": who(by) }))
        }
        Event::ItemStarted { item, kind, body, agent, .. } => {
            let data = about_item("item/started", item, kind, body, agent.as_ref(), mode);
            (item_type(kind), data)
        }
        Event::ItemCompleted { item, kind, body, agent, .. } => {
            let data = about_item("item/completed", item, kind, body, agent.as_ref(), mode);
            (item_type(kind), data)
        }
        Event::ItemAbandoned { item } => {
            ("progress", json!({ "method": "item/abandoned", "itemId": item }))
        }
        Event::AskRaised { ask } => (
            "approval_request",
            json!({
                "requestId": AskRef { session, ask: ask.id }.to_string(),
                "kind": ask.subject.kind(),
                "itemId": ask.item,
                "reason": ask.reason,
                "agent": ask.agent,
            }),
        ),
        Event::AskSettled { ask, how } => {
            let id = AskRef { session, ask: *ask }.to_string();
            ("approval_result", settled(&id, how))
        }
        Event::AskNotShown { ask, via, why } => {
            let id = AskRef { session, ask: *ask }.to_string();
            let about = json!({ "requestId": id, "via": via, "message": why });
            ("progress", with_method("request/notShown", about))
        }
        Event::AskEchoed { key: _, ask } => (
            "progress",
            json!({ "method": "request/askedElsewhere", "requestId": ask.to_string() }),
        ),
        Event::CommandStarted { ask, by } => {
            let id = AskRef { session, ask: *ask }.to_string();
            ("progress", json!({ "method": "command/started", "requestId": id, "by": who(by) }))
        }
        Event::CommandEnded { ask, result } => {
            let id = AskRef { session, ask: *ask }.to_string();
            let limit = mode.text_limit();
            let told = |text: &str| bounds::cut(text, limit).unwrap_or_else(|| text.to_owned());
            let about = json!({
                "requestId": id, "end": result.end, "stdout": told(&result.stdout),
                "stderr": told(&result.stderr), "truncated": result.truncated.then_some(true),
            });
            ("progress", with_method("command/ended", about))
        }
        Event::TurnEnded { turn, outcome, report: _ } => (
            "result",
            json!({ "turn": turn.0, "status": TurnStatus::from(outcome), "error": reason(outcome) }),
        ),
        Event::Noted { method, body } => note(method, body),
        Event::RequestRefused { method, body: _, answer } => (
            "progress",
            json!({ "method": "serverRequest/refused", "sourceMethod": method, "message": answer }),
        ),
        Event::Managed { what, by } => {
            let what = match what {
                Management::CleanTerminals => "clean_background_terminals",
                Management::Compact => "compact",
                Management::Review { .. } => "review",
                Management::Archive => "archive",
            };
            ("progress", json!({ "method": "session/managed", "what": what, "by": who(by) }))
        }
        Event::AttachFailed { error: AgentError { message, .. } } => {
            ("error", json!({ "method": "thread/failed", "message": message }))
        }
        Event::Detached { cause } => {
            ("progress", json!({ "method": "thread/closed", "message": cause }))
        }
        Event::Renamed { title, by: _ } => {
            ("progress", json!({ "method": "session/renamed", "title": title }))
        }
        Event::Adopted { caller, by } => {
            ("progress", json!({ "method": "session/adopted", "caller": caller, "by": who(by) }))
        }
        Event::Closed { reason, by } => (
            "progress",
            json!({ "method": "session/cancelled", "cancelledReason": reason, "by": who(by) }),
        ),
    };
    (kind, fields(data))
}

fn with_method(method: &str, mut about: Value) -> Value {
    about["method"] = method.into();
    about
}

fn fields(value: Value) -> Map<String, Value> {
    let Value::Object(fields) = value else { return Map::new() };
    fields.into_iter().filter(|(_, value)| !value.is_null()).collect()
}

fn item_type(kind: &str) -> &'static str {
    if matches!(kind, "agentMessage" | "userMessage") { "output" } else { "progress" }
}

fn reason(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Failed { error } => Some(&error.message),
        Outcome::Lost { cause, .. } => Some(cause),
        Outcome::Completed | Outcome::Interrupted => None,
    }
}

fn note(method: &str, body: &Value) -> (&'static str, Value) {
    let message = body.pointer("/error/message").or_else(|| body.get("message"));
    match (method, body.get("willRetry").and_then(Value::as_bool)) {
        ("error", Some(true)) => (
            "progress",
            json!({ "method": "codex-mcp/reconnect", "willRetry": true, "message": message }),
        ),
        ("error", _) => ("error", json!({ "method": method, "message": message })),
        _ => ("progress", json!({ "method": method, "message": message })),
    }
}

fn settled(id: &str, how: &Settled) -> Value {
    let mut data = json!({ "requestId": id });
    match how {
        Settled::Answered { answer, by, reason, note, .. } => {
            data["status"] = "answered".into();
            data["by"] = who(by).into();
            // Clients of old look whether the decision was theirs.
            if matches!(by, Actor::Policy { .. }) {
                data["auto"] = true.into();
            }
            if let Answer::Decided { decision, .. } = answer {
                data["decision"] = decision_name(*decision).into();
            }
            for (name, text) in [("reason", reason), ("denyMessage", note)] {
                if let Some(text) = text {
                    data[name] = text.as_str().into();
                }
            }
        }
        Settled::Expired { waited_s, answer } => {
            data["status"] = "expired".into();
            // What a rule says for that case.
            if let Some(Answer::Decided { decision, .. }) = answer {
                data["decision"] = decision_name(*decision).into();
            }
            data["timeout"] = true.into();
            data["message"] = format!("nobody answered within {waited_s} s").into();
        }
        Settled::Withdrawn => data["status"] = "cancelled".into(),
        Settled::Lost => data["status"] = "lost".into(),
    }
    data
}

fn about_item(
    method: &str,
    item: &str,
    kind: &str,
    body: &Value,
    agent: Option<&pilothouse_core::SubAgent>,
    mode: Mode,
) -> Value {
    let mut data = json!({ "method": method, "itemId": item, "kind": kind });
    if let Some(agent) = agent {
        data["agent"] = json!(agent);
    }
    if mode == Mode::Full {
        return data;
    }
    // Who reads this has written it.
    let own = kind == "userMessage" && mode == Mode::Minimal;
    let limit = if own { MAX_OWN_WORDS } else { mode.text_limit() };
    let mut say = |name: &str, text: &str| {
        if !text.is_empty() {
            data[name] = bounds::cut(text, limit).unwrap_or_else(|| text.to_owned()).into();
        }
    };
    for name in ["status", "command", "server", "tool", "query", "phase"] {
        if let Some(text) = body.get(name).and_then(Value::as_str) {
            say(name, text);
        }
    }
    // What began is shown by the tails of open items.
    if method == "item/completed" {
        say("text", &words(body));
        if let Some(output) = body.get("aggregatedOutput") {
            say("output", &text(output));
        }
        for name in ["result", "error"] {
            match body.get(name) {
                None | Some(Value::Null) => {}
                Some(value) => say(name, &text(value)),
            }
        }
    }
    for name in ["exitCode", "durationMs"] {
        if let Some(number) = body.get(name).filter(|it| it.is_number()) {
            data[name] = number.clone();
        }
    }
    if let Some(changes) = body.get("changes").and_then(Value::as_array) {
        data["paths"] = changes.iter().map(change).collect();
    }
    data
}

/// What an item says, whatever its kind calls it.
pub(crate) fn words(body: &Value) -> String {
    match body.get("text") {
        Some(it) if !it.is_null() => return text(it),
        Some(_) | None => {}
    }
    let parts = ["summary", "content"].into_iter().filter_map(|it| body.get(it)?.as_array());
    let lines = parts.flatten().filter_map(|part| match part {
        Value::String(it) => Some(it.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            part.get("text").map(text)
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A text, or what stands for one that was too long for the log, or any other value as JSON.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::String(it) => it.clone(),
        Value::Object(it) if it.contains_key("$blob") => {
            let part = |name: &str| it.get(name).and_then(Value::as_str).unwrap_or_default();
            let n_bytes = it.get("bytes").and_then(Value::as_u64).unwrap_or_default();
            format!("{}…[{n_bytes} bytes in all]…{}", part("head"), part("tail"))
        }
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// A changed path, with how many lines came and went.
fn change(change: &Value) -> Value {
    let path = change.get("path").and_then(Value::as_str).unwrap_or_default();
    let kind = change.get("kind");
    let kind = kind.and_then(|it| it.get("type").unwrap_or(it).as_str()).unwrap_or("update");
    let diff = change.get("diff").map(text).unwrap_or_default();
    summary_of_change(path, kind, &diff).into()
}

/// A changed path in a line: `src/a.rs (update, +3 -1)`.
pub(crate) fn summary_of_change(path: &str, kind: &str, diff: &str) -> String {
    let count = |sign: char, header: &str| {
        diff.lines().filter(|it| it.starts_with(sign) && !it.starts_with(header)).count()
    };
    // The diff of a new or a deleted file is its content.
    let (more, less) = match kind {
        "add" => (diff.lines().count(), 0),
        "delete" => (0, diff.lines().count()),
        _ => (count('+', "+++"), count('-', "---")),
    };
    format!("{path} ({kind}, +{more} -{less})")
}
