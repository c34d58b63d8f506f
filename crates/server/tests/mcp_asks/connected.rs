//! Clients that are asked on their connection: 2025-06-18 and 2025-11-25.

use std::time::Duration;

use pilothouse::core::{Actor, Answerers, AskState, Settled};
use serde_json::json;

use crate::{
    client::content,
    room::{Room, accept, chosen, colour, picked, say, trusting, wary},
};

const CHOICE: &str = "request_choice";

#[tokio::test]
async fn a_person_chooses_in_a_form_of_either_version() {
    for version in ["2025-06-18", "2025-11-25"] {
        let room = Room::open(trusting()).await;
        let mut client = room.with_forms(version).await;
        let call = client.begin(CHOICE, &colour()).await;
        let asked = client.asked().await;
        let ask = room.pending().await;
        assert_eq!(asked["params"]["_meta"]["pilothouse/ask"], ask.request_id.to_string());
        client.reply(&asked, accept(json!({"q1": "blue"}))).await;
        let result = client.result(call).await;
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("Colour: blue (Blue)"), "{text}");
        assert_eq!(content(result), picked("blue", "Blue"));
        let Settled::Answered { by, bound, .. } =
            room.settled(ask.request_id).await.settlement.unwrap().how
        else {
            panic!("it was answered");
        };
        assert_eq!(by, Actor::Human { via: "editor".to_owned(), verified: false });
        assert!(bound);
        room.close().await;
    }
}

#[tokio::test]
async fn without_forms_the_caller_is_told_where_a_person_can_answer() {
    let room = Room::open(trusting()).await;
    let mut client = room.client();
    client.connect("2025-11-25", "editor", json!({})).await;
    let pending = client.done(CHOICE, &colour()).await;
    let ask = room.pending().await;
    assert_eq!(
        pending,
        json!({
            "action": "pending", "askId": ask.request_id.to_string(),
            "where": "a terminal with `pilothouse inbox`", "retryAfterMs": 5000, "answers": [],
        })
    );
    // Nobody is there, so that it does not wait for ever.
    assert!(ask.expires_at.is_some());
    room.person_says(&ask, chosen("red")).await;
    let collected = client.done(CHOICE, &json!({"askId": pending["askId"]})).await;
    assert_eq!(collected, picked("red", "Red"));
    assert!(!client.was_asked());
    room.close().await;
}

#[tokio::test]
async fn a_caller_without_forms_waits_while_somebody_looks() {
    let room = Room::open(trusting()).await;
    let console = room.someone_looks().await;
    let mut client = room.client();
    client.connect("2025-11-25", "editor", json!({})).await;
    let call = client.begin(CHOICE, &colour()).await;
    let ask = room.pending().await;
    assert_eq!(ask.expires_at, None);
    room.person_says(&ask, chosen("blue")).await;
    assert_eq!(content(client.result(call).await), picked("blue", "Blue"));
    console.stop().await;
    room.close().await;
}

#[tokio::test]
async fn a_client_that_only_opens_pages_is_sent_to_the_console() {
    let room = Room::open(trusting()).await;
    let console = room.someone_looks().await;
    let mut client = room.client();
    client.connect("2025-11-25", "editor", json!({"elicitation": {"url": {}}})).await;
    let call = client.begin(CHOICE, &colour()).await;
    let asked = client.asked().await;
    let ask = room.pending().await;
    let params = &asked["params"];
    assert_eq!(params["mode"], "url");
    assert_eq!(params["url"], "http://127.0.0.1:7457");
    assert_eq!(params["elicitationId"], ask.request_id.to_string());
    client.reply(&asked, say("accept")).await;
    // Having gone there is no answer.
    assert_eq!(room.broker.ask(ask.request_id).await.unwrap().state, AskState::Pending);
    room.person_says(&ask, chosen("red")).await;
    assert_eq!(content(client.result(call).await), picked("red", "Red"));
    let note = client.note("notifications/elicitation/complete").await;
    assert_eq!(note["params"]["elicitationId"], params["elicitationId"]);
    console.stop().await;
    room.close().await;
}

#[tokio::test]
async fn a_page_of_the_callers_own_is_done_with_when_the_person_says_so() {
    let room = Room::open(trusting()).await;
    let mut client = room.client();
    let both = json!({"elicitation": {"form": {}, "url": {}}});
    client.connect("2025-11-25", "editor", both).await;
    let page = json!({"message": "Give us a key.", "url": "https://example.com/key"});
    let call = client.begin("request_form", &page).await;
    let asked = client.asked().await;
    assert_eq!(asked["params"]["url"], "https://example.com/key");
    client.reply(&asked, say("accept")).await;
    let result = content(client.result(call).await);
    assert_eq!(result, json!({"action": "accept", "answers": [], "content": {}}));
    client.note("notifications/elicitation/complete").await;
    room.close().await;
}

