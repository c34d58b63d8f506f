//! What a turn came to, gathered from what Codex said while it ran.

use std::collections::BTreeSet;

use pilothouse_core::{AgentError, Outcome, Report};
use serde_json::{Map, Value};

use super::{items::changes, wire::text};

/// Most files of a turn that are named.
const MAX_FILES: usize = 2_000;

/// A turn's words, files, tokens and troubles so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gathered {
    said: Option<String>,
    answer: Option<String>,
    usage: Option<Value>,
    files: BTreeSet<String>,
    error: Option<AgentError>,
}

impl Gathered {
    /// Takes note of an item that is over. Words of sub-agents are not the turn's.
    pub(crate) fn item(&mut self, item: &Value, of_sub_agent: bool) {
        match text(item, &["type"]) {
            Some("agentMessage") if !of_sub_agent => {
                let words = text(item, &["text"]).unwrap_or_default().to_owned();
                if text(item, &["phase"]) == Some("final_answer") {
                    self.answer = Some(words);
                } else {
                    self.said = Some(words);
                }
            }
            Some("fileChange") if text(item, &["status"]) == Some("completed") => {
                for change in changes(item) {
                    if self.files.len() < MAX_FILES {
                        self.files.insert(change.move_path.unwrap_or(change.path));
                    }
                }
            }
            Some(_) | None => {}
        }
    }

    /// Takes note of how many tokens were used.
    pub(crate) fn usage(&mut self, usage: &Value) {
        self.usage = Some(usage.clone());
    }

    /// Takes note of an error that Codex does not try to mend.
    pub(crate) fn error(&mut self, error: &Value) {
        self.error = Some(agent_error(error));
    }

    /// What it came to, with `turn` as Codex tells it at the end.
    pub(crate) fn end(self, turn: &Value) -> (Outcome, Report) {
        let Self { said, answer, usage, files, error } = self;
        let outcome = match text(turn, &["status"]) {
            Some("completed") => Outcome::Completed,
            Some("interrupted") => Outcome::Interrupted,
            status => {
                let told = turn.get("error").filter(|it| !it.is_null()).map(agent_error);
                let unknown = || AgentError {
                    message: match status {
                        Some("failed") | None => "Codex gave up and did not say why".to_owned(),
                        Some(status) => format!("the turn ended as {status:?}"),
                    },
                    detail: Value::Null,
                };
                Outcome::Failed { error: told.or(error).unwrap_or_else(unknown) }
            }
        };
        let output = answer.or(said).or_else(|| last_message(turn));
        (outcome, Report { output, usage, files: files.into_iter().collect() })
    }
}

/// The summary at a turn's end repeats its last message.
fn last_message(turn: &Value) -> Option<String> {
    let items = turn.get("items")?.as_array()?;
    let is_message = |it: &&Value| text(it, &["type"]) == Some("agentMessage");
    text(items.iter().rfind(is_message)?, &["text"]).map(ToOwned::to_owned)
}

/// Codex's account of what went wrong, with its classification kept whole.
fn agent_error(error: &Value) -> AgentError {
    let message = text(error, &["message"]).unwrap_or("Codex did not say why").to_owned();
    let mut detail = Map::new();
    for name in ["codexErrorInfo", "additionalDetails"] {
        if let Some(value) = error.get(name).filter(|it| !it.is_null()) {
            detail.insert(name.to_owned(), value.clone());
        }
    }
    let detail = if detail.is_empty() { Value::Null } else { Value::Object(detail) };
    AgentError { message, detail }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_final_answer_is_the_output_wherever_it_came() {
        let message = |words: &str, phase: Value| json!({"type": "agentMessage", "text": words, "phase": phase});
        let check = |items: &[Value], turn: Value, expected: Option<&str>| {
            let mut gathered = Gathered::default();
            for it in items {
                gathered.item(it, false);
            }
            assert_eq!(gathered.end(&turn).1.output.as_deref(), expected);
        };
        let done = || json!({"status": "completed"});
        check(&[], done(), None);
        check(&[message("a", Value::Null), message("b", Value::Null)], done(), Some("b"));
        check(
            &[message("a", json!("final_answer")), message("b", json!("commentary"))],
            done(),
            Some("a"),
        );
        check(&[], json!({"status": "completed", "items": [message("c", Value::Null)]}), Some("c"));
    }

    #[test]
    fn a_failure_keeps_its_classification() {
        let error = json!({"message": "m", "codexErrorInfo": "usageLimitExceeded", "additionalDetails": null});
        let expected = AgentError {
            message: "m".into(),
            detail: json!({"codexErrorInfo": "usageLimitExceeded"}),
        };
        let told = json!({"status": "failed", "error": error});
        assert_eq!(Gathered::default().end(&told).0, Outcome::Failed { error: expected.clone() });
        let mut before = Gathered::default();
        before.error(&error);
        assert_eq!(before.end(&json!({"status": "failed"})).0, Outcome::Failed { error: expected });
    }
}
