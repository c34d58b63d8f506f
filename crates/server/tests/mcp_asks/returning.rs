//! Clients whose calls return with a question and come back with the reply: 2026-07-28.

use std::time::Duration;

use pilothouse::core::{AskState, Settled};
use pilothouse_server::mcp::Options;
use serde_json::{Value, json};

use crate::{
    client::{content, error},
    room::{Room, accept, chosen, colour, picked, say, trusting, wary},
};

const CHOICE: &str = "request_choice";

fn forms() -> Value {
    json!({"elicitation": {}})
}

#[tokio::test]
async fn a_call_returns_with_a_form_and_comes_back_with_the_choice() {
    let room = Room::open(trusting()).await;
    let mut client = room.stateless(forms());
    let asked = client.call(CHOICE, &colour()).await;
    assert_eq!(asked["resultType"], "input_required");
    let ask = room.pending().await;
    let params = &asked["inputRequests"]["ask"]["params"];
    assert_eq!(params["_meta"]["pilothouse/ask"], ask.request_id.to_string());
    assert_eq!(params["requestedSchema"]["properties"]["q1"]["oneOf"][1]["title"], "Blue");
    let reply = Some(accept(json!({"q1": "blue"})));
    let result = client.retry(CHOICE, &colour(), &asked, reply.clone()).await;
    assert_eq!(content(result), picked("blue", "Blue"));
    // The same reply once more is answered the same.
    let result = client.retry(CHOICE, &colour(), &asked, reply).await;
    assert_eq!(content(result), picked("blue", "Blue"));
    // Another one is too late.
    let other = Some(accept(json!({"q1": "red"})));
    let result = client.retry(CHOICE, &colour(), &asked, other).await;
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("Already answered by a person (editor, unverified) at "), "{text}");
    let late = content(result);
    assert_eq!(late["answers"][0]["selectedId"], "blue");
    assert!(late["settledBy"].as_str().unwrap().contains("editor"), "{late}");
    room.close().await;
}

#[tokio::test]
async fn another_process_takes_the_reply_when_the_first_is_gone() {
    let room = Room::open(trusting()).await;
    let next = room.next("b", trusting()).await;
    let mut client = room.stateless(forms());
    let asked = client.call(CHOICE, &colour()).await;
    client.leave().await;
    room.close().await;
    let ask = next.pending().await;
    let mut client = next.stateless(forms());
    let reply = Some(accept(json!({"q1": "red"})));
    let result = client.retry(CHOICE, &colour(), &asked, reply).await;
    assert_eq!(content(result), picked("red", "Red"));
    assert_eq!(next.settled(ask.request_id).await.state, AskState::Settled);
    next.close().await;
}

#[tokio::test]
async fn a_request_state_is_worth_something_for_its_own_call_only() {
    let room = Room::open(trusting()).await;
    let mut client = room.stateless(forms());
    let asked = client.call(CHOICE, &colour()).await;
    let reply = || Some(accept(json!({"q1": "red"})));
    let state = asked["requestState"].as_str().unwrap();
    // Tampered with, cut, made up.
    let mut letters: Vec<char> = state.chars().collect();
    let middle = letters.len() / 2;
    letters[middle] = if letters[middle] == 'A' { 'B' } else { 'A' };
    let tampered: String = letters.into_iter().collect();
    for (wrong, says) in [
        (tampered, "changed on its way"),
        (state[..state.len() - 4].to_owned(), "changed on its way"),
        ("made up".to_owned(), "changed on its way"),
        ("x".repeat(10_000), "too long"),
    ] {
        let wrong = json!({ "requestState": wrong });
        let refused = error(client.retry(CHOICE, &colour(), &wrong, reply()).await);
        assert_eq!(refused["code"], "INVALID_ARGUMENT");
        assert!(refused["message"].as_str().unwrap().contains(says), "{refused}");
    }
    // With other arguments, to another tool, by another client.
    let mut other = colour();
    other["message"] = "Paint the house?".into();
    let refused = error(client.retry(CHOICE, &other, &asked, reply()).await);
    assert!(refused["message"].as_str().unwrap().contains("other arguments"), "{refused}");
    let form = json!({"message": "m", "url": "https://example.com/"});
    let refused = error(client.retry("request_form", &form, &asked, reply()).await);
    assert!(refused["message"].as_str().unwrap().contains("another tool"), "{refused}");
    let mut stranger = room.client();
    stranger.stateless("stranger", forms());
    let refused = error(stranger.retry(CHOICE, &colour(), &asked, reply()).await);
    assert!(refused["message"].as_str().unwrap().contains("another client"), "{refused}");
    // Without any.
    let refused = error(client.retry(CHOICE, &colour(), &Value::Null, reply()).await);
    assert!(refused["message"].as_str().unwrap().contains("missing"), "{refused}");
    assert_eq!(room.pending().await.state, AskState::Pending);
    let result = client.retry(CHOICE, &colour(), &asked, reply()).await;
    assert_eq!(content(result), picked("red", "Red"));
    room.close().await;
}

