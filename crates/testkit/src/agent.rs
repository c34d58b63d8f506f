//! A scripted Codex: it speaks the app-server protocol on stdio, and does on cue what the real
//! one only does by accident.
//!
//! A script is a list of rules in JSON: `[{"on": {"method": "turn/start", "nth": 1}, "do": […]}]`.
//! The first rule that matches a message says what happens; without one, the agent does what
//! Codex would. In all texts of a script, `$threadId`, `$turnId`, `$id` and `$cwd` stand for
//! what belongs to the message that set the rule off.

mod approval;
mod defaults;
mod mischief;
mod names;
mod play;
mod shapes;

use std::{
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
pub use defaults::version;
pub use mischief::{
    GRANDCHILD, LEFT_BEHIND, be_grandchild, be_left_behind, ignore_sigterm, write_pid,
};
pub use play::run;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Names the file with the script.
pub const SCRIPT_VARIABLE: &str = "FAKE_CODEX_SCRIPT";

/// Names the file to which every line that the agent hears is appended.
pub const LOG_VARIABLE: &str = "FAKE_CODEX_LOG";

/// Replaces the version that the agent claims to be.
pub const VERSION_VARIABLE: &str = "FAKE_CODEX_VERSION";

/// The version that the agent claims to be.
pub const VERSION: &str = "0.171.0";

/// The "method" of the moment before anything is read.
pub const START: &str = "$start";

/// The "method" of the end of standard input; without a rule the agent exits with 0.
pub const EOF: &str = "$eof";

/// What to do when a message comes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The message.
    pub on: On,
    /// What to do, in order.
    #[serde(rename = "do")]
    pub actions: Vec<Action>,
}

/// Which messages a rule is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct On {
    /// The method of a request or notification, or [`START`], or [`EOF`].
    pub method: String,
    /// Only the nth of its method, counted from 1; every one without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nth: Option<u64>,
}

/// One thing that the agent does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// What would happen without the rule.
    Default,
    /// Sends a message.
    Send(Value),
    /// Answers the message with this result.
    Answer(Value),
    /// Answers the message with an error.
    Refuse {
        /// The JSON-RPC code.
        code: i64,
        /// What a person reads.
        message: String,
    },
    /// Answers a `turn/start` and tells that the turn has begun. [`Action::EndTurn`] ends it.
    BeginTurn,
    /// Says something in the turn.
    Message(String),
    /// Asks for the approval of a command, waits for the answer and tells what became of it.
    Ask(Ask),
    /// Asks for the approval of a new file with this content; likewise.
    AskFile {
        /// Where the file would be.
        path: String,
        /// What it would hold.
        content: String,
    },
    /// Ends the turn as `completed`, `failed` or `interrupted`.
    EndTurn(String),
    /// Writes this text as it is, without a line feed.
    Raw(String),
    /// Writes these bytes as they are, for what is not UTF-8.
    RawBytes(Vec<u8>),
    /// Writes one line of about this many bytes, a valid delta.
    BigLine(usize),
    /// Writes this many deltas.
    Flood(u64),
    /// Writes this many bytes to standard error.
    Stderr(usize),
    /// Exits with a code.
    Exit(i32),
    /// Dies of SIGKILL.
    KillSelf,
    /// Stops reading and doing anything.
    Hang,
    /// Ignores SIGTERM from now on.
    IgnoreSigterm,
    /// Leaves a process behind, in a session of its own and adopted by init.
    SpawnChild(SpawnChild),
    /// Waits for the answer to a request that was sent with this id.
    ExpectReply(Value),
    /// Waits until a message of this method came and was dealt with.
    Expect(String),
    /// Waits until a file exists, so that a test says when to go on.
    WaitFile(PathBuf),
}

/// A command that needs an approval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The command, as a shell line.
    pub command: String,
    /// Why the agent wants to run it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it prints, if it is accepted.
    #[serde(default)]
    pub output: String,
}

/// A process that is left behind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpawnChild {
    /// It writes its process id here.
    pub pid_file: PathBuf,
    /// Whether it gets no environment at all, as Codex's MCP servers get little.
    #[serde(default)]
    pub clear_env: bool,
    /// Whether it ignores SIGTERM.
    #[serde(default)]
    pub ignore_sigterm: bool,
}

impl Rule {
    /// A rule for every message of a method.
    pub fn on(method: &str, actions: Vec<Action>) -> Self {
        Self { on: On { method: method.into(), nth: None }, actions }
    }

    /// A rule for the nth message of a method, counted from 1.
    pub fn on_nth(method: &str, nth: u64, actions: Vec<Action>) -> Self {
        Self { on: On { method: method.into(), nth: Some(nth) }, actions }
    }
}

/// A scripted Codex set up for one test: an executable, its script, and what it heard.
#[derive(Debug)]
pub struct FakeAgent {
    dir: tempfile::TempDir,
    program: PathBuf,
}

impl FakeAgent {
    /// Sets one up in a temporary folder.
    pub fn new(rules: &[Rule]) -> anyhow::Result<Self> {
        let dir = tempfile::Builder::new().prefix("fake-codex-").tempdir()?;
        let agent = Self { dir, program: crate::bin("fake-codex")? };
        agent.set_rules(rules)?;
        // The variables are in a wrapper, so that it works whatever environment it is given.
        let mut wrapper = vec!["#!/bin/sh".to_owned()];
        for (name, value) in agent.env() {
            wrapper.push(format!("export {name}={}", quoted(&value)));
        }
        let program = agent.program.display().to_string();
        wrapper.push(format!("exec {} \"$@\"\n", quoted(&program)));
        let executable = agent.executable();
        fs::write(&executable, wrapper.join("\n"))?;
        fs::set_permissions(&executable, fs::Permissions::from_mode(0o755))?;
        Ok(agent)
    }

    /// Replaces the rules, for agents that start from now on.
    pub fn set_rules(&self, rules: &[Rule]) -> anyhow::Result<()> {
        fs::write(self.dir.path().join("script.json"), serde_json::to_vec(rules)?)?;
        Ok(())
    }

    /// What to start in place of `codex`; it needs no variables.
    pub fn executable(&self) -> PathBuf {
        self.dir.path().join("codex")
    }

    /// The program behind [`FakeAgent::executable`], which needs [`FakeAgent::env`].
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The variables that the program needs.
    pub fn env(&self) -> Vec<(String, String)> {
        let path = |name: &str| self.dir.path().join(name).display().to_string();
        vec![
            (SCRIPT_VARIABLE.into(), path("script.json")),
            (LOG_VARIABLE.into(), path("heard.jsonl")),
        ]
    }

    /// A folder for files of the test, such as those of [`Action::WaitFile`].
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Every message that agents of this script heard, oldest first; `{"raw": …}` for a line that
    /// was not JSON.
    pub fn heard(&self) -> anyhow::Result<Vec<Value>> {
        let text = match fs::read_to_string(self.dir.path().join("heard.jsonl")) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error).context("Pilothouse could not read the agent's log"),
        };
        // The last line may be half written; what is whole ends in a line feed.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().map(|it| Ok(serde_json::from_str(it)?)).collect()
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
