//! Messages of threads that we don't know yet: they come before the answer that names the thread.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{requests::after, wire::Incoming};

/// Most threads that we wait to learn of.
const MAX_THREADS: usize = 64;
/// Most messages kept for one of them.
const MAX_MESSAGES: usize = 512;
/// Most bytes kept for all of them.
const MAX_BYTES: usize = 16 << 20;
/// How long a thread may stay unknown: longer than one may take to begin.
const PATIENCE: SignedDuration = SignedDuration::from_secs(120);

/// What unknown threads said.
#[derive(Debug, Default)]
pub(crate) struct Strangers {
    threads: BTreeMap<String, Stranger>,
    n_bytes: usize,
}

#[derive(Debug)]
struct Stranger {
    until: Timestamp,
    messages: Vec<(usize, Incoming)>,
}

impl Strangers {
    /// Keeps a message. Gives it back if there is no room.
    pub(crate) fn keep(
        &mut self,
        now: Timestamp,
        thread: &str,
        message: Incoming,
        n_bytes: usize,
    ) -> Option<Incoming> {
        let is_new = !self.threads.contains_key(thread);
        if self.n_bytes.saturating_add(n_bytes) > MAX_BYTES
            || (is_new && self.threads.len() >= MAX_THREADS)
        {
            return Some(message);
        }
        let stranger = self
            .threads
            .entry(thread.to_owned())
            .or_insert_with(|| Stranger { until: after(now, PATIENCE), messages: vec![] });
        if stranger.messages.len() >= MAX_MESSAGES {
            return Some(message);
        }
        stranger.messages.push((n_bytes, message));
        self.n_bytes += n_bytes;
        None
    }

    /// What a thread said before it was known.
    pub(crate) fn take(&mut self, thread: &str) -> Vec<Incoming> {
        let messages = self.threads.remove(thread).map(|it| it.messages).unwrap_or_default();
        let n_bytes: usize = messages.iter().map(|(n, _)| n).sum();
        self.n_bytes = self.n_bytes.saturating_sub(n_bytes);
        messages.into_iter().map(|(_, it)| it).collect()
    }

    /// The ids of requests by threads that stayed unknown.
    pub(crate) fn give_up(&mut self, now: Timestamp) -> Vec<Value> {
        let late: Vec<_> = self
            .threads
            .iter()
            .filter(|(_, it)| it.until <= now)
            .map(|(it, _)| it.clone())
            .collect();
        late.iter().flat_map(|it| self.take(it)).filter_map(request_id).collect()
    }

    /// Forgets a request that is no longer wanted.
    pub(crate) fn settle(&mut self, thread: &str, request: &Value) {
        if let Some(stranger) = self.threads.get_mut(thread) {
            stranger.messages.retain(|(_, it)| match it {
                Incoming::Request { id, .. } => id != request,
                Incoming::Notification { .. } | Incoming::Response { .. } => true,
            });
        }
    }

    /// When to look again.
    pub(crate) fn next_deadline(&self) -> Option<Timestamp> {
        self.threads.values().map(|it| it.until).min()
    }
}

/// The id of a request; nothing for what needs no answer.
pub(crate) fn request_id(message: Incoming) -> Option<Value> {
    match message {
        Incoming::Request { id, .. } => Some(id),
        Incoming::Notification { .. } | Incoming::Response { .. } => None,
    }
}
