-- Format 2: random keys that the nodes of a store share.

CREATE TABLE keys (
    name  TEXT NOT NULL PRIMARY KEY,
    bytes BLOB NOT NULL CHECK (length(bytes) = 32)
) STRICT;
