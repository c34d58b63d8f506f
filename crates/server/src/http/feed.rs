//! The feed as server-sent events: what is recorded, with its place, and deltas as they come.

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use axum::{
    Extension,
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt as _, stream};
use pilothouse::{Feed, FeedItem};
use pilothouse_core::{Actor, Cursor, Event, Seq, SessionId};
use pilothouse_store::Presence;
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::{
    Front, Visitor,
    body::{Asked, parse},
    port::connections_at_once,
    problem::{Doing, Problem},
};

/// Silence after which a comment is sent, so that a dead line is found out.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How long a reader may take nothing before it is dropped; it resumes from its cursor.
const STALLED: Duration = Duration::from_secs(10);
/// Pieces that wait for a reader, beside what its connection holds.
const MAX_WAITING: usize = 64;
/// Their bytes, unless one alone is larger.
const MAX_WAITING_BYTES: u32 = 128 * 1024;
/// Sessions of which a caller's feed remembers whose they are.
const MAX_KNOWN: usize = 10_000;
/// The comment that is sent then.
const SILENCE: &str = ": keep-alive\n\n";
/// What a reader should wait before it comes again.
const HELLO: &str = "retry: 1000\n: pilothouse\n\n";

/// Who reads.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    all: AtomicU32,
    humans: AtomicU32,
    /// One at a time tells the store, so that what it heard last is how it is.
    telling: tokio::sync::Mutex<()>,
}

impl Watchers {
    pub(super) fn count(&self) -> u32 {
        self.all.load(Ordering::SeqCst)
    }
}

/// A reader's place among the [`Watchers`]; to drop it is to give it up.
struct Seat {
    front: Arc<Front>,
    human: bool,
}

impl Seat {
    fn take(front: &Arc<Front>, human: bool) -> Option<Self> {
        let watchers = &front.watchers;
        // The other half of the connections is for requests.
        let most = u32::try_from(connections_at_once() / 2).unwrap_or(u32::MAX);
        let room = |it: u32| (it < most).then_some(it + 1);
        watchers.all.fetch_update(Ordering::SeqCst, Ordering::SeqCst, room).ok()?;
        watchers.humans.fetch_add(u32::from(human), Ordering::SeqCst);
        Some(Self { front: Arc::clone(front), human })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.front.watchers.all.fetch_sub(1, Ordering::SeqCst);
        self.front.watchers.humans.fetch_sub(u32::from(self.human), Ordering::SeqCst);
    }
}

impl Front {
    /// Tells other nodes where the console is, how many people look at it, and whether anybody
    /// wants their deltas.
    pub(super) async fn announce(&self) -> Result<(), pilothouse::Error> {
        let _one_at_a_time = self.watchers.telling.lock().await;
        let presence = Presence {
            program: "serve".to_owned(),
            human_surfaces: self.watchers.humans.load(Ordering::SeqCst),
            console: Some(self.console.clone()),
        };
        self.broker.set_presence(presence).await?;
        self.broker.set_interest(self.watchers.count() > 0).await
    }
}

#[derive(Deserialize)]
pub(super) struct FollowQuery {
    after: Option<String>,
}

pub(super) async fn follow(
    State(front): State<Arc<Front>>,
    Extension(visitor): Extension<Visitor>,
    Asked(FollowQuery { after }): Asked<FollowQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    const DOING: &str = "follow the feed";
    let last = headers.get("last-event-id").map(|it| it.to_str().unwrap_or("?"));
    let after = match (last.filter(|it| !it.is_empty()), after.filter(|it| !it.is_empty())) {
        (Some(last), _) => Some(parse::<Cursor>("Last-Event-ID", last)?),
        (None, Some(after)) => Some(parse::<Cursor>("after", &after)?),
        (None, None) => None,
    };
    let seat = Seat::take(&front, visitor.is_human()).ok_or_else(|| {
        let detail = "open one more feed: there are too many; close one";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "WRITE_QUEUE_DROPPED", detail)
    })?;
    // An ask that is raised from now on must know that somebody is here.
    front.announce().await.doing(DOING)?;
    let feed = front.broker.feed(after).await.doing(DOING)?;
    let (outlet, rx) = Outlet::new();
    let filter = Filter { front: Arc::clone(&front), visitor, known: HashMap::new() };
    let tracked = Arc::clone(&front);
    tracked.tasks.spawn(async move {
        pump(&front, feed, filter, outlet).await;
        drop(seat);
        if let Err(error) = front.announce().await {
            tracing::debug!(%error, "could not say that a reader has gone");
        }
    });
    let kind = [(header::CONTENT_TYPE, "text/event-stream")];
    Ok((kind, Body::from_stream(text(rx))).into_response())
}

/// Text on its way to a reader, and the room that it takes until the reader has it.
struct Piece {
    text: String,
    room: OwnedSemaphorePermit,
}

/// The way to a reader, in which so much fits.
struct Outlet {
    tx: mpsc::Sender<Piece>,
    room: Arc<Semaphore>,
}

impl Outlet {
    fn new() -> (Self, mpsc::Receiver<Piece>) {
        let (tx, rx) = mpsc::channel(MAX_WAITING);
        (Self { tx, room: Arc::new(Semaphore::new(MAX_WAITING_BYTES as usize)) }, rx)
    }

