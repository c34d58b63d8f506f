//! What is done to a whole file while others go on: to compare it with itself, to copy it.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use pilothouse_core::{AskState, AskView, Session, SessionId, SessionView};
use rusqlite::{Connection, OptionalExtension};
use uuid::Uuid;

use super::{
    audit,
    fault::{self, Fault, unusable},
    reads, writes,
};
use crate::{MAX_FINDINGS, StoreError, fold::Refold};

/// Compares what is folded with the logs, and the file with its own rules.
pub(super) fn check(db: &Connection) -> Result<Vec<String>, Fault> {
    // One moment for all.
    let _moment = db.unchecked_transaction()?;
    let mut res = vec![];
    let mut rules = db.prepare("PRAGMA integrity_check(100)")?;
    for line in rules.query_map([], |row| row.get::<_, String>(0))? {
        let line = line?;
        if line != "ok" {
            res.push(format!("the file: {line}"));
        }
    }
    let mut ids = db.prepare("SELECT id FROM sessions")?;
    for id in ids.query_map([], |row| row.get::<_, [u8; 16]>(0))? {
        res.extend(check_session(db, id?)?);
        if res.len() >= MAX_FINDINGS {
            break;
        }
    }
    let sql = "SELECT count(*) FROM events WHERE session NOT IN (SELECT id FROM sessions)
               AND session NOT IN (SELECT session FROM doomed)";
    let strays: i64 = db.query_row(sql, [], |row| row.get(0))?;
    if strays > 0 {
        res.push(format!("{strays} events belong to no session"));
    }
    let sql = "SELECT session, digest FROM blob_names
               WHERE digest NOT IN (SELECT digest FROM blobs) AND session IN (SELECT id FROM sessions)";
    let mut missing = db.prepare(sql)?;
    let missing = missing.query_map([], |row| Ok((row.get::<_, [u8; 16]>(0)?, row.get(1)?)))?;
    for row in missing {
        let (session, digest): (_, String) = row?;
        let id = SessionId(Uuid::from_bytes(session));
        res.push(format!("{id}: the blob {digest}, which its log names, is missing"));
    }
    res.truncate(MAX_FINDINGS);
    Ok(res)
}

fn check_session(db: &Connection, bytes: [u8; 16]) -> Result<Vec<String>, Fault> {
    let id = SessionId(Uuid::from_bytes(bytes));
    let unreadable = |what: &str| format!("{id}: {what} can't be read");
    let mut res = vec![];
    let sql = "SELECT view, last_seq, status, opened_by, active, closed FROM sessions
               WHERE id = ?1";
    let (view, last_seq, listed) = db.query_row(sql, [bytes], |row| {
        let listed = (row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?);
        Ok((row.get::<_, Option<String>>(0)?, row.get::<_, i64>(1)?, listed))
    })?;
    let view: Option<SessionView> = match view.map(|it| serde_json::from_str(&it)).transpose() {
        Ok(view) => view,
        Err(_) => return Ok(vec![unreadable("what is listed of it")]),
    };
    let snapshot = db
        .query_row("SELECT json FROM snapshots WHERE session = ?1", [bytes], |row| {
            row.get::<_, String>(0)
        })
        .optional()?;
    let snapshot: Option<Session> = match snapshot.map(|it| serde_json::from_str(&it)).transpose() {
        Ok(snapshot) => snapshot,
        Err(_) => return Ok(vec![unreadable("its snapshot")]),
    };
    let mut refold = Refold::default();
    let mut met = snapshot.is_none();
    let read = reads::each_event(db, bytes, |seq, envelope| {
        if envelope.seq != seq {
            refold.problems.push(format!("event {} is kept as event {}", envelope.seq.0, seq.0));
        }
        refold.apply(id, envelope);
        if let Some(snapshot) = &snapshot
            && snapshot.seq() == envelope.seq
        {
            met = *snapshot == refold.session;
        }
    });
    match read {
        Ok(()) => {}
        Err(Fault::Json(_)) => {
            res.push(unreadable("an event of its log"));
            res.extend(broken(db, id)?);
            return Ok(res);
        }
        Err(fault) => return Err(fault),
    }
    if !met {
        res.push(format!("{id}: its snapshot is not what its log says"));
    }
    if writes::int(refold.session.seq().0) != last_seq {
        res.push(format!("{id}: its log does not end where it should"));
    }
    if columns(view.as_ref())? != listed {
        res.push(format!("{id}: it is not listed where it should be"));
    }
    match asks(db, bytes)? {
        Some(asks) => res.extend(refold.compare(id, view.as_ref(), asks)),
        None => res.push(unreadable("one of its requests, or where it is listed,")),
    }
    res.extend(broken(db, id)?);
    Ok(res)
}

/// Where a session's log is not what its chain says.
fn broken(db: &Connection, session: SessionId) -> Result<Vec<String>, Fault> {
    let findings = audit::verify_session(db, session)?;
    Ok(findings.iter().map(ToString::to_string).collect())
}

/// What a session is listed by: status, opener, activity, whether it is closed.
type Columns = (Option<String>, Option<String>, Option<i64>, Option<bool>);

fn columns(view: Option<&SessionView>) -> Result<Columns, Fault> {
    let Some(view) = view else { return Ok(Columns::default()) };
    Ok((
        Some(serde_json::to_string(&view.status)?),
        Some(serde_json::to_string(&view.opened_by)?),
        Some(view.last_active_at.as_microsecond()),
        Some(view.cancelled_at.is_some()),
    ))
}

/// The asks of a session as they are kept, if they can be read and are listed as what they are.
fn asks(db: &Connection, session: [u8; 16]) -> Result<Option<Vec<AskView>>, Fault> {
    let mut select = db.prepare_cached("SELECT json, pending FROM asks WHERE session = ?1")?;
    let rows = select.query_map([session], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
    let mut res = vec![];
    for row in rows {
        let (json, pending): (_, bool) = row?;
        match serde_json::from_str::<AskView>(&json) {
            Ok(ask) if pending == (ask.state == AskState::Pending) => res.push(ask),
            Ok(_) | Err(_) => return Ok(None),
        }
    }
    Ok(Some(res))
}

/// Copies everything to a new file.
pub(super) fn backup(db: &Connection, to: &Path) -> Result<(), StoreError> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to);
    made.map_err(|err| {
        if err.kind() == io::ErrorKind::AlreadyExists {
            unusable(to, "it is there already; name a new file")
        } else {
            fault::io(to, &err)
        }
    })?;
    let copied = copy(db, to);
    if copied.is_err() {
        // Half a copy is worse than none.
        fs::remove_file(to).ok();
    }
    copied
}

fn copy(db: &Connection, to: &Path) -> Result<(), StoreError> {
    let Some(name) = to.to_str() else {
        return Err(unusable(to, "its name is not UTF-8; name another file"));
    };
    let copied = db.execute("VACUUM INTO ?1", [name]);
    copied.map_err(|err| Fault::from(err).explain(to, "copying the store"))?;
    let synced = File::open(to).and_then(|it| it.sync_all());
    synced.map_err(|err| fault::io(to, &err))?;
    sync_dir(to)
}

/// Makes a new name last.
pub(super) fn sync_dir(file: &Path) -> Result<(), StoreError> {
    let dir = file.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let synced = File::open(dir).and_then(|it| it.sync_all());
    synced.map_err(|err| fault::io(dir, &err))
}
