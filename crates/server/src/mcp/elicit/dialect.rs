//! Flat forms in the words of the MCP version that a client speaks.
//!
//! Forms are written here as 2025-11-25 has them. 2025-06-18 knows neither titled choices nor
//! several choices nor presets other than yes and no; it is given the nearest that it knows.

use serde_json::{Map, Value, json};

/// What a client is asked in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Dialect {
    /// 2025-06-18: forms, on the connection.
    First,
    /// 2025-11-25: richer forms, and pages.
    Second,
    /// 2026-07-28 and later: the call returns, and comes back with the reply.
    CallsReturn,
}

/// The versions from which on each is spoken.
const SINCE: [(&str, Dialect); 3] = [
    ("2026-07-28", Dialect::CallsReturn),
    ("2025-11-25", Dialect::Second),
    ("2025-06-18", Dialect::First),
];

/// What a field may say, by any version.
const KEYWORDS: [&str; 17] = [
    "type",
    "title",
    "description",
    "default",
    "format",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "enum",
    "enumNames",
    "oneOf",
    "anyOf",
    "items",
    "minItems",
    "maxItems",
    "const",
];

impl Dialect {
    /// The dialect of a version; nothing for those that know no forms.
    pub(super) fn of(version: &str) -> Option<Self> {
        SINCE.into_iter().find(|(since, _)| version >= *since).map(|(_, it)| it)
    }

    /// A schema in this dialect; nothing if it cannot be said.
    pub(super) fn say(self, schema: &Value) -> Option<Value> {
        let none = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let mut res = Map::new();
        let mut required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, field) in properties {
            if self != Self::First {
                res.insert(name.clone(), known(field));
            } else if field["type"] == "array" {
                required.retain(|it| it != name);
                for (flag, said) in flags(name, field)? {
                    if properties.contains_key(&flag) {
                        return None;
                    }
                    res.insert(flag, said);
                }
            } else {
                res.insert(name.clone(), plain(field));
            }
        }
        let mut schema = json!({ "type": "object", "properties": res });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        Some(schema)
    }
}

/// What was filled in under the names that the form has in full.
pub(super) fn gathered(schema: &Value, content: &Map<String, Value>) -> Value {
    let mut content: Map<_, _> = content
        .iter()
        .filter(|(_, it)| !it.is_null())
        .map(|(name, it)| (name.clone(), it.clone()))
        .collect();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        if field["type"] != "array" || content.contains_key(name) {
            continue;
        }
        let mut chosen = vec![];
        let mut any = false;
        for (index, (value, _)) in choices(&field["items"]).into_iter().enumerate() {
            match content.get(&flag_name(name, index)) {
                Some(Value::Bool(is_chosen)) => {
                    any = true;
                    if *is_chosen {
                        chosen.push(Value::String(value));
                    }
                }
                Some(_) | None => continue,
            }
            content.remove(&flag_name(name, index));
        }
        if any {
            content.insert(name.clone(), Value::Array(chosen));
        }
    }
    Value::Object(content)
}

fn known(field: &Value) -> Value {
    let fields = field.as_object().into_iter().flatten();
    let known = fields.filter(|(name, _)| KEYWORDS.contains(&name.as_str()));
    Value::Object(known.map(|(name, it)| (name.clone(), it.clone())).collect())
}

/// A field as the first version knows it.
fn plain(field: &Value) -> Value {
    let mut res = known(field);
    let each = choices(field);
    let Some(fields) = res.as_object_mut() else { return res };
    if field.get("oneOf").is_some() || field.get("anyOf").is_some() {
        fields.remove("oneOf");
        fields.remove("anyOf");
        let (values, titles): (Vec<_>, Vec<_>) = each.iter().cloned().unzip();
        fields.insert("enum".to_owned(), json!(values));
        fields.insert("enumNames".to_owned(), json!(titles));
    }
    if field["type"] != "boolean"
        && let Some(preset) = fields.remove("default")
    {
        let value = preset.as_str().map_or_else(|| preset.to_string(), str::to_owned);
        let found = each.iter().find(|(it, _)| *it == value);
        let title = found.map_or(value.clone(), |(_, title)| title.clone());
        let about = fields.get("description").and_then(Value::as_str).unwrap_or_default();
        let about = format!("{about} (suggested: {title})");
        fields.insert("description".to_owned(), about.trim_start().into());
    }
    res
}

