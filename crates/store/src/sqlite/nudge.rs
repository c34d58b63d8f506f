//! Hints from node to node: a datagram socket for each, and whom to tell what.
//!
//! A datagram that does not fit is never waited for. A delta is lost then; a hint is owed, and tried
//! again until it fits or its node is gone.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    os::unix::net::UnixDatagram,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    thread,
    time::{Duration, Instant},
};

use pilothouse_core::SessionId;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;
use uuid::Uuid;

use crate::{LiveDelta, MAX_NUDGES, NodeId, Nudge, Posted, StoreError};

/// Largest datagram.
pub(super) const MAX_DATAGRAM: usize = 128 * 1024;
/// Longest piece of a delta. Escaped it may be six times as long.
const MAX_PIECE: usize = 16 * 1024;
/// Most sessions that a hint names; beyond it says "some".
const MAX_NAMED: usize = 64;
/// Most conclusions that are owed to a node; the oldest are found by its poll.
const MAX_OWED: usize = 1_000;
/// How long a secret may wait for room in its owner's socket.
const SECRET_PATIENCE: Duration = Duration::from_secs(1);

/// What a transaction did that someone waits for.
#[derive(Debug, Default)]
pub(super) struct Hints {
    /// Sessions whose logs grew, or that are gone.
    pub(super) feed: BTreeSet<SessionId>,
    /// Nodes with something in their inbox.
    pub(super) inbox: BTreeSet<NodeId>,
    /// Intents that were concluded, and who posted them, if that is known.
    pub(super) concluded: Vec<(Uuid, Option<NodeId>)>,
    /// Someone came, went, or changed.
    pub(super) presence: bool,
}

impl Hints {
    /// Adds those of another piece of work.
    pub(super) fn merge(&mut self, other: Self) {
        self.feed.extend(other.feed);
        self.inbox.extend(other.inbox);
        self.concluded.extend(other.concluded);
        self.presence |= other.presence;
    }

    /// Those that concern one node.
    fn of(&self, node: &NodeId) -> Letter {
        let concerns = |it: &Option<NodeId>| it.as_ref().is_none_or(|it| it == node);
        let concluded = self.concluded.iter().filter(|it| concerns(&it.1)).map(|it| it.0);
        let mut res = Letter {
            grown: !self.feed.is_empty(),
            sessions: self.feed.clone(),
            inbox: self.inbox.contains(node),
            concluded: concluded.collect(),
            presence: self.presence,
        };
        res.bound();
        res
    }
}

/// The hints for one node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Letter {
    grown: bool,
    /// Which sessions did; none means some.
    sessions: BTreeSet<SessionId>,
    inbox: bool,
    concluded: Vec<Uuid>,
    presence: bool,
}

impl Letter {
    fn merge(&mut self, other: Self) {
        let named = |it: &Self| !it.grown || !it.sessions.is_empty();
        if named(self) && named(&other) {
            self.sessions.extend(other.sessions);
        } else {
            self.sessions.clear();
        }
        self.grown |= other.grown;
        self.inbox |= other.inbox;
        self.concluded.extend(other.concluded);
        self.presence |= other.presence;
        self.bound();
    }

    fn bound(&mut self) {
        if self.sessions.len() > MAX_NAMED {
            self.sessions.clear();
        }
        let surplus = self.concluded.len().saturating_sub(MAX_OWED);
        self.concluded.drain(..surplus);
    }

    /// What subscribers are told.
    pub(super) fn nudges(self) -> impl Iterator<Item = Nudge> {
        let some = self.grown && self.sessions.is_empty();
        let feed = self.sessions.into_iter().map(|it| Nudge::Feed(Some(it)));
        feed.chain(some.then_some(Nudge::Feed(None)))
            .chain(self.inbox.then_some(Nudge::Inbox))
            .chain(self.concluded.into_iter().map(Nudge::Concluded))
            .chain(self.presence.then_some(Nudge::Presence))
    }
}

/// What a datagram holds.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Datagram {
    /// Hints.
    Letter(Letter),
    /// A secret intent.
    Secret(Box<Posted>),
    /// A piece of a stream.
    Delta(LiveDelta),
}

#[derive(Debug, Clone)]
struct Peer {
    node: NodeId,
    socket: PathBuf,
    interested: bool,
}

