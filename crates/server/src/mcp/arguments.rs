//! A call's arguments, read one by one: what has a wrong type is named, what is unknown is noted.

use serde_json::{Map, Value};

use super::problem::Problem;

/// Arguments that are not read yet.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    /// What precedes the names, with its dot.
    prefix: String,
    rest: Map<String, Value>,
    unknown: Vec<String>,
    given: Vec<&'static str>,
}

impl Arguments {
    pub(crate) fn new(rest: Map<String, Value>) -> Self {
        Self { rest, ..Self::default() }
    }

    /// Those of an object within, whose place is given with its dot.
    pub(crate) fn at(prefix: &str, rest: Map<String, Value>) -> Self {
        Self { prefix: prefix.to_owned(), rest, ..Self::default() }
    }

    /// What is not read yet.
    pub(crate) fn left(&self) -> &Map<String, Value> {
        &self.rest
    }

    /// Reads over what is known and not needed.
    pub(crate) fn forget(&mut self, names: &[&str]) {
        self.rest.retain(|name, _| !names.contains(&name.as_str()));
    }

    fn wrong<T>(&self, name: &str, expected: &str, found: &Value) -> Result<T, Problem> {
        let found = match found {
            Value::Null => "nothing".to_owned(),
            Value::Bool(it) => it.to_string(),
            Value::Number(it) => it.to_string(),
            Value::String(it) => format!("{:?}", it.chars().take(40).collect::<String>()),
            Value::Array(_) => "a list".to_owned(),
            Value::Object(_) => "an object".to_owned(),
        };
        Err(Problem::argument(
            &format!("{}{name}", self.prefix),
            format!("must be {expected}, but is {found}"),
        ))
    }

    /// Any JSON; a null counts as not given.
    pub(crate) fn any(&mut self, name: &'static str) -> Option<Value> {
        let value = self.rest.remove(name).filter(|it| !it.is_null())?;
        self.given.push(name);
        Some(value)
    }

    pub(crate) fn text(&mut self, name: &'static str) -> Result<Option<String>, Problem> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::String(it)) => Ok(Some(it)),
            Some(other) => self.wrong(name, "text", &other),
        }
    }

    /// Text that must be there and say something.
    pub(crate) fn required(&mut self, name: &'static str) -> Result<String, Problem> {
        match self.text(name)? {
            Some(it) if !it.trim().is_empty() => Ok(it),
            Some(_) => self.missing(name, "must not be empty"),
            None => self.missing(name, "is required"),
        }
    }

    pub(crate) fn missing<T>(&self, name: &str, problem: &str) -> Result<T, Problem> {
        Err(Problem::argument(&format!("{}{name}", self.prefix), problem))
    }

    pub(crate) fn flag(&mut self, name: &'static str) -> Result<Option<bool>, Problem> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::Bool(it)) => Ok(Some(it)),
            Some(other) => self.wrong(name, "true or false", &other),
        }
    }

    /// A whole number from 0 on.
    pub(crate) fn count(&mut self, name: &'static str) -> Result<Option<u64>, Problem> {
        match self.any(name) {
            None => Ok(None),
            Some(other) => match whole(&other) {
                Some(it) => Ok(Some(it)),
                None => self.wrong(name, "a whole number from 0 on", &other),
            },
        }
    }

    pub(crate) fn object(
        &mut self,
        name: &'static str,
    ) -> Result<Option<Map<String, Value>>, Problem> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::Object(it)) => Ok(Some(it)),
            Some(other) => self.wrong(name, "an object", &other),
        }
    }

    pub(crate) fn texts(&mut self, name: &'static str) -> Result<Option<Vec<String>>, Problem> {
        let Some(value) = self.any(name) else { return Ok(None) };
        let texts = value.as_array().and_then(|items| {
            items.iter().map(|it| it.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        });
        match texts {
            Some(it) => Ok(Some(it)),
            None => self.wrong(name, "a list of texts", &value),
        }
    }

    /// One of a few words.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        name: &'static str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, Problem> {
        let Some(value) = self.any(name) else { return Ok(None) };
        if let Some((_, it)) = words.iter().find(|(word, _)| value.as_str() == Some(word)) {
            return Ok(Some(*it));
        }
        let all: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        self.wrong(name, &format!("one of {}", all.join(", ")), &value)
    }

    /// One of a few words, which must be there.
    pub(crate) fn required_choice<T: Copy>(
        &mut self,
        name: &'static str,
        words: &[(&str, T)],
    ) -> Result<T, Problem> {
        if let Some(it) = self.choice(name, words)? {
            return Ok(it);
        }
        let all: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        self.missing(name, &format!("is required: one of {}", all.join(", ")))
    }

    /// Arguments within an argument; none if it is not given.
    pub(crate) fn within(&mut self, name: &'static str) -> Result<Self, Problem> {
        let rest = self.object(name)?.unwrap_or_default();
        Ok(Self { prefix: format!("{}{name}.", self.prefix), rest, ..Self::default() })
    }

    /// Takes note of what an inner object held that nobody knows.
    pub(crate) fn absorb(&mut self, inner: &Self) {
        self.unknown.extend(inner.unknown_names());
    }

    /// The names of those that were given and are known.
    pub(crate) fn given(&self) -> &[&'static str] {
        &self.given
    }

    /// The names of those that were given and nobody knows.
    pub(crate) fn unknown_names(&self) -> Vec<String> {
        let mine = self.rest.keys().map(|it| format!("{}{it}", self.prefix));
        mine.chain(self.unknown.iter().cloned()).collect()
    }

    /// What to tell about those that nobody knows.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let unknown = self.unknown_names();
        if unknown.is_empty() {
            return vec![];
        }
        let names: Vec<_> = unknown.iter().take(10).map(String::as_str).collect();
        vec![format!("Ignored unknown arguments: {}.", names.join(", "))]
    }
}

/// Some clients write whole numbers with a fraction of zero.
pub(crate) fn whole(value: &Value) -> Option<u64> {
    if let Some(it) = value.as_u64() {
        return Some(it);
    }
    let it = value.as_f64().filter(|it| it.fract() == 0.0 && (0.0..=9.0e15).contains(it))?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
    Some(it as u64)
}
