//! The names in a script, and what they stand for when a rule is played.

use serde_json::Value;

use super::Action;

/// What the names in a script stand for.
pub(super) struct Names {
    /// What `$id` stands for.
    pub(super) id: Value,
    /// What the others stand for, wherever they occur in a text.
    pub(super) texts: [(&'static str, String); 3],
}

/// The action with all names replaced.
pub(super) fn filled(action: Action, names: &Names) -> anyhow::Result<Action> {
    let mut value = serde_json::to_value(action)?;
    fill(&mut value, names);
    Ok(serde_json::from_value(value)?)
}

fn fill(value: &mut Value, names: &Names) {
    match value {
        // The whole text is the id, whatever its type.
        Value::String(text) if text == "$id" => *value = names.id.clone(),
        Value::String(text) => {
            for (name, replacement) in &names.texts {
                if text.contains(name) {
                    *text = text.replace(name, replacement);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|it| fill(it, names)),
        Value::Object(fields) => fields.values_mut().for_each(|it| fill(it, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
