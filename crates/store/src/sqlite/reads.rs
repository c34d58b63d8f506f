//! What each method of the store reads.

use std::path::Path;

use pilothouse_core::{AskRef, AskView, Cursor, Envelope, Seq, Session, SessionId, SessionView};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::de::{DeserializeOwned, Error as _};
use uuid::Uuid;

use super::{fault::Fault, lock, writes::int};
use crate::{
    AskFilter, Conclusion, FeedEntry, FeedPage, Listing, MAX_FEED_BYTES, MAX_PAGE_BYTES, NodeId,
    NodeView, Page, Posted, SessionFilter,
    listing::{self, SessionPlace},
};

/// The value of a query that gives at most one, kept as JSON.
fn one<T: DeserializeOwned>(
    db: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
) -> Result<Option<T>, Fault> {
    let kept =
        db.prepare_cached(sql)?.query_row(params, |row| row.get::<_, String>(0)).optional()?;
    Ok(kept.map(|it| serde_json::from_str(&it)).transpose()?)
}

/// Fills a page with rows, up to its bounds; gives whether there are more.
struct Filling {
    limit: usize,
    most: usize,
    rows: usize,
    bytes: usize,
}

impl Filling {
    /// At most so many rows, of at most so many bytes.
    fn new(limit: usize, most: usize) -> Self {
        Self { limit: listing::page(limit), most, rows: 0, bytes: 0 }
    }

    /// How many rows to ask for: one more tells whether there are more.
    fn wanted(&self) -> i64 {
        int(self.limit as u64) + 1
    }

    /// Whether there is room for the next one.
    fn takes(&mut self, bytes: usize) -> bool {
        self.bytes += bytes;
        let fits = self.rows < self.limit && (self.rows == 0 || self.bytes <= self.most);
        self.rows += 1;
        fits
    }
}

pub(super) fn read(
    db: &Connection,
    session: SessionId,
    after: Seq,
    limit: usize,
) -> Result<Page, Fault> {
    let mut filling = Filling::new(limit, MAX_PAGE_BYTES);
    let sql = "SELECT json FROM events WHERE session = ?1 AND seq > ?2
               AND session NOT IN (SELECT session FROM doomed) ORDER BY seq LIMIT ?3";
    let mut select = db.prepare_cached(sql)?;
    let mut rows = select.query(params![session.0.as_bytes(), int(after.0), filling.wanted()])?;
    let mut res = Page { events: vec![], more: false };
    while let Some(row) = rows.next()? {
        let json = text(row, 0)?;
        if !filling.takes(json.len()) {
            res.more = true;
            break;
        }
        res.events.push(serde_json::from_str(json)?);
    }
    Ok(res)
}

fn text<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a str, Fault> {
    // Bytes that are no text can only have come there behind the store's back.
    let kept = row.get_ref(column)?.as_str();
    kept.map_err(|err| Fault::Json(serde_json::Error::custom(err)))
}

pub(super) fn head(db: &Connection) -> Result<Cursor, Fault> {
    let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'events'";
    let head = db.prepare_cached(sql)?.query_row([], |row| row.get::<_, i64>(0)).optional()?;
    Ok(Cursor(head.unwrap_or(0).cast_unsigned()))
}

pub(super) fn feed(db: &Connection, after: Cursor, limit: usize) -> Result<FeedPage, Fault> {
    // One moment for all that is read here.
    let _moment = db.unchecked_transaction()?;
    let head = head(db)?;
    if after > head {
        return Ok(FeedPage { entries: vec![], next: head, more: false, reset: true });
    }
    let mut filling = Filling::new(limit, MAX_FEED_BYTES);
    let sql = "SELECT pos, session, json FROM events WHERE pos > ?1
               AND session NOT IN (SELECT session FROM doomed) ORDER BY pos LIMIT ?2";
    let mut select = db.prepare_cached(sql)?;
    let mut rows = select.query(params![int(after.0), filling.wanted()])?;
    let mut res = FeedPage { entries: vec![], next: after, more: false, reset: false };
    while let Some(row) = rows.next()? {
        let json = text(row, 2)?;
        if !filling.takes(json.len()) {
            res.more = true;
            break;
        }
        res.next = Cursor(row.get::<_, i64>(0)?.cast_unsigned());
        res.entries.push(FeedEntry {
            cursor: res.next,
            session_id: SessionId(Uuid::from_bytes(row.get(1)?)),
            envelope: serde_json::from_str(json)?,
        });
    }
    if !res.more {
        // Places at the end may belong to sessions that were deleted.
        res.next = head;
    }
    if after.0 > 0 {
        let sql = "SELECT EXISTS (SELECT 1 FROM forgotten WHERE pos > ?1 AND pos <= ?2)";
        let passed = params![int(after.0), int(res.next.0)];
        res.reset = db.prepare_cached(sql)?.query_row(passed, |row| row.get(0))?;
    }
    Ok(res)
}

