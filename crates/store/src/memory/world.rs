//! What the nodes share, and how it changes.

use std::{
    collections::{BTreeMap, BTreeSet},
    process,
    sync::Arc,
};

use jiff::Timestamp;
use pilothouse_core::{AskId, AskView, Cursor, Envelope, Seq, Session, SessionId, SessionView};
use tokio::sync::broadcast;
use uuid::Uuid;

use crate::{
    Append, Claim, Conclusion, Epoch, Link, LiveDelta, MAX_CONCLUSIONS, MAX_INBOX, MAX_KEYS,
    NodeId, Nudge, Posted, Presence, StoreError, check_key_name, digest,
    fold::{self, AskChange},
    listing,
};

/// Everything.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) rows: BTreeMap<SessionId, Row>,
    /// By place in the feed.
    pub(super) feed: BTreeMap<u64, (SessionId, Seq)>,
    pub(super) head: u64,
    /// Where the last event of each deleted session was.
    pub(super) forgotten: BTreeSet<u64>,
    pub(super) inbox: Vec<(Posted, NodeId)>,
    conclusions: Vec<(Uuid, Conclusion)>,
    pub(super) nodes: BTreeMap<NodeId, Node>,
    blobs: BTreeMap<String, Vec<u8>>,
    /// Blobs that a node has kept and may yet name.
    holds: BTreeSet<(String, NodeId)>,
    keys: BTreeMap<String, [u8; 32]>,
}

/// A session.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) owner: Option<NodeId>,
    pub(super) epoch: u64,
    /// Each with the length of its text, for pages have a size.
    pub(super) log: Vec<(Envelope, usize)>,
    /// What each event of the log and everything before it come to.
    pub(super) chain: Vec<Link>,
    pub(super) view: Option<SessionView>,
    /// By number, with the place in the feed where each was raised.
    pub(super) asks: BTreeMap<AskId, (u64, AskView)>,
    pub(super) snapshot: Option<Session>,
    pub(super) prompts: String,
    /// The blobs that the log names.
    blobs: BTreeSet<String>,
}

/// A node. A dead one has nobody to nudge.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) nudges: Option<broadcast::Sender<Nudge>>,
    pub(super) pid: u32,
    pub(super) presence: Presence,
    interested: bool,
}

impl Node {
    pub(super) fn new() -> Self {
        let presence = Presence { program: String::new(), human_surfaces: 0, console: None };
        let nudges = Some(super::nudges());
        Self { nudges, pid: process::id(), presence, interested: false }
    }

    fn nudge(&self, nudge: Nudge) {
        if let Some(nudges) = &self.nudges {
            // Nobody listening is normal.
            nudges.send(nudge).ok();
        }
    }
}

impl State {
    pub(super) fn join(&mut self, id: NodeId, node: Node) {
        self.nodes.insert(id, node);
        self.sweep();
        self.nudge_all(&Nudge::Presence);
    }

    pub(super) fn alive(&self, node: &NodeId) -> bool {
        self.nodes.get(node).is_some_and(|it| it.nudges.is_some())
    }

    pub(super) fn kill(&mut self, id: &NodeId) {
        if self.alive(id)
            && let Some(node) = self.nodes.get_mut(id)
        {
            node.nudges = None;
            self.holds.retain(|(_, it)| it != id);
            self.sweep();
            self.nudge_all(&Nudge::Presence);
        }
    }

    pub(super) fn leave(&mut self, node: &NodeId) {
        if self.alive(node) {
            for row in self.rows.values_mut() {
                row.owner.take_if(|it| it == node);
            }
            self.kill(node);
        }
    }

    /// Forgets the dead who own nothing.
    fn sweep(&mut self) {
        let owners: BTreeSet<_> = self.rows.values().filter_map(|it| it.owner.as_ref()).collect();
        self.nodes.retain(|id, node| node.nudges.is_some() || owners.contains(id));
    }

    pub(super) fn subscribe(&self, node: &NodeId) -> Option<broadcast::Receiver<Nudge>> {
        Some(self.nodes.get(node)?.nudges.as_ref()?.subscribe())
    }

    fn nudge_all(&self, nudge: &Nudge) {
        for node in self.nodes.values() {
            node.nudge(nudge.clone());
        }
    }

    fn nudge(&self, node: &NodeId, nudge: Nudge) {
        if let Some(node) = self.nodes.get(node) {
            node.nudge(nudge);
        }
    }

