//! What a broker is made of; no file is read here.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use pilothouse_codex::Dialect;
use pilothouse_store::Store;

use crate::{
    agent::{process::GuardCommand, tree::Ladder},
    rules::PolicySource,
};

/// How agents outlive the process that started them. Only for stores on this machine, with a guard,
/// and from Codex 0.153 on; others end with their broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keep {
    /// Where their records and sockets are, for this user alone; the same for all nodes of the store.
    pub folder: PathBuf,
    /// How long an agent is kept while no node holds it, not counting when the machine sleeps.
    pub keep_for: Duration,
}

/// How agents are found, started and ended.
#[derive(Debug, Clone)]
pub struct AgentConfig {
    /// The Codex to run, else the one on the path.
    pub binary: Option<PathBuf>,
    /// How Codex is spoken to, else as its version can best. What is wanted is never replaced.
    pub dialect: Option<Dialect>,
    /// Changes to the environment of every agent: set, or removed with nothing.
    pub env: BTreeMap<OsString, Option<OsString>>,
    /// What an agent is started under, so that nothing below it outlives this process.
    pub guard: Option<GuardCommand>,
    /// Whether agents outlive this process, and how.
    pub keep: Option<Keep>,
    /// How long each rung of the ladder is given when an agent is ended at leisure.
    pub ladder: Ladder,
    /// How long a process without sessions is kept.
    pub idle_process: Duration,
    /// How long a session without work keeps its agent.
    pub idle_session: Duration,
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            binary: None,
            dialect: None,
            env: BTreeMap::new(),
            guard: None,
            keep: None,
            ladder: Ladder::default(),
            idle_process: Duration::from_mins(1),
            idle_session: Duration::from_mins(30),
        }
    }
}

/// Everything that a broker needs.
#[derive(Debug)]
pub struct Config {
    /// Where sessions are kept.
    pub store: Arc<dyn Store>,
    /// The store's name among all stores of this machine, in the marks of agents. Two stores of
    /// one name would take each other's agents for what dead nodes left, and end them.
    pub store_name: String,
    /// What kind of program this is: `mcp`, `serve` and so on.
    pub program: String,
    /// How long closed sessions are kept, else for ever.
    pub retention: Option<Duration>,
    /// Agents.
    pub agent: AgentConfig,
    /// What is answered without a person: a [`Policy`](pilothouse_core::Policy), the
    /// [`Rules`](crate::rules::Rules) of a file, or a function that is asked each time.
    pub policy: PolicySource,
}

impl Config {
    /// A broker on a store, with defaults.
    pub fn new(store: Arc<dyn Store>, store_name: &str, program: &str) -> Self {
        Self {
            store,
            store_name: store_name.to_owned(),
            program: program.to_owned(),
            retention: None,
            agent: AgentConfig::default(),
            policy: PolicySource::default(),
        }
    }
}
