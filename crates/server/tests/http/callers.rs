//! What callers ask people themselves, over REST: choices, forms, and commands with their reading.

use axum::http::StatusCode;
use pilothouse::Start;
use pilothouse_core::{
    Actor, CallerRequest, Intent, Patience, Question, QuestionOption, SessionId, Spec, Subject,
};
use pilothouse_testkit::FakeAgent;
use serde_json::{Value, json};

use crate::desk::{Desk, asking};

fn caller() -> Actor {
    Actor::Caller { id: "workshop".into() }
}

/// A session in which no agent works.
async fn agentless(desk: &Desk) -> SessionId {
    let spec = Spec { cwd: "/".into(), agentless: true, ..Spec::default() };
    desk.broker.start(Start { spec, prompt: None, by: caller() }).await.unwrap()
}

/// Asks people something, and gives it as a person sees it.
async fn asks(desk: &Desk, session: SessionId, subject: Subject) -> Value {
    let request = CallerRequest {
        key: "k".into(),
        subject,
        reason: Some("before I go on".into()),
        patience: Patience::Forever,
    };
    let intent = Intent::Ask { request: Box::new(request) };
    desk.broker.act(session, intent, &caller()).await.unwrap();
    let path = format!("/api/v1/asks?state=pending&sessionId={session}");
    let asks = desk.get_as_human(&path).await.body["asks"].clone();
    assert_eq!(asks.as_array().map(Vec::len), Some(1), "{asks}");
    asks[0].clone()
}

fn question(id: &str, multiple: bool) -> Question {
    let option = |id: &str| QuestionOption {
        id: Some(id.into()),
        label: id.to_uppercase(),
        ..Default::default()
    };
    Question {
        id: id.into(),
        question: "Which?".into(),
        is_other: true,
        multiple,
        options: Some(vec![option("red"), option("blue")]),
        ..Question::default()
    }
}

fn answer_path(ask: &Value) -> String {
    format!("/api/v1/asks/{}/answer", ask["requestId"].as_str().unwrap())
}

#[tokio::test]
async fn a_choice_is_answered_by_options_and_in_other_words() {
    let desk = Desk::open(&FakeAgent::new(&[]).unwrap()).await;
    let session = agentless(&desk).await;
    let questions = vec![question("one", false), question("many", true)];
    let ask = asks(&desk, session, Subject::Question { questions }).await;
    assert_eq!(ask["askedBy"], json!({ "type": "caller", "id": "workshop" }));
    assert_eq!(ask["verdict"], Value::Null, "only commands are read");
    desk.is_described("AskView", &ask).await;
    let path = answer_path(&ask);
    let with = |answers: Value, other: Value| {
        let body = json!({ "digest": ask["digest"], "answers": answers, "other": other });
        desk.post_as_human(&path, body)
    };
    let many = json!({ "answers": ["red", "blue"] });
    for (answers, other, said) in [
        (json!({ "many": many }), json!({}), "`one`"),
        (json!({ "one": { "answers": ["RED"] }, "many": many }), json!({}), "RED"),
        (json!({ "one": many, "many": many }), json!({}), "one answer"),
        (json!({ "many": many }), json!({ "one": " " }), "must be written"),
        (json!({ "many": many }), json!({ "one": "teal", "two": "x" }), "two"),
    ] {
        let refused = with(answers, other).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", refused.text);
        let detail = refused.body["detail"].as_str().unwrap().replace('"', "`");
        assert!(detail.contains(said), "{said}: {detail}");
    }
    let settled = with(json!({ "many": many }), json!({ "one": "teal", "many": "dark" })).await;
    assert_eq!(settled.status, StatusCode::OK, "{}", settled.text);
    assert_eq!(
        settled.body["settlement"]["how"]["answer"],
        json!({
            "type": "chosen",
            "answers": { "many": ["red", "blue"] },
            "other": { "one": "teal", "many": "dark" },
        })
    );
    desk.is_described("AskView", &settled.body).await;
    desk.close().await;
}

#[tokio::test]
async fn what_a_caller_asks_may_be_declined_with_a_reason_by_a_person_only() {
    let desk = Desk::open(&FakeAgent::new(&[]).unwrap()).await;
    let session = agentless(&desk).await;
    let subject = Subject::Question { questions: vec![question("one", false)] };
    let ask = asks(&desk, session, subject).await;
    let no = json!({ "digest": ask["digest"], "decision": "decline", "reason": "ask me later" });
    let refused = desk.post(&answer_path(&ask), no.clone()).await;
    assert_eq!(
        (refused.status, &refused.body["code"]),
        (StatusCode::FORBIDDEN, &json!("HUMAN_ONLY"))
    );
    let yes = json!({ "digest": ask["digest"], "decision": "accept" });
    let refused = desk.post_as_human(&answer_path(&ask), yes).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", refused.text);
    let settled = desk.post_as_human(&answer_path(&ask), no).await;
    assert_eq!(settled.status, StatusCode::OK, "{}", settled.text);
    let how = &settled.body["settlement"]["how"];
    assert_eq!(
        (&how["answer"]["decision"], &how["reason"]),
        (&json!("decline"), &json!("ask me later"))
    );
    desk.close().await;
}

#[tokio::test]
async fn a_command_comes_with_what_was_read_from_it() {
    let desk = Desk::open(&FakeAgent::new(&[]).unwrap()).await;
    let session = agentless(&desk).await;
    let subject = Subject::Command {
        command: "ls src && rm -r out".into(),
        argv: vec![],
        cwd: "/".into(),
        write_stdin: false,
        host: None,
    };
    let ask = asks(&desk, session, subject).await;
    assert_eq!(ask["verdict"], "ask");
    let words: Vec<_> = ask["segments"].as_array().unwrap().iter().map(|it| &it["argv"]).collect();
    assert_eq!(words, [&json!(["ls", "src"]), &json!(["rm", "-r", "out"])]);
    assert_eq!(
        (&ask["segments"][0]["verdict"], &ask["segments"][0]["class"]),
        (&json!("safe"), &json!("reads only"))
    );
    assert_eq!(
        (&ask["segments"][1]["verdict"], &ask["segments"][1]["class"]),
        (&json!("ask"), &json!("writes"))
    );
    desk.is_described("AskView", &ask).await;
    for segment in ask["segments"].as_array().unwrap() {
        desk.is_described("Segment", segment).await;
    }
    let path = answer_path(&ask);
    let one = desk.get(path.trim_end_matches("/answer")).await.body;
    assert_eq!(one, ask, "one is as it is in the list");
    let body = json!({ "digest": ask["digest"], "decision": "decline" });
    let settled = desk.post_as_human(&path, body).await.body;
    assert_eq!(settled["segments"], ask["segments"]);
    desk.close().await;
}

#[tokio::test]
async fn a_session_says_whether_an_agent_works_in_it() {
    let agent = asking();
    let desk = Desk::open(&agent).await;
    let without = agentless(&desk).await;
    let with = desk.start().await;
    desk.asked(&with).await;
    for (id, expected) in [(without.to_string(), true), (with, false)] {
        let view = desk.get_as_human(&format!("/api/v1/sessions/{id}")).await.body;
        assert_eq!(view["agentless"], expected, "{view}");
        desk.is_described("SessionView", &view).await;
    }
    desk.close().await;
}
