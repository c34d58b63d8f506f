//! Whether logs are what was recorded, and if not, where.

use std::{collections::BTreeSet, fmt};

use pilothouse_core::{Seq, SessionId};
use rusqlite::Connection;
use serde::Serialize;

use super::{counts::Counts, log::Log, traces};
use crate::{MAX_FINDINGS, PublicKey, SignedHead, sqlite::fault::Fault};

/// What a verification may believe, because it was kept elsewhere.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    /// Whose signatures count, and must be there. If it is empty any do, which proves less.
    pub keys: BTreeSet<PublicKey>,
    /// Heads that were exported earlier.
    pub heads: Vec<SignedHead>,
}

/// What a verification came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// How many sessions were looked at.
    pub sessions: u64,
    /// How many events they have.
    pub events: u64,
    /// How many decisions and endings have a genuine signature.
    pub signed: u64,
    /// How many have none and need none, for they are older than the signing: a later end of the log
    /// could have been rewritten together with its chain.
    pub unsigned: u64,
    /// Whether decisions and deletions must be signed: there is a key, or a signature. If not,
    /// nothing can be known of what was deleted.
    pub signing: bool,
    /// How many exported heads agree with the logs.
    pub heads: u64,
    /// What is wrong, at most [`MAX_FINDINGS`].
    pub findings: Vec<Finding>,
}

/// Something that is not as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The session; nothing if it is about the store as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The event where it shows; nothing if it is about the session as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<Seq>,
    /// What kind of thing is wrong.
    pub problem: Problem,
    /// In words.
    pub detail: String,
}

/// What kind of thing is wrong with a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Problem {
    /// An event, or its link of the chain, is not what was recorded.
    Changed,
    /// Events in the middle are gone.
    Removed,
    /// An event stands in the place of another.
    Moved,
    /// Events at the end are gone, or the whole log.
    Cut,
    /// The log and its chain were made anew: a signed head says otherwise.
    Rewritten,
    /// A signature was not made by its key.
    Forged,
    /// A signature was made by a key that is not trusted.
    ForeignKey,
    /// The log belongs to no session, or its session says that it ends elsewhere.
    Unlisted,
    /// A decision or an ending that should have a signature has none.
    Unsigned,
    /// A session was deleted, or is said to be, without a signature.
    Deleted,
    /// Signatures were taken away from the store.
    Missing,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.session {
            Some(session) => write!(f, "{session}")?,
            None => f.write_str("the store")?,
        }
        if let Some(seq) = self.seq {
            write!(f, ", event {}", seq.0)?;
        }
        write!(f, ": {}", self.detail)
    }
}

pub(super) fn verify(
    db: &Connection,
    session: Option<SessionId>,
    trust: &Trust,
) -> Result<Verdict, Fault> {
    let signing = !trust.keys.is_empty() || signs(db)?;
    let mut res = Verdict { signing, ..Verdict::default() };
    let mut counts = Counts::default();
    let mut ids: BTreeSet<_> = match session {
        Some(session) => [session].into(),
        None => traces(db)?.into_iter().collect(),
    };
    let exported = trust.heads.iter().map(|it| it.session);
    ids.extend(exported.filter(|it| session.is_none_or(|only| only == *it)));
    for id in ids {
        let mut log = Log::new(id, trust, signing);
        log.read(db)?;
        log.end(db)?;
        counts.add(&log);
        res.sessions += u64::from(log.n_events > 0);
        res.events += log.n_events;
        res.signed += log.n_signed;
        res.unsigned += log.n_unsigned;
        res.heads += log.n_heads;
        res.findings.extend(log.findings);
        if res.findings.len() >= MAX_FINDINGS {
            break;
        }
    }
    if session.is_none() && res.findings.len() < MAX_FINDINGS {
        res.findings.extend(counts.compare(db, trust, res.events > 0)?);
    }
    res.findings.truncate(MAX_FINDINGS);
    Ok(res)
}

/// Whether anyone has signed anything here.
fn signs(db: &Connection) -> Result<bool, Fault> {
    let sql = "SELECT EXISTS (SELECT 1 FROM tallies) OR EXISTS (SELECT 1 FROM heads)";
    Ok(db.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// What is wrong with one session's log, without anything from elsewhere.
pub(in crate::sqlite) fn verify_session(
    db: &Connection,
    session: SessionId,
) -> Result<Vec<Finding>, Fault> {
    Ok(verify(db, Some(session), &Trust::default())?.findings)
}
