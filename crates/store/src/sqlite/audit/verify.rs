//! Whether logs are what was recorded, and if not, where.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use pilothouse_core::{Seq, SessionId};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::{Kept, each, gap, head, sessions, signed, tombstone};
use crate::{
    Link, MAX_FINDINGS, PublicKey, SignedHead,
    sqlite::{fault::Fault, removal},
};

/// What a verification may believe, because it was kept elsewhere.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    /// Whose signatures count. If it is empty any do, which proves less.
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
    /// How many have none: a later end of the log could have been rewritten together with its chain.
    pub unsigned: u64,
    /// How many exported heads agree with the logs.
    pub heads: u64,
    /// What is wrong, at most [`MAX_FINDINGS`].
    pub findings: Vec<Finding>,
}

/// Something that is not as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The session.
    pub session: SessionId,
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
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.seq {
            Some(seq) => write!(f, "{}, event {}: {}", self.session, seq.0, self.detail),
            None => write!(f, "{}: {}", self.session, self.detail),
        }
    }
}

/// What of an event tells where it belongs and whether its head is signed.
#[derive(Deserialize)]
struct Slip {
    seq: Seq,
    event: Kind,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    name: String,
}

/// The events whose heads are signed, as [`crate::chain::is_signed`] says.
const SIGNED: [&str; 2] = ["askSettled", "closed"];

pub(super) fn verify(
    db: &Connection,
    session: Option<SessionId>,
    trust: &Trust,
) -> Result<Verdict, Fault> {
    let mut res = Verdict::default();
    let mut ids: BTreeSet<_> = match session {
        Some(session) => [session].into(),
        None => sessions(db)?.into_iter().collect(),
    };
    let exported = trust.heads.iter().map(|it| it.session);
    ids.extend(exported.filter(|it| session.is_none_or(|only| only == *it)));
    for id in ids {
        let mut log = Log::new(id, trust);
        log.read(db)?;
        log.end(db)?;
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
    res.findings.truncate(MAX_FINDINGS);
    Ok(res)
}

/// What is wrong with one session's log, without anything from elsewhere.
pub(in crate::sqlite) fn verify_session(
    db: &Connection,
    session: SessionId,
) -> Result<Vec<Finding>, Fault> {
    Ok(verify(db, Some(session), &Trust::default())?.findings)
}

/// A session's log as far as it was read.
struct Log<'a> {
    id: SessionId,
    trust: &'a Trust,
    /// What must be so, by the number of the event. Several at one place when they were exported.
    heads: BTreeMap<Seq, Vec<(SignedHead, Origin)>>,
    last: Link,
    /// The last link may belong to another event, so the next one can't be held to it.
    in_doubt: bool,
    n_events: u64,
    n_signed: u64,
    n_unsigned: u64,
    n_heads: u64,
    findings: Vec<Finding>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Store,
    Export,
}

impl<'a> Log<'a> {
    fn new(id: SessionId, trust: &'a Trust) -> Self {
        Self {
            id,
            trust,
            heads: BTreeMap::new(),
            last: Link::genesis(id),
            in_doubt: false,
            n_events: 0,
            n_signed: 0,
            n_unsigned: 0,
            n_heads: 0,
            findings: vec![],
        }
    }

    fn find(&mut self, seq: impl Into<Option<Seq>>, problem: Problem, detail: impl Into<String>) {
        if self.findings.len() < MAX_FINDINGS {
            let (session, seq, detail) = (self.id, seq.into(), detail.into());
            self.findings.push(Finding { session, seq, problem, detail });
        }
    }

    fn read(&mut self, db: &Connection) -> Result<(), Fault> {
        for (_, head) in signed(db, self.id)? {
            self.take_head(head, Origin::Store);
        }
        let (id, trust) = (self.id, self.trust);
        for head in trust.heads.iter().filter(|it| it.session == id) {
            self.take_head(*head, Origin::Export);
        }
        if removal::is_doomed(db, id)? {
            // What is left of it is on its way out.
            return Ok(());
        }
        each(db, self.id, |kept| self.next(kept))
    }

    /// Believes a head if whoever should have signed it has.
    fn take_head(&mut self, head: SignedHead, origin: Origin) {
        let place = match origin {
            Origin::Store => "the signed head that is kept",
            Origin::Export => "the exported head",
        };
        if !head.is_genuine() {
            let detail = format!("{place} for this event has no genuine signature");
            self.find(head.seq, Problem::Forged, detail);
        } else if !self.trust.keys.is_empty() && !self.trust.keys.contains(&head.key) {
            let detail =
                format!("{place} for this event was signed by the unknown key {}", head.key);
            self.find(head.seq, Problem::ForeignKey, detail);
        } else {
            self.heads.entry(head.seq).or_default().push((head, origin));
        }
    }

