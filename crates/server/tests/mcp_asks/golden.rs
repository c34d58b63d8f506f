//! Every message that asks a person is held to the schema of the version in which it is sent, and
//! kept as it is.

use pilothouse_testkit::workspace_root;
use serde_json::{Value, json};

use crate::{
    client::Client,
    room::{Room, accept, colour, say, trusting},
};

/// A choice in every shape that there is.
fn choice() -> Value {
    let mut arguments = colour();
    let option = |id: &str| json!({"id": id, "label": id.to_uppercase(), "description": ""});
    let several = json!({
        "id": "tools", "header": "Tools", "question": "With what?", "allowMultiple": true,
        "otherLabel": "Something else", "options": [option("a"), option("b"), option("c")],
    });
    arguments["questions"].as_array_mut().unwrap().push(several);
    arguments
}

/// A form with every kind of field.
fn form() -> Value {
    json!({"message": "All of it", "requestedSchema": {
        "type": "object",
        "required": ["a_text", "f_several"],
        "properties": {
            "a_text": {"type": "string", "title": "Text", "minLength": 1, "maxLength": 9},
            "b_mail": {"type": "string", "format": "email", "default": "jo@example.com"},
            "c_whole": {"type": "integer", "minimum": 1, "maximum": 5, "default": 3},
            "c_number": {"type": "number", "description": "Any."},
            "d_flag": {"type": "boolean", "default": true},
            "e_one": {"type": "string", "enum": ["x", "y"], "default": "x"},
            "e_titled": {"type": "string", "oneOf": [
                {"const": "x", "title": "The X"}, {"const": "y", "title": "The Y"},
            ], "default": "y"},
            "e_named": {"type": "string", "enum": ["x", "y"], "enumNames": ["An X", "A Y"]},
            "f_several": {"type": "array", "title": "Several", "items": {
                "type": "string", "enum": ["x", "y"],
            }, "default": ["y"]},
            "g_several": {"type": "array", "maxItems": 1, "items": {
                "anyOf": [{"const": "x", "title": "The X"}],
            }},
        },
    }})
}

fn page() -> Value {
    json!({"message": "A page", "url": "https://example.com/key?for=this"})
}

/// Something of a version's schema.
fn validator(version: &str, name: &str) -> jsonschema::Validator {
    let path = workspace_root().join(format!("fixtures/mcp-schema/{version}.json"));
    let mut schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let place = if schema.get("$defs").is_some() { "$defs" } else { "definitions" };
    assert!(schema[place][name].is_object(), "{version} has no {name}");
    schema["$ref"] = format!("#/{place}/{name}").into();
    jsonschema::validator_for(&schema).unwrap()
}

fn check(version: &str, name: &str, message: &Value) {
    let validator = validator(version, name);
    if let Some(problem) = validator.iter_errors(message).next() {
        panic!("{version} {name}: {problem}: {message}");
    }
}

/// The same but for names that are new each time.
fn settled(mut message: Value) -> Value {
    fn walk(value: &mut Value) {
        match value {
            Value::String(text) if text.starts_with("req_") => "req_…".clone_into(text),
            Value::String(text) if text.starts_with("rs1.") => "rs1.…".clone_into(text),
            Value::Array(items) => items.iter_mut().for_each(walk),
            Value::Object(fields) => {
                fields.remove("progressToken");
                fields.values_mut().for_each(walk);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    walk(&mut message);
    message
}

fn cases() -> [(&'static str, &'static str, Value); 3] {
    [
        ("choice", "request_choice", choice()),
        ("form", "request_form", form()),
        ("page", "request_form", page()),
    ]
}

async fn connected(room: &Room, version: &str) -> Client {
    let mut client = room.client();
    let able = json!({"elicitation": {"form": {}, "url": {}}});
    client.connect(version, "editor", able).await;
    client
}

#[tokio::test]
async fn forms_on_a_connection_are_as_their_version_has_them() {
    for version in ["2025-06-18", "2025-11-25"] {
        let room = Room::open(trusting()).await;
        let mut client = connected(&room, version).await;
        for (name, tool, arguments) in cases() {
            if (version, name) == ("2025-06-18", "page") {
                // That version sends nobody to a page.
                let pending = client.done(tool, &arguments).await;
                assert_eq!(pending["action"], "pending");
                continue;
            }
            let call = client.begin(tool, &arguments).await;
            let asked = client.asked().await;
            check(version, "ElicitRequest", &asked);
            let params = settled(asked["params"].clone());
            insta::assert_json_snapshot!(format!("{version}-{name}"), params);
            client.reply(&asked, say("decline")).await;
            client.result(call).await;
        }
        if version == "2025-11-25" {
            let call = client.begin("request_form", &page()).await;
            let asked = client.asked().await;
            client.reply(&asked, say("accept")).await;
            client.result(call).await;
            let note = client.note("notifications/elicitation/complete").await;
            check(version, "ElicitationCompleteNotification", &note);
        }
        let call = client.begin("request_choice", &colour()).await;
        client.asked().await;
        let filled = pilothouse::core::Answer::plain(pilothouse::core::Decision::Decline);
        room.person_says(&room.pending_choice().await, filled).await;
        client.result(call).await;
        check(version, "CancelledNotification", &client.note("notifications/cancelled").await);
        room.close().await;
    }
}

#[tokio::test]
async fn results_that_ask_are_as_their_version_has_them() {
    let version = "2026-07-28";
    let room = Room::open(trusting()).await;
    let mut client = room.stateless(json!({"elicitation": {"form": {}, "url": {}}}));
    for (name, tool, arguments) in cases() {
        let asked = client.call(tool, &arguments).await;
        check(version, "InputRequiredResult", &asked);
        check(version, "ElicitRequest", &asked["inputRequests"]["ask"]);
        insta::assert_json_snapshot!(format!("{version}-{name}"), settled(asked));
    }
    let asked = client.call("request_choice", &colour()).await;
    let reply = Some(accept(json!({"q1": "red"})));
    let result = client.retry("request_choice", &colour(), &asked, reply).await;
    check(version, "CallToolResult", &result);
    room.close().await;
}

#[tokio::test]
async fn results_meet_the_schema_of_their_tool() {
    let room = Room::open(trusting()).await;
    let mut client = room.with_forms("2025-11-25").await;
    let id = client.send("tools/list", json!({})).await;
    let tools = client.result(id).await;
    let schema = |name: &str| {
        let tools = tools["tools"].as_array().unwrap();
        let tool = tools.iter().find(|it| it["name"] == name).unwrap();
        jsonschema::validator_for(&tool["outputSchema"]).unwrap()
    };
    let multiple = json!({"q1": "other", "q1_other": "teal", "q2_1": true, "q2_2": true});
    let filled = json!({"a_text": "a", "f_several": ["x"], "c_number": 1.5, "d_flag": false});
    for (tool, arguments, reply) in [
        ("request_choice", choice(), accept(multiple)),
        ("request_choice", choice(), say("decline")),
        ("request_form", form(), accept(filled)),
        ("request_form", form(), say("cancel")),
        ("request_form", json!({"message": ""}), Value::Null),
        ("request_choice", json!({"askId": "x"}), Value::Null),
    ] {
        let call = client.begin(tool, &arguments).await;
        if !reply.is_null() {
            let asked = client.asked().await;
            client.reply(&asked, reply).await;
        }
        let result = client.result(call).await;
        let structured = &result["structuredContent"];
        let validator = schema(tool);
        let problem = validator.iter_errors(structured).next();
        assert!(problem.is_none(), "{tool}: {problem:?}: {structured}");
    }
    room.close().await;
}
