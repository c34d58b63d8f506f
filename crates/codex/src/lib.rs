//! Codex spoken: lines in, [`FromAgent`] out; [`ToAgent`] in, lines out.

use std::collections::BTreeMap;

use jiff::Timestamp;
use pilothouse_core::{AgentError, Attach, FromAgent, Spec, ToAgent};
use serde_json::Value;

/// Our name for a session on one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u64);

/// Who we say we are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// A short name without spaces.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// Its version.
    pub version: String,
}

/// What talking to Codex leads to.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// A line to write, without its end.
    Line(String),
    /// What Codex said to one session.
    Said(Tag, FromAgent),
    /// The handshake is over.
    Up {
        /// Codex's version, if it told.
        version: Option<String>,
    },
    /// What came of [`Peer::request`].
    Answered {
        /// The name that the request was given.
        id: u64,
        /// What Codex answered.
        result: Result<Value, AgentError>,
    },
    /// The connection is of no use: end the process.
    Broken {
        /// Why.
        cause: String,
    },
}

/// Our end of the conversation with one `codex app-server`.
#[derive(Debug)]
pub struct Peer {
    client: Client,
    process: String,
    threads: BTreeMap<Tag, String>,
}

impl Peer {
    /// An end that has said nothing yet. `process` is part of the names of asks.
    pub fn new(client: Client, process: String) -> Self {
        Self { client, process, threads: BTreeMap::new() }
    }

    /// The first words.
    pub fn hello(&mut self, now: Timestamp) -> Vec<Output> {
        let _ = (now, &self.client, &self.process);
        vec![]
    }

    /// Takes a line from Codex.
    pub fn receive(&mut self, now: Timestamp, line: &str) -> Vec<Output> {
        let _ = (now, line, &mut self.threads);
        vec![]
    }

    /// Brings a session to its thread.
    pub fn attach(&mut self, now: Timestamp, tag: Tag, how: &Attach, spec: &Spec) -> Vec<Output> {
        let _ = (now, tag, how, spec, &mut self.threads);
        vec![]
    }

    /// Puts something to Codex in its words.
    pub fn tell(&mut self, now: Timestamp, tag: Tag, message: ToAgent) -> Vec<Output> {
        let _ = (now, tag, message, &mut self.threads);
        vec![]
    }

    /// Lets a session's thread go, with all that runs for it.
    pub fn detach(&mut self, now: Timestamp, tag: Tag, forever: bool) -> Vec<Output> {
        let _ = (now, forever, self.threads.remove(&tag));
        vec![]
    }

    /// Sends a request as it is; [`Output::Answered`] follows, always.
    pub fn request(
        &mut self,
        now: Timestamp,
        tag: Option<Tag>,
        id: u64,
        method: &str,
        params: Value,
    ) -> Vec<Output> {
        let _ = (now, tag, id, method, params, &mut self.threads);
        vec![]
    }

    /// The process is gone.
    pub fn exited(&mut self, cause: &str) -> Vec<Output> {
        let gone = |&tag: &Tag| Output::Said(tag, FromAgent::Exited { cause: cause.to_owned() });
        self.threads.keys().map(gone).collect()
    }

    /// When to call [`Peer::on_tick`] next.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        None
    }

    /// Does what time has come for.
    pub fn on_tick(&mut self, now: Timestamp) -> Vec<Output> {
        let _ = (now, &mut self.threads);
        vec![]
    }

    /// The sessions that are here.
    pub fn tags(&self) -> impl Iterator<Item = Tag> + '_ {
        self.threads.keys().copied()
    }
}

/// The command inside of the shell that Codex wraps around it, for display.
pub fn shell_line(command: &str) -> Option<String> {
    command.strip_prefix("/bin/bash -lc ").map(ToOwned::to_owned)
}
