//! A form's fields: what each takes, in words, and what was written as a value that fits it.

use pilothouse_core::{Answer, Ask, AskView, Misfit, OnExpiry, Subject};
use serde_json::{Map, Value, json};

use super::picking::{self, Choice, Pick};

/// Whether a field must be filled in.
pub(super) fn is_required(schema: &Value, name: &str) -> bool {
    schema["required"].as_array().is_some_and(|it| it.iter().any(|it| it == name))
}

/// What a field takes: `whole number, required, 1 to 10, default 3`.
pub(super) fn takes(schema: &Value, name: &str) -> String {
    let field = &schema["properties"][name];
    let kind = match field["type"].as_str() {
        Some("boolean") => "yes or no",
        Some("integer") => "whole number",
        Some("number") => "number",
        Some("array") => "several of the choices",
        Some(_) | None => match field["format"].as_str() {
            _ if !picking::choices(field).is_empty() => "one of the choices",
            Some("email") => "e-mail address",
            Some("uri") => "URI",
            Some("date") => "date like 2026-11-30",
            Some("date-time") => "time like 2026-11-30T12:00:00Z",
            Some(_) | None => "text",
        },
    };
    let mut parts = vec![kind.to_owned()];
    parts.push(if is_required(schema, name) { "required" } else { "may be left out" }.to_owned());
    for (least, most, unit) in [
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", " choices"),
    ] {
        match (&field[least], &field[most]) {
            (Value::Null, Value::Null) => {}
            (least, Value::Null) => parts.push(format!("at least {least}{unit}")),
            (Value::Null, most) => parts.push(format!("at most {most}{unit}")),
            (least, most) => parts.push(format!("{least} to {most}{unit}")),
        }
    }
    if let Some(default) = field.get("default") {
        parts.push(format!("default {}", told(field, default)));
    }
    parts.join(", ")
}

/// A value as people say it.
pub(super) fn told(field: &Value, value: &Value) -> String {
    match value {
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => {
            let choices = picking::choices(field);
            choices.iter().find(|it| it.name == *text).map_or_else(|| text.clone(), Choice::told)
        }
        Value::Array(values) => {
            values.iter().map(|it| told(field, it)).collect::<Vec<_>>().join(", ")
        }
        Value::Null | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

/// What was written as a value of the field, or what the field takes. Choices are named by number,
/// name or label.
pub(super) fn value(ask: &AskView, name: &str, said: &str) -> Result<Value, String> {
    let Subject::Form { server, message, schema } = &ask.subject else {
        return Err("this is no form; it takes a decision".to_owned());
    };
    let field = &schema["properties"][name];
    let choices = picking::choices(field);
    let trimmed = said.trim();
    let named = |it: Pick| match it {
        Pick::Choice(at) => Value::from(choices[at].name.clone()),
        Pick::Other => Value::Null,
    };
    let value = match field["type"].as_str() {
        Some("boolean") => match trimmed.to_lowercase().as_str() {
            "true" | "yes" | "y" => Value::Bool(true),
            "false" | "no" | "n" => Value::Bool(false),
            _ => return Err("must be yes or no".to_owned()),
        },
        Some("integer" | "number") => {
            let number = serde_json::from_str(trimmed).ok().filter(Value::is_number);
            number.unwrap_or_else(|| trimmed.into())
        }
        Some("array") if choices.is_empty() => trimmed.split(',').map(str::trim).collect(),
        Some("array") => {
            let picks = picking::pick_several(&choices, None, trimmed)?;
            picks.into_iter().map(named).collect()
        }
        Some(_) | None if choices.is_empty() => said.into(),
        Some(_) | None => named(picking::pick(&choices, None, trimmed)?),
    };
    // A form of this field alone, so that others can wait.
    let schema = json!({ "type": "object", "properties": { name: field } });
    let (server, message) = (server.clone(), message.clone());
    let alone = Subject::Form { server, message, schema };
    let content = Value::Object(Map::from_iter([(name.to_owned(), value.clone())]));
    match (Ask { subject: alone, ..as_raised(ask) }).check(&Answer::Filled { content }) {
        Ok(()) => Ok(value),
        Err(Misfit { problem, .. }) => Err(problem),
    }
}

/// The ask as it was raised, as far as the answers that it takes depend on that.
pub(super) fn as_raised(view: &AskView) -> Ask {
    Ask {
        id: view.request_id.ask,
        key: String::new(),
        turn: view.turn,
        item: view.item_id.clone(),
        subject: view.subject.clone(),
        offers: view.offers.clone(),
        reason: view.reason.clone(),
        digest: view.digest.clone(),
        params: Value::Null,
        agent: view.agent.clone(),
        asked_by: view.asked_by.clone(),
        raised_at: view.raised_at,
        expires_at: view.expires_at,
        on_expiry: OnExpiry::default(),
    }
}
