//! Threads that say that they wait for a person, and have asked nothing.
//!
//! A request that got lost on its way would leave the turn waiting in silence; the note says so.

use jiff::{SignedDuration, Timestamp};
use pilothouse_core::FromAgent;
use serde_json::{Value, json};

use super::{Output, Tag, peer::Peer};

/// How long a request may come after the word that something waits for it, in seconds.
const ASKED_WITHIN_S: i64 = 10;
/// What the note is called in the log.
const NOTE: &str = "pilothouse/waitsWithoutRequest";
/// What a thread says while it waits for a person.
const FLAGS: [&str; 2] = ["waitingOnApproval", "waitingOnUserInput"];

impl Peer {
    /// Takes note of whether a thread waits for a person.
    pub(super) fn hear_status(&mut self, now: Timestamp, tag: Tag, status: Option<&Value>) {
        let flags = status.and_then(|it| it.get("activeFlags")).and_then(Value::as_array);
        let waits = flags.into_iter().flatten().filter_map(Value::as_str);
        let waits = waits.into_iter().any(|it| FLAGS.contains(&it));
        let limit = now.checked_add(SignedDuration::from_secs(ASKED_WITHIN_S)).ok();
        if let Some(seat) = self.seats.get_mut(&tag) {
            seat.unasked = if waits { seat.unasked.or(limit) } else { None };
        }
    }

    /// Until when what the threads wait for must have been asked.
    pub(super) fn unasked_until(&self) -> Option<Timestamp> {
        let seats = self.seats.iter().filter(|(tag, _)| !self.has_asked(**tag));
        seats.filter_map(|(_, it)| it.unasked).min()
    }

    /// Says of each thread once that it waits and has asked nothing.
    pub(super) fn note_unasked(&mut self, now: Timestamp) -> Vec<Output> {
        let due = self.seats.iter().filter(|(_, it)| it.unasked.is_some_and(|it| it <= now));
        let silent: Vec<_> = due.map(|(tag, _)| *tag).filter(|it| !self.has_asked(*it)).collect();
        let notes = silent.into_iter().map(|tag| {
            if let Some(seat) = self.seats.get_mut(&tag) {
                seat.unasked = None;
            }
            let message = format!(
                "Codex says that it waits for a person, but has asked nothing for {ASKED_WITHIN_S} \
                 s; interrupt the turn and send the prompt again"
            );
            let body = json!({ "message": message });
            Output::Said(tag, FromAgent::Notes { method: NOTE.to_owned(), body })
        });
        notes.collect()
    }

    fn has_asked(&self, tag: Tag) -> bool {
        self.asks.values().any(|it| it.tag == tag)
    }
}
