//! What each method of the store changes, within a transaction of the writer's.

use std::path::Path;

use pilothouse_core::{AskView, Cursor, Seq, SessionId, SessionView};
use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use super::{fault::Fault, ledger, lock, nudge::Hints, removal};
use crate::{
    Append, Bytes, Claim, Conclusion, Epoch, Link, MAX_CONCLUSIONS, MAX_INBOX, MAX_KEYS, NodeId,
    Posted, Presence, Signer, StoreError, chain,
    fold::{self, AskChange},
};

/// A session's row, as far as it decides who may write.
pub(super) struct Held {
    owner: Option<NodeId>,
    epoch: i64,
    /// Its last event.
    pub(super) last: Link,
}

pub(super) fn held(db: &Connection, session: SessionId) -> Result<Option<Held>, Fault> {
    let sql = "SELECT owner, epoch, last_seq, chain FROM sessions WHERE id = ?1";
    let row = db.prepare_cached(sql)?.query_row([session.0.as_bytes()], |row| {
        let owner: Option<String> = row.get(0)?;
        let last_seq: i64 = row.get(2)?;
        let chain: Option<[u8; 32]> = row.get(3)?;
        let chain = chain.map_or_else(|| Link::genesis(session).chain, Bytes);
        let last = Link { seq: Seq(last_seq.cast_unsigned()), chain };
        Ok(Held { owner: owner.map(NodeId), epoch: row.get(1)?, last })
    });
    Ok(row.optional()?)
}

/// A number as SQLite keeps it.
pub(super) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn claim(
    db: &Connection,
    hints: &mut Hints,
    run: &Path,
    me: &NodeId,
    session: SessionId,
) -> Result<Claim, Fault> {
    let id = session.0.as_bytes();
    let before = held(db, session)?;
    if before.is_none() && removal::is_doomed(db, session)? {
        return Err(StoreError::NotFound(session.to_string()).into());
    }
    if let Some(Held { owner: Some(node), .. }) = &before
        && node != me
        && lock::is_alive(run, node)
    {
        return Err(StoreError::Held { session, node: node.clone() }.into());
    }
    let sql = "INSERT INTO sessions (id, owner, epoch, last_seq) VALUES (?1, ?2, 1, 0)
               ON CONFLICT (id) DO UPDATE SET owner = ?2, epoch = epoch + 1";
    db.prepare_cached(sql)?.execute(params![id, me.0])?;
    let sql = "SELECT EXISTS (SELECT 1 FROM inbox WHERE session = ?1)";
    if db.prepare_cached(sql)?.query_row([id], |row| row.get(0))? {
        hints.inbox.insert(me.clone());
    }
    let (epoch, last_seq) = before.map_or((0, Seq(0)), |it| (it.epoch, it.last.seq));
    Ok(Claim { epoch: Epoch(epoch.cast_unsigned() + 1), last_seq })
}

pub(super) fn release(
    db: &Connection,
    me: &NodeId,
    session: SessionId,
    epoch: Epoch,
) -> Result<(), Fault> {
    let sql = "UPDATE sessions SET owner = NULL WHERE id = ?1 AND epoch = ?2 AND owner = ?3";
    db.prepare_cached(sql)?.execute(params![session.0.as_bytes(), int(epoch.0), me.0])?;
    Ok(())
}

/// An append with everything that can be made of it outside the transaction.
pub(super) struct Draft {
    append: Append,
    events: Vec<String>,
    view: String,
    status: String,
    opened_by: String,
    snapshot: Option<String>,
    prompts: Option<String>,
    /// The blobs that the events name.
    blobs: Vec<String>,
}

impl Draft {
    pub(super) fn new(mut append: Append) -> Result<Self, Fault> {
        fold::check_numbers(&append)?;
        append.view.node = None;
        let events: Vec<String> =
            append.events.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
        let blobs = events.iter().flat_map(|it| fold::blob_names(it)).map(str::to_owned).collect();
        Ok(Self {
            blobs,
            events,
            view: serde_json::to_string(&append.view)?,
            status: serde_json::to_string(&append.view.status)?,
            opened_by: serde_json::to_string(&append.view.opened_by)?,
            snapshot: append.snapshot.as_ref().map(serde_json::to_string).transpose()?,
            prompts: fold::prompts(&append.events),
            append,
        })
    }
}