/// Several choices as one yes or no for each.
fn flags(name: &str, field: &Value) -> Option<Vec<(String, Value)>> {
    let title = field["title"].as_str().unwrap_or(name);
    let presets = field["default"].as_array();
    let each = choices(&field["items"]).into_iter().enumerate().map(|(index, (value, label))| {
        let is_preset = presets.is_some_and(|it| it.iter().any(|it| *it == value));
        let mut said = json!({
            "type": "boolean", "title": format!("{title}: {label}"), "default": is_preset,
        });
        if let Some(about) = field["description"].as_str() {
            said["description"] = about.into();
        }
        (flag_name(name, index), said)
    });
    Some(each.collect::<Vec<_>>()).filter(|it| !it.is_empty())
}

fn flag_name(field: &str, index: usize) -> String {
    format!("{field}_{:02}", index + 1)
}

/// The values that can be chosen, and their titles, in each of the spellings that MCP has had.
fn choices(field: &Value) -> Vec<(String, String)> {
    if let Some(values) = field.get("enum").and_then(Value::as_array) {
        let titles = field.get("enumNames").and_then(Value::as_array);
        let title = |index: usize| titles?.get(index)?.as_str().map(str::to_owned);
        let values = values.iter().filter_map(Value::as_str).enumerate();
        return values
            .map(|(index, it)| (it.to_owned(), title(index).unwrap_or_else(|| it.to_owned())))
            .collect();
    }
    let titled = field.get("oneOf").or_else(|| field.get("anyOf")).and_then(Value::as_array);
    let each = titled.into_iter().flatten().filter_map(|it| {
        let value = it.get("const")?.as_str()?;
        let title = it.get("title").and_then(Value::as_str).unwrap_or(value);
        Some((value.to_owned(), title.to_owned()))
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_has_its_dialect() {
        for (version, expected) in [
            ("2024-11-05", None),
            ("2025-03-26", None),
            ("2025-06-18", Some(Dialect::First)),
            ("2025-11-25", Some(Dialect::Second)),
            ("2026-07-28", Some(Dialect::CallsReturn)),
        ] {
            assert_eq!(Dialect::of(version), expected, "{version}");
        }
    }

    #[test]
    fn several_choices_are_said_one_by_one_and_come_back_as_one() {
        let schema = json!({ "type": "object", "required": ["tags", "name"], "properties": {
            "name": { "type": "string", "default": "a", "x-own": true },
            "tags": { "type": "array", "title": "Tags", "default": ["b"], "items": { "anyOf": [
                { "const": "a", "title": "Alpha" }, { "const": "b", "title": "Beta" },
            ]}},
        }});
        let said = Dialect::First.say(&schema).unwrap();
        let expected = json!({ "type": "object", "required": ["name"], "properties": {
            "name": { "type": "string", "description": "(suggested: a)" },
            "tags_01": { "type": "boolean", "title": "Tags: Alpha", "default": false },
            "tags_02": { "type": "boolean", "title": "Tags: Beta", "default": true },
        }});
        assert_eq!(said, expected);
        let Value::Object(filled) = json!({ "name": "n", "tags_01": true, "tags_02": false })
        else {
            panic!("it is an object");
        };
        assert_eq!(gathered(&schema, &filled), json!({ "name": "n", "tags": ["a"] }));
        let said = Dialect::Second.say(&schema).unwrap();
        assert_eq!(said["properties"]["tags"], schema["properties"]["tags"]);
        assert_eq!(said["properties"]["name"], json!({ "type": "string", "default": "a" }));
    }
}
