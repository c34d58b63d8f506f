//! How the program comes and goes: at once, and without a trace.

use std::time::Instant;

use pilothouse_testkit::{
    FakeAgent,
    agent::{Action, Rule},
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::client::{Client, below, is_alive};

const NO_CODEX: &str = "/nowhere/codex";

fn without_codex() -> Vec<(String, String)> {
    vec![("PILOTHOUSE_CODEX".to_owned(), NO_CODEX.to_owned())]
}

#[tokio::test]
async fn a_client_that_only_asks_what_there_is_leaves_no_trace() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    let about = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
    });

    let mut modern = Client::spawn(&home, &without_codex());
    let discovered = modern.request("server/discover", json!({"_meta": about})).await;
    assert_eq!(
        discovered["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "pilothouse",
        "{discovered}"
    );
    assert!(modern.close().await.success());

    let mut legacy = Client::spawn(&home, &without_codex());
    let initialized = legacy.initialize("2025-06-18").await;
    assert_eq!(initialized["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(initialized["result"]["serverInfo"]["name"], "pilothouse");
    assert!(legacy.close().await.success());

    assert!(Client::spawn(&home, &without_codex()).close().await.success());
    assert!(!home.exists());
}

#[tokio::test]
async fn a_modern_client_calls_tools_without_a_handshake() {
    let dir = tempfile::tempdir().unwrap();
    let mut client = Client::spawn(dir.path(), &without_codex());
    let about = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
    });
    let tools = client.request("tools/list", json!({"_meta": about})).await;
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 4);
    assert!(tools["result"]["ttlMs"].is_u64(), "{tools}");
    let params = json!({"name": "codex_session", "arguments": {"action": "list"}, "_meta": about});
    let listed = client.request("tools/call", params).await;
    assert_eq!(listed["result"]["structuredContent"], json!({"sessions": []}));
    assert_eq!(listed["result"]["resultType"], "complete");
    assert!(client.close().await.success());
}

#[tokio::test]
async fn the_tools_take_less_than_six_kilobytes() {
    let dir = tempfile::tempdir().unwrap();
    let mut client = Client::start_with(dir.path(), &without_codex()).await;
    let tools = client.request("tools/list", json!({})).await;
    let n_bytes = tools["result"]["tools"].to_string().len();
    assert!(n_bytes < 6_000, "{n_bytes}");
}

#[tokio::test]
async fn clients_that_know_no_structured_results_read_all_of_it_as_text() {
    let dir = tempfile::tempdir().unwrap();
    let mut client = Client::spawn(dir.path(), &without_codex());
    client.initialize("2025-03-26").await;
    let listed = client.call("codex_session", json!({"action": "list"})).await;
    let text = listed["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), listed["structuredContent"]);
}

#[tokio::test]
async fn what_was_asked_before_the_end_of_input_is_answered() {
    let dir = tempfile::tempdir().unwrap();
    let mut client = Client::start_with(dir.path(), &without_codex()).await;
    let params = json!({"name": "codex_session", "arguments": {"action": "list"}});
    let id = client.send("tools/call", params).await;
    client.end_input();
    let listed = client.answer(id).await;
    assert_eq!(listed["result"]["structuredContent"], json!({"sessions": []}));
    assert!(client.gone().await.success());
}

#[tokio::test]
async fn whatever_ends_it_takes_all_that_it_started_along() {
    let agent = FakeAgent::new(&[Rule::on("turn/start", vec![Action::BeginTurn])]).unwrap();
    for signal in [None, Some(Signal::TERM), Some(Signal::INT), Some(Signal::HUP)] {
        let home = tempfile::tempdir().unwrap();
        let mut client = Client::start(home.path(), &agent).await;
        let session = client.session("work", "never", home.path()).await;
        client.poll_until(&session, |it| it["events"].to_string().contains("turn/started")).await;
        let started = below(client.pid());
        assert!(!started.is_empty());
        let begin = Instant::now();
        let status = match signal {
            None => client.close().await,
            Some(signal) => {
                let pid = Pid::from_raw(client.pid().try_into().unwrap()).unwrap();
                kill_process(pid, signal).unwrap();
                client.gone().await
            }
        };
        assert!(status.success(), "{signal:?}: {status}");
        assert!(begin.elapsed().as_secs_f64() < 2.0, "{signal:?}: {:?}", begin.elapsed());
        let left: Vec<_> = started.into_iter().filter(|(pid, _)| is_alive(*pid)).collect();
        assert!(left.is_empty(), "{signal:?}: {left:?}");

        // What was recorded stays, and what became of the turn with it.
        let mut next = Client::start(home.path(), &agent).await;
        let arguments = json!({"action": "poll", "sessionId": session, "maxEvents": 1});
        let found = next.done("codex_check", arguments).await;
        let status = found["result"]["status"].as_str().unwrap();
        assert!(["interrupted", "lost"].contains(&status), "{found}");
    }
}

#[tokio::test]
async fn resources_say_what_is_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut client = Client::start_with(dir.path(), &without_codex()).await;
    let listed = client.request("resources/list", json!({})).await;
    let resources = listed["result"]["resources"].as_array().unwrap().clone();
    assert_eq!(resources.len(), 12);
    for resource in resources {
        let read = client.request("resources/read", json!({"uri": resource["uri"]})).await;
        let contents = &read["result"]["contents"][0];
        assert_eq!(contents["mimeType"], resource["mimeType"]);
        let text = contents["text"].as_str().unwrap();
        if resource["mimeType"] == "application/json" {
            let value: Value = serde_json::from_str(text).unwrap();
            assert!(value["codexPath"].is_null());
            assert!(text.contains(NO_CODEX), "{text}");
        } else {
            assert!(text.starts_with("# "), "{text}");
        }
    }
    let unknown = client.request("resources/read", json!({"uri": "codex-mcp:///none"})).await;
    assert!(unknown["error"]["code"].is_i64());
}

