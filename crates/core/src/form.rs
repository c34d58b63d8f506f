//! Whether what was filled in meets a flat form schema, as MCP's elicitation defines it.

use serde_json::{Map, Value};

use crate::ask::Misfit;

/// Whether a form has no fields, so that it is a yes or no.
pub(crate) fn is_empty(schema: &Value) -> bool {
    schema.get("properties").and_then(Value::as_object).is_none_or(Map::is_empty)
}

/// Checks each field by the primitive types that MCP allows in a form.
pub(crate) fn check(content: &Value, schema: &Value) -> Result<(), Misfit> {
    let Some(fields) = content.as_object() else {
        return Err(Misfit::new("content", "must be an object with the form's fields"));
    };
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for name in required.iter().filter_map(Value::as_str) {
        if fields.get(name).is_none_or(Value::is_null) {
            return Err(Misfit::new(&format!("content.{name}"), "is required"));
        }
    }
    for (name, value) in fields {
        let at = format!("content.{name}");
        let Some(property) = properties.get(name) else {
            return Err(Misfit::new(&at, "is no field of this form"));
        };
        check_field(&at, value, property)?;
    }
    Ok(())
}

/// What the form says before anyone fills it in; nothing if that is not all that it must say.
pub(crate) fn defaults(schema: &Value) -> Option<Value> {
    let properties = schema.get("properties")?.as_object()?;
    let given = properties
        .iter()
        .filter_map(|(name, property)| Some((name.clone(), property.get("default")?.clone())));
    let content = Value::Object(given.collect());
    check(&content, schema).is_ok().then_some(content)
}

fn check_field(at: &str, value: &Value, property: &Value) -> Result<(), Misfit> {
    let problem = match property.get("type").and_then(Value::as_str) {
        Some("boolean") => (!value.is_boolean()).then(|| "must be true or false".to_owned()),
        Some("integer") if !value.is_i64() && !value.is_u64() => {
            Some("must be a whole number".to_owned())
        }
        Some("number") if !value.is_number() => Some("must be a number".to_owned()),
        Some("integer" | "number") => range_problem(value, property),
        Some("array") => array_problem(value, property),
        Some("string") | None => string_problem(value, property),
        Some(other) => Some(format!("has a type that no form allows: {other}")),
    };
    problem.map_or(Ok(()), |it| Err(Misfit::new(at, it)))
}

fn range_problem(value: &Value, property: &Value) -> Option<String> {
    let number = value.as_f64()?;
    let bound = |name| property.get(name).and_then(Value::as_f64);
    match (bound("minimum"), bound("maximum")) {
        (Some(least), _) if number < least => Some(format!("must be at least {least}")),
        (_, Some(most)) if number > most => Some(format!("must be at most {most}")),
        _ => None,
    }
}

fn string_problem(value: &Value, property: &Value) -> Option<String> {
    let Some(text) = value.as_str() else { return Some("must be text".to_owned()) };
    if let Some(allowed) = choices(property) {
        return if allowed.contains(&text) {
            None
        } else {
            Some(format!("must be one of: {}", allowed.join(", ")))
        };
    }
    let length = text.chars().count() as u64;
    let bound = |name| property.get(name).and_then(Value::as_u64);
    if bound("minLength").is_some_and(|it| length < it) {
        return Some(format!("must have at least {} characters", bound("minLength")?));
    }
    if bound("maxLength").is_some_and(|it| length > it) {
        return Some(format!("must have at most {} characters", bound("maxLength")?));
    }
    match property.get("format").and_then(Value::as_str) {
        Some("email") if !is_email(text) => Some("must be an e-mail address".to_owned()),
        Some("uri") if !is_uri(text) => Some("must be a URI with a scheme".to_owned()),
        Some("date") if !is_date(text) => Some("must be a date like 2026-11-30".to_owned()),
        Some("date-time") if text.parse::<jiff::Timestamp>().is_err() => {
            Some("must be a time like 2026-11-30T12:00:00Z".to_owned())
        }
        Some(_) | None => None,
    }
}

fn array_problem(value: &Value, property: &Value) -> Option<String> {
    let Some(values) = value.as_array() else { return Some("must be a list".to_owned()) };
    let count = values.len() as u64;
    let bound = |name| property.get(name).and_then(Value::as_u64);
    if bound("minItems").is_some_and(|it| count < it) {
        return Some(format!("needs at least {} choices", bound("minItems")?));
    }
    if bound("maxItems").is_some_and(|it| count > it) {
        return Some(format!("takes at most {} choices", bound("maxItems")?));
    }
    let items = property.get("items")?;
    values.iter().find_map(|it| string_problem(it, items))
}

/// The values of an enum in each of the spellings that MCP has had.
fn choices(property: &Value) -> Option<Vec<&str>> {
    if let Some(values) = property.get("enum").and_then(Value::as_array) {
        return Some(values.iter().filter_map(Value::as_str).collect());
    }
    let titled = property.get("oneOf").or_else(|| property.get("anyOf"))?.as_array()?;
    Some(titled.iter().filter_map(|it| it.get("const")?.as_str()).collect())
}

/// The parser alone would take a time with it, or a date without hyphens.
fn is_date(text: &str) -> bool {
    text.parse::<jiff::civil::Date>().is_ok_and(|it| it.to_string() == text)
}

fn is_email(text: &str) -> bool {
    text.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty() && host.contains('.') && !text.contains(char::is_whitespace)
    })
}

fn is_uri(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, rest)| {
        let plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '+' | '-' | '.');
        scheme.starts_with(|it: char| it.is_ascii_alphabetic())
            && scheme.chars().all(plain)
            && !rest.is_empty()
            && !rest.contains(char::is_whitespace)
    })
}
