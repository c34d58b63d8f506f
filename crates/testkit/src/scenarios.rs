//! Conversations with a real Codex that can be recorded again, by name.

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::{
    AppServer, Recording, ScriptedModel,
    recording::{Header, Line},
};

/// A conversation that can be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// A prompt and an answer.
    PlainTurn,
    /// An answer that comes a word at a time, after some thought.
    StreamingDeltas,
    /// A command that is accepted.
    CmdApprovalAccept,
    /// A command that is declined.
    CmdApprovalDecline,
    /// A command that is declined, ending the turn.
    CmdApprovalCancel,
    /// A new file that is accepted.
    FileChangeAccept,
    /// A new file that is declined.
    FileChangeDecline,
    /// An interrupt while a command waits for its approval.
    TurnInterruptApprovalPending,
    /// A second message while the turn runs.
    Steer,
    /// A thread that another process takes up.
    Resume,
    /// A thread that branches off another.
    Fork,
    /// A form that an MCP server asks to fill in.
    McpElicitationFormAccept,
}

impl Scenario {
    /// Every scenario.
    pub const ALL: [Self; 12] = [
        Self::PlainTurn,
        Self::StreamingDeltas,
        Self::CmdApprovalAccept,
        Self::CmdApprovalDecline,
        Self::CmdApprovalCancel,
        Self::FileChangeAccept,
        Self::FileChangeDecline,
        Self::TurnInterruptApprovalPending,
        Self::Steer,
        Self::Resume,
        Self::Fork,
        Self::McpElicitationFormAccept,
    ];

    /// The name, which is also the recording's.
    pub fn name(self) -> &'static str {
        match self {
            Self::PlainTurn => "plain_turn",
            Self::StreamingDeltas => "streaming_deltas",
            Self::CmdApprovalAccept => "cmd_approval_accept",
            Self::CmdApprovalDecline => "cmd_approval_decline",
            Self::CmdApprovalCancel => "cmd_approval_cancel",
            Self::FileChangeAccept => "file_change_accept",
            Self::FileChangeDecline => "file_change_decline",
            Self::TurnInterruptApprovalPending => "turn_interrupt_approval_pending",
            Self::Steer => "steer",
            Self::Resume => "resume",
            Self::Fork => "fork",
            Self::McpElicitationFormAccept => "mcp_elicitation_form_accept",
        }
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Scenario {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> anyhow::Result<Self> {
        let found = Self::ALL.into_iter().find(|it| it.name() == name);
        found.with_context(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("there is no scenario {name}; there are {names}")
        })
    }
}

/// Plays a scenario with a real Codex and returns what was said.
pub async fn record(scenario: Scenario, codex: &Path) -> anyhow::Result<Recording> {
    let mut stage = Stage::set(codex).await?;
    stage.play(scenario).await.with_context(|| format!("in the scenario {scenario}"))?;
    stage.server.close().await?;
    let header = Header {
        version: version_of(codex).await?,
        scenario: scenario.name().into(),
        recorder: concat!("pilothouse-testkit ", env!("CARGO_PKG_VERSION")).into(),
    };
    Ok(Recording::new(header, stage.into_lines()?))
}

async fn version_of(codex: &Path) -> anyhow::Result<String> {
    let output = tokio::process::Command::new(codex).arg("--version").output().await?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split_whitespace().nth(1).context("Codex does not tell its version")?;
    Ok(version.to_owned())
}

const COMMAND: &str = "go\nSCRIPT:[\
    [{\"msg\": \"I will run it.\", \"phase\": \"commentary\"},\
     {\"cmd\": \"mkdir -p sub && echo hi > sub/f.txt\"}],\
    [{\"msg\": \"finished\", \"phase\": \"final_answer\"}]]";

const PATCH: &str = "patch\nSCRIPT:[\
    [{\"patch\": \"*** Begin Patch\\n*** Add File: hello.txt\\n+hello\\n*** End Patch\\n\"}],\
    [{\"msg\": \"patched\", \"phase\": \"final_answer\"}]]";

