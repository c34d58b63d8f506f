//! Whether a form is one that MCP allows: flat, of a few types, and without secrets.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{super::problem::Problem, secrets};

/// Most fields of a form.
const MAX_FIELDS: usize = 20;
/// Most choices of a field.
const MAX_CHOICES: usize = 50;
/// Longest form, in bytes.
const MAX_BYTES: usize = 32 * 1024;

const ROOT: &str = "requestedSchema";
/// What a form says beside its fields.
const ROOT_WORDS: [&str; 6] = ["type", "properties", "required", "title", "description", "$schema"];
/// Rules for texts and numbers, by type.
const TEXT: [&str; 4] = ["format", "minLength", "maxLength", "writeOnly"];
const NUMBER: [&str; 2] = ["minimum", "maximum"];
const CHOICE: [&str; 3] = ["enum", "enumNames", "oneOf"];
const SEVERAL: [&str; 3] = ["items", "minItems", "maxItems"];
const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];

/// Checks the form of a call.
pub(super) fn check(schema: &Map<String, Value>) -> Result<(), Problem> {
    let bytes = super::super::bounds::size(&Value::Object(schema.clone()));
    if bytes > MAX_BYTES {
        let problem = format!("has {bytes} bytes; at most {MAX_BYTES} are shown");
        return Err(Problem::argument(ROOT, problem));
    }
    known(ROOT, schema, &[&ROOT_WORDS])?;
    if schema.get("type").is_some_and(|it| it != "object") {
        return Err(Problem::argument(&format!("{ROOT}.type"), "must be \"object\""));
    }
    let place = format!("{ROOT}.properties");
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Err(Problem::argument(&place, "is required, with the form's fields"));
    };
    if properties.is_empty() || properties.len() > MAX_FIELDS {
        let problem = format!("must have 1 to {MAX_FIELDS} fields, but has {}", properties.len());
        return Err(Problem::argument(&place, problem));
    }
    for (name, field) in properties {
        check_field(&format!("{place}.{name}"), name, field)?;
    }
    let place = format!("{ROOT}.required");
    match schema.get("required") {
        None => Ok(()),
        Some(Value::Array(names)) => {
            let missing =
                names.iter().find(|it| !it.as_str().is_some_and(|it| properties.contains_key(it)));
            match missing {
                Some(name) => {
                    Err(Problem::argument(&place, format!("names {name}, which is no field")))
                }
                None => Ok(()),
            }
        }
        Some(_) => Err(Problem::argument(&place, "must be a list of the fields' names")),
    }
}

fn check_field(place: &str, name: &str, field: &Value) -> Result<(), Problem> {
    let Some(fields) = field.as_object() else {
        return Err(Problem::argument(place, "must be an object"));
    };
    let own: &[&[&str]] = match fields.get("type").and_then(Value::as_str) {
        Some("string") if CHOICE.iter().any(|it| fields.contains_key(*it)) => {
            check_choices(place, field)?;
            &[&CHOICE]
        }
        Some("string") => {
            check_secret(place, name, fields)?;
            check_format(place, fields)?;
            &[&TEXT]
        }
        Some("number" | "integer") => {
            check_secret(place, name, fields)?;
            &[&NUMBER]
        }
        Some("boolean") => &[],
        Some("array") => {
            let items = fields.get("items").unwrap_or(&Value::Null);
            check_choices(&format!("{place}.items"), items)?;
            &[&SEVERAL]
        }
        found => {
            let found = found.unwrap_or("nothing");
            let problem = format!(
                "must be string, number, integer, boolean, or array for several choices, but is \
                 {found}; forms are flat"
            );
            return Err(Problem::argument(&format!("{place}.type"), problem));
        }
    };
    let common: &[&str] = &["type", "title", "description", "default"];
    known(place, fields, &[own, &[common]].concat())?;
    for word in ["title", "description", "format"] {
        if fields.get(word).is_some_and(|it| !it.is_string()) {
            return Err(Problem::argument(&format!("{place}.{word}"), "must be text"));
        }
    }
    for word in ["minLength", "maxLength", "minItems", "maxItems"] {
        if fields.get(word).is_some_and(|it| !it.is_u64()) {
            return Err(Problem::argument(&format!("{place}.{word}"), "must be a whole number"));
        }
    }
    for word in NUMBER {
        if fields.get(word).is_some_and(|it| !it.is_number()) {
            return Err(Problem::argument(&format!("{place}.{word}"), "must be a number"));
        }
    }
    check_default(place, fields)
}

