-- Format 3: chained logs, the signed heads of their chains, and which blobs are named where.
-- The chains of what is there already are computed by the program, and so are the names of blobs.

-- Takes the place of `events` once it is filled. A node of an older Pilothouse that still has the file
-- open is refused, since it would leave the chain out.
CREATE TABLE chained (
    pos     INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    session BLOB    NOT NULL,
    seq     INTEGER NOT NULL,
    json    TEXT    NOT NULL,
    chain   BLOB    NOT NULL,
    UNIQUE (session, seq)
) STRICT;
-- That of the last event; null before the first.
ALTER TABLE sessions ADD COLUMN chain BLOB;

CREATE TABLE heads (
    session   BLOB    NOT NULL,
    seq       INTEGER NOT NULL,
    chain     BLOB    NOT NULL,
    key       BLOB    NOT NULL,
    signature BLOB    NOT NULL,
    PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;

-- The ends of logs that were deleted, so that a head kept elsewhere is not missed in vain. Unsigned if
-- `key` is null. The latest ones.
CREATE TABLE deleted (
    n         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    session   BLOB    NOT NULL UNIQUE,
    seq       INTEGER NOT NULL,
    chain     BLOB    NOT NULL,
    key       BLOB,
    signature BLOB
) STRICT;

-- Sessions that are gone but for some of their events.
CREATE TABLE doomed (session BLOB NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;

-- Which blobs the logs name.
CREATE TABLE blob_names (
    session BLOB NOT NULL,
    digest  TEXT NOT NULL,
    PRIMARY KEY (session, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_names_by_digest ON blob_names (digest);

-- Blobs that a node has kept and may yet name.
CREATE TABLE blob_holds (
    digest TEXT NOT NULL,
    node   TEXT NOT NULL,
    PRIMARY KEY (digest, node)
) STRICT, WITHOUT ROWID;
