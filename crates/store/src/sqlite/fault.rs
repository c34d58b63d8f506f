//! What can go wrong with a SQLite file, told so that a person knows what to do.

use std::{io, path::Path};

use rusqlite::{ErrorCode, ffi};

use crate::StoreError;

/// Why a piece of work on the file failed.
#[derive(Debug)]
pub(super) enum Fault {
    /// The contract says no.
    Refused(StoreError),
    /// SQLite failed.
    Sql(rusqlite::Error),
    /// What is kept is not what was written, or can't be written.
    Json(serde_json::Error),
}

impl From<StoreError> for Fault {
    fn from(err: StoreError) -> Self {
        Self::Refused(err)
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(err: rusqlite::Error) -> Self {
        Self::Sql(err)
    }
}

impl From<serde_json::Error> for Fault {
    fn from(err: serde_json::Error) -> Self {
        Self::Json(err)
    }
}

impl Fault {
    /// Says it to whoever wanted the work done.
    pub(super) fn explain(self, path: &Path, doing: &'static str) -> StoreError {
        match self {
            Self::Refused(err) => err,
            Self::Json(source) => StoreError::Engine { doing, source: Box::new(source) },
            Self::Sql(source) => match problem(&source) {
                Some(Problem::Full) => StoreError::Full { path: path.to_owned() },
                Some(Problem::Unusable(problem)) => unusable(path, problem),
                None => StoreError::Engine { doing, source: Box::new(source) },
            },
        }
    }
}

enum Problem {
    Full,
    Unusable(&'static str),
}

fn problem(err: &rusqlite::Error) -> Option<Problem> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others are not about the file")]
    match err.sqlite_error_code()? {
        ErrorCode::DiskFull => Some(Problem::Full),
        // SQLite knows only "no space" as full; a quota or a limit on the file's size is the same
        // to whoever has to do something about it.
        ErrorCode::SystemIoFailure => {
            let full = [ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_IOERR_SHMSIZE];
            let code = err.sqlite_error().map(|it| it.extended_code);
            code.is_some_and(|it| full.contains(&it)).then_some(Problem::Full)
        }
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => Some(Problem::Unusable(READ_ONLY)),
        ErrorCode::CannotOpen => Some(Problem::Unusable(
            "it cannot be opened; see that its directory exists and belongs to this user",
        )),
        ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt => Some(Problem::Unusable(
            "it is damaged, or no store of Pilothouse; put a backup in its place, or move it away \
             to begin with an empty one",
        )),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Some(Problem::Unusable(
            "another program keeps it locked; close that program, then try again",
        )),
        _ => None,
    }
}

/// What to do about a file that may only be read.
pub(super) const READ_ONLY: &str =
    "it may not be written; make it and its directory writable for this user, or name another file";

/// The file can't be used.
pub(super) fn unusable(path: &Path, problem: impl Into<String>) -> StoreError {
    StoreError::Unusable { path: path.to_owned(), problem: problem.into() }
}

/// The file system failed.
pub(super) fn io(path: &Path, err: &io::Error) -> StoreError {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the system says what the others are")]
    match err.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            StoreError::Full { path: path.to_owned() }
        }
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            unusable(path, READ_ONLY)
        }
        _ => unusable(path, format!("{err}; see that its directory can be used")),
    }
}
