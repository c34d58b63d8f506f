//! The smallest MCP client: it says what it is told to, and checks every result as the SDKs do.

use std::{
    collections::BTreeMap,
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use pilothouse_testkit::FakeAgent;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

/// Longer than anything that a test waits for.
pub(crate) const LONG: Duration = Duration::from_secs(30);

pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    n_requests: u64,
    schemas: BTreeMap<String, jsonschema::Validator>,
    /// Notifications that came so far.
    notes: Vec<Value>,
    /// Answers that came while another was waited for.
    answers: Vec<Value>,
}

impl Client {
    /// Starts the program and says nothing yet.
    pub(crate) fn spawn(home: &Path, env: &[(String, String)]) -> Self {
        Self::spawn_with(home, &[], env)
    }

    /// The same, with more arguments.
    pub(crate) fn spawn_with(home: &Path, arguments: &[&str], env: &[(String, String)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pilothouse"));
        command
            .arg("mcp")
            .args(arguments)
            .env("PILOTHOUSE_HOME", home)
            .env_remove("PILOTHOUSE_STORE")
            .env_remove("CODEX_MCP_BINARY")
            .envs(env.iter().cloned());
        Self::of(command)
    }

    /// A client of any program.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let stdin = child.stdin.take();
        let schemas = BTreeMap::new();
        Self { child, stdin, lines, n_requests: 0, schemas, notes: vec![], answers: vec![] }
    }

    /// A client that is ready to call tools of a scripted Codex.
    pub(crate) async fn start(home: &Path, agent: &FakeAgent) -> Self {
        let codex = agent.executable().display().to_string();
        Self::start_with(home, &[("PILOTHOUSE_CODEX".to_owned(), codex)]).await
    }

    pub(crate) async fn start_with(home: &Path, env: &[(String, String)]) -> Self {
        let mut client = Self::spawn(home, env);
        client.initialize("2025-11-25").await;
        client
    }

    pub(crate) async fn initialize(&mut self, version: &str) -> Value {
        self.initialize_as(version, "tests", json!({})).await
    }

    pub(crate) async fn initialize_as(&mut self, version: &str, name: &str, able: Value) -> Value {
        let about = json!({"name": name, "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": able, "clientInfo": about});
        let res = self.request("initialize", params).await;
        self.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        let tools = self.request("tools/list", json!({})).await;
        for tool in tools["result"]["tools"].as_array().unwrap() {
            let validator = jsonschema::validator_for(&tool["outputSchema"]).unwrap();
            self.schemas.insert(tool["name"].as_str().unwrap().to_owned(), validator);
        }
        res
    }

