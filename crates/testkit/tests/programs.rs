//! The programs of this crate that others start: the model, the recorder and the MCP server.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use pilothouse_testkit::bin;
use serde_json::{Value, json};

#[test]
fn the_model_says_where_it_is_and_ends_with_its_input() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().join("codex-home");
    let mut model = Talk::start("scripted-model", &["--codex-home", home.to_str().unwrap()]);
    let place = model.hear();
    assert_eq!(place["codexHome"], home.to_str().unwrap());
    let config = std::fs::read_to_string(home.join("config.toml")).unwrap();
    assert!(config.contains(place["baseUrl"].as_str().unwrap()), "{config}");
    assert!(model.end().success());
}

#[test]
fn the_model_refuses_what_it_does_not_know() {
    for arguments in [["--nonsense", "1"], ["--port", "x"], ["--default", "x"]] {
        let output = Command::new(bin("scripted-model").unwrap()).args(arguments).output().unwrap();
        assert!(!output.status.success(), "{arguments:?}");
    }
}

#[test]
fn the_recorder_lists_its_scenarios() {
    let record = bin("record").unwrap();
    let output = Command::new(&record).arg("--list").output().unwrap();
    let names = String::from_utf8(output.stdout).unwrap();
    assert!(names.lines().any(|it| it == "cmd_approval_accept"), "{names}");
    let output = Command::new(&record).arg("nonsense").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("there is no scenario nonsense"), "{said}");
}

#[test]
fn the_probe_offers_tools_of_every_kind() {
    let dir = tempfile::tempdir().unwrap();
    let written = dir.path().join("written");
    let pid_file = dir.path().join("pid");
    let mut probe = Talk::start("probe-mcp", &["--pid-file", pid_file.to_str().unwrap()]);
    let hello = probe.call("initialize", &json!({"protocolVersion": "2025-06-18"}));
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
    let pid = std::fs::read_to_string(&pid_file).unwrap();
    assert_eq!(pid, probe.child.id().to_string());

    let tools = probe.call("tools/list", &json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap().clone();
    let mutating = tools.iter().filter(|it| it["annotations"]["readOnlyHint"] == false);
    assert_eq!(mutating.map(|it| &it["name"]).collect::<Vec<_>>(), ["write_thing"]);

    let text = "/result/content/0/text";
    let arguments = json!({"text": "hi", "path": written});
    let cases = [
        ("echo", text, json!("echo: hi")),
        ("write_thing", text, json!("wrote: hi")),
        ("structured", "/result/structuredContent", json!({"a": 1})),
        ("fail", "/result/isError", json!(true)),
        ("rpc_fail", "/error/code", json!(-32050)),
        ("progress", text, json!("three steps done")),
        ("nonsense", "/error/code", json!(-32602)),
    ];
    for (tool, pointer, expected) in cases {
        let reply = probe.call("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert_eq!(reply.pointer(pointer), Some(&expected), "{tool}: {reply}");
    }
    assert_eq!(std::fs::read_to_string(&written).unwrap(), "hi");

    for (tool, mode) in [("ask_form", "form"), ("ask_url", "url")] {
        let asked = probe.call("tools/call", &json!({"name": tool}));
        assert_eq!(asked["method"], "elicitation/create");
        assert_eq!(asked["params"]["mode"], mode);
        let answer = json!({"id": asked["id"], "result": {"action": "decline"}});
        probe.say(&answer);
        let reply = probe.hear();
        assert_eq!(reply.pointer(text), Some(&json!("answer: {\"action\":\"decline\"}")));
    }
    assert!(probe.end().success());
}

/// A program that one talks to in lines of JSON.
struct Talk {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    n_calls: u64,
}

impl Talk {
    fn start(name: &str, arguments: &[&str]) -> Self {
        let mut child = Command::new(bin(name).unwrap())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdin, stdout, n_calls: 0 }
    }

    /// Sends a request and returns what comes next.
    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.n_calls += 1;
        self.say(&json!({"id": self.n_calls, "method": method, "params": params}));
        self.hear()
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn end(mut self) -> std::process::ExitStatus {
        drop(self.stdin);
        self.child.wait().unwrap()
    }
}
