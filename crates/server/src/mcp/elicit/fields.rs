//! A question as a flat form, and what is filled in as an answer.
//!
//! Some clients sort fields by name, and some show only texts, yes or no, and one of several: so
//! fields are named in the wanted order, and what takes several choices is several times yes or no.
//! Clients skip what they check, too, so that everything is checked here again.

use std::collections::BTreeMap;

use pilothouse_core::{
    Answer, AskView, Decision, Question, QuestionOption, Subject,
    display::{self, Room, Shown},
};
use serde_json::{Map, Value, json};

/// What the free answer is called in answers.
pub(crate) const OTHER: &str = "other";
/// What it is called for people, unless the question says.
pub(crate) const OTHER_LABEL: &str = "Other";
/// The field that allows a command.
const CONFIRM: &str = "confirm";

/// What a client is to show.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Form {
    pub(super) message: String,
    /// In the words of MCP 2025-11-25.
    pub(super) schema: Value,
}

/// The form of a question, if it has one. `note` is what a tool adds to it.
pub(super) fn form(ask: &AskView, note: Option<&str>) -> Option<Form> {
    let (message, schema) = match &ask.subject {
        Subject::Question { questions } if questions.iter().all(|it| !it.is_secret) => {
            (in_words(ask.reason.as_deref(), questions), choices(questions))
        }
        Subject::Form { message, schema, .. } => (message.clone(), schema.clone()),
        Subject::Command { command, cwd, .. } => {
            // Every line of it is marked, and the reason is one line: neither passes for ours.
            let command = command.split('\n').map(|it| format!("> {it}"));
            let command = command.collect::<Vec<_>>().join("\n");
            let cwd = display::line(cwd);
            let mut message = format!("Run this command?\n{command}\nin {cwd}");
            if let Some(reason) = &ask.reason {
                message.push_str("\nThe reason that was given: ");
                message.push_str(&display::line(reason));
            }
            (message, confirmation())
        }
        Subject::Question { .. }
        | Subject::Url { .. }
        | Subject::FileChange { .. }
        | Subject::Permissions { .. }
        | Subject::Tool { .. }
        | Subject::Adoption { .. } => return None,
    };
    let message = match note {
        Some(note) => format!("{message}\n{note}"),
        None => message,
    };
    Some(Form { message: readable(&message), schema: readable_titles(schema) })
}

/// A text as a person is to see it: nothing in it moves, hides or turns what stands around it.
pub(super) fn readable(text: &str) -> String {
    let Shown { mut text, found, .. } = display::show(text, Room::Lines);
    let kinds: Vec<_> = found.counts().map(|(it, n)| format!("{n} × {}", it.as_str())).collect();
    if !kinds.is_empty() {
        text.push_str("\nMade visible here: ");
        text.push_str(&kinds.join(", "));
    }
    text
}

