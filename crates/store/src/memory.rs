//! A store without a disk: for tests, for the simulator, and for sessions that needn't last.

use std::{
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;
use pilothouse_core::{AskRef, AskView, Cursor, Seq, Session, SessionId, SessionView};
use tokio::sync::broadcast;
use uuid::Uuid;

use self::world::{Node, State};
use crate::{
    Append, AskFilter, Claim, Conclusion, Epoch, FeedPage, Later, Link, Listing, LiveDelta,
    MAX_BLOB, MAX_NUDGES, NodeId, NodeView, Nudge, Page, Posted, Presence, SessionFilter, Store,
    StoreError,
};

mod reads;
mod world;

/// What several [`Memory`] nodes share. It is gone with the last of them.
#[derive(Default)]
pub struct MemoryWorld {
    state: Mutex<State>,
}

impl fmt::Debug for MemoryWorld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryWorld").field("state", &*self.lock()).finish()
    }
}

impl MemoryWorld {
    /// An empty one.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Ends a node as the loss of its process would: it keeps its sessions and is dead.
    pub fn kill(&self, node: &NodeId) {
        self.lock().kill(node);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in there can be left half done by a panic that matters: reads don't change it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One node of a [`MemoryWorld`]. To drop it is to kill it.
#[derive(Debug)]
pub struct Memory {
    world: Arc<MemoryWorld>,
    node: NodeId,
}

impl Memory {
    /// A new node. The name must be one that was never used in this world.
    pub fn open(world: &Arc<MemoryWorld>, node: NodeId) -> Arc<Self> {
        world.lock().join(node.clone(), Node::new());
        Arc::new(Self { world: Arc::clone(world), node })
    }

    /// Does something with the world, at once when polled, unless this node is dead.
    fn with<'a, T: Send + 'a>(
        &'a self,
        work: impl FnOnce(&mut State, &NodeId) -> Result<T, StoreError> + Send + 'a,
    ) -> Later<'a, T> {
        Box::pin(async move {
            let mut state = self.world.lock();
            if !state.alive(&self.node) {
                return Err(StoreError::Shut);
            }
            work(&mut state, &self.node)
        })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.world.kill(&self.node);
    }
}

impl Store for Memory {
    fn node(&self) -> &NodeId {
        &self.node
    }

    fn claim(&self, session: SessionId) -> Later<'_, Claim> {
        self.with(move |state, node| state.claim(session, node))
    }