pub(super) fn append(
    db: &Connection,
    hints: &mut Hints,
    me: &NodeId,
    signer: Option<&dyn Signer>,
    draft: &Draft,
) -> Result<Vec<Cursor>, Fault> {
    let Append { session, epoch, expected, events, view, snapshot } = &draft.append;
    let (session, id) = (*session, session.0.as_bytes());
    let held = held(db, session)?.ok_or(StoreError::Fenced(session))?;
    if held.epoch != int(epoch.0) || held.owner.as_ref() != Some(me) {
        return Err(StoreError::Fenced(session).into());
    }
    let actual = held.last.seq;
    if actual != *expected {
        return Err(StoreError::OutOfOrder { session, expected: *expected, actual }.into());
    }
    let mut places = Vec::with_capacity(events.len());
    let sql = "INSERT INTO events (session, seq, json, chain) VALUES (?1, ?2, ?3, ?4)";
    let mut insert = db.prepare_cached(sql)?;
    let mut link = held.last;
    for (envelope, json) in events.iter().zip(&draft.events) {
        link = link.next(json);
        let pos = insert.insert(params![id, int(envelope.seq.0), json, link.chain.0])?;
        if let Some(signer) = signer.filter(|_| chain::is_signed(envelope)) {
            ledger::sign(db, session, link, signer)?;
        }
        places.push(Cursor(pos.cast_unsigned()));
        if let Some(change) = fold::ask_change(session, envelope) {
            change_ask(db, session, pos, change)?;
        }
    }
    for digest in &draft.blobs {
        name_blob(db, me, session, digest)?;
    }
    keep_view(db, draft, view, link)?;
    if let (Some(json), Some(snapshot)) = (&draft.snapshot, snapshot) {
        let sql = "INSERT OR REPLACE INTO snapshots (session, seq, json) VALUES (?1, ?2, ?3)";
        db.prepare_cached(sql)?.execute(params![id, int(snapshot.seq().0), json])?;
    }
    if let Some(more) = &draft.prompts {
        let sql = "SELECT words FROM prompts WHERE session = ?1";
        let known = db.prepare_cached(sql)?.query_row([id], |row| row.get(0)).optional()?;
        let mut words: String = known.unwrap_or_default();
        fold::add_prompts(&mut words, more);
        let sql = "INSERT OR REPLACE INTO prompts (session, words) VALUES (?1, ?2)";
        db.prepare_cached(sql)?.execute(params![id, words])?;
    }
    if !places.is_empty() {
        hints.feed.insert(session);
    }
    Ok(places)
}

/// From now on the session's log keeps the blob, and no longer whoever put it there.
fn name_blob(db: &Connection, me: &NodeId, session: SessionId, digest: &str) -> Result<(), Fault> {
    let sql = "INSERT OR IGNORE INTO blob_names (session, digest) VALUES (?1, ?2)";
    db.prepare_cached(sql)?.execute(params![session.0.as_bytes(), digest])?;
    let sql = "DELETE FROM blob_holds WHERE digest = ?1 AND node = ?2";
    db.prepare_cached(sql)?.execute(params![digest, me.0])?;
    Ok(())
}

fn keep_view(db: &Connection, draft: &Draft, view: &SessionView, last: Link) -> Result<(), Fault> {
    let sql = "UPDATE sessions SET last_seq = ?2, view = ?3, status = ?4, opened_by = ?5,
               active = ?6, closed = ?7, words = ?8, chain = ?9 WHERE id = ?1";
    db.prepare_cached(sql)?.execute(params![
        draft.append.session.0.as_bytes(),
        int(last.seq.0),
        draft.view,
        draft.status,
        draft.opened_by,
        view.last_active_at.as_microsecond(),
        view.cancelled_at.is_some(),
        fold::head_words(view),
        last.chain.0,
    ])?;
    Ok(())
}