#[tokio::test]
async fn a_request_state_of_another_store_is_worth_nothing() {
    let (room, other) = (Room::open(trusting()).await, Room::open(trusting()).await);
    let mut client = room.stateless(forms());
    let asked = client.call(CHOICE, &colour()).await;
    let mut elsewhere = other.stateless(forms());
    let reply = Some(accept(json!({"q1": "red"})));
    let refused = error(elsewhere.retry(CHOICE, &colour(), &asked, reply).await);
    assert_eq!(refused["code"], "INVALID_ARGUMENT");
    other.close().await;
    room.close().await;
}

#[tokio::test]
async fn a_request_state_that_has_expired_accepts_nothing() {
    let room = Room::open(Options { state_holds: Duration::ZERO, ..trusting() }).await;
    let mut client = room.stateless(forms());
    let asked = client.call(CHOICE, &colour()).await;
    let reply = Some(accept(json!({"q1": "red"})));
    let refused = error(client.retry(CHOICE, &colour(), &asked, reply).await);
    assert_eq!(refused["code"], "TIMEOUT");
    assert_eq!(room.pending().await.state, AskState::Pending);
    room.close().await;
}

#[tokio::test]
async fn a_retry_is_told_what_was_answered_elsewhere() {
    let room = Room::open(trusting()).await;
    let mut client = room.stateless(forms());
    let asked = client.call(CHOICE, &colour()).await;
    let ask = room.pending().await;
    room.person_says(&ask, chosen("red")).await;
    let reply = Some(accept(json!({"q1": "blue"})));
    let result = client.retry(CHOICE, &colour(), &asked, reply).await;
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("Already answered by a person (console) at "), "{text}");
    assert!(text.contains("Colour: red (Red)"), "{text}");
    assert_eq!(content(result)["answers"], picked("red", "Red")["answers"]);
    room.close().await;
}

#[tokio::test]
async fn a_retry_without_a_reply_is_asked_again() {
    let room = Room::open(trusting()).await;
    let mut client = room.stateless(forms());
    let mut asked = client.call(CHOICE, &colour()).await;
    for _ in 0..4 {
        asked = client.retry(CHOICE, &colour(), &asked, None).await;
        assert_eq!(asked["resultType"], "input_required");
    }
    let pending = content(client.retry(CHOICE, &colour(), &asked, None).await);
    assert_eq!(pending["action"], "pending");
    let ask = room.pending().await;
    assert_eq!(room.not_shown(ask.request_id).await.len(), 1);
    room.close().await;
}

#[tokio::test]
async fn what_does_not_fit_is_asked_once_more_and_then_was_not_shown() {
    let room = Room::open(trusting()).await;
    let mut client = room.stateless(forms());
    let asked = client.call(CHOICE, &colour()).await;
    let wrong = || Some(accept(json!({"q1": 7})));
    let again = client.retry(CHOICE, &colour(), &asked, wrong()).await;
    let message = again["inputRequests"]["ask"]["params"]["message"].as_str().unwrap();
    assert!(message.contains("Colour must be one of: Red, Blue"), "{message}");
    let pending = content(client.retry(CHOICE, &colour(), &again, wrong()).await);
    assert_eq!(pending["action"], "pending");
    let ask = room.pending().await;
    assert_eq!(room.not_shown(ask.request_id).await.len(), 1);
    // A person who finds the form after all is still heard.
    let right = Some(accept(json!({"q1": "red"})));
    let result = client.retry(CHOICE, &colour(), &again, right).await;
    assert_eq!(content(result), picked("red", "Red"));
    room.close().await;
}

