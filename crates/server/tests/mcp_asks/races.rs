//! A hundred answers to one question at once: one is taken, and the others are told whose.

use std::{path::Path, sync::Arc};

use axum::{
    body::{Body, to_bytes},
    http::{Request, StatusCode, header},
};
use jiff::Timestamp;
use pilothouse::{Broker, Config, agent::process::GuardCommand, core::Answerers, store::Sqlite};
use pilothouse_server::{
    http::{Drawer, Front, FrontConfig, router},
    mcp::Server,
};
use pilothouse_testkit::{
    FakeAgent,
    agent::{Action, Ask, Rule},
};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::{
    client::{Client, content},
    room::{Room, accept, colour, trusting},
};

const HOST: &str = "127.0.0.1:7457";
/// Over MCP, and as many over REST.
const EACH: usize = 40;
/// From terminals: each is a process, and a node of its own.
const TERMINALS: usize = 20;
/// What `pilothouse inbox answer` ends with when another answer was first.
const SETTLED: i32 = 3;

/// One node on a store on disk.
async fn node(home: &Path, agent: &FakeAgent, program: &str) -> Broker {
    let store = Sqlite::open(&home.join("pilothouse.db")).unwrap();
    let name = home.file_name().unwrap().to_str().unwrap();
    let mut config = Config::new(store, name, program);
    config.agent.binary = Some(agent.executable());
    config.agent.guard = Some(GuardCommand {
        program: Path::new(env!("CARGO_BIN_EXE_pilothouse")).into(),
        args: vec!["guard".into()],
    });
    Broker::open(config).await.unwrap()
}