fn change_ask(
    db: &Connection,
    session: SessionId,
    pos: i64,
    change: AskChange,
) -> Result<(), Fault> {
    let id = session.0.as_bytes();
    match change {
        AskChange::Raise(ask) => {
            let json = serde_json::to_string(&ask)?;
            // The same number again can only be the core's mistake; the last one counts.
            let sql = "INSERT OR REPLACE INTO asks (pos, session, ask, pending, json)
                       VALUES (?1, ?2, ?3, 1, ?4)";
            db.prepare_cached(sql)?.execute(params![pos, id, ask.ask().0, json])?;
        }
        AskChange::Settle(ask, settlement) => {
            let sql = "SELECT json FROM asks WHERE session = ?1 AND ask = ?2";
            let kept = db
                .prepare_cached(sql)?
                .query_row(params![id, ask.0], |row| row.get::<_, String>(0))
                .optional()?;
            if let Some(kept) = kept {
                let mut view: AskView = serde_json::from_str(&kept)?;
                view.settle(settlement);
                let json = serde_json::to_string(&view)?;
                let sql = "UPDATE asks SET pending = 0, json = ?3 WHERE session = ?1 AND ask = ?2";
                db.prepare_cached(sql)?.execute(params![id, ask.0, json])?;
            }
        }
    }
    Ok(())
}

/// The live owner of a session.
pub(super) fn live_owner(
    db: &Connection,
    run: &Path,
    me: &NodeId,
    session: SessionId,
) -> Result<NodeId, Fault> {
    let row = held(db, session)?.ok_or_else(|| StoreError::NotFound(session.to_string()))?;
    let alive = |it: &NodeId| it == me || lock::is_alive(run, it);
    Ok(row.owner.filter(alive).ok_or(StoreError::NoOwner(session))?)
}

pub(super) fn post(
    db: &Connection,
    hints: &mut Hints,
    run: &Path,
    me: &NodeId,
    posted: &Posted,
) -> Result<(), Fault> {
    let owner = live_owner(db, run, me, posted.session)?;
    let id = posted.id.as_bytes();
    let sql = "SELECT EXISTS (SELECT 1 FROM conclusions WHERE id = ?1)";
    if db.prepare_cached(sql)?.query_row([id], |row| row.get(0))? {
        return Ok(());
    }
    let sql = "SELECT count(*) FROM inbox
               WHERE session IN (SELECT id FROM sessions WHERE owner = ?1)";
    let waiting: i64 = db.prepare_cached(sql)?.query_row([&owner.0], |row| row.get(0))?;
    if waiting >= int(MAX_INBOX as u64) {
        return Err(StoreError::TooMuch { what: "the inbox", limit: MAX_INBOX }.into());
    }
    let json = serde_json::to_string(posted)?;
    let sql = "INSERT OR IGNORE INTO inbox (id, session, poster, json) VALUES (?1, ?2, ?3, ?4)";
    db.prepare_cached(sql)?.execute(params![id, posted.session.0.as_bytes(), me.0, json])?;
    hints.inbox.insert(owner);
    Ok(())
}

pub(super) fn conclude(
    db: &Connection,
    hints: &mut Hints,
    id: Uuid,
    conclusion: &Conclusion,
) -> Result<(), Fault> {
    let sql = "DELETE FROM inbox WHERE id = ?1 RETURNING poster";
    let poster: Option<String> =
        db.prepare_cached(sql)?.query_row([id.as_bytes()], |row| row.get(0)).optional()?;
    let json = serde_json::to_string(conclusion)?;
    let sql = "INSERT OR IGNORE INTO conclusions (id, json) VALUES (?1, ?2)";
    db.prepare_cached(sql)?.execute(params![id.as_bytes(), json])?;
    let sql = "DELETE FROM conclusions WHERE n <= (SELECT max(n) FROM conclusions) - ?1";
    db.prepare_cached(sql)?.execute([int(MAX_CONCLUSIONS as u64)])?;
    // Whose secret it was is nowhere written, so all are told.
    hints.concluded.push((id, poster.map(NodeId)));
    Ok(())
}

pub(super) fn set_presence(
    db: &Connection,
    hints: &mut Hints,
    me: &NodeId,
    presence: &Presence,
) -> Result<(), Fault> {
    let json = serde_json::to_string(presence)?;
    let sql = "UPDATE nodes SET presence = ?2 WHERE node = ?1";
    db.prepare_cached(sql)?.execute(params![me.0, json])?;
    changed(db, hints)
}

