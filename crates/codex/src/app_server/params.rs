//! What we want of a thread or a turn, in the words of the version.

use pilothouse_core::{Attach, Overrides, Prompt, Sandbox, Spec};
use serde_json::{Map, Value, json};

use super::{
    versions::{Feature, Version, policy_type},
    wire::text,
};

/// The method and parameters that bring a session to its thread; an error if it can't be done.
pub(crate) fn attach(
    version: Version,
    how: &Attach,
    spec: &Spec,
) -> Result<(&'static str, Value), String> {
    let mut params = thread(version, spec);
    let method = match how {
        Attach::Start => {
            if spec.ephemeral {
                params.insert("ephemeral".to_owned(), true.into());
            }
            "thread/start"
        }
        Attach::Resume { thread } => {
            params.insert("threadId".to_owned(), thread.as_str().into());
            "thread/resume"
        }
        Attach::Fork { thread } => {
            if !version.has(Feature::Fork) {
                return Err(format!(
                    "Codex {version} cannot copy a thread; version 0.80 or later can"
                ));
            }
            params.insert("threadId".to_owned(), thread.as_str().into());
            if spec.ephemeral {
                params.insert("ephemeral".to_owned(), true.into());
            }
            "thread/fork"
        }
    };
    let returns_turns = match how {
        Attach::Start => false,
        Attach::Resume { .. } | Attach::Fork { .. } => true,
    };
    if returns_turns && version.has(Feature::ExcludeTurns) {
        params.insert("excludeTurns".to_owned(), true.into());
    }
    Ok((method, Value::Object(params)))
}

/// Policy and sandbox go along whenever they are known: what Codex falls back to depends on its
/// version and on whether it trusts the directory.
fn thread(version: Version, spec: &Spec) -> Map<String, Value> {
    let mut params = Map::new();
    let mut put = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            params.insert(name.to_owned(), value.into());
        }
    };
    put("cwd", Some(spec.cwd.as_str()).filter(|it| !it.is_empty()));
    put("approvalPolicy", spec.approval_policy.map(|it| version.policy(it)));
    put("sandbox", spec.sandbox.map(|it| version.sandbox(it)));
    put("model", spec.model.as_deref());
    put("baseInstructions", spec.base_instructions.as_deref());
    put("developerInstructions", spec.developer_instructions.as_deref());
    put("personality", spec.personality.as_deref());
    if !spec.config.is_empty() {
        params.insert("config".to_owned(), spec.config.clone().into());
    }
    params
}

/// What a thread's first turn on this connection takes from the session, and no other does.
#[derive(Debug, Clone, Default)]
pub(crate) struct FirstTurn {
    effort: Option<String>,
    summary: Option<String>,
    collaboration_mode: Option<Value>,
}

impl From<&Spec> for FirstTurn {
    fn from(spec: &Spec) -> Self {
        Self {
            effort: spec.effort.clone(),
            summary: spec.summary.clone(),
            collaboration_mode: spec.collaboration_mode.clone(),
        }
    }
}

/// The parameters that begin a turn.
pub(crate) fn turn(
    version: Version,
    thread: &str,
    prompt: &Prompt,
    first: FirstTurn,
    sandboxes: &Sandboxes,
) -> Value {
    let Prompt { text: _, images: _, overrides } = prompt;
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
    let mut params = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            params.insert(name.to_owned(), value);
        }
    };
    put("threadId", Some(thread.into()));
    put("input", Some(input(prompt)));
    put("cwd", cwd.clone().map(Value::from));
    put("approvalPolicy", approval_policy.map(|it| version.policy(it).into()));
    put("sandboxPolicy", sandbox.map(|it| sandboxes.policy(it)));
    put("model", model.clone().map(Value::from));
    put("effort", effort.clone().or(first.effort).map(Value::from));
    put("summary", summary.clone().or(first.summary).map(Value::from));
    put("personality", personality.clone().map(Value::from));
    if version.has(Feature::OutputSchema) {
        put("outputSchema", output_schema.clone());
    }
    if version.has(Feature::CollaborationMode) {
        put("collaborationMode", first.collaboration_mode);
    }
    Value::Object(params)
}

