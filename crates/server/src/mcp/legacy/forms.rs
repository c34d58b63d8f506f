//! An ask as a form of that server's shape, and what the client's answer to it means.

use std::{collections::BTreeMap, time::Duration};

use pilothouse_core::{Answer, AskView, Change, Decision, Subject};
use rmcp::model::{ClientResult, ElicitationAction};
use serde_json::{Map, Value, json};

use crate::mcp::READING;

/// What the client is asked, if it can be asked that in a form.
pub(super) fn form(ask: &AskView, thread: &str, turn: Option<&str>, call: &str) -> Option<Value> {
    let mut params = json!({
        "threadId": thread,
        "codex_mcp_tool_call_id": call,
        "codex_event_id": turn.unwrap_or_default(),
        "codex_call_id": ask.item_id.as_deref().unwrap_or_default(),
        "requestedSchema": { "type": "object", "properties": {} },
    });
    let message = match &ask.subject {
        Subject::Command { command, cwd, .. } => {
            let line = ask.params.get("command").and_then(Value::as_str).unwrap_or(command);
            params["codex_elicitation"] = "exec-approval".into();
            params["codex_command"] = words(line).into();
            params["codex_cwd"] = cwd.as_str().into();
            params["codex_parsed_cmd"] = parsed(&ask.params);
            format!("Allow Codex to run `{line}` in `{cwd}`?")
        }
        Subject::FileChange { changes, grant_root } => {
            params["codex_elicitation"] = "patch-approval".into();
            let changes = changes.iter().map(|it| (it.path.clone(), change(it)));
            params["codex_changes"] = Value::Object(changes.collect());
            if let Some(root) = grant_root {
                params["codex_grant_root"] = root.as_str().into();
            }
            if let Some(reason) = &ask.reason {
                params["codex_reason"] = reason.as_str().into();
            }
            "Allow Codex to apply proposed code changes?".to_owned()
        }
        // What that server never asked, in the shape that MCP gives it.
        Subject::Permissions { permissions, .. } => {
            format!("Allow Codex to have more permissions: {permissions}?")
        }
        Subject::Tool { message, .. } => message.clone(),
        Subject::Form { server, message, schema } => {
            params["requestedSchema"] = schema.clone();
            format!("{server}: {message}")
        }
        Subject::Question { questions } => {
            if questions.iter().any(|it| it.is_secret) {
                return None;
            }
            let mut properties = Map::new();
            for question in questions {
                let mut field = json!({
                    "type": "string", "title": question.header, "description": question.question,
                });
                let options: Vec<_> =
                    question.options.iter().flatten().map(|it| it.label.as_str()).collect();
                if !options.is_empty() && !question.is_other {
                    field["enum"] = options.into();
                }
                properties.insert(question.id.clone(), field);
            }
            let required: Vec<_> = questions.iter().map(|it| it.id.as_str()).collect();
            params["requestedSchema"] =
                json!({ "type": "object", "properties": properties, "required": required });
            let each: Vec<_> = questions.iter().map(|it| it.question.as_str()).collect();
            each.join("\n")
        }
        Subject::Url { .. } | Subject::Adoption { .. } => return None,
    };
    params["message"] = message.into();
    Some(params)
}

/// A change as that server told it, from the hunks that Codex sends today.
fn change(change: &Change) -> Value {
    match change.kind.as_str() {
        "add" | "delete" => json!({ "type": change.kind, "content": change.diff }),
        _ => json!({
            "type": "update", "unified_diff": change.diff, "move_path": change.move_path,
        }),
    }
}

/// What Codex understood of its command, under the names that it had then.
fn parsed(params: &Value) -> Value {
    let actions = params.get("commandActions").and_then(Value::as_array);
    let each = actions.into_iter().flatten().map(|action| {
        let Value::Object(fields) = action else { return action.clone() };
        let renamed = fields.iter().map(|(name, value)| match (name.as_str(), value.as_str()) {
            ("command", _) => ("cmd".to_owned(), value.clone()),
            ("type", Some("listFiles")) => (name.clone(), "list_files".into()),
            _ => (name.clone(), value.clone()),
        });
        Value::Object(renamed.collect())
    });
    each.collect()
}

/// The words of a command line that was made of words, which Codex does by quoting.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word) = (vec![], None::<String>);
    let mut rest = line.chars();
    while let Some(next) = rest.next() {
        match next {
            ' ' => words.extend(word.take()),
            '\'' => {
                let quoted = rest.by_ref().take_while(|it| *it != '\'');
                word.get_or_insert_default().extend(quoted);
            }
            '"' => {
                let word = word.get_or_insert_default();
                while let Some(it) = rest.next().filter(|it| *it != '"') {
                    word.extend(if it == '\\' { rest.next() } else { Some(it) });
                }
            }
            '\\' => word.get_or_insert_default().extend(rest.next()),
            it => word.get_or_insert_default().push(it),
        }
    }
    words.extend(word);
    words
}

