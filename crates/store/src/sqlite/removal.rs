//! How sessions are deleted: at once for whoever looks, and in small steps on the disk, because
//! others want to write meanwhile.

use jiff::Timestamp;
use pilothouse_core::SessionId;
use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use super::{fault::Fault, ledger, nudge::Hints, writes::held};
use crate::{Signer, StoreError};

/// Most events that one step deletes: about ten milliseconds' work.
const STEP_EVENTS: i64 = 500;
/// Most bytes of blobs that one step deletes, unless its first blob alone is larger.
const STEP_BYTES: i64 = 4 * 1024 * 1024;

/// Takes a closed session out of every list; its events and blobs are left to [`purge`].
pub(super) fn doom(
    db: &Connection,
    hints: &mut Hints,
    session: SessionId,
    signer: Option<&dyn Signer>,
) -> Result<(), Fault> {
    let id = session.0.as_bytes();
    let sql = "SELECT coalesce(closed, 1) FROM sessions WHERE id = ?1";
    let closed = db.prepare_cached(sql)?.query_row([id], |row| row.get(0)).optional()?;
    match closed {
        None => return Err(StoreError::NotFound(session.to_string()).into()),
        Some(false) => return Err(StoreError::Open(session).into()),
        Some(true) => {}
    }
    if let Some(held) = held(db, session)?
        && held.last.seq.0 > 0
    {
        ledger::bury(db, session, held.last, signer)?;
    }
    let statements = [
        "INSERT INTO forgotten SELECT max(pos) FROM events WHERE session = ?1 HAVING count(*) > 0",
        "INSERT INTO doomed (session) VALUES (?1)",
        "DELETE FROM asks WHERE session = ?1",
        "DELETE FROM inbox WHERE session = ?1",
        "DELETE FROM snapshots WHERE session = ?1",
        "DELETE FROM prompts WHERE session = ?1",
        "DELETE FROM heads WHERE session = ?1",
        "DELETE FROM sessions WHERE id = ?1",
    ];
    for sql in statements {
        db.prepare_cached(sql)?.execute([id])?;
    }
    hints.feed.insert(session);
    Ok(())
}

/// Whether a session is being deleted.
pub(super) fn is_doomed(db: &Connection, session: SessionId) -> Result<bool, Fault> {
    let sql = "SELECT EXISTS (SELECT 1 FROM doomed WHERE session = ?1)";
    Ok(db.prepare_cached(sql)?.query_row([session.0.as_bytes()], |row| row.get(0))?)
}

/// Takes one step of deleting what is doomed; gives whether there is more to do.
pub(super) fn purge(db: &Connection) -> Result<bool, Fault> {
    // What is listed was never deleted by us, whoever says so.
    let sql = "SELECT session FROM doomed WHERE session NOT IN (SELECT id FROM sessions) LIMIT 1";
    let mut select = db.prepare_cached(sql)?;
    let Some(id) = select.query_row([], |row| row.get::<_, [u8; 16]>(0)).optional()? else {
        return Ok(false);
    };
    // The last ones first: whatever is left is the beginning of a log.
    let sql = "DELETE FROM events WHERE pos IN
               (SELECT pos FROM events WHERE session = ?1 ORDER BY seq DESC LIMIT ?2)";
    if db.prepare_cached(sql)?.execute(params![id, STEP_EVENTS])? > 0 {
        return Ok(true);
    }
    if purge_blobs(db, id)? {
        return Ok(true);
    }
    db.prepare_cached("DELETE FROM doomed WHERE session = ?1")?.execute([id])?;
    Ok(true)
}

/// Deletes some of the blobs that nobody else names or is about to name; gives whether there were any.
fn purge_blobs(db: &Connection, id: [u8; 16]) -> Result<bool, Fault> {
    let sql =
        "SELECT digest, coalesce((SELECT length(bytes) FROM blobs WHERE digest = it.digest), 0)
               FROM blob_names AS it WHERE session = ?1 LIMIT ?2";
    let mut select = db.prepare_cached(sql)?;
    let mut named = select.query(params![id, STEP_EVENTS])?;
    let (mut n_bytes, mut res) = (0, false);
    while let Some(row) = named.next()? {
        let (digest, length): (String, i64) = (row.get(0)?, row.get(1)?);
        n_bytes += length;
        if res && n_bytes > STEP_BYTES {
            break;
        }
        res = true;
        let sql = "DELETE FROM blob_names WHERE session = ?1 AND digest = ?2";
        db.prepare_cached(sql)?.execute(params![id, digest])?;
        let sql = "DELETE FROM blobs WHERE digest = ?1
                   AND NOT EXISTS (SELECT 1 FROM blob_names WHERE digest = ?1)
                   AND NOT EXISTS (SELECT 1 FROM blob_holds WHERE digest = ?1)";
        db.prepare_cached(sql)?.execute([digest])?;
    }
    Ok(res)
}

/// Dooms the oldest session that was closed and last active before a time; gives whether there was one.
pub(super) fn retire(
    db: &Connection,
    hints: &mut Hints,
    before: Timestamp,
    signer: Option<&dyn Signer>,
) -> Result<bool, Fault> {
    let sql = "SELECT id FROM sessions WHERE view IS NOT NULL AND closed AND active < ?1
               ORDER BY active LIMIT 1";
    let mut select = db.prepare_cached(sql)?;
    let oldest = select.query_row([before.as_microsecond()], |row| row.get::<_, [u8; 16]>(0));
    let Some(id) = oldest.optional()? else { return Ok(false) };
    doom(db, hints, SessionId(Uuid::from_bytes(id)), signer)?;
    Ok(true)
}