struct Stage {
    codex: PathBuf,
    model: ScriptedModel,
    env: Vec<(String, String)>,
    project: tempfile::TempDir,
    probe: PathBuf,
    server: AppServer,
    /// What earlier processes said.
    earlier: Vec<Line>,
}

impl Stage {
    async fn set(codex: &Path) -> anyhow::Result<Self> {
        let model = ScriptedModel::start().await?;
        let project = tempfile::Builder::new().prefix("project-").tempdir()?;
        let probe = crate::bin("probe-mcp")?;
        let mut env = model.env();
        // A login shell would run the recording person's own profile, and show what it prints.
        env.push(("HOME".into(), model.codex_home().display().to_string()));
        let server = AppServer::start(codex, project.path(), &env)?;
        Ok(Self { codex: codex.into(), model, env, project, probe, server, earlier: Vec::new() })
    }

    async fn play(&mut self, scenario: Scenario) -> anyhow::Result<()> {
        if scenario == Scenario::McpElicitationFormAccept {
            // Codex reads its configuration when a thread starts.
            let table = format!("[mcp_servers.probe]\ncommand = \"{}\"\n", self.probe.display());
            self.model.write_codex_home_with(self.model.codex_home(), &table)?;
        }
        self.server.initialize().await?;
        match scenario {
            Scenario::PlainTurn => self.plain_turn().await,
            Scenario::StreamingDeltas => self.streaming_deltas().await,
            Scenario::CmdApprovalAccept => self.command("accept").await,
            Scenario::CmdApprovalDecline => self.command("decline").await,
            Scenario::CmdApprovalCancel => self.command("cancel").await,
            Scenario::FileChangeAccept => self.file_change("accept").await,
            Scenario::FileChangeDecline => self.file_change("decline").await,
            Scenario::TurnInterruptApprovalPending => self.interrupt().await,
            Scenario::Steer => self.steer().await,
            Scenario::Resume => self.resume().await,
            Scenario::Fork => self.fork().await,
            Scenario::McpElicitationFormAccept => self.elicitation().await,
        }
    }

    async fn plain_turn(&mut self) -> anyhow::Result<()> {
        let thread = self.thread("on-request").await?;
        self.say(&thread, "hello\nSCRIPT:[[{\"msg\": \"Hello to you.\"}]]").await
    }

    async fn streaming_deltas(&mut self) -> anyhow::Result<()> {
        let thread = self.thread("on-request").await?;
        let script = json!([[
            {"reason": ["**Looking**\n\nat it", "**Thinking**\n\nabout it"]},
            {"words": 20, "phase": "final_answer"},
        ]]);
        self.say(&thread, &format!("stream\nSCRIPT:{script}")).await
    }

    async fn command(&mut self, decision: &str) -> anyhow::Result<()> {
        let thread = self.thread("untrusted").await?;
        self.server.start_turn(&thread, COMMAND).await?;
        self.decide("item/commandExecution/requestApproval", decision).await
    }

    async fn file_change(&mut self, decision: &str) -> anyhow::Result<()> {
        let thread = self.thread("untrusted").await?;
        self.server.start_turn(&thread, PATCH).await?;
        self.decide("item/fileChange/requestApproval", decision).await
    }

    async fn interrupt(&mut self) -> anyhow::Result<()> {
        let thread = self.thread("untrusted").await?;
        let turn = self.server.start_turn(&thread, COMMAND).await?;
        self.server.wait_for_method("item/commandExecution/requestApproval").await?;
        let params = json!({"threadId": thread, "turnId": turn});
        self.server.call("turn/interrupt", params).await?;
        self.server.wait_for_method("turn/completed").await?;
        self.server.wait_for_method("serverRequest/resolved").await?;
        Ok(())
    }

    async fn steer(&mut self) -> anyhow::Result<()> {
        let thread = self.thread("on-request").await?;
        let prompt = "first\nSCRIPT:[[{\"msg\": \"working on it\"}, {\"gate\": \"steer\"}],\
                      [{\"msg\": \"as you wish\"}]]";
        let turn = self.server.start_turn(&thread, prompt).await?;
        let said = |it: &Value| it["params"]["item"]["type"] == "agentMessage";
        self.server.wait_for(|it| it["method"] == "item/completed" && said(it)).await?;
        self.model.reached_gate("steer").await?;
        let input = json!([{"type": "text", "text": "rather the second"}]);
        let params = json!({"threadId": thread, "expectedTurnId": turn, "input": input});
        self.server.call("turn/steer", params).await?;
        self.model.open_gate("steer");
        self.end_of_turn().await
    }