    /// Nothing, if the reader has gone.
    async fn send(&self, text: String) -> Option<()> {
        let bytes = u32::try_from(text.len()).unwrap_or(u32::MAX).min(MAX_WAITING_BYTES);
        let room = Arc::clone(&self.room).acquire_many_owned(bytes).await.ok()?;
        self.tx.send(Piece { text, room }).await.ok()
    }
}

enum Happening {
    Item(Result<FeedItem, pilothouse::Error>),
    Silence,
    Over,
}

/// Reads the feed for one reader until either has enough.
async fn pump(front: &Front, mut feed: Feed, mut filter: Filter, outlet: Outlet) {
    let mut silent_since = tokio::time::Instant::now();
    loop {
        let happening = tokio::select! {
            item = feed.next() => Happening::Item(item),
            () = tokio::time::sleep_until(silent_since + KEEP_ALIVE) => Happening::Silence,
            () = outlet.tx.closed() => Happening::Over,
            () = front.leaving.cancelled() => Happening::Over,
        };
        let text = match happening {
            Happening::Item(Ok(item)) if filter.shows(&item).await => write(&item),
            Happening::Item(Ok(_)) => continue,
            Happening::Silence => SILENCE.to_owned(),
            Happening::Over | Happening::Item(Err(pilothouse::Error::Stopping)) => return,
            Happening::Item(Err(error)) => {
                tracing::warn!(%error, "a feed ended early");
                return;
            }
        };
        silent_since = tokio::time::Instant::now();
        match tokio::time::timeout(STALLED, outlet.send(text)).await {
            Ok(Some(())) => {}
            Ok(None) => return,
            Err(_) => {
                tracing::info!("dropped a reader of the feed that takes nothing");
                return;
            }
        }
    }
}

/// What a caller may see: its own sessions. People see all.
struct Filter {
    front: Arc<Front>,
    visitor: Visitor,
    known: HashMap<SessionId, bool>,
}

impl Filter {
    async fn shows(&mut self, item: &FeedItem) -> bool {
        if self.visitor.is_human() {
            return true;
        }
        match item {
            FeedItem::Event(entry) => {
                let session = entry.session_id;
                if let Event::Opened { by, .. } = &entry.envelope.event {
                    self.remember(session, *by == self.visitor.actor);
                }
                if let Event::Adopted { caller, .. } = &entry.envelope.event {
                    // Who had it so far hears that it is gone, and nothing after.
                    let had = self.known.get(&session).copied().unwrap_or_default();
                    let has = self.visitor.actor == Actor::Caller { id: caller.clone() };
                    self.remember(session, has);
                    return had || has;
                }
                self.is_own(session).await
            }
            FeedItem::Delta(delta) => self.is_own(delta.session_id).await,
            FeedItem::Live(_) | FeedItem::Reset(_) => true,
        }
    }

    async fn is_own(&mut self, session: SessionId) -> bool {
        if let Some(own) = self.known.get(&session) {
            return *own;
        }
        match self.front.broker.session(session).await {
            Ok(view) => {
                let own = view.opened_by == self.visitor.actor;
                self.remember(session, own);
                own
            }
            // A session that is gone, or not to be seen now, is nobody's.
            Err(_) => false,
        }
    }

    fn remember(&mut self, session: SessionId, own: bool) {
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        self.known.insert(session, own);
    }
}

/// Everything that waits goes at once: at high rates the number of writes is what costs.
fn text(rx: mpsc::Receiver<Piece>) -> impl stream::Stream<Item = Result<String, Infallible>> {
    let hello = stream::iter([Ok(HELLO.to_owned())]);
    let pieces = stream::unfold((rx, vec![]), |(mut rx, sent)| async move {
        // More is asked for, so what was given is on its way: its room is free again.
        drop::<Vec<OwnedSemaphorePermit>>(sent);
        let mut waiting = Vec::with_capacity(MAX_WAITING);
        if rx.recv_many(&mut waiting, MAX_WAITING).await == 0 {
            return None;
        }
        let (texts, sent): (Vec<_>, _) = waiting.into_iter().map(|it| (it.text, it.room)).unzip();
        Some((Ok(texts.concat()), (rx, sent)))
    });
    hello.chain(pieces)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EventData<'a> {
    cursor: Cursor,
    session_id: SessionId,
    seq: Seq,
    at: jiff::Timestamp,
    event: &'a Event,
}

#[derive(Serialize)]
struct Place {
    cursor: Cursor,
}

/// An item as the stream has it.
fn write(item: &FeedItem) -> String {
    match item {
        FeedItem::Event(entry) => {
            let data = EventData {
                cursor: entry.cursor,
                session_id: entry.session_id,
                seq: entry.envelope.seq,
                at: entry.envelope.at,
                event: &entry.envelope.event,
            };
            write_event("event", Some(entry.cursor), &data)
        }
        FeedItem::Delta(delta) => write_event("delta", None, &**delta),
        FeedItem::Live(cursor) => write_event("live", Some(*cursor), &Place { cursor: *cursor }),
        FeedItem::Reset(cursor) => write_event("reset", Some(*cursor), &Place { cursor: *cursor }),
    }
}

/// JSON as we write it has no line feed, so the data is one line.
fn write_event(name: &str, id: Option<Cursor>, data: &impl Serialize) -> String {
    let data = match serde_json::to_string(data) {
        Ok(data) => data,
        Err(error) => {
            tracing::error!(%error, "could not write an event");
            return String::new();
        }
    };
    let id = id.map(|it| format!("id: {it}\n")).unwrap_or_default();
    format!("{id}event: {name}\ndata: {data}\n\n")
}