    pub(super) fn owner(&self, session: SessionId) -> Option<(NodeId, bool)> {
        let owner = self.rows.get(&session)?.owner.clone()?;
        let alive = self.alive(&owner);
        Some((owner, alive))
    }

    pub(super) fn claim(&mut self, session: SessionId, me: &NodeId) -> Result<Claim, StoreError> {
        if let Some((node, true)) = self.owner(session)
            && node != *me
        {
            return Err(StoreError::Held { session, node });
        }
        let row = self.rows.entry(session).or_default();
        row.owner = Some(me.clone());
        row.epoch += 1;
        let claim = Claim { epoch: Epoch(row.epoch), last_seq: row.last_seq() };
        self.sweep();
        if self.inbox.iter().any(|(it, _)| it.session == session) {
            self.nudge(me, Nudge::Inbox);
        }
        Ok(claim)
    }

    pub(super) fn release(&mut self, session: SessionId, epoch: Epoch, me: &NodeId) {
        if let Some(row) = self.rows.get_mut(&session)
            && row.epoch == epoch.0
        {
            row.owner.take_if(|it| it == me);
        }
    }

    pub(super) fn append(
        &mut self,
        append: Append,
        me: &NodeId,
    ) -> Result<Vec<Cursor>, StoreError> {
        let Append { session, epoch, expected, events, view, snapshot } = {
            fold::check_numbers(&append)?;
            append
        };
        let row = self.rows.get_mut(&session).ok_or(StoreError::Fenced(session))?;
        if row.epoch != epoch.0 || row.owner.as_ref() != Some(me) {
            return Err(StoreError::Fenced(session));
        }
        let actual = row.last_seq();
        if actual != expected {
            return Err(StoreError::OutOfOrder { session, expected, actual });
        }
        if let Some(more) = fold::prompts(&events) {
            fold::add_prompts(&mut row.prompts, &more);
        }
        let mut res = Vec::with_capacity(events.len());
        for envelope in events {
            self.head += 1;
            self.feed.insert(self.head, (session, envelope.seq));
            res.push(Cursor(self.head));
            match fold::ask_change(session, &envelope) {
                Some(AskChange::Raise(ask)) => {
                    row.asks.insert(ask.ask(), (self.head, *ask));
                }
                Some(AskChange::Settle(ask, settlement)) => {
                    if let Some((_, ask)) = row.asks.get_mut(&ask) {
                        ask.settle(settlement);
                    }
                }
                None => {}
            }
            let json = serde_json::to_string(&envelope).unwrap_or_default();
            let last = row.chain.last().copied().unwrap_or_else(|| Link::genesis(session));
            row.chain.push(last.next(&json));
            row.log.push((envelope, json.len()));
            row.blobs.extend(fold::blob_names(&json).map(str::to_owned));
        }
        self.holds.retain(|(digest, node)| node != me || !row.blobs.contains(digest));
        row.view = Some(SessionView { node: None, ..view });
        if let Some(snapshot) = snapshot {
            row.snapshot = Some(*snapshot);
        }
        if !res.is_empty() {
            self.nudge_all(&Nudge::Feed(Some(session)));
        }
        Ok(res)
    }

    pub(super) fn post(&mut self, posted: Posted, me: &NodeId) -> Result<(), StoreError> {
        let session = posted.session;
        if !self.rows.contains_key(&session) {
            return Err(StoreError::NotFound(session.to_string()));
        }
        let Some((owner, true)) = self.owner(session) else {
            return Err(StoreError::NoOwner(session));
        };
        if posted.secret {
            // Nobody there who could act on it is as good as no owner: it is not kept.
            let listening =
                self.nodes[&owner].nudges.as_ref().map_or(0, broadcast::Sender::receiver_count);
            if listening == 0 {
                return Err(StoreError::NoOwner(session));
            }
            self.nudge(&owner, Nudge::Secret(Arc::new(posted)));
            return Ok(());
        }
        if self.inbox(&owner).len() >= MAX_INBOX {
            return Err(StoreError::TooMuch { what: "the inbox", limit: MAX_INBOX });
        }
        let known = self.inbox.iter().any(|(it, _)| it.id == posted.id);
        if !known && self.conclusion(posted.id).is_none() {
            self.inbox.push((posted, me.clone()));
            self.nudge(&owner, Nudge::Inbox);
        }
        Ok(())
    }

