//! What cannot be done is said in words and codes, and the program serves on.

use pilothouse_testkit::{
    FakeAgent,
    agent::{Action, Ask, Rule},
};
use serde_json::{Value, json};

use crate::client::Client;

const NO_SESSION: &str = "sess_00000000000000000000000000000000";

fn start(change: &Value) -> Value {
    let mut arguments =
        json!({"prompt": "hello", "approvalPolicy": "never", "sandbox": "read-only"});
    for (name, value) in change.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    arguments
}

#[tokio::test]
async fn a_missing_codex_is_said_with_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let env = [("PILOTHOUSE_CODEX".to_owned(), "/nowhere/codex".to_owned())];
    let mut client = Client::start_with(home.path(), &env).await;
    let error = client.refused("codex", start(&json!({}))).await;
    assert_eq!(error["code"], "APP_SERVER_START_FAILED");
    assert!(
        error["message"].as_str().unwrap().starts_with("Pilothouse could not find /nowhere/codex"),
        "{error}"
    );

    let env = [("PATH".to_owned(), "/nowhere".to_owned())];
    let mut client = Client::start_with(home.path(), &env).await;
    let error = client.refused("codex", start(&json!({}))).await;
    assert_eq!(error["code"], "APP_SERVER_START_FAILED");
    assert!(error["message"].as_str().unwrap().contains("npm install"), "{error}");
}