/// What a client's reply comes to.
#[derive(Debug, PartialEq)]
pub(super) enum Reception {
    /// This is the answer, and perhaps why, for the agent to read.
    Answer(Answer, Option<String>),
    /// Nobody saw the form, or what was said is no answer: the ask stays open elsewhere.
    NotShown,
}

/// Reads a reply that took so long; `shows` if an earlier one took its time.
pub(super) fn read(ask: &AskView, reply: &ClientResult, took: Duration, shows: bool) -> Reception {
    let read_by_someone = shows || took >= READING;
    if let ClientResult::CustomResult(said) = reply {
        let Some(said) = said.0.get("decision") else { return Reception::NotShown };
        let why = said.pointer("/denied/rejection").and_then(Value::as_str).map(str::to_owned);
        let answer = decision(ask, said);
        return answer.map_or(Reception::NotShown, |it| Reception::Answer(it, why));
    }
    let ClientResult::ElicitResult(said) = reply else { return Reception::NotShown };
    if said.action == ElicitationAction::Accept {
        return accepted(ask, said.content.as_ref());
    }
    // Dismissed or declined: neither counts as consent, and neither is a word on the turn.
    if read_by_someone { answered(no(ask, false)) } else { Reception::NotShown }
}

fn answered(answer: Answer) -> Reception {
    Reception::Answer(answer, None)
}

fn accepted(ask: &AskView, content: Option<&Value>) -> Reception {
    match (&ask.subject, content) {
        (Subject::Form { .. }, Some(content)) => {
            answered(Answer::Filled { content: content.clone() })
        }
        (Subject::Question { .. }, Some(Value::Object(content))) => {
            let each = content
                .iter()
                .filter_map(|(id, it)| it.as_str().map(|it| (id.clone(), vec![it.to_owned()])));
            answered(Answer::chosen(each.collect::<BTreeMap<_, _>>()))
        }
        (Subject::Question { .. }, _) => Reception::NotShown,
        // The form has no fields: saying yes to it is all that it takes.
        _ => answered(Answer::plain(Decision::Accept)),
    }
}

/// The decisions of that server.
fn decision(ask: &AskView, said: &Value) -> Option<Answer> {
    if let Some(prefix) =
        said.pointer("/approved_execpolicy_amendment/proposed_execpolicy_amendment")
    {
        let words = prefix.as_array()?.iter().map(|it| it.as_str().map(str::to_owned));
        return Some(Answer::Decided {
            decision: Decision::AcceptWithExecpolicyAmendment,
            execpolicy_amendment: Some(words.collect::<Option<Vec<_>>>()?),
            network_policy_amendment: None,
        });
    }
    // With its last words, or without.
    if said.get("denied").is_some() {
        return Some(no(ask, false));
    }
    match said.as_str()? {
        "approved" => Some(Answer::plain(Decision::Accept)),
        "approved_for_session" => {
            Some(Answer::plain(offered(ask, [Decision::AcceptForSession, Decision::Accept])))
        }
        "denied" => Some(no(ask, false)),
        "abort" => Some(no(ask, true)),
        _ => None,
    }
}

fn no(ask: &AskView, stop: bool) -> Answer {
    let wanted = if stop {
        [Decision::Cancel, Decision::Decline]
    } else {
        [Decision::Decline, Decision::Cancel]
    };
    // To a question there is no other no.
    let is_question = matches!(ask.subject, Subject::Question { .. });
    Answer::plain(if is_question { Decision::Cancel } else { offered(ask, wanted) })
}

/// The first of these that the agent takes.
fn offered(ask: &AskView, wanted: [Decision; 2]) -> Decision {
    let takes = |decision: Decision| ask.offers.iter().any(|it| it.decision == decision);
    wanted.into_iter().find(|it| takes(*it)).unwrap_or(wanted[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_made_of_words_gives_them_back() {
        for (line, expected) in [
            (
                "/bin/bash -lc 'mkdir -p sub && echo hi'",
                vec!["/bin/bash", "-lc", "mkdir -p sub && echo hi"],
            ),
            (r#"sh -c "it's \"so\"""#, vec!["sh", "-c", "it's \"so\""]),
            (r"a\ b '' c", vec!["a b", "", "c"]),
            ("", vec![]),
        ] {
            assert_eq!(words(line), expected, "{line}");
        }
    }
}