pub(super) fn set_interest(
    db: &Connection,
    hints: &mut Hints,
    me: &NodeId,
    interested: bool,
) -> Result<(), Fault> {
    let sql = "UPDATE nodes SET interested = ?2 WHERE node = ?1";
    db.prepare_cached(sql)?.execute(params![me.0, interested])?;
    changed(db, hints)
}

/// Has every node look who is there.
fn changed(db: &Connection, hints: &mut Hints) -> Result<(), Fault> {
    db.prepare_cached("UPDATE roster SET version = version + 1")?.execute([])?;
    hints.presence = true;
    Ok(())
}

pub(super) fn join(
    db: &Connection,
    hints: &mut Hints,
    me: &NodeId,
    socket: &str,
) -> Result<(), Fault> {
    let presence = Presence { program: String::new(), human_surfaces: 0, console: None };
    let sql = "INSERT INTO nodes (node, pid, socket, interested, presence)
               VALUES (?1, ?2, ?3, 0, ?4)";
    let json = serde_json::to_string(&presence)?;
    db.prepare_cached(sql)?.execute(params![me.0, std::process::id(), socket, json])?;
    changed(db, hints)
}

pub(super) fn leave(db: &Connection, hints: &mut Hints, me: &NodeId) -> Result<(), Fault> {
    let sql = "UPDATE sessions SET owner = NULL WHERE owner = ?1";
    db.prepare_cached(sql)?.execute([&me.0])?;
    db.prepare_cached("DELETE FROM blob_holds WHERE node = ?1")?.execute([&me.0])?;
    db.prepare_cached("DELETE FROM nodes WHERE node = ?1")?.execute([&me.0])?;
    changed(db, hints)
}

/// Forgets dead nodes that own nothing, and where the others listened: this may be a copy of a file
/// whose nodes live on.
pub(super) fn bury(db: &Connection, run: &Path) -> Result<(), Fault> {
    let mut nodes = db.prepare("SELECT node FROM nodes")?;
    let nodes = nodes.query_map([], |row| row.get(0).map(NodeId))?;
    for node in nodes {
        let node = node?;
        if !lock::is_alive(run, &node) {
            let sql = "DELETE FROM nodes WHERE node = ?1
                       AND NOT EXISTS (SELECT 1 FROM sessions WHERE owner = ?1)";
            db.execute(sql, [&node.0])?;
            let sql = "UPDATE nodes SET socket = '', interested = 0 WHERE node = ?1";
            db.execute(sql, [&node.0])?;
        }
    }
    db.execute("DELETE FROM blob_holds WHERE node NOT IN (SELECT node FROM nodes)", [])?;
    Ok(())
}

/// Keeps a blob, which is this node's until a log names it.
pub(super) fn put_blob(
    db: &Connection,
    me: &NodeId,
    digest: &str,
    bytes: &[u8],
) -> Result<(), Fault> {
    let sql = "INSERT OR IGNORE INTO blobs (digest, bytes) VALUES (?1, ?2)";
    db.prepare_cached(sql)?.execute(params![digest, bytes])?;
    let sql = "INSERT OR IGNORE INTO blob_holds (digest, node) VALUES (?1, ?2)";
    db.prepare_cached(sql)?.execute(params![digest, me.0])?;
    Ok(())
}

pub(super) fn key(db: &Connection, name: &str, fresh: &[u8; 32]) -> Result<[u8; 32], Fault> {
    let mut select = db.prepare_cached("SELECT bytes FROM keys WHERE name = ?1")?;
    if let Some(kept) = select.query_row([name], |row| row.get(0)).optional()? {
        return Ok(kept);
    }
    let mut count = db.prepare_cached("SELECT count(*) FROM keys")?;
    if count.query_row([], |row| row.get::<_, i64>(0))? >= int(MAX_KEYS as u64) {
        return Err(StoreError::TooMuch { what: "the number of keys", limit: MAX_KEYS }.into());
    }
    let sql = "INSERT INTO keys (name, bytes) VALUES (?1, ?2)";
    db.prepare_cached(sql)?.execute(params![name, fresh])?;
    Ok(*fresh)
}