#[tokio::test]
async fn a_session_and_its_log_are_resources_that_tell_of_changes() {
    let agent = FakeAgent::new(&[]).unwrap();
    let home = tempfile::tempdir().unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let listed = client.request("resources/templates/list", json!({})).await;
    let templates = listed["result"]["resourceTemplates"].as_array().unwrap().clone();
    let uris: Vec<_> = templates.iter().map(|it| it["uriTemplate"].as_str().unwrap()).collect();
    assert_eq!(uris, ["pilothouse:///sessions/{id}", "pilothouse:///sessions/{id}/log"]);
    let session = client.session("hello", "never", home.path()).await;
    client.outcome(&session).await;
    let uri = format!("pilothouse:///sessions/{session}");
    let read = client.request("resources/read", json!({"uri": uri})).await;
    let text = read["result"]["contents"][0]["text"].as_str().unwrap();
    let view: Value = serde_json::from_str(text).unwrap();
    assert_eq!((&view["status"], &view["turns"]), (&json!("idle"), &json!(1)));
    let log = format!("{uri}/log");
    let read = client.request("resources/read", json!({"uri": log})).await;
    let text = read["result"]["contents"][0]["text"].as_str().unwrap();
    let ids: Vec<_> = text
        .lines()
        .map(|it| serde_json::from_str::<Value>(it).unwrap()["id"].as_u64().unwrap())
        .collect();
    assert_eq!(ids, (0..ids.len() as u64).collect::<Vec<_>>());
    assert!(text.contains("Hello from the fake Codex"));

    let subscribed = client.request("resources/subscribe", json!({"uri": log})).await;
    assert_eq!(subscribed["result"], json!({}), "{subscribed}");
    let reply = json!({"sessionId": session, "prompt": "again", "wait": true});
    client.done("codex_reply", reply).await;
    let note = client.note().await;
    assert_eq!(note["method"], "notifications/resources/updated");
    assert_eq!(note["params"]["uri"], log.as_str());
    let over = client.request("resources/unsubscribe", json!({"uri": log})).await;
    assert_eq!(over["result"], json!({}));
    let unknown = "pilothouse:///sessions/sess_00000000000000000000000000";
    for (method, uri) in
        [("resources/read", unknown), ("resources/subscribe", "codex-mcp:///errors")]
    {
        let refused = client.request(method, json!({"uri": uri})).await;
        assert!(refused["error"]["code"].is_i64(), "{refused}");
    }
    assert!(client.close().await.success());
}

#[tokio::test]
async fn a_modern_client_listens_to_a_session() {
    let agent = FakeAgent::new(&[]).unwrap();
    let home = tempfile::tempdir().unwrap();
    let mut starter = Client::start(home.path(), &agent).await;
    let session = starter.session("hello", "never", home.path()).await;
    starter.outcome(&session).await;
    let uri = format!("pilothouse:///sessions/{session}");
    let about = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
    });
    let mut modern = Client::spawn(home.path(), &without_codex());
    let listen = json!({"notifications": {"resourceSubscriptions": [uri]}, "_meta": about});
    modern.send("subscriptions/listen", listen).await;
    let acknowledged = modern.note().await;
    assert_eq!(
        acknowledged["method"], "notifications/subscriptions/acknowledged",
        "{acknowledged}"
    );
    // How it stands may have changed before anyone listened.
    assert_eq!(modern.note().await["params"]["uri"], uri.as_str());
    let reply = json!({"sessionId": session, "prompt": "again", "wait": true});
    starter.done("codex_reply", reply).await;
    let note = modern.note().await;
    assert_eq!(note["method"], "notifications/resources/updated", "{note}");
    assert_eq!(note["params"]["uri"], uri.as_str());
}

#[tokio::test]
async fn a_call_that_waits_says_so_and_can_be_taken_back() {
    let agent = FakeAgent::new(&[Rule::on("turn/start", vec![Action::BeginTurn])]).unwrap();
    let home = tempfile::tempdir().unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let session = client.session("work", "never", home.path()).await;
    client.poll_until(&session, |it| it["events"].to_string().contains("item/completed")).await;
    let poll = json!({"action": "poll", "sessionId": session, "waitMs": 0, "maxEvents": 100});
    client.done("codex_check", poll).await;
    let params = json!({
        "name": "codex_check",
        "arguments": {"action": "poll", "sessionId": session, "waitMs": 45_000},
        "_meta": {"progressToken": "p1"},
    });
    let waiting = client.send("tools/call", params).await;
    // Whatever else is said meanwhile: the first progress comes within ten seconds.
    let begin = Instant::now();
    let ping = client.request("ping", json!({})).await;
    assert_eq!(ping["result"], json!({}));
    let note = client.note().await;
    assert!(begin.elapsed().as_secs() < 10);
    assert_eq!(note["params"]["progressToken"], "p1");
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": waiting},
    });
    client.line(&cancel.to_string()).await;
    // The wait is over, the turn is not.
    let get = json!({"action": "get", "sessionId": session});
    assert_eq!(client.done("codex_session", get).await["status"], "running");
    let interrupt = json!({"action": "interrupt", "sessionId": session});
    assert_eq!(client.done("codex_session", interrupt).await["success"], true);
    assert_eq!(client.outcome(&session).await["status"], "interrupted");
}
