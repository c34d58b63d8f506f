//! Sessions and asks over REST, with a scripted Codex behind them.

use axum::http::StatusCode;
use pilothouse_testkit::{
    FakeAgent,
    agent::{Action, Rule},
};
use serde_json::{Value, json};

use crate::desk::{Desk, asking, new_session};

fn answer_path(ask: &Value) -> String {
    format!("/api/v1/asks/{}/answer", ask["requestId"].as_str().unwrap())
}

#[tokio::test]
async fn a_session_is_started_asks_is_answered_and_rests() {
    let agent = asking();
    let desk = Desk::open(&agent).await;
    let started = desk.post("/api/v1/sessions", new_session()).await;
    assert_eq!(started.status, StatusCode::CREATED, "{}", started.text);
    let id = started.body["sessionId"].as_str().unwrap().to_owned();
    assert!(id.starts_with("sess_"));
    assert_eq!(started.body["openedBy"], json!({ "type": "caller", "id": "token" }));

    let ask = desk.asked(&id).await;
    assert_eq!(ask["kind"], "command");
    assert_eq!(ask["sessionId"], id.as_str());
    assert_eq!(desk.get_as_human("/api/v1/asks?state=pending").await.body["asks"][0], ask);
    let path = answer_path(&ask);
    let one = path.trim_end_matches("/answer");
    assert_eq!(desk.get(one).await.body, ask);

    let wrong = json!({ "digest": "0".repeat(64), "decision": "accept" });
    let refused = desk.post(&path, wrong).await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
    assert_eq!(refused.body["code"], "DIGEST_MISMATCH");
    let unbound = desk.post(&path, json!({ "decision": "accept" })).await;
    assert_eq!(unbound.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(unbound.body["code"], "INVALID_ARGUMENT");

    let right = json!({ "digest": ask["digest"], "decision": "accept" });
    let settled = desk.post_as_human(&path, right.clone()).await;
    assert_eq!(settled.status, StatusCode::OK, "{}", settled.text);
    assert_eq!(settled.body["state"], "settled");
    let how = &settled.body["settlement"]["how"];
    assert_eq!(how["by"], json!({ "type": "human", "via": "rest", "verified": true }));
    assert_eq!(how["bound"], true);

    let late = desk.post(&path, right).await;
    assert_eq!(late.status, StatusCode::CONFLICT);
    assert_eq!(late.body["code"], "ALREADY_SETTLED");
    assert_eq!(late.body["settlement"], settled.body["settlement"]);

    let view = desk.session_until(&id, "idle").await;
    assert_eq!(view["lastTurn"]["status"], "completed");
    let page = desk.get(&format!("/api/v1/sessions/{id}/events?limit=3")).await.body;
    assert_eq!(page["events"].as_array().unwrap().len(), 3);
    assert_eq!((&page["nextAfter"], &page["more"]), (&json!(3), &json!(true)));
    let rest = desk.get(&format!("/api/v1/sessions/{id}/events?after=3")).await.body;
    assert_eq!(rest["events"][0]["seq"], 4);
    assert_eq!(rest["nextAfter"], view["lastSeq"]);
    assert_eq!(rest["more"], false);
    let metrics = desk.get("/metrics").await.text;
    assert!(metrics.contains("pilothouse_asks_pending 0\n"), "{metrics}");
    desk.close().await;
}

#[tokio::test]
async fn what_comes_is_as_described() {
    let agent = asking();
    let desk = Desk::open(&agent).await;
    let id = desk.start().await;
    let ask = desk.asked(&id).await;
    desk.is_described("AskView", &ask).await;
    let session = desk.get(&format!("/api/v1/sessions/{id}")).await.body;
    desk.is_described("SessionView", &session).await;
    desk.is_described("TurnView", &session["lastTurn"]).await;
    desk.is_described("Sessions", &desk.get("/api/v1/sessions").await.body).await;
    desk.is_described("Asks", &desk.get("/api/v1/asks").await.body).await;
    desk.is_described("Me", &desk.get("/api/v1/me").await.body).await;
    desk.is_described("Health", &desk.get("/healthz").await.body).await;
    let body = json!({ "digest": ask["digest"], "decision": "accept" });
    desk.is_described("Answer", &body).await;
    let settled = desk.post(&answer_path(&ask), body.clone()).await.body;
    desk.is_described("AskView", &settled).await;
    desk.is_described("Settlement", &settled["settlement"]).await;
    desk.is_described("Problem", &desk.post(&answer_path(&ask), body).await.body).await;
    let session = desk.session_until(&id, "idle").await;
    desk.is_described("SessionView", &session).await;
    desk.is_described("TurnView", &session["lastTurn"]).await;
    let events = desk.get(&format!("/api/v1/sessions/{id}/events")).await.body;
    desk.is_described("Events", &events).await;
    for event in events["events"].as_array().unwrap() {
        desk.is_described("Envelope", event).await;
    }
    desk.close().await;
}

#[tokio::test]
async fn a_session_of_one_node_is_listed_and_answered_over_another() {
    let agent = asking();
    let here = Desk::open(&agent).await;
    let there = Desk::join(&agent, here.home()).await;
    let id = here.start().await;
    here.session_until(&id, "waiting_approval").await;
    let listed = there.get_as_human("/api/v1/sessions").await.body;
    assert_eq!(listed["sessions"][0]["sessionId"], id.as_str());
    assert_eq!(listed["sessions"][0]["node"], here.broker.node());
    let ask = there.asked(&id).await;
    let body = json!({ "digest": ask["digest"], "decision": "decline", "reason": "not now" });
    let settled = there.post_as_human(&answer_path(&ask), body).await;
    assert_eq!(settled.status, StatusCode::OK, "{}", settled.text);
    assert_eq!(settled.body["settlement"]["how"]["reason"], "not now");
    here.session_until(&id, "idle").await;
    there.close().await;
    here.close().await;
}

#[tokio::test]
async fn a_caller_has_its_own_sessions_and_a_person_all() {
    let agent = asking();
    let desk = Desk::open(&agent).await;
    let started = desk.post_as_human("/api/v1/sessions", new_session()).await;
    let id = started.body["sessionId"].as_str().unwrap().to_owned();
    let ask = desk.asked(&id).await;
    assert_eq!(desk.get("/api/v1/sessions").await.body["sessions"], json!([]));
    assert_eq!(desk.get("/api/v1/asks?state=pending").await.body["asks"], json!([]));
    let all = desk.get("/api/v1/sessions?scope=all").await.body;
    assert_eq!(all["sessions"][0]["sessionId"], id.as_str());
    let body = json!({ "digest": ask["digest"], "decision": "accept" });
    let session = format!("/api/v1/sessions/{id}");
    for (path, body) in [
        (answer_path(&ask), body.clone()),
        (format!("{session}/prompt"), json!({ "prompt": "more" })),
        (format!("{session}/interrupt"), json!({})),
        (format!("{session}/fork"), json!({})),
        (format!("{session}/cancel"), json!({})),
    ] {
        let refused = desk.post(&path, body).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path}: {}", refused.text);
        assert_eq!(refused.body["code"], "HUMAN_ONLY");
    }
    let hidden = desk.get(&format!("{session}/events")).await;
    assert_eq!(hidden.status, StatusCode::FORBIDDEN);
    let settled = desk.post_as_human(&answer_path(&ask), body).await;
    assert_eq!(settled.status, StatusCode::OK, "{}", settled.text);
    desk.close().await;
}