#[tokio::test]
async fn a_client_that_ignores_its_form_does_not_show_it() {
    let silence = Duration::from_millis(20);
    let room = Room::open(pilothouse_server::mcp::Options { silence, ..trusting() }).await;
    let mut client = room.with_forms("2025-11-25").await;
    let pending = client.done(CHOICE, &colour()).await;
    assert_eq!(pending["action"], "pending");
    assert_eq!(pending["where"], "a terminal with `pilothouse inbox`");
    let ask = room.pending().await;
    assert_eq!(room.not_shown(ask.request_id).await, ["no reply within 0 s"]);
    // A client that only was slow is heard all the same.
    let asked = client.asked().await;
    client.reply(&asked, accept(json!({"q1": "red"}))).await;
    room.settled(ask.request_id).await;
    let collected = client.done(CHOICE, &json!({"askId": pending["askId"]})).await;
    assert_eq!(collected, picked("red", "Red"));
    room.close().await;
}

#[tokio::test]
async fn a_no_that_comes_at_once_is_no_persons() {
    for action in ["decline", "cancel"] {
        let room = Room::open(wary()).await;
        let mut client = room.with_forms("2025-06-18").await;
        let call = client.begin(CHOICE, &colour()).await;
        let asked = client.asked().await;
        client.reply(&asked, say(action)).await;
        let pending = content(client.result(call).await);
        assert_eq!(pending["action"], "pending", "{action}");
        let ask = room.pending().await;
        let why = room.not_shown(ask.request_id).await;
        assert!(why[0].ends_with("before anyone can have read it"), "{why:?}");
        room.person_says(&ask, chosen("blue")).await;
        let collected = client.done(CHOICE, &json!({"askId": pending["askId"]})).await;
        assert_eq!(collected, picked("blue", "Blue"));
        room.close().await;
    }
}

#[tokio::test]
async fn a_no_that_took_its_time_is_a_no() {
    for action in ["decline", "cancel"] {
        let room = Room::open(trusting()).await;
        let mut client = room.with_forms("2025-11-25").await;
        let call = client.begin(CHOICE, &colour()).await;
        let asked = client.asked().await;
        client.reply(&asked, say(action)).await;
        let result = content(client.result(call).await);
        assert_eq!(result, json!({"action": action, "answers": []}));
        // Now it is known that a person reads this client's forms.
        let nodes = room.broker.nodes().await.unwrap();
        assert!(nodes.iter().any(|it| it.presence.human_surfaces == 1), "{nodes:?}");
        room.close().await;
    }
}

#[tokio::test]
async fn what_does_not_fit_is_asked_once_more() {
    let room = Room::open(trusting()).await;
    let mut client = room.with_forms("2025-06-18").await;
    let call = client.begin(CHOICE, &colour()).await;
    let asked = client.asked().await;
    client.reply(&asked, accept(json!({}))).await;
    let again = client.asked().await;
    let message = again["params"]["message"].as_str().unwrap();
    assert!(message.contains("Colour needs an answer"), "{message}");
    client.reply(&again, accept(json!({"q1": "other", "q1_other": "teal"}))).await;
    let result = content(client.result(call).await);
    assert_eq!(result["answers"][0]["otherText"], "teal");
    room.close().await;
}

#[tokio::test]
async fn what_does_not_fit_twice_was_not_shown() {
    for wrong in [json!({"q1": 3}), json!({"q1": "green"}), json!({"q1": "other"}), json!({})] {
        let room = Room::open(trusting()).await;
        let mut client = room.with_forms("2025-11-25").await;
        let call = client.begin(CHOICE, &colour()).await;
        for _ in 0..2 {
            let asked = client.asked().await;
            client.reply(&asked, accept(wrong.clone())).await;
        }
        let pending = content(client.result(call).await);
        assert_eq!(pending["action"], "pending", "{wrong}");
        let ask = room.pending().await;
        assert_eq!(room.not_shown(ask.request_id).await.len(), 1, "{wrong}");
        assert!(!client.was_asked(), "{wrong}");
        room.close().await;
    }
}

#[tokio::test]
async fn a_client_that_leaves_in_mid_form_takes_its_question_along() {
    let room = Room::open(trusting()).await;
    let mut client = room.with_forms("2025-11-25").await;
    client.begin(CHOICE, &colour()).await;
    client.asked().await;
    let ask = room.pending().await;
    client.leave().await;
    room.server.close().await;
    assert_eq!(room.not_shown(ask.request_id).await.len(), 1);
    let how = room.settled(ask.request_id).await.settlement.unwrap().how;
    assert_eq!(how, Settled::Withdrawn);
    room.close().await;
}

