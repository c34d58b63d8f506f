//! `request_choice`: a person chooses among a few options, or says something else.
//!
//! The first option is the recommendation and is chosen before anyone chooses. Saying no, dismissing
//! the question and not answering it in time give no answers, and nothing of that is consent.

use std::collections::BTreeMap;

use pilothouse_core::{Answer, CallerRequest, Patience, Question, QuestionOption, Subject};
use rmcp::model::Tool;
use serde_json::{Map, Value, json};

use super::{
    Call, Reply, Said,
    arguments::Arguments,
    elicit::{
        Answered, Asking, Outcome,
        fields::{OTHER, other_label},
        fingerprint,
    },
    form::secrets,
    problem::Problem,
    tools,
};

pub(crate) const NAME: &str = "request_choice";
/// How many questions are asked at once.
const QUESTIONS: std::ops::RangeInclusive<usize> = 1..=3;
/// How many options each has, beside "other".
const OPTIONS: std::ops::RangeInclusive<usize> = 2..=3;
/// Longest text of a question, in characters.
const MAX_TEXT: usize = 4_000;

/// The tool as clients list it.
pub(crate) fn tool() -> Tool {
    let text = || json!({ "type": "string" });
    let option = json!({
        "properties": { "id": text(), "label": text(), "description": text() },
        "required": ["id", "label", "description"],
    });
    let question = json!({
        "type": "object",
        "properties": {
            "id": text(),
            "header": text(),
            "question": text(),
            "options": { "type": "array", "minItems": 2, "maxItems": 3, "items": option },
            "allowMultiple": { "type": "boolean" },
            "otherLabel": text(),
            "default": { "type": "null" },
        },
        "required": ["id", "header", "question", "options"],
    });
    let arguments = json!({
        "message": text(),
        "questions": { "type": "array", "minItems": 1, "maxItems": 3, "items": question },
        "timeoutMs": { "type": "integer" },
        "askId": { "type": "string", "description": "to collect" },
    });
    let picked = json!({ "additionalProperties": text() });
    let answers = json!({ "type": "array", "items": {
        "properties": { "selections": { "type": "array", "items": picked } },
        "additionalProperties": { "type": ["string", "null"] },
    }});
    tools::tool(
        NAME,
        "Ask a person to choose. The first option is preset unless default is null.",
        &arguments,
        &[],
        tools::result(json!({ "answers": answers })),
    )
}

impl Call<'_> {
    /// Asks, or collects what was asked before.
    pub(crate) async fn request_choice(&self, arguments: Arguments) -> Result<Said, Problem> {
        let print = fingerprint(NAME, &Value::Object(arguments.left().clone()));
        let mut arguments = arguments;
        let ask = arguments.text("askId")?;
        let outcome = if let Some(ask) = &ask {
            arguments.forget(&["message", "questions", "timeoutMs"]);
            self.collect(ask).await?
        } else {
            let message = arguments.required("message")?;
            within(&message, "message")?;
            let questions = questions(&mut arguments)?;
            let request = CallerRequest {
                key: print.clone(),
                subject: Subject::Question { questions },
                reason: Some(message),
                patience: self.patience(&mut arguments)?,
            };
            let asking = Asking { tool: NAME, arguments: print, request, note: None };
            Box::pin(self.ask(asking)).await?
        };
        let reply = match outcome {
            Outcome::InputRequired(result) => return Ok(Said::InputRequired(result)),
            Outcome::Pending(pending) => pending.reply(NAME),
            Outcome::Settled(answered) => reply(&answered)?,
        };
        Ok(Said::Reply(reply.warn(arguments.warnings())))
    }

    /// How long a question waits: as the call says, else for ever while a client says that it shows
    /// forms, since a person may sit there, else as sessions do.
    pub(crate) fn patience(&self, arguments: &mut Arguments) -> Result<Patience, Problem> {
        Ok(match arguments.count("timeoutMs")? {
            Some(0) => Patience::Forever,
            Some(ms) => Patience::Ms(ms),
            None if self.declares_forms() => Patience::Forever,
            None => Patience::Attended,
        })
    }
}

fn questions(arguments: &mut Arguments) -> Result<Vec<Question>, Problem> {
    let Some(given) = arguments.any("questions") else {
        return Err(Problem::argument("questions", "is required"));
    };
    let Value::Array(given) = given else {
        return Err(Problem::argument("questions", "must be a list"));
    };
    counts("questions", given.len(), &QUESTIONS)?;
    let mut res: Vec<Question> = vec![];
    for (at, value) in given.into_iter().enumerate() {
        let place = format!("questions[{at}]");
        let question = question(&place, value, arguments)?;
        if res.iter().any(|it| it.id == question.id) {
            return Err(Problem::argument(&format!("{place}.id"), "is used twice"));
        }
        res.push(question);
    }
    Ok(res)
}

