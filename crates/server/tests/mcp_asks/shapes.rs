//! What choices and forms come to, in every shape.

use std::collections::BTreeMap;

use pilothouse::core::{Answer, Decision, Intent};
use serde_json::{Value, json};

use crate::{
    client::content,
    room::{Room, accept, colour, decline, trusting},
};

/// Two questions: one choice, and several.
fn party() -> Value {
    let option = |id: &str, label: &str| json!({"id": id, "label": label, "description": "d"});
    json!({
        "message": "The party.",
        "questions": [
            {
                "id": "day", "header": "Day", "question": "When?", "otherLabel": "Another day",
                "default": null, "options": [option("sat", "Saturday"), option("sun", "Sunday")],
            },
            {
                "id": "food", "header": "Food", "question": "What?", "allowMultiple": true,
                "options": [option("cake", "Cake"), option("soup", "Soup"), option("pie", "Pie")],
            },
        ],
    })
}

#[tokio::test]
async fn a_form_comes_to_the_answers_that_it_holds() {
    let day = |id: &str, label: &str, text: Value| json!({"questionId": "day", "selectedId": id, "selectedLabel": label, "otherText": text});
    let food = |each: &[(&str, &str)], text: Value| {
        let selections: Vec<_> =
            each.iter().map(|(id, label)| json!({"id": id, "label": label})).collect();
        json!({
            "questionId": "food", "selectedId": each[0].0, "selectedLabel": each[0].1,
            "otherText": text, "selections": selections,
        })
    };
    for (filled, expected) in [
        (
            json!({"q1": "sun", "q2_1": false, "q2_3": true, "q1_other": ""}),
            [day("sun", "Sunday", Value::Null), food(&[("pie", "Pie")], Value::Null)],
        ),
        (
            json!({"q1": "other", "q1_other": "Monday", "q2_1": true, "q2_2": true, "q2_3": false}),
            [
                day("other", "Another day", "Monday".into()),
                food(&[("cake", "Cake"), ("soup", "Soup")], Value::Null),
            ],
        ),
        (
            json!({"q1": "sat", "q2_other": "Bread", "q2_1": true}),
            [
                day("sat", "Saturday", Value::Null),
                food(&[("cake", "Cake"), ("other", "Other")], "Bread".into()),
            ],
        ),
        (
            json!({"q1": "sat", "q2_other": "Bread"}),
            [day("sat", "Saturday", Value::Null), food(&[("other", "Other")], "Bread".into())],
        ),
    ] {
        let room = Room::open(trusting()).await;
        let mut client = room.with_forms("2025-06-18").await;
        let call = client.begin("request_choice", &party()).await;
        let asked = client.asked().await;
        client.reply(&asked, accept(filled.clone())).await;
        let result = content(client.result(call).await);
        assert_eq!(result, json!({"action": "accept", "answers": expected}), "{filled}");
        room.close().await;
    }
}

#[tokio::test]
async fn what_is_no_answer_has_no_answers() {
    let room = Room::open(trusting()).await;
    let mut client = room.client();
    client.connect("2025-11-25", "editor", json!({})).await;
    for (answer, action) in [(decline(), "decline"), (Answer::plain(Decision::Cancel), "cancel")] {
        let pending = client.done("request_choice", &colour()).await;
        room.person_says(&room.pending().await, answer).await;
        let collect = json!({"askId": pending["askId"]});
        let result = client.done("request_choice", &collect).await;
        assert_eq!(result, json!({"action": action, "answers": []}));
    }
    let pending = client.done("request_choice", &colour()).await;
    let ask = room.pending().await;
    let by = ask.asked_by.clone().unwrap();
    let withdraw = Intent::Withdraw { ask: ask.ask() };
    room.broker.act(ask.session_id, withdraw, &by).await.unwrap();
    let collect = json!({"askId": pending["askId"]});
    let result = client.done("request_choice", &collect).await;
    assert_eq!(result, json!({"action": "cancel", "answers": [], "outcome": "withdrawn"}));
    room.close().await;
}

