//! Which content a form takes, by each primitive type that MCP allows in one.

use pilothouse_core::{Answer, Decision, Spec, Subject};
use serde_json::{Value, json};

use crate::stage::{Stage, and, answer, asks_about, busy, human};

#[test]
fn a_field_takes_values_of_its_type_within_its_bounds() {
    let titled = json!([{ "const": "r", "title": "Red" }, { "const": "b", "title": "Blue" }]);
    let colors = json!({ "type": "string", "enum": ["r", "b"] });
    let one_of = json!({ "type": "string", "oneOf": titled });
    let any_of = json!({ "type": "string", "anyOf": titled });
    let named = json!({ "type": "string", "enum": ["r", "b"], "enumNames": ["Red", "Blue"] });
    let untyped = json!({ "enum": ["r", "b"] });
    let text = json!({ "type": "string", "minLength": 2, "maxLength": 3 });
    let whole = json!({ "type": "integer", "minimum": 1, "maximum": 5 });
    let number = json!({ "type": "number", "minimum": 0.5, "maximum": 1.5 });
    let list = json!({ "type": "array", "items": colors, "minItems": 1, "maxItems": 2 });
    let titled_list = json!({ "type": "array", "items": { "anyOf": titled } });
    let format = |format| json!({ "type": "string", "format": format });
    for (property, value, problem) in [
        (json!({ "type": "boolean" }), json!(true), None),
        (json!({ "type": "boolean" }), json!("true"), Some("must be true or false")),
        (whole.clone(), json!(5), None),
        (whole.clone(), json!(0), Some("must be at least 1")),
        (whole.clone(), json!(6), Some("must be at most 5")),
        (whole.clone(), json!(1.5), Some("must be a whole number")),
        (whole, json!("1"), Some("must be a whole number")),
        (json!({ "type": "integer" }), json!(-1), None),
        (json!({ "type": "integer" }), json!(u64::MAX), None),
        (number.clone(), json!(1), None),
        (number.clone(), json!(1.5), None),
        (number.clone(), json!(0.25), Some("must be at least 0.5")),
        (number.clone(), json!(2), Some("must be at most 1.5")),
        (number, json!("1"), Some("must be a number")),
        (text.clone(), json!("äöü"), None),
        (text.clone(), json!("ä"), Some("must have at least 2 characters")),
        (text.clone(), json!("long"), Some("must have at most 3 characters")),
        (text.clone(), json!(12), Some("must be text")),
        (text, json!(null), Some("must be text")),
        (colors.clone(), json!("r"), None),
        (colors, json!("Red"), Some("must be one of: r, b")),
        (one_of.clone(), json!("b"), None),
        (one_of, json!("Blue"), Some("must be one of: r, b")),
        (any_of.clone(), json!("b"), None),
        (any_of, json!("x"), Some("must be one of: r, b")),
        (named.clone(), json!("r"), None),
        (named, json!("Red"), Some("must be one of: r, b")),
        (untyped.clone(), json!("r"), None),
        (untyped, json!("x"), Some("must be one of: r, b")),
        (list.clone(), json!(["r", "b"]), None),
        (list.clone(), json!([]), Some("needs at least 1 choices")),
        (list.clone(), json!(["r", "b", "r"]), Some("takes at most 2 choices")),
        (list.clone(), json!(["x"]), Some("must be one of: r, b")),
        (list, json!("r"), Some("must be a list")),
        (titled_list.clone(), json!(["b", "r"]), None),
        (titled_list, json!(["Red"]), Some("must be one of: r, b")),
        (json!({ "type": "array" }), json!([1, "a"]), None),
        (format("email"), json!("me@example.org"), None),
        (format("email"), json!("me"), Some("must be an e-mail address")),
        (format("email"), json!("me@localhost"), Some("must be an e-mail address")),
        (format("email"), json!("m e@example.org"), Some("must be an e-mail address")),
        (format("email"), json!("@example.org"), Some("must be an e-mail address")),
        (format("uri"), json!("https://example.org/a?b#c"), None),
        (format("uri"), json!("mailto:me@example.org"), None),
        (format("uri"), json!("example.org"), Some("must be a URI with a scheme")),
        (format("uri"), json!("1a:b"), Some("must be a URI with a scheme")),
        (format("uri"), json!("https:"), Some("must be a URI with a scheme")),
        (format("uri"), json!("https://a b"), Some("must be a URI with a scheme")),
        (format("date"), json!("2026-02-28"), None),
        (format("date"), json!("2026-02-29"), Some("must be a date like 2026-11-30")),
        (format("date"), json!("20260228"), Some("must be a date like 2026-11-30")),
        (format("date"), json!("2026-02-28T12:00:00"), Some("must be a date like 2026-11-30")),
        (format("date-time"), json!("2026-11-30T12:00:00Z"), None),
        (format("date-time"), json!("2026-11-30T12:00:00.5+02:00"), None),
        (
            format("date-time"),
            json!("2026-11-30T12:00:00"),
            Some("must be a time like 2026-11-30T12:00:00Z"),
        ),
        (format("date-time"), json!("noon"), Some("must be a time like 2026-11-30T12:00:00Z")),
        (format("phone"), json!("anything"), None),
        (json!({ "type": "object" }), json!({}), Some("has a type that no form allows: object")),
    ] {
        let schema = json!({ "type": "object", "properties": { "f": property } });
        let expected = problem.map(|it| format!("refused: content.f: {it}"));
        check_form(&schema, &json!({ "f": value }), expected.as_deref());
    }
}

