//! Requests of ours: how many may be under way, which wait, which come again, which took too long.

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{Tag, wire};

/// Most requests under way. Codex leaves requests unanswered when thousands are.
pub(crate) const MAX_IN_FLIGHT: usize = 32;
/// Most requests that may wait for their turn; more fail at once.
pub(crate) const MAX_WAITING: usize = 1_024;
/// How often a request is sent again when Codex says that it can't take it now.
pub(crate) const MAX_RETRIES: u32 = 6;
/// How long the first of these takes; each next takes twice as long.
pub(crate) const FIRST_RETRY: SignedDuration = SignedDuration::from_millis(250);
/// How long the handshake may take.
pub(crate) const INITIALIZE_TIMEOUT: SignedDuration = SignedDuration::from_secs(30);
/// How long a thread may take to be there: its MCP servers are started first.
pub(crate) const ATTACH_TIMEOUT: SignedDuration = SignedDuration::from_secs(90);
/// How long a turn may take to begin.
pub(crate) const TURN_START_TIMEOUT: SignedDuration = SignedDuration::from_secs(90);
/// How long anything else may take.
pub(crate) const REQUEST_TIMEOUT: SignedDuration = SignedDuration::from_secs(30);

/// What an answer will be the answer to. `seat` tells a tag's successive threads apart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Purpose {
    /// The handshake.
    Initialize,
    /// A session comes to its thread.
    Attach { tag: Tag, seat: u64 },
    /// A turn is to begin.
    StartTurn { tag: Tag, seat: u64 },
    /// A turn is to stop; what it runs is ended afterwards.
    Interrupt { thread: String },
    /// A thread that nobody wants any more goes, step by step.
    Leave { thread: String, step: LeaveStep },
    /// Something that a person or caller wants, of which only failure is told.
    Manage { tag: Tag, seat: u64 },
    /// A session that came back looks for what it missed.
    LookBack { tag: Tag, seat: u64 },
    /// Nobody waits for the answer.
    Quiet,
    /// Somebody outside waits for the answer.
    Raw(u64),
}

/// How far a thread is on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaveStep {
    /// Its turn was told to stop.
    Interrupted,
    /// Its commands were told to stop.
    Cleaned,
    /// We hear of it no more, and Codex puts it away.
    Unsubscribed,
}

/// A request of ours.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outgoing {
    pub(crate) purpose: Purpose,
    pub(crate) method: String,
    pub(crate) params: Value,
    pub(crate) n_retries: u32,
}

impl Outgoing {
    pub(crate) fn new(purpose: Purpose, method: &str, params: Value) -> Self {
        Self { purpose, method: method.to_owned(), params, n_retries: 0 }
    }

    pub(crate) fn timeout(&self) -> SignedDuration {
        match self.purpose {
            Purpose::Initialize => INITIALIZE_TIMEOUT,
            Purpose::Attach { .. } => ATTACH_TIMEOUT,
            Purpose::StartTurn { .. } => TURN_START_TIMEOUT,
            Purpose::Interrupt { .. }
            | Purpose::Leave { .. }
            | Purpose::Manage { .. }
            | Purpose::LookBack { .. }
            | Purpose::Quiet
            | Purpose::Raw(_) => REQUEST_TIMEOUT,
        }
    }

    /// Whether it goes out whatever else is under way: the handshake, and all that stops things
    /// or must be read before an answer that is on its way.
    fn is_urgent(&self) -> bool {
        match self.purpose {
            Purpose::Initialize
            | Purpose::Interrupt { .. }
            | Purpose::Leave { .. }
            | Purpose::Quiet => true,
            Purpose::Attach { .. }
            | Purpose::StartTurn { .. }
            | Purpose::Manage { .. }
            | Purpose::LookBack { .. }
            | Purpose::Raw(_) => false,
        }
    }
}

/// All requests of ours that have no answer yet.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    last_id: i64,
    open: bool,
    in_flight: BTreeMap<i64, (Timestamp, Outgoing)>,
    waiting: VecDeque<Outgoing>,
    resting: Vec<(Timestamp, Outgoing)>,
}

