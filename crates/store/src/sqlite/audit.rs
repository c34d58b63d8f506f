//! A store's file read on its own, without joining its nodes and without writing: for those who want
//! to know whether its logs are what was recorded.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use pilothouse_core::{Seq, SessionId};
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use uuid::Uuid;

use super::{
    fault::{Fault, unusable},
    migrate,
};
use crate::{Bytes, Link, PublicKey, Role, SignedHead, StoreError};

mod counts;
mod log;
mod verify;

pub(super) use verify::verify_session;
pub use verify::{Finding, Problem, Trust, Verdict};

/// How long to wait for another program that keeps the file locked.
const PATIENCE: Duration = Duration::from_secs(10);

/// A store's file as it was at one moment.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    db: Connection,
}

/// An event as it is kept.
#[derive(Debug, Clone, Copy)]
pub struct Kept<'a> {
    /// The number under which it is kept.
    pub seq: Seq,
    /// Its JSON, byte for byte.
    pub json: &'a str,
    /// Its link of the chain, if it has one.
    pub chain: Option<Bytes<32>>,
}

/// What is left of a session that was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tombstone {
    /// Its last event.
    pub last: Link,
    /// The same, signed, if there was a signer.
    pub signed: Option<SignedHead>,
}

impl LogFile {
    /// Opens a file for reading only.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let doing = "opening the file";
        if !path.is_file() {
            return Err(unusable(path, "there is no such file; name the store's file"));
        }
        let db = match connect(path, false) {
            Ok(db) => db,
            // Nobody has it open, and where it lies nothing can be written beside it, as SQLite would.
            Err(Fault::Sql(_)) if !beside(path, "-wal").exists() => {
                connect(path, true).map_err(|it| it.explain(path, doing))?
            }
            Err(fault) => return Err(fault.explain(path, doing)),
        };
        let res = Self { path: path.to_owned(), db };
        let found = res.db.pragma_query_value(None, "user_version", |row| row.get::<_, i32>(0));
        let found = found.map_err(|err| Fault::from(err).explain(path, doing))?;
        let known = migrate::format();
        if found < known {
            let problem = format!(
                "it has format {found}, whose logs are not chained and signed as they are now; open it \
                 with this version once, such as with `pilothouse store check`"
            );
            return Err(unusable(path, problem));
        }
        if found > known {
            let problem = format!("it has format {found}; install the newer version that wrote it");
            return Err(unusable(path, problem));
        }
        Ok(res)
    }

    /// The sessions that have logs, or of which there are traces, in the order of their names; those
    /// that are being deleted are not.
    pub fn sessions(&self) -> Result<Vec<SessionId>, StoreError> {
        self.told("listing sessions", sessions(&self.db))
    }

    /// Visits every event of a session, in the order of their numbers.
    pub fn each(&self, session: SessionId, visit: impl FnMut(Kept<'_>)) -> Result<(), StoreError> {
        self.told("reading a session's log", each(&self.db, session, visit))
    }

    /// Where a session's log ends, as its row says.
    pub fn head(&self, session: SessionId) -> Result<Option<Link>, StoreError> {
        self.told("reading a log's head", head(&self.db, session))
    }

    /// The signed heads of a session, by their events' numbers.
    pub fn signed(&self, session: SessionId) -> Result<BTreeMap<Seq, SignedHead>, StoreError> {
        self.told("reading signed heads", signed(&self.db, session))
    }

    /// What is left of a session that was deleted.
    pub fn tombstone(&self, session: SessionId) -> Result<Option<Tombstone>, StoreError> {
        self.told("looking for a deleted session", tombstone(&self.db, session))
    }

    /// Compares logs with their chains, and these with signed heads: of one session, or of all.
    pub fn verify(&self, session: Option<SessionId>, trust: &Trust) -> Result<Verdict, StoreError> {
        self.told("verifying the logs", verify::verify(&self.db, session, trust))
    }

    fn told<T>(&self, doing: &'static str, res: Result<T, Fault>) -> Result<T, StoreError> {
        res.map_err(|it| it.explain(&self.path, doing))
    }
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut res = path.as_os_str().to_owned();
    res.push(end);
    res.into()
}

fn connect(path: &Path, immutable: bool) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = if immutable {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        // In a URI these would mean something.
        let name = path.to_string_lossy().replace('%', "%25").replace('?', "%3f");
        let uri = format!("file:{}?immutable=1", name.replace('#', "%23"));
        Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?
    } else {
        Connection::open_with_flags(path, flags)?
    };
    db.busy_timeout(PATIENCE)?;
    db.pragma_update(None, "trusted_schema", false)?;
    // One moment for all that is read.
    db.execute_batch("BEGIN")?;
    db.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(db)
}

