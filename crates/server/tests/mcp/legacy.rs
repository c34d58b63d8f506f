//! `--compat codex` beside the server that it stands in for, call by call.
//!
//! `legacy/0.153.4.json` is what Codex 0.153.4's own `mcp-server` said. It is recorded by
//!
//! ```text
//! cargo xtask install 0.153.4
//! PILOTHOUSE_RECORD=1 cargo nextest run -p pilothouse-server --test mcp recorded
//! ```
//!
//! Where that version is installed the recording is held to the real server each time, too.

use std::path::{Path, PathBuf};

use pilothouse_testkit::{
    FakeAgent, ScriptedModel,
    agent::{Action, Ask, Rule},
    codex_binary, workspace_root,
};
use serde_json::{Map, Value, json};
use tokio::process::Command;

use crate::client::Client;

/// The last version that had the server.
const VERSION: &str = "0.153.4";
const COMMAND: &str = "mkdir -p sub && echo hi > sub/f.txt";

fn recording() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/legacy").join(format!("{VERSION}.json"))
}

/// The real server, if it is installed.
fn real_server() -> Option<PathBuf> {
    let packages = workspace_root().join(".tools/codex").join(VERSION).join("node_modules/@openai");
    let path = packages.join("codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex");
    path.is_file().then_some(path)
}

