//! The smallest client of `codex app-server`: says what it is told to, and records both halves.

use std::{
    collections::VecDeque,
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::{Instant, timeout},
};

use crate::recording::{Direction, Line};

/// Longer than anything that a test waits for.
const WAIT: Duration = Duration::from_mins(1);

/// More messages than any test leaves unread.
const MAX_BACKLOG: usize = 100_000;

/// A running `codex app-server`, killed when dropped.
#[derive(Debug)]
pub struct AppServer {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    /// What came and nobody has waited for yet.
    backlog: VecDeque<Value>,
    next_id: u64,
    started: Instant,
    recorded: Vec<Line>,
}

impl AppServer {
    /// Starts a Codex, real or fake.
    pub fn start(program: &Path, cwd: &Path, env: &[(String, String)]) -> anyhow::Result<Self> {
        let mut child = Command::new(program)
            .arg("app-server")
            .current_dir(cwd)
            .envs(env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("Pilothouse could not start {}", program.display()))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().context("the agent has no standard output")?;
        Ok(Self {
            child,
            stdin,
            lines: BufReader::new(stdout).lines(),
            backlog: VecDeque::new(),
            next_id: 1,
            started: Instant::now(),
            recorded: Vec::new(),
        })
    }

    /// Shakes hands.
    pub async fn initialize(&mut self) -> anyhow::Result<Value> {
        let client = json!({"name": "testkit", "title": "Testkit", "version": "0.1.0"});
        let capabilities = json!({"experimentalApi": true});
        let params = json!({"clientInfo": client, "capabilities": capabilities});
        let result = self.call("initialize", params).await?;
        self.send(&json!({"method": "initialized"})).await?;
        Ok(result)
    }

    /// Starts a thread and returns its id.
    pub async fn start_thread(&mut self, params: Value) -> anyhow::Result<String> {
        let result = self.call("thread/start", params).await?;
        let id = result["thread"]["id"].as_str().context("the thread has no id")?;
        Ok(id.to_owned())
    }

    /// Starts a turn and returns its id.
    pub async fn start_turn(&mut self, thread: &str, prompt: &str) -> anyhow::Result<String> {
        let input = json!([{"type": "text", "text": prompt}]);
        let params = json!({"threadId": thread, "input": input});
        let result = self.call("turn/start", params).await?;
        let id = result["turn"]["id"].as_str().context("the turn has no id")?;
        Ok(id.to_owned())
    }

    /// Sends a request and returns its result; an error is an error.
    pub async fn call(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let reply = self.request(method, params).await?;
        if let Some(error) = reply.get("error") {
            bail!("{method}: {error}");
        }
        Ok(reply["result"].clone())
    }

    /// Sends a request and returns the whole reply.
    pub async fn request(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let id = json!(self.next_id);
        self.next_id += 1;
        self.send(&json!({"id": id, "method": method, "params": params})).await?;
        let is_reply = move |it: &Value| it.get("method").is_none() && it["id"] == id;
        self.wait_for(is_reply).await.with_context(|| format!("no reply to {method}"))
    }

    /// Answers a request of the agent's.
    pub async fn answer(&mut self, request: &Value, result: Value) -> anyhow::Result<()> {
        self.send(&json!({"id": request["id"], "result": result})).await
    }

    /// Sends any message.
    pub async fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        self.record(Direction::Out, message.clone());
        let stdin = self.stdin.as_mut().context("standard input is closed")?;
        stdin.write_all(format!("{message}\n").as_bytes()).await?;
        Ok(stdin.flush().await?)
    }

    /// The next message of a method.
    pub async fn wait_for_method(&mut self, method: &str) -> anyhow::Result<Value> {
        self.wait_for(|it| it["method"] == method)
            .await
            .with_context(|| format!("waiting for {method}"))
    }

    /// The next message that fits; the others stay for those who wait for them later.
    pub async fn wait_for(&mut self, fits: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
        if let Some(position) = self.backlog.iter().position(&fits)
            && let Some(message) = self.backlog.remove(position)
        {
            return Ok(message);
        }
        let deadline = Instant::now() + WAIT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = timeout(left, self.lines.next_line()).await.context("nothing came")??;
            let Some(line) = line else {
                self.note("stdout EOF");
                bail!("the agent closed its standard output");
            };
            let message = serde_json::from_str(&line).unwrap_or_else(|_| json!({"_raw": line}));
            self.record(Direction::In, message);
            let Some(Line { msg, .. }) = self.recorded.last() else { continue };
            if fits(msg) {
                return Ok(msg.clone());
            }
            anyhow::ensure!(self.backlog.len() < MAX_BACKLOG, "too many messages");
            self.backlog.push_back(msg.clone());
        }
    }

    /// Closes standard input, and no more: an agent in order leaves then.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Closes standard input, reads what is left and waits for the end.
    pub async fn close(&mut self) -> anyhow::Result<ExitStatus> {
        self.close_stdin();
        while let Some(line) = timeout(WAIT, self.lines.next_line()).await?? {
            let message = serde_json::from_str(&line).unwrap_or_else(|_| json!({"_raw": line}));
            self.record(Direction::In, message);
        }
        self.note("stdout EOF");
        Ok(timeout(WAIT, self.child.wait()).await??)
    }

    /// Sends SIGKILL and waits for the end.
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        self.note("SIGKILL");
        Ok(self.child.kill().await?)
    }

    /// The process, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Writes a remark into the recording.
    pub fn note(&mut self, text: &str) {
        self.record(Direction::Note, json!({"note": text}));
    }

    /// Both halves so far.
    pub fn recorded(&self) -> &[Line] {
        &self.recorded
    }

    fn record(&mut self, dir: Direction, msg: Value) {
        let t = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.recorded.push(Line { dir, t, msg });
    }
}
