//! What a caller says arrives in Codex as it was said.

use pilothouse_testkit::{
    FakeAgent,
    agent::{Action, Ask, Rule},
};
use serde_json::{Value, json};

use crate::client::{Client, below};

/// The parameters of the last request of a method that the agent heard.
fn last(agent: &FakeAgent, method: &str) -> Value {
    let heard = agent.heard().unwrap();
    let found = heard.iter().rfind(|it| it["method"] == method);
    found.unwrap_or_else(|| panic!("no {method}"))["params"].clone()
}

#[tokio::test]
async fn every_parameter_of_a_start_reaches_the_thread_or_its_first_turn() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("dot.png"), "x").unwrap();
    let agent = FakeAgent::new(&[]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let mode = json!({"mode": "plan", "settings": {"model": "m"}});
    let arguments = json!({
        "prompt": "-h", "approvalPolicy": "on-failure", "sandbox": "danger-full-access",
        "effort": "xhigh", "cwd": home.path(), "model": "m",
        "advanced": {
            "baseInstructions": "base", "developerInstructions": "developer",
            "personality": "friendly", "summary": "concise", "ephemeral": true,
            "outputSchema": schema, "images": ["dot.png"], "collaborationMode": mode,
            "isolation": "process", "title": "My work",
        },
    });
    let started = client.done("codex", arguments).await;
    assert!(started["compatWarnings"].to_string().contains("on-failure"), "{started}");
    assert_eq!(started["approvalPolicy"], "on-request");
    let session = started["sessionId"].as_str().unwrap().to_owned();
    client.outcome(&session).await;
    let thread = last(&agent, "thread/start");
    for (name, value) in [
        ("approvalPolicy", json!("on-request")),
        ("sandbox", json!("danger-full-access")),
        ("model", json!("m")),
        ("baseInstructions", json!("base")),
        ("developerInstructions", json!("developer")),
        ("personality", json!("friendly")),
        ("ephemeral", json!(true)),
        ("cwd", json!(home.path().canonicalize().unwrap())),
    ] {
        assert_eq!(thread[name], value, "{name}");
    }
    let turn = last(&agent, "turn/start");
    assert_eq!(turn["input"][0]["text"], "-h");
    assert_eq!(turn["input"][1]["type"], "localImage");
    assert!(turn["input"][1]["path"].as_str().unwrap().ends_with("/dot.png"));
    assert_eq!(turn["outputSchema"], schema);
    assert_eq!(turn["effort"], "xhigh");
    assert_eq!(turn["summary"], "concise");
    assert_eq!(turn["collaborationMode"]["mode"], "plan");
    let get = json!({"action": "get", "sessionId": session, "includeSensitive": true});
    let info = client.done("codex_session", get).await;
    assert_eq!(info["title"], "My work");
    assert_eq!(info["cwd"], json!(home.path().canonicalize().unwrap()));
    // An ephemeral thread leaves nothing to go on from elsewhere.
    let fork = json!({"action": "fork", "sessionId": session});
    let refused = client.call("codex_session", fork).await;
    assert_eq!(refused["isError"], true, "{refused}");
}

