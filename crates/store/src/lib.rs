//! Durable logs of sessions, shared by several processes of one machine or of several.
//!
//! # The contract
//!
//! A store holds, for each session, a log of [`Envelope`]s and what is folded from it: the
//! [`SessionView`], the [`AskView`]s and now and then a snapshot of the [`Session`]. Beside the logs
//! it holds one feed of all events in one order, an inbox of intents for each node, who is present,
//! and blobs. Every implementation passes the `conformance` suite, which is this text as tests.
//!
//! **Nodes.** Each process that opens a store is a node with a name of its own, alive for as long as
//! the process is. A store knows without a clock whether a node of the same machine is alive, and
//! without having it on record ([`Store::is_alive`]).
//!
//! **Ownership.** [`Store::claim`] makes this node the owner of a session and gives the session's next
//! epoch. It is refused while another live node owns the session. [`Store::append`] is refused with
//! [`StoreError::Fenced`] unless its epoch is the session's current one, and with
//! [`StoreError::OutOfOrder`] unless `expected` is the session's last sequence number. So of two nodes
//! that both believe they own a session, one can write.
//!
//! **Durability.** When `append`, `post` or `put_blob` has returned, what was written survives the
//! loss of power. Several appends may share one sync. An append is all or nothing: events, feed,
//! views, asks and snapshot change together. What reached a file that has lost its name meanwhile is
//! not told as written: every later write is refused with [`StoreError::Unusable`].
//!
//! **Chain.** Each event is kept with a hash of itself and of everything before it in its session
//! ([`chain`]), made in the same append. [`Sqlite`] also signs the heads of what was decided, if it is
//! given a [`Signer`]. What was changed behind the store's back shows in [`Store::check`].
//!
//! **Order.** The feed's cursors rise strictly; whoever has read up to a cursor will never find a new
//! entry before it. Reading from a cursor and going on as [`Nudge::Feed`] comes misses nothing and
//! repeats nothing. A nudge is a hint: it may come too often, never too seldom while a subscriber
//! keeps up; one that lags must read again, which loses only deltas.
//!
//! **Deltas** ([`Store::publish`]) are live only. They reach the subscribers of every node that said
//! [`Store::set_interest`], as far as those keep up, and are never stored.
//!
//! # Implementations
//!
//! [`Memory`] for tests and for what needn't last; [`Sqlite`] for one machine, and the default.

pub mod chain;
#[cfg(feature = "conformance")]
pub mod conformance;
mod fold;
mod listing;
mod memory;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::{fmt, path::PathBuf, pin::Pin, sync::Arc};

use jiff::Timestamp;
use pilothouse_core::{
    Actor, AskRef, AskView, Cursor, Envelope, Intent, Refusal, Seq, Session, SessionId,
    SessionView, Status, Stream,
};
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;
use uuid::Uuid;

#[cfg(feature = "sqlite")]
pub use crate::sqlite::{Sqlite, SqliteConfig, audit};
pub use crate::{
    chain::{Bytes, Ed25519, Hash, Link, PublicKey, Role, SignedHead, Signer},
    memory::{Memory, MemoryWorld},
};

/// What every method of a store gives: its result, later.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Most events in one page of a log or of the feed.
pub const MAX_PAGE: usize = 1_000;
/// Most bytes of events in one page of a log, unless its first event alone is larger.
pub const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;
/// Most bytes of events in one page of the feed, likewise: each of many readers holds one.
pub const MAX_FEED_BYTES: usize = 256 * 1024;
/// Most events in one append.
pub const MAX_APPEND: usize = 10_000;
/// Largest blob.
pub const MAX_BLOB: usize = 64 * 1024 * 1024;
/// Most intents that may wait in a node's inbox.
pub const MAX_INBOX: usize = 10_000;
/// How many conclusions are remembered, the latest ones.
pub const MAX_CONCLUSIONS: usize = 10_000;
/// Most nudges that a subscriber may be behind before it is told that it lags.
pub const MAX_NUDGES: usize = 1_024;
/// Most letters of a session's prompts that can be searched.
pub const MAX_SEARCH_TEXT: usize = 64 * 1024;
/// Most lines that [`Store::check`] gives.
pub const MAX_FINDINGS: usize = 1_000;