    pub(super) fn inbox(&self, me: &NodeId) -> Vec<Posted> {
        let mine = |it: &Posted| {
            self.rows.get(&it.session).is_some_and(|row| row.owner.as_ref() == Some(me))
        };
        self.inbox.iter().map(|(it, _)| it).filter(|it| mine(it)).cloned().collect()
    }

    pub(super) fn conclude(&mut self, id: Uuid, conclusion: Conclusion) {
        self.inbox.retain(|(it, _)| it.id != id);
        if self.conclusion(id).is_none() {
            if self.conclusions.len() >= MAX_CONCLUSIONS {
                self.conclusions.remove(0);
            }
            self.conclusions.push((id, conclusion));
        }
        self.nudge_all(&Nudge::Concluded(id));
    }

    pub(super) fn conclusion(&self, id: Uuid) -> Option<Conclusion> {
        self.conclusions.iter().find(|it| it.0 == id).map(|it| it.1.clone())
    }

    pub(super) fn set_presence(&mut self, me: &NodeId, presence: Presence) {
        if let Some(node) = self.nodes.get_mut(me) {
            node.presence = presence;
        }
        self.nudge_all(&Nudge::Presence);
    }

    pub(super) fn set_interest(&mut self, me: &NodeId, interested: bool) {
        if let Some(node) = self.nodes.get_mut(me) {
            node.interested = interested;
        }
    }

    pub(super) fn publish(&self, me: &NodeId, delta: LiveDelta) {
        if !self.alive(me) {
            return;
        }
        let delta = Arc::new(delta);
        for (id, node) in &self.nodes {
            if node.interested || id == me {
                node.nudge(Nudge::Delta(Arc::clone(&delta)));
            }
        }
    }

    pub(super) fn put_blob(&mut self, bytes: Vec<u8>, me: &NodeId) -> String {
        let digest = digest(&bytes);
        self.holds.insert((digest.clone(), me.clone()));
        self.blobs.insert(digest.clone(), bytes);
        digest
    }

    pub(super) fn blob(&self, digest: &str) -> Option<Vec<u8>> {
        self.blobs.get(digest).cloned()
    }

    pub(super) fn key(&mut self, name: String, fresh: [u8; 32]) -> Result<[u8; 32], StoreError> {
        check_key_name(&name)?;
        if !self.keys.contains_key(&name) && self.keys.len() >= MAX_KEYS {
            return Err(StoreError::TooMuch { what: "the number of keys", limit: MAX_KEYS });
        }
        Ok(*self.keys.entry(name).or_insert(fresh))
    }

    pub(super) fn delete_session(&mut self, session: SessionId) -> Result<(), StoreError> {
        let gone = || StoreError::NotFound(session.to_string());
        let row = self.rows.get(&session).ok_or_else(gone)?;
        if row.view.as_ref().is_some_and(|it| it.cancelled_at.is_none()) {
            return Err(StoreError::Open(session));
        }
        let blobs = self.rows.remove(&session).map(|it| it.blobs).unwrap_or_default();
        for digest in blobs {
            let held = self.holds.iter().any(|(it, _)| *it == digest);
            if !held && !self.rows.values().any(|it| it.blobs.contains(&digest)) {
                self.blobs.remove(&digest);
            }
        }
        let last = self.feed.iter().rfind(|(_, (it, _))| *it == session);
        self.forgotten.extend(last.map(|(pos, _)| *pos));
        self.feed.retain(|_, (it, _)| *it != session);
        self.inbox.retain(|(it, _)| it.session != session);
        self.nudge_all(&Nudge::Feed(Some(session)));
        Ok(())
    }

    pub(super) fn retire(&mut self, before: Timestamp) -> u64 {
        let old = |it: &SessionView| it.cancelled_at.is_some() && it.last_active_at < before;
        let rows = self.rows.iter().filter(|(_, row)| row.view.as_ref().is_some_and(old));
        let ids: Vec<_> = rows.map(|(id, _)| *id).collect();
        // They are closed, so none is refused.
        ids.into_iter().map(|it| u64::from(self.delete_session(it).is_ok())).sum()
    }

    pub(super) fn chain(&self, session: SessionId) -> Option<Link> {
        self.rows.get(&session)?.chain.last().copied()
    }

    pub(super) fn place(session: SessionId, view: &SessionView) -> listing::SessionPlace {
        listing::SessionPlace { active: view.last_active_at.as_microsecond(), session }
    }
}

impl Row {
    pub(super) fn last_seq(&self) -> Seq {
        self.log.last().map_or(Seq(0), |(it, _)| it.seq)
    }
}
