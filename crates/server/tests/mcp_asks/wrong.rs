//! Questions and forms that are not asked, and why not.

use serde_json::{Value, json};

use crate::{
    client::error,
    room::{Room, colour, trusting},
};

/// A change of something that would be asked.
type Change = fn(&mut Value);

#[tokio::test]
async fn a_choice_that_is_none_is_refused_and_the_field_is_named() {
    let room = Room::open(trusting()).await;
    let mut client = room.with_forms("2025-11-25").await;
    let changes: [(Change, &str); 17] = [
        (|it| it["message"] = Value::Null, "message: is required"),
        (|it| it["message"] = 7.into(), "message: must be text"),
        (|it| it["questions"] = json!([]), "questions: must have 1 to 3"),
        (|it| it["questions"] = json!("colour"), "questions: must be a list"),
        (|it| it["questions"] = json!([1]), "questions[0]: must be an object"),
        (
            |it| {
                let one = it["questions"][0].clone();
                it["questions"] = json!([one, one, one, one]);
            },
            "questions: must have 1 to 3",
        ),
        (
            |it| {
                let one = it["questions"][0].clone();
                it["questions"] = json!([one, one]);
            },
            "questions[1].id: is used twice",
        ),
        (|it| it["questions"][0]["id"] = " ".into(), "questions[0].id: must not be empty"),
        (|it| it["questions"][0]["header"] = Value::Null, "questions[0].header: is required"),
        (|it| it["questions"][0]["options"] = json!([]), "questions[0].options: must have 2 to 3"),
        (
            |it| it["questions"][0]["options"][1]["id"] = "red".into(),
            "questions[0].options[1].id: is used twice",
        ),
        (
            |it| it["questions"][0]["options"][1]["id"] = "other".into(),
            "questions[0].options[1].id: \"other\" is added by itself",
        ),
        (
            |it| it["questions"][0]["options"][0]["label"] = "".into(),
            "questions[0].options[0].label: must not be empty",
        ),
        (|it| it["questions"][0]["allowMultiple"] = 1.into(), "questions[0].allowMultiple"),
        (|it| it["questions"][0]["default"] = "red".into(), "questions[0].default"),
        (|it| it["questions"][0]["id"] = "api_key".into(), "questions[0].id: asks for a password"),
        (|it| it["timeoutMs"] = (-1).into(), "timeoutMs: must be a whole number"),
    ];
    for (change, says) in changes {
        let mut arguments = colour();
        change(&mut arguments);
        let refused = error(client.call("request_choice", &arguments).await);
        assert_eq!(refused["code"], "INVALID_ARGUMENT", "{says}");
        let message = refused["message"].as_str().unwrap();
        assert!(message.starts_with(says), "{message}");
    }
    assert!(!client.was_asked());
    room.close().await;
}

#[tokio::test]
async fn a_form_that_none_may_see_is_refused() {
    let room = Room::open(trusting()).await;
    let mut client = room.with_forms("2025-11-25").await;
    let text = || json!({"type": "string"});
    for (field, says) in [
        (json!({"type": "object", "properties": {}}), "forms are flat"),
        (json!({"$ref": "#/x"}), "must be string"),
        (json!({"type": "string", "$ref": "#/x"}), "$ref"),
        (json!({"type": "string", "pattern": "a+"}), "pattern"),
        (json!({"type": "array", "items": text()}), "items: needs its choices"),
        (json!({"type": "string", "enum": []}), "must have 1 to 50 choices"),
        (json!({"type": "string", "enum": ["a", "a"]}), "has a choice twice"),
        (json!({"type": "string", "format": "password"}), "asks for a password"),
        (json!({"type": "string", "format": "ipv4"}), "format: must be one of"),
        (json!({"type": "string", "title": "Your API key"}), "asks for a password"),
        (json!({"type": "integer", "title": "Card number"}), "asks for a password"),
        (json!({"type": "integer", "default": "a"}), "default: must be of the field's type"),
        (json!("string"), "must be an object"),
    ] {
        let schema = json!({"type": "object", "properties": {"f": field}});
        let form = json!({"message": "m", "requestedSchema": schema});
        let refused = error(client.call("request_form", &form).await);
        assert_eq!(refused["code"], "INVALID_ARGUMENT", "{says}");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains("properties.f") && message.contains(says), "{message}");
        if says.starts_with("asks for") {
            assert!(refused["hint"].as_str().unwrap().contains("`url`"), "{refused}");
        }
    }
    for (more, says) in [
        (json!({}), "requestedSchema: is required"),
        (json!({"requestedSchema": {}}), "requestedSchema.properties: is required"),
        (
            json!({"requestedSchema": {"properties": {"a": text()}, "required": ["b"]}}),
            "requestedSchema.required: names \"b\"",
        ),
        (json!({"url": "file:///etc/passwd"}), "url: must begin with"),
        (json!({"url": "https://me:pw@example.com/"}), "url: must not have a user"),
        (
            json!({"url": "https://a.example/", "requestedSchema": {"properties": {"a": text()}}}),
            "url: goes without requestedSchema",
        ),
    ] {
        let mut form = json!({"message": "m"});
        for (name, value) in more.as_object().unwrap() {
            form[name] = value.clone();
        }
        let refused = error(client.call("request_form", &form).await);
        let message = refused["message"].as_str().unwrap();
        assert!(message.starts_with(says), "{message}");
    }
    assert!(!client.was_asked());
    room.close().await;
}

#[tokio::test]
async fn a_question_that_is_not_there_is_not_collected() {
    let room = Room::open(trusting()).await;
    let mut client = room.with_forms("2025-11-25").await;
    for name in ["nonsense", "req_0190d6f0a1b27c3d8e9f0a1b2c3d4e5f_1"] {
        let refused = error(client.call("request_choice", &json!({"askId": name})).await);
        assert_eq!(refused["code"], "REQUEST_NOT_FOUND", "{name}");
    }
    room.close().await;
}

#[tokio::test]
async fn what_nobody_knows_is_ignored_and_said() {
    let room = Room::open(trusting()).await;
    let mut client = room.client();
    client.connect("2025-11-25", "editor", json!({})).await;
    let mut arguments = colour();
    arguments["urgent"] = true.into();
    arguments["questions"][0]["icon"] = "x".into();
    let pending = client.done("request_choice", &arguments).await;
    let warning = pending["compatWarnings"][0].as_str().unwrap();
    assert!(warning.contains("urgent") && warning.contains("questions[0].icon"), "{warning}");
    room.close().await;
}

#[tokio::test]
async fn tools_that_are_not_offered_are_not_there() {
    let room = Room::open(pilothouse_server::mcp::Options::default()).await;
    let mut client = room.with_forms("2025-11-25").await;
    let params = json!({"name": "request_choice", "arguments": colour()});
    let id = client.send("tools/call", params).await;
    let reply = client.wanted(|it| it["id"] == id).await;
    assert!(reply["error"]["message"].as_str().unwrap().contains("there is no tool"), "{reply}");
    room.close().await;
}
