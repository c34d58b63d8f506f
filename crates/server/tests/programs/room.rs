//! Programs of Pilothouse on one home, a model behind the real Codex, and clients of each.

use std::{path::Path, process::Stdio, time::Duration};

use pilothouse_core::Seq;
use pilothouse_store::{SessionFilter, Sqlite, Store};
use pilothouse_testkit::{ScriptedModel, codex_binary};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines},
    net::TcpStream,
    process::{Child, ChildStdin, ChildStdout, Command},
};

pub(crate) const LONG: Duration = Duration::from_secs(25);

/// A home, a folder to work in, and a model.
pub(crate) struct Room {
    pub(crate) model: ScriptedModel,
    pub(crate) home: tempfile::TempDir,
    pub(crate) folder: tempfile::TempDir,
}

impl Room {
    pub(crate) async fn new() -> Self {
        let model = ScriptedModel::start().await.unwrap();
        let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        Self { model, home, folder }
    }

    pub(crate) fn program(&self, args: &[&str]) -> Command {
        self.furnish(Command::new(env!("CARGO_BIN_EXE_pilothouse")), args)
    }

    fn furnish(&self, mut command: Command, args: &[&str]) -> Command {
        command
            .args(args)
            .envs(self.model.env())
            .env("HOME", self.model.codex_home())
            .env("PILOTHOUSE_HOME", self.home.path())
            .env("PILOTHOUSE_CODEX", codex_binary().unwrap())
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// All events of the only session.
    pub(crate) async fn log(&self) -> Vec<Value> {
        log_in(self.home.path()).await
    }

    pub(crate) async fn mcp(&self) -> Mcp {
        self.mcp_as(Command::new(env!("CARGO_BIN_EXE_pilothouse"))).await
    }

    /// The same, by a command that starts the program.
    pub(crate) async fn mcp_as(&self, command: Command) -> Mcp {
        let mut child = self.furnish(command, &["mcp"]).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut mcp = Mcp { child, stdin, lines, n_sent: 0 };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        let id = mcp.request("initialize", hello).await;
        mcp.reply(id).await;
        mcp.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        mcp
    }

    pub(crate) async fn serve(&self) -> Serve {
        let mut child = self.program(&["serve", "--listen", "127.0.0.1:0"]).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = tokio::time::timeout(LONG, lines.next_line()).await.unwrap().unwrap().unwrap();
        let (url, code) = line.split_once("/#code=").unwrap();
        let address = url.rsplit('/').next().unwrap().to_owned();
        let mut serve = Serve { address, cookie: String::new(), _child: child, _lines: lines };
        let login = json!({"code": code.trim()}).to_string();
        let answer = serve.exchange("POST", "/api/v1/login", Some(&login)).await;
        let cookie = answer.lines().find_map(|it| {
            let (name, value) = it.split_once(": ")?;
            name.eq_ignore_ascii_case("set-cookie").then(|| value.split(';').next())?
        });
        cookie.unwrap().clone_into(&mut serve.cookie);
        serve
    }
}

/// All events of the only session in a home, read past every program, from the file itself.
pub(crate) async fn log_in(home: &Path) -> Vec<Value> {
    let store = Sqlite::open(&home.join("pilothouse.db")).unwrap();
    let store: &dyn Store = &*store;
    let rows = store.sessions(SessionFilter::default(), 10, None).await.unwrap().rows;
    assert_eq!(rows.len(), 1, "{rows:?}");
    let page = store.read(rows[0].session_id, Seq(0), 1_000).await.unwrap();
    store.close().await.unwrap();
    page.events.iter().map(|it| serde_json::to_value(&it.event).unwrap()).collect()
}

/// `pilothouse mcp` and a client of it.
pub(crate) struct Mcp {
    pub(crate) child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    n_sent: u64,
}

impl Mcp {
    pub(crate) async fn write(&mut self, message: &Value) {
        self.stdin.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> u64 {
        self.n_sent += 1;
        let id = self.n_sent;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    pub(crate) async fn send(&mut self, tool: &str, arguments: Value) -> u64 {
        self.request("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    pub(crate) async fn reply(&mut self, id: u64) -> Value {
        loop {
            let line = tokio::time::timeout(LONG, self.lines.next_line()).await.unwrap();
            let message: Value = serde_json::from_str(&line.unwrap().unwrap()).unwrap();
            if message["id"] == id {
                assert!(message.get("error").is_none(), "{message}");
                return message["result"].clone();
            }
        }
    }

    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.send(tool, arguments).await;
        self.reply(id).await
    }

    pub(crate) async fn start(&mut self, room: &Room, script: &Value) -> String {
        self.start_with(room, script, json!({"approvalTimeoutMs": 0})).await
    }

    pub(crate) async fn start_with(
        &mut self,
        room: &Room,
        script: &Value,
        advanced: Value,
    ) -> String {
        let arguments = json!({
            "prompt": format!("go\nSCRIPT:{script}"),
            "approvalPolicy": "untrusted",
            "sandbox": "workspace-write",
            "cwd": room.folder.path(),
            "advanced": advanced,
        });
        let started = self.call("codex", arguments).await;
        let session = started["structuredContent"]["sessionId"].as_str();
        session.unwrap_or_else(|| panic!("{started}")).to_owned()
    }

    pub(crate) async fn start_and_ask(&mut self, room: &Room, command: &str) -> (String, String) {
        let script = json!([[{"cmd": command}], [{"msg": "done"}]]);
        let session = self.start(room, &script).await;
        let ask = self.asked(&session).await;
        (session, ask)
    }

    /// The first question that a session waits with.
    pub(crate) async fn asked(&mut self, session: &str) -> String {
        let mut cursor = 0;
        loop {
            let polled = self.call("codex_check", poll(session, cursor, 20_000)).await;
            let result = &polled["structuredContent"];
            if let Some(ask) = result["actions"][0]["requestId"].as_str() {
                return ask.to_owned();
            }
            cursor = result["nextCursor"].as_u64().unwrap_or_else(|| panic!("{polled}"));
        }
    }

    /// Reads all that there is; gives where to read on.
    pub(crate) async fn drain(&mut self, session: &str) -> u64 {
        let mut cursor = 0;
        loop {
            let polled = self.call("codex_check", poll(session, cursor, 0)).await;
            let result = &polled["structuredContent"];
            let next = result["nextCursor"].as_u64().unwrap_or_else(|| panic!("{polled}"));
            if result["events"].as_array().unwrap().is_empty() {
                return next;
            }
            cursor = next;
        }
    }

    /// All events of a session, whole.
    pub(crate) async fn history(&mut self, session: &str) -> Vec<Value> {
        let mut arguments = poll(session, 0, 0);
        arguments["responseMode"] = json!("full");
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

    pub(crate) async fn finish(&mut self, session: &str) {
        let mut cursor = 0;
        loop {
            let polled = self.call("codex_check", poll(session, cursor, 20_000)).await;
            let result = &polled["structuredContent"];
            if result["status"] == "idle" {
                return;
            }
            assert_ne!(result["status"], "error", "{polled}");
            cursor = result["nextCursor"].as_u64().unwrap_or_else(|| panic!("{polled}"));
        }
    }

    pub(crate) async fn leave(mut self) {
        drop(self.stdin);
        let status = tokio::time::timeout(Duration::from_secs(2), self.child.wait()).await;
        assert!(status.unwrap().unwrap().success());
    }
}

pub(crate) fn poll(session: &str, cursor: u64, wait_ms: u64) -> Value {
    json!({"action": "poll", "sessionId": session, "cursor": cursor, "maxEvents": 100,
        "waitMs": wait_ms})
}

/// `pilothouse serve`, and a person who is logged in.
pub(crate) struct Serve {
    address: String,
    cookie: String,
    _child: Child,
    _lines: Lines<BufReader<ChildStdout>>,
}

impl Serve {
    pub(crate) async fn open(&self, method: &str, path: &str, body: Option<&str>) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let body = body.unwrap_or_default();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\ncookie: {}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            self.cookie,
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    }

    pub(crate) async fn exchange(&self, method: &str, path: &str, body: Option<&str>) -> String {
        let mut stream = self.open(method, path, body).await;
        let mut answer = String::new();
        tokio::time::timeout(LONG, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
        answer
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, body) = parse(&self.exchange("GET", path, None).await);
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        parse(&self.exchange("POST", path, Some(&body.to_string())).await)
    }

    pub(crate) async fn until(&self, session: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut feed = self.follow().await;
        loop {
            let view = self.get(&format!("/api/v1/sessions/{session}")).await;
            if wanted(&view) {
                return view;
            }
            feed.next().await;
        }
    }

    pub(crate) async fn follow(&self) -> Feed {
        let stream = self.open("GET", "/api/v1/feed", None).await;
        let mut feed = Feed { lines: BufReader::new(stream).lines() };
        while feed.next().await.0 != "live" {}
        feed
    }
}

pub(crate) fn parse(answer: &str) -> (u16, Value) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap();
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

pub(crate) struct Feed {
    lines: Lines<BufReader<TcpStream>>,
}

impl Feed {
    /// The name and data of the next event. Chunk sizes between them are passed over.
    pub(crate) async fn next(&mut self) -> (String, Value) {
        let mut name = String::new();
        loop {
            let line = tokio::time::timeout(LONG, self.lines.next_line()).await.unwrap();
            let line = line.unwrap().unwrap();
            if let Some(it) = line.strip_prefix("event: ") {
                it.clone_into(&mut name);
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return (name, serde_json::from_str(data).unwrap());
            }
        }
    }
}