pub(super) fn snapshot(db: &Connection, session: SessionId) -> Result<Option<Session>, Fault> {
    one(db, "SELECT json FROM snapshots WHERE session = ?1", [session.0.as_bytes()])
}

pub(super) fn owner(db: &Connection, session: SessionId) -> Result<Option<NodeId>, Fault> {
    let sql = "SELECT owner FROM sessions WHERE id = ?1";
    let owner: Option<Option<String>> =
        db.prepare_cached(sql)?.query_row([session.0.as_bytes()], |row| row.get(0)).optional()?;
    Ok(owner.flatten().map(NodeId))
}

pub(super) fn sessions(
    db: &Connection,
    filter: &SessionFilter,
    limit: usize,
    cursor: Option<&str>,
) -> Result<Listing<SessionView>, Fault> {
    let before = cursor.map(SessionPlace::read).transpose()?;
    let opened_by = filter.opened_by.as_ref().map(serde_json::to_string).transpose()?;
    let status: Vec<_> =
        filter.status.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    let status = (!status.is_empty()).then(|| serde_json::to_string(&status)).transpose()?;
    let words = listing::words(filter.search.as_deref());
    let words = (!words.is_empty()).then(|| serde_json::to_string(&words)).transpose()?;
    let limit = listing::page(limit);
    let sql = "SELECT view, owner FROM sessions WHERE view IS NOT NULL
        AND (?1 IS NULL OR (active, id) < (?1, ?2))
        AND (?3 IS NULL OR opened_by = ?3)
        AND (?4 IS NULL OR status IN (SELECT value FROM json_each(?4)))
        AND (?5 IS NULL OR NOT EXISTS (
            SELECT 1 FROM json_each(?5) WHERE instr(sessions.words || char(10) || coalesce(
                (SELECT prompts.words FROM prompts WHERE prompts.session = sessions.id), ''
            ), value) = 0))
        ORDER BY active DESC, id DESC LIMIT ?6";
    let mut select = db.prepare_cached(sql)?;
    let mut rows = select.query(params![
        before.map(|it| it.active),
        before.map(|it| *it.session.0.as_bytes()),
        opened_by,
        status,
        words,
        int(limit as u64) + 1,
    ])?;
    let mut res = Listing { rows: vec![], next: None };
    while let Some(row) = rows.next()? {
        if res.rows.len() == limit {
            let place = |it: &SessionView| SessionPlace {
                active: it.last_active_at.as_microsecond(),
                session: it.session_id,
            };
            res.next = res.rows.last().map(|it| place(it).write());
            break;
        }
        res.rows.push(view(row)?);
    }
    Ok(res)
}

/// A session from its view and its owner.
fn view(row: &Row<'_>) -> Result<SessionView, Fault> {
    let mut res: SessionView = serde_json::from_str(text(row, 0)?)?;
    res.node = row.get(1)?;
    Ok(res)
}

pub(super) fn session(db: &Connection, session: SessionId) -> Result<Option<SessionView>, Fault> {
    let sql = "SELECT view, owner FROM sessions WHERE id = ?1 AND view IS NOT NULL";
    let mut select = db.prepare_cached(sql)?;
    let mut rows = select.query([session.0.as_bytes()])?;
    rows.next()?.map(view).transpose()
}

const ASKS: &str = "SELECT asks.json, json_extract(sessions.view, '$.title'), asks.pos FROM asks
    CROSS JOIN sessions ON sessions.id = asks.session WHERE ";

/// An ask with its session's title.
fn ask_view(row: &Row<'_>) -> Result<AskView, Fault> {
    let mut res: AskView = serde_json::from_str(text(row, 0)?)?;
    res.session_title = row.get(1)?;
    Ok(res)
}