/// How many deleted sessions are remembered by their last hash, the latest ones.
pub const MAX_DELETED: usize = 100_000;
/// Most bytes in the name of a shared key.
pub const MAX_KEY_NAME: usize = 64;
/// Most shared keys.
pub const MAX_KEYS: usize = 64;

/// A node's name: unique, minted when the process opens the store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(pub String);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A session's fencing number: it rises by one with each claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Epoch(pub u64);

/// Ownership of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// The number to append with.
    pub epoch: Epoch,
    /// The session's last event; 0 for a session that is new.
    pub last_seq: Seq,
}

/// Events to append, and what they change in the read models.
#[derive(Debug, Clone)]
pub struct Append {
    /// The session.
    pub session: SessionId,
    /// The claim's number.
    pub epoch: Epoch,
    /// The session's last event as the owner knows it.
    pub expected: Seq,
    /// The events; their numbers follow on `expected`.
    pub events: Vec<Envelope>,
    /// The session at a glance, after them.
    pub view: SessionView,
    /// The session itself, after them, now and then.
    pub snapshot: Option<Box<Session>>,
}

/// A page of one session's log.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The events, oldest first.
    pub events: Vec<Envelope>,
    /// There are more.
    pub more: bool,
}

/// An event in the feed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FeedEntry {
    /// Its place in the feed.
    pub cursor: Cursor,
    /// Its session.
    pub session_id: SessionId,
    /// The event with its place in its session's log.
    pub envelope: Envelope,
}

/// A page of the feed.
#[derive(Debug, Clone, PartialEq)]
pub struct FeedPage {
    /// The entries, oldest first.
    pub entries: Vec<FeedEntry>,
    /// Where to read on.
    pub next: Cursor,
    /// There are more.
    pub more: bool,
    /// Entries between the cursor that was given and `next` are gone, or the cursor is beyond the
    /// feed's end: what the caller knows must be read anew. Never so from the feed's beginning.
    pub reset: bool,
}

/// An intent on its way to the node that owns the session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Posted {
    /// Its name, minted by who posts it.
    pub id: Uuid,
    /// The session.
    pub session: SessionId,
    /// What is wanted.
    pub intent: Intent,
    /// Who wants it.
    pub by: Actor,
    /// It holds a secret: it may travel over the owner's socket and must not be stored.
    pub secret: bool,
}

/// What became of a posted intent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Conclusion {
    /// It was carried out; the session's last event then.
    Done(Seq),
    /// The rules said no.
    Refused(Refusal),
    /// The owner failed.
    Failed(String),
}

/// A piece of an open item's stream, on its way to those who watch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveDelta {
    /// The session.
    pub session_id: SessionId,
    /// The agent's name for the item.
    pub item_id: String,
    /// Which of the item's streams.
    pub kind: Stream,
    /// The piece.
    pub text: String,
}

/// A hint that there is something to read.
#[derive(Debug, Clone)]
pub enum Nudge {
    /// The feed has grown; so has the log of a session, if it is named.
    Feed(Option<SessionId>),
    /// An intent waits in this node's inbox.
    Inbox,
    /// A secret intent, which is nowhere stored.
    Secret(Arc<Posted>),
    /// An intent was concluded.
    Concluded(Uuid),
    /// Someone came or went.
    Presence,
    /// A piece of a stream.
    Delta(Arc<LiveDelta>),
}

/// What kind of program a node is, and what it can show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Presence {
    /// The program: `mcp`, `serve`, `run` and so on.
    pub program: String,
    /// How many surfaces are open on it that show asks to a person who may answer.
    pub human_surfaces: u32,
    /// Where a browser finds its console, without any secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub console: Option<String>,
}

/// A node as others see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeView {
    /// Its name.
    pub node: NodeId,
    /// Its process id, on its machine.
    pub pid: u32,
    /// Its process lives.
    pub alive: bool,
    /// What it is.
    pub presence: Presence,
}