    fn release(&self, session: SessionId, epoch: Epoch) -> Later<'_, ()> {
        self.with(move |state, node| {
            state.release(session, epoch, node);
            Ok(())
        })
    }

    fn owner(&self, session: SessionId) -> Later<'_, Option<(NodeId, bool)>> {
        self.with(move |state, _| Ok(state.owner(session)))
    }

    fn append(&self, append: Append) -> Later<'_, Vec<Cursor>> {
        self.with(move |state, node| state.append(append, node))
    }

    fn chain(&self, session: SessionId) -> Later<'_, Option<Link>> {
        self.with(move |state, _| Ok(state.chain(session)))
    }

    fn read(&self, session: SessionId, after: Seq, limit: usize) -> Later<'_, Page> {
        self.with(move |state, _| Ok(state.read(session, after, limit)))
    }

    fn snapshot(&self, session: SessionId) -> Later<'_, Option<Session>> {
        self.with(move |state, _| Ok(state.snapshot(session)))
    }

    fn feed(&self, after: Cursor, limit: usize) -> Later<'_, FeedPage> {
        self.with(move |state, _| Ok(state.feed(after, limit)))
    }

    fn head(&self) -> Later<'_, Cursor> {
        self.with(|state, _| Ok(state.head()))
    }

    fn subscribe(&self) -> broadcast::Receiver<Nudge> {
        // A dead node's subscribers are told so: the sender is gone.
        self.world.lock().subscribe(&self.node).unwrap_or_else(|| broadcast::channel(1).1)
    }

    fn sessions(
        &self,
        filter: SessionFilter,
        limit: usize,
        cursor: Option<String>,
    ) -> Later<'_, Listing<SessionView>> {
        self.with(move |state, _| state.sessions(&filter, limit, cursor.as_deref()))
    }

    fn session(&self, session: SessionId) -> Later<'_, Option<SessionView>> {
        self.with(move |state, _| Ok(state.session(session)))
    }

    fn asks(
        &self,
        filter: AskFilter,
        limit: usize,
        cursor: Option<String>,
    ) -> Later<'_, Listing<AskView>> {
        self.with(move |state, _| state.asks(&filter, limit, cursor.as_deref()))
    }

    fn ask(&self, ask: AskRef) -> Later<'_, Option<AskView>> {
        self.with(move |state, _| Ok(state.ask(ask)))
    }

    fn post(&self, posted: Posted) -> Later<'_, ()> {
        self.with(move |state, node| state.post(posted, node))
    }

    fn inbox(&self) -> Later<'_, Vec<Posted>> {
        self.with(|state, node| Ok(state.inbox(node)))
    }

    fn conclude(&self, id: Uuid, conclusion: Conclusion) -> Later<'_, ()> {
        self.with(move |state, _| {
            state.conclude(id, conclusion);
            Ok(())
        })
    }

    fn conclusion(&self, id: Uuid) -> Later<'_, Option<Conclusion>> {
        self.with(move |state, _| Ok(state.conclusion(id)))
    }

    fn set_presence(&self, presence: Presence) -> Later<'_, ()> {
        self.with(move |state, node| {
            state.set_presence(node, presence);
            Ok(())
        })
    }

    fn nodes(&self) -> Later<'_, Vec<NodeView>> {
        self.with(|state, _| Ok(state.nodes()))
    }

    fn is_alive(&self, node: NodeId) -> Later<'_, bool> {
        self.with(move |state, _| Ok(state.alive(&node)))
    }

    fn set_interest(&self, interested: bool) -> Later<'_, ()> {
        self.with(move |state, node| {
            state.set_interest(node, interested);
            Ok(())
        })
    }

    fn publish(&self, delta: LiveDelta) {
        self.world.lock().publish(&self.node, delta);
    }

    fn put_blob(&self, bytes: Vec<u8>) -> Later<'_, String> {
        self.with(move |state, node| {
            if bytes.len() > MAX_BLOB {
                return Err(StoreError::TooMuch { what: "a blob's size", limit: MAX_BLOB });
            }
            Ok(state.put_blob(bytes, node))
        })
    }

    fn blob(&self, digest: String) -> Later<'_, Option<Vec<u8>>> {
        self.with(move |state, _| Ok(state.blob(&digest)))
    }

    fn key(&self, name: String, fresh: [u8; 32]) -> Later<'_, [u8; 32]> {
        self.with(move |state, _| state.key(name, fresh))
    }

    fn delete_session(&self, session: SessionId) -> Later<'_, ()> {
        self.with(move |state, _| state.delete_session(session))
    }

    fn retire(&self, before: Option<Timestamp>) -> Later<'_, u64> {
        self.with(move |state, _| Ok(before.map_or(0, |it| state.retire(it))))
    }

    fn backup(&self, to: PathBuf) -> Later<'_, ()> {
        self.with(move |_, _| {
            let problem = "a store in memory has nothing to copy; use one on disk".to_owned();
            Err(StoreError::Unusable { path: to, problem })
        })
    }

    fn check(&self) -> Later<'_, Vec<String>> {
        self.with(|state, _| Ok(state.check()))
    }

    fn close(&self) -> Later<'_, ()> {
        Box::pin(async move {
            self.world.lock().leave(&self.node);
            Ok(())
        })
    }
}

fn nudges() -> broadcast::Sender<Nudge> {
    broadcast::channel(MAX_NUDGES).0
}
