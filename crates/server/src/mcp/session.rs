//! `codex_session`: finding sessions, and what is done to one as a whole.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use pilothouse::Error;
use pilothouse_core::{
    Actor, AskView, Intent, Management, SessionId, SessionView, Status, Subject,
};
use pilothouse_store::{AskFilter, SessionFilter, StoreError};
use serde_json::{Map, Value, json};

use super::{
    Call, Reply,
    arguments::Arguments,
    events::time,
    problem::{Code, Problem},
    word,
};

/// What can be done.
pub(crate) const ACTIONS: &[&str] = &[
    "list",
    "get",
    "cancel",
    "interrupt",
    "fork",
    "clean_background_terminals",
    "archive",
    "rename",
    "compact",
    "review",
    "models",
    "adopt",
];

/// Asking for a session that another caller has.
const ADOPT: &str = "adopt";
/// Longest name of a client that is shown to who is asked, in letters.
const MAX_CLIENT: usize = 80;
/// Asks of a session that are looked through.
const MAX_ASKS: usize = 512;
/// Sessions in a page, and at most.
const PAGE: u64 = 50;
const MAX_PAGE: u64 = 100;
/// Longest name of a session, in letters.
pub(crate) const MAX_TITLE: usize = 200;
/// How long a session that ended stays in the list, in minutes.
const SHOWN_FOR: i64 = 5;
/// How long an interrupted turn may take to end before the caller is told that it was asked to.
const INTERRUPT_PATIENCE: Duration = Duration::from_secs(3);
/// How long a copy may take to come.
const FORK_PATIENCE: Duration = Duration::from_secs(15);
/// How long to wait before looking at a session that rests, in milliseconds.
const IDLE_INTERVAL: u64 = 30_000;
/// How long the list of models may take to come.
const MODELS_PATIENCE: Duration = Duration::from_secs(10);
/// What stands for a secret.
const MASK: &str = "[masked]";