    fn next(&mut self, kept: Kept<'_>) {
        let Kept { seq, json, chain } = kept;
        self.n_events += 1;
        let expected = self.last.seq.next();
        let follows = seq == expected && !self.in_doubt;
        if seq > expected {
            let missing = gap(expected, Seq(seq.0 - 1));
            self.find(expected, Problem::Removed, format!("{missing} missing"));
        } else if seq < expected {
            self.find(seq, Problem::Moved, "its number is none that an event can have");
        }
        let slip: Option<Slip> = serde_json::from_str(json).ok();
        let own = slip.as_ref().map(|it| it.seq);
        self.in_doubt = own.is_some_and(|it| it != seq);
        match (own, chain) {
            (Some(own), _) if own != seq => {
                let detail = format!("event {} stands in its place", own.0);
                self.find(seq, Problem::Moved, detail);
            }
            (_, None) => self.find(seq, Problem::Changed, "it has no link of the chain"),
            // After a gap its own link can't be computed; what follows is held to it.
            (None, Some(_)) => self.find(seq, Problem::Changed, "it is no event that can be read"),
            (Some(_), Some(chain)) if follows && self.last.next(json).chain != chain => {
                self.find(seq, Problem::Changed, "it is not what was recorded");
            }
            (Some(_), Some(_)) => {}
        }
        self.last = Link { seq, chain: chain.unwrap_or_else(|| self.last.next(json).chain) };
        let is_signed = slip.is_some_and(|it| SIGNED.contains(&it.event.name.as_str()));
        let heads = self.heads.remove(&seq).unwrap_or_default();
        let by_store = heads.iter().any(|(_, origin)| *origin == Origin::Store);
        let mut rewritten = false;
        for (head, origin) in heads {
            if head.chain == self.last.chain {
                self.n_signed += u64::from(origin == Origin::Store);
                self.n_heads += u64::from(origin == Origin::Export);
            } else {
                rewritten = true;
            }
        }
        if rewritten {
            let detail = "the log up to here is not what was signed";
            self.find(seq, Problem::Rewritten, detail);
        }
        self.n_unsigned += u64::from(is_signed && !by_store);
    }

    /// Compares where the log ends with where it should.
    fn end(&mut self, db: &Connection) -> Result<(), Fault> {
        let listed = head(db, self.id)?;
        if self.n_events == 0
            && listed.is_none()
            && let Some(tombstone) = tombstone(db, self.id)?
        {
            self.buried(tombstone.last, tombstone.signed);
            return Ok(());
        }
        let ends = listed.into_iter().chain(self.heads.values().flatten().map(|it| it.0.link()));
        let last = ends.map(|it| it.seq).max().unwrap_or_default();
        if last > self.last.seq {
            let missing = gap(self.last.seq.next(), last);
            let detail = format!("{missing} missing at the log's end");
            self.find(self.last.seq.next(), Problem::Cut, detail);
        } else if let Some(listed) = listed
            && self.n_events > 0
            && listed != self.last
        {
            let detail =
                format!("its session says that the log ends otherwise, at {}", listed.seq.0);
            self.find(self.last.seq, Problem::Unlisted, detail);
        }
        if listed.is_none() && self.n_events > 0 {
            self.find(None, Problem::Unlisted, "its log belongs to no session");
        }
        Ok(())
    }

    /// The session was deleted as a whole: what is known of it must agree with what was deleted.
    fn buried(&mut self, last: Link, signed: Option<SignedHead>) {
        let known: Vec<_> = self.heads.values().flatten().map(|it| it.0.link()).collect();
        if let Some(signed) = signed {
            self.take_head(signed, Origin::Store);
        }
        for link in known {
            if link.seq > last.seq {
                let missing = gap(last.seq.next(), link.seq);
                let detail = format!("{missing} missing at the log's end, which was then deleted");
                self.find(last.seq.next(), Problem::Cut, detail);
            } else if link.seq == last.seq && link.chain != last.chain {
                let detail = "the log that was deleted is not what was signed";
                self.find(link.seq, Problem::Rewritten, detail);
            } else {
                self.n_heads += 1;
            }
        }
    }
}