/// Who is there, and how to reach them; shared by all threads of a node.
#[derive(Debug)]
pub(super) struct Office {
    pub(super) me: NodeId,
    /// Where this node listens.
    pub(super) address: PathBuf,
    local: RwLock<Option<broadcast::Sender<Nudge>>>,
    hints: UnixDatagram,
    /// A socket of its own, for what is on its way counts against a socket's room.
    deltas: UnixDatagram,
    /// Wakes the listener, even if someone removed its socket.
    alarm: UnixDatagram,
    peers: RwLock<(i64, Arc<Vec<Peer>>)>,
}

enum Sent {
    Yes,
    Full,
    Gone,
}

fn send(socket: &UnixDatagram, bytes: &[u8], to: &Path) -> Sent {
    match socket.send_to(bytes, to) {
        Ok(_) => Sent::Yes,
        Err(err)
            if matches!(err.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) =>
        {
            Sent::Gone
        }
        // No room with them, none with us, or a moment's lack of memory.
        Err(_) => Sent::Full,
    }
}

impl Office {
    /// A node's office, and the other end of its alarm.
    pub(super) fn new(me: NodeId, address: PathBuf) -> io::Result<(Self, UnixDatagram)> {
        let (hints, deltas) = (UnixDatagram::unbound()?, UnixDatagram::unbound()?);
        hints.set_nonblocking(true)?;
        deltas.set_nonblocking(true)?;
        let local = RwLock::new(Some(broadcast::channel(MAX_NUDGES).0));
        let (alarm, rings) = UnixDatagram::pair()?;
        alarm.set_nonblocking(true)?;
        rings.set_nonblocking(true)?;
        let peers = RwLock::default();
        Ok((Self { me, address, local, hints, deltas, alarm, peers }, rings))
    }

    /// Tells the subscribers of this process; gives how many there are.
    pub(super) fn tell(&self, nudge: Nudge) -> usize {
        let local = self.local.read().unwrap_or_else(PoisonError::into_inner);
        local.as_ref().and_then(|it| it.send(nudge).ok()).unwrap_or(0)
    }

    /// How many subscribers this process has.
    pub(super) fn listeners(&self) -> usize {
        let local = self.local.read().unwrap_or_else(PoisonError::into_inner);
        local.as_ref().map_or(0, broadcast::Sender::receiver_count)
    }

    pub(super) fn subscribe(&self) -> broadcast::Receiver<Nudge> {
        let local = self.local.read().unwrap_or_else(PoisonError::into_inner);
        let Some(local) = local.as_ref() else { return broadcast::channel(1).1 };
        let res = local.subscribe();
        if local.receiver_count() == 1 {
            self.wake();
        }
        res
    }

    /// Has the listener look up. If there is no room, it is about to.
    pub(super) fn wake(&self) {
        self.alarm.send(&[0]).ok();
    }

