//! Brings a file to the format that this version writes.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::fault::{Fault, unusable};
use crate::StoreError;

/// The steps from an empty file, one format each. A step that was released never changes.
const STEPS: [&str; 2] = [include_str!("schema.sql"), include_str!("schema-2.sql")];
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
    let all = || -> Result<(), rusqlite::Error> {
        for step in steps {
            tx.execute_batch(step)?;
        }
        tx.pragma_update(None, "application_id", APPLICATION)?;
        tx.pragma_update(None, "user_version", i64::try_from(STEPS.len()).unwrap_or(0))
    };
    all().and_then(|()| tx.commit()).map_err(|err| explain(err.into()))
}