#[test]
fn a_form_takes_its_own_fields_and_all_that_are_required() {
    let schema = json!({
        "type": "object",
        "properties": { "name": { "type": "string" }, "age": { "type": "integer" } },
        "required": ["name"],
    });
    for (content, problem) in [
        (json!({ "name": "a", "age": 1 }), None),
        (json!({ "name": "a" }), None),
        (json!({ "name": "" }), None),
        (json!({ "age": 1 }), Some("refused: content.name: is required")),
        (json!({ "name": null }), Some("refused: content.name: is required")),
        (json!({}), Some("refused: content.name: is required")),
        (
            json!({ "name": "a", "size": 1 }),
            Some("refused: content.size: is no field of this form"),
        ),
        (json!(["a"]), Some("refused: content: must be an object with the form's fields")),
        (json!(null), Some("refused: content: must be an object with the form's fields")),
    ] {
        check_form(&schema, &content, problem);
    }
}

#[test]
fn a_form_without_fields_is_a_yes_or_no() {
    let accept = Answer::plain(Decision::Accept);
    let decline = Answer::plain(Decision::Decline);
    let needs_content = "refused: content: accepting this form needs its fields in `content`";
    let filled = json!({ "type": "object", "properties": { "f": { "type": "string" } } });
    for (schema, given, problem) in [
        (json!({ "type": "object", "properties": {} }), &accept, None),
        (json!({}), &accept, None),
        (json!({}), &decline, None),
        (filled.clone(), &accept, Some(needs_content)),
        (filled, &decline, None),
    ] {
        check_answer(&schema, given.clone(), problem);
    }
    check_form(&json!({}), &json!({}), None);
}

#[track_caller]
fn check_form(schema: &Value, content: &Value, problem: Option<&str>) {
    check_answer(schema, Answer::Filled { content: content.clone() }, problem);
}

#[track_caller]
fn check_answer(schema: &Value, given: Answer, problem: Option<&str>) {
    let form = Subject::Form {
        server: "s".to_owned(),
        message: "Fill in".to_owned(),
        schema: schema.clone(),
    };
    let said = format!("{given:?} to {schema}");
    let mut stage =
        Stage::open(Spec::default(), None, None).after(&and(busy(), [asks_about("k", form)]));
    let lines = stage.lines(answer(human(), 1, given));
    match problem {
        Some(problem) => assert_eq!(lines, [problem], "{said}"),
        None => assert!(lines[0].starts_with("ask 1 answered by human: "), "{lines:?}: {said}"),
    }
}
