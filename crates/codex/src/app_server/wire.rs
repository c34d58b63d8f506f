//! JSON-RPC as Codex speaks it: no `jsonrpc` member, one object a line, an id space for each side.

use pilothouse_core::AgentError;
use serde_json::{Map, Value, json};

/// A message from Codex.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Incoming {
    /// It wants an answer, under an id of its own.
    Request { id: Value, method: String, params: Value },
    /// It wants nothing.
    Notification { method: String, params: Value },
    /// It answers a request of ours.
    Response { id: i64, result: Result<Value, RpcError> },
}

/// Why Codex would not do something.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Value,
}

/// More requests are waiting than Codex takes; the same request may succeed later.
pub(crate) const OVERLOADED: i64 = -32_001;
/// There is no such method.
pub(crate) const METHOD_NOT_FOUND: i64 = -32_601;
/// The parameters make no sense.
pub(crate) const INVALID_PARAMS: i64 = -32_602;
/// We will not.
pub(crate) const REFUSED: i64 = -32_000;

/// Reads a line; nothing if it is no message.
pub(crate) fn parse(line: &str) -> Option<Incoming> {
    let mut message: Map<String, Value> = serde_json::from_str(line).ok()?;
    let id = message.remove("id").filter(|it| !it.is_null());
    let params = message.remove("params").unwrap_or_default();
    match (message.remove("method"), id) {
        (Some(Value::String(method)), Some(id)) => Some(Incoming::Request { id, method, params }),
        (Some(Value::String(method)), None) => Some(Incoming::Notification { method, params }),
        (None, Some(id)) => {
            let id = id.as_i64()?;
            let result = match message.remove("error").filter(|it| !it.is_null()) {
                Some(error) => Err(RpcError::from(&error)),
                None => Ok(message.remove("result").unwrap_or_default()),
            };
            Some(Incoming::Response { id, result })
        }
        (Some(_) | None, _) => None,
    }
}

/// A request of ours. Several methods reject missing params, so there are always some.
pub(crate) fn request(id: i64, method: &str, params: &Value) -> String {
    json!({"id": id, "method": method, "params": params}).to_string()
}

/// A notification of ours.
pub(crate) fn notification(method: &str) -> String {
    json!({"method": method}).to_string()
}

/// Our answer to a request. The id goes back as it came: an answer to `"0"` is none to `0`.
pub(crate) fn reply(id: &Value, result: &Value) -> String {
    json!({"id": id, "result": result}).to_string()
}

/// Our refusal of a request.
pub(crate) fn refusal(id: &Value, code: i64, message: &str) -> String {
    json!({"id": id, "error": {"code": code, "message": message}}).to_string()
}

/// Text at a path of members.
pub(crate) fn text<'a>(value: &'a Value, path: &[&str]) -> Option<&'a str> {
    path.iter().try_fold(value, |it, name| it.get(name)).and_then(Value::as_str)
}

impl From<&Value> for RpcError {
    fn from(error: &Value) -> Self {
        let message = text(error, &["message"]).unwrap_or("no reason given").to_owned();
        Self {
            code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
            message,
            data: error.get("data").cloned().unwrap_or_default(),
        }
    }
}

impl From<RpcError> for AgentError {
    fn from(error: RpcError) -> Self {
        let RpcError { code, message, data } = error;
        let mut detail = json!({"code": code});
        if !data.is_null() {
            detail["data"] = data;
        }
        Self { message: explained(&message), detail }
    }
}

/// Longest message of Codex's that is passed on: it lists all its methods when one is unknown.
const MAX_MESSAGE: usize = 400;

/// What a person can do about it, after Codex's own words.
pub(crate) fn explained(message: &str) -> String {
    let cut: String = message.chars().take(MAX_MESSAGE).collect();
    let dots = if cut.len() < message.len() { "…" } else { "" };
    let hint = [
        ("no rollout found", "Codex has no record of this thread here, so it cannot be continued; start a new session"),
        ("already has an active writer", "another Codex process has this thread open; close it there first"),
        ("is closing; retry", "Codex is still putting the thread away; try again in a moment"),
        ("thread not found", "Codex does not have the thread loaded; resume the session"),
        ("thread not loaded", "Codex does not have the thread loaded; resume the session"),
        ("failed to load configuration", "check Codex's config.toml and the session's configuration"),
        ("unknown variant", "this version of Codex does not know it"),
    ]
    .into_iter()
    .find(|(words, _)| message.contains(words));
    match hint {
        Some((_, hint)) => format!("{cut}{dots} ({hint})"),
        None => format!("{cut}{dots}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart_by_their_members() {
        let check = |line: &str, expected: Option<Incoming>| assert_eq!(parse(line), expected);
        let method = || "m".to_owned();
        check(
            r#"{"id":0,"method":"m","params":{}}"#,
            Some(Incoming::Request { id: json!(0), method: method(), params: json!({}) }),
        );
        check(
            r#"{"id":"0","method":"m"}"#,
            Some(Incoming::Request { id: json!("0"), method: method(), params: Value::Null }),
        );
        check(
            r#"{"method":"m","params":null,"emittedAtMs":1}"#,
            Some(Incoming::Notification { method: method(), params: Value::Null }),
        );
        check(
            r#"{"id":7,"result":null}"#,
            Some(Incoming::Response { id: 7, result: Ok(Value::Null) }),
        );
        check(r#"{"id":"7","result":{}}"#, None);
        check("[]", None);
        check("{}", None);
        check(r#"{"id":null,"result":1}"#, None);
        check(r#"{"method":1}"#, None);
        check("not json", None);
    }

    #[test]
    fn a_person_reads_why_and_what_to_do() {
        let error =
            RpcError { message: "no rollout found for thread id x".into(), ..RpcError::default() };
        assert_eq!(
            AgentError::from(error).message,
            "no rollout found for thread id x (Codex has no record of this thread here, so it \
             cannot be continued; start a new session)"
        );
    }
}
