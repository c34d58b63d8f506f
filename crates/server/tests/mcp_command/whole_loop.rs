//! The whole loop: the real Codex has our server for a tool, its model wants a command, a person
//! answers one card, and the model reads what came of it.

use std::{fmt::Write as _, io::Write as _, path::Path, time::Instant};

use pilothouse_testkit::{ScriptedModel, codex_binary};
use serde_json::{Value, json};

use crate::serve::{LONG, Serve};

#[tokio::test]
async fn a_model_asks_for_a_command_a_person_answers_one_card_and_the_model_reads_the_result() {
    let model = ScriptedModel::start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let project = tempfile::tempdir().unwrap();
    add_our_server(model.codex_home(), home.path());
    let mut vars = model.env();
    vars.push(("PILOTHOUSE_CODEX".to_owned(), codex_binary().unwrap().display().to_string()));
    let serve = Serve::start(home.path(), &vars);

    for (decision, told) in
        [("accept", "\\\"code\\\":0"), ("decline", "Command was rejected by the user.")]
    {
        let file = project.path().join(format!("{decision}.txt"));
        std::fs::write(&file, "here").unwrap();
        let arguments = json!({ "command": format!("rm {}", file.display()) });
        let call = json!({ "call": "run_command", "ns": "mcp__pilothouse", "args": arguments });
        let script = json!([[call], [{ "msg": "read it" }]]);
        let session = serve.post(
            "/api/v1/sessions",
            &json!({
                "prompt": format!("go\nSCRIPT:{script}"), "approvalPolicy": "on-request",
                "sandbox": "workspace-write", "cwd": project.path(),
            }),
        );
        let session = session["sessionId"].as_str().unwrap().to_owned();
        let echo = wait_for(&serve, &session, |it| it["type"] == "askEchoed");
        let ask = serve.the_ask();
        assert_ne!(ask["sessionId"], session, "the desk asks, not Codex's session");
        assert_eq!(echo["ask"], ask["requestId"]);
        assert!(ask["subject"]["command"].as_str().unwrap().starts_with("rm "), "{ask}");
        assert!(file.exists());
        serve.decide(&ask, decision);
        let end = wait_for(&serve, &session, |it| it["type"] == "turnEnded");
        assert!(end.to_string().contains("read it"), "{end}");
        assert_eq!(file.exists(), decision == "decline");
        let read = model.requests().last().unwrap().input_text();
        assert!(read.contains(told), "{read}");
        assert_eq!(serve.pending(), [Value::Null; 0]);
        let log = events(&serve, &session);
        assert!(!log.iter().any(|it| it["type"] == "askRaised"), "{log:?}");
    }
}

/// What `pilothouse` as an MCP server of Codex needs: Codex passes no environment on, and need not
/// ask whether it may ask.
fn add_our_server(codex_home: &Path, home: &Path) {
    let mut text = String::from("\n[mcp_servers.pilothouse]\n");
    writeln!(text, "command = {}", json!(env!("CARGO_BIN_EXE_pilothouse"))).unwrap();
    writeln!(text, "args = [\"mcp\", \"--tools\", \"command\"]").unwrap();
    writeln!(text, "default_tools_approval_mode = \"approve\"").unwrap();
    writeln!(text, "env = {{ PILOTHOUSE_HOME = {} }}", json!(home)).unwrap();
    let config = codex_home.join("config.toml");
    let mut file = std::fs::File::options().append(true).open(config).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn events(serve: &Serve, session: &str) -> Vec<Value> {
    let page = serve.get(&format!("/api/v1/sessions/{session}/events?after=0&limit=500"));
    let events = page["events"].as_array().unwrap_or_else(|| panic!("{page}"));
    events.iter().map(|it| it["event"].clone()).collect()
}

/// The first event of that kind, once it is there.
fn wait_for(serve: &Serve, session: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let until = Instant::now() + LONG;
    loop {
        let log = events(serve, session);
        if let Some(event) = log.iter().find(|it| wanted(it)) {
            return event.clone();
        }
        assert!(Instant::now() < until, "it never came: {log:#?}");
        std::thread::yield_now();
    }
}
