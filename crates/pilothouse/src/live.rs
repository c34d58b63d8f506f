//! The tails of what agents are saying right now, for those who look in rather than follow.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use pilothouse_core::{Event, SessionId, Stream};
use serde::Serialize;

/// Bytes of an item's stream that are kept.
const MAX_TAIL: usize = 64 * 1024;
/// Open items of a session that are kept.
const MAX_ITEMS: usize = 64;

/// The tail of an open item's stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveItem {
    /// The agent's name for the item.
    pub item_id: String,
    /// Which of its streams.
    pub kind: Stream,
    /// The end of what it said so far.
    pub text: String,
}

#[derive(Debug, Default)]
pub(crate) struct Live {
    tails: Mutex<BTreeMap<SessionId, VecDeque<LiveItem>>>,
}

impl Live {
    fn tails(&self) -> MutexGuard<'_, BTreeMap<SessionId, VecDeque<LiveItem>>> {
        self.tails.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, session: SessionId, item: &str, stream: Stream, text: &str) {
        let mut tails = self.tails();
        let items = tails.entry(session).or_default();
        let known = items.iter_mut().rev().find(|it| it.item_id == item && it.kind == stream);
        let tail = if let Some(tail) = known {
            tail
        } else {
            if items.len() >= MAX_ITEMS {
                items.pop_front();
            }
            let item_id = item.to_owned();
            items.push_back(LiveItem { item_id, kind: stream, text: String::new() });
            let Some(tail) = items.back_mut() else { return };
            tail
        };
        tail.text.push_str(text);
        // Cut in large strides, so that a long stream does not move its tail with each piece.
        if tail.text.len() > 2 * MAX_TAIL {
            let cut = tail.text.ceil_char_boundary(tail.text.len() - MAX_TAIL);
            tail.text.drain(..cut);
        }
    }

    /// Forgets what is on record by now.
    pub(crate) fn take_note(&self, session: SessionId, event: &Event) {
        match event {
            Event::ItemCompleted { item, .. } | Event::ItemAbandoned { item } => {
                if let Some(items) = self.tails().get_mut(&session) {
                    items.retain(|it| it.item_id != *item);
                }
            }
            Event::TurnEnded { .. } | Event::Detached { .. } | Event::Closed { .. } => {
                self.tails().remove(&session);
            }
            Event::Opened { .. }
            | Event::Attached { .. }
            | Event::TurnRequested { .. }
            | Event::PromptQueued { .. }
            | Event::Steered { .. }
            | Event::TurnStarted { .. }
            | Event::InterruptRequested { .. }
            | Event::ItemStarted { .. }
            | Event::AskRaised { .. }
            | Event::AskSettled { .. }
            | Event::AskNotShown { .. }
            | Event::AskEchoed { .. }
            | Event::CommandStarted { .. }
            | Event::CommandEnded { .. }
            | Event::Noted { .. }
            | Event::RequestRefused { .. }
            | Event::Managed { .. }
            | Event::AttachFailed { .. }
            | Event::Renamed { .. }
            | Event::Adopted { .. } => {}
        }
    }

    /// The open items of a session, at most so many bytes of each.
    pub(crate) fn of(&self, session: SessionId, limit: usize) -> Vec<LiveItem> {
        let tails = self.tails();
        let items = tails.get(&session).into_iter().flatten();
        items
            .map(|it| {
                let cut = it.text.len().saturating_sub(limit.min(MAX_TAIL));
                let text = it.text[it.text.ceil_char_boundary(cut)..].to_owned();
                LiveItem { text, ..it.clone() }
            })
            .collect()
    }
}
