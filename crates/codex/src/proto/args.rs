//! How `codex proto` is started: the session as configuration.

use pilothouse_core::{ApprovalPolicy, Sandbox, Spec};

use crate::{
    dialect::{Dialect, Unsupported},
    exec::toml::{setting, settings},
};

/// The arguments that `codex` is started with, in the session's working directory, which has no
/// argument; or the options that it would not honour.
pub fn args(spec: &Spec, version: Option<&str>) -> Result<Vec<String>, Unsupported> {
    let mut options: Vec<String> = [
        (spec.base_instructions.is_some(), "baseInstructions"),
        (spec.developer_instructions.is_some(), "developerInstructions"),
        (spec.personality.is_some(), "personality"),
        (spec.collaboration_mode.is_some(), "collaborationMode"),
        (spec.ephemeral, "ephemeral"),
    ]
    .into_iter()
    .filter(|(is_given, _)| *is_given)
    .map(|(_, name)| name.to_owned())
    .collect();
    let (settings, nulls) = settings(&spec.config);
    options.extend(nulls);
    if !options.is_empty() {
        let version = version.map(ToOwned::to_owned);
        return Err(Unsupported { dialect: Dialect::Proto, version, options });
    }
    let mut args = vec!["proto".to_owned()];
    args.extend(settings);
    for (key, value) in [
        ("profile", spec.profile.as_deref()),
        ("approval_policy", spec.approval_policy.map(policy)),
        ("sandbox_mode", spec.sandbox.map(sandbox)),
        ("model", spec.model.as_deref()),
        ("model_reasoning_effort", spec.effort.as_deref()),
        ("model_reasoning_summary", spec.summary.as_deref()),
    ] {
        args.extend(value.map(|it| setting(key, it)));
    }
    Ok(args)
}

/// How these versions spell an approval policy.
pub(super) fn policy(policy: ApprovalPolicy) -> &'static str {
    match policy {
        ApprovalPolicy::Untrusted => "untrusted",
        ApprovalPolicy::OnFailure => "on-failure",
        ApprovalPolicy::OnRequest => "on-request",
        ApprovalPolicy::Never => "never",
    }
}

/// How they spell a sandbox.
pub(super) fn sandbox(sandbox: Sandbox) -> &'static str {
    match sandbox {
        Sandbox::ReadOnly => "read-only",
        Sandbox::WorkspaceWrite => "workspace-write",
        Sandbox::DangerFullAccess => "danger-full-access",
    }
}
