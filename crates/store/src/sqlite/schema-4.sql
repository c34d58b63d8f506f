-- Format 4: signed heads are numbered, and each key keeps a signed tally of what it signed.

-- The head's number among those of its key; null for what an older Pilothouse signed without one.
ALTER TABLE heads ADD COLUMN n INTEGER;
-- Whether it says where the log ended when signing began, rather than what was decided.
ALTER TABLE heads ADD COLUMN base INTEGER NOT NULL DEFAULT 0;

-- One for each key that signs here.
CREATE TABLE tallies (
    key       BLOB    NOT NULL PRIMARY KEY,
    -- How many numbers it gave to heads.
    signed    INTEGER NOT NULL,
    -- How many numbered heads, of any key, it removed together with their sessions.
    removed   INTEGER NOT NULL,
    -- How many deletions it signed.
    deleted   INTEGER NOT NULL,
    signature BLOB    NOT NULL
) STRICT, WITHOUT ROWID;
