//! What is submitted: prompts, overrides, decisions.

use pilothouse_core::{Decision, Overrides, Prompt, Sandbox};
use serde_json::{Map, Value, json};

use super::args::{policy, sandbox};
use crate::app_server::wire::text;

/// The table of a sandbox that lets the working directory be written.
const WORKSPACE: &str = "sandbox_workspace_write";

/// A submission, as a line.
pub(super) fn submission(id: &str, op: &Value) -> String {
    json!({"id": id, "op": op}).to_string()
}

/// Words and pictures.
pub(super) fn input(prompt: &Prompt) -> Value {
    let mut items = Vec::new();
    if !prompt.text.is_empty() || prompt.images.is_empty() {
        items.push(json!({"type": "text", "text": prompt.text}));
    }
    let is_url =
        |it: &str| ["data:", "http://", "https://"].iter().any(|scheme| it.starts_with(scheme));
    items.extend(prompt.images.iter().map(|it| {
        if is_url(it) {
            json!({"type": "image", "image_url": it})
        } else {
            json!({"type": "local_image", "path": it})
        }
    }));
    json!({"type": "user_input", "items": items})
}

/// What a prompt changes, for its turn and those after it; nothing if it changes nothing. An
/// error names what can't be changed here.
pub(super) fn overrides(
    overrides: &Overrides,
    config: &Map<String, Value>,
) -> Result<Option<Value>, Vec<String>> {
    let Overrides {
        cwd,
        approval_policy,
        sandbox,
        model,
        effort,
        summary,
        personality,
        output_schema,
    } = overrides;
    let refused: Vec<String> =
        [(personality.is_some(), "personality"), (output_schema.is_some(), "outputSchema")]
            .into_iter()
            .filter(|(is_given, _)| *is_given)
            .map(|(_, name)| name.to_owned())
            .collect();
    if !refused.is_empty() {
        return Err(refused);
    }
    let mut op = Map::new();
    for (name, value) in [
        ("cwd", cwd.clone().map(Value::from)),
        ("approval_policy", approval_policy.map(|it| policy(it).into())),
        ("sandbox_policy", sandbox.map(|it| sandbox_policy(it, config))),
        ("model", model.clone().map(Value::from)),
        ("effort", effort.clone().map(Value::from)),
        ("summary", summary.clone().map(Value::from)),
    ] {
        if let Some(value) = value {
            op.insert(name.to_owned(), value);
        }
    }
    if op.is_empty() {
        return Ok(None);
    }
    op.insert("type".to_owned(), "override_turn_context".into());
    Ok(Some(Value::Object(op)))
}

/// A sandbox in full, with what the session has configured for it, nested or dotted.
fn sandbox_policy(mode: Sandbox, config: &Map<String, Value>) -> Value {
    let mut policy = json!({"mode": sandbox(mode)});
    if mode == Sandbox::WorkspaceWrite {
        let table = config.get(WORKSPACE);
        for (name, default) in [
            ("writable_roots", json!([])),
            ("network_access", false.into()),
            ("exclude_tmpdir_env_var", false.into()),
            ("exclude_slash_tmp", false.into()),
        ] {
            let dotted = config.get(&format!("{WORKSPACE}.{name}"));
            let value = dotted.or_else(|| table?.get(name)).cloned();
            policy[name] = value.unwrap_or(default);
        }
    }
    policy
}

/// A decision. Approvals are told apart by the submission that they belong to, not by the call.
pub(super) fn decision(approval: &str, submission: &str, decision: Decision) -> Value {
    let word = match decision {
        Decision::Accept | Decision::AcceptAlways | Decision::AcceptWithExecpolicyAmendment => {
            "approved"
        }
        Decision::AcceptForSession => "approved_for_session",
        Decision::Decline | Decision::ApplyNetworkPolicyAmendment => "denied",
        Decision::Cancel => "abort",
    };
    json!({"type": approval, "id": submission, "decision": word})
}

/// A review, whose target is in the app-server's words.
pub(super) fn review(target: &Value) -> Value {
    let word = |name: &str| text(target, &[name]).unwrap_or_default();
    let (prompt, hint) = match text(target, &["type"]) {
        Some("baseBranch") => (
            format!(
                "Review the changes of the current branch since it left {}; find the merge base \
                 and look at the diff from there. Give prioritised findings that can be acted on.",
                word("branch")
            ),
            format!("changes against {}", word("branch")),
        ),
        Some("commit") => (
            format!(
                "Review the changes of the commit {}. Give prioritised findings that can be \
                 acted on.",
                word("sha")
            ),
            format!("commit {}", word("sha")),
        ),
        Some("custom") => (word("instructions").to_owned(), "custom instructions".to_owned()),
        Some(_) | None => (
            "Review the current changes, staged, unstaged and untracked. Give prioritised \
             findings that can be acted on."
                .to_owned(),
            "current changes".to_owned(),
        ),
    };
    json!({"type": "review", "review_request": {"prompt": prompt, "user_facing_hint": hint}})
}