fn sessions(db: &Connection) -> Result<Vec<SessionId>, Fault> {
    let sql = "SELECT id FROM sessions WHERE last_seq > 0
               UNION SELECT DISTINCT session FROM events UNION SELECT DISTINCT session FROM heads
               EXCEPT SELECT session FROM doomed WHERE session NOT IN (SELECT id FROM sessions)";
    ids(db, sql)
}

/// Whatever has left a trace, the deleted ones too.
fn traces(db: &Connection) -> Result<Vec<SessionId>, Fault> {
    let sql = "SELECT id FROM sessions WHERE last_seq > 0
               UNION SELECT DISTINCT session FROM events UNION SELECT DISTINCT session FROM heads
               UNION SELECT session FROM deleted UNION SELECT session FROM doomed";
    ids(db, sql)
}

fn ids(db: &Connection, sql: &str) -> Result<Vec<SessionId>, Fault> {
    let mut select = db.prepare(sql)?;
    let ids = select.query_map([], |row| row.get(0).map(Uuid::from_bytes).map(SessionId))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

fn each(db: &Connection, session: SessionId, mut visit: impl FnMut(Kept<'_>)) -> Result<(), Fault> {
    let sql = "SELECT seq, json, chain FROM events WHERE session = ?1 ORDER BY seq";
    let mut select = db.prepare_cached(sql)?;
    let mut rows = select.query([session.0.as_bytes()])?;
    while let Some(row) = rows.next()? {
        let seq = Seq(row.get::<_, i64>(0)?.cast_unsigned());
        // What is no text any more is not what was written.
        let json = row.get_ref(1)?.as_str().unwrap_or_default();
        let chain = row.get_ref(2)?.as_blob().ok().and_then(|it| it.try_into().ok()).map(Bytes);
        visit(Kept { seq, json, chain });
    }
    Ok(())
}

fn head(db: &Connection, session: SessionId) -> Result<Option<Link>, Fault> {
    let sql = "SELECT last_seq, chain FROM sessions WHERE id = ?1 AND last_seq > 0";
    let mut select = db.prepare_cached(sql)?;
    let mut rows = select.query([session.0.as_bytes()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let seq = Seq(row.get::<_, i64>(0)?.cast_unsigned());
    let chain = row.get_ref(1)?.as_blob().ok().and_then(|it| it.try_into().ok());
    Ok(Some(Link { seq, chain: Bytes(chain.unwrap_or_default()) }))
}

pub(super) fn signed(
    db: &Connection,
    session: SessionId,
) -> Result<BTreeMap<Seq, SignedHead>, Fault> {
    let sql = "SELECT seq, chain, key, signature, n, base FROM heads WHERE session = ?1";
    let mut select = db.prepare_cached(sql)?;
    let mut rows = select.query([session.0.as_bytes()])?;
    let mut res = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let seq = Seq(row.get::<_, i64>(0)?.cast_unsigned());
        // What has another length was not signed by anyone, and is told as that.
        let chain = Bytes(row.get(1).unwrap_or_default());
        let key: PublicKey = Bytes(row.get(2).unwrap_or_default());
        let signature = Bytes(row.get(3).unwrap_or([0; 64]));
        let n = row.get::<_, Option<i64>>(4)?.map(i64::cast_unsigned);
        let role = match (n, row.get(5)?) {
            (None, _) => Role::End,
            (Some(n), false) => Role::Kept { n },
            (Some(n), true) => Role::Base { n },
        };
        res.insert(seq, SignedHead { session, seq, chain, key, signature, role });
    }
    Ok(res)
}

fn tombstone(db: &Connection, session: SessionId) -> Result<Option<Tombstone>, Fault> {
    let sql = "SELECT seq, chain, key, signature FROM deleted WHERE session = ?1";
    let row = db.prepare_cached(sql)?.query_row(params![session.0.as_bytes()], |row| {
        let last = Link {
            seq: Seq(row.get::<_, i64>(0)?.cast_unsigned()),
            chain: Bytes(row.get(1).unwrap_or_default()),
        };
        let key: Option<[u8; 32]> = row.get(2).unwrap_or_default();
        let signature: Option<[u8; 64]> = row.get(3).unwrap_or_default();
        let signed = key.zip(signature).map(|(key, signature)| SignedHead {
            session,
            seq: last.seq,
            chain: last.chain,
            key: Bytes(key),
            signature: Bytes(signature),
            role: Role::Deleted,
        });
        Ok(Tombstone { last, signed })
    });
    Ok(row.optional()?)
}

/// Names events as the subject of a sentence.
fn gap(from: Seq, to: Seq) -> String {
    if from == to {
        format!("event {} is", from.0)
    } else {
        format!("events {} to {} are", from.0, to.0)
    }
}
