//! The description of the REST interface, as `OpenAPI` has it.

use std::sync::Arc;

use axum::{Json, extract::State};
use serde_json::{Map, Value, json};

use super::Front;

/// One operation: method, address, what it does, what it takes, what it gives.
struct Operation {
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    query: &'static [&'static str],
    body: Option<&'static str>,
    gives: (&'static str, &'static str),
    refuses: &'static [&'static str],
}

const fn get(
    path: &'static str,
    summary: &'static str,
    query: &'static [&'static str],
    gives: &'static str,
    refuses: &'static [&'static str],
) -> Operation {
    Operation { method: "get", path, summary, query, body: None, gives: ("200", gives), refuses }
}

const fn post(
    path: &'static str,
    summary: &'static str,
    body: Option<&'static str>,
    gives: (&'static str, &'static str),
    refuses: &'static [&'static str],
) -> Operation {
    Operation { method: "post", path, summary, query: &[], body, gives, refuses }
}

const OF_ONE: &[&str] = &["401", "403", "404"];
const OF_ACTION: &[&str] = &["401", "403", "404", "409", "415", "422"];

const OPERATIONS: &[Operation] = &[
    get("/healthz", "Whether it runs", &[], "Health", &[]),
    get("/metrics", "Numbers for Prometheus", &[], "Text", &["401"]),
    post(
        "/api/v1/login",
        "Log a browser in with a code, which works once",
        Some("Login"),
        ("204", ""),
        &["401", "415", "422", "429"],
    ),
    get("/api/v1/me", "Who is asking", &[], "Me", &["401"]),
    get(
        "/api/v1/sessions",
        "List sessions, the one that was active last first",
        &["limit", "cursor", "search", "scope"],
        "Sessions",
        &["401", "422"],
    ),
    post(
        "/api/v1/sessions",
        "Start a session",
        Some("NewSession"),
        ("201", "SessionView"),
        &["401", "415", "422", "502"],
    ),
    get("/api/v1/sessions/{sessionId}", "Show a session", &[], "SessionView", OF_ONE),
    get(
        "/api/v1/sessions/{sessionId}/events",
        "Read a session's log from a place on",
        &["after", "limit"],
        "Events",
        OF_ONE,
    ),
    post(
        "/api/v1/sessions/{sessionId}/prompt",
        "Say what the agent should do next",
        Some("Prompt"),
        ("202", "Nothing"),
        OF_ACTION,
    ),
    post(
        "/api/v1/sessions/{sessionId}/interrupt",
        "Stop the turn; the session stays",
        None,
        ("200", "Nothing"),
        OF_ACTION,
    ),
    post(
        "/api/v1/sessions/{sessionId}/fork",
        "Go on from here in a copy",
        None,
        ("201", "SessionView"),
        OF_ACTION,
    ),
    post(
        "/api/v1/sessions/{sessionId}/cancel",
        "End the session for good",
        None,
        ("200", "Nothing"),
        OF_ACTION,
    ),
    get(
        "/api/v1/asks",
        "List requests, the newest first",
        &["state", "scope", "sessionId", "limit", "cursor"],
        "Asks",
        &["401", "422"],
    ),
    get("/api/v1/asks/{requestId}", "Show a request", &[], "AskView", OF_ONE),
    post(
        "/api/v1/asks/{requestId}/answer",
        "Answer a request; 409 says who was first, and when",
        Some("Answer"),
        ("200", "AskView"),
        OF_ACTION,
    ),
    get(
        "/api/v1/feed",
        "Follow all sessions: server-sent events named event, delta, live and reset",
        &["after"],
        "Stream",
        &["401", "422", "503"],
    ),
    get("/api/v1/blobs/{digest}", "Read a long text that the log names", &[], "Text", OF_ONE),
    get("/api/v1/openapi.json", "This description", &[], "Nothing", &["401"]),
];

pub(super) async fn describe(State(front): State<Arc<Front>>) -> Json<Value> {
    Json(document(&front.cookie))
}

/// The whole description.
fn document(cookie: &str) -> Value {
    let mut paths = Map::new();
    for operation in OPERATIONS {
        let item = paths.entry(operation.path).or_insert_with(|| json!({}));
        item[operation.method] = describe_one(operation);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Pilothouse",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Start coding agents, watch them, and answer what they ask. A bearer \
                token is a program's; a browser logs in with a code and speaks for a person.",
        },
        "security": [{ "bearer": [] }, { "login": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer" },
                "login": { "type": "apiKey", "in": "cookie", "name": cookie },
            },
            "schemas": schemas(),
        },
    })
}