    /// Tells the subscribers that there will be nothing more.
    pub(super) fn close(&self) {
        self.local.write().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Learns who is there, if that has changed; gives whether it has.
    pub(super) fn refresh(&self, db: &Connection) -> Result<bool, rusqlite::Error> {
        let version = db
            .prepare_cached("SELECT version FROM roster")?
            .query_row([], |row| row.get::<_, i64>(0))?;
        if self.peers.read().unwrap_or_else(PoisonError::into_inner).0 == version {
            return Ok(false);
        }
        let mut nodes =
            db.prepare_cached("SELECT node, socket, interested FROM nodes WHERE socket <> ''")?;
        let nodes = nodes.query_map([], |row| {
            let (node, socket) = (NodeId(row.get(0)?), PathBuf::from(row.get::<_, String>(1)?));
            Ok(Peer { node, socket, interested: row.get(2)? })
        })?;
        let peers: Vec<_> = nodes.collect::<Result<_, _>>()?;
        let others = peers.into_iter().filter(|it| it.node != self.me).collect();
        *self.peers.write().unwrap_or_else(PoisonError::into_inner) = (version, Arc::new(others));
        Ok(true)
    }

    fn peers(&self) -> Arc<Vec<Peer>> {
        Arc::clone(&self.peers.read().unwrap_or_else(PoisonError::into_inner).1)
    }

    /// Forgets a node that does not listen any more, until the roster changes.
    fn strike(&self, node: &NodeId) {
        {
            let mut peers = self.peers.write().unwrap_or_else(PoisonError::into_inner);
            Arc::make_mut(&mut peers.1).retain(|it| it.node != *node);
        }
        self.tell(Nudge::Presence);
    }

    /// Sends a piece of a stream to those who care and have room.
    pub(super) fn publish(&self, delta: LiveDelta) {
        let peers = self.peers();
        if peers.iter().any(|it| it.interested) {
            for text in pieces(&delta.text) {
                let piece = LiveDelta { text: text.to_owned(), ..head(&delta) };
                let Ok(bytes) = serde_json::to_vec(&Datagram::Delta(piece)) else { continue };
                for peer in peers.iter().filter(|it| it.interested) {
                    if let Sent::Gone = send(&self.deltas, &bytes, &peer.socket) {
                        self.strike(&peer.node);
                    }
                }
            }
        }
        self.tell(Nudge::Delta(Arc::new(delta)));
    }

    /// Hands a secret to the session's owner, who listens there.
    pub(super) fn hand_over(&self, posted: &Posted, socket: &Path) -> Result<(), StoreError> {
        let doing = "handing a secret to the session's owner";
        let engine = |source| StoreError::Engine { doing, source };
        let bytes = serde_json::to_vec(&Datagram::Secret(Box::new(posted.clone())));
        let bytes = bytes.map_err(|err| engine(err.into()))?;
        if bytes.len() > MAX_DATAGRAM {
            return Err(StoreError::TooMuch { what: "a secret answer", limit: MAX_DATAGRAM });
        }
        let start = Instant::now();
        loop {
            match send(&self.hints, &bytes, socket) {
                Sent::Yes => return Ok(()),
                Sent::Gone => return Err(StoreError::NoOwner(posted.session)),
                Sent::Full if start.elapsed() > SECRET_PATIENCE => {
                    return Err(engine("it does not take anything; try again".into()));
                }
                Sent::Full => thread::sleep(Duration::from_millis(1)),
            }
        }
    }
}

/// A delta without its text.
fn head(delta: &LiveDelta) -> LiveDelta {
    let LiveDelta { session_id, item_id, kind, text: _ } = delta;
    LiveDelta {
        session_id: *session_id,
        item_id: item_id.clone(),
        kind: *kind,
        text: String::new(),
    }
}

/// A text cut where letters end.
fn pieces(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let (piece, rest) = text.split_at(text.floor_char_boundary(MAX_PIECE));
        text = rest;
        (!piece.is_empty()).then_some(piece)
    })
}

/// The writer's way to tell others.
#[derive(Debug)]
pub(super) struct Courier {
    office: Arc<Office>,
    owed: BTreeMap<NodeId, Letter>,
}

impl Courier {
    pub(super) fn new(office: Arc<Office>) -> Self {
        Self { office, owed: BTreeMap::new() }
    }

    /// Learns whom to tell, within the transaction that there is something to tell of: whoever came
    /// before it is told, and whoever came after it reads it.
    pub(super) fn refresh(&self, db: &Connection) -> Result<(), rusqlite::Error> {
        self.office.refresh(db).map(drop)
    }

    /// Tells everyone whom it concerns: one datagram for each, at most.
    pub(super) fn deliver(&mut self, hints: &Hints) {
        for nudge in hints.of(&self.office.me).nudges() {
            self.office.tell(nudge);
        }
        for peer in self.office.peers().iter() {
            let mut letter = hints.of(&peer.node);
            if letter == Letter::default() {
                continue;
            }
            if let Some(mut owed) = self.owed.remove(&peer.node) {
                owed.merge(letter);
                letter = owed;
            }
            self.send(peer, letter);
        }
    }

    /// Whether some did not fit.
    pub(super) fn owes(&self) -> bool {
        !self.owed.is_empty()
    }

    /// Tries them again.
    pub(super) fn try_again(&mut self) {
        let peers = self.office.peers();
        for (node, letter) in std::mem::take(&mut self.owed) {
            if let Some(peer) = peers.iter().find(|it| it.node == node) {
                self.send(peer, letter);
            }
        }
    }

