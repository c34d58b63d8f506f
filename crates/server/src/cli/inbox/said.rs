//! What was said on a command line or by keys, as an answer that fits the ask.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail, ensure};
use pilothouse_core::{Answer, AskView, Decision, Question, Subject, decision_name, display::line};
use serde_json::{Map, Value};

use super::{
    fields,
    picking::{self, Pick},
};

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

/// What was said to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said {
    /// The name of an option.
    Option(String),
    /// Other words.
    Words(String),
}

/// What was chosen and what was written, by question: a number, name or label of an option.
pub(super) fn chosen(
    ask: &AskView,
    chosen: &[(String, String)],
    other: &[(String, String)],
) -> anyhow::Result<Answer> {
    let Subject::Question { questions } = &ask.subject else {
        bail!("this is no question; it takes a decision")
    };
    let find = |id: &str| {
        questions.iter().find(|it| it.id == id).with_context(|| {
            let ids: Vec<_> = questions.iter().map(|it| line(&it.id)).collect();
            format!("there is no question {}, but: {}", line(id), ids.join(", "))
        })
    };
    let mut said = vec![];
    for (id, text) in chosen {
        let options = picking::options(find(id)?);
        let what = if options.is_empty() {
            Said::Words(text.clone())
        } else {
            // Other words are meant only where that is said.
            match picking::pick(&options, None, text) {
                Ok(Pick::Choice(at)) => Said::Option(options[at].name.clone()),
                Ok(Pick::Other) => continue,
                Err(problem) => {
                    let hint = match picking::other(find(id)?) {
                        Some(_) => "; other words go with --other",
                        None => "",
                    };
                    bail!("question {}: {problem}{hint}", line(id))
                }
            }
        };
        said.push((id.clone(), what));
    }
    for (id, text) in other {
        let question = find(id)?;
        ensure!(
            picking::other(question).is_some() || picking::options(question).is_empty(),
            "question {} takes one of its options only",
            line(id)
        );
        ensure!(!text.trim().is_empty(), "question {}: --other needs words", line(id));
        said.push((id.clone(), Said::Words(text.clone())));
    }
    Ok(answers(questions, &said))
}

/// Where options have names, words that are none of them stand apart.
pub(super) fn answers(questions: &[Question], said: &[(String, Said)]) -> Answer {
    let mut answers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut other = BTreeMap::new();
    for (id, said) in said {
        let question = questions.iter().find(|it| it.id == *id);
        let mut options = question.iter().flat_map(|it| it.options.iter().flatten());
        match said {
            Said::Words(words) if options.any(|it| it.id.is_some()) => {
                other.insert(id.clone(), words.clone());
            }
            Said::Option(text) | Said::Words(text) => {
                answers.entry(id.clone()).or_default().push(text.clone());
            }
        }
    }
    Answer::Chosen { answers, other }
}

/// A filled form: each value as its field's type says.
pub(super) fn filled(ask: &AskView, pairs: &[(String, String)]) -> anyhow::Result<Answer> {
    let Subject::Form { schema, .. } = &ask.subject else {
        bail!("this is no form; it takes a decision")
    };
    let mut content = Map::new();
    for (name, said) in pairs {
        if schema["properties"].get(name).is_none() {
            let names = schema["properties"].as_object().into_iter().flatten();
            let names: Vec<_> = names.map(|(name, _)| line(name)).collect();
            bail!("there is no field {}, but: {}", line(name), names.join(", "));
        }
        let value = fields::value(ask, name, said);
        let value = value.map_err(|it| anyhow::anyhow!("{}: {it}", line(name)))?;
        content.insert(name.clone(), value);
    }
    let answer = Answer::Filled { content: Value::Object(content) };
    fields::as_raised(ask).check(&answer).map_err(|it| {
        let field = it.field.strip_prefix("content.").unwrap_or(&it.field);
        anyhow::anyhow!("{}: {}", line(field), it.problem)
    })?;
    Ok(answer)
}

/// `NAME=VALUE`, for clap.
pub(super) fn parse_pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| "it must be NAME=VALUE".to_owned())?;
    Ok((name.to_owned(), value.to_owned()))
}
