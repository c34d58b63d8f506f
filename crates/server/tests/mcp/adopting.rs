//! A session goes from one caller to another only by a person's word.

use pilothouse::{Broker, Config, Said};
use pilothouse_core::{Actor, Answer, AskRef, Decision};
use pilothouse_store::Sqlite;
use pilothouse_testkit::{
    FakeAgent,
    agent::{Action, Ask, Rule},
};
use serde_json::{Value, json};

use crate::client::Client;

#[tokio::test]
async fn a_session_is_adopted_when_a_person_allows_it() {
    let home = tempfile::tempdir().unwrap();
    let ask = Ask { command: "touch f".to_owned(), ..Ask::default() };
    let turn = vec![Action::BeginTurn, Action::Ask(ask), Action::EndTurn("completed".to_owned())];
    let agent = FakeAgent::new(&[Rule::on("turn/start", turn)]).unwrap();
    let mut owner = Client::start(home.path(), &agent).await;
    let mut other = Client::start(home.path(), &agent).await;
    let session = owner.session("work", "untrusted", home.path()).await;
    let action = owner.action(&session).await;
    let adopt = json!({"action": "adopt", "adopt": session});

    let pending = other.done("codex_session", adopt.clone()).await;
    assert_eq!((&pending["success"], &pending["status"]), (&json!(false), &json!("pending")));
    let text = pending["message"].as_str().unwrap();
    let request = pending["requestId"].as_str().unwrap();
    assert!(text.contains(request) && text.contains("pilothouse inbox"), "{text}");
    // To ask again is no second question, and the action goes without saying.
    let again = other.done("codex_session", json!({"adopt": session})).await;
    assert_eq!(again["requestId"], request);
    // No program gives it away, whoever's the session is.
    for client in [&mut owner, &mut other] {
        let accept = json!({
            "action": "respond_permission", "sessionId": session, "requestId": request,
            "decision": "accept",
        });
        let error = client.refused("codex_check", accept).await;
        assert_eq!(error["code"], "HUMAN_ONLY", "{error}");
    }
    // Nor is anyone else kept waiting by it.
    let poll = json!({"action": "poll", "sessionId": session, "cursor": 0, "maxEvents": 100});
    let actions = owner.done("codex_check", poll.clone()).await["actions"].clone();
    assert_eq!(actions.as_array().unwrap().len(), 1, "{actions}");
    assert_eq!(actions[0]["requestId"], action["requestId"]);
    assert_eq!(list(&mut other).await, json!([]));

    answer(&home, request, Decision::Accept).await;
    let adopted = other.done("codex_session", adopt).await;
    assert_eq!((&adopted["success"], &adopted["status"]), (&json!(true), &json!("adopted")));
    assert_eq!(list(&mut other).await[0]["sessionId"], session.as_str());
    assert_eq!(list(&mut owner).await, json!([]));
    other.decide(&session, &action, "accept").await;
    other.poll_until(&session, |it| it["status"] == "idle").await;
    let events = other.done("codex_check", poll).await["events"].to_string();
    for part in ["session/adopted", "\"status\":\"completed\""] {
        assert!(events.contains(part), "{events}");
    }
}

#[tokio::test]
async fn a_session_that_nobody_gives_away_stays_where_it_is() {
    let home = tempfile::tempdir().unwrap();
    let agent = FakeAgent::new(&[]).unwrap();
    let mut owner = Client::start(home.path(), &agent).await;
    let mut other = Client::start(home.path(), &agent).await;
    let session = owner.session("work", "never", home.path()).await;
    owner.outcome(&session).await;
    let pending = other.done("codex_session", json!({"adopt": session})).await;
    // It waits for nobody's agent.
    let rest = owner.done("codex_session", json!({"action": "get", "sessionId": session})).await;
    assert_eq!((&rest["status"], &rest["pendingRequestCount"]), (&json!("idle"), &json!(1)));
    answer(&home, pending["requestId"].as_str().unwrap(), Decision::Decline).await;
    assert_eq!(list(&mut owner).await[0]["sessionId"], session.as_str());
    assert_eq!(list(&mut other).await, json!([]));
    let again = other.done("codex_session", json!({"adopt": session})).await;
    assert_ne!(again["requestId"], pending["requestId"]);

    let own = owner.done("codex_session", json!({"adopt": session})).await;
    assert_eq!(own["status"], "adopted");
    for (arguments, code) in [
        (json!({"action": "list", "adopt": session}), "INVALID_ARGUMENT"),
        (json!({"action": "adopt"}), "INVALID_ARGUMENT"),
        (json!({"adopt": "sess_x"}), "SESSION_NOT_FOUND"),
    ] {
        let error = other.refused("codex_session", arguments).await;
        assert_eq!(error["code"], code, "{error}");
    }
    let cancel = json!({"action": "cancel", "sessionId": session});
    owner.done("codex_session", cancel).await;
    let error = other.refused("codex_session", json!({"adopt": session})).await;
    assert_eq!(error["code"], "CANCELLED", "{error}");
}

async fn list(client: &mut Client) -> Value {
    client.done("codex_session", json!({"action": "list"})).await["sessions"].clone()
}

/// As a person does at a terminal of the same home.
async fn answer(home: &tempfile::TempDir, request: &str, decision: Decision) {
    let store = Sqlite::open(&home.path().join("pilothouse.db")).unwrap();
    let broker = Broker::open(Config::new(store, "test", "inbox")).await.unwrap();
    let ask: AskRef = request.parse().unwrap();
    let digest = Some(broker.ask(ask).await.unwrap().digest);
    let said = Said { answer: Answer::plain(decision), digest, reason: None, note: None };
    let person = Actor::Human { via: "cli".to_owned(), verified: true };
    broker.answer(ask, said, &person).await.unwrap();
    broker.stop().await;
}
