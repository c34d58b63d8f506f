//! A Codex that does not do what it should: the caller hears what was wrong, in time.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, time::Instant};

use pilothouse_testkit::{
    FakeAgent,
    agent::{Action, Rule},
};
use serde_json::{Value, json};

use crate::client::Client;

/// Lines that are nothing, and more than anybody listens to.
const GARBLE: usize = 200;
/// Requests that are refused at once: more than wait for an agent that does not read.
const REQUESTS: usize = 4_000;

fn begin(change: &Value) -> Value {
    let mut arguments =
        json!({"prompt": "hello", "approvalPolicy": "never", "sandbox": "read-only"});
    for (name, value) in change.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    arguments
}

/// A program in Codex's place: it tells this version, and then does what the script says.
async fn client_of(home: &Path, version: &str, mode: &str, script: &str) -> Client {
    let program = home.join("codex");
    let text = format!(
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo codex-cli {version}; exit; fi\n{script}\n"
    );
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let env = [
        ("PILOTHOUSE_CODEX".to_owned(), program.display().to_string()),
        ("CODEX_MCP_MODE".to_owned(), mode.to_owned()),
    ];
    Client::start_with(home, &env).await
}

#[tokio::test]
async fn a_program_that_speaks_another_protocol_and_goes_on_is_not_waited_for() {
    let garble = format!("i=0; while [ $i -lt {GARBLE} ]; do echo \"line $i\"; i=$((i+1)); done");
    for (mode, version) in [("app-server", "0.171.0"), ("exec", "0.171.0"), ("proto", "0.42.0")] {
        for rest in ["exec sleep 600", "exit 0"] {
            let home = tempfile::tempdir().unwrap();
            let script = format!("{garble}\n{rest}");
            let mut client = client_of(home.path(), version, mode, &script).await;
            let error = client.refused("codex", begin(&json!({}))).await;
            assert_eq!(error["code"], "PROTOCOL_PARSE_ERROR", "{mode}, {rest}: {error}");
            let message = error["message"].as_str().unwrap();
            assert!(message.starts_with("Pilothouse could not understand Codex"), "{message}");
        }
    }
}

