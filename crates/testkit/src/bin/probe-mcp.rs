//! A small MCP server on stdio, for use inside Codex: tools that ask, change, fail or only read.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, BufRead as _, Write as _},
    path::PathBuf,
    thread,
    time::Duration,
};

use anyhow::{Context as _, bail};
use pilothouse_testkit::agent;
use serde_json::{Value, json};

/// A server that ignores the end of its input ends by itself after this.
const LONGEST_LIFE: Duration = Duration::from_mins(10);

const USAGE: &str = "\
Usage: probe-mcp [--pid-file FILE] [--ignore-sigterm] [--ignore-eof]
";

fn main() -> anyhow::Result<()> {
    let mut given = std::env::args().skip(1);
    let (mut runtime, mut ignore_eof) = (None, false);
    while let Some(name) = given.next() {
        match name.as_str() {
            "--pid-file" => {
                let path = given.next().context("--pid-file needs a file")?;
                agent::write_pid(&PathBuf::from(path))?;
            }
            "--ignore-sigterm" => runtime = Some(agent::ignore_sigterm()?),
            "--ignore-eof" => ignore_eof = true,
            "--help" | "-h" => return Ok(write!(io::stdout(), "{USAGE}")?),
            other => bail!("no such option: {other}\n\n{USAGE}"),
        }
    }
    let mut server = Server::default();
    for line in io::stdin().lock().lines() {
        if let Ok(message) = serde_json::from_str::<Value>(&line?) {
            server.hear(&message)?;
        }
    }
    if ignore_eof {
        thread::sleep(LONGEST_LIFE);
    }
    drop(runtime);
    Ok(())
}

/// Remembers which call waits for which answer.
#[derive(Default)]
struct Server {
    n_requests: u64,
    waiting: BTreeMap<u64, Value>,
}

impl Server {
    fn hear(&mut self, message: &Value) -> anyhow::Result<()> {
        let id = &message["id"];
        match message["method"].as_str() {
            Some("initialize") => answer(
                id,
                &json!({
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "probe", "version": env!("CARGO_PKG_VERSION")},
                }),
            ),
            Some("ping") => answer(id, &json!({})),
            Some("tools/list") => answer(id, &json!({"tools": tools()})),
            Some("tools/call") => self.call(id, &message["params"]),
            Some(_) if id.is_null() => Ok(()),
            Some(_) => refuse(id, -32601, "no such method"),
            None => {
                let call = id.as_u64().and_then(|it| self.waiting.remove(&it));
                let Some(call) = call else { return Ok(()) };
                let given = message.get("result").unwrap_or(&message["error"]);
                text(&call, &format!("answer: {given}"))
            }
        }
    }

    fn call(&mut self, id: &Value, params: &Value) -> anyhow::Result<()> {
        let arguments = &params["arguments"];
        let said = arguments["text"].as_str().unwrap_or_default();
        match params["name"].as_str().unwrap_or_default() {
            "echo" => text(id, &format!("echo: {said}")),
            "write_thing" => {
                if let Some(path) = arguments["path"].as_str() {
                    fs::write(path, said)?;
                }
                text(id, &format!("wrote: {said}"))
            }
            "ask_form" => self.ask(
                id,
                &json!({
                    "mode": "form", "message": "Please fill in the form",
                    "requestedSchema": {
                        "type": "object", "required": ["name"],
                        "properties": {
                            "name": {"type": "string", "title": "Name", "description": "Your name"},
                            "age": {"type": "integer", "minimum": 0},
                            "color": {"type": "string", "enum": ["red", "green"]},
                            "agree": {"type": "boolean", "default": false},
                        },
                    },
                }),
            ),
            "ask_url" => self.ask(
                id,
                &json!({
                    "mode": "url", "message": "Please sign in", "elicitationId": "el-1",
                    "url": "https://example.com/auth?x=1",
                }),
            ),
            "progress" => {
                let token = &params["_meta"]["progressToken"];
                for step in 1..=3 {
                    if !token.is_null() {
                        let progress =
                            json!({"progressToken": token, "progress": step, "total": 3});
                        say(&json!({"method": "notifications/progress", "params": progress}))?;
                    }
                }
                text(id, "three steps done")
            }
            "structured" => answer(
                id,
                &json!({
                    "content": [{"type": "text", "text": "{\"a\":1}"}], "structuredContent": {"a": 1},
                }),
            ),
            "fail" => answer(
                id,
                &json!({
                    "content": [{"type": "text", "text": "it failed"}], "isError": true,
                }),
            ),
            "rpc_fail" => refuse(id, -32050, "the probe refuses"),
            other => refuse(id, -32602, &format!("no such tool: {other}")),
        }
    }

    fn ask(&mut self, call: &Value, params: &Value) -> anyhow::Result<()> {
        self.n_requests += 1;
        self.waiting.insert(self.n_requests, call.clone());
        say(&json!({"id": self.n_requests, "method": "elicitation/create", "params": params}))
    }
}

fn tools() -> Value {
    let reads = json!({"readOnlyHint": true});
    let writes = json!({"readOnlyHint": false, "destructiveHint": true});
    let tool = |name: &str, about: &str, arguments: Value, hints: &Value| {
        let schema = json!({"type": "object", "properties": arguments});
        json!({"name": name, "description": about, "inputSchema": schema, "annotations": hints})
    };
    let say = json!({"text": {"type": "string"}});
    let write = json!({"text": {"type": "string"}, "path": {"type": "string"}});
    json!([
        tool("echo", "Says it again", say, &reads),
        tool("write_thing", "Writes a text to a file", write, &writes),
        tool("ask_form", "Asks to fill in a form", json!({}), &reads),
        tool("ask_url", "Asks to open an address", json!({}), &reads),
        tool("progress", "Tells how far it is", json!({}), &reads),
        tool("structured", "Returns an object", json!({}), &reads),
        tool("fail", "Returns a failure", json!({}), &reads),
        tool("rpc_fail", "Answers with an error", json!({}), &reads),
    ])
}

fn text(id: &Value, said: &str) -> anyhow::Result<()> {
    answer(id, &json!({"content": [{"type": "text", "text": said}]}))
}

fn answer(id: &Value, result: &Value) -> anyhow::Result<()> {
    say(&json!({"id": id, "result": result}))
}

fn refuse(id: &Value, code: i64, message: &str) -> anyhow::Result<()> {
    say(&json!({"id": id, "error": {"code": code, "message": message}}))
}

fn say(message: &Value) -> anyhow::Result<()> {
    let mut message = message.clone();
    message["jsonrpc"] = "2.0".into();
    Ok(writeln!(io::stdout().lock(), "{message}")?)
}