    async fn resume(&mut self) -> anyhow::Result<()> {
        let thread = self.thread("on-request").await?;
        self.say(&thread, "first\nSCRIPT:[[{\"msg\": \"one\"}]]").await?;
        self.server.close().await?;
        let next = AppServer::start(&self.codex, self.project.path(), &self.env)?;
        let first = std::mem::replace(&mut self.server, next);
        self.earlier.extend_from_slice(first.recorded());
        self.server.initialize().await?;
        let params = json!({"threadId": thread, "excludeTurns": true});
        self.server.call("thread/resume", params).await?;
        self.say(&thread, "second\nSCRIPT:[[{\"msg\": \"two\"}]]").await
    }

    async fn fork(&mut self) -> anyhow::Result<()> {
        let thread = self.thread("on-request").await?;
        self.say(&thread, "first\nSCRIPT:[[{\"msg\": \"one\"}]]").await?;
        let params = json!({"threadId": thread, "excludeTurns": true});
        let result = self.server.call("thread/fork", params).await?;
        let fork = result["thread"]["id"].as_str().context("the fork has no id")?.to_owned();
        self.say(&fork, "second\nSCRIPT:[[{\"msg\": \"two\"}]]").await
    }

    async fn elicitation(&mut self) -> anyhow::Result<()> {
        let thread = self.thread("on-request").await?;
        let script = json!([[{"call": "ask_form", "ns": "mcp__probe"}], [{"msg": "asked"}]]);
        self.server.start_turn(&thread, &format!("form\nSCRIPT:{script}")).await?;
        let request = self.server.wait_for_method("mcpServer/elicitation/request").await?;
        let content = json!({"name": "Ada", "age": 36, "color": "green", "agree": true});
        self.server.answer(&request, json!({"action": "accept", "content": content})).await?;
        self.end_of_turn().await
    }

    async fn thread(&mut self, policy: &str) -> anyhow::Result<String> {
        let cwd = self.project.path();
        let params = json!({"approvalPolicy": policy, "sandbox": "workspace-write", "cwd": cwd});
        self.server.start_thread(params).await
    }

    async fn say(&mut self, thread: &str, prompt: &str) -> anyhow::Result<()> {
        self.server.start_turn(thread, prompt).await?;
        self.end_of_turn().await
    }

    async fn decide(&mut self, method: &str, decision: &str) -> anyhow::Result<()> {
        let request = self.server.wait_for_method(method).await?;
        self.server.answer(&request, json!({"decision": decision})).await?;
        self.end_of_turn().await
    }

    async fn end_of_turn(&mut self) -> anyhow::Result<()> {
        let completed = self.server.wait_for_method("turn/completed").await?;
        let status = &completed["params"]["turn"]["status"];
        ensure!(status != "failed", "the turn failed: {completed}");
        Ok(())
    }

    /// Everything that was said, without what tells where it was recorded.
    fn into_lines(self) -> anyhow::Result<Vec<Line>> {
        let places = [
            (self.probe.display().to_string(), "/home/dev/probe-mcp"),
            (self.project.path().display().to_string(), "/home/dev/project"),
            (self.model.codex_home().display().to_string(), "/home/dev/.codex"),
            (self.model.base_url(), "http://127.0.0.1:1/v1"),
        ];
        let lines = self.earlier.iter().chain(self.server.recorded());
        lines
            .map(|line| {
                let mut text = line.msg.to_string();
                for (place, name) in &places {
                    text = text.replace(place.as_str(), name);
                }
                let mut msg: Value = serde_json::from_str(&text)?;
                if msg["method"] == "remoteControl/status/changed" {
                    msg["params"]["serverName"] = "vm".into();
                }
                Ok(Line { msg, ..line.clone() })
            })
            .collect()
    }
}