/// Which sessions to list.
#[derive(Debug, Clone, Default)]
pub struct SessionFilter {
    /// Only those that this actor opened.
    pub opened_by: Option<Actor>,
    /// Only those in one of these states; empty means all.
    pub status: Vec<Status>,
    /// Only those whose title, prompts or directory contain these words.
    pub search: Option<String>,
}

/// Which asks to list.
#[derive(Debug, Clone, Default)]
pub struct AskFilter {
    /// Only those of this session.
    pub session: Option<SessionId>,
    /// Only those of sessions that this actor opened.
    pub opened_by: Option<Actor>,
    /// Only those that wait.
    pub pending: bool,
}

/// A page of a listing, newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// Where the next page begins, if there is one; opaque.
    pub next: Option<String>,
}

/// The store failed, or refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another live node owns the session.
    #[error("session {session} belongs to node {node}, which is alive")]
    Held {
        /// The session.
        session: SessionId,
        /// Its owner.
        node: NodeId,
    },
    /// No live node owns the session: whoever wants something of it may claim it.
    #[error("no live node owns session {0}")]
    NoOwner(SessionId),
    /// The session is open, and only a closed one may be deleted.
    #[error("session {0} is open; close it first")]
    Open(SessionId),
    /// Another node has claimed the session since, or this one gave it up.
    #[error("session {0} has another owner by now")]
    Fenced(SessionId),
    /// The log has grown otherwise than the owner believes.
    #[error("session {session} is at {actual:?}, not at {expected:?}")]
    OutOfOrder {
        /// The session.
        session: SessionId,
        /// What the owner believed.
        expected: Seq,
        /// What is so.
        actual: Seq,
    },
    /// No such session, ask or blob.
    #[error("{0} is not in the store")]
    NotFound(String),
    /// A limit of the store.
    #[error("{what} is over the limit of {limit}")]
    TooMuch {
        /// What.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// A cursor of a listing that this store did not give.
    #[error("{0:?} is not a cursor of this listing")]
    BadCursor(String),
    /// No space is left, or the file may not grow.
    #[error("the disk that holds {path} is full; free some space, nothing acknowledged was lost")]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be used.
    #[error("cannot use {path}: {problem}")]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        problem: String,
    },
    /// The engine failed.
    #[error("{doing} failed")]
    Engine {
        /// What was being done.
        doing: &'static str,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The store was closed while this was under way.
    #[error("the store is closed")]
    Shut,
}

/// See the crate's documentation for what every method promises.
pub trait Store: fmt::Debug + Send + Sync {
    /// This node's name.
    fn node(&self) -> &NodeId;

    /// Makes this node the owner of a session, which may be new.
    fn claim(&self, session: SessionId) -> Later<'_, Claim>;
    /// Gives a session up, if the epoch is still its current one. Its next owner gets another.
    fn release(&self, session: SessionId, epoch: Epoch) -> Later<'_, ()>;
    /// The node that owns a session, and whether it is alive.
    fn owner(&self, session: SessionId) -> Later<'_, Option<(NodeId, bool)>>;
    /// Appends events; gives their places in the feed.
    fn append(&self, append: Append) -> Later<'_, Vec<Cursor>>;

    /// What the session's log comes to: the hash of its last event, as [`chain`] defines it. Nothing
    /// for a session without events.
    fn chain(&self, session: SessionId) -> Later<'_, Option<Link>>;
    /// Events of one session after a place, at most `limit` and [`MAX_PAGE`].
    fn read(&self, session: SessionId, after: Seq, limit: usize) -> Later<'_, Page>;
    /// The session as it was at its last snapshot.
    fn snapshot(&self, session: SessionId) -> Later<'_, Option<Session>>;
    /// Events of all sessions after a place, at most `limit` and [`MAX_PAGE`].
    fn feed(&self, after: Cursor, limit: usize) -> Later<'_, FeedPage>;
    /// The feed's end.
    fn head(&self) -> Later<'_, Cursor>;
    /// Hints from now on. The bound is the implementation's; one that lags is told so.
    fn subscribe(&self) -> broadcast::Receiver<Nudge>;