#[tokio::test]
async fn the_recorded_server_and_this_one_say_the_same() {
    let text = std::fs::read_to_string(recording()).unwrap_or_default();
    if std::env::var_os("PILOTHOUSE_RECORD").is_some() {
        let found = record(&real_server().expect("0.153.4 is not installed")).await;
        std::fs::write(recording(), serde_json::to_string_pretty(&found).unwrap() + "\n").unwrap();
        return;
    }
    let recorded: Value = serde_json::from_str(&text).unwrap();
    if let Some(server) = real_server() {
        compare(&recorded, &record(&server).await);
    }
    let model = ScriptedModel::start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let project = tempfile::tempdir().unwrap();
    let mut env = env(&model);
    env.push(("PILOTHOUSE_CODEX".to_owned(), codex_binary().unwrap().display().to_string()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_pilothouse"));
    command
        .args(["mcp", "--compat", "codex"])
        .env("PILOTHOUSE_HOME", home.path())
        .current_dir(project.path())
        .envs(env);
    let mine = play(command, project.path()).await;
    compare(&recorded, &mine);
}

/// All steps are the same, and the tools take and give at least what those did.
fn compare(recorded: &Value, mine: &Value) {
    let steps = |it: &Value| it["steps"].as_array().unwrap().clone();
    for (theirs, mine) in steps(recorded).iter().zip(steps(mine)) {
        assert_eq!(*theirs, mine, "{}", theirs["step"]);
    }
    assert_eq!(steps(recorded).len(), steps(mine).len());
    for (theirs, mine) in
        recorded["tools"].as_array().unwrap().iter().zip(mine["tools"].as_array().unwrap())
    {
        assert_eq!(theirs["name"], mine["name"]);
        assert_eq!(theirs["title"], mine["title"]);
        assert_eq!(theirs["outputSchema"], mine["outputSchema"]);
        assert_eq!(theirs["inputSchema"]["required"], mine["inputSchema"]["required"]);
        let closed = "additionalProperties";
        assert_eq!(theirs["inputSchema"].get(closed), mine["inputSchema"].get(closed));
        let mine = mine["inputSchema"]["properties"].as_object().unwrap();
        for (name, theirs) in theirs["inputSchema"]["properties"].as_object().unwrap() {
            assert_eq!(theirs["type"], mine[name]["type"], "{name}");
            let words = |it: &Value| it["enum"].as_array().cloned().unwrap_or_default();
            assert!(words(theirs).iter().all(|it| words(&mine[name]).contains(it)), "{name}");
        }
    }
}

fn env(model: &ScriptedModel) -> Vec<(String, String)> {
    let mut env = model.env();
    // A login shell would run the profile of whoever tests.
    env.push(("HOME".to_owned(), model.codex_home().display().to_string()));
    env.push(("SHELL".to_owned(), "/bin/bash".to_owned()));
    env
}

async fn record(server: &Path) -> Value {
    let model = ScriptedModel::start().await.unwrap();
    let project = tempfile::tempdir().unwrap();
    let mut command = Command::new(server);
    command.arg("mcp-server").current_dir(project.path()).envs(env(&model));
    play(command, project.path()).await
}

/// One client's conversation with either server.
struct Play {
    client: Client,
    project: PathBuf,
    steps: Vec<Value>,
    n_prompts: usize,
}

async fn play(command: Command, project: &Path) -> Value {
    let mut client = Client::of(command);
    client.initialize_as("2025-06-18", "tests", json!({"elicitation": {}})).await;
    let mut tools = client.request("tools/list", json!({})).await["result"]["tools"].take();
    without_words(&mut tools);
    let project = project.canonicalize().unwrap();
    let mut play = Play { client, project, steps: vec![], n_prompts: 0 };
    play.everything().await;
    json!({"tools": tools, "steps": play.steps})
}

/// Each server describes its tools in its own words.
fn without_words(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(without_words),
        Value::Object(fields) => {
            fields.retain(|name, value| name != "description" || !value.is_string());
            fields.values_mut().for_each(without_words);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

impl Play {
    async fn everything(&mut self) {
        let hello = self.script(&json!([[{"msg": "hello", "phase": "final_answer"}]]));
        let begin = |prompt: String, sandbox: &str| json!({"prompt": prompt, "approval-policy": "on-request", "sandbox": sandbox});
        let first = self.step("hello", "codex", begin(hello, "workspace-write"), json!({})).await;
        let thread = first["structuredContent"]["threadId"].clone();
        for (step, said) in [
            ("a command is approved", json!({"decision": "approved"})),
            ("a command is denied", json!({"decision": {"denied": {"rejection": "not now"}}})),
            ("both ways of saying yes", json!({"action": "accept", "decision": "approved"})),
            ("no wins over accept", json!({"action": "accept", "decision": "denied"})),
        ] {
            let prompt = self.script(&json!([
                [{"cmd": COMMAND, "sandbox_permissions": "require_escalated", "justification": "so"}],
                [{"msg": "finished", "phase": "final_answer"}],
            ]));
            let reply = json!({"threadId": thread, "prompt": prompt});
            self.step(step, "codex-reply", reply, said).await;
        }

        let hello = self.script(&json!([[{"msg": "hello", "phase": "final_answer"}]]));
        let second = begin(hello, "read-only");
        let second = self.step("a second thread", "codex", second, json!({})).await;
        let second = second["structuredContent"]["threadId"].clone();
        for (step, said) in [
            ("a change is denied", json!({"decision": {"denied": {"rejection": "no"}}})),
            ("a change is approved", json!({"decision": "approved"})),
        ] {
            let patch = "*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch\n";
            let prompt = self.script(&json!([[{"patch": patch}], [{"msg": "patched"}]]));
            let reply = json!({"conversationId": second, "prompt": prompt});
            self.step(step, "codex-reply", reply, said).await;
        }

        let prompt = self.script(&json!([[{"cmd": "echo hi; exit 3"}], [{"msg": "one"}]]));
        let all = json!({
            "prompt": prompt, "approval-policy": "never", "sandbox": "read-only", "cwd": ".",
            "model": "gpt-5.5", "config": {"model_reasoning_effort": "low"},
            "base-instructions": "b", "developer-instructions": "d", "compact-prompt": "c",
        });
        self.step("every argument", "codex", all, json!({})).await;
        let prompt = self.script(&json!([[{"http": 400, "message": "bad"}]]));
        let fails = json!({"prompt": prompt, "approval-policy": "never", "sandbox": "read-only"});
        self.step("a turn fails", "codex", fails, json!({})).await;
        for (step, tool, arguments) in [
            ("no prompt", "codex", json!({})),
            ("no such sandbox", "codex", json!({"prompt": "x", "sandbox": "zzz"})),
            ("no such argument", "codex", json!({"prompt": "x", "bogus": 1})),
            ("no thread", "codex-reply", json!({"prompt": "x"})),
            (
                "no such thread",
                "codex-reply",
                json!({"threadId": "0199a213-81c0-7800-8aa1-bbab2a035a53", "prompt": "x"}),
            ),
            ("no such tool", "nope", json!({})),
        ] {
            self.step(step, tool, arguments, json!({})).await;
        }
        self.taken_back(&thread).await;
        let prompt = self.script(&json!([[{"msg": "again"}]]));
        let reply = json!({"threadId": thread, "prompt": prompt});
        self.step("after that it goes on", "codex-reply", reply, json!({})).await;
    }

    /// A prompt with its script; none is like another, as scripts are counted by prompt.
    fn script(&mut self, steps: &Value) -> String {
        self.n_prompts += 1;
        format!("go {}\nSCRIPT:{steps}", self.n_prompts)
    }

    /// A call, with what was asked meanwhile and is answered like this.
    async fn step(&mut self, step: &str, tool: &str, arguments: Value, said: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let id = self.client.send("tools/call", params).await;
        let mut asked = vec![];
        let mut answer = loop {
            let message = self.client.next().await;
            if message["method"] == "elicitation/create" {
                let reply = json!({"jsonrpc": "2.0", "id": message["id"], "result": said});
                self.client.line(&reply.to_string()).await;
                asked.push(message["params"].clone());
            } else if message["id"] == id && message.get("method").is_none() {
                break message;
            }
        };
        let result = answer["result"].take();
        let made = ["sub/f.txt", "hello.txt"].iter().filter(|it| self.project.join(it).exists());
        let made: Vec<_> = made.collect();
        let mut found = json!({"step": step, "asked": asked, "result": result, "made": made});
        let thread = result["structuredContent"]["threadId"].as_str();
        let thread = thread.or_else(|| asked.first()?["threadId"].as_str()).map(str::to_owned);
        normalise(&mut found, &self.project, thread.as_deref());
        self.steps.push(found);
        std::fs::remove_dir_all(self.project.join("sub")).ok();
        result
    }

    /// A call that the client takes back while something is asked.
    async fn taken_back(&mut self, thread: &Value) {
        let prompt = self.script(&json!([
            [{"cmd": COMMAND, "sandbox_permissions": "require_escalated", "justification": "so"}],
            [{"msg": "never said"}],
        ]));
        let arguments = json!({"threadId": thread, "prompt": prompt});
        let params = json!({"name": "codex-reply", "arguments": arguments});
        let id = self.client.send("tools/call", params).await;
        let mut tells_events = false;
        loop {
            let message = self.client.next().await;
            tells_events |= message["method"] == "codex/event";
            if message["method"] == "elicitation/create" {
                break;
            }
        }
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        self.client.line(&cancel.to_string()).await;
        // What the real one is told before that is lost with the turn.
        while tells_events {
            let message = self.client.next().await;
            tells_events = message["params"]["msg"]["type"] != "turn_aborted";
        }
    }
}

/// What differs from run to run, and what MCP lets a server leave out.
fn normalise(found: &mut Value, project: &Path, thread: Option<&str>) {
    let project = project.display().to_string();
    match found {
        Value::String(text) => {
            *text = text.replace(&project, "<project>");
            if let Some(thread) = thread {
                *text = text.replace(thread, "<thread>");
            }
        }
        Value::Array(items) => {
            for item in items {
                normalise(item, Path::new(&project), thread);
            }
        }
        Value::Object(fields) => {
            fields.remove("_meta");
            if fields.get("isError") == Some(&json!(false)) {
                fields.remove("isError");
            }
            for name in ["codex_event_id", "codex_call_id", "codex_mcp_tool_call_id"] {
                if let Some(it) = fields.get_mut(name) {
                    assert!(it.as_str().is_some_and(|it| !it.is_empty()), "{name}: {it}");
                    *it = "<id>".into();
                }
            }
            *fields = std::mem::take(fields)
                .into_iter()
                .map(|(name, mut value)| {
                    normalise(&mut value, Path::new(&project), thread);
                    // Why a call was refused is told in each one's own words.
                    if name == "text"
                        && value.as_str().is_some_and(|it| it.starts_with("Failed to"))
                    {
                        value = value.as_str().unwrap().split(": ").next().unwrap().into();
                    }
                    (name.replace(&project, "<project>"), value)
                })
                .collect::<Map<_, _>>();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn completed() -> Action {
    Action::EndTurn("completed".to_owned())
}

fn asks() -> FakeAgent {
    let ask = Ask { command: "touch f".to_owned(), ..Ask::default() };
    let turn =
        vec![Action::BeginTurn, Action::Ask(ask), Action::Message("so".to_owned()), completed()];
    FakeAgent::new(&[Rule::on("turn/start", turn)]).unwrap()
}

async fn legacy_client(home: &Path, agent: &FakeAgent, able: Value) -> Client {
    let codex = agent.executable().display().to_string();
    let env = [("PILOTHOUSE_CODEX".to_owned(), codex)];
    let mut client = Client::spawn_with(home, &["--compat", "codex"], &env);
    client.initialize_as("2025-06-18", "tests", able).await;
    client
}

async fn begin(client: &mut Client) -> u64 {
    let arguments = json!({"prompt": "work", "approval-policy": "untrusted"});
    let params = json!({
        "name": "codex", "arguments": arguments, "_meta": {"progressToken": "p"},
    });
    client.send("tools/call", params).await
}

/// The next message of a method.
async fn until(client: &mut Client, method: &str) -> Value {
    loop {
        let message = client.next().await;
        if message["method"] == method {
            return message["params"].clone();
        }
    }
}

/// Another program of the same store, as one that a person might use.
async fn decide_elsewhere(home: &Path, agent: &FakeAgent, decision: &str) {
    let mut other = Client::start(home, agent).await;
    let all = json!({"action": "list", "scope": "all"});
    let listed = other.done("codex_session", all).await;
    let session = listed["sessions"][0]["sessionId"].as_str().unwrap().to_owned();
    let action = other.action(&session).await;
    assert_eq!(action["kind"], "command");
    let cancel = json!({"action": decision, "sessionId": session});
    other.done("codex_session", cancel).await;
}

#[tokio::test]
async fn the_first_progress_names_the_thread_and_the_next_where_to_answer() {
    let home = tempfile::tempdir().unwrap();
    let agent = asks();
    let mut client = legacy_client(home.path(), &agent, json!({})).await;
    let call = begin(&mut client).await;
    let first = until(&mut client, "notifications/progress").await;
    let thread = first["message"].as_str().unwrap().strip_prefix("threadId ").unwrap().to_owned();
    let second = until(&mut client, "notifications/progress").await;
    assert!(first["progress"].as_f64() < second["progress"].as_f64());
    let message = second["message"].as_str().unwrap();
    assert!(message.contains("pilothouse inbox") && message.contains("touch f"), "{message}");
    decide_elsewhere(home.path(), &agent, "interrupt").await;
    let result = client.result("codex", call).await;
    assert_eq!(result["structuredContent"]["threadId"], thread.as_str());
    assert_eq!(result["isError"], true);
}

#[tokio::test]
async fn a_form_that_is_answered_elsewhere_is_withdrawn() {
    let home = tempfile::tempdir().unwrap();
    let agent = asks();
    let mut client = legacy_client(home.path(), &agent, json!({"elicitation": {}})).await;
    let call = begin(&mut client).await;
    let asked = loop {
        let message = client.next().await;
        if message["method"] == "elicitation/create" {
            break message;
        }
    };
    assert_eq!(asked["params"]["codex_elicitation"], "exec-approval");
    decide_elsewhere(home.path(), &agent, "interrupt").await;
    let withdrawn = until(&mut client, "notifications/cancelled").await;
    assert_eq!(withdrawn["requestId"], asked["id"]);
    // Too late: it is no answer to anything any more.
    let late = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"decision": "approved"}});
    client.line(&late.to_string()).await;
    let result = client.result("codex", call).await;
    assert_eq!(result["isError"], true);
}

#[tokio::test]
async fn a_decline_that_no_person_can_have_given_leaves_the_ask_open() {
    let home = tempfile::tempdir().unwrap();
    let agent = asks();
    let mut client = legacy_client(home.path(), &agent, json!({"elicitation": {}})).await;
    let call = begin(&mut client).await;
    let asked = loop {
        let message = client.next().await;
        if message["method"] == "elicitation/create" {
            break message;
        }
    };
    let decline = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}});
    client.line(&decline.to_string()).await;
    let note = loop {
        let note = until(&mut client, "notifications/progress").await;
        let message = note["message"].as_str().unwrap().to_owned();
        if !message.starts_with("threadId") {
            break message;
        }
    };
    assert!(note.contains("pilothouse inbox"), "{note}");
    // It is still there for others to see, and nobody has declined it.
    decide_elsewhere(home.path(), &agent, "interrupt").await;
    assert_eq!(client.result("codex", call).await["isError"], true);
    let heard = agent.heard().unwrap();
    assert!(heard.iter().all(|it| it["result"]["decision"] != "decline"));
}

#[tokio::test]
async fn accept_alone_is_a_yes_as_mcp_means_it() {
    let home = tempfile::tempdir().unwrap();
    let agent = asks();
    let mut client = legacy_client(home.path(), &agent, json!({"elicitation": {}})).await;
    let call = begin(&mut client).await;
    let asked = loop {
        let message = client.next().await;
        if message["method"] == "elicitation/create" {
            break message;
        }
    };
    let accept =
        json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {}}});
    client.line(&accept.to_string()).await;
    let result = client.result("codex", call).await;
    assert_eq!(result["structuredContent"]["content"], "so", "{result}");
    let heard = agent.heard().unwrap();
    assert!(heard.iter().any(|it| it["result"]["decision"] == "accept"));
}
