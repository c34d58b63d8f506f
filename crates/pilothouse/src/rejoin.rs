//! What a session knows of the thread that it comes back to, read from its log.

use std::collections::BTreeMap;

use pilothouse_codex::{Missed, MissedTurn};
use pilothouse_core::{Envelope, Event, Progress, Seq, Session, SessionId, Turn};
use pilothouse_store::{MAX_PAGE, Store, StoreError};

/// Events that are read first, from the end of the log.
const FIRST_LOOK: u64 = 500;
/// By how much more is read each time that this was not enough.
const GROWTH: u64 = 8;

/// Nothing, if the session has no thread to come back to.
pub(crate) async fn missed(
    store: &dyn Store,
    id: SessionId,
    session: &Session,
) -> Result<Option<Missed>, StoreError> {
    let Some(thread) = session.thread() else { return Ok(None) };
    let turn = match session.turn() {
        Some(turn) => Some(missed_turn(store, id, session, turn).await?),
        None => None,
    };
    let last_turn = session.last_turn().and_then(|it| it.name.clone());
    Ok(Some(Missed { thread: thread.name.clone(), turn, last_turn }))
}

async fn missed_turn(
    store: &dyn Store,
    id: SessionId,
    session: &Session,
    turn: &Turn,
) -> Result<MissedTurn, StoreError> {
    let name = match &turn.progress {
        Progress::Started(name) => Some(name.clone()),
        Progress::Waiting | Progress::Told => None,
    };
    let asks = session.asks().values().filter(|it| it.is_of_agent() && it.turn == Some(turn.id));
    let mut res = MissedTurn {
        name,
        since: turn.requested_at.as_second(),
        asks: asks.map(|it| it.key.clone()).collect(),
        interrupted: turn.interrupted,
        ..MissedTurn::default()
    };
    let mut open = BTreeMap::new();
    for envelope in events_of(store, id, session.seq(), turn).await? {
        if let Event::ItemStarted { item, body, .. } = envelope.event {
            open.insert(item, body);
        } else if let Event::ItemCompleted { item, .. } = envelope.event {
            open.remove(&item);
            res.done.insert(item);
        }
    }
    res.open = open.into_iter().collect();
    Ok(res)
}

/// The log from where the turn was asked for, at least. A log may be long, and the turn is at its end.
async fn events_of(
    store: &dyn Store,
    id: SessionId,
    end: Seq,
    turn: &Turn,
) -> Result<Vec<Envelope>, StoreError> {
    let begins = |it: &Envelope| matches!(&it.event, Event::TurnRequested { turn: it, .. } if *it == turn.id);
    let mut look = FIRST_LOOK;
    loop {
        let mut after = Seq(end.0.saturating_sub(look));
        let is_all = after == Seq(0);
        let mut events = Vec::new();
        loop {
            let page = store.read(id, after, MAX_PAGE).await?;
            after = page.events.last().map_or(after, |it| it.seq);
            events.extend(page.events);
            if !page.more {
                break;
            }
        }
        if is_all || events.iter().any(begins) {
            return Ok(events);
        }
        look = look.saturating_mul(GROWTH);
    }
}