impl Requests {
    /// From now on more than the handshake may be sent.
    pub(crate) fn open(&mut self) {
        self.open = true;
    }

    /// Takes a request. Gives it back if too many wait.
    pub(crate) fn submit(
        &mut self,
        now: Timestamp,
        outgoing: Outgoing,
    ) -> Result<Option<String>, Outgoing> {
        let may_go = match outgoing.purpose {
            Purpose::Initialize => true,
            Purpose::Attach { .. }
            | Purpose::StartTurn { .. }
            | Purpose::Interrupt { .. }
            | Purpose::Leave { .. }
            | Purpose::Manage { .. }
            | Purpose::LookBack { .. }
            | Purpose::Quiet
            | Purpose::Raw(_) => {
                let free = self.in_flight.len() < MAX_IN_FLIGHT && self.waiting.is_empty();
                self.open && (free || outgoing.is_urgent())
            }
        };
        if may_go {
            return Ok(Some(self.send(now, outgoing)));
        }
        if self.waiting.len() >= MAX_WAITING {
            return Err(outgoing);
        }
        self.waiting.push_back(outgoing);
        Ok(None)
    }

    /// The lines of those whose turn has come.
    pub(crate) fn pump(&mut self, now: Timestamp) -> Vec<String> {
        let mut lines = Vec::new();
        while self.open
            && self.in_flight.len() < MAX_IN_FLIGHT
            && let Some(outgoing) = self.waiting.pop_front()
        {
            lines.push(self.send(now, outgoing));
        }
        lines
    }

    /// The request that an answer belongs to.
    pub(crate) fn take(&mut self, id: i64) -> Option<Outgoing> {
        self.in_flight.remove(&id).map(|(_, outgoing)| outgoing)
    }

    /// Has it sent again after a while. Gives it back if that was done often enough.
    pub(crate) fn retry(&mut self, now: Timestamp, mut outgoing: Outgoing) -> Option<Outgoing> {
        if outgoing.n_retries >= MAX_RETRIES {
            return Some(outgoing);
        }
        let at = after(now, FIRST_RETRY.saturating_mul(1 << outgoing.n_retries));
        outgoing.n_retries += 1;
        self.resting.push((at, outgoing));
        None
    }

    /// Those that took too long, after which those that rested are in line again.
    pub(crate) fn overdue(&mut self, now: Timestamp) -> Vec<Outgoing> {
        let (rested, resting) =
            std::mem::take(&mut self.resting).into_iter().partition(|(at, _)| *at <= now);
        self.resting = resting;
        // They have waited before, so they go first.
        for (_, outgoing) in Vec::into_iter(rested).rev() {
            self.waiting.push_front(outgoing);
        }
        let ids: Vec<_> =
            self.in_flight.iter().filter(|(_, (at, _))| *at <= now).map(|(id, _)| *id).collect();
        ids.into_iter().filter_map(|it| self.take(it)).collect()
    }

    /// When to look again.
    pub(crate) fn next_deadline(&self) -> Option<Timestamp> {
        let sent = self.in_flight.values().map(|(at, _)| *at);
        sent.chain(self.resting.iter().map(|(at, _)| *at)).min()
    }

    /// All of them: nothing will be answered any more.
    pub(crate) fn drain(&mut self) -> Vec<Outgoing> {
        self.open = false;
        let sent = std::mem::take(&mut self.in_flight).into_values().map(|(_, it)| it);
        let resting = std::mem::take(&mut self.resting).into_iter().map(|(_, it)| it);
        sent.chain(resting).chain(std::mem::take(&mut self.waiting)).collect()
    }

    fn send(&mut self, now: Timestamp, outgoing: Outgoing) -> String {
        self.last_id += 1;
        let line = wire::request(self.last_id, &outgoing.method, &outgoing.params);
        let deadline = after(now, outgoing.timeout());
        self.in_flight.insert(self.last_id, (deadline, outgoing));
        line
    }
}

pub(crate) fn after(now: Timestamp, duration: SignedDuration) -> Timestamp {
    now.checked_add(duration).unwrap_or(Timestamp::MAX)
}
