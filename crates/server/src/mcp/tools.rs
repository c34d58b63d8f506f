//! The tools as clients list them: names, arguments and results, in as few bytes as are honest.
//!
//! A model pays for every byte of this in each of its turns, so that what several objects share is
//! said once, and texts are the default type of a field.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

/// The four tools, always in this order.
pub(crate) fn all() -> Vec<Tool> {
    vec![
        tool(
            "codex",
            "Start a Codex session. Returns its sessionId; go on with codex_check.",
            &json!({
                "prompt": text(),
                "approvalPolicy": choice(&["untrusted", "on-failure", "on-request", "never"]),
                "sandbox": sandbox(),
                "effort": { "type": "string", "default": "low", "description": "or \"config\"" },
                "cwd": text(),
                "model": text(),
                "profile": text(),
                "wait": wait(),
                "advanced": { "type": "object", "properties": {
                    "baseInstructions": text(),
                    "developerInstructions": text(),
                    "personality": text(),
                    "summary": text(),
                    "config": object(),
                    "ephemeral": flag(),
                    "outputSchema": object(),
                    "images": texts(),
                    "approvalTimeoutMs": { "type": "integer", "description": "0: for ever" },
                    "collaborationMode": object(),
                    "isolation": choice(&["shared", "process"]),
                    "title": text(),
                }},
            }),
            &["prompt", "approvalPolicy", "sandbox"],
            started(),
        )
        .annotate(ToolAnnotations::new().destructive(true)),
        tool(
            "codex_reply",
            "Send a session its next prompt.",
            &json!({
                "sessionId": text(),
                "prompt": text(),
                "model": text(),
                "approvalPolicy": choice(&["untrusted", "on-failure", "on-request", "never"]),
                "effort": text(),
                "summary": text(),
                "personality": text(),
                "sandbox": sandbox(),
                "cwd": text(),
                "outputSchema": object(),
                "images": texts(),
                "wait": wait(),
                "whenBusy": choice(&["steer", "queue"]),
            }),
            &["sessionId", "prompt"],
            started(),
        )
        .annotate(ToolAnnotations::new().destructive(true)),
        tool(
            "codex_session",
            "List and manage sessions; list, get and models only read.",
            &json!({
                "action": choice(super::session::ACTIONS),
                "sessionId": text(),
                "includeSensitive": flag(),
                "scope": choice(&["own", "all"]),
                "limit": count(),
                "cursor": text(),
                "title": text(),
                "target": { "type": "object", "description": "for review" },
            }),
            &["action"],
            result(json!({
                "sessions": { "type": "array", "items": session() },
                "models": { "type": "array", "items": {
                    "type": "object",
                    "properties": { "efforts": texts(), "isDefault": flag() },
                    "additionalProperties": text(),
                }},
                "success": flag(),
                "pollInterval": count(),
                "pendingRequestCount": count(),
                "turns": count(),
                "config": object(),
            })),
        )
        .annotate(ToolAnnotations::new().destructive(true)),
        tool(
            "codex_check",
            "Poll a session (poll and output only read), answer its requests, page an item's text.",
            &json!({
                "action": choice(super::check::ACTIONS),
                "sessionId": text(),
                "cursor": count(),
                "reader": text(),
                "maxEvents": count(),
                "waitMs": { "type": "integer", "description": "long poll, at most 45000" },
                "responseMode": choice(&["minimal", "delta_compact", "full"]),
                "pollOptions": { "type": "object", "properties": {
                    "includeEvents": flag(),
                    "includeActions": flag(),
                    "includeResult": flag(),
                    "maxBytes": count(),
                }},
                "requestId": text(),
                "decision": choice(&super::answers::DECISIONS.map(|(name, _)| name)),
                "execpolicy_amendment": texts(),
                "network_policy_amendment": { "type": "object", "properties": {
                    "action": choice(&["allow", "deny"]),
                    "host": text(),
                }},
                "denyMessage": text(),
                "reason": { "type": "string", "description": "for the agent to read" },
                "answers": { "type": "object", "description": "{questionId: {answers: [text]}}" },
                "content": object(),
                "digest": text(),
                "itemId": text(),
                "offset": count(),
                "limit": count(),
            }),
            &["action", "sessionId"],
            result(json!({
                "pollInterval": count(),
                "cursorResetTo": count(),
                "nextCursor": count(),
                "events": { "type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "id": count(),
                        "type": text(),
                        "data": object(),
                        "timestamp": text(),
                    },
                    "required": ["id", "type", "data", "timestamp"],
                    "additionalProperties": false,
                }},
                "live": { "type": "array", "items": any_text() },
                "actions": actions(),
                "result": turn(),
                "output": {
                    "type": "object",
                    "properties": { "offset": count(), "total": count(), "nextOffset": count() },
                    "additionalProperties": text(),
                },
                "truncated": flag(),
                "truncatedFields": texts(),
            })),
        )
        .annotate(ToolAnnotations::new().destructive(false)),
    ]
}

