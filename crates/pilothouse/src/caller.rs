//! What a caller asks people itself: raised in its session, waited for, and read from the log.

use std::time::Duration;

use pilothouse_core::{
    Actor, AskRef, AskState, AskView, CallerRequest, Event, Intent, Seq, SessionId,
};
use pilothouse_store::MAX_PAGE;
use tokio::time::Instant;

use crate::{Broker, Error};

/// How many of a session's last events are looked at first for the ask that was just raised.
const FIRST_LOOK: u64 = 16;
/// How much further each look goes than the one before.
const NEXT_LOOK: u64 = 16;

impl Broker {
    /// Asks people something of the caller's own, and gives the ask's name, also if a rule answered
    /// it at once. What is asked again under a key that waits is not raised again: it is the same
    /// ask. Under the key of one that was settled another is raised.
    pub async fn raise(
        &self,
        session: SessionId,
        request: CallerRequest,
        by: &Actor,
    ) -> Result<AskRef, Error> {
        let key = request.key.clone();
        let seq = self.act(session, Intent::Ask { request: Box::new(request) }, by).await?;
        let mut look = FIRST_LOOK;
        loop {
            let after = Seq(seq.0.saturating_sub(look));
            if let Some(ask) = self.last_raised(session, after, seq, &key, by).await? {
                return Ok(ask);
            }
            if after == Seq(0) {
                return Err(Error::Elsewhere(
                    "the question is not in its session's log".to_owned(),
                ));
            }
            look = look.saturating_mul(NEXT_LOOK);
        }
    }

    /// Waits until an ask is settled, or for so long; gives it as it is then.
    pub async fn wait_settled(&self, ask: AskRef, limit: Duration) -> Result<AskView, Error> {
        let until = Instant::now() + limit;
        loop {
            // Before the ask, so that nothing falls between look and wait.
            let seen = self.session(ask.session).await?.last_seq;
            let view = self.ask(ask).await?;
            let left = until.saturating_duration_since(Instant::now());
            match view.state {
                AskState::Settled => return Ok(view),
                AskState::Pending if left.is_zero() => return Ok(view),
                AskState::Pending => drop(self.wait_past(ask.session, seen, left).await?),
            }
        }
    }

    /// The last ask of that key and caller among events of a session: the newest is the one that
    /// is meant, as there is no other while it waits.
    async fn last_raised(
        &self,
        session: SessionId,
        after: Seq,
        last: Seq,
        key: &str,
        by: &Actor,
    ) -> Result<Option<AskRef>, Error> {
        let (mut after, mut found) = (after, None);
        loop {
            let page = self.events(session, after, MAX_PAGE).await?;
            for envelope in &page.events {
                if envelope.seq > last {
                    return Ok(found);
                }
                if let Event::AskRaised { ask } = &envelope.event
                    && ask.key == key
                    && ask.asked_by.as_ref() == Some(by)
                {
                    found = Some(AskRef { session, ask: ask.id });
                }
                after = envelope.seq;
            }
            if !page.more || after >= last {
                return Ok(found);
            }
        }
    }
}
