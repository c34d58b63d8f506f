//! What each reader of a session has been told, so that nothing is told twice or skipped.

use std::collections::{BTreeMap, BTreeSet};

use pilothouse_core::{AskId, Patience, SessionId, SessionView, Status};

/// Most readers that are remembered; those of the oldest sessions go first, and begin anew.
const MAX_READERS: usize = 10_000;

/// What one reader has been told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    /// The first event that it was not told.
    pub(crate) next: u64,
    /// The last turn whose result it was told.
    pub(crate) result: u32,
    /// The pending asks that it was told of.
    pub(crate) asks: BTreeSet<AskId>,
    /// The status that it was told last.
    pub(crate) status: Option<Status>,
}

/// What all readers of this caller have been told, and what it started.
#[derive(Debug, Default)]
pub(crate) struct Readers {
    seen: BTreeMap<(SessionId, Option<String>), Seen>,
    started: BTreeMap<SessionId, Started>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Started {
    patience: Patience,
    wants_json: bool,
}

impl Readers {
    pub(crate) fn seen(&self, session: SessionId, reader: Option<&str>) -> Seen {
        self.seen.get(&(session, reader.map(str::to_owned))).cloned().unwrap_or_default()
    }

    pub(crate) fn next(&self, session: SessionId, reader: Option<&str>) -> u64 {
        self.seen(session, reader).next
    }

    /// Takes note of what a reader was told; whatever is nothing was not asked for.
    pub(crate) fn told(
        &mut self,
        session: SessionId,
        reader: Option<&str>,
        next: Option<u64>,
        asks: Option<BTreeSet<AskId>>,
        result: Option<u32>,
        view: &SessionView,
    ) {
        let seen = self.seen.entry((session, reader.map(str::to_owned))).or_default();
        if seen.status.is_none() {
            // What was over before it came is not news to it.
            seen.result = view.turns.saturating_sub(1);
        }
        seen.next = seen.next.max(next.unwrap_or_default());
        seen.result = seen.result.max(result.unwrap_or_default());
        if let Some(asks) = asks {
            seen.asks = asks;
        }
        seen.status = Some(view.status);
        if self.seen.len() > MAX_READERS {
            self.seen.pop_first();
        }
    }

    /// Takes note of a session that this caller started.
    pub(crate) fn started(&mut self, session: SessionId, patience: Patience, wants_json: bool) {
        self.started.insert(session, Started { patience, wants_json });
        if self.started.len() > MAX_READERS {
            self.started.pop_first();
        }
    }

    /// Takes note of a new turn: what came before it is past, and whether its result is to be JSON.
    pub(crate) fn replied(&mut self, session: SessionId, past: u32, wants_json: bool) {
        if let Some(seen) = self.seen.get_mut(&(session, None)) {
            seen.result = seen.result.max(past);
        }
        self.started.entry(session).or_default().wants_json = wants_json;
    }

    pub(crate) fn wants_json(&self, session: SessionId) -> bool {
        self.started.get(&session).is_some_and(|it| it.wants_json)
    }

    /// How long an ask of this session waits at least.
    pub(crate) fn patience_ms(&self, session: SessionId) -> u64 {
        let patience = self.started.get(&session).map(|it| it.patience).unwrap_or_default();
        let limit = patience.limit_ms(false).unwrap_or(Patience::UNATTENDED_MS);
        limit.min(Patience::UNATTENDED_MS)
    }
}
