//! What can be read of the shared state.

use pilothouse_core::{AskRef, AskState, AskView, Cursor, Seq, Session, SessionId, SessionView};

use super::world::{Row, State};
use crate::{
    AskFilter, FeedEntry, FeedPage, Link, Listing, MAX_FEED_BYTES, MAX_FINDINGS, MAX_PAGE_BYTES,
    NodeView, Page, SessionFilter, StoreError,
    fold::{self, Refold},
    listing::{self, SessionPlace},
};

impl State {
    pub(super) fn read(&self, session: SessionId, after: Seq, limit: usize) -> Page {
        let mut res = Page { events: vec![], more: false };
        let mut bytes = 0;
        let log = self.rows.get(&session).map_or(&[][..], |it| &it.log);
        for (envelope, length) in log.iter().filter(|(it, _)| it.seq > after) {
            bytes += length;
            if is_full(res.events.len(), limit, bytes, MAX_PAGE_BYTES) {
                res.more = true;
                break;
            }
            res.events.push(envelope.clone());
        }
        res
    }

    pub(super) fn snapshot(&self, session: SessionId) -> Option<Session> {
        self.rows.get(&session)?.snapshot.clone()
    }

    pub(super) fn head(&self) -> Cursor {
        Cursor(self.head)
    }

    pub(super) fn feed(&self, after: Cursor, limit: usize) -> FeedPage {
        if after.0 > self.head {
            return FeedPage { entries: vec![], next: self.head(), more: false, reset: true };
        }
        let mut res = FeedPage { entries: vec![], next: after, more: false, reset: false };
        let mut bytes = 0;
        for (pos, (session_id, seq)) in self.feed.range(after.0 + 1..) {
            let event = self.rows.get(session_id).and_then(|row| {
                let index = row.log.binary_search_by_key(seq, |(it, _)| it.seq).ok()?;
                row.log.get(index)
            });
            let Some((envelope, length)) = event else { continue };
            bytes += length;
            if is_full(res.entries.len(), limit, bytes, MAX_FEED_BYTES) {
                res.more = true;
                break;
            }
            res.next = Cursor(*pos);
            res.entries.push(FeedEntry {
                cursor: res.next,
                session_id: *session_id,
                envelope: envelope.clone(),
            });
        }
        if !res.more {
            // Places at the end may belong to sessions that were deleted.
            res.next = self.head();
        }
        let passed = after.0 + 1..res.next.0 + 1;
        res.reset = after.0 > 0 && self.forgotten.range(passed).next().is_some();
        res
    }

    pub(super) fn sessions(
        &self,
        filter: &SessionFilter,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Listing<SessionView>, StoreError> {
        let before = cursor.map(SessionPlace::read).transpose()?;
        let words = listing::words(filter.search.as_deref());
        let mut rows: Vec<_> = self
            .rows
            .iter()
            .filter_map(|(id, row)| Some((*id, row, row.view.as_ref()?)))
            .filter(|(_, row, view)| {
                let text = format!("{}\n{}", fold::head_words(view), row.prompts);
                filter.opened_by.as_ref().is_none_or(|it| view.opened_by == *it)
                    && (filter.status.is_empty() || filter.status.contains(&view.status))
                    && words.iter().all(|it| text.contains(it))
            })
            .map(|(id, row, view)| (Self::place(id, view), shown(row, view)))
            .filter(|(place, _)| before.is_none_or(|it| *place < it))
            .collect();
        rows.sort_by_key(|it| std::cmp::Reverse(it.0));
        let limit = listing::page(limit);
        let next = (rows.len() > limit).then(|| rows[limit - 1].0.write());
        Ok(Listing { rows: rows.into_iter().take(limit).map(|it| it.1).collect(), next })
    }

    pub(super) fn session(&self, session: SessionId) -> Option<SessionView> {
        let row = self.rows.get(&session)?;
        Some(shown(row, row.view.as_ref()?))
    }

    pub(super) fn asks(
        &self,
        filter: &AskFilter,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Listing<AskView>, StoreError> {
        let before = cursor.map(listing::read_ask_place).transpose()?;
        let mut rows: Vec<_> = self
            .rows
            .iter()
            .filter(|(id, _)| filter.session.is_none_or(|it| it == **id))
            .filter_map(|(_, row)| Some((row, row.view.as_ref()?)))
            .filter(|(_, view)| filter.opened_by.as_ref().is_none_or(|it| view.opened_by == *it))
            .flat_map(|(row, view)| {
                row.asks.values().map(move |(pos, ask)| (*pos, titled(view, ask)))
            })
            .filter(|(pos, ask)| {
                before.is_none_or(|it| *pos < it)
                    && (!filter.pending || ask.state == AskState::Pending)
            })
            .collect();
        rows.sort_by_key(|it| std::cmp::Reverse(it.0));
        let limit = listing::page(limit);
        let next = (rows.len() > limit).then(|| listing::write_ask_place(rows[limit - 1].0));
        Ok(Listing { rows: rows.into_iter().take(limit).map(|it| it.1).collect(), next })
    }

    pub(super) fn ask(&self, ask: AskRef) -> Option<AskView> {
        let row = self.rows.get(&ask.session)?;
        let (_, view) = row.asks.get(&ask.ask)?;
        Some(titled(row.view.as_ref()?, view))
    }

    pub(super) fn nodes(&self) -> Vec<NodeView> {
        let view = |(id, node): (&crate::NodeId, &super::Node)| NodeView {
            node: id.clone(),
            pid: node.pid,
            alive: node.nudges.is_some(),
            presence: node.presence.clone(),
        };
        self.nodes.iter().map(view).collect()
    }

    pub(super) fn check(&self) -> Vec<String> {
        let mut res = vec![];
        for (id, row) in &self.rows {
            let mut refold = Refold::default();
            let mut link = Link::genesis(*id);
            for ((envelope, _), kept) in row.log.iter().zip(&row.chain) {
                link = link.next(&serde_json::to_string(envelope).unwrap_or_default());
                if link != *kept {
                    res.push(format!("{id}, event {}: it is not what was recorded", kept.seq.0));
                }
                refold.apply(*id, envelope);
                let snapshot = row.snapshot.as_ref().filter(|it| it.seq() == envelope.seq);
                if snapshot.is_some_and(|it| *it != refold.session) {
                    res.push(format!("{id}: its snapshot is not what its log says"));
                }
            }
            let asks = row.asks.values().map(|it| it.1.clone()).collect();
            res.extend(refold.compare(*id, row.view.as_ref(), asks));
        }
        res.truncate(MAX_FINDINGS);
        res
    }
}

/// Whether a page can't take the event that would bring it to so many bytes.
fn is_full(events: usize, limit: usize, bytes: usize, most: usize) -> bool {
    events >= listing::page(limit) || (events > 0 && bytes > most)
}

fn shown(row: &Row, view: &SessionView) -> SessionView {
    SessionView { node: row.owner.as_ref().map(ToString::to_string), ..view.clone() }
}

fn titled(session: &SessionView, ask: &AskView) -> AskView {
    AskView { session_title: session.title.clone(), ..ask.clone() }
}