fn describe_one(operation: &Operation) -> Value {
    let Operation { method: _, path, summary, query, body, gives: (status, name), refuses } =
        operation;
    let mut parameters: Vec<_> = path
        .split('/')
        .filter_map(|it| it.strip_prefix('{')?.strip_suffix('}'))
        .map(|it| json!({ "name": it, "in": "path", "required": true, "schema": text() }))
        .collect();
    parameters.extend(query.iter().map(|it| {
        let schema = match *it {
            "limit" => json!({ "type": "integer", "minimum": 1, "maximum": 1000 }),
            "state" => json!({ "enum": ["pending", "all"] }),
            "scope" => json!({ "enum": ["own", "all"] }),
            _ => text(),
        };
        json!({ "name": it, "in": "query", "schema": schema })
    }));
    if *path == super::door::FEED {
        parameters.push(json!({ "name": "Last-Event-ID", "in": "header", "schema": text() }));
    }
    let kind = match *name {
        "Text" => "text/plain",
        "Stream" => "text/event-stream",
        _ => "application/json",
    };
    let mut responses = Map::new();
    let mut success = json!({ "description": "Done" });
    if !name.is_empty() {
        success["content"] = json!({ kind: { "schema": reference(name) } });
    }
    responses.insert((*status).to_owned(), success);
    // A body may be too slow in coming.
    let slow = body.is_some().then_some("408");
    for status in refuses.iter().copied().chain(slow) {
        let content = json!({ "application/problem+json": { "schema": reference("Problem") } });
        let refusal = json!({ "description": "Not done, and why", "content": content });
        responses.insert(status.to_owned(), refusal);
    }
    let mut res = json!({ "summary": summary, "parameters": parameters, "responses": responses });
    if let Some(body) = body {
        let content = json!({ "application/json": { "schema": reference(body) } });
        res["requestBody"] = json!({ "required": true, "content": content });
    }
    if matches!(*path, "/healthz" | "/api/v1/login") {
        res["security"] = json!([]);
    }
    res
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn list_of(name: &str) -> Value {
    json!({ "type": "array", "items": reference(name) })
}

/// An object; the fields that are named first are always there.
#[expect(clippy::needless_pass_by_value, reason = "callers write the object in place")]
fn object(required: &[&str], fields: Value) -> Value {
    json!({ "type": "object", "required": required, "properties": fields })
}

fn schemas() -> Value {
    let count = json!({ "type": "integer", "minimum": 0 });
    let time = json!({ "type": "string", "format": "date-time" });
    let any = json!({});
    let decision = json!({ "enum": [
        "accept", "acceptForSession", "acceptAlways", "acceptWithExecpolicyAmendment",
        "applyNetworkPolicyAmendment", "decline", "cancel",
    ] });
    let policy = json!({ "enum": ["untrusted", "on-failure", "on-request", "never"] });
    let sandbox = json!({ "enum": ["read-only", "workspace-write", "danger-full-access"] });
    let texts = json!({ "type": "array", "items": text() });
    let network = object(&["action", "host"], json!({ "action": text(), "host": text() }));
    json!({
        "Nothing": { "type": "object" },
        "Text": text(),
        "Stream": text(),
        "Health": object(&["status"], json!({ "status": text() })),
        "Login": object(&["code"], json!({ "code": text() })),
        "Me": object(&["actor", "canAnswer", "node", "version"], json!({
            "actor": { "enum": ["human", "caller"] },
            "canAnswer": { "type": "boolean" },
            "node": text(),
            "version": text(),
        })),
        "Problem": object(&["type", "title", "status", "detail", "code"], json!({
            "type": text(), "title": text(), "status": count, "detail": text(), "code": text(),
            "hint": text(), "settlement": reference("Settlement"),
        })),
        "Sessions": object(&["sessions"], json!({
            "sessions": list_of("SessionView"), "nextCursor": text(),
        })),
        "NewSession": object(&["prompt", "approvalPolicy", "sandbox"], json!({
            "prompt": text(), "approvalPolicy": policy, "sandbox": sandbox, "cwd": text(),
            "model": text(), "effort": text(), "title": text(), "profile": text(),
            "images": texts, "approvalTimeoutMs": count,
        })),
        "Prompt": object(&["prompt"], json!({
            "prompt": text(), "images": texts, "whenBusy": { "enum": ["refuse", "steer", "queue"] },
        })),
        "SessionView": object(
            &[
                "sessionId", "status", "createdAt", "lastActiveAt", "cwd", "openedBy", "attached",
                "turns", "pendingRequestCount", "lastSeq",
            ],
            json!({
                "sessionId": text(), "title": text(),
                "status": { "enum": ["running", "waiting_approval", "idle", "error", "cancelled"] },
                "createdAt": time, "lastActiveAt": time, "cancelledAt": time,
                "cancelledReason": text(), "model": text(), "approvalPolicy": text(),
                "sandbox": text(), "effort": text(), "cwd": text(), "threadId": text(),
                "agentless": { "type": "boolean" },
                "openedBy": reference("Actor"), "node": text(), "dialect": text(),
                "agentVersion": text(), "attached": { "type": "boolean" }, "agentError": any,
                "turns": count, "pendingRequestCount": count, "nextDeadline": time,
                "lastSeq": count, "lastTurn": reference("TurnView"),
            }),
        ),
        "TurnView": object(&["turn", "status", "prompt", "requestedAt"], json!({
            "turn": count, "turnId": text(),
            "status": { "enum": [
                "requested", "started", "completed", "interrupted", "failed", "lost",
            ] },
            "prompt": text(), "output": text(), "error": any, "usage": any, "files": texts,
            "requestedAt": time, "endedAt": time,
        })),
        "Events": object(&["events", "nextAfter", "more", "live"], json!({
            "events": list_of("Envelope"), "nextAfter": count, "more": { "type": "boolean" },
            "live": { "type": "array", "items": object(&["itemId", "kind", "text"], json!({
                "itemId": text(), "kind": text(), "text": text(),
            })) },
        })),
        "Envelope": object(&["seq", "at", "event"], json!({
            "seq": count, "at": time, "event": object(&["type"], json!({ "type": text() })),
        })),
        "Asks": object(&["asks"], json!({ "asks": list_of("AskView"), "nextCursor": text() })),
        "AskView": object(
            &[
                "requestId", "sessionId", "kind", "state", "raisedAt", "digest", "subject",
                "offers", "params",
            ],
            json!({
                "requestId": text(), "sessionId": text(), "sessionTitle": text(),
                "kind": { "enum": [
                    "command", "fileChange", "permissions", "user_input", "elicitation",
                ] },
                "state": { "enum": ["pending", "settled"] },
                "raisedAt": time, "expiresAt": time, "turn": count, "itemId": text(),
                "reason": text(), "digest": text(),
                "subject": object(&["type"], json!({ "type": text() })),
                "offers": { "type": "array", "items": object(&["decision", "reach"], json!({
                    "decision": decision,
                    "reach": { "enum": ["once", "turn", "thread", "always"] },
                    "execpolicyAmendment": texts, "networkPolicyAmendment": network,
                })) },
                "params": any, "agent": any, "askedBy": reference("Actor"),
                "settlement": reference("Settlement"),
                "verdict": { "enum": ["safe", "ask"] }, "segments": list_of("Segment"),
            }),
        ),
        "Segment": object(&["argv", "text", "verdict", "class", "reason"], json!({
            "argv": texts, "text": text(), "verdict": { "enum": ["safe", "ask"] },
            "class": { "enum": [
                "reads only", "writes", "runs a program it names", "network", "not understood",
            ] },
            "reason": text(),
        })),
        "Answer": object(&["digest"], json!({
            "digest": text(), "decision": decision,
            "answers": { "type": "object", "additionalProperties":
                object(&["answers"], json!({ "answers": texts })) },
            "other": { "type": "object", "additionalProperties": text() },
            "content": { "type": "object" }, "execpolicy_amendment": texts,
            "network_policy_amendment": network, "reason": text(), "denyMessage": text(),
        })),
        "Settlement": object(&["at", "how"], json!({
            "at": time, "how": object(&["type"], json!({
                "type": { "enum": ["answered", "expired", "withdrawn", "lost"] },
                "by": reference("Actor"), "answer": any, "reason": text(), "note": text(),
                "bound": { "type": "boolean" }, "waitedS": count,
            })),
        })),
        "Actor": object(&["type"], json!({
            "type": { "enum": ["human", "caller", "policy", "clock", "agent", "node"] },
            "via": text(), "verified": { "type": "boolean" }, "id": text(), "rule": text(),
        })),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_referred_to_is_described() {
        let document = document("pilothouse");
        let text = document.to_string();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let referred: Vec<_> = text
            .split("#/components/schemas/")
            .skip(1)
            .filter_map(|it| it.split('"').next())
            .collect();
        assert!(referred.len() > 30);
        for name in &referred {
            assert!(schemas.contains_key(*name), "{name}");
        }
        for name in schemas.keys() {
            assert!(referred.contains(&name.as_str()), "{name} is described and never used");
        }
    }
}