fn known(place: &str, fields: &Map<String, Value>, words: &[&[&str]]) -> Result<(), Problem> {
    let unknown = fields.keys().find(|it| !words.iter().any(|words| words.contains(&it.as_str())));
    match unknown {
        Some(word) => {
            let problem = "is nothing that forms of MCP know here";
            Err(Problem::argument(&format!("{place}.{word}"), problem))
        }
        None => Ok(()),
    }
}

fn check_secret(place: &str, name: &str, fields: &Map<String, Value>) -> Result<(), Problem> {
    let is_hidden = fields.get("format").is_some_and(|it| it == "password")
        || fields.get("writeOnly").is_some_and(|it| it == true);
    if is_hidden {
        return Err(secrets::refused(place));
    }
    secrets::refuse(place, name)?;
    let title = fields.get("title").and_then(Value::as_str).unwrap_or_default();
    secrets::refuse(place, title)
}

fn check_format(place: &str, fields: &Map<String, Value>) -> Result<(), Problem> {
    match fields.get("format").and_then(Value::as_str) {
        Some(format) if !FORMATS.contains(&format) => {
            let problem = format!("must be one of {}", FORMATS.join(", "));
            Err(Problem::argument(&format!("{place}.format"), problem))
        }
        Some(_) | None => Ok(()),
    }
}

/// One value's list of choices, in each of the spellings that MCP has had.
fn check_choices(place: &str, field: &Value) -> Result<(), Problem> {
    let titled = field.get("oneOf").or_else(|| field.get("anyOf"));
    let values: Option<Vec<&str>> = match (field.get("enum"), titled) {
        (Some(Value::Array(each)), None) => each.iter().map(Value::as_str).collect(),
        (None, Some(Value::Array(each))) => each
            .iter()
            .map(|it| it.get("title").filter(|it| it.is_string()).and(it.get("const")?.as_str()))
            .collect(),
        _ => None,
    };
    let Some(values) = values else {
        let problem = "needs its choices: `enum` with texts, or const and title of each";
        return Err(Problem::argument(place, problem));
    };
    if values.is_empty() || values.len() > MAX_CHOICES {
        let problem = format!("must have 1 to {MAX_CHOICES} choices, but has {}", values.len());
        return Err(Problem::argument(place, problem));
    }
    if values.iter().collect::<BTreeSet<_>>().len() < values.len() {
        return Err(Problem::argument(place, "has a choice twice"));
    }
    let names = field.get("enumNames");
    if names.is_some_and(|it| it.as_array().is_none_or(|it| it.len() != values.len())) {
        return Err(Problem::argument(place, "needs as many enumNames as choices"));
    }
    Ok(())
}

fn check_default(place: &str, fields: &Map<String, Value>) -> Result<(), Problem> {
    let Some(default) = fields.get("default") else { return Ok(()) };
    let fits = match fields.get("type").and_then(Value::as_str) {
        Some("boolean") => default.is_boolean(),
        Some("integer") => default.is_i64() || default.is_u64(),
        Some("number") => default.is_number(),
        Some("array") => default.as_array().is_some_and(|it| it.iter().all(Value::is_string)),
        Some(_) | None => default.is_string(),
    };
    if fits {
        return Ok(());
    }
    Err(Problem::argument(&format!("{place}.default"), "must be of the field's type"))
}
