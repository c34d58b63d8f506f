//! From a path to connections: the file, its directory, and how SQLite is told to treat them.

use std::{
    fs::{self, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};

use super::{
    SqliteConfig,
    fault::{self, Fault, READ_ONLY, unusable},
    lock, migrate, upkeep,
};
use crate::StoreError;

/// Most bytes that the write-ahead log keeps on disk once it is done with.
const MAX_LOG_BYTES: i64 = 64 * 1024 * 1024;
/// Most statements that a connection keeps ready.
const STATEMENTS: usize = 64;

/// Makes the directories, and gives the file's true name and the directory where nodes meet: whoever
/// comes by another name must meet the others there.
pub(super) fn directories(
    path: &Path,
    config: &SqliteConfig,
) -> Result<(PathBuf, PathBuf), StoreError> {
    if path.is_dir() {
        return Err(unusable(path, "it is a directory; name a file in it"));
    }
    let io = |err| fault::io(path, &err);
    let path = if path.exists() {
        path.canonicalize().map_err(io)?
    } else {
        let dir = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
        lock::private_dir(dir)?;
        let name = path.file_name().ok_or_else(|| unusable(path, "it names no file"))?;
        dir.canonicalize().map_err(io)?.join(name)
    };
    let run = config.run_dir.clone().unwrap_or_else(|| path.with_file_name("run"));
    lock::private_dir(&run)?;
    lock::make_private(&run)?;
    // One name for it too, because long ones are hashed.
    let run = run.canonicalize().map_err(|err| fault::io(&run, &err))?;
    Ok((path, run))
}

/// Opens the file for the first time in this process, and brings it to the current format.
pub(super) fn first(path: &Path, config: &SqliteConfig) -> Result<Connection, StoreError> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match made {
        Ok(file) => {
            file.sync_all().map_err(|err| fault::io(path, &err))?;
            upkeep::sync_dir(path)?;
        }
        Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {}
        Err(err) => return Err(fault::io(path, &err)),
    }
    let metadata = fs::metadata(path).map_err(|err| fault::io(path, &err))?;
    // The superuser could write it all the same, but somebody meant it.
    if metadata.permissions().readonly() {
        return Err(unusable(path, READ_ONLY));
    }
    let mut db = connect(path, config)?;
    migrate::migrate(&mut db, path)?;
    // After the format is known to be ours; the logs that SQLite adds take the file's permissions.
    lock::make_private(path)?;
    let explain = |err: rusqlite::Error| Fault::from(err).explain(path, "preparing the file");
    let journal: String = db
        .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
        .map_err(explain)?;
    if journal != "wal" {
        let problem = "its file system can't share it between processes; put it on a local disk";
        return Err(unusable(path, problem));
    }
    Ok(db)
}

/// One more connection.
pub(super) fn connect(path: &Path, config: &SqliteConfig) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).and_then(|mut db| {
        let patience = config.patience;
        db.busy_handler(Some(move |nth| wait(nth, patience)))?;
        // What has been told must survive the loss of power.
        db.pragma_update(None, "synchronous", "FULL")?;
        db.pragma_update(None, "trusted_schema", false)?;
        // What is deleted is overwritten: it may be what somebody wanted gone.
        db.pragma_update_and_check(None, "secure_delete", true, |_| Ok(()))?;
        db.pragma_update_and_check(None, "journal_size_limit", MAX_LOG_BYTES, |_| Ok(()))?;
        if let Some(pages) = config.max_pages {
            db.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
        }
        db.set_prepared_statement_cache_capacity(STATEMENTS);
        Ok(db)
    });
    db.map_err(|err| Fault::from(err).explain(path, "opening the file"))
}

const STEP: Duration = Duration::from_micros(500);

/// Waits for another writer. SQLite's own waits grow to a tenth of a second, far beyond what a
/// transaction of ours takes.
fn wait(nth: i32, patience: Duration) -> bool {
    let waited = STEP.saturating_mul(u32::try_from(nth).unwrap_or(u32::MAX));
    if waited > patience {
        return false;
    }
    thread::sleep(STEP);
    true
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn every_connection_waits_for_the_disk() {
        let dir = TempDir::new().expect("a directory");
        let path = dir.path().join("pilothouse.db");
        let config = SqliteConfig::default();
        let first = first(&path, &config).expect("the file is new");
        let second = connect(&path, &config).expect("the file is there");
        for (pragma, expected) in [("synchronous", 2), ("secure_delete", 1), ("trusted_schema", 0)]
        {
            for db in [&first, &second] {
                let found = db.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
                assert_eq!(found, Ok(expected), "{pragma}");
            }
        }
    }
}