#[tokio::test]
async fn one_of_a_hundred_answers_over_mcp_rest_and_terminals_reaches_the_agent() {
    let ask = Ask { command: "touch a".into(), ..Ask::default() };
    let actions = vec![Action::BeginTurn, Action::Ask(ask), Action::EndTurn("completed".into())];
    let agent = FakeAgent::new(&[Rule::on("turn/start", actions)]).unwrap();
    let home = tempfile::tempdir().unwrap();
    let (mine, other) =
        (node(home.path(), &agent, "mcp").await, node(home.path(), &agent, "serve").await);
    let own = mine.clone();
    let server = Server::new(trusting(), move || {
        let broker = own.clone();
        async move { Ok(broker) }
    });
    let (near, far) = tokio::io::duplex(1024 * 1024);
    let inner = server.clone();
    tokio::spawn(async move {
        let (read, write) = tokio::io::split(far);
        let running = Box::pin(rmcp::serve_server(inner, (read, write))).await;
        running.unwrap().waiting().await.unwrap();
    });
    let (read, write) = tokio::io::split(near);
    let mut client = Client::over(read, write);
    client.connect("2025-11-25", "editor", json!({})).await;
    let front = Front::open(FrontConfig {
        broker: other.clone(),
        home: home.path().into(),
        address: HOST.parse().unwrap(),
        answerers: Answerers::Caller,
        default_effort: None,
    })
    .await
    .unwrap();
    let human = front.keys().mint(Drawer::Humans, Timestamp::now()).unwrap();
    let human = human.expose_secret().to_owned();
    let router = router(Arc::clone(&front));

    let start = json!({
        "prompt": "go", "approvalPolicy": "untrusted", "sandbox": "read-only",
        "cwd": home.path(),
    });
    let started = client.done("codex", &start).await;
    let poll = json!({
        "action": "poll", "sessionId": started["sessionId"], "waitMs": 10_000, "maxEvents": 100,
    });
    let action = loop {
        let found = client.done("codex_check", &poll).await;
        if found["actions"][0].is_object() {
            break found["actions"][0].clone();
        }
    };
    let over_mcp = json!({
        "action": "respond_permission", "sessionId": started["sessionId"],
        "requestId": action["requestId"], "decision": "accept", "digest": action["digest"],
    });
    let typed: Vec<_> = (0..TERMINALS)
        .map(|_| {
            tokio::process::Command::new(env!("CARGO_BIN_EXE_pilothouse"))
                .args(["inbox", "answer", action["requestId"].as_str().unwrap(), "--decline"])
                .args(["--digest", action["digest"].as_str().unwrap()])
                .env("PILOTHOUSE_HOME", home.path())
                .env_remove("PILOTHOUSE_STORE")
                .env("PILOTHOUSE_HUMAN_TOKEN", &human)
                .output()
        })
        .collect();
    let typed = futures_util::future::join_all(typed);
    let mut calls = vec![];
    for _ in 0..EACH {
        calls.push(client.begin("codex_check", &over_mcp).await);
    }
    let path = format!("/api/v1/asks/{}/answer", action["requestId"].as_str().unwrap());
    let body = json!({"decision": "decline", "digest": action["digest"]}).to_string();
    let posts = (0..EACH).map(|_| {
        let request = Request::post(&path)
            .header(header::HOST, HOST)
            .header(header::AUTHORIZATION, format!("Bearer {human}"))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.clone()))
            .unwrap();
        let router = router.clone();
        async move {
            let (head, body) = router.oneshot(request).await.unwrap().into_parts();
            let bytes = to_bytes(body, usize::MAX).await.unwrap();
            (head.status, serde_json::from_slice::<Value>(&bytes).unwrap())
        }
    });
    let posted = futures_util::future::join_all(posts);
    let called = async {
        let mut results = vec![];
        for call in calls {
            results.push(client.result(call).await);
        }
        results
    };
    let (posted, called, typed) = tokio::join!(posted, called, typed);

    let (mut n_taken, mut n_late) = (0, 0);
    for (status, body) in posted {
        if status == StatusCode::OK {
            n_taken += 1;
            continue;
        }
        assert_eq!((status, &body["code"]), (StatusCode::CONFLICT, &json!("ALREADY_SETTLED")));
        let settlement = &body["settlement"];
        assert!(settlement["at"].is_string() && settlement["how"]["by"].is_object(), "{body}");
        n_late += 1;
    }
    for result in called {
        if result["isError"] == false {
            n_taken += 1;
            continue;
        }
        let error = &result["structuredContent"]["error"];
        assert_eq!(error["code"], "ALREADY_SETTLED", "{result}");
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with("the request was answered by "), "{message}");
        n_late += 1;
    }
    for output in typed {
        let output = output.unwrap();
        if output.status.success() {
            n_taken += 1;
            continue;
        }
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(SETTLED), "{said}");
        assert!(said.contains("answered with ") && said.contains(" by "), "{said}");
        n_late += 1;
    }
    assert_eq!((n_taken, n_late), (1, 99));
    let heard = agent.heard().unwrap();
    let n_told = heard.iter().filter(|it| it["result"]["decision"].is_string()).count();
    assert_eq!(n_told, 1);
    server.close().await;
    front.close().await;
    other.stop().await;
    mine.stop().await;
}

#[tokio::test]
async fn one_of_a_hundred_replies_to_a_choice_is_taken() {
    let room = Room::open(trusting()).await;
    let mut client = room.stateless(json!({"elicitation": {}}));
    let asked = client.call("request_choice", &colour()).await;
    let mut calls = vec![];
    for at in 0..100 {
        let reply = accept(json!({"q1": "other", "q1_other": format!("colour {at}")}));
        let params = json!({
            "name": "request_choice", "arguments": colour(),
            "requestState": asked["requestState"], "inputResponses": {"ask": reply},
        });
        calls.push(client.send("tools/call", params).await);
    }
    let mut results = vec![];
    for call in calls {
        results.push(content(client.result(call).await));
    }
    let late: Vec<_> = results.iter().filter(|it| it["settledBy"].is_string()).collect();
    assert_eq!(late.len(), 99);
    let texts: std::collections::BTreeSet<_> =
        results.iter().map(|it| it["answers"][0]["otherText"].to_string()).collect();
    assert_eq!(texts.len(), 1, "{texts:?}");
    room.close().await;
}