#[tokio::test]
async fn a_no_that_comes_at_once_is_no_persons() {
    let room = Room::open(wary()).await;
    let mut client = room.stateless(forms());
    let asked = client.call(CHOICE, &colour()).await;
    let pending = content(client.retry(CHOICE, &colour(), &asked, Some(say("decline"))).await);
    assert_eq!(pending["action"], "pending");
    let ask = room.pending().await;
    room.not_shown(ask.request_id).await;
    room.person_says(&ask, chosen("blue")).await;
    let collected = client.done(CHOICE, &json!({"askId": pending["askId"]})).await;
    assert_eq!(collected, picked("blue", "Blue"));
    room.close().await;
}

#[tokio::test]
async fn a_client_that_never_comes_back_does_not_show_forms() {
    let room = Room::open(Options { silence: Duration::from_millis(10), ..trusting() }).await;
    let mut client = room.stateless(forms());
    let asked = client.call(CHOICE, &colour()).await;
    let ask = room.pending().await;
    assert_eq!(room.not_shown(ask.request_id).await, ["no reply within 0 s"]);
    // Unless it does.
    let reply = Some(accept(json!({"q1": "blue"})));
    let result = client.retry(CHOICE, &colour(), &asked, reply).await;
    assert_eq!(content(result), picked("blue", "Blue"));
    room.close().await;
}

#[tokio::test]
async fn each_request_says_what_its_client_can_show() {
    let room = Room::open(trusting()).await;
    let console = room.someone_looks().await;
    for (able, expected) in [
        (json!({"elicitation": {}}), Some("form")),
        (json!({"elicitation": {"form": {}}}), Some("form")),
        (json!({"elicitation": {"form": {}, "url": {}}}), Some("form")),
        (json!({"elicitation": {"url": {}}}), Some("url")),
    ] {
        let mut client = room.stateless(able.clone());
        let asked = client.call(CHOICE, &colour()).await;
        let mode = asked["inputRequests"]["ask"]["params"]["mode"].as_str();
        assert_eq!(mode, expected, "{able}");
    }
    // One and the same question all along.
    room.person_says(&room.pending().await, chosen("red")).await;
    console.stop().await;
    let mut client = room.stateless(json!({}));
    let pending = client.done(CHOICE, &colour()).await;
    assert_eq!(pending["action"], "pending");
    room.close().await;
}

#[tokio::test]
async fn a_page_is_opened_and_the_answer_comes_from_elsewhere() {
    let room = Room::open(trusting()).await;
    let console = room.someone_looks().await;
    let mut client = room.stateless(json!({"elicitation": {"url": {}}}));
    let asked = client.call(CHOICE, &colour()).await;
    let ask = room.pending().await;
    let params = json!({
        "name": CHOICE, "arguments": colour(), "requestState": asked["requestState"],
        "inputResponses": {"ask": {"action": "accept"}},
    });
    let call = client.send("tools/call", params).await;
    room.person_says(&ask, chosen("blue")).await;
    assert_eq!(content(client.result(call).await), picked("blue", "Blue"));
    console.stop().await;
    room.close().await;
}

#[tokio::test]
async fn a_question_outlives_the_connection_that_asked() {
    let room = Room::open(trusting()).await;
    let next = room.next("b", trusting()).await;
    let mut client = room.stateless(json!({}));
    let pending = client.done(CHOICE, &colour()).await;
    client.leave().await;
    room.close().await;
    let ask = next.pending().await;
    next.person_says(&ask, chosen("red")).await;
    let mut client = next.stateless(json!({}));
    let collected = client.done(CHOICE, &json!({"askId": pending["askId"]})).await;
    assert_eq!(collected, picked("red", "Red"));
    let how = next.settled(ask.request_id).await.settlement.unwrap().how;
    assert!(matches!(how, Settled::Answered { .. }), "{how:?}");
    next.close().await;
}