#[tokio::test]
async fn a_codex_that_does_not_answer_is_given_up_in_time() {
    let home = tempfile::tempdir().unwrap();
    let agent = FakeAgent::new(&[Rule::on("model/list", vec![Action::Hang])]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let error = client.refused("codex_session", json!({"action": "models"})).await;
    assert_eq!(error["code"], "TIMEOUT", "{error}");
    assert!(error["message"].as_str().unwrap().contains("within 10 s"), "{error}");
}

#[tokio::test]
async fn a_codex_that_stops_reading_is_ended_and_the_next_reply_starts_it_anew() {
    let home = tempfile::tempdir().unwrap();
    let requests = (0..REQUESTS).map(|it| {
        Action::Send(
            json!({"id": it + 10_000, "method": "made/up", "params": {"threadId": "$threadId"}}),
        )
    });
    let turn = [Action::BeginTurn].into_iter().chain(requests).chain([Action::Hang]).collect();
    let agent = FakeAgent::new(&[Rule::on("turn/start", turn)]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let session = client.session("work", "never", home.path()).await;
    let rest = json!({
        "action": "poll", "sessionId": session, "waitMs": 10_000,
        "pollOptions": {"includeEvents": false},
    });
    let result = loop {
        let found = client.call("codex_check", rest.clone()).await;
        if found["structuredContent"]["result"].is_object() {
            break found;
        }
    };
    let outcome = &result["structuredContent"]["result"];
    assert_eq!(outcome["status"], "lost", "{outcome}");
    assert_eq!(outcome["errorCode"], "WRITE_QUEUE_DROPPED", "{outcome}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("error [WRITE_QUEUE_DROPPED]: "), "{text}");
    agent.set_rules(&[]).unwrap();
    let reply = json!({"sessionId": session, "prompt": "again", "wait": true});
    let replied = client.done("codex_reply", reply).await;
    assert_eq!(replied["result"]["status"], "completed", "{replied}");
}

#[tokio::test]
async fn a_codex_that_hangs_in_its_start_leaves_the_caller_its_handle() {
    let home = tempfile::tempdir().unwrap();
    let agent = FakeAgent::new(&[Rule::on("thread/start", vec![Action::Hang])]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let asked = Instant::now();
    let started = client.done("codex", begin(&json!({"wait": 300}))).await;
    assert!(asked.elapsed().as_secs() < 10, "{:?}", asked.elapsed());
    assert_eq!(started["status"], "running", "{started}");
    assert!(started["compatWarnings"].to_string().contains("still starting"), "{started}");
    let session = started["sessionId"].as_str().unwrap();
    let cancel = json!({"action": "cancel", "sessionId": session});
    assert_eq!(client.done("codex_session", cancel).await["success"], true);
    let reply = json!({"sessionId": session, "prompt": "more"});
    assert_eq!(client.refused("codex_reply", reply).await["code"], "CANCELLED");
    assert!(client.close().await.success());
}

#[tokio::test]
async fn what_cannot_be_added_to_a_turn_is_refused_by_the_name_of_what_takes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let thread =
        json!({"type": "thread.started", "thread_id": "0199a213-81c0-7800-8aa1-bbab2a035a53"});
    let script = format!("echo '{thread}'\nexec sleep 600");
    let mut client = client_of(home.path(), "0.171.0", "exec", &script).await;
    let session = client.session("work", "never", home.path()).await;
    let reply = |busy: Value| json!({"sessionId": session, "prompt": "more", "whenBusy": busy});
    let error = client.refused("codex_reply", reply(json!("steer"))).await;
    assert_eq!(error["code"], "EXEC_NOT_SUPPORTED", "{error}");
    assert!(error["message"].as_str().unwrap().contains("0.171.0, spoken to as exec"), "{error}");
    let error = client.refused("codex_reply", reply(Value::Null)).await;
    assert_eq!(error["code"], "SESSION_BUSY", "{error}");
}

#[tokio::test]
async fn resources_tell_of_the_codex_that_is_installed() {
    for (version, mode, policies, mismatch) in [
        ("0.171.0", "app-server", json!(["untrusted", "on-request", "never"]), "no on-failure"),
        ("0.125.0", "app-server", json!(["untrusted", "on-failure", "on-request", "never"]), ""),
        ("0.42.0", "proto", json!(["untrusted", "on-failure", "on-request", "never"]), "take up"),
        ("0.42.0", "exec", json!(["never"]), "asks for no approval"),
    ] {
        let home = tempfile::tempdir().unwrap();
        let mut client = client_of(home.path(), version, mode, "exit 3").await;
        let mut read = async |name: &str| {
            let uri = json!({"uri": format!("codex-mcp:///{name}")});
            let read = client.request("resources/read", uri).await;
            let text = read["result"]["contents"][0]["text"].as_str().unwrap().to_owned();
            serde_json::from_str::<Value>(&text).unwrap()
        };
        let info = read("server-info").await;
        assert_eq!(info["codexVersion"], version, "{info}");
        assert_eq!((&info["dialect"], &info["clientMode"]), (&json!(mode), &json!(mode)));
        assert_eq!(info["approvalPolicies"], policies, "{version}, {mode}");
        assert_eq!(info["stdioMode"], "auto");
        let report = read("compat-report").await;
        assert_eq!(report["features"]["respondPermission"], mode != "exec", "{report}");
        assert_eq!(report["features"]["respondUserInput"], mode == "app-server", "{report}");
        let mismatches = report["detectedMismatches"].as_array().unwrap();
        assert_eq!(mismatches.is_empty(), mismatch.is_empty(), "{report}");
        assert!(report["detectedMismatches"].to_string().contains(mismatch), "{report}");
    }
}

#[tokio::test]
async fn a_client_whose_handshake_was_refused_may_try_again() {
    let home = tempfile::tempdir().unwrap();
    let env = [("PILOTHOUSE_CODEX".to_owned(), "/nowhere/codex".to_owned())];
    let mut client = Client::spawn(home.path(), &env);
    let about = json!({"name": "t", "version": "1"});
    let params = json!({"protocolVersion": null, "capabilities": {}, "clientInfo": about});
    let refused = client.request("initialize", params).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    // It goes on as if nothing had happened.
    for line in [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 77, "result": {}}),
    ] {
        client.line(&line.to_string()).await;
    }
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
    let initialized = client.initialize("2025-11-25").await;
    assert_eq!(initialized["result"]["serverInfo"]["name"], "pilothouse");
    assert!(client.close().await.success());
}
