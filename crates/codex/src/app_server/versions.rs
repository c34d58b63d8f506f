//! What each version of Codex can do and how it spells things; floors are versions that were tried.

use std::{fmt, str::FromStr};

use pilothouse_core::{ApprovalPolicy, Sandbox};

/// A version of Codex. Development builds count as what they lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(pub(crate) u32, pub(crate) u32, pub(crate) u32);

/// What not every version can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Feature {
    /// `untrusted` and `read-only` instead of `unlessTrusted` and `readOnly`.
    KebabCase,
    /// `acceptForSession`.
    AcceptForSession,
    /// `acceptWithExecpolicyAmendment`.
    ExecpolicyAmendment,
    /// `thread/fork`.
    Fork,
    /// `turn/start.outputSchema`.
    OutputSchema,
    /// `turn/start.collaborationMode`.
    CollaborationMode,
    /// `contentItems` instead of `output` in the result of a dynamic tool.
    ContentItems,
    /// `turn/steer`.
    Steer,
    /// `thread/backgroundTerminals/clean`.
    CleanTerminals,
    /// `thread/unsubscribe`.
    Unsubscribe,
    /// `thread/resume.excludeTurns`.
    ExcludeTurns,
    /// `on-failure` is no policy any more.
    NoOnFailure,
}

/// The oldest version that says when a turn is over.
pub(crate) const FLOOR: Version = Version(0, 59, 0);

impl Version {
    /// What is assumed of a Codex that doesn't say: that it is today's.
    pub(crate) const NEWEST: Self = Self(u32::MAX, 0, 0);

    /// Whether it has a feature.
    pub(crate) fn has(self, feature: Feature) -> bool {
        let since = match feature {
            Feature::AcceptForSession => 66,
            Feature::KebabCase => 72,
            Feature::ExecpolicyAmendment => 77,
            Feature::Fork | Feature::OutputSchema => 80,
            Feature::CollaborationMode => 89,
            Feature::ContentItems => 97,
            Feature::Steer | Feature::CleanTerminals => 99,
            Feature::Unsubscribe => 110,
            Feature::ExcludeTurns => 125,
            Feature::NoOnFailure => 145,
        };
        self >= Self(0, since, 0)
    }

    /// The version in `<client>/<version> (…)`, as `initialize` returns it.
    pub(crate) fn in_user_agent(user_agent: &str) -> Option<Self> {
        let (_, rest) = user_agent.split_once('/')?;
        rest.split(' ').next()?.parse().ok()
    }

    /// How it spells an approval policy.
    pub(crate) fn policy(self, policy: ApprovalPolicy) -> &'static str {
        let kebab = self.has(Feature::KebabCase);
        match policy {
            ApprovalPolicy::Untrusted if kebab => "untrusted",
            ApprovalPolicy::Untrusted => "unlessTrusted",
            // Asking when the agent wants more is what is left of it.
            ApprovalPolicy::OnFailure if self.has(Feature::NoOnFailure) => "on-request",
            ApprovalPolicy::OnFailure if kebab => "on-failure",
            ApprovalPolicy::OnFailure => "onFailure",
            ApprovalPolicy::OnRequest if kebab => "on-request",
            ApprovalPolicy::OnRequest => "onRequest",
            ApprovalPolicy::Never => "never",
        }
    }

    /// How it spells a sandbox where a thread begins.
    pub(crate) fn sandbox(self, sandbox: Sandbox) -> &'static str {
        let kebab = self.has(Feature::KebabCase);
        match sandbox {
            Sandbox::ReadOnly if kebab => "read-only",
            Sandbox::WorkspaceWrite if kebab => "workspace-write",
            Sandbox::DangerFullAccess if kebab => "danger-full-access",
            Sandbox::ReadOnly | Sandbox::WorkspaceWrite | Sandbox::DangerFullAccess => {
                policy_type(sandbox)
            }
        }
    }
}

/// The `type` of a sandbox policy, the same in all versions.
pub(crate) fn policy_type(sandbox: Sandbox) -> &'static str {
    match sandbox {
        Sandbox::ReadOnly => "readOnly",
        Sandbox::WorkspaceWrite => "workspaceWrite",
        Sandbox::DangerFullAccess => "dangerFullAccess",
    }
}

/// A word of Codex's as we write it: `workspaceWrite` is `workspace-write`.
pub(crate) fn kebab(word: &str) -> String {
    if word == "unlessTrusted" {
        return "untrusted".to_owned();
    }
    word.chars().fold(String::new(), |mut res, it| {
        if it.is_ascii_uppercase() && !res.is_empty() {
            res.push('-');
        }
        res.push(it.to_ascii_lowercase());
        res
    })
}

impl FromStr for Version {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let release = text.split(['-', '+']).next().unwrap_or_default();
        let mut parts = release.split('.').map(|it| it.parse().map_err(|_| ()));
        let mut next = || parts.next().unwrap_or(Err(()));
        Ok(Self(next()?, next()?, next()?))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_after_the_first_slash() {
        let check = |text: &str, expected| assert_eq!(Version::in_user_agent(text), expected);
        check(
            "bridge/0.171.0 (Debian 12.0.0; x86_64) xterm (bridge; 0.0.1)",
            Some(Version(0, 171, 0)),
        );
        check("codex_cli_rs/0.63.0 (Debian)", Some(Version(0, 63, 0)));
        check("a/0.172.0-alpha.3 (x)", Some(Version(0, 172, 0)));
        check("a/dev (x)", None);
        check("", None);
    }

    #[test]
    fn spellings_follow_the_version() {
        use ApprovalPolicy::{Never, OnFailure, OnRequest, Untrusted};
        use Sandbox::{DangerFullAccess, ReadOnly, WorkspaceWrite};
        let check = |minor, policy, sandbox, expected: [&str; 2]| {
            let version = Version(0, minor, 0);
            assert_eq!([version.policy(policy), version.sandbox(sandbox)], expected, "{minor}");
        };
        check(63, Untrusted, WorkspaceWrite, ["unlessTrusted", "workspaceWrite"]);
        check(63, OnFailure, ReadOnly, ["onFailure", "readOnly"]);
        check(66, OnRequest, DangerFullAccess, ["onRequest", "dangerFullAccess"]);
        check(72, Untrusted, WorkspaceWrite, ["untrusted", "workspace-write"]);
        check(141, OnFailure, ReadOnly, ["on-failure", "read-only"]);
        check(145, OnFailure, ReadOnly, ["on-request", "read-only"]);
        check(171, Never, DangerFullAccess, ["never", "danger-full-access"]);
    }

    #[test]
    fn words_of_both_spellings_read_the_same() {
        let check = |word: &str, expected: &str| assert_eq!(kebab(word), expected);
        check("unlessTrusted", "untrusted");
        check("onRequest", "on-request");
        check("on-request", "on-request");
        check("dangerFullAccess", "danger-full-access");
        check("", "");
    }
}
