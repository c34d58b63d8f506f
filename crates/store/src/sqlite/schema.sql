-- The tables of format 1. Sessions and intents are named by the 16 bytes of their UUIDs.

-- The nodes that live, and those that died owning something.
CREATE TABLE nodes (
    node       TEXT    NOT NULL PRIMARY KEY,
    pid        INTEGER NOT NULL,
    -- Where it listens for nudges.
    socket     TEXT    NOT NULL,
    -- Whether it wants the deltas of others.
    interested INTEGER NOT NULL,
    presence   TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

-- One row: rises with each change of `nodes`, so that a writer sees at once whom to nudge.
CREATE TABLE roster (version INTEGER NOT NULL) STRICT;
INSERT INTO roster VALUES (1);

CREATE TABLE sessions (
    id        BLOB    NOT NULL PRIMARY KEY,
    owner     TEXT,
    epoch     INTEGER NOT NULL,
    last_seq  INTEGER NOT NULL,
    -- The view without its owner; null until the first event, as are the columns taken from it.
    view      TEXT,
    status    TEXT,
    opened_by TEXT,
    -- When it was last active, in microseconds.
    active    INTEGER,
    closed    INTEGER,
    -- Title and directory, in small letters.
    words     TEXT
) STRICT;
CREATE INDEX sessions_by_activity ON sessions (active, id) WHERE view IS NOT NULL;
CREATE INDEX sessions_by_owner ON sessions (owner) WHERE owner IS NOT NULL;

-- What was prompted, in small letters; apart, because most appends don't change it.
CREATE TABLE prompts (
    session BLOB NOT NULL PRIMARY KEY,
    words   TEXT NOT NULL
) STRICT;

CREATE TABLE snapshots (
    session BLOB    NOT NULL PRIMARY KEY,
    seq     INTEGER NOT NULL,
    json    TEXT    NOT NULL
) STRICT;

-- The logs and the feed in one: `pos` is the place in the feed, never given twice.
CREATE TABLE events (
    pos     INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    session BLOB    NOT NULL,
    seq     INTEGER NOT NULL,
    json    TEXT    NOT NULL,
    UNIQUE (session, seq)
) STRICT;

-- Where in the feed the last event of each deleted session was.
CREATE TABLE forgotten (pos INTEGER NOT NULL PRIMARY KEY) STRICT;

-- `pos` is where in the feed the ask was raised.
CREATE TABLE asks (
    pos     INTEGER NOT NULL PRIMARY KEY,
    session BLOB    NOT NULL,
    ask     INTEGER NOT NULL,
    pending INTEGER NOT NULL,
    json    TEXT    NOT NULL,
    UNIQUE (session, ask)
) STRICT;
CREATE INDEX asks_pending ON asks (pos) WHERE pending;

-- Belongs to whoever owns the session.
CREATE TABLE inbox (
    n       INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id      BLOB    NOT NULL UNIQUE,
    session BLOB    NOT NULL,
    poster  TEXT    NOT NULL,
    json    TEXT    NOT NULL
) STRICT;
CREATE INDEX inbox_by_session ON inbox (session);

CREATE TABLE conclusions (
    n    INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id   BLOB    NOT NULL UNIQUE,
    json TEXT    NOT NULL
) STRICT;

CREATE TABLE blobs (
    digest TEXT NOT NULL PRIMARY KEY,
    bytes  BLOB NOT NULL
) STRICT;
