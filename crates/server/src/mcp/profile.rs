//! A profile of Codex's configuration under what a caller configures itself.
//!
//! `codex app-server` takes no `--profile`, so what the profile says is sent as thread config.

use std::path::Path;

use pilothouse::agent::profile;
use serde_json::{Map, Value};

use super::problem::Problem;

/// The profile's keys, with the caller's own over them.
pub(crate) fn laid_under(
    codex_home: Option<impl AsRef<Path>>,
    name: &str,
    config: Map<String, Value>,
) -> Result<Map<String, Value>, Problem> {
    let Some(home) = codex_home else {
        let problem = "Codex's home is not known; set CODEX_HOME";
        return Err(Problem::argument("profile", problem));
    };
    let read = profile::read(home.as_ref(), name);
    let mut res = read.map_err(|error| {
        Problem::argument("profile", format!("Pilothouse could not {}", whole(&error)))
    })?;
    for (key, value) in config {
        lay(&mut res, &key, value);
    }
    Ok(res)
}

fn whole(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |it| format!("{error}: {it}"))
}

/// Puts a value over what is there. A key with dots is a path where the profile has its beginning
/// as a table, or both would say something of the same setting.
fn lay(under: &mut Map<String, Value>, key: &str, value: Value) {
    if let Some((first, rest)) = key.split_once('.')
        && let Some(Value::Object(table)) = under.get_mut(first)
    {
        return lay(table, rest, value);
    }
    match (under.get_mut(key), value) {
        (Some(Value::Object(table)), Value::Object(own)) => {
            for (key, value) in own {
                lay(table, &key, value);
            }
        }
        (_, value) => {
            under.insert(key.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_caller_configures_stands_over_its_profile() {
        let home = tempfile::tempdir().unwrap();
        let text = "model = \"p\"\nweb = \"p\"\n[a]\nb = 1\nc = 2\n[a.d]\ne = 3\n";
        std::fs::write(home.path().join("work.config.toml"), text).unwrap();
        let own = json!({"model": "own", "a.b": 10, "a": {"d": {"f": 4}}, "x.y": true});
        let Value::Object(own) = own else { panic!() };
        let merged = laid_under(Some(home.path()), "work", own).unwrap();
        let expected = json!({
            "model": "own", "web": "p", "x.y": true,
            "a": {"b": 10, "c": 2, "d": {"e": 3, "f": 4}},
        });
        assert_eq!(Value::Object(merged), expected);
        let none = laid_under(Some(home.path()), "none", Map::new()).unwrap_err();
        assert!(none.message.starts_with("profile: Pilothouse could not find"), "{none:?}");
    }
}
