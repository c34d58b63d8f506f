//! What a key has signed in a store, counted and signed itself, so that it shows when a signature is
//! taken away.
//!
//! Heads get numbers, from 1 without a gap for each key. A tally says how many were given, how many
//! heads went with sessions that were deleted, and how many deletions there were. So what is left
//! can be counted.

use pilothouse_core::{Seq, SessionId};
use rusqlite::{Connection, params};
use uuid::Uuid;

use super::{audit, fault::Fault, writes::int};
use crate::{Bytes, Link, MAX_DELETED, PublicKey, Role, SignedHead, Signer, chain};

/// What the signed message of a tally begins with; its three numbers follow, as 8 bytes each.
const SIGNED_TALLY: &[u8] = b"pilothouse tally 1\n";

/// What one key has signed in the store.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tally {
    /// Whose it is.
    pub(super) key: PublicKey,
    /// How many heads it numbered.
    pub(super) signed: u64,
    /// How many numbered heads, of any key, it removed with their sessions.
    pub(super) removed: u64,
    /// How many deletions it signed.
    pub(super) deleted: u64,
    signature: Bytes<64>,
}

impl Tally {
    fn message(&self) -> Vec<u8> {
        let numbers = [self.signed, self.removed, self.deleted].map(u64::to_be_bytes);
        [SIGNED_TALLY, &numbers.concat()].concat()
    }

    /// Whether its key signed it.
    pub(super) fn is_genuine(&self) -> bool {
        chain::is_signed_by(&self.key, &self.message(), &self.signature)
    }

    /// The tally of a key. What is not genuine is not continued: to sign it would make it so.
    fn of(db: &Connection, key: PublicKey) -> Result<Option<Self>, Fault> {
        Ok(tallies(db)?.into_iter().find(|it| it.key == key && it.is_genuine()))
    }

    fn continued(db: &Connection, signer: &dyn Signer) -> Result<Self, Fault> {
        let key = signer.key();
        let fresh = Self { key, signed: 0, removed: 0, deleted: 0, signature: Bytes([0; 64]) };
        Ok(Self::of(db, key)?.unwrap_or(fresh))
    }

    fn keep(mut self, db: &Connection, signer: &dyn Signer) -> Result<(), Fault> {
        self.signature = signer.sign(&self.message());
        let sql = "INSERT OR REPLACE INTO tallies (key, signed, removed, deleted, signature)
                   VALUES (?1, ?2, ?3, ?4, ?5)";
        db.prepare_cached(sql)?.execute(params![
            self.key.0,
            int(self.signed),
            int(self.removed),
            int(self.deleted),
            self.signature.0
        ])?;
        Ok(())
    }
}

