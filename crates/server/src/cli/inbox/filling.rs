//! Filling in what a decision is not enough for: questions and fields, one line for each.

use std::collections::VecDeque;

use pilothouse_core::{Answer, AskView, Question, Subject, display::line};
use serde_json::{Map, Value};

use super::{
    fields,
    picking::{self, Pick},
    said,
};

/// What is filled in so far, and what is not.
pub(super) struct Filling {
    left: VecDeque<Blank>,
    /// What was chosen, by question.
    chosen: Vec<(String, said::Said)>,
    /// What was filled in, by field.
    content: Map<String, Value>,
}

/// Something to fill in.
enum Blank {
    Question(Question),
    /// Other words, after what was chosen of the same question.
    Other {
        question: String,
        label: String,
        secret: bool,
    },
    Field(String),
}

/// What became of a line.
pub(super) enum Taken {
    /// It is asked again: this is what was wrong.
    Again(String),
    /// It was taken as this, and something else is asked.
    Next(String),
    /// It was taken as this, and that is all.
    Done(String, Answer),
}

impl Filling {
    /// What there is to fill in; nothing if a decision is enough.
    pub(super) fn of(ask: &AskView) -> Option<Self> {
        let left: VecDeque<Blank> = match &ask.subject {
            Subject::Question { questions } => {
                questions.iter().cloned().map(Blank::Question).collect()
            }
            Subject::Form { schema, .. } => {
                let fields = schema["properties"].as_object().into_iter().flatten();
                fields.map(|(name, _)| Blank::Field(name.clone())).collect()
            }
            Subject::Command { .. }
            | Subject::FileChange { .. }
            | Subject::Permissions { .. }
            | Subject::Url { .. }
            | Subject::Tool { .. }
            | Subject::Adoption { .. } => VecDeque::new(),
        };
        (!left.is_empty()).then(|| Self { left, chosen: vec![], content: Map::new() })
    }

    /// Whether what is typed now must not be seen.
    pub(super) fn is_secret(&self) -> bool {
        match self.left.front() {
            Some(Blank::Question(question)) => question.is_secret,
            Some(Blank::Other { secret, .. }) => *secret,
            Some(Blank::Field(_)) | None => false,
        }
    }

    /// What is asked now.
    pub(super) fn prompt(&self, ask: &AskView) -> String {
        match self.left.front() {
            Some(Blank::Question(question)) => {
                let label =
                    if question.header.is_empty() { &question.id } else { &question.header };
                let n_options = picking::options(question).len();
                let how = match (n_options, question.multiple) {
                    (0, _) => "",
                    (_, false) => " (number or name)",
                    (_, true) => " (numbers or names, with commas)",
                };
                let other = picking::other(question).filter(|_| n_options > 0);
                let other = if other.is_some() { ", o for other words" } else { "" };
                format!("{}{how}{other}: ", line(label))
            }
            Some(Blank::Other { label, .. }) => format!("{}, in your words: ", line(label)),
            Some(Blank::Field(name)) => {
                let Subject::Form { schema, .. } = &ask.subject else { return String::new() };
                let title = schema["properties"][name]["title"].as_str().unwrap_or(name);
                format!("{} ({}): ", line(title), line(&fields::takes(schema, name)))
            }
            None => String::new(),
        }
    }

    /// Takes a line for what is asked now. What was taken before stays, whatever becomes of it.
    pub(super) fn take(&mut self, ask: &AskView, text: &str) -> Taken {
        let taken = match self.left.front() {
            Some(Blank::Question(question)) => {
                let question = question.clone();
                self.choose(&question, text)
            }
            Some(Blank::Other { question, secret, .. }) => {
                let (question, secret) = (question.clone(), *secret);
                self.write(question, secret, text)
            }
            Some(Blank::Field(name)) => {
                let name = name.clone();
                self.fill(ask, &name, text)
            }
            None => Ok(String::new()),
        };
        let told = match taken {
            Ok(told) => told,
            Err(problem) => return Taken::Again(problem),
        };
        if !self.left.is_empty() {
            return Taken::Next(told);
        }
        let answer = match &ask.subject {
            Subject::Question { questions } => said::answers(questions, &self.chosen),
            Subject::Form { .. }
            | Subject::Command { .. }
            | Subject::FileChange { .. }
            | Subject::Permissions { .. }
            | Subject::Url { .. }
            | Subject::Tool { .. }
            | Subject::Adoption { .. } => {
                Answer::Filled { content: Value::Object(self.content.clone()) }
            }
        };
        Taken::Done(told, answer)
    }

    fn choose(&mut self, question: &Question, text: &str) -> Result<String, String> {
        let options = picking::options(question);
        if options.is_empty() {
            return self.write(question.id.clone(), question.is_secret, text);
        }
        let other = picking::other(question);
        let picks = if question.multiple {
            picking::pick_several(&options, other, text)?
        } else {
            vec![picking::pick(&options, other, text)?]
        };
        self.left.pop_front();
        let mut told = vec![];
        for pick in picks {
            match pick {
                Pick::Choice(at) => {
                    told.push(format!("{}. {}", at + 1, options[at].told()));
                    let name = options[at].name.clone();
                    self.chosen.push((question.id.clone(), said::Said::Option(name)));
                }
                Pick::Other => {
                    let label = other.unwrap_or_default().to_owned();
                    told.push(line(&label));
                    let (question, secret) = (question.id.clone(), question.is_secret);
                    self.left.push_front(Blank::Other { question, label, secret });
                }
            }
        }
        Ok(if question.is_secret { "a secret".to_owned() } else { told.join(", ") })
    }

    fn write(&mut self, question: String, secret: bool, text: &str) -> Result<String, String> {
        if text.trim().is_empty() {
            return Err("it needs words; Escape goes back".to_owned());
        }
        self.left.pop_front();
        self.chosen.push((question, said::Said::Words(text.to_owned())));
        Ok(if secret { "a secret".to_owned() } else { format!("\"{}\"", line(text)) })
    }

    fn fill(&mut self, ask: &AskView, name: &str, text: &str) -> Result<String, String> {
        let Subject::Form { schema, .. } = &ask.subject else { return Ok(String::new()) };
        let field = &schema["properties"][name];
        let value = match field.get("default") {
            _ if !text.trim().is_empty() => fields::value(ask, name, text)?,
            Some(default) => default.clone(),
            None if fields::is_required(schema, name) => {
                return Err("it is required; Escape goes back".to_owned());
            }
            None => {
                self.left.pop_front();
                return Ok("nothing, it is left out".to_owned());
            }
        };
        self.left.pop_front();
        let told = line(&fields::told(field, &value));
        self.content.insert(name.to_owned(), value);
        Ok(told)
    }
}
