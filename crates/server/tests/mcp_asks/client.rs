//! An MCP client that is asked things: it says what a test tells it to, in either era.

use std::{collections::VecDeque, path::Path, process::Stdio, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, Command},
    time::timeout,
};

/// Longer than anything that a test waits for.
pub(crate) const LONG: Duration = Duration::from_secs(30);

type Reading = Lines<BufReader<Box<dyn AsyncRead + Send + Unpin>>>;

pub(crate) struct Client {
    write: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    lines: Reading,
    n_requests: u64,
    /// What came while something else was waited for.
    kept: VecDeque<Value>,
    /// What each request says of its client where there is no handshake.
    meta: Option<Value>,
    child: Option<Child>,
}

impl Client {
    pub(crate) fn over<R, W>(read: R, write: W) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let read: Box<dyn AsyncRead + Send + Unpin> = Box::new(read);
        Self {
            write: Some(Box::new(write)),
            lines: BufReader::new(read).lines(),
            n_requests: 0,
            kept: VecDeque::new(),
            meta: None,
            child: None,
        }
    }

    /// Of the program, with the tools that ask.
    pub(crate) fn spawn(home: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pilothouse"))
            .args(["mcp", "--tools", "codex,choice,form"])
            .env("PILOTHOUSE_HOME", home)
            .env_remove("PILOTHOUSE_STORE")
            .env_remove("CODEX_MCP_BINARY")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (read, write) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        Self { child: Some(child), ..Self::over(read, write) }
    }

    /// As a client with a handshake.
    pub(crate) async fn connect(&mut self, version: &str, name: &str, able: Value) {
        let about = json!({"name": name, "version": "1"});
        let mut params = json!({"protocolVersion": version, "clientInfo": about});
        params["capabilities"] = able;
        let id = self.send("initialize", params).await;
        self.reply_to(id).await;
        self.line(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    }

    /// As a client whose every request says who it is.
    pub(crate) fn stateless(&mut self, name: &str, able: Value) {
        let mut meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": name, "version": "1"},
        });
        meta["io.modelcontextprotocol/clientCapabilities"] = able;
        self.meta = Some(meta);
    }

    pub(crate) async fn line(&mut self, message: &Value) {
        let write = self.write.as_mut().unwrap();
        write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        write.flush().await.unwrap();
    }

    pub(crate) async fn send(&mut self, method: &str, mut params: Value) -> u64 {
        self.n_requests += 1;
        let id = self.n_requests;
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.line(&request).await;
        id
    }

    /// The next message that is wanted; the others are kept.
    pub(crate) async fn wanted(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(index) = self.kept.iter().position(&wanted) {
            return self.kept.remove(index).unwrap();
        }
        loop {
            let line = timeout(LONG, self.lines.next_line()).await.unwrap().unwrap();
            let message: Value = serde_json::from_str(&line.expect("the server is gone")).unwrap();
            if wanted(&message) {
                return message;
            }
            self.kept.push_back(message);
        }
    }

    async fn reply_to(&mut self, id: u64) -> Value {
        self.wanted(|it| it.get("method").is_none() && it["id"] == id).await
    }

    /// Begins a call.
    pub(crate) async fn begin(&mut self, tool: &str, arguments: &Value) -> u64 {
        self.send("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    /// What a call came to, whatever it is.
    pub(crate) async fn result(&mut self, id: u64) -> Value {
        let mut reply = self.reply_to(id).await;
        let result = reply["result"].take();
        assert!(!result.is_null(), "{reply}");
        result
    }

    /// Calls a tool; gives its result.
    pub(crate) async fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let id = self.begin(tool, arguments).await;
        self.result(id).await
    }

    /// Calls a tool that must succeed; gives its structured content.
    pub(crate) async fn done(&mut self, tool: &str, arguments: &Value) -> Value {
        content(self.call(tool, arguments).await)
    }

    /// Calls again, with the replies to what the first call's result asked.
    pub(crate) async fn retry(
        &mut self,
        tool: &str,
        arguments: &Value,
        asked: &Value,
        reply: Option<Value>,
    ) -> Value {
        let mut params = json!({
            "name": tool, "arguments": arguments, "requestState": asked["requestState"],
        });
        if let Some(reply) = reply {
            params["inputResponses"] = json!({ "ask": reply });
        }
        let id = self.send("tools/call", params).await;
        self.result(id).await
    }

    /// The next question that the server asks on the connection.
    pub(crate) async fn asked(&mut self) -> Value {
        self.wanted(|it| it["method"] == "elicitation/create").await
    }

    /// Replies to it.
    pub(crate) async fn reply(&mut self, asked: &Value, result: Value) {
        self.line(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result})).await;
    }

    pub(crate) async fn note(&mut self, method: &str) -> Value {
        self.wanted(|it| it["method"] == method).await
    }

    /// Whether the server has asked anything so far.
    pub(crate) fn was_asked(&self) -> bool {
        self.kept.iter().any(|it| it["method"] == "elicitation/create")
    }

    /// Ends the connection.
    pub(crate) async fn leave(&mut self) {
        self.write = None;
        if let Some(mut child) = self.child.take() {
            timeout(LONG, child.wait()).await.unwrap().unwrap();
        }
    }
}

/// The structured content of a result that is no error.
pub(crate) fn content(mut result: Value) -> Value {
    assert_eq!(result["isError"], false, "{result}");
    result["structuredContent"].take()
}

/// The error of a result that is one.
pub(crate) fn error(mut result: Value) -> Value {
    assert_eq!(result["isError"], true, "{result}");
    result["structuredContent"]["error"].take()
}