    fn send(&mut self, peer: &Peer, letter: Letter) {
        let datagram = Datagram::Letter(letter);
        let Ok(bytes) = serde_json::to_vec(&datagram) else { return };
        match send(&self.office.hints, &bytes, &peer.socket) {
            Sent::Yes => {}
            Sent::Gone => self.office.strike(&peer.node),
            Sent::Full => {
                if let Datagram::Letter(letter) = datagram {
                    self.owed.insert(peer.node.clone(), letter);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn session(number: u128) -> SessionId {
        SessionId(Uuid::from_u128(number))
    }

    fn grown(numbers: impl IntoIterator<Item = u128>) -> Hints {
        let feed = numbers.into_iter().map(session).collect();
        Hints { feed, ..Hints::default() }
    }

    /// A courier whose only peer listens at the socket and is not reading yet.
    fn courier(dir: &TempDir) -> (Courier, UnixDatagram) {
        let address = dir.path().join("peer.sock");
        let socket = UnixDatagram::bind(&address).expect("the directory is new");
        socket.set_nonblocking(true).expect("a socket can be told so");
        let me = NodeId("me".to_owned());
        let (office, _) = Office::new(me, dir.path().join("me.sock")).expect("sockets are there");
        let peer = Peer { node: NodeId("peer".to_owned()), socket: address, interested: true };
        *office.peers.write().expect("nobody panicked") = (1, Arc::new(vec![peer]));
        (Courier::new(Arc::new(office)), socket)
    }

    fn received(socket: &UnixDatagram) -> Option<Letter> {
        let mut buffer = vec![0; MAX_DATAGRAM];
        let length = socket.recv(&mut buffer).ok()?;
        match serde_json::from_slice(&buffer[..length]) {
            Ok(Datagram::Letter(letter)) => Some(letter),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_does_not_fit_is_owed_and_comes_in_one_letter() {
        let dir = TempDir::new().expect("a directory");
        let (mut courier, socket) = courier(&dir);
        let mut sent = 0_u128;
        while !courier.owes() {
            sent += 1;
            courier.deliver(&grown([sent]));
            assert!(sent < 100_000, "a socket has an end");
        }
        courier.deliver(&grown([1_000_000]));
        let concluded =
            vec![(Uuid::from_u128(7), None), (Uuid::from_u128(8), Some(NodeId("x".to_owned())))];
        courier.deliver(&Hints { concluded, presence: true, ..Hints::default() });
        courier.try_again();
        assert!(courier.owes(), "there is still no room");
        let told = std::iter::from_fn(|| received(&socket)).count();
        assert_eq!(told as u128, sent - 1);
        courier.try_again();
        assert!(!courier.owes());
        let expected = Letter {
            grown: true,
            sessions: BTreeSet::from([session(sent), session(1_000_000)]),
            inbox: false,
            concluded: vec![Uuid::from_u128(7)],
            presence: true,
        };
        assert_eq!(received(&socket), Some(expected));
        assert_eq!(received(&socket), None);
    }

    #[test]
    fn what_is_owed_to_the_dead_is_forgotten() {
        let dir = TempDir::new().expect("a directory");
        let (mut courier, socket) = courier(&dir);
        let mut hints = courier.office.subscribe();
        while !courier.owes() {
            courier.deliver(&grown([1]));
        }
        drop(socket);
        courier.try_again();
        assert!(!courier.owes());
        while !matches!(hints.try_recv().expect("it is told"), Nudge::Presence) {}
        courier.deliver(&grown([2]));
        assert!(!courier.owes());
    }

    #[test]
    fn a_letter_that_names_too_many_says_some() {
        let mut letter = grown(1..=MAX_NAMED as u128).of(&NodeId(String::new()));
        assert_eq!(letter.clone().nudges().count(), MAX_NAMED);
        let some = |it: &Letter| {
            matches!(it.clone().nudges().collect::<Vec<_>>().as_slice(), [Nudge::Feed(None)])
        };
        letter.merge(grown([1_000]).of(&NodeId(String::new())));
        assert!(some(&letter), "{letter:?}");
        letter.merge(grown([1_000]).of(&NodeId(String::new())));
        assert!(some(&letter), "it stays so: {letter:?}");
    }

    #[test]
    fn a_text_is_cut_where_letters_end() {
        let text = "\u{1f980}".repeat(MAX_PIECE);
        let pieces: Vec<_> = pieces(&text).collect();
        assert!(pieces.iter().all(|it| it.len() <= MAX_PIECE));
        assert_eq!((pieces.len(), pieces.concat()), (4, text));
    }
}
