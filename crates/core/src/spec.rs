//! What a session was asked to be: the parameters that its agent's thread is made from.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// When the agent must ask a person before it acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalPolicy {
    /// Before every command that is not known to only read.
    Untrusted,
    /// When a command failed in the sandbox. Codex dropped it in 0.145.
    OnFailure,
    /// When the agent itself wants more than the sandbox allows.
    OnRequest,
    /// Never.
    Never,
}

/// What the agent's commands may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sandbox {
    /// Nothing may be written.
    ReadOnly,
    /// The working directory may be written.
    WorkspaceWrite,
    /// Everything is allowed.
    DangerFullAccess,
}

/// Whether a session shares its agent process with others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// One process serves many sessions.
    #[default]
    Shared,
    /// A process of its own.
    Process,
}

/// Who may settle what the agent asks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answerers {
    /// The caller that owns the session, and any person.
    #[default]
    Caller,
    /// Only a person.
    Human,
}

/// How long an ask waits for an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Patience {
    /// For ever while a person can answer, else for [`Patience::UNATTENDED_MS`].
    #[default]
    Attended,
    /// For ever.
    Forever,
    /// For so many milliseconds.
    Ms(u64),
}

impl Patience {
    /// How long an ask waits, in milliseconds, when nobody who may answer is there.
    pub const UNATTENDED_MS: u64 = 60_000;

    /// How many milliseconds an ask that is raised now may wait, if there is an end.
    pub fn limit_ms(self, human_present: bool) -> Option<u64> {
        match self {
            Self::Attended if human_present => None,
            Self::Attended => Some(Self::UNATTENDED_MS),
            Self::Forever => None,
            Self::Ms(ms) => Some(ms),
        }
    }
}

/// Everything that a session's thread is started, resumed or made again from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spec {
    /// The working directory, absolute.
    pub cwd: String,
    /// When the agent must ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<ApprovalPolicy>,
    /// What its commands may touch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    /// The model, else the agent's own default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How hard the model thinks, else the agent's own default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// How reasoning is summarised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The agent's manner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub personality: Option<String>,
    /// A named set of the agent's own configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Instructions in place of the agent's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_instructions: Option<String>,
    /// Instructions beside the agent's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub developer_instructions: Option<String>,
    /// Configuration of the thread, in the agent's own words.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub config: Map<String, Value>,
    /// The thread leaves nothing on disk.
    #[serde(skip_serializing_if = "is_false")]
    pub ephemeral: bool,
    /// The agent's mode of working, in its own words.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub collaboration_mode: Option<Value>,
    /// Whether it shares its process.
    pub isolation: Isolation,
    /// Who may answer.
    pub answerers: Answerers,
    /// How long an ask waits.
    pub patience: Patience,
    /// What people call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// No agent works in it: it holds what its caller asks people.
    #[serde(skip_serializing_if = "is_false")]
    pub agentless: bool,
}

/// A null that was given stays one, or the state read from disk would differ from the one alive.
pub(crate) fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            cwd: String::new(),
            approval_policy: None,
            sandbox: None,
            model: None,
            effort: None,
            summary: None,
            personality: None,
            profile: None,
            base_instructions: None,
            developer_instructions: None,
            config: Map::new(),
            ephemeral: false,
            collaboration_mode: None,
            isolation: Isolation::default(),
            answerers: Answerers::default(),
            patience: Patience::default(),
            title: None,
            agentless: false,
        }
    }
}

/// What a prompt changes for its turn and, but for the schema, for those after it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Overrides {
    /// See [`Spec::cwd`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// See [`Spec::approval_policy`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<ApprovalPolicy>,
    /// See [`Spec::sandbox`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    /// See [`Spec::model`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// See [`Spec::effort`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// See [`Spec::summary`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// See [`Spec::personality`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub personality: Option<String>,
    /// The JSON Schema that the final message of this turn must meet.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub output_schema: Option<Value>,
}

impl Spec {
    /// Takes over what sticks.
    pub fn override_with(&mut self, overrides: &Overrides) {
        let Overrides {
            cwd,
            approval_policy,
            sandbox,
            model,
            effort,
            summary,
            personality,
            output_schema: _,
        } = overrides;
        if let Some(cwd) = cwd {
            self.cwd.clone_from(cwd);
        }
        self.approval_policy = approval_policy.or(self.approval_policy);
        self.sandbox = sandbox.or(self.sandbox);
        for (mine, theirs) in [
            (&mut self.model, model),
            (&mut self.effort, effort),
            (&mut self.summary, summary),
            (&mut self.personality, personality),
        ] {
            if theirs.is_some() {
                mine.clone_from(theirs);
            }
        }
    }
}

/// What a caller or a person wants of the agent next.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Prompt {
    /// The words.
    pub text: String,
    /// Pictures: absolute paths or data URLs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
    /// What changes with it.
    pub overrides: Overrides,
}

impl Prompt {
    /// Words alone.
    pub fn text(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }
}