#[tokio::test]
async fn configuration_arrives_as_it_was_given() {
    let home = tempfile::tempdir().unwrap();
    let agent = FakeAgent::new(&[]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let config = json!({
        "quotes": "it's \"so\"", "backslash": "C:\\Users\\x\\new", "lines": "a\nb\r\n\tc",
        "looks.like.a.path": "v", "number": 1.5, "yes": true, "list": [1, "two", {"three": 3}],
        "nested": {"a b": {"c.d": {"e": []}}}, "toml": "x = [1", "empty": "",
    });
    let arguments = json!({
        "prompt": "exec", "approvalPolicy": "never", "sandbox": "read-only",
        "advanced": {"config": config},
    });
    let started = client.done("codex", arguments).await;
    client.outcome(started["sessionId"].as_str().unwrap()).await;
    let sent = last(&agent, "thread/start")["config"].clone();
    for (name, value) in config.as_object().unwrap() {
        assert_eq!(sent[name], *value, "{name}");
    }
}

#[tokio::test]
async fn a_profile_is_sent_as_the_threads_configuration() {
    let home = tempfile::tempdir().unwrap();
    let text = "model = \"from-profile\"\nmodel_reasoning_effort = \"high\"\n\
                [sandbox_workspace_write]\nnetwork_access = true\nwritable_roots = [\"/a\"]\n";
    std::fs::write(home.path().join("work.config.toml"), text).unwrap();
    let agent = FakeAgent::new(&[]).unwrap();
    let env = [
        ("PILOTHOUSE_CODEX".to_owned(), agent.executable().display().to_string()),
        ("CODEX_HOME".to_owned(), home.path().display().to_string()),
    ];
    let mut client = Client::start_with(home.path(), &env).await;
    let begin = |profile: &str| {
        json!({
            "prompt": "work", "approvalPolicy": "never", "sandbox": "read-only", "profile": profile,
            "advanced": {"config": {"sandbox_workspace_write": {"network_access": false}}},
        })
    };
    let started = client.done("codex", begin("work")).await;
    let session = started["sessionId"].as_str().unwrap().to_owned();
    client.outcome(&session).await;
    let config = last(&agent, "thread/start")["config"].clone();
    assert_eq!(config["model"], "from-profile");
    let expected = json!({"network_access": false, "writable_roots": ["/a"]});
    assert_eq!(config["sandbox_workspace_write"], expected);
    // Its effort is not overruled by a default that nobody asked for.
    assert!(last(&agent, "turn/start").get("effort").is_none_or(Value::is_null));
    let get = json!({"action": "get", "sessionId": session, "includeSensitive": true});
    assert_eq!(client.done("codex_session", get).await["profile"], "work");
    let error = client.refused("codex", begin("none")).await;
    assert_eq!(error["code"], "INVALID_ARGUMENT");
    assert!(error["message"].as_str().unwrap().contains("none.config.toml"), "{error}");
}

#[tokio::test]
async fn the_effort_is_low_unless_someone_says_otherwise() {
    let home = tempfile::tempdir().unwrap();
    let agent = FakeAgent::new(&[]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    for (effort, expected) in [
        (Value::Null, json!("low")),
        (json!("none"), json!("none")),
        (json!("config"), Value::Null),
    ] {
        let arguments = json!({
            "prompt": "work", "approvalPolicy": "never", "sandbox": "read-only", "effort": effort,
        });
        let started = client.done("codex", arguments).await;
        client.outcome(started["sessionId"].as_str().unwrap()).await;
        let sent = last(&agent, "turn/start").get("effort").cloned().unwrap_or_default();
        assert_eq!(sent, expected, "{effort}");
    }
}

#[tokio::test]
async fn what_a_reply_changes_reaches_its_turn_and_a_schema_makes_its_result_json() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("sub")).unwrap();
    std::fs::write(home.path().join("sub/dot.png"), "x").unwrap();
    let turn = vec![
        Action::BeginTurn,
        Action::Message("{\"a\": 1}".to_owned()),
        Action::EndTurn("completed".to_owned()),
    ];
    let agent = FakeAgent::new(&[Rule::on("turn/start", turn)]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let session = client.session("first", "never", home.path()).await;
    let first = client.outcome(&session).await;
    assert!(first.get("structuredOutput").is_none(), "{first}");
    let schema = json!({"type": "object"});
    let reply = json!({
        "sessionId": session, "prompt": "resume", "model": "other", "approvalPolicy": "untrusted",
        "effort": "high", "summary": "detailed", "personality": "pragmatic",
        "sandbox": "read-only", "cwd": "sub", "outputSchema": schema, "images": ["dot.png"],
        "wait": 10_000,
    });
    let replied = client.done("codex_reply", reply).await;
    assert_eq!(replied["result"]["structuredOutput"], json!({"a": 1}), "{replied}");
    let turn = last(&agent, "turn/start");
    for (name, value) in [
        ("model", json!("other")),
        ("approvalPolicy", json!("untrusted")),
        ("effort", json!("high")),
        ("summary", json!("detailed")),
        ("personality", json!("pragmatic")),
        ("outputSchema", schema),
    ] {
        assert_eq!(turn[name], value, "{name}");
    }
    assert_eq!(turn["sandboxPolicy"]["type"], "readOnly");
    assert!(turn["cwd"].as_str().unwrap().ends_with("/sub"));
    assert!(turn["input"][1]["path"].as_str().unwrap().ends_with("/sub/dot.png"));
}

#[tokio::test]
async fn each_decision_reaches_the_agent_and_a_reason_is_read() {
    for decision in ["accept", "decline", "cancel"] {
        let home = tempfile::tempdir().unwrap();
        let ask = Ask { command: "touch f".to_owned(), ..Ask::default() };
        let turn =
            vec![Action::BeginTurn, Action::Ask(ask), Action::EndTurn("completed".to_owned())];
        let agent = FakeAgent::new(&[Rule::on("turn/start", turn)]).unwrap();
        let mut client = Client::start(home.path(), &agent).await;
        let session = client.session("work", "untrusted", home.path()).await;
        let action = client.action(&session).await;
        let answer = json!({
            "action": "respond_permission", "sessionId": session, "decision": decision,
            "requestId": action["requestId"], "reason": "use the other file",
            "denyMessage": "a note", "digest": action["digest"],
        });
        client.done("codex_check", answer).await;
        client.poll_until(&session, |it| it["pollInterval"].is_null()).await;
        let heard = agent.heard().unwrap();
        assert!(
            heard.iter().any(|it| it["result"]["decision"] == decision),
            "{decision}: {heard:?}"
        );
        let text = Value::from(heard).to_string();
        assert!(!text.contains("a note"));
        // A turn that was stopped reads nothing any more.
        assert_eq!(text.contains("use the other file"), decision != "cancel", "{decision}");
        let poll = json!({"action": "poll", "sessionId": session, "cursor": 0, "maxEvents": 100});
        let events = client.done("codex_check", poll).await["events"].take();
        let settled = events.as_array().unwrap().iter().find(|it| it["type"] == "approval_result");
        let settled = &settled.unwrap()["data"];
        assert_eq!(
            (&settled["denyMessage"], &settled["decision"]),
            (&json!("a note"), &json!(decision))
        );
    }
}

#[tokio::test]
async fn what_is_managed_reaches_codex() {
    let home = tempfile::tempdir().unwrap();
    let agent = FakeAgent::new(&[]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let session = client.session("work", "never", home.path()).await;
    client.outcome(&session).await;
    let target = json!({"type": "custom", "instructions": "look twice"});
    for (action, method) in [
        ("clean_background_terminals", "thread/backgroundTerminals/clean"),
        ("compact", "thread/compact/start"),
        ("review", "review/start"),
        ("archive", "thread/archive"),
    ] {
        let mut arguments = json!({"action": action, "sessionId": session});
        if action == "review" {
            arguments["target"] = target.clone();
        }
        client.poll_until(&session, |it| it["status"] == "idle").await;
        client.call("codex_session", arguments).await;
        let look = json!({"action": "poll", "sessionId": session, "cursor": 0, "maxEvents": 500});
        let events = client.done("codex_check", look).await["events"].to_string();
        assert!(events.contains(&format!("\"what\":\"{action}\"")), "{action}: {events}");
        let heard = || agent.heard().unwrap().iter().any(|it| it["method"] == method);
        client.poll_until(&session, |_| heard()).await;
    }
    assert_eq!(last(&agent, "review/start")["target"], target);
}

#[tokio::test]
async fn a_session_has_a_process_of_its_own_if_it_wants_one() {
    let home = tempfile::tempdir().unwrap();
    let agent = FakeAgent::new(&[]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    for (isolation, n_codexes) in [("shared", 1), ("shared", 1), ("process", 2)] {
        let arguments = json!({
            "prompt": "work", "approvalPolicy": "never", "sandbox": "read-only",
            "advanced": {"isolation": isolation},
        });
        client.done("codex", arguments).await;
        let running = below(client.pid());
        let found = running.iter().filter(|(_, name)| name == "fake-codex").count();
        assert_eq!(found, n_codexes, "{isolation}: {running:?}");
    }
}