impl Call<'_> {
    pub(crate) async fn manage(&self, mut arguments: Arguments) -> Result<Reply, Problem> {
        let words: Vec<_> = ACTIONS.iter().map(|it| (*it, *it)).collect();
        let adopted = arguments.text("adopt")?;
        let action = match &adopted {
            // Naming the session says what is wanted.
            Some(_) => arguments.choice("action", &words)?.unwrap_or(ADOPT),
            None => arguments.required_choice("action", &words)?,
        };
        let session = match (action, adopted) {
            (ADOPT, Some(adopted)) => {
                arguments.any("sessionId");
                Some(named(&adopted)?)
            }
            (_, Some(_)) => return arguments.missing("adopt", "goes with action adopt only"),
            ("list" | "models", None) => {
                arguments.any("sessionId");
                None
            }
            _ => Some(Self::session_id(&mut arguments)?),
        };
        let sensitive = arguments.flag("includeSensitive")?.unwrap_or_default();
        let all = arguments.choice("scope", &[("own", false), ("all", true)])?.unwrap_or_default();
        let limit = arguments.count("limit")?.unwrap_or(PAGE).clamp(1, MAX_PAGE);
        let cursor = arguments.text("cursor")?;
        let title = titled(&mut arguments)?;
        let target = arguments.object("target")?;
        let warnings = arguments.warnings();
        let reply = match (action, session) {
            ("list", _) => self.list(all, limit, cursor).await?,
            ("models", _) => self.models().await?,
            (_, None) => return arguments.missing("sessionId", "is required"),
            ("get", Some(id)) => self.get(id, sensitive).await?,
            ("cancel", Some(id)) => self.cancel(id).await?,
            (ADOPT, Some(id)) => self.adopt(id).await?,
            ("interrupt", Some(id)) => self.interrupt(id).await?,
            ("fork", Some(id)) => self.fork(id).await?,
            ("rename", Some(id)) => {
                let Some(title) = title else {
                    return arguments.missing("title", "is required");
                };
                let message = format!("Session {id} is called {title:?} now.");
                self.act(id, Intent::Rename { title }, message).await?
            }
            ("clean_background_terminals", Some(id)) => {
                let message = format!("Background terminals of session {id} are ended.");
                self.act(id, Intent::Manage { what: Management::CleanTerminals }, message).await?
            }
            ("archive", Some(id)) => {
                let message = format!("The thread of session {id} is archived.");
                self.act(id, Intent::Manage { what: Management::Archive }, message).await?
            }
            ("compact", Some(id)) => {
                let message = format!("Session {id} is compacting; follow it with codex_check.");
                self.act(id, Intent::Manage { what: Management::Compact }, message).await?
            }
            (_, Some(id)) => {
                let target =
                    target.map_or_else(|| json!({ "type": "uncommittedChanges" }), Value::from);
                let message = format!("Session {id} is reviewing; follow it with codex_check.");
                self.act(id, Intent::Manage { what: Management::Review { target } }, message)
                    .await?
            }
        };
        Ok(reply.warn(warnings))
    }

    async fn list(&self, all: bool, limit: u64, cursor: Option<String>) -> Result<Reply, Problem> {
        let broker = self.broker().await?;
        let opened_by = (!all).then(|| self.server.caller.clone());
        let filter = SessionFilter { opened_by, ..SessionFilter::default() };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let listing = match broker.sessions(filter, limit, cursor).await {
            Err(Error::Store(StoreError::BadCursor(_))) => {
                return Err(Problem::argument("cursor", "must be the nextCursor of a list"));
            }
            listing => listing?,
        };
        let oldest = Timestamp::now() - SignedDuration::from_mins(SHOWN_FOR);
        let shown = listing.rows.iter().filter(|it| match it.status {
            Status::Cancelled | Status::Error => it.last_active_at > oldest,
            Status::Running | Status::WaitingApproval | Status::Idle => true,
        });
        let mut lines = vec![];
        let mut sessions = vec![];
        for view in shown {
            let status = word(&view.status);
            let title = view.title.as_ref().map(|it| format!(" {it:?}")).unwrap_or_default();
            lines.push(format!(
                "{} {}{title}",
                view.session_id,
                status.as_str().unwrap_or_default()
            ));
            sessions.push(Value::Object(public(view)));
        }
        let mut fields = Map::new();
        if sessions.is_empty() {
            lines.push("no sessions".to_owned());
        }
        fields.insert("sessions".to_owned(), sessions.into());
        if let Some(next) = listing.next {
            lines.push(format!("more: cursor {next:?}"));
            fields.insert("nextCursor".to_owned(), next.into());
        }
        Ok(Reply { fields, text: lines.join("\n") })
    }

    async fn get(&self, id: SessionId, sensitive: bool) -> Result<Reply, Problem> {
        let broker = self.broker().await?;
        let view = broker.session(id).await?;
        let mut fields = public(&view);
        if sensitive {
            let session = broker.fold(id).await?;
            let spec = session.spec();
            let mut config = Value::Object(spec.config.clone());
            mask(&mut config);
            fields.insert("cwd".to_owned(), view.cwd.clone().into());
            fields.insert("config".to_owned(), config);
            for (name, value) in [("threadId", &view.thread_id), ("profile", &spec.profile)] {
                if let Some(value) = value {
                    fields.insert(name.to_owned(), value.as_str().into());
                }
            }
        }
        let text = format!(
            "{id} {}, turns: {}, requests pending: {}",
            word(&view.status).as_str().unwrap_or_default(),
            view.turns,
            view.pending_request_count
        );
        Ok(Reply { fields, text })
    }

    async fn act(&self, id: SessionId, intent: Intent, message: String) -> Result<Reply, Problem> {
        self.broker().await?.act(id, intent, &self.server.caller).await?;
        Ok(done(message))
    }

    async fn cancel(&self, id: SessionId) -> Result<Reply, Problem> {
        let reason = "Cancelled by user".to_owned();
        self.act(id, Intent::Close { reason }, format!("Session {id} is cancelled.")).await
    }

    async fn interrupt(&self, id: SessionId) -> Result<Reply, Problem> {
        let broker = self.broker().await?;
        let turn = broker.session(id).await?.last_turn.map(|it| it.turn);
        broker.act(id, Intent::Interrupt, &self.server.caller).await?;
        let ended = |view: &SessionView| {
            let over = view.last_turn.as_ref().is_none_or(|it| it.ended_at.is_some());
            over || view.last_turn.as_ref().map(|it| it.turn) != turn
        };
        let waited = self.patiently(broker.wait_until(id, INTERRUPT_PATIENCE, ended)).await;
        let over = matches!(waited, Some(Ok(view)) if ended(&view));
        let message = if over {
            format!("The turn of session {id} is interrupted.")
        } else {
            format!("Session {id} was asked to stop its turn; codex_check tells when it has.")
        };
        Ok(done(message))
    }

    /// Asks a person for a session, and again what they said.
    async fn adopt(&self, id: SessionId) -> Result<Reply, Problem> {
        let broker = self.broker().await?;
        let caller = &self.server.caller;
        if broker.session(id).await?.opened_by != *caller {
            let client = self.client().map(|it| it.chars().take(MAX_CLIENT).collect());
            broker.act(id, Intent::Adopt { client }, caller).await?;
        }
        if broker.session(id).await?.opened_by == *caller {
            let mut reply = done(format!("Session {id} is yours; go on with codex_reply."));
            reply.fields.insert("status".to_owned(), "adopted".into());
            return Ok(reply);
        }
        let filter = AskFilter { session: Some(id), opened_by: None, pending: true };
        let asks = broker.asks(filter, MAX_ASKS, None).await?.rows;
        let is_ours = |it: &&AskView| match (&it.subject, caller) {
            (Subject::Adoption { caller, client: _ }, Actor::Caller { id }) => caller == id,
            _ => false,
        };
        let Some(ask) = asks.iter().find(is_ours) else {
            let message = format!("nobody gave session {id} away; ask again if it is still wanted");
            return Err(Problem::new(Code::HumanOnly, message));
        };
        let console = self.console(broker).await;
        let place = console.as_deref().unwrap_or("a terminal with `pilothouse inbox`");
        let message = format!(
            "{}: a person must give session {id} to you, at {place}. Call this again to see what \
             they said.",
            ask.request_id
        );
        let mut fields = Map::new();
        fields.insert("success".to_owned(), false.into());
        fields.insert("status".to_owned(), "pending".into());
        fields.insert("requestId".to_owned(), ask.request_id.to_string().into());
        fields.insert("message".to_owned(), message.as_str().into());
        for (name, value) in [("expiresAt", ask.expires_at.map(time)), ("console", console)] {
            if let Some(value) = value {
                fields.insert(name.to_owned(), value.into());
            }
        }
        Ok(Reply { fields, text: message })
    }

    /// What the client's program calls itself.
    fn client(&self) -> Option<String> {
        let client = self.context.client_info()?;
        Some(format!("{} {}", client.name, client.version))
    }

    async fn fork(&self, id: SessionId) -> Result<Reply, Problem> {
        let failed = |error: Error| Problem::from(error).or_code(Code::ThreadForkResumeFailed);
        let broker = self.broker().await?;
        let fork = broker.fork(id, &self.server.caller).await.map_err(failed)?;
        self.server.readers().started(fork, pilothouse_core::Patience::default(), false);
        let ready = self.patiently(broker.wait_ready(fork, FORK_PATIENCE)).await;
        let view = match ready {
            Some(view) => view.map_err(failed)?,
            None => broker.session(fork).await?,
        };
        let mut fields = Map::new();
        fields.insert("sessionId".to_owned(), fork.to_string().into());
        if let Some(thread) = &view.thread_id {
            fields.insert("threadId".to_owned(), thread.as_str().into());
        }
        fields.insert("status".to_owned(), word(&view.status));
        fields.insert("pollInterval".to_owned(), IDLE_INTERVAL.into());
        Ok(Reply { fields, text: format!("{fork} is a copy of {id}; go on with codex_reply.") })
    }

    async fn models(&self) -> Result<Reply, Problem> {
        let broker = self.broker().await?;
        let asked =
            tokio::time::timeout(MODELS_PATIENCE, broker.request_any("model/list", json!({})));
        let answer = match self.patiently(asked).await {
            Some(Ok(answer)) => answer,
            Some(Err(_)) => {
                let waited = MODELS_PATIENCE.as_secs();
                let message = format!("Codex did not tell its models within {waited} s; try again");
                return Err(Problem::new(Code::Timeout, message));
            }
            None => return Err(Problem::new(Code::Cancelled, "nobody waits for the models")),
        };
        let answer = answer.map_err(|it| Problem::from(it).or_code(Code::AppServerStartFailed))?;
        let listed = answer.get("data").or_else(|| answer.get("models")).and_then(Value::as_array);
        let models: Vec<_> = listed.into_iter().flatten().map(model).collect();
        let names: Vec<_> =
            models.iter().filter_map(|it| it.get("id").and_then(Value::as_str)).collect();
        let text = format!("models: {}", names.join(", "));
        let mut fields = Map::new();
        fields.insert("models".to_owned(), models.into());
        Ok(Reply { fields, text })
    }
}

