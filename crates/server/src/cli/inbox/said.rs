//! What was said on a command line or by keys, as an answer that fits the ask.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use pilothouse_core::{Answer, AskView, Decision, Question, Subject, decision_name, display::line};
use serde_json::{Map, Value};

/// The same decision, with what the agent offers to go with it.
pub(super) fn decided(ask: &AskView, decision: Decision) -> anyhow::Result<Answer> {
    // A question is not declined but cancelled, and neither is offered.
    if ask.offers.is_empty() {
        return Ok(Answer::plain(decision));
    }
    if let Some(offer) = ask.offers.iter().position(|it| it.decision == decision) {
        return offered(ask, offer + 1);
    }
    let taken: Vec<_> = ask.offers.iter().map(|it| decision_name(it.decision)).collect();
    bail!("{} is not taken here, but: {}", decision_name(decision), taken.join(", "))
}

/// The offer of that number, as the card counts them.
pub(super) fn offered(ask: &AskView, number: usize) -> anyhow::Result<Answer> {
    let offer = number.checked_sub(1).and_then(|it| ask.offers.get(it));
    let offer = offer.with_context(|| format!("there is no offer {number}"))?;
    Ok(Answer::Decided {
        decision: offer.decision,
        execpolicy_amendment: offer.execpolicy_amendment.clone(),
        network_policy_amendment: offer.network_policy_amendment.clone(),
    })
}

/// What was chosen, by question: options by name or label, other words where they are taken.
pub(super) fn chosen(ask: &AskView, pairs: &[(String, String)]) -> anyhow::Result<Answer> {
    let Subject::Question { questions } = &ask.subject else {
        bail!("this is no question; it takes a decision")
    };
    let mut answers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut other = BTreeMap::new();
    for (id, said) in pairs {
        let question = questions.iter().find(|it| it.id == *id).with_context(|| {
            let ids: Vec<_> = questions.iter().map(|it| line(&it.id)).collect();
            format!("there is no question {}, but: {}", line(id), ids.join(", "))
        })?;
        match option(question, said) {
            Some(name) => answers.entry(id.clone()).or_default().push(name),
            // Where options have names, words that are none of them stand apart.
            None if question.options.iter().flatten().any(|it| it.id.is_some()) => {
                other.insert(id.clone(), said.clone());
            }
            None => answers.entry(id.clone()).or_default().push(said.clone()),
        }
    }
    Ok(Answer::Chosen { answers, other })
}

fn option(question: &Question, said: &str) -> Option<String> {
    let mut options = question.options.iter().flatten();
    options.find(|it| it.name() == said || it.label == said).map(|it| it.name().to_owned())
}

/// A filled form: each value as its field's type says.
pub(super) fn filled(ask: &AskView, pairs: &[(String, String)]) -> anyhow::Result<Answer> {
    let Subject::Form { schema, .. } = &ask.subject else {
        bail!("this is no form; it takes a decision")
    };
    let mut content = Map::new();
    for (name, said) in pairs {
        let field = schema["properties"].get(name).with_context(|| {
            let names = schema["properties"].as_object().into_iter().flatten();
            let names: Vec<_> = names.map(|(name, _)| line(name)).collect();
            format!("there is no field {}, but: {}", line(name), names.join(", "))
        })?;
        content.insert(name.clone(), typed(field, said));
    }
    Ok(Answer::Filled { content: Value::Object(content) })
}

/// What does not fit stays a text; the rules say then what would.
fn typed(field: &Value, said: &str) -> Value {
    let parsed = match field["type"].as_str() {
        Some("boolean") => match said.to_lowercase().as_str() {
            "true" | "yes" | "y" => Some(Value::Bool(true)),
            "false" | "no" | "n" => Some(Value::Bool(false)),
            _ => None,
        },
        Some("integer" | "number") => {
            serde_json::from_str(said).ok().filter(|it: &Value| it.is_number())
        }
        Some("array") => Some(said.split(',').map(str::trim).collect()),
        Some(_) | None => None,
    };
    parsed.unwrap_or_else(|| said.into())
}

/// `NAME=VALUE`, for clap.
pub(super) fn parse_pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| "it must be NAME=VALUE".to_owned())?;
    Ok((name.to_owned(), value.to_owned()))
}
