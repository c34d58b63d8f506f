//! Recordings of conversations with a real Codex: one JSON object per line, both halves.
//!
//! A replay feeds what Codex said and compares what its client said, after [`Normaliser`] has
//! removed what differs between any two runs.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One conversation, or several processes one after the other.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The file's name without its ending.
    pub scenario: String,
    /// How it was made; the oldest recordings do not say.
    pub header: Option<Header>,
    lines: Vec<Line>,
}

/// The first line of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of Codex.
    pub version: String,
    /// What was recorded.
    pub scenario: String,
    /// The program that recorded it.
    pub recorder: String,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Who said it.
    pub dir: Direction,
    /// Milliseconds since the process was started.
    pub t: u64,
    /// The message; `{"_raw": "…"}` where it was not JSON.
    pub msg: Value,
}

/// Who said a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Codex, to its client.
    In,
    /// The client, to Codex.
    Out,
    /// The recorder, about a signal, an exit or the like.
    Note,
}

impl Recording {
    /// A recording that was just made.
    pub fn new(header: Header, lines: Vec<Line>) -> Self {
        Self { scenario: header.scenario.clone(), header: Some(header), lines }
    }

    /// Reads a file.
    pub fn load(path: &Path) -> anyhow::Result<Self> {
        let failed = || format!("Pilothouse could not read the recording {}", path.display());
        let scenario = path.file_stem().map(|it| it.to_string_lossy().into_owned());
        let mut header = None;
        let mut lines = Vec::new();
        for (position, text) in
            BufReader::new(File::open(path).with_context(failed)?).lines().enumerate()
        {
            let text = text.with_context(failed)?;
            let at_line = || format!("{}, line {}", failed(), position + 1);
            match serde_json::from_str::<Line>(&text) {
                Ok(line) => lines.push(line),
                Err(_) if position == 0 => {
                    header = Some(serde_json::from_str(&text).with_context(at_line)?);
                }
                Err(error) => return Err(error).with_context(at_line),
            }
        }
        Ok(Self { scenario: scenario.unwrap_or_default(), header, lines })
    }

    /// Writes a file.
    pub fn save(&self, path: &Path) -> anyhow::Result<()> {
        let mut text = Vec::new();
        if let Some(header) = &self.header {
            serde_json::to_writer(&mut text, header)?;
            writeln!(text)?;
        }
        for line in &self.lines {
            serde_json::to_writer(&mut text, line)?;
            writeln!(text)?;
        }
        std::fs::write(path, text)
            .with_context(|| format!("Pilothouse could not write {}", path.display()))
    }

    /// Everything, in order.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// What Codex said, in order: what a replay feeds.
    pub fn from_codex(&self) -> impl Iterator<Item = &Value> {
        self.said_by(Direction::In)
    }

    /// What the client said, in order: what a replay compares.
    pub fn from_client(&self) -> impl Iterator<Item = &Value> {
        self.said_by(Direction::Out)
    }

    fn said_by(&self, direction: Direction) -> impl Iterator<Item = &Value> {
        self.lines.iter().filter(move |it| it.dir == direction).map(|it| &it.msg)
    }

    /// Compares what a client of ours said with what was recorded, both normalised.
    pub fn compare_client(&self, said: &[Value]) -> anyhow::Result<()> {
        let (mut ours, mut theirs) = (Normaliser::default(), Normaliser::default());
        let recorded: Vec<Value> = self.from_client().map(|it| theirs.message(it)).collect();
        let said: Vec<Value> = said.iter().map(|it| ours.message(it)).collect();
        let length = recorded.len().max(said.len());
        for position in 0..length {
            let (recorded, said) = (recorded.get(position), said.get(position));
            if recorded != said {
                let text = |it: Option<&Value>| it.map_or("nothing".into(), Value::to_string);
                bail!(
                    "{}: message {} differs\n  recorded: {}\n  said:     {}",
                    self.scenario,
                    position + 1,
                    text(recorded),
                    text(said)
                );
            }
        }
        Ok(())
    }
}