#[tokio::test]
async fn prompts_steer_queue_wait_and_are_refused() {
    let agent = asking();
    let desk = Desk::open(&agent).await;
    let id = desk.start().await;
    let ask = desk.asked(&id).await;
    let prompt = format!("/api/v1/sessions/{id}/prompt");
    let busy = desk.post(&prompt, json!({ "prompt": "more" })).await;
    assert_eq!((busy.status, &busy.body["code"]), (StatusCode::CONFLICT, &json!("SESSION_BUSY")));
    assert!(busy.body["hint"].as_str().unwrap().contains("whenBusy"));
    let queued = desk.post(&prompt, json!({ "prompt": "more", "whenBusy": "queue" })).await;
    assert_eq!((queued.status, queued.body), (StatusCode::ACCEPTED, json!({})));
    let body = json!({ "digest": ask["digest"], "decision": "accept" });
    assert_eq!(desk.post(&answer_path(&ask), body).await.status, StatusCode::OK);
    let second = desk.asked(&id).await;
    assert_ne!(second["requestId"], ask["requestId"]);
    let stopped = desk.post(&format!("/api/v1/sessions/{id}/interrupt"), json!({})).await;
    assert_eq!(stopped.status, StatusCode::OK, "{}", stopped.text);
    let view = desk.session_until(&id, "idle").await;
    assert_eq!(view["lastTurn"]["status"], "interrupted");
    let idle = desk.post(&format!("/api/v1/sessions/{id}/interrupt"), json!({})).await;
    assert_eq!(idle.body["code"], "SESSION_NOT_RUNNING");

    let fork = desk.post(&format!("/api/v1/sessions/{id}/fork"), json!({})).await;
    assert_eq!(fork.status, StatusCode::CREATED, "{}", fork.text);
    assert_ne!(fork.body["sessionId"], id.as_str());
    let cancel = format!("/api/v1/sessions/{id}/cancel");
    for _ in 0..2 {
        assert_eq!(desk.post(&cancel, json!({})).await.status, StatusCode::OK);
    }
    desk.session_until(&id, "cancelled").await;
    let closed = desk.post(&prompt, json!({ "prompt": "more" })).await;
    assert_eq!((closed.status, &closed.body["code"]), (StatusCode::CONFLICT, &json!("CANCELLED")));
    desk.close().await;
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_named() {
    let desk = Desk::open(&FakeAgent::new(&[]).unwrap()).await;
    let with = |field: &str, value: Value| {
        let mut res = new_session();
        res[field] = value;
        res
    };
    for (body, status, said) in [
        (json!({}), 422, "missing field `prompt`"),
        (with("prompt", json!("  ")), 422, "`prompt`"),
        (with("prompt", json!(1)), 422, "expected a string"),
        (with("sandbox", json!("none")), 422, "unknown variant `none`"),
        (with("cwd", json!("/no/such/place")), 422, "/no/such/place"),
        (with("cwd", json!("")), 422, "`cwd`"),
        (with("images", json!(["no.png"])), 422, "no.png is no file"),
        (with("title", json!("x".repeat(201))), 422, "`title`"),
        (with("aproval", json!("x")), 422, "unknown field `aproval`"),
    ] {
        let reply = desk.post("/api/v1/sessions", body.clone()).await;
        assert_eq!(reply.status, status, "{body}: {}", reply.text);
        assert_eq!(reply.body["code"], "INVALID_ARGUMENT");
        assert_eq!(reply.body["status"], status);
        let detail = reply.body["detail"].as_str().unwrap();
        assert!(detail.starts_with("Pilothouse could not ") && detail.contains(said), "{detail}");
    }
    let none = format!("sess_{}", "0".repeat(32));
    for (path, status, code) in [
        (format!("/api/v1/sessions/{none}"), 404, "SESSION_NOT_FOUND"),
        (format!("/api/v1/sessions/{none}/events"), 404, "SESSION_NOT_FOUND"),
        ("/api/v1/sessions/nonsense".to_owned(), 422, "INVALID_ARGUMENT"),
        (format!("/api/v1/asks/req_{}_1", "0".repeat(32)), 404, "REQUEST_NOT_FOUND"),
        ("/api/v1/asks/nonsense".to_owned(), 422, "INVALID_ARGUMENT"),
        ("/api/v1/asks?state=some".to_owned(), 422, "INVALID_ARGUMENT"),
        ("/api/v1/sessions?limit=many".to_owned(), 422, "INVALID_ARGUMENT"),
        ("/api/v1/sessions?cursor=nonsense".to_owned(), 422, "INVALID_ARGUMENT"),
        ("/api/v1/feed?after=nonsense".to_owned(), 422, "INVALID_ARGUMENT"),
        (format!("/api/v1/blobs/{}", "0".repeat(64)), 404, "REQUEST_NOT_FOUND"),
        ("/api/v1/blobs/..".to_owned(), 404, "REQUEST_NOT_FOUND"),
    ] {
        let reply = desk.get(&path).await;
        assert_eq!(reply.status, status, "{path}: {}", reply.text);
        assert_eq!(reply.body["code"], code, "{path}: {}", reply.text);
    }
    assert_eq!(desk.get("/api/v1/sessions").await.body["sessions"], json!([]));
    desk.close().await;
}

#[tokio::test]
async fn long_output_is_read_as_a_blob() {
    let long = "x".repeat(100_000);
    let actions =
        vec![Action::BeginTurn, Action::Message(long.clone()), Action::EndTurn("completed".into())];
    let agent = FakeAgent::new(&[Rule::on("turn/start", actions)]).unwrap();
    let desk = Desk::open(&agent).await;
    let id = desk.start().await;
    desk.session_until(&id, "idle").await;
    let page = desk.get(&format!("/api/v1/sessions/{id}/events")).await;
    let digest = page.text.split("\"$blob\":\"").nth(1).unwrap().split('"').next().unwrap();
    let blob = desk.get(&format!("/api/v1/blobs/{digest}")).await;
    assert_eq!(blob.status, StatusCode::OK);
    assert_eq!(blob.text, long);
    assert_eq!(blob.headers["content-type"], "text/plain; charset=utf-8");
    desk.close().await;
}