#[tokio::test]
async fn a_question_that_nobody_answered_in_time_is_no_refusal() {
    let room = Room::open(trusting()).await;
    let mut client = room.client();
    client.connect("2025-11-25", "editor", json!({})).await;
    let mut question = colour();
    question["timeoutMs"] = 1.into();
    let pending = client.done("request_choice", &question).await;
    let ask = pending["askId"].as_str().unwrap().parse().unwrap();
    room.settled(ask).await;
    let result = client.call("request_choice", &json!({"askId": pending["askId"]})).await;
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("no refusal"), "{text}");
    let expected = json!({"action": "cancel", "answers": [], "outcome": "expired"});
    assert_eq!(content(result), expected);
    room.close().await;
}

#[tokio::test]
async fn a_form_of_any_field_comes_back_as_it_was_filled_in() {
    let form = json!({"message": "About you", "requestedSchema": {
        "type": "object",
        "required": ["name", "tags"],
        "properties": {
            "age": {"type": "integer", "minimum": 0, "default": 30},
            "mail": {"type": "string", "format": "email"},
            "name": {"type": "string", "title": "Name", "minLength": 2},
            "news": {"type": "boolean", "default": false},
            "plan": {"type": "string", "oneOf": [{"const": "a", "title": "Plan A"}]},
            "tags": {"type": "array", "minItems": 1, "items": {
                "anyOf": [{"const": "x", "title": "X"}, {"const": "y", "title": "Y"}],
            }},
        },
    }});
    for (version, filled) in [
        ("2025-11-25", json!({"age": 7, "name": "Jo", "tags": ["y"], "plan": "a"})),
        (
            "2025-06-18",
            json!({"age": 7, "name": "Jo", "tags_01": false, "tags_02": true, "plan": "a"}),
        ),
    ] {
        let room = Room::open(trusting()).await;
        let mut client = room.with_forms(version).await;
        let call = client.begin("request_form", &form).await;
        let asked = client.asked().await;
        // Too short, which the rules of the form say.
        client.reply(&asked, accept(json!({"name": "J", "tags": ["y"]}))).await;
        let again = client.asked().await;
        let message = again["params"]["message"].as_str().unwrap();
        assert!(message.contains("at least 2 characters"), "{message}");
        client.reply(&again, accept(filled)).await;
        let result = content(client.result(call).await);
        let expected = json!({"age": 7, "name": "Jo", "tags": ["y"], "plan": "a"});
        assert_eq!(result["content"], expected, "{version}");
        room.close().await;
    }
}

#[tokio::test]
async fn a_form_is_filled_in_at_the_console_too() {
    let room = Room::open(trusting()).await;
    let mut client = room.with_forms("2025-11-25").await;
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let form = json!({"message": "Who?", "requestedSchema": schema});
    let call = client.begin("request_form", &form).await;
    client.asked().await;
    let filled = json!({"name": "Jo"});
    let answer = Answer::Filled { content: filled.clone() };
    room.person_says(&room.pending().await, answer).await;
    let result = content(client.result(call).await);
    assert_eq!(result, json!({"action": "accept", "answers": [], "content": filled}));
    room.close().await;
}

#[tokio::test]
async fn free_text_of_a_person_elsewhere_is_other_too() {
    let room = Room::open(trusting()).await;
    let mut client = room.with_forms("2025-11-25").await;
    let call = client.begin("request_choice", &colour()).await;
    client.asked().await;
    let other = BTreeMap::from([("colour".to_owned(), "teal".to_owned())]);
    let answer = Answer::Chosen { answers: BTreeMap::new(), other };
    room.person_says(&room.pending().await, answer).await;
    let answer = &content(client.result(call).await)["answers"][0];
    let expected = json!({
        "questionId": "colour", "selectedId": "other", "selectedLabel": "Other",
        "otherText": "teal",
    });
    assert_eq!(*answer, expected);
    room.close().await;
}