fn tool(
    name: &'static str,
    description: &'static str,
    arguments: &Value,
    required: &[&str],
    result: Value,
) -> Tool {
    let input = json!({ "type": "object", "properties": arguments, "required": required });
    Tool::new(name, description, fields(input)).with_raw_output_schema(fields(result))
}

fn fields(schema: Value) -> Arc<Map<String, Value>> {
    let Value::Object(fields) = schema else { return Arc::default() };
    Arc::new(fields)
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn flag() -> Value {
    json!({ "type": "boolean" })
}

/// Without a format: clients warn of those that they do not know.
fn count() -> Value {
    json!({ "type": "integer" })
}

fn object() -> Value {
    json!({ "type": "object" })
}

fn texts() -> Value {
    json!({ "type": "array", "items": text() })
}

fn choice(words: &[&str]) -> Value {
    json!({ "type": "string", "enum": words })
}

fn sandbox() -> Value {
    choice(&["read-only", "workspace-write", "danger-full-access"])
}

fn wait() -> Value {
    json!({
        "type": ["boolean", "integer"],
        "description": "stay until the turn ends or asks (ms, at most 45000)",
    })
}

fn any_text() -> Value {
    json!({ "type": "object", "additionalProperties": text() })
}

/// What every result may have, and what this one has besides; all else in it is text.
fn result(own: Value) -> Value {
    let Value::Object(mut properties) = own else { return own };
    properties.insert("compatWarnings".to_owned(), texts());
    properties.insert("error".to_owned(), any_text());
    json!({ "type": "object", "properties": properties, "additionalProperties": text() })
}

/// A start or a reply, with what `wait` adds.
fn started() -> Value {
    result(json!({
        "pollInterval": count(),
        "nextCursor": count(),
        "actions": actions(),
        "result": turn(),
        "truncated": flag(),
        "truncatedFields": texts(),
    }))
}

fn actions() -> Value {
    json!({ "type": "array", "items": {
        "type": "object",
        "properties": {
            "params": object(),
            "paths": texts(),
            "availableDecisions": texts(),
            "commandActions": { "type": "array" },
            "proposedExecpolicyAmendment": texts(),
            "proposedNetworkPolicyAmendments": { "type": "array" },
            "agent": any_text(),
        },
        "required": ["type", "requestId", "kind"],
        "additionalProperties": text(),
    }})
}

/// The result of a turn. What the model's own schema shaped may be anything.
fn turn() -> Value {
    json!({
        "type": "object",
        "properties": { "structuredOutput": {}, "usage": object(), "files": texts() },
        "additionalProperties": text(),
    })
}

fn session() -> Value {
    json!({
        "type": "object",
        "properties": { "pendingRequestCount": count(), "turns": count(), "config": object() },
        "additionalProperties": text(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a client's model has to read before anything is done.
    const MAX_BYTES: usize = 6_000;

    #[test]
    fn the_tools_are_small_and_their_schemas_are_schemas() {
        let tools = all();
        let names: Vec<_> = tools.iter().map(|it| it.name.as_ref()).collect();
        assert_eq!(names, ["codex", "codex_reply", "codex_session", "codex_check"]);
        let n_bytes = serde_json::to_vec(&tools).unwrap().len();
        assert!(n_bytes < MAX_BYTES, "{n_bytes}");
        for tool in tools {
            let input = Value::Object((*tool.input_schema).clone());
            jsonschema::validator_for(&input).unwrap();
            let output = Value::Object((*tool.output_schema.unwrap()).clone());
            let validator = jsonschema::validator_for(&output).unwrap();
            assert!(validator.is_valid(&json!({"error": {"code": "INTERNAL", "message": "m"}})));
            assert!(!validator.is_valid(&json!({"made_up": 1})));
        }
    }
}
