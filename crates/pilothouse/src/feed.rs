//! From a place on: what is stored, then what is new, without gap or repeat; deltas as they come.

use std::{collections::VecDeque, sync::Arc};

use pilothouse_core::Cursor;
use pilothouse_store::{FeedEntry, LiveDelta, Nudge};
use tokio::sync::broadcast;

use crate::{Error, broker::Shared};

/// Entries that are read at once.
const PAGE: usize = 200;

/// One thing that a feed brings.
#[derive(Debug, Clone, PartialEq)]
pub enum FeedItem {
    /// An event, with its place.
    Event(Box<FeedEntry>),
    /// A piece of an open item's stream; it has no place and does not come again.
    Delta(Arc<LiveDelta>),
    /// Everything up to here was told; what follows is new.
    Live(Cursor),
    /// Entries are gone: whoever follows must look at everything anew, and goes on from here.
    Reset(Cursor),
}

/// A reader of all sessions' events.
#[derive(Debug)]
pub struct Feed {
    shared: Arc<Shared>,
    nudges: broadcast::Receiver<Nudge>,
    cursor: Cursor,
    read: VecDeque<FeedEntry>,
    state: State,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    /// There may be more to read.
    Behind { announced: bool },
    /// All was read; a nudge says when there is more.
    CaughtUp,
}

impl Feed {
    pub(crate) async fn open(shared: Arc<Shared>, after: Option<Cursor>) -> Result<Self, Error> {
        // Before the first look, so that nothing falls between look and wait.
        let nudges = shared.store.subscribe();
        let head = shared.store.head().await?;
        // A place past the end is of another store, or of one that was set back.
        let cursor = after.filter(|it| *it <= head).unwrap_or(head);
        let state = State::Behind { announced: false };
        Ok(Self { shared, nudges, cursor, read: VecDeque::new(), state })
    }

    /// Where reading would go on.
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// What comes next. Cancel-safe: nothing is lost when it is dropped half-way.
    pub async fn next(&mut self) -> Result<FeedItem, Error> {
        loop {
            if let Some(entry) = self.read.pop_front() {
                self.cursor = entry.cursor;
                return Ok(FeedItem::Event(Box::new(entry)));
            }
            match self.state {
                State::Behind { announced } => {
                    let page = self.shared.store.feed(self.cursor, PAGE).await?;
                    if page.reset {
                        self.cursor = page.next;
                        return Ok(FeedItem::Reset(page.next));
                    }
                    let n_read = page.entries.len();
                    self.read = page.entries.into();
                    if !page.more {
                        self.state = State::CaughtUp;
                        if !announced && n_read == 0 {
                            return Ok(FeedItem::Live(self.cursor));
                        }
                        if !announced {
                            self.state = State::Behind { announced: false };
                        }
                    }
                }
                State::CaughtUp => match self.nudges.recv().await {
                    Ok(Nudge::Feed(_)) | Err(broadcast::error::RecvError::Lagged(_)) => {
                        self.state = State::Behind { announced: true };
                    }
                    Ok(Nudge::Delta(delta)) => return Ok(FeedItem::Delta(delta)),
                    Ok(Nudge::Inbox | Nudge::Secret(_) | Nudge::Concluded(_) | Nudge::Presence) => {
                    }
                    Err(broadcast::error::RecvError::Closed) => return Err(Error::Stopping),
                },
            }
        }
    }
}