fn question(place: &str, value: Value, outer: &mut Arguments) -> Result<Question, Problem> {
    let Value::Object(fields) = value else {
        return Err(Problem::argument(place, "must be an object"));
    };
    let is_preset = !fields.get("default").is_some_and(Value::is_null);
    if fields.get("default").is_some_and(|it| !it.is_null()) {
        let problem = "may only be null, for no preset; the first option is the preset";
        return Err(Problem::argument(&format!("{place}.default"), problem));
    }
    let mut inner = Arguments::at(&format!("{place}."), fields);
    let id = inner.required("id")?;
    let header = inner.required("header")?;
    let question = inner.required("question")?;
    let multiple = inner.flag("allowMultiple")?.unwrap_or_default();
    let other_label = inner.text("otherLabel")?.filter(|it| !it.trim().is_empty());
    let options = match inner.any("options") {
        Some(Value::Array(options)) => options,
        Some(_) => return inner.missing("options", "must be a list"),
        None => return inner.missing("options", "is required"),
    };
    counts(&format!("{place}.options"), options.len(), &OPTIONS)?;
    let mut res: Vec<QuestionOption> = vec![];
    for (at, value) in options.into_iter().enumerate() {
        let place = format!("{place}.options[{at}]");
        let option = option(&place, value, &mut inner)?;
        let name = format!("{place}.id");
        if option.name() == OTHER {
            return Err(Problem::argument(&name, "\"other\" is added by itself; use another id"));
        }
        if res.iter().any(|it| it.name() == option.name()) {
            return Err(Problem::argument(&name, "is used twice"));
        }
        res.push(option);
    }
    for (name, text) in [("id", &id), ("header", &header), ("question", &question)] {
        within(text, &format!("{place}.{name}"))?;
    }
    for (name, text) in [("id", &id), ("header", &header)] {
        secrets::refuse(&format!("{place}.{name}"), text)?;
    }
    inner.any("default");
    outer.absorb(&inner);
    Ok(Question {
        default: is_preset.then(|| res[0].name().to_owned()),
        id,
        header,
        question,
        is_other: true,
        other_label,
        multiple,
        is_secret: false,
        options: Some(res),
    })
}

fn option(place: &str, value: Value, outer: &mut Arguments) -> Result<QuestionOption, Problem> {
    let Value::Object(fields) = value else {
        return Err(Problem::argument(place, "must be an object"));
    };
    let mut inner = Arguments::at(&format!("{place}."), fields);
    let id = inner.required("id")?;
    let label = inner.required("label")?;
    let description = inner.text("description")?.unwrap_or_default();
    for (name, text) in [("id", &id), ("label", &label), ("description", &description)] {
        within(text, &format!("{place}.{name}"))?;
    }
    outer.absorb(&inner);
    Ok(QuestionOption { id: Some(id), label, description })
}

fn counts(
    place: &str,
    found: usize,
    allowed: &std::ops::RangeInclusive<usize>,
) -> Result<(), Problem> {
    if allowed.contains(&found) {
        return Ok(());
    }
    let (least, most) = (allowed.start(), allowed.end());
    Err(Problem::argument(place, format!("must have {least} to {most} entries, but has {found}")))
}

fn within(text: &str, place: &str) -> Result<(), Problem> {
    let found = text.chars().count();
    if found <= MAX_TEXT {
        return Ok(());
    }
    let problem = format!("has {found} characters; at most {MAX_TEXT} are shown");
    Err(Problem::argument(place, problem))
}

/// The result of a question that is settled.
fn reply(answered: &Answered) -> Result<Reply, Problem> {
    let mut res = answered.reply();
    let mut answers = vec![];
    if let (Some(Answer::Chosen { answers: chosen, other }), Subject::Question { questions }) =
        (answered.answer(), &answered.ask.subject)
    {
        for question in questions {
            let answer = picked(question, chosen, other);
            res.text.extend(["\n", &question.header, ": ", &in_words(&answer)]);
            answers.push(Value::Object(answer));
        }
    } else if answered.action() == "accept" {
        let problem = "the question of this askId is no choice; collect it with its own tool";
        return Err(Problem::argument("askId", problem));
    }
    res.fields.insert("answers".to_owned(), answers.into());
    Ok(res)
}

fn picked(
    question: &Question,
    chosen: &BTreeMap<String, Vec<String>>,
    other: &BTreeMap<String, String>,
) -> Map<String, Value> {
    let options = question.options.as_deref().unwrap_or_default();
    let names = chosen.get(&question.id).map_or(&[][..], Vec::as_slice);
    let mut selections: Vec<_> = options
        .iter()
        .filter(|it| names.iter().any(|name| name == it.name()))
        .map(|it| (it.name(), it.label.as_str()))
        .collect();
    let text = other.get(&question.id);
    if text.is_some() {
        selections.push((OTHER, other_label(question)));
    }
    let (id, label) = selections.first().copied().unzip();
    let mut res = Map::new();
    res.insert("questionId".to_owned(), question.id.clone().into());
    res.insert("selectedId".to_owned(), json!(id));
    res.insert("selectedLabel".to_owned(), json!(label));
    res.insert("otherText".to_owned(), json!(text));
    if question.multiple {
        let each = selections.iter().map(|(id, label)| json!({ "id": id, "label": label }));
        res.insert("selections".to_owned(), each.collect());
    }
    res
}

/// What was chosen, by its names: a model acts on those.
fn in_words(answer: &Map<String, Value>) -> String {
    let pair = |id: &Value, label: &Value| {
        format!("{} ({})", id.as_str().unwrap_or_default(), label.as_str().unwrap_or_default())
    };
    let mut text = match answer.get("selections").and_then(Value::as_array) {
        Some(each) => {
            let each: Vec<_> = each.iter().map(|it| pair(&it["id"], &it["label"])).collect();
            each.join(", ")
        }
        None => pair(&answer["selectedId"], &answer["selectedLabel"]),
    };
    if let Some(other) = answer["otherText"].as_str() {
        text.extend([": ", other]);
    }
    text
}
