//! Calls of the old protocol as the items that the app-server would tell.

use pilothouse_core::Change;
use serde_json::{Value, json};

use crate::{
    app_server::{items::legacy_changes, wire::text},
    exec::camel,
    shell,
};

/// A command, as far as it is known when it begins or is asked about.
pub(super) fn command(call: &str, event: &Value) -> Value {
    let words = event.get("command").and_then(Value::as_array);
    let words: Vec<_> = words.into_iter().flatten().filter_map(Value::as_str).collect();
    let actions = event.get("parsed_cmd").and_then(Value::as_array);
    let action = |it: &Value| {
        let kind = camel(text(it, &["type"]).unwrap_or("unknown"));
        json!({"type": kind, "command": text(it, &["cmd"]).unwrap_or_default()})
    };
    json!({
        "type": "commandExecution", "id": call, "command": shell::join(&words),
        "cwd": text(event, &["cwd"]).unwrap_or_default(), "status": "inProgress",
        "commandActions": actions.into_iter().flatten().map(action).collect::<Vec<_>>(),
        "aggregatedOutput": null, "exitCode": null, "durationMs": null,
    })
}

/// The command's item when it has ended.
pub(super) fn command_ended(mut item: Value, event: &Value) -> Value {
    let code = event.get("exit_code").and_then(Value::as_i64);
    let output = ["aggregated_output", "formatted_output", "stdout"];
    item["status"] = if code == Some(0) { "completed" } else { "failed" }.into();
    item["exitCode"] = code.into();
    item["aggregatedOutput"] = output.iter().find_map(|it| text(event, &[it])).into();
    item["durationMs"] = duration(event);
    item
}

/// The files of a patch.
pub(super) fn changes(event: &Value) -> Vec<Change> {
    event.get("changes").map(legacy_changes).unwrap_or_default()
}

/// A patch when it begins or is asked about.
pub(super) fn patch(call: &str, event: &Value) -> Value {
    let change = |it: Change| {
        let Change { path, kind, move_path, diff } = it;
        let kind = match move_path {
            Some(to) => json!({"type": kind, "move_path": to}),
            None => json!({"type": kind}),
        };
        json!({"path": path, "kind": kind, "diff": diff})
    };
    let changes: Vec<_> = changes(event).into_iter().map(change).collect();
    json!({"type": "fileChange", "id": call, "changes": changes, "status": "inProgress"})
}

/// The patch's item when it was applied or was not.
pub(super) fn patch_ended(mut item: Value, event: &Value) -> Value {
    let is_done = event.get("success").and_then(Value::as_bool) == Some(true);
    item["status"] = if is_done { "completed" } else { "failed" }.into();
    item
}

/// A call of an MCP server's tool when it begins.
pub(super) fn tool(call: &str, event: &Value) -> Value {
    let of_call = |name: &str| text(event, &["invocation", name]).unwrap_or_default();
    let arguments = event.get("invocation").and_then(|it| it.get("arguments"));
    json!({
        "type": "mcpToolCall", "id": call, "server": of_call("server"), "tool": of_call("tool"),
        "arguments": arguments, "status": "inProgress", "result": null, "error": null,
        "durationMs": null,
    })
}

/// The call's item when it has ended.
pub(super) fn tool_ended(mut item: Value, event: &Value) -> Value {
    let result = event.get("result");
    let given = result.and_then(|it| it.get("Ok"));
    let is_error = given.and_then(|it| it.get("isError")).and_then(Value::as_bool) == Some(true);
    item["status"] = if given.is_some() && !is_error { "completed" } else { "failed" }.into();
    item["result"] = given.cloned().unwrap_or_default();
    if given.is_none() {
        let message = result.and_then(|it| text(it, &["Err"])).unwrap_or("the call failed");
        item["error"] = json!({"message": message});
    }
    item["durationMs"] = duration(event);
    item
}

/// A search that the provider runs.
pub(super) fn search(call: &str, event: &Value) -> Value {
    json!({"type": "webSearch", "id": call, "query": text(event, &["query"]).unwrap_or_default()})
}

/// A plan in the app-server's words.
pub(super) fn plan(event: &Value) -> Value {
    let steps = event.get("plan").and_then(Value::as_array);
    let step = |it: &Value| {
        let status = camel(text(it, &["status"]).unwrap_or("pending"));
        json!({"step": text(it, &["step"]).unwrap_or_default(), "status": status})
    };
    let steps: Vec<_> = steps.into_iter().flatten().map(step).collect();
    json!({"explanation": event.get("explanation"), "plan": steps})
}

/// Token use in the app-server's words; nothing while there is none.
pub(super) fn usage(event: &Value) -> Option<Value> {
    let info = event.get("info")?.as_object()?;
    let counts = |name: &str| {
        let counts = info.get(name)?.as_object()?;
        Some(counts.iter().map(|(name, it)| (camel(name), it.clone())).collect::<Value>())
    };
    Some(json!({
        "total": counts("total_token_usage"), "last": counts("last_token_usage"),
        "modelContextWindow": info.get("model_context_window"),
    }))
}

fn duration(event: &Value) -> Value {
    let part = |name: &str| event.get("duration")?.get(name)?.as_u64();
    let Some(secs) = part("secs") else { return Value::Null };
    let nanos = part("nanos").unwrap_or_default();
    secs.saturating_mul(1_000).saturating_add(nanos / 1_000_000).into()
}