/// A session's name, as it is given: nothing where it says nothing.
pub(crate) fn titled(arguments: &mut Arguments) -> Result<Option<String>, Problem> {
    let title = arguments.text("title")?.map(|it| it.trim().to_owned());
    match title.as_ref().map_or(0, |it| it.chars().count()) {
        n if n > MAX_TITLE => {
            arguments.missing("title", &format!("has {n} characters; the limit is {MAX_TITLE}"))
        }
        _ => Ok(title.filter(|it| !it.is_empty())),
    }
}

fn named(text: &str) -> Result<SessionId, Problem> {
    text.parse().map_err(|_| {
        let text: String = text.chars().take(80).collect();
        Problem::new(Code::SessionNotFound, format!("there is no session {text:?}"))
            .hint("List the sessions with codex_session and scope all.")
    })
}

fn done(message: String) -> Reply {
    let mut fields = Map::new();
    fields.insert("success".to_owned(), true.into());
    fields.insert("message".to_owned(), message.as_str().into());
    Reply { fields, text: message }
}

/// What everyone may know of a session.
pub(crate) fn public(view: &SessionView) -> Map<String, Value> {
    let mut res = Map::new();
    let mut say = |name: &str, value: Value| {
        if !value.is_null() {
            res.insert(name.to_owned(), value);
        }
    };
    say("sessionId", view.session_id.to_string().into());
    say("status", word(&view.status));
    say("createdAt", time(view.created_at).into());
    say("lastActiveAt", time(view.last_active_at).into());
    say("cancelledAt", json!(view.cancelled_at.map(time)));
    say("cancelledReason", json!(view.cancelled_reason));
    say("model", json!(view.model));
    say("approvalPolicy", json!(view.approval_policy));
    say("sandbox", json!(view.sandbox));
    say("pendingRequestCount", view.pending_request_count.into());
    say("title", json!(view.title));
    say("node", json!(view.node));
    say("turns", view.turns.into());
    res
}

