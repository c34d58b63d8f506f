//! What is meant by a number, a name or a label: one of a question's options or of a field's choices.

use pilothouse_core::{Question, display::line};
use serde_json::Value;

/// The key for other words.
const OTHER_KEY: &str = "o";
/// What other words are called unless the question says.
const OTHER: &str = "Other";

/// One of several things to take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    /// Its name in the answer.
    pub(super) name: String,
    /// What people call it.
    pub(super) label: String,
}

impl Choice {
    /// As it is listed, without its number.
    pub(super) fn told(&self) -> String {
        let (name, label) = (line(&self.name), line(&self.label));
        if name == label { label } else { format!("{label} ({name})") }
    }
}

/// What was meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pick {
    /// The choice in this place.
    Choice(usize),
    /// Other words, which are still to be said.
    Other,
}

/// The options of a question, in the order in which they are numbered.
pub(super) fn options(question: &Question) -> Vec<Choice> {
    let choice = |it: &pilothouse_core::QuestionOption| Choice {
        name: it.name().to_owned(),
        label: it.label.clone(),
    };
    question.options.iter().flatten().map(choice).collect()
}

/// What other words are called here; nothing if none are taken.
pub(super) fn other(question: &Question) -> Option<&str> {
    question.is_other.then(|| question.other_label.as_deref().unwrap_or(OTHER))
}

/// The choices of a form's field or of the entries of one, in each of the spellings that forms have.
pub(super) fn choices(field: &Value) -> Vec<Choice> {
    let field = if field["type"] == "array" { &field["items"] } else { field };
    if let Some(values) = field["enum"].as_array() {
        let labels = field["enumNames"].as_array();
        let choice = |(at, value): (usize, &Value)| {
            let name = value.as_str()?.to_owned();
            let label = labels.and_then(|it| it.get(at)?.as_str()).unwrap_or(&name).to_owned();
            Some(Choice { name, label })
        };
        return values.iter().enumerate().filter_map(choice).collect();
    }
    let titled = field["oneOf"].as_array().or_else(|| field["anyOf"].as_array());
    let choice = |it: &Value| {
        let name = it["const"].as_str()?.to_owned();
        let label = it["title"].as_str().unwrap_or(&name).to_owned();
        Some(Choice { name, label })
    };
    titled.into_iter().flatten().filter_map(choice).collect()
}

/// What a text means: a number as listed, a name or a label. Capitals do not matter unless they make
/// a difference.
pub(super) fn pick(choices: &[Choice], other: Option<&str>, said: &str) -> Result<Pick, String> {
    let said = said.trim();
    let number = said.parse::<usize>().ok();
    let is_same = |it: &str, exactly: bool| {
        if exactly { it == said } else { it.to_lowercase() == said.to_lowercase() }
    };
    for exactly in [true, false] {
        let is_it = |at: usize, it: &Choice| {
            is_same(&it.name, exactly) || is_same(&it.label, exactly) || number == Some(at + 1)
        };
        let places = choices.iter().enumerate().filter(|(at, it)| is_it(*at, it));
        let mut found: Vec<Pick> = places.map(|(at, _)| Pick::Choice(at)).collect();
        let is_other = |label: &str| {
            is_same(label, exactly)
                || is_same(OTHER_KEY, exactly)
                || number == Some(choices.len() + 1)
        };
        if other.is_some_and(is_other) {
            found.push(Pick::Other);
        }
        match found.as_slice() {
            [] => {}
            [it] => return Ok(*it),
            [..] => {
                return Err(format!(
                    "{:?} means more than one; {}",
                    line(said),
                    list(choices, other)
                ));
            }
        }
    }
    Err(format!("{:?} is none of them; {}", line(said), list(choices, other)))
}

/// Several, with commas between; a label may hold commas itself.
pub(super) fn pick_several(
    choices: &[Choice],
    other: Option<&str>,
    said: &str,
) -> Result<Vec<Pick>, String> {
    if let Ok(one) = pick(choices, other, said) {
        return Ok(vec![one]);
    }
    let mut picks = vec![];
    for part in said.split(',').filter(|it| !it.trim().is_empty()) {
        let one = pick(choices, other, part)?;
        if !picks.contains(&one) {
            picks.push(one);
        }
    }
    if picks.is_empty() { Err(list(choices, other)) } else { Ok(picks) }
}

/// All of them on one line.
fn list(choices: &[Choice], other: Option<&str>) -> String {
    let mut all: Vec<String> =
        (1..).zip(choices).map(|(n, it)| format!("{n} {}", it.told())).collect();
    if let Some(label) = other {
        all.push(format!("{} {} (other words)", choices.len() + 1, line(label)));
    }
    format!("there are: {}", all.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn all() -> Vec<Choice> {
        let choice =
            |(name, label): (&str, &str)| Choice { name: name.into(), label: label.into() };
        [("ship", "Ship it"), ("SHIP", "Later, perhaps"), ("1", "One")].map(choice).into()
    }

    #[test]
    fn a_number_a_name_or_a_label_is_taken_if_it_is_clear() {
        let all = all();
        for (said, place) in [
            ("ship", 0),
            ("SHIP", 1),
            ("ship IT", 0),
            ("2", 1),
            (" later, perhaps ", 1),
            ("one", 2),
        ] {
            assert_eq!(pick(&all, None, said), Ok(Pick::Choice(place)), "{said}");
        }
        for (said, why) in [
            ("Ship", "\"Ship\" means more than one; there are: 1 Ship it (ship), 2 "),
            ("1", "\"1\" means more than one"),
            ("4", "\"4\" is none of them; there are: 1 Ship it (ship)"),
            ("o", "is none of them"),
            ("", "is none of them"),
        ] {
            let refused = pick(&all, None, said).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        for said in ["o", "O", "4", "something else"] {
            assert_eq!(pick(&all, Some("Something else"), said), Ok(Pick::Other), "{said}");
        }
    }

    #[test]
    fn several_are_taken_apart_at_commas_that_are_in_no_label() {
        let picks = |said| pick_several(&all(), Some("Other"), said);
        assert_eq!(picks("Later, perhaps"), Ok(vec![Pick::Choice(1)]));
        assert_eq!(
            picks("3, Ship it,3,o"),
            Ok(vec![Pick::Choice(2), Pick::Choice(0), Pick::Other])
        );
        assert!(picks("3, 9").unwrap_err().contains("\"9\" is none of them"));
        assert!(picks(" , ").is_err());
    }

    #[test]
    fn the_choices_of_a_field_are_found_in_every_spelling() {
        let titled = json!([{"const": "a", "title": "A!"}, {"const": "b"}]);
        for (field, told) in [
            (json!({"enum": ["a", "b"], "enumNames": ["A!"]}), ["A! (a)", "b"]),
            (json!({"oneOf": titled}), ["A! (a)", "b"]),
            (json!({"type": "array", "items": {"anyOf": titled}}), ["A! (a)", "b"]),
            (json!({"type": "array", "items": {"enum": ["a", "b"]}}), ["a", "b"]),
        ] {
            let found: Vec<String> = choices(&field).iter().map(Choice::told).collect();
            assert_eq!(found, told, "{field}");
        }
        assert!(choices(&json!({"type": "string"})).is_empty());
    }
}
