//! What an ask is about, in full: what a person must see before answering.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The kinds of thing that an agent can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AskKind {
    /// May I run this command?
    Command,
    /// May I change these files?
    FileChange,
    /// May I have these permissions, or this session?
    Permissions,
    /// Which of these do you want?
    #[serde(rename = "user_input")]
    Question,
    /// A form, a URL or a tool call of one of the agent's MCP servers.
    Elicitation,
}

/// One file of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// The file.
    pub path: String,
    /// `add`, `delete` or `update`.
    pub kind: String,
    /// Where it moves to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub move_path: Option<String>,
    /// The new content, the old content, or a unified hunk without file headers.
    pub diff: String,
}

/// One question of several.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// Its name in the answer.
    pub id: String,
    /// A word or two.
    #[serde(default)]
    pub header: String,
    /// The question.
    #[serde(default)]
    pub question: String,
    /// A free answer is possible.
    #[serde(default)]
    pub is_other: bool,
    /// What the free answer is called; nothing means "Other".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_label: Option<String>,
    /// More than one can be chosen.
    #[serde(default, skip_serializing_if = "is_false")]
    pub multiple: bool,
    /// What is chosen before anyone chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// The answer must not be shown or recorded.
    #[serde(default)]
    pub is_secret: bool,
    /// What can be chosen; nothing means free text.
    #[serde(default)]
    pub options: Option<Vec<QuestionOption>>,
}

/// One answer to choose.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionOption {
    /// Its name in the answer; nothing means that the label is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What is chosen.
    pub label: String,
    /// What that means.
    #[serde(default)]
    pub description: String,
}

/// What an ask is about, in full: what a person must see before answering.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Subject {
    /// A command.
    Command {
        /// The command line, as the shell gets it.
        command: String,
        /// Its words, where no shell gets it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        argv: Vec<String>,
        /// Where it runs.
        cwd: String,
        /// It is input for a terminal that runs outside the sandbox, not a command.
        #[serde(default)]
        write_stdin: bool,
        /// The host that a managed network wants to reach.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
    },
    /// Changes of files.
    FileChange {
        /// Each file.
        changes: Vec<Change>,
        /// The directory that would be opened for writing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grant_root: Option<String>,
    },
    /// More permissions.
    Permissions {
        /// Which, in the agent's own words.
        permissions: Value,
        /// Where.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
    },
    /// Questions.
    Question {
        /// Each of them.
        questions: Vec<Question>,
    },
    /// A form of an MCP server.
    Form {
        /// The server.
        server: String,
        /// What it says.
        message: String,
        /// The form: a flat object schema.
        schema: Value,
    },
    /// A page that an MCP server wants opened.
    Url {
        /// The server.
        server: String,
        /// What it says.
        message: String,
        /// The page.
        url: String,
    },
    /// A call of an MCP server's tool.
    Tool {
        /// The server.
        server: String,
        /// What the agent says about it.
        message: String,
        /// The tool.
        tool: String,
        /// Its arguments.
        params: Value,
    },
    /// The session itself: a caller wants to have it. No agent asks this, and none is told.
    Adoption {
        /// Who would have it.
        caller: String,
        /// What the caller's program calls itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client: Option<String>,
    },
}

impl QuestionOption {
    /// What an answer calls it.
    pub fn name(&self) -> &str {
        self.id.as_deref().unwrap_or(&self.label)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

impl Subject {
    /// The kind of ask that it makes.
    pub fn kind(&self) -> AskKind {
        match self {
            Self::Command { .. } => AskKind::Command,
            Self::FileChange { .. } => AskKind::FileChange,
            Self::Permissions { .. } | Self::Adoption { .. } => AskKind::Permissions,
            Self::Question { .. } => AskKind::Question,
            Self::Form { .. } | Self::Url { .. } | Self::Tool { .. } => AskKind::Elicitation,
        }
    }

    /// The fingerprint that binds an answer to what was shown.
    pub fn digest(&self) -> String {
        // Computed once, when the ask is raised, and on record from then on.
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        let hash = Sha256::digest(&bytes);
        hash.iter().fold(String::with_capacity(64), |res, it| {
            res + HEX[usize::from(it >> 4)] + HEX[usize::from(it & 15)]
        })
    }
}

const HEX: [&str; 16] =
    ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c", "d", "e", "f"];
