//! Brings a file to the format that this version writes.

use std::path::Path;

use pilothouse_core::SessionId;
use rusqlite::{Connection, TransactionBehavior, params};
use uuid::Uuid;

use super::fault::{Fault, unusable};
use crate::{Link, StoreError, fold};

/// From one format to the next: statements, and what only a program can do.
struct Step {
    sql: &'static str,
    then: fn(&Connection) -> Result<(), Fault>,
}

/// The steps from an empty file, one format each. A step that was released never changes.
const STEPS: [Step; 4] = [
    Step { sql: include_str!("schema.sql"), then: |_| Ok(()) },
    Step { sql: include_str!("schema-2.sql"), then: |_| Ok(()) },
    Step { sql: include_str!("schema-3.sql"), then: chain },
    Step { sql: include_str!("schema-4.sql"), then: |_| Ok(()) },
];
/// Most events that are held in memory while older ones are chained.
const PAGE: i64 = 500;
/// Says that a SQLite file is ours: "PHSE".
const APPLICATION: i32 = 0x5048_5345;

/// Brings the file to the current format, or says why that can't be.
pub(super) fn migrate(db: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let explain = |fault: Fault| fault.explain(path, "bringing the file to the current format");
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate);
    let tx = tx.map_err(|err| explain(err.into()))?;
    let int = |pragma: &str| tx.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
    let found = || -> Result<_, rusqlite::Error> {
        let tables = "SELECT count(*) FROM sqlite_schema";
        let tables: i32 = tx.query_row(tables, [], |row| row.get(0))?;
        Ok((int("user_version")?, int("application_id")?, tables))
    };
    let (version, application, tables) = found().map_err(|err| explain(err.into()))?;
    if application != APPLICATION && (application != 0 || tables > 0) {
        let problem = "it belongs to another program; name another file";
        return Err(unusable(path, problem));
    }
    let Some(steps) = usize::try_from(version).ok().and_then(|it| STEPS.get(it..)) else {
        let problem = format!(
            "it was written by a newer Pilothouse (format {version}; this one knows up to {}); \
             install the newer version, or name another file",
            STEPS.len()
        );
        return Err(unusable(path, problem));
    };
    if steps.is_empty() {
        return Ok(());
    }
    let all = || -> Result<(), Fault> {
        for step in steps {
            tx.execute_batch(step.sql)?;
            (step.then)(&tx)?;
        }
        tx.pragma_update(None, "application_id", APPLICATION)?;
        Ok(tx.pragma_update(None, "user_version", i64::try_from(STEPS.len()).unwrap_or(0))?)
    };
    all().and_then(|()| Ok(tx.commit()?)).map_err(explain)
}

/// The format that this version writes.
pub(super) fn format() -> i32 {
    i32::try_from(STEPS.len()).unwrap_or(i32::MAX)
}

/// Chains the logs that are there, and notes which blobs they name.
fn chain(db: &Connection) -> Result<(), Fault> {
    let mut ids = db.prepare("SELECT DISTINCT session FROM events")?;
    let ids: Vec<[u8; 16]> = ids.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let sql = "SELECT pos, seq, json FROM events WHERE session = ?1 AND seq > ?2
               ORDER BY seq LIMIT ?3";
    let mut select = db.prepare(sql)?;
    let sql = "INSERT INTO chained (pos, session, seq, json, chain) VALUES (?1, ?2, ?3, ?4, ?5)";
    let mut insert = db.prepare(sql)?;
    let mut name =
        db.prepare("INSERT OR IGNORE INTO blob_names (session, digest) VALUES (?1, ?2)")?;
    for id in ids {
        let mut link = Link::genesis(SessionId(Uuid::from_bytes(id)));
        let mut last = 0_i64;
        loop {
            let rows = select.query_map(params![id, last, PAGE], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?))
            })?;
            let page: Vec<_> = rows.collect::<Result<_, _>>()?;
            let Some((_, end, _)) = page.last() else { break };
            last = *end;
            for (pos, seq, json) in &page {
                link = link.next(json);
                insert.execute(params![pos, id, seq, json, link.chain.0])?;
                for digest in fold::blob_names(json) {
                    name.execute(params![id, digest])?;
                }
            }
        }
        db.execute("UPDATE sessions SET chain = ?2 WHERE id = ?1", params![id, link.chain.0])?;
    }
    drop((select, insert, name));
    // No place in the feed is given twice, even if the last ones belong to sessions that were deleted.
    let sql = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'events'";
    let last: i64 = db.query_row(sql, [], |row| row.get(0))?;
    db.execute_batch(
        "DROP TABLE events; ALTER TABLE chained RENAME TO events;
         DELETE FROM sqlite_sequence WHERE name IN ('events', 'chained')",
    )?;
    db.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('events', ?1)", [last])?;
    Ok(())
}