/// Words and pictures. A path is read by Codex; a data URL would come back twice, whole.
pub(crate) fn input(prompt: &Prompt) -> Value {
    let mut input = Vec::new();
    if !prompt.text.is_empty() || prompt.images.is_empty() {
        input.push(json!({"type": "text", "text": prompt.text}));
    }
    let is_url =
        |it: &str| ["data:", "http://", "https://"].iter().any(|scheme| it.starts_with(scheme));
    input.extend(prompt.images.iter().map(|it| {
        if is_url(it) {
            json!({"type": "image", "url": it})
        } else {
            json!({"type": "localImage", "path": it})
        }
    }));
    Value::Array(input)
}

/// The sandbox policies that a thread was seen to have, so that an override keeps what the user
/// has configured: network access and writable roots.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sandboxes {
    current: Value,
    workspace: Value,
    configured: Value,
}

impl Sandboxes {
    /// From the session's own configuration, nested or dotted.
    pub(crate) fn configured(config: &Map<String, Value>) -> Self {
        const TABLE: &str = "sandbox_workspace_write";
        let mut configured = Map::new();
        let table = config.get(TABLE);
        for (theirs, ours) in
            [("network_access", "networkAccess"), ("writable_roots", "writableRoots")]
        {
            let dotted = config.get(&format!("{TABLE}.{theirs}"));
            if let Some(value) = dotted.or_else(|| table?.get(theirs)) {
                configured.insert(ours.to_owned(), value.clone());
            }
        }
        Self { configured: Value::Object(configured), ..Self::default() }
    }

    /// Takes note of what Codex confirmed.
    pub(crate) fn confirm(&mut self, policy: &Value) {
        if text(policy, &["type"]) == Some(policy_type(Sandbox::WorkspaceWrite)) {
            self.workspace.clone_from(policy);
        }
        self.current.clone_from(policy);
    }

