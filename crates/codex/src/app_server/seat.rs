//! A session's place on the connection: its thread, its turn, its sub-agents.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use pilothouse_core::{FromAgent, Spec, SubAgent};

use super::{
    gathered::Gathered,
    items::Items,
    params::{FirstTurn, Sandboxes},
    rejoin::Rejoin,
};

/// Most sub-agents of one session.
pub(crate) const MAX_SUB_AGENTS: usize = 256;

/// What is known of a session's thread.
#[derive(Debug)]
pub(crate) struct Seat {
    /// Tells a tag's successive threads apart.
    pub(crate) number: u64,
    /// Codex's name for the thread, once it is there.
    pub(crate) thread: Option<String>,
    /// The thread that it is about to resume.
    pub(crate) awaits: Option<String>,
    /// Where it works.
    pub(crate) cwd: String,
    /// What the next turn takes from the session.
    pub(crate) first: FirstTurn,
    /// The sandbox policies that it was seen to have.
    pub(crate) sandboxes: Sandboxes,
    /// The turn under way.
    pub(crate) turn: Option<String>,
    /// A turn was under way when the session came to the thread; its name is yet to be heard.
    pub(crate) is_joining: bool,
    /// The last turn that ended.
    pub(crate) last_turn: Option<String>,
    /// What the turn came to so far.
    pub(crate) gathered: Gathered,
    /// Its items and those of its sub-agents.
    pub(crate) items: Items,
    /// What is yet to be read, if the session came back to a thread that ran on.
    pub(crate) rejoin: Option<Box<Rejoin>>,
    /// Items of the turn that it came back to whose end was told.
    pub(crate) told: Option<BTreeSet<String>>,
    /// When what it waits for must have been asked, if it says that it waits and nothing was.
    pub(crate) unasked: Option<Timestamp>,
    /// Its sub-agents by their threads.
    pub(crate) children: BTreeMap<String, Child>,
}

/// A sub-agent.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) path: Option<String>,
    pub(crate) turn: Option<String>,
}

impl Seat {
    pub(crate) fn new(number: u64, awaits: Option<String>, spec: &Spec) -> Self {
        Self {
            number,
            thread: None,
            awaits,
            cwd: spec.cwd.clone(),
            first: FirstTurn::from(spec),
            sandboxes: Sandboxes::configured(&spec.config),
            turn: None,
            is_joining: false,
            last_turn: None,
            gathered: Gathered::default(),
            items: Items::default(),
            rejoin: None,
            told: None,
            unasked: None,
            children: BTreeMap::new(),
        }
    }

    /// The sub-agent that a thread belongs to.
    pub(crate) fn sub_agent(&self, thread: &str) -> Option<SubAgent> {
        let child = self.children.get(thread)?;
        Some(SubAgent { thread_id: thread.to_owned(), path: child.path.clone() })
    }

    /// Takes note that the turn has begun. Codex says so twice; it is told once. A review's turn
    /// is announced under a second name that nothing else uses.
    pub(crate) fn start_turn(&mut self, name: &str) -> Option<FromAgent> {
        if self.turn.is_some() || self.last_turn.as_deref() == Some(name) {
            return None;
        }
        self.is_joining = false;
        self.turn = Some(name.to_owned());
        self.gathered = Gathered::default();
        Some(FromAgent::TurnStarted { name: name.to_owned() })
    }

    /// Each of its threads with the turn that runs there.
    pub(crate) fn threads(&self) -> Vec<(String, Option<String>)> {
        let own = self.thread.clone().map(|it| (it, self.turn.clone()));
        let children = self.children.iter().map(|(thread, it)| (thread.clone(), it.turn.clone()));
        own.into_iter().chain(children).collect()
    }
}