fn model(listed: &Value) -> Value {
    let mut res = Map::new();
    for name in ["id", "model", "displayName", "description", "defaultReasoningEffort"] {
        if let Some(value) = listed.get(name).filter(|it| it.is_string()) {
            res.insert(name.to_owned(), value.clone());
        }
    }
    let efforts = listed.get("supportedReasoningEfforts").and_then(Value::as_array);
    let efforts: Vec<_> = efforts
        .into_iter()
        .flatten()
        .filter_map(|it| it.get("reasoningEffort").unwrap_or(it).as_str())
        .collect();
    res.insert("efforts".to_owned(), json!(efforts));
    if let Some(value) = listed.get("isDefault").filter(|it| it.is_boolean()) {
        res.insert("isDefault".to_owned(), value.clone());
    }
    Value::Object(res)
}

/// Hides the values of names that are given to secrets.
fn mask(config: &mut Value) {
    let secret = |name: &str| {
        let name = name.to_lowercase();
        ["key", "token", "secret", "password", "auth", "header", "credential"]
            .iter()
            .any(|it| name.contains(it))
    };
    match config {
        Value::Object(fields) => {
            for (name, value) in fields {
                // The names of environment variables that hold secrets are none themselves.
                if secret(name) && !name.ends_with("_env_var") && !name.ends_with("env_key") {
                    *value = MASK.into();
                } else if name == "env" || name == "set" {
                    value
                        .as_object_mut()
                        .into_iter()
                        .flatten()
                        .for_each(|(_, it)| *it = MASK.into());
                } else {
                    mask(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_configuration_are_masked_wherever_they_are() {
        let mut config = json!({
            "model_providers": {"p": {"base_url": "u", "env_key": "P_KEY", "http_headers": {"a": "b"}}},
            "mcp_servers": {"m": {"command": "c", "env": {"X": "1"}, "bearer_token": "t"}},
            "list": [{"api_key": "k"}],
        });
        mask(&mut config);
        let expected = json!({
            "model_providers": {"p": {"base_url": "u", "env_key": "P_KEY", "http_headers": MASK}},
            "mcp_servers": {"m": {"command": "c", "env": {"X": MASK}, "bearer_token": MASK}},
            "list": [{"api_key": MASK}],
        });
        assert_eq!(config, expected);
    }
}
