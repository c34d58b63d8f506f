//! Codex's objects, in the shapes that the recordings show.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};

/// An id like Codex's: a UUID of version 7.
pub(super) fn fresh_id() -> String {
    static N_IDS: AtomicU64 = AtomicU64::new(0);
    let count = N_IDS.fetch_add(1, Ordering::Relaxed) & 0xfff;
    let millis = now_ms() & 0xffff_ffff_ffff;
    let (high, low) = (millis >> 16, millis & 0xffff);
    format!("{high:08x}-{low:04x}-7{count:03x}-8000-{:012x}", std::process::id())
}

pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or_default()
}

/// The result of `thread/start`, `thread/resume` and `thread/fork`.
pub(super) fn thread_opened(thread: &Value, params: &Value) -> Value {
    let sandbox = match params["sandbox"].as_str() {
        Some("read-only") => json!({"type": "readOnly", "networkAccess": false}),
        Some("danger-full-access") => json!({"type": "dangerFullAccess"}),
        _ => json!({
            "type": "workspaceWrite", "writableRoots": [], "networkAccess": false,
            "excludeTmpdirEnvVar": false, "excludeSlashTmp": false,
        }),
    };
    let policy = params.get("approvalPolicy").filter(|it| !it.is_null());
    json!({
        "thread": thread, "model": thread["model"], "modelProvider": "fake", "serviceTier": null,
        "cwd": thread["cwd"], "runtimeWorkspaceRoots": [thread["cwd"]], "instructionSources": [],
        "approvalPolicy": policy.cloned().unwrap_or_else(|| json!("on-request")),
        "approvalsReviewer": "user", "sandbox": sandbox, "activePermissionProfile": null,
        "reasoningEffort": null, "multiAgentMode": "explicitRequestOnly",
    })
}

pub(super) fn thread(id: &str, forked_from: Option<&str>, params: &Value) -> Value {
    let cwd = params["cwd"].as_str().unwrap_or("/home/dev/project");
    let model = params["model"].as_str().unwrap_or("gpt-5.5");
    let seconds = now_ms() / 1000;
    json!({
        "id": id, "sessionId": id, "forkedFromId": forked_from, "parentThreadId": null,
        "preview": "", "ephemeral": params["ephemeral"].as_bool().unwrap_or_default(),
        "historyMode": "paginated", "modelProvider": "fake", "model": model,
        "reasoningEffort": null, "createdAt": seconds, "updatedAt": seconds,
        "recencyAt": seconds, "status": {"type": "idle"},
        "path": format!("/home/dev/.codex/sessions/rollout-{id}.jsonl"), "cwd": cwd,
        "cliVersion": super::VERSION, "originator": "fake", "source": "vscode",
        "canAcceptDirectInput": true, "gitInfo": null, "name": null, "turns": [],
    })
}

pub(super) fn turn(id: &str, status: &str, items: &[Value]) -> Value {
    let seconds = now_ms() / 1000;
    let running = status == "inProgress";
    let error = (status == "failed").then(|| {
        json!({"message": "scripted failure", "codexErrorInfo": "other", "additionalDetails": null})
    });
    json!({
        "id": id, "rootTurnId": id, "items": items,
        "itemsView": if items.is_empty() { "notLoaded" } else { "summary" },
        "status": status, "error": error, "startedAt": seconds,
        "completedAt": (!running).then_some(seconds), "durationMs": (!running).then_some(1),
    })
}

pub(super) fn user_message(id: &str, params: &Value) -> Value {
    json!({
        "type": "userMessage", "id": id, "clientId": params["clientUserMessageId"],
        "content": params["input"], "startedAtMs": now_ms(), "completedAtMs": null,
    })
}

pub(super) fn agent_message(id: &str, text: &str) -> Value {
    json!({
        "type": "agentMessage", "moderation": null, "id": id, "text": text, "phase": null,
        "memoryCitation": null, "delivery": null, "questions": null,
        "startedAtMs": now_ms(), "completedAtMs": null,
    })
}

pub(super) fn command(id: &str, line: &str, cwd: &str, status: &str, output: &str) -> Value {
    let done = status == "completed";
    json!({
        "type": "commandExecution", "id": id, "command": shell(line), "cwd": cwd,
        "processId": null, "source": "agent", "status": status,
        "commandActions": [{"type": "unknown", "command": line}],
        "aggregatedOutput": done.then_some(output), "exitCode": done.then_some(0),
        "durationMs": done.then_some(1), "startedAtMs": now_ms(), "completedAtMs": null,
    })
}

/// How Codex wraps a shell line.
pub(super) fn shell(line: &str) -> String {
    format!("/bin/bash -lc '{}'", line.replace('\'', "'\\''"))
}

pub(super) fn file_change(id: &str, path: &str, content: &str, status: &str) -> Value {
    json!({
        "type": "fileChange", "id": id, "status": status,
        "changes": [{"path": path, "kind": {"type": "add"}, "diff": content}],
        "startedAtMs": now_ms(), "completedAtMs": null,
    })
}

pub(super) fn token_usage() -> Value {
    let count = json!({
        "totalTokens": 120, "inputTokens": 100, "cachedInputTokens": 40,
        "cacheWriteInputTokens": 0, "outputTokens": 20, "reasoningOutputTokens": 7,
    });
    json!({"total": count, "last": count, "modelContextWindow": 258_400})
}