#[tokio::test]
async fn a_codex_that_dies_at_once_leaves_its_last_words() {
    let home = tempfile::tempdir().unwrap();
    let rules = [Rule::on("$start", vec![Action::Stderr(40), Action::Exit(3)])];
    let agent = FakeAgent::new(&rules).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let error = client.refused("codex", start(&json!({}))).await;
    assert_eq!(error["code"], "APP_SERVER_START_FAILED", "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("exit status: 3") && message.contains("last words"), "{message}");
}

#[tokio::test]
async fn a_program_that_is_no_codex_is_not_understood() {
    let home = tempfile::tempdir().unwrap();
    let hello = Action::Raw("Welcome to something else!\n".to_owned());
    let agent = FakeAgent::new(&[Rule::on("initialize", vec![hello, Action::Exit(0)])]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let error = client.refused("codex", start(&json!({}))).await;
    assert_eq!(error["code"], "PROTOCOL_PARSE_ERROR", "{error}");
}

#[tokio::test]
async fn what_exec_has_no_way_to_do_is_refused_by_name() {
    let home = tempfile::tempdir().unwrap();
    let agent = FakeAgent::new(&[]).unwrap();
    let codex = agent.executable().display().to_string();
    let env = [("PILOTHOUSE_CODEX", codex), ("CODEX_MCP_MODE", "exec".to_owned())];
    let mut client = Client::start_with(home.path(), &env.map(|(k, v)| (k.to_owned(), v))).await;
    let error = client.refused("codex_session", json!({"action": "models"})).await;
    assert_eq!(error["code"], "EXEC_NOT_SUPPORTED", "{error}");
}

#[tokio::test]
async fn arguments_are_checked_by_name() {
    let home = tempfile::tempdir().unwrap();
    let agent = FakeAgent::new(&[]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let file = home.path().join("file");
    std::fs::write(&file, "").unwrap();
    for (change, field) in [
        (json!({"prompt": null}), "prompt"),
        (json!({"prompt": ""}), "prompt"),
        (json!({"prompt": 7}), "prompt"),
        (json!({"prompt": "x".repeat(1_048_577)}), "prompt"),
        (json!({"approvalPolicy": "always"}), "approvalPolicy"),
        (json!({"sandbox": null}), "sandbox"),
        (json!({"sandbox": ["read-only"]}), "sandbox"),
        (json!({"effort": 3}), "effort"),
        (json!({"cwd": "/nowhere"}), "cwd"),
        (json!({"cwd": file}), "cwd"),
        (json!({"model": {}}), "model"),
        (json!({"wait": "long"}), "wait"),
        (json!({"wait": -1}), "wait"),
        (json!({"advanced": "much"}), "advanced"),
        (json!({"advanced": {"config": []}}), "advanced.config"),
        (json!({"advanced": {"ephemeral": 1}}), "advanced.ephemeral"),
        (json!({"advanced": {"images": ["none.png"]}}), "advanced.images[0]"),
        (json!({"advanced": {"images": [1]}}), "advanced.images"),
        (json!({"advanced": {"approvalTimeoutMs": -5}}), "advanced.approvalTimeoutMs"),
        (json!({"advanced": {"isolation": "alone"}}), "advanced.isolation"),
        (json!({"advanced": {"summary": "short"}}), "advanced.summary"),
        (json!({"advanced": {"title": "t".repeat(201)}}), "advanced.title"),
        (json!({"advanced": {"images": [""]}}), "advanced.images[0]"),
        (json!({"advanced": {"images": [home.path()]}}), "advanced.images[0]"),
        (json!({"advanced": {"images": vec!["data:,"; 101]}}), "advanced.images"),
    ] {
        let error = client.refused("codex", start(&change)).await;
        assert_eq!(error["code"], "INVALID_ARGUMENT", "{change:.80}: {error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("{field}: ")), "{field}: {message}");
    }
    assert!(agent.heard().unwrap().is_empty());

    let session = client.session("hello", "never", home.path()).await;
    client.outcome(&session).await;
    for (arguments, field) in [
        (json!({"action": "look"}), "action"),
        (json!({"action": "poll", "cursor": "1"}), "cursor"),
        (json!({"action": "poll", "cursor": -1}), "cursor"),
        (json!({"action": "poll", "maxEvents": 1.5}), "maxEvents"),
        (json!({"action": "poll", "pollOptions": []}), "pollOptions"),
        (json!({"action": "poll", "pollOptions": {"maxBytes": 0}}), "pollOptions.maxBytes"),
        (json!({"action": "poll", "responseMode": "all"}), "responseMode"),
        (json!({"action": "poll", "requestId": "req_1"}), "requestId"),
        (json!({"action": "poll", "decision": "accept"}), "decision"),
        (json!({"action": "poll", "answers": {}}), "answers"),
        (json!({"action": "poll", "itemId": "i"}), "itemId"),
        (json!({"action": "respond_permission"}), "requestId"),
        (json!({"action": "respond_permission", "requestId": "r"}), "decision"),
        (json!({"action": "respond_permission", "decision": "maybe"}), "decision"),
        (
            json!({"action": "respond_permission", "requestId": "r", "decision": "accept", "answers": {}}),
            "answers",
        ),
        (
            json!({"action": "respond_permission", "requestId": "r", "decision": "accept", "execpolicy_amendment": ["ls"]}),
            "execpolicy_amendment",
        ),
        (
            json!({"action": "respond_permission", "requestId": "r", "decision": "acceptWithExecpolicyAmendment"}),
            "execpolicy_amendment",
        ),
        (
            json!({"action": "respond_permission", "requestId": "r", "decision": "applyNetworkPolicyAmendment"}),
            "network_policy_amendment",
        ),
        (
            json!({"action": "respond_permission", "requestId": "r", "decision": "applyNetworkPolicyAmendment", "network_policy_amendment": {"action": "allow"}}),
            "network_policy_amendment.host",
        ),
        (json!({"action": "respond_user_input", "requestId": "r"}), "answers"),
        (
            json!({"action": "respond_user_input", "requestId": "r", "answers": {"q": 1}}),
            "answers.q",
        ),
        (
            json!({"action": "respond_user_input", "requestId": "r", "answers": {}, "denyMessage": "no"}),
            "denyMessage",
        ),
        (json!({"action": "output"}), "itemId"),
        (json!({"action": "output", "itemId": "none"}), "itemId"),
    ] {
        let mut arguments = arguments;
        arguments["sessionId"] = session.clone().into();
        let error = client.refused("codex_check", arguments.clone()).await;
        assert_eq!(error["code"], "INVALID_ARGUMENT", "{arguments}: {error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("{field}: ")), "{arguments}: {message}");
    }
    // A bad argument of a reply changes nothing.
    let reply = json!({"sessionId": session, "prompt": "on", "cwd": "/nowhere"});
    assert_eq!(client.refused("codex_reply", reply).await["code"], "INVALID_ARGUMENT");
    let get = json!({"action": "get", "sessionId": session});
    assert_eq!(client.done("codex_session", get).await["status"], "idle");
    for title in [Value::Null, json!(" "), json!("ü".repeat(201))] {
        let rename = json!({"action": "rename", "sessionId": session, "title": title});
        let error = client.refused("codex_session", rename).await;
        assert_eq!(error["code"], "INVALID_ARGUMENT");
        assert!(error["message"].as_str().unwrap().starts_with("title: "), "{error}");
    }
}

#[tokio::test]
async fn a_store_that_cannot_be_opened_is_said_by_each_call() {
    let home = tempfile::tempdir().unwrap();
    let env = [("PILOTHOUSE_STORE".to_owned(), "sqlite:/dev/null/x.db".to_owned())];
    let mut client = Client::start_with(home.path(), &env).await;
    for _ in 0..2 {
        let error = client.refused("codex_session", json!({"action": "list"})).await;
        assert_eq!(error["code"], "INTERNAL");
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with("Pilothouse could not open"), "{message}");
        assert!(message.contains("/dev/null"), "{message}");
    }
}

#[tokio::test]
async fn unknown_arguments_are_ignored_and_named() {
    let home = tempfile::tempdir().unwrap();
    let agent = FakeAgent::new(&[]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let arguments = start(&json!({"colour": "red", "advanced": {"shape": 1}}));
    let started = client.done("codex", arguments).await;
    let warnings = started["compatWarnings"].to_string();
    assert!(warnings.contains("colour") && warnings.contains("advanced.shape"), "{warnings}");
}

#[tokio::test]
async fn unknown_sessions_tools_and_methods_are_said() {
    let home = tempfile::tempdir().unwrap();
    let agent = FakeAgent::new(&[]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    for session in [NO_SESSION, "sess_x", "no session at all"] {
        for (tool, arguments) in [
            ("codex_reply", json!({"prompt": "hello"})),
            ("codex_check", json!({"action": "poll"})),
            (
                "codex_check",
                json!({"action": "respond_permission", "requestId": "r", "decision": "accept"}),
            ),
            ("codex_check", json!({"action": "output", "itemId": "i"})),
            ("codex_session", json!({"action": "get"})),
            ("codex_session", json!({"action": "cancel"})),
            ("codex_session", json!({"action": "interrupt"})),
            ("codex_session", json!({"action": "fork"})),
        ] {
            let mut arguments = arguments;
            arguments["sessionId"] = session.into();
            let error = client.refused(tool, arguments.clone()).await;
            assert_eq!(error["code"], "SESSION_NOT_FOUND", "{tool} {arguments}");
        }
    }
    let get = client.refused("codex_session", json!({"action": "get"})).await;
    assert_eq!(get["code"], "INVALID_ARGUMENT");
    let unknown = client.request("tools/call", json!({"name": "codex_fly"})).await;
    assert_eq!(unknown["error"]["code"], -32602);
    let unknown = client.request("codex/fly", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32601);
}

#[tokio::test]
async fn lines_that_are_no_messages_are_answered() {
    let home = tempfile::tempdir().unwrap();
    let agent = FakeAgent::new(&[]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    client.line("this is not JSON").await;
    let answer = client.message().await;
    assert_eq!(answer["error"]["code"], -32700);
    assert_eq!(answer["id"], Value::Null);
    client.line("[]").await;
    assert_eq!(client.message().await["error"]["code"], -32600);
    let listed = client.done("codex_session", json!({"action": "list"})).await;
    assert_eq!(listed["sessions"], json!([]));
}

#[tokio::test]
async fn lines_of_32_megabytes_are_answered() {
    let home = tempfile::tempdir().unwrap();
    let agent = FakeAgent::new(&[]).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let error = client.refused("codex", start(&json!({"prompt": "x".repeat(32 << 20)}))).await;
    assert_eq!(error["code"], "INVALID_ARGUMENT");
    let params = json!({"name": "codex", "arguments": {"prompt": "x".repeat(50 << 20)}});
    let answer = client.request("tools/call", params).await;
    assert_eq!(answer["error"]["code"], -32600);
    assert!(answer["error"]["message"].as_str().unwrap().contains("at most"), "{answer}");
    let listed = client.done("codex_session", json!({"action": "list"})).await;
    assert_eq!(listed["sessions"], json!([]));
}

#[tokio::test]
async fn a_codex_that_dies_in_mid_turn_is_told_and_the_session_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let rules = [Rule::on_nth("turn/start", 1, vec![Action::BeginTurn, Action::KillSelf])];
    let agent = FakeAgent::new(&rules).unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let session = client.session("first", "never", home.path()).await;
    let outcome = client.outcome(&session).await;
    assert_eq!(outcome["status"], "lost", "{outcome}");
    assert!(outcome["error"].as_str().unwrap().contains("signal: 9"), "{outcome}");
    let get = json!({"action": "get", "sessionId": session});
    assert_eq!(client.done("codex_session", get).await["status"], "error");
    // Only the first process dies.
    agent.set_rules(&[]).unwrap();
    let reply = json!({"sessionId": session, "prompt": "second", "wait": true});
    let replied = client.done("codex_reply", reply).await;
    assert_eq!(replied["result"]["status"], "completed", "{replied}");
    let resumed = agent.heard().unwrap().iter().any(|it| it["method"] == "thread/resume");
    assert!(resumed);
}

#[tokio::test]
async fn answers_that_do_not_fit_leave_the_request_open() {
    let ask = Ask { command: "touch f".to_owned(), ..Ask::default() };
    let turn = vec![Action::BeginTurn, Action::Ask(ask), Action::EndTurn("completed".to_owned())];
    let agent = FakeAgent::new(&[Rule::on("turn/start", turn)]).unwrap();
    let home = tempfile::tempdir().unwrap();
    let mut client = Client::start(home.path(), &agent).await;
    let session = client.session("work", "untrusted", home.path()).await;
    let action = client.action(&session).await;
    assert_eq!(action["kind"], "command");
    assert!(action["availableDecisions"].to_string().contains("accept"), "{action}");
    let respond = |change: Value| {
        let mut arguments = json!({
            "action": "respond_permission", "sessionId": session,
            "requestId": action["requestId"], "decision": "accept",
        });
        for (name, value) in change.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        arguments
    };
    for (change, code) in [
        (json!({"requestId": "req_1"}), "REQUEST_NOT_FOUND"),
        (json!({"requestId": format!("req_{}_9", &session[5..])}), "REQUEST_NOT_FOUND"),
        (json!({"requestId": format!("req_{}_1", &NO_SESSION[5..])}), "REQUEST_NOT_FOUND"),
        (json!({"digest": "0000"}), "INVALID_ARGUMENT"),
        (json!({"decision": "acceptAlways"}), "INVALID_ARGUMENT"),
        (json!({"action": "respond_elicitation"}), "INVALID_ARGUMENT"),
        (
            json!({"action": "respond_user_input", "answers": {}, "decision": null}),
            "INVALID_ARGUMENT",
        ),
    ] {
        let error = client.refused("codex_check", respond(change.clone())).await;
        assert_eq!(error["code"], code, "{change}: {error}");
    }
    let busy = json!({"sessionId": session, "prompt": "more"});
    assert_eq!(client.refused("codex_reply", busy).await["code"], "SESSION_BUSY");
    let accepted = client.done("codex_check", respond(json!({"cursor": 0}))).await;
    assert_eq!(accepted["events"], json!([]));
    assert!(accepted["compatWarnings"].to_string().contains("stale"), "{accepted}");
    let error = client.refused("codex_check", respond(json!({}))).await;
    assert_eq!(error["code"], "ALREADY_SETTLED");
    assert!(error["message"].as_str().unwrap().contains("answered by caller mcp-"), "{error}");
    assert_eq!(client.outcome(&session).await["status"], "completed");
    let idle = json!({"action": "interrupt", "sessionId": session});
    assert_eq!(client.refused("codex_session", idle).await["code"], "SESSION_NOT_RUNNING");
}