/// The recordings of one dialect and version, such as `app-server-0.171.0`, by name.
pub fn all(folder: &str) -> anyhow::Result<Vec<Recording>> {
    files(folder)?.iter().map(|it| Recording::load(it)).collect()
}

/// One recording, such as `app-server-0.171.0` and `plain_turn`.
pub fn named(folder: &str, scenario: &str) -> anyhow::Result<Recording> {
    Recording::load(&fixtures().join(folder).join(format!("{scenario}.jsonl")))
}

/// The recordings whose client probed what no client of ours would do: a replay feeds what Codex
/// said, and has nothing to compare.
pub fn in_only() -> anyhow::Result<Vec<String>> {
    let path = fixtures().join("in-only.txt");
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("Pilothouse could not read {}", path.display()))?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// Where the recordings are.
pub fn fixtures() -> PathBuf {
    crate::workspace_root().join("fixtures")
}

fn files(folder: &str) -> anyhow::Result<Vec<PathBuf>> {
    let path = fixtures().join(folder);
    let entries = std::fs::read_dir(&path)
        .with_context(|| format!("Pilothouse could not read {}", path.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        files.push(entry?.path());
    }
    files.retain(|it| it.extension().is_some_and(|it| it == "jsonl"));
    files.sort();
    Ok(files)
}

/// The value without what differs between any two runs; see [`Normaliser`].
pub fn normalise(value: &Value) -> Value {
    Normaliser::default().message(value)
}

/// Removes what differs between any two runs: who the client is, ids, times, absent options.
///
/// Ids are named by order of appearance, so use one for the messages of one conversation.
#[derive(Clone, Debug, Default)]
pub struct Normaliser {
    uuids: BTreeMap<String, usize>,
    n_requests: u64,
}

impl Normaliser {
    /// Normalises the next message.
    pub fn message(&mut self, message: &Value) -> Value {
        let mut res = self.value(message);
        // A request's id is the sender's to choose; an answer's is the other side's.
        if let Some(fields) = res.as_object_mut()
            && fields.contains_key("id")
            && fields.contains_key("method")
        {
            self.n_requests += 1;
            fields.insert("id".into(), self.n_requests.into());
        }
        res
    }

    fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(values) => values.iter().map(|it| self.value(it)).collect(),
            Value::Object(fields) => Value::Object(self.fields(fields)),
        }
    }

    fn fields(&mut self, fields: &Map<String, Value>) -> Map<String, Value> {
        let mut res = Map::new();
        for (name, value) in fields {
            if value.is_null() || IGNORED.contains(&name.as_str()) {
                continue;
            }
            if name == "clientInfo" {
                res.insert(name.clone(), "client".into());
                continue;
            }
            res.insert(name.clone(), self.value(value));
        }
        res
    }

    /// Names the UUIDs in a text.
    fn text(&mut self, text: &str) -> String {
        let mut res = String::new();
        let mut rest = text;
        while let Some((position, uuid)) = first_uuid(rest) {
            let next = self.uuids.len() + 1;
            let number = *self.uuids.entry(uuid.to_owned()).or_insert(next);
            res.push_str(&rest[..position]);
            res.push_str("uuid:");
            res.push_str(&number.to_string());
            rest = &rest[position + uuid.len()..];
        }
        res.push_str(rest);
        res
    }
}

/// Members that say when, or what only one client sends.
const IGNORED: [&str; 8] = [
    "jsonrpc",
    "emittedAtMs",
    "startedAtMs",
    "completedAtMs",
    "startedAt",
    "completedAt",
    "durationMs",
    "clientUserMessageId",
];

/// The first UUID in a text, and where it begins.
fn first_uuid(text: &str) -> Option<(usize, &str)> {
    const LENGTH: usize = 36;
    let is_uuid = |it: &&[u8]| {
        it.iter().enumerate().all(|(position, byte)| match position {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
    };
    let position = text.as_bytes().windows(LENGTH).position(|it| is_uuid(&it))?;
    // All its bytes are ASCII, so both ends are character boundaries.
    Some((position, &text[position..position + LENGTH]))
}