pub(super) fn asks(
    db: &Connection,
    filter: &AskFilter,
    limit: usize,
    cursor: Option<&str>,
) -> Result<Listing<AskView>, Fault> {
    let before = cursor.map(listing::read_ask_place).transpose()?;
    let opened_by = filter.opened_by.as_ref().map(serde_json::to_string).transpose()?;
    let limit = listing::page(limit);
    // Said apart, so that each uses its index.
    let of_session = if filter.session.is_some() { "asks.session = ?1" } else { "?1 IS NULL" };
    let pending = if filter.pending { "asks.pending" } else { "1" };
    let sql = format!(
        "{ASKS} {of_session} AND {pending} AND (?2 IS NULL OR asks.pos < ?2)
        AND (?3 IS NULL OR sessions.opened_by = ?3) ORDER BY asks.pos DESC LIMIT ?4"
    );
    let mut select = db.prepare_cached(&sql)?;
    let mut rows = select.query(params![
        filter.session.map(|it| *it.0.as_bytes()),
        before.map(int),
        opened_by,
        int(limit as u64) + 1,
    ])?;
    let mut res = Listing { rows: vec![], next: None };
    let mut last = 0_i64;
    while let Some(row) = rows.next()? {
        if res.rows.len() == limit {
            res.next = Some(listing::write_ask_place(last.cast_unsigned()));
            break;
        }
        last = row.get(2)?;
        res.rows.push(ask_view(row)?);
    }
    Ok(res)
}

pub(super) fn ask(db: &Connection, ask: AskRef) -> Result<Option<AskView>, Fault> {
    let mut select = db.prepare_cached(&format!("{ASKS} asks.session = ?1 AND asks.ask = ?2"))?;
    let mut rows = select.query(params![ask.session.0.as_bytes(), ask.ask.0])?;
    rows.next()?.map(ask_view).transpose()
}

pub(super) fn inbox(db: &Connection, me: &NodeId) -> Result<Vec<Posted>, Fault> {
    let sql = "SELECT json FROM inbox
               WHERE session IN (SELECT id FROM sessions WHERE owner = ?1) ORDER BY n";
    let mut select = db.prepare_cached(sql)?;
    let mut rows = select.query([&me.0])?;
    let mut res = vec![];
    while let Some(row) = rows.next()? {
        res.push(serde_json::from_str(text(row, 0)?)?);
    }
    Ok(res)
}

pub(super) fn conclusion(db: &Connection, id: Uuid) -> Result<Option<Conclusion>, Fault> {
    one(db, "SELECT json FROM conclusions WHERE id = ?1", [id.as_bytes()])
}

/// Where a node listens.
pub(super) fn socket(db: &Connection, node: &NodeId) -> Result<Option<String>, Fault> {
    let sql = "SELECT socket FROM nodes WHERE node = ?1";
    Ok(db.prepare_cached(sql)?.query_row([&node.0], |row| row.get(0)).optional()?)
}

pub(super) fn nodes(db: &Connection, run: &Path, me: &NodeId) -> Result<Vec<NodeView>, Fault> {
    let sql = "SELECT node, pid, presence, EXISTS (SELECT 1 FROM sessions WHERE owner = node)
               FROM nodes ORDER BY node";
    let mut select = db.prepare_cached(sql)?;
    let mut rows = select.query([])?;
    let mut res = vec![];
    while let Some(row) = rows.next()? {
        let node = NodeId(row.get(0)?);
        let alive = node == *me || lock::is_alive(run, &node);
        let owns: bool = row.get(3)?;
        if alive || owns {
            let presence = serde_json::from_str(text(row, 2)?)?;
            res.push(NodeView { node, pid: row.get(1)?, alive, presence });
        }
    }
    Ok(res)
}

pub(super) fn blob(db: &Connection, digest: &str) -> Result<Option<Vec<u8>>, Fault> {
    let sql = "SELECT bytes FROM blobs WHERE digest = ?1";
    Ok(db.prepare_cached(sql)?.query_row([digest], |row| row.get(0)).optional()?)
}

/// Every event of a session, one after the other, each with the number under which it is kept.
pub(super) fn each_event(
    db: &Connection,
    session: [u8; 16],
    mut visit: impl FnMut(Seq, &Envelope),
) -> Result<(), Fault> {
    let mut select =
        db.prepare_cached("SELECT json, seq FROM events WHERE session = ?1 ORDER BY seq")?;
    let mut rows = select.query([session])?;
    while let Some(row) = rows.next()? {
        let seq = Seq(row.get::<_, i64>(1)?.cast_unsigned());
        visit(seq, &serde_json::from_str(text(row, 0)?)?);
    }
    Ok(())
}