    /// Sessions, the one that was active last first.
    fn sessions(
        &self,
        filter: SessionFilter,
        limit: usize,
        cursor: Option<String>,
    ) -> Later<'_, Listing<SessionView>>;
    /// One session at a glance, with its owner's name in `node`.
    fn session(&self, session: SessionId) -> Later<'_, Option<SessionView>>;
    /// Asks, the newest first.
    fn asks(
        &self,
        filter: AskFilter,
        limit: usize,
        cursor: Option<String>,
    ) -> Later<'_, Listing<AskView>>;
    /// One ask, whether it waits or not.
    fn ask(&self, ask: AskRef) -> Later<'_, Option<AskView>>;

    /// Puts an intent in the inbox of the session's owner; [`StoreError::NoOwner`] if none is alive.
    /// Posting the same id again changes nothing.
    fn post(&self, posted: Posted) -> Later<'_, ()>;
    /// The intents that wait for this node, oldest first. They stay until concluded.
    fn inbox(&self) -> Later<'_, Vec<Posted>>;
    /// Says what became of an intent, and takes it out of the inbox. The first conclusion stays.
    fn conclude(&self, id: Uuid, conclusion: Conclusion) -> Later<'_, ()>;
    /// What became of an intent, if it was concluded.
    fn conclusion(&self, id: Uuid) -> Later<'_, Option<Conclusion>>;

    /// Says what this node is and shows.
    fn set_presence(&self, presence: Presence) -> Later<'_, ()>;
    /// All nodes that are alive, and dead ones that still own sessions.
    fn nodes(&self) -> Later<'_, Vec<NodeView>>;
    /// Whether a node's process lives, also one that this store has never heard of: its file may be
    /// younger than the node. In doubt it does.
    fn is_alive(&self, node: NodeId) -> Later<'_, bool>;
    /// Whether deltas of other nodes should come here.
    fn set_interest(&self, interested: bool) -> Later<'_, ()>;
    /// Sends a piece of a stream to those who watch. Never waits.
    fn publish(&self, delta: LiveDelta);

    /// Keeps bytes, by their SHA-256 in hexadecimal.
    fn put_blob(&self, bytes: Vec<u8>) -> Later<'_, String>;
    /// Bytes that were kept.
    fn blob(&self, digest: String) -> Later<'_, Option<Vec<u8>>>;

    /// A random key of this name that all nodes of the store share, now and later: `fresh` if there was
    /// none yet, else what is kept. Refused with [`StoreError::TooMuch`] beyond [`MAX_KEY_NAME`] and
    /// [`MAX_KEYS`].
    fn key(&self, name: String, fresh: [u8; 32]) -> Later<'_, [u8; 32]>;

    /// Forgets a closed session altogether; refused with [`StoreError::Open`] otherwise.
    fn delete_session(&self, session: SessionId) -> Later<'_, ()>;
    /// Deletes the sessions that are closed and were last active before a time, with the blobs that no
    /// other session names, and whatever an earlier deletion left. Others may write meanwhile. Gives
    /// how many sessions. Without a time it only finishes what was begun.
    fn retire(&self, before: Option<Timestamp>) -> Later<'_, u64>;
    /// Copies everything to a new file while others go on.
    fn backup(&self, to: PathBuf) -> Later<'_, ()>;
    /// Compares what is folded with the logs; gives what does not agree, one line each.
    fn check(&self) -> Later<'_, Vec<String>>;
    /// Finishes what was begun and gives up this node's place and its sessions. Idempotent.
    fn close(&self) -> Later<'_, ()>;
}

/// Whether a shared key may be called so.
fn check_key_name(name: &str) -> Result<(), StoreError> {
    if name.len() > MAX_KEY_NAME {
        return Err(StoreError::TooMuch { what: "a key's name", limit: MAX_KEY_NAME });
    }
    Ok(())
}

/// A blob's name: its SHA-256 in hexadecimal.
fn digest(bytes: &[u8]) -> String {
    use fmt::Write as _;
    use sha2::{Digest as _, Sha256};

    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut res, it| {
        // Writing to a string cannot fail.
        write!(res, "{it:02x}").ok();
        res
    })
}