#[tokio::test]
async fn an_answer_given_elsewhere_takes_the_form_away() {
    let room = Room::open(trusting()).await;
    let mut client = room.with_forms("2025-11-25").await;
    let call = client.begin(CHOICE, &colour()).await;
    let asked = client.asked().await;
    let ask = room.pending().await;
    room.person_says(&ask, chosen("red")).await;
    let note = client.note("notifications/cancelled").await;
    assert_eq!(note["params"]["requestId"], asked["id"]);
    let result = client.result(call).await;
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("Answered by a person (console) at "), "{text}");
    assert_eq!(content(result), picked("red", "Red"));
    // A late reply changes nothing.
    client.reply(&asked, accept(json!({"q1": "blue"}))).await;
    let again = client.done(CHOICE, &json!({"askId": ask.request_id.to_string()})).await;
    assert_eq!(again, picked("red", "Red"));
    room.close().await;
}

#[tokio::test]
async fn a_call_ends_before_clients_give_up_and_the_form_stays() {
    let call_limit = Duration::from_millis(20);
    let room = Room::open(pilothouse_server::mcp::Options { call_limit, ..trusting() }).await;
    let mut client = room.with_forms("2025-11-25").await;
    let pending = client.done(CHOICE, &colour()).await;
    assert_eq!(pending["action"], "pending");
    let asked = client.asked().await;
    client.reply(&asked, accept(json!({"q1": "blue"}))).await;
    room.settled(room_ask(&pending)).await;
    let collected = client.done(CHOICE, &json!({"askId": pending["askId"]})).await;
    assert_eq!(collected, picked("blue", "Blue"));
    room.close().await;
}

#[tokio::test]
async fn a_call_of_codex_stays_open_while_its_form_is() {
    let call_limit = Duration::from_millis(20);
    let room = Room::open(pilothouse_server::mcp::Options { call_limit, ..trusting() }).await;
    let mut client = room.client();
    client.connect("2025-06-18", "codex-mcp-client", json!({"elicitation": {}})).await;
    let mut other = room.with_forms("2025-06-18").await;
    let call = client.begin(CHOICE, &colour()).await;
    let asked = client.asked().await;
    // One that asks later and is sent away shows that the limit has passed.
    let mut later = colour();
    later["message"] = "And the door?".into();
    assert_eq!(other.done(CHOICE, &later).await["action"], "pending");
    client.reply(&asked, accept(json!({"q1": "blue"}))).await;
    assert_eq!(content(client.result(call).await), picked("blue", "Blue"));
    room.close().await;
}

#[tokio::test]
async fn where_only_people_may_answer_no_form_is_used() {
    let answerers = Answerers::Human;
    let room = Room::open(pilothouse_server::mcp::Options { answerers, ..trusting() }).await;
    let mut client = room.with_forms("2025-11-25").await;
    let pending = client.done(CHOICE, &colour()).await;
    assert_eq!(pending["action"], "pending");
    assert!(!client.was_asked());
    room.close().await;
}

#[tokio::test]
async fn a_call_that_is_taken_back_takes_back_its_question() {
    let room = Room::open(trusting()).await;
    let mut client = room.with_forms("2025-11-25").await;
    let call = client.begin(CHOICE, &colour()).await;
    let asked = client.asked().await;
    let ask = room.pending().await;
    let params = json!({"requestId": call, "reason": "enough"});
    let taken = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
    client.line(&taken).await;
    let how = room.settled(ask.request_id).await.settlement.unwrap().how;
    assert_eq!(how, Settled::Withdrawn);
    let note = client.note("notifications/cancelled").await;
    assert_eq!(note["params"]["requestId"], asked["id"]);
    room.close().await;
}

#[tokio::test]
async fn the_same_question_asked_twice_is_one_question() {
    let room = Room::open(trusting()).await;
    let mut client = room.with_forms("2025-11-25").await;
    let calls = [client.begin(CHOICE, &colour()).await, client.begin(CHOICE, &colour()).await];
    let asked = client.asked().await;
    room.pending().await;
    client.reply(&asked, accept(json!({"q1": "blue"}))).await;
    for call in calls {
        assert_eq!(content(client.result(call).await), picked("blue", "Blue"));
    }
    room.close().await;
}

fn room_ask(pending: &serde_json::Value) -> pilothouse::core::AskRef {
    pending["askId"].as_str().unwrap().parse().unwrap()
}
