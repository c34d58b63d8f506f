//! Configuration as `-c key=value` takes it: TOML on one line.

use serde_json::{Map, Value};

/// The value in TOML; nothing if it holds a null, which TOML does not have.
pub(crate) fn toml(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(it) => it.to_string(),
        Value::Number(it) => it.to_string(),
        Value::String(it) => quoted(it),
        Value::Array(values) => {
            let values: Option<Vec<_>> = values.iter().map(toml).collect();
            format!("[{}]", values?.join(","))
        }
        Value::Object(fields) => {
            let pair = |(name, value): (&String, &Value)| {
                Some(format!("{}={}", quoted(name), toml(value)?))
            };
            let pairs: Option<Vec<_>> = fields.iter().map(pair).collect();
            format!("{{{}}}", pairs?.join(","))
        }
    })
}

/// The argument that sets a value.
pub(crate) fn setting(key: &str, value: &str) -> String {
    format!("--config={key}={}", quoted(value))
}

/// The arguments that set a session's configuration, and the keys that cannot be set.
pub(crate) fn settings(config: &Map<String, Value>) -> (Vec<String>, Vec<String>) {
    let (mut arguments, mut refused) = (Vec::new(), Vec::new());
    for (key, value) in config {
        // Codex splits the key at its dots, and the argument at its first equals sign.
        let is_plain = !key.is_empty() && key.trim() == key && !key.contains(['=', '\0']);
        match toml(value).filter(|_| is_plain) {
            Some(value) => arguments.push(format!("--config={key}={value}")),
            None => refused.push(format!("config.{key}")),
        }
    }
    (arguments, refused)
}

/// JSON's strings are TOML's, but for one character that TOML wants escaped.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_on_one_line() {
        let check = |value: Value, expected: Option<&str>| {
            assert_eq!(toml(&value).as_deref(), expected, "{value}");
        };
        check(json!("a\n\"b\" \u{7f} é"), Some("\"a\\n\\\"b\\\" \\u007f é\""));
        check(json!([1, 2.5, true]), Some("[1,2.5,true]"));
        check(json!({"a.b": {"c": []}}), Some("{\"a.b\"={\"c\"=[]}}"));
        check(json!({}), Some("{}"));
        check(json!(null), None);
        check(json!([{"a": null}]), None);
    }

    #[test]
    fn keys_that_would_be_read_otherwise_are_refused() {
        let config = json!({"a.b": 1, "c=d": 1, "": 1, " e": 1, "f": null});
        let (arguments, refused) = settings(config.as_object().unwrap());
        assert_eq!(arguments, ["--config=a.b=1"]);
        assert_eq!(refused, ["config.", "config. e", "config.c=d", "config.f"]);
    }
}
