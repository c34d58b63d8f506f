//! The tools as clients list them: names, arguments and results, in as few bytes as are honest.
//!
//! A model pays for every byte of this in each of its turns, so that what several objects share is
//! said once, and texts are the default type of a field.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::{CommandOptions, ToolSet, choice, command, form};

/// The tools of some sets, always in this order.
pub(crate) fn of(sets: &[ToolSet], options: &CommandOptions) -> Vec<Tool> {
    let mut res = vec![];
    if sets.contains(&ToolSet::Codex) {
        res.extend(all());
    }
    if sets.contains(&ToolSet::Choice) {
        res.push(choice::tool());
    }
    if sets.contains(&ToolSet::Form) {
        res.push(form::tool());
    }
    if sets.contains(&ToolSet::Command) {
        res.push(command::tool(options));
    }
    res
}

/// The four tools that run sessions.
fn all() -> Vec<Tool> {
    vec![
        tool(
            "codex",
            "Start a Codex session.",
            &json!({
                "prompt": text(),
                "approvalPolicy": choice(&["untrusted", "on-failure", "on-request", "never"]),
                "sandbox": choice(&["read-only", "workspace-write", "danger-full-access"]),
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
                    "approvalTimeoutMs": count(),
                    "collaborationMode": object(),
                    "isolation": choice(&["shared", "process"]),
                    "title": text(),
                }},
            }),
            &["prompt", "approvalPolicy", "sandbox"],
            started(),
        ),
        tool(
            "codex_reply",
            "Send a session its next prompt.",
            &json!({
                "sessionId": text(),
                "prompt": text(),
                "model": text(),
                "approvalPolicy": text(),
                "effort": text(),
                "summary": text(),
                "personality": text(),
                "sandbox": text(),
                "cwd": text(),
                "outputSchema": object(),
                "images": texts(),
                "wait": wait(),
                "whenBusy": choice(&["steer", "queue"]),
            }),
            &["sessionId", "prompt"],
            started(),
        ),
        tool(
            "codex_session",
            "Manage sessions; list and get only read.",
            &json!({
                "action": choice(super::session::ACTIONS),
                "sessionId": text(),
                "adopt": text(),
                "includeSensitive": flag(),
                "scope": choice(&["own", "all"]),
                "limit": count(),
                "cursor": text(),
                "title": text(),
                "target": object(),
            }),
            &["action"],
            result(json!({
                "sessions": list_of(&["string", "integer", "object"]),
                "models": list_of(&["string", "boolean", "array"]),
                "config": object(),
            })),
        ),
        tool(
            "codex_check",
            "Poll a session, answer its requests, page an item; poll only reads.",
            &json!({
                "action": choice(super::check::ACTIONS),
                "sessionId": text(),
                "cursor": count(),
                "reader": text(),
                "maxEvents": count(),
                "waitMs": { "type": "integer", "description": "long poll" },
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
                "reason": { "type": "string", "description": "told to Codex" },
                "answers": { "type": "object", "description": "{questionId: {answers: [text]}}" },
                "content": object(),
                "digest": text(),
                "itemId": text(),
                "offset": count(),
                "limit": count(),
            }),
            &["action", "sessionId"],
            result(json!({
                "events": { "type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "id": count(),
                        "type": text(),
                        "data": object(),
                        "timestamp": text(),
                    },
                }},
                "live": { "type": "array", "items": any_text() },
                "actions": actions(),
                "result": turn(),
                "output": open(&["string", "integer"]),
                "truncatedFields": list(),
            })),
        )
        .annotate(ToolAnnotations::new().destructive(false)),
    ]
}

pub(super) fn tool(
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

fn list() -> Value {
    json!({ "type": "array" })
}

fn any_text() -> Value {
    json!({ "type": "object", "additionalProperties": text() })
}

fn choice(words: &[&str]) -> Value {
    json!({ "type": "string", "enum": words })
}

fn wait() -> Value {
    json!({
        "type": ["boolean", "integer"],
        "description": "till turn ends or asks; ms",
    })
}

/// An object whose fields have these types.
fn open(types: &[&str]) -> Value {
    json!({ "type": "object", "additionalProperties": { "type": types } })
}

fn list_of(types: &[&str]) -> Value {
    json!({ "type": "array", "items": open(types) })
}

/// What every result may have, and what this one has besides; all else in it is a word, a number or
/// a yes or no.
pub(super) fn result(own: Value) -> Value {
    let Value::Object(mut properties) = own else { return own };
    properties.insert("compatWarnings".to_owned(), list());
    properties.insert("error".to_owned(), any_text());
    let other = json!({ "type": ["string", "integer", "boolean"] });
    json!({ "type": "object", "properties": properties, "additionalProperties": other })
}

/// A start or a reply, with what `wait` adds.
fn started() -> Value {
    result(json!({ "actions": actions(), "result": turn(), "truncatedFields": list() }))
}

fn actions() -> Value {
    list_of(&["string", "array", "object"])
}

/// The result of a turn. What the model's own schema shaped may be anything.
fn turn() -> Value {
    let mut res = open(&["string", "array", "object"]);
    res["properties"] = json!({ "structuredOutput": {} });
    res
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a client's model has to read before anything is done.
    const MAX_BYTES: usize = 6_000;
    /// The same for each of the tools that ask people.
    const MAX_BYTES_OF_ONE: usize = 1_200;

    #[test]
    fn the_tools_that_ask_are_small_and_come_when_they_are_wanted() {
        let tools = of(&[ToolSet::Form, ToolSet::Choice], &CommandOptions::default());
        let names: Vec<_> = tools.iter().map(|it| it.name.as_ref()).collect();
        assert_eq!(names, ["request_choice", "request_form"]);
        for tool in tools {
            let n_bytes = serde_json::to_vec(&tool).unwrap().len();
            assert!(n_bytes < MAX_BYTES_OF_ONE, "{}: {n_bytes}", tool.name);
            let output = Value::Object((*tool.output_schema.unwrap()).clone());
            let validator = jsonschema::validator_for(&output).unwrap();
            assert!(validator.is_valid(&json!({"error": {"code": "INTERNAL", "message": "m"}})));
            assert!(!validator.is_valid(&json!({"made_up": {}})));
        }
    }

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
            assert!(!validator.is_valid(&json!({"made_up": {}})));
        }
    }
}