    pub(crate) async fn line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).await.unwrap();
        stdin.write_all(b"\n").await.unwrap();
    }

    /// Sends a request and does not wait; gives its id.
    pub(crate) async fn send(&mut self, method: &str, params: Value) -> u64 {
        self.n_requests += 1;
        let id = self.n_requests;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.line(&request.to_string()).await;
        id
    }

    /// The answer to a request that was sent.
    pub(crate) async fn answer(&mut self, id: u64) -> Value {
        if let Some(index) = self.answers.iter().position(|it| it["id"] == id) {
            return self.answers.remove(index);
        }
        loop {
            let message = self.message().await;
            if message["id"] == id {
                return message;
            }
            self.answers.push(message);
        }
    }

    /// Whatever comes next.
    pub(crate) async fn next(&mut self) -> Value {
        let line = timeout(LONG, self.lines.next_line()).await.unwrap().unwrap();
        serde_json::from_str(&line.expect("the program ended")).unwrap()
    }

    /// The next message that is no notification.
    pub(crate) async fn message(&mut self) -> Value {
        loop {
            let message = self.next().await;
            if message.get("method").is_none() {
                return message;
            }
            self.notes.push(message);
        }
    }

    /// The next notification.
    pub(crate) async fn note(&mut self) -> Value {
        loop {
            if let Some(note) = self.notes.pop() {
                return note;
            }
            let message = self.next().await;
            if message.get("method").is_some() {
                return message;
            }
            self.answers.push(message);
        }
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        self.answer(id).await
    }

    /// Calls a tool; gives its whole result, which meets the tool's schema.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let id = self.send("tools/call", params).await;
        self.result(tool, id).await
    }

    /// The result of a call that was sent.
    pub(crate) async fn result(&mut self, tool: &str, id: u64) -> Value {
        let mut answer = self.answer(id).await;
        let result = answer["result"].take();
        assert!(!result.is_null(), "{answer}");
        let structured = &result["structuredContent"];
        if let Some(problem) = self.schemas[tool].iter_errors(structured).next() {
            panic!("{tool}: {problem}: {structured}");
        }
        result
    }

    /// Calls a tool that must succeed; gives its structured content.
    pub(crate) async fn done(&mut self, tool: &str, arguments: Value) -> Value {
        let mut result = self.call(tool, arguments).await;
        assert_eq!(result["isError"], false, "{result}");
        result["structuredContent"].take()
    }

    /// Calls a tool that must fail; gives the error, which its text repeats.
    pub(crate) async fn refused(&mut self, tool: &str, arguments: Value) -> Value {
        let mut result = self.call(tool, arguments).await;
        assert_eq!(result["isError"], true, "{result}");
        let error = result["structuredContent"]["error"].take();
        let start = format!(
            "Error [{}]: {}",
            error["code"].as_str().unwrap(),
            error["message"].as_str().unwrap()
        );
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with(&start), "{text}");
        error
    }

    /// Begins a session in a folder; gives its name.
    pub(crate) async fn session(&mut self, prompt: &str, policy: &str, cwd: &Path) -> String {
        let arguments = json!({
            "prompt": prompt, "approvalPolicy": policy, "sandbox": "workspace-write", "cwd": cwd,
        });
        let started = self.done("codex", arguments).await;
        started["sessionId"].as_str().unwrap().to_owned()
    }

    /// Polls until something is as wanted; gives the result that was.
    pub(crate) async fn poll_until(
        &mut self,
        session: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        let poll = json!({
            "action": "poll", "sessionId": session, "waitMs": 10_000, "maxEvents": 100,
        });
        let look = async {
            loop {
                let found = self.done("codex_check", poll.clone()).await;
                if wanted(&found) {
                    return found;
                }
            }
        };
        timeout(LONG, look).await.unwrap()
    }

    /// The first action of a session, once there is one.
    pub(crate) async fn action(&mut self, session: &str) -> Value {
        let found = self.poll_until(session, |it| it["actions"][0].is_object()).await;
        found["actions"][0].clone()
    }

    /// What the turn came to, once it has ended.
    pub(crate) async fn outcome(&mut self, session: &str) -> Value {
        let found = self.poll_until(session, |it| it["result"].is_object()).await;
        found["result"].clone()
    }

    pub(crate) async fn decide(&mut self, session: &str, action: &Value, decision: &str) -> Value {
        let arguments = json!({
            "action": "respond_permission", "sessionId": session,
            "requestId": action["requestId"], "decision": decision, "digest": action["digest"],
        });
        self.done("codex_check", arguments).await
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    pub(crate) fn end_input(&mut self) {
        self.stdin = None;
    }

    /// Ends the input and waits until the program is gone.
    pub(crate) async fn close(mut self) -> ExitStatus {
        self.end_input();
        self.gone().await
    }

    /// Waits until the program is gone, within the time that hosts give it.
    pub(crate) async fn gone(mut self) -> ExitStatus {
        timeout(Duration::from_secs(4), self.child.wait()).await.unwrap().unwrap()
    }
}

/// All processes below one, by the name of their program.
pub(crate) fn below(pid: u32) -> Vec<(u32, String)> {
    let mut found = vec![];
    let mut open = vec![pid];
    while let Some(pid) = open.pop() {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
        for task in tasks.into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(task.path().join("children"));
            for child in children.unwrap_or_default().split_whitespace() {
                let child: u32 = child.parse().unwrap();
                let name = std::fs::read_to_string(format!("/proc/{child}/comm"));
                found.push((child, name.unwrap_or_default().trim().to_owned()));
                open.push(child);
            }
        }
    }
    found
}

/// Whether a process of this id is there, and more than what its parent has yet to look at.
pub(crate) fn is_alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|it| it.rsplit(')').next().is_some_and(|it| !it.trim().starts_with('Z')))
}