/// The tallies of all keys: as many as there are homes that share the file.
pub(super) fn tallies(db: &Connection) -> Result<Vec<Tally>, Fault> {
    let mut select =
        db.prepare_cached("SELECT key, signed, removed, deleted, signature FROM tallies")?;
    let rows = select.query_map([], |row| {
        Ok(Tally {
            // What has another length was not signed by anyone.
            key: Bytes(row.get(0).unwrap_or_default()),
            signed: row.get::<_, i64>(1)?.cast_unsigned(),
            removed: row.get::<_, i64>(2)?.cast_unsigned(),
            deleted: row.get::<_, i64>(3)?.cast_unsigned(),
            signature: Bytes(row.get(4).unwrap_or([0; 64])),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// When a key first signs in a store, it takes what is there as it is: it signs where each log ends,
/// and what was deleted.
pub(super) fn begin(db: &Connection, signer: &dyn Signer) -> Result<(), Fault> {
    if Tally::of(db, signer.key())?.is_some() {
        return Ok(());
    }
    let mut tally = Tally::continued(db, signer)?;
    let row = |row: &rusqlite::Row<'_>| {
        let session = SessionId(Uuid::from_bytes(row.get(0)?));
        let seq = Seq(row.get::<_, i64>(1)?.cast_unsigned());
        Ok((session, Link { seq, chain: Bytes(row.get(2)?) }))
    };
    let sql = "SELECT id, last_seq, chain FROM sessions AS it
               WHERE last_seq > 0 AND chain IS NOT NULL AND NOT EXISTS
               (SELECT 1 FROM heads WHERE session = it.id AND seq = it.last_seq AND n IS NOT NULL)";
    let ends: Vec<_> = db.prepare(sql)?.query_map([], row)?.collect::<Result<_, _>>()?;
    for (session, link) in ends {
        tally.signed += 1;
        keep_head(db, session, link, Role::Base { n: tally.signed }, signer)?;
    }
    let sql = "SELECT session, seq, chain FROM deleted WHERE key IS NULL OR key = ?1";
    let gone: Vec<_> =
        db.prepare(sql)?.query_map([signer.key().0], row)?.collect::<Result<_, _>>()?;
    for (session, link) in gone {
        tally.deleted += 1;
        let head = link.sign_as(Role::Deleted, session, signer);
        let sql = "UPDATE deleted SET key = ?2, signature = ?3 WHERE session = ?1";
        db.execute(sql, params![session.0.as_bytes(), head.key.0, head.signature.0])?;
    }
    tally.keep(db, signer)
}

/// Signs what was decided, and counts it.
pub(super) fn sign(
    db: &Connection,
    session: SessionId,
    link: Link,
    signer: &dyn Signer,
) -> Result<(), Fault> {
    let mut tally = Tally::continued(db, signer)?;
    tally.signed += 1;
    keep_head(db, session, link, Role::Kept { n: tally.signed }, signer)?;
    tally.keep(db, signer)
}

fn keep_head(
    db: &Connection,
    session: SessionId,
    link: Link,
    role: Role,
    signer: &dyn Signer,
) -> Result<(), Fault> {
    let head = link.sign_as(role, session, signer);
    let sql = "INSERT OR REPLACE INTO heads (session, seq, chain, key, signature, n, base)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    db.prepare_cached(sql)?.execute(params![
        head.session.0.as_bytes(),
        int(head.seq.0),
        head.chain.0,
        head.key.0,
        head.signature.0,
        role.number().map(int),
        matches!(role, Role::Base { .. }),
    ])?;
    Ok(())
}

/// Keeps where a log ended that is deleted now, signed before anything of it goes, and removes its
/// signed heads.
pub(super) fn bury(
    db: &Connection,
    session: SessionId,
    last: Link,
    signer: Option<&dyn Signer>,
) -> Result<(), Fault> {
    let id = session.0.as_bytes();
    let head = signer.map(|it| last.sign_as(Role::Deleted, session, it));
    if let Some(signer) = signer {
        let mut tally = Tally::continued(db, signer)?;
        // What somebody else put there must not make up for what is missing elsewhere.
        let counts = |it: &&SignedHead| it.role.number().is_some() && it.is_genuine();
        let removed = audit::signed(db, session)?;
        tally.removed += removed.values().filter(counts).count() as u64;
        let sql = "SELECT EXISTS (SELECT 1 FROM deleted WHERE session = ?1)";
        let again: bool = db.prepare_cached(sql)?.query_row([id], |row| row.get(0))?;
        tally.deleted += u64::from(!again);
        tally.keep(db, signer)?;
    }
    let sql = "INSERT OR REPLACE INTO deleted (session, seq, chain, key, signature)
               VALUES (?1, ?2, ?3, ?4, ?5)";
    db.prepare_cached(sql)?.execute(params![
        id,
        int(last.seq.0),
        last.chain.0,
        head.map(|it| it.key.0),
        head.map(|it| it.signature.0),
    ])?;
    let sql = "DELETE FROM deleted WHERE n <= (SELECT max(n) FROM deleted) - ?1";
    db.prepare_cached(sql)?.execute([int(MAX_DELETED as u64)])?;
    db.prepare_cached("DELETE FROM heads WHERE session = ?1")?.execute([id])?;
    Ok(())
}
