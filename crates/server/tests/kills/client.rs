//! An MCP client of a program that may die at any moment, and what it was told until then.

use std::{collections::BTreeSet, process::Stdio, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::watch,
};

/// Longer than anything that is waited for.
const LONG: Duration = Duration::from_secs(25);
/// How long the program may take to leave.
const LEAVING: Duration = Duration::from_secs(4);

/// `pilothouse mcp` and its client.
pub(crate) struct Client {
    pub(crate) child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    n_sent: u64,
    /// How many lines it has said.
    said: watch::Sender<u64>,
}

/// What was acknowledged in one session.
#[derive(Debug)]
pub(crate) struct Told {
    /// How many requests are still to be answered; the next one is left waiting.
    pub(crate) answers: u64,
    pub(crate) session: Option<String>,
    pub(crate) cursor: u64,
    pub(crate) events: Vec<Value>,
    /// Requests that an answer was sent to.
    answered: BTreeSet<String>,
    /// Requests whose answer was taken.
    pub(crate) taken: Vec<String>,
    /// The session came to rest.
    pub(crate) rested: bool,
}

impl Told {
    /// Nothing yet, and so many answers to give.
    pub(crate) fn new(answers: u64) -> Self {
        Self {
            answers,
            session: None,
            cursor: 0,
            events: vec![],
            answered: BTreeSet::new(),
            taken: vec![],
            rested: false,
        }
    }
}

impl Client {
    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, stdin, lines, n_sent: 0, said: watch::Sender::new(0) }
    }

    /// Counts the lines that the program says.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.said.subscribe()
    }

    pub(crate) async fn greet(&mut self) {
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        self.request("initialize", hello).await;
        self.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    }

    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        self.n_sent += 1;
        let id = self.n_sent;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        loop {
            let line = tokio::time::timeout(LONG, self.lines.next_line()).await;
            let line = line.unwrap_or_else(|_| panic!("no answer to {method} {params}")).unwrap();
            self.said.send_modify(|it| *it += 1);
            let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
            if message["id"] == id {
                assert!(message.get("error").is_none(), "{message}");
                return message["result"].clone();
            }
        }
    }

    async fn write(&mut self, message: &Value) {
        self.stdin.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// Says yes to what is asked until the session rests or no answer is left; keeps what it is told.
    pub(crate) async fn follow(&mut self, told: &mut Told) {
        let session = told.session.clone().unwrap();
        told.rested = false;
        loop {
            let polled = self.call("codex_check", poll(&session, told.cursor, 20_000)).await;
            let result = &polled["structuredContent"];
            let events = result["events"].as_array().unwrap_or_else(|| panic!("{polled}"));
            told.events.extend(events.iter().cloned());
            told.cursor = result["nextCursor"].as_u64().unwrap();
            for action in result["actions"].as_array().into_iter().flatten() {
                let request = action["requestId"].as_str().unwrap().to_owned();
                if told.answers == 0 && !told.answered.contains(&request) {
                    return;
                }
                if told.answered.insert(request.clone()) {
                    told.answers -= 1;
                    let yes = json!({"action": "respond_permission", "sessionId": session,
                        "requestId": request, "decision": "accept"});
                    let answer = self.call("codex_check", yes).await;
                    if answer["isError"] != true {
                        told.taken.push(request);
                    }
                }
            }
            if !matches!(result["status"].as_str(), Some("running" | "waiting_approval")) {
                told.rested = true;
                return;
            }
        }
    }

    /// All events of a session, whole.
    pub(crate) async fn history(&mut self, session: &str) -> Vec<Value> {
        let mut arguments = poll(session, 0, 0);
        arguments["reader"] = json!("history");
        let mut res = vec![];
        loop {
            let polled = self.call("codex_check", arguments.clone()).await;
            let result = &polled["structuredContent"];
            let events = result["events"].as_array().unwrap_or_else(|| panic!("{polled}"));
            if events.is_empty() {
                return res;
            }
            res.extend(events.iter().cloned());
            arguments["cursor"] = result["nextCursor"].clone();
        }
    }

    pub(crate) async fn kill(&mut self) {
        self.child.start_kill().unwrap();
        self.child.wait().await.unwrap();
    }

    pub(crate) async fn leave(mut self) {
        drop(self.stdin);
        let status = tokio::time::timeout(LEAVING, self.child.wait()).await;
        assert!(status.unwrap().unwrap().success());
    }
}

fn poll(session: &str, cursor: u64, wait_ms: u64) -> Value {
    json!({"action": "poll", "sessionId": session, "cursor": cursor, "maxEvents": 100,
        "waitMs": wait_ms, "responseMode": "full"})
}