/// The same for what a form says beside its fields. Values stay as they are: they are the answers.
fn readable_titles(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(fields) => {
            for (name, it) in fields.iter_mut() {
                match it {
                    Value::String(text) if ["title", "description"].contains(&name.as_str()) => {
                        *text = display::show(text, Room::Lines).text;
                    }
                    Value::Object(_) | Value::Array(_) => *it = readable_titles(it.take()),
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
                }
            }
        }
        Value::Array(items) => {
            for it in items {
                *it = readable_titles(it.take());
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    schema
}

/// What was filled in, as an answer; or what is wrong with it, in words for whoever filled it in.
pub(super) fn answer(subject: &Subject, content: &Map<String, Value>) -> Result<Answer, String> {
    match subject {
        Subject::Question { questions } => chosen(questions, content),
        Subject::Form { schema, .. } => {
            Ok(Answer::Filled { content: super::dialect::gathered(schema, content) })
        }
        Subject::Command { .. } => match content.get(CONFIRM) {
            Some(Value::Bool(true)) => Ok(Answer::plain(Decision::Accept)),
            Some(Value::Bool(false)) => Ok(Answer::plain(Decision::Decline)),
            Some(_) => Err(format!("{CONFIRM} must be true or false")),
            None => Err(format!("{CONFIRM} is required")),
        },
        Subject::Url { .. } => Ok(Answer::plain(Decision::Accept)),
        Subject::FileChange { .. }
        | Subject::Permissions { .. }
        | Subject::Tool { .. }
        | Subject::Adoption { .. } => Err("this takes no form".to_owned()),
    }
}

fn confirmation() -> Value {
    json!({
        "type": "object",
        "properties": { CONFIRM: {
            "type": "boolean",
            "title": "Run it",
            "description": "Only yes runs the command.",
        }},
        "required": [CONFIRM],
    })
}

/// The questions for those who see no titles.
fn in_words(message: Option<&str>, questions: &[Question]) -> String {
    let mut text = message.unwrap_or_default().to_owned();
    for question in questions {
        let (header, words) = (&question.header, &question.question);
        text.extend(["\n\n", header, ": ", words]);
        for option in question.options.iter().flatten() {
            text.extend(["\n- ", &option.label]);
            if !option.description.is_empty() {
                text.extend([": ", &option.description]);
            }
        }
    }
    text.trim_start().to_owned()
}

fn choices(questions: &[Question]) -> Value {
    let mut properties = Map::new();
    let mut required = vec![];
    for (at, question) in questions.iter().enumerate() {
        let name = field(at);
        let options = question.options.as_deref().unwrap_or_default();
        if options.is_empty() {
            let text = json!({
                "type": "string", "title": question.header, "description": question.question,
            });
            properties.insert(name.clone(), text);
            required.push(name);
            continue;
        }
        if question.multiple {
            for (index, option) in options.iter().enumerate() {
                let about = Some(&option.description).filter(|it| !it.is_empty());
                let preset = question.default.as_deref() == Some(option.name());
                let flag = json!({
                    "type": "boolean",
                    "title": format!("{}: {}", question.header, option.label),
                    "description": about.unwrap_or(&question.question),
                    "default": preset,
                });
                properties.insert(flag_field(at, index), flag);
            }
        } else {
            properties.insert(name.clone(), one_of(question, options));
            required.push(name);
        }
        if question.is_other {
            let label = other_label(question);
            let about = if question.multiple {
                "Anything else, in your words.".to_owned()
            } else {
                format!("In your words, if you choose {label}; else empty.")
            };
            let text = json!({
                "type": "string",
                "title": format!("{}: {label}", question.header),
                "description": about,
            });
            properties.insert(other_field(at), text);
        }
    }
    json!({ "type": "object", "properties": properties, "required": required })
}

fn one_of(question: &Question, options: &[QuestionOption]) -> Value {
    let titled = |name: &str, label: &str| json!({ "const": name, "title": label });
    let mut each: Vec<_> = options.iter().map(|it| titled(it.name(), &it.label)).collect();
    if question.is_other {
        each.push(titled(OTHER, other_label(question)));
    }
    let mut res = json!({
        "type": "string",
        "title": question.header,
        "description": question.question,
        "oneOf": each,
    });
    if let Some(default) = &question.default {
        res["default"] = default.as_str().into();
    }
    res
}

/// What the free answer to a question is called.
pub(crate) fn other_label(question: &Question) -> &str {
    question.other_label.as_deref().unwrap_or(OTHER_LABEL)
}

fn field(question: usize) -> String {
    format!("q{}", question + 1)
}

fn flag_field(question: usize, option: usize) -> String {
    format!("q{}_{}", question + 1, option + 1)
}

/// After the options by its name.
fn other_field(question: usize) -> String {
    format!("q{}_other", question + 1)
}

fn chosen(questions: &[Question], content: &Map<String, Value>) -> Result<Answer, String> {
    let (mut answers, mut other) = (BTreeMap::new(), BTreeMap::new());
    for (at, question) in questions.iter().enumerate() {
        let header = &question.header;
        let options = question.options.as_deref().unwrap_or_default();
        let text = if question.is_other { text(content, &other_field(at))? } else { None };
        if options.is_empty() {
            let Some(text) = self::text(content, &field(at))? else {
                return Err(format!("{header} needs an answer"));
            };
            answers.insert(question.id.clone(), vec![text.to_owned()]);
            continue;
        }
        if question.multiple {
            let mut names = vec![];
            for (index, option) in options.iter().enumerate() {
                match content.get(&flag_field(at, index)) {
                    Some(Value::Bool(true)) => names.push(option.name().to_owned()),
                    Some(Value::Bool(false) | Value::Null) | None => {}
                    Some(_) => {
                        return Err(format!("{header}: {} must be yes or no", option.label));
                    }
                }
            }
            if names.is_empty() && text.is_none() {
                return Err(format!("{header}: choose at least one, or write something else"));
            }
            if !names.is_empty() {
                answers.insert(question.id.clone(), names);
            }
            if let Some(text) = text {
                other.insert(question.id.clone(), text.to_owned());
            }
            continue;
        }
        let label = other_label(question);
        match (content.get(&field(at)), text) {
            (Some(Value::String(name)), text) if question.is_other && name == OTHER => {
                let Some(text) = text else {
                    return Err(format!("{header}: write what you mean by {label}"));
                };
                other.insert(question.id.clone(), text.to_owned());
            }
            (Some(Value::String(name)), None) if options.iter().any(|it| it.name() == name) => {
                answers.insert(question.id.clone(), vec![name.clone()]);
            }
            (Some(Value::String(name)), Some(_)) if options.iter().any(|it| it.name() == name) => {
                return Err(format!(
                    "{header}: choose {label} to say it in your words, or leave \
                                    those empty"
                ));
            }
            (None | Some(Value::Null), _) => return Err(format!("{header} needs an answer")),
            (Some(_), _) => {
                let labels: Vec<_> = options.iter().map(|it| it.label.as_str()).collect();
                return Err(format!("{header} must be one of: {}", labels.join(", ")));
            }
        }
    }
    Ok(Answer::Chosen { answers, other })
}

/// A text that says something.
fn text<'a>(content: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, String> {
    match content.get(name) {
        Some(Value::String(it)) => Ok(Some(it.as_str()).filter(|it| !it.trim().is_empty())),
        None | Some(Value::Null) => Ok(None),
        Some(_) => Err(format!("{name} must be text")),
    }
}
