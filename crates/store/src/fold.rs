//! What an event changes in the read models, the same for every store.

use pilothouse_core::{
    AskId, AskView, Envelope, Event, Seq, Session, SessionId, SessionView, Settlement,
};

use crate::{Append, MAX_APPEND, MAX_SEARCH_TEXT, StoreError};

/// What an event does to the asks.
pub(crate) enum AskChange {
    /// One more.
    Raise(Box<AskView>),
    /// One less that waits.
    Settle(AskId, Settlement),
}

/// What an event does to the asks, if anything. The session's title is not part of it, because it
/// may change: whoever reads adds it.
pub(crate) fn ask_change(session: SessionId, envelope: &Envelope) -> Option<AskChange> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "most events are not about asks")]
    match &envelope.event {
        Event::AskRaised { ask } => {
            Some(AskChange::Raise(Box::new(AskView::pending(session, None, ask))))
        }
        Event::AskSettled { ask, how } => {
            Some(AskChange::Settle(*ask, Settlement { at: envelope.at, how: how.clone() }))
        }
        _ => None,
    }
}

/// The words that an event adds to what can be searched.
fn prompt(event: &Event) -> Option<&str> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "most events are not about prompts")]
    match event {
        // A prompt from the queue is known from when it was queued.
        Event::TurnRequested { prompt, queued: false, .. }
        | Event::PromptQueued { prompt, .. }
        | Event::Steered { prompt, .. } => Some(&prompt.text),
        _ => None,
    }
}

/// The prompts among events, as they are searched; nothing if there are none.
pub(crate) fn prompts(events: &[Envelope]) -> Option<String> {
    let texts: Vec<_> = events.iter().filter_map(|it| prompt(&it.event)).collect();
    (!texts.is_empty()).then(|| texts.join("\n").to_lowercase())
}

/// Adds prompts to those that are there, as far as there is room.
pub(crate) fn add_prompts(known: &mut String, more: &str) {
    let letters = known.chars().count();
    if letters < MAX_SEARCH_TEXT {
        known.push('\n');
        known.extend(more.chars().take(MAX_SEARCH_TEXT - letters));
    }
}

/// What can be searched beside prompts.
pub(crate) fn head_words(view: &SessionView) -> String {
    format!("{}\n{}", view.title.as_deref().unwrap_or_default(), view.cwd).to_lowercase()
}

/// How an event's JSON names a blob, up to its digest.
const BLOB: &str = "\"$blob\":\"";
/// Digits of a blob's digest.
const DIGEST_DIGITS: usize = 64;

/// The blobs that an event names, by its JSON. Inside a text the quotes would be escaped.
pub(crate) fn blob_names(json: &str) -> impl Iterator<Item = &str> {
    json.match_indices(BLOB).filter_map(|(at, name)| {
        let digest = json.get(at + name.len()..at + name.len() + DIGEST_DIGITS)?;
        digest.bytes().all(|it| it.is_ascii_hexdigit()).then_some(digest)
    })
}

/// Whether the numbers of the events follow on what the owner believes.
pub(crate) fn check_numbers(append: &Append) -> Result<(), StoreError> {
    if append.events.len() > MAX_APPEND {
        return Err(StoreError::TooMuch { what: "the number of events", limit: MAX_APPEND });
    }
    let mut last = append.expected;
    for envelope in &append.events {
        if envelope.seq != last.next() {
            let expected = Seq(envelope.seq.0.saturating_sub(1));
            return Err(StoreError::OutOfOrder { session: append.session, expected, actual: last });
        }
        last = envelope.seq;
    }
    Ok(())
}

/// What a session's log comes to, to compare with what was folded along the way.
#[derive(Default)]
pub(crate) struct Refold {
    /// The session.
    pub(crate) session: Session,
    /// Its asks, in the order in which they were raised.
    pub(crate) asks: Vec<AskView>,
    /// What is wrong with the log itself.
    pub(crate) problems: Vec<String>,
}

impl Refold {
    /// Goes on with the next event.
    pub(crate) fn apply(&mut self, session: SessionId, envelope: &Envelope) {
        let last = self.session.seq();
        if envelope.seq != last.next() {
            self.problems.push(format!("event {} follows event {}", envelope.seq.0, last.0));
        }
        match ask_change(session, envelope) {
            Some(AskChange::Raise(ask)) => self.asks.push(*ask),
            Some(AskChange::Settle(id, settlement)) => {
                if let Some(ask) = self.asks.iter_mut().rev().find(|it| it.ask() == id) {
                    ask.settle(settlement);
                }
            }
            None => {}
        }
        self.session.apply(envelope);
    }

    /// What is kept of the session but does not agree, one line each.
    pub(crate) fn compare(
        mut self,
        id: SessionId,
        view: Option<&SessionView>,
        mut asks: Vec<AskView>,
    ) -> Vec<String> {
        let mut res: Vec<_> = self.problems.iter().map(|it| format!("{id}: {it}")).collect();
        if self.session.view(id).as_ref() != view {
            res.push(format!("{id}: what is listed of the session is not what its log says"));
        }
        self.asks.sort_by_key(AskView::ask);
        asks.sort_by_key(AskView::ask);
        if self.asks != asks {
            res.push(format!("{id}: its requests are not what its log says"));
        }
        res
    }
}