    /// The policy for a turn.
    fn policy(&self, sandbox: Sandbox) -> Value {
        let wanted = policy_type(sandbox);
        if text(&self.current, &["type"]) == Some(wanted) {
            return self.current.clone();
        }
        match sandbox {
            Sandbox::ReadOnly | Sandbox::DangerFullAccess => json!({"type": wanted}),
            Sandbox::WorkspaceWrite if !self.workspace.is_null() => self.workspace.clone(),
            Sandbox::WorkspaceWrite => {
                let of = |name: &str| {
                    let value = self.configured.get(name).or_else(|| self.current.get(name));
                    value.cloned()
                };
                // `externalSandbox` has a word for it, not a yes or no.
                let network = of("networkAccess").filter(Value::is_boolean);
                json!({
                    "type": wanted,
                    "writableRoots": of("writableRoots").filter(Value::is_array).unwrap_or_else(|| json!([])),
                    "networkAccess": network.unwrap_or(Value::Bool(false)),
                    "excludeTmpdirEnvVar": false,
                    "excludeSlashTmp": false,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pilothouse_core::ApprovalPolicy;

    use super::*;

    const TODAY: Version = Version(0, 171, 0);

    fn spec() -> Spec {
        let config =
            json!({"mcp_servers": {"x": {"command": "y"}}, "tools.update_plan": {"enabled": true}});
        Spec {
            cwd: "/w".into(),
            approval_policy: Some(ApprovalPolicy::Untrusted),
            sandbox: Some(Sandbox::WorkspaceWrite),
            model: Some("gpt-5.5".into()),
            effort: Some("high".into()),
            base_instructions: Some("base".into()),
            developer_instructions: Some("developer".into()),
            personality: Some("friendly".into()),
            config: config.as_object().cloned().unwrap_or_default(),
            ephemeral: true,
            ..Spec::default()
        }
    }

    #[test]
    fn a_thread_is_begun_with_all_that_the_session_asks_for() {
        let expected = json!({
            "cwd": "/w", "approvalPolicy": "untrusted", "sandbox": "workspace-write",
            "model": "gpt-5.5", "baseInstructions": "base", "developerInstructions": "developer",
            "personality": "friendly", "ephemeral": true,
            "config": {"mcp_servers": {"x": {"command": "y"}}, "tools.update_plan": {"enabled": true}},
        });
        assert_eq!(attach(TODAY, &Attach::Start, &spec()), Ok(("thread/start", expected)));
    }

    #[test]
    fn policy_and_sandbox_are_sent_again_on_resume() {
        let spec = Spec {
            approval_policy: spec().approval_policy,
            sandbox: spec().sandbox,
            cwd: "/w".into(),
            ..Spec::default()
        };
        let how = Attach::Resume { thread: "t".into() };
        let check = |minor, expected: Value| {
            assert_eq!(attach(Version(0, minor, 0), &how, &spec), Ok(("thread/resume", expected)));
        };
        check(
            171,
            json!({"threadId": "t", "cwd": "/w", "approvalPolicy": "untrusted", "sandbox": "workspace-write", "excludeTurns": true}),
        );
        check(
            104,
            json!({"threadId": "t", "cwd": "/w", "approvalPolicy": "untrusted", "sandbox": "workspace-write"}),
        );
        check(
            63,
            json!({"threadId": "t", "cwd": "/w", "approvalPolicy": "unlessTrusted", "sandbox": "workspaceWrite"}),
        );
    }

    #[test]
    fn old_versions_say_that_they_cannot_fork() {
        let how = Attach::Fork { thread: "t".into() };
        assert!(attach(Version(0, 77, 0), &how, &Spec::default()).is_err());
        assert!(attach(Version(0, 80, 0), &how, &Spec::default()).is_ok());
    }

    #[test]
    fn a_turn_carries_words_pictures_and_overrides() {
        let overrides = Overrides {
            cwd: Some("/v".into()),
            approval_policy: Some(ApprovalPolicy::Never),
            sandbox: Some(Sandbox::ReadOnly),
            model: Some("m".into()),
            summary: Some("detailed".into()),
            output_schema: Some(json!({"type": "object"})),
            ..Overrides::default()
        };
        let images =
            vec!["/a.png".into(), "data:image/png;base64,AA==".into(), "https://x/y.png".into()];
        let prompt = Prompt { text: "hi".into(), images, overrides };
        let expected = json!({
            "threadId": "t",
            "input": [
                {"type": "text", "text": "hi"},
                {"type": "localImage", "path": "/a.png"},
                {"type": "image", "url": "data:image/png;base64,AA=="},
                {"type": "image", "url": "https://x/y.png"},
            ],
            "cwd": "/v", "approvalPolicy": "never", "sandboxPolicy": {"type": "readOnly"},
            "model": "m", "effort": "high", "summary": "detailed",
            "outputSchema": {"type": "object"},
        });
        let first = FirstTurn::from(&spec());
        assert_eq!(turn(TODAY, "t", &prompt, first, &Sandboxes::default()), expected);
    }

    #[test]
    fn a_sandbox_override_keeps_what_is_configured() {
        let workspace = |roots: Value, network: bool| {
            json!({
                "type": "workspaceWrite", "writableRoots": roots, "networkAccess": network,
                "excludeTmpdirEnvVar": false, "excludeSlashTmp": false,
            })
        };
        let check = |config: Value, confirmed: &[Value], expected: Value| {
            let mut sandboxes = Sandboxes::configured(config.as_object().unwrap());
            for it in confirmed {
                sandboxes.confirm(it);
            }
            assert_eq!(sandboxes.policy(Sandbox::WorkspaceWrite), expected);
        };
        let read_only = json!({"type": "readOnly", "networkAccess": true});
        check(json!({}), &[], workspace(json!([]), false));
        check(json!({}), &[workspace(json!(["/r"]), true)], workspace(json!(["/r"]), true));
        check(
            json!({}),
            &[workspace(json!(["/r"]), true), read_only.clone()],
            workspace(json!(["/r"]), true),
        );
        check(json!({}), &[read_only], workspace(json!([]), true));
        let external = json!({"type": "externalSandbox", "networkAccess": "enabled"});
        check(json!({}), &[external], workspace(json!([]), false));
        check(
            json!({"sandbox_workspace_write": {"network_access": true}, "sandbox_workspace_write.writable_roots": ["/c"]}),
            &[],
            workspace(json!(["/c"]), true),
        );
    }
}
