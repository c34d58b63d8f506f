//! One session's log, compared with its chain, its signed heads and what the store lists.

use std::collections::{BTreeMap, BTreeSet};

use pilothouse_core::{Seq, SessionId};
use rusqlite::Connection;
use serde::Deserialize;

use super::{Finding, Kept, Problem, Tombstone, Trust, each, gap, head, signed, tombstone};
use crate::{
    Link, MAX_FINDINGS, PublicKey, Role, SignedHead,
    sqlite::{fault::Fault, removal},
};

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

/// A session's log as far as it was read.
pub(super) struct Log<'a> {
    id: SessionId,
    trust: &'a Trust,
    /// Whether decisions must be signed.
    signing: bool,
    /// What must be so, by the number of the event. Several at one place when they were exported.
    heads: BTreeMap<Seq, Vec<(SignedHead, Origin)>>,
    last: Link,
    /// The decisions that have signed heads in the store, genuine or not.
    kept: BTreeSet<Seq>,
    /// Whether the store has any signed head of it.
    any_kept: bool,
    /// Up to here decisions are older than the signing.
    base: Seq,
    /// Where it ended when it was deleted, if that can be believed.
    grave: Option<Link>,
    /// Whether the store says that it is being deleted.
    doomed: bool,
    /// The last link may belong to another event, so the next one can't be held to it.
    in_doubt: bool,
    pub(super) n_events: u64,
    pub(super) n_signed: u64,
    pub(super) n_unsigned: u64,
    pub(super) n_heads: u64,
    /// The numbers of its signed heads, and whose they are.
    pub(super) numbers: Vec<(PublicKey, u64)>,
    pub(super) findings: Vec<Finding>,
    pub(super) is_buried: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Store,
    Export,
}

impl<'a> Log<'a> {
    pub(super) fn new(id: SessionId, trust: &'a Trust, signing: bool) -> Self {
        Self {
            id,
            trust,
            signing,
            kept: BTreeSet::new(),
            any_kept: false,
            base: Seq(0),
            grave: None,
            doomed: false,
            numbers: vec![],
            is_buried: false,
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
            let (session, seq, detail) = (Some(self.id), seq.into(), detail.into());
            self.findings.push(Finding { session, seq, problem, detail });
        }
    }

    pub(super) fn read(&mut self, db: &Connection) -> Result<(), Fault> {
        for (seq, head) in signed(db, self.id)? {
            self.any_kept = true;
            if !matches!(head.role, Role::Base { .. }) {
                self.kept.insert(seq);
            }
            self.numbers.extend(head.role.number().map(|n| (head.key, n)));
            self.take_head(head, Origin::Store);
        }
        let (id, trust) = (self.id, self.trust);
        for head in trust.heads.iter().filter(|it| it.session == id) {
            self.take_head(*head, Origin::Export);
        }
        self.doomed = removal::is_doomed(db, id)?;
        if let Some(tombstone) = tombstone(db, id)? {
            self.grave = self.judge(tombstone);
        }
        each(db, self.id, |kept| self.next(kept))
    }

    /// Where a log ended that was deleted, if whoever should have signed that has.
    fn judge(&mut self, tombstone: Tombstone) -> Option<Link> {
        let Tombstone { last, signed } = tombstone;
        match signed {
            None if !self.signing => return Some(last),
            None => self.find(None, Problem::Deleted, "it was deleted without a signature"),
            Some(signed) if !signed.is_genuine() => {
                let detail = "it was deleted without a genuine signature";
                self.find(None, Problem::Deleted, detail);
            }
            Some(signed) if !self.trusts(&signed) => {
                let detail = format!("its deletion was signed by the unknown key {}", signed.key);
                self.find(None, Problem::ForeignKey, detail);
            }
            Some(_) => {
                self.is_buried = true;
                return Some(last);
            }
        }
        None
    }

    fn trusts(&self, head: &SignedHead) -> bool {
        self.trust.keys.is_empty() || self.trust.keys.contains(&head.key)
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
        } else if !self.trusts(&head) {
            let detail =
                format!("{place} for this event was signed by the unknown key {}", head.key);
            self.find(head.seq, Problem::ForeignKey, detail);
        } else {
            if let (Origin::Store, Role::Base { .. }) = (origin, head.role) {
                self.base = self.base.max(head.seq);
            }
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
        let mut rewritten = false;
        for (head, origin) in heads {
            if head.chain == self.last.chain {
                let decided = origin == Origin::Store && !matches!(head.role, Role::Base { .. });
                self.n_signed += u64::from(decided);
                self.n_heads += u64::from(origin == Origin::Export);
            } else {
                rewritten = true;
            }
        }
        if rewritten {
            let detail = "the log up to here is not what was signed";
            self.find(seq, Problem::Rewritten, detail);
        }
        // The heads of what is being deleted go first.
        if is_signed && !self.kept.contains(&seq) && !(self.doomed && self.grave.is_some()) {
            if self.signing && seq > self.base {
                self.find(seq, Problem::Unsigned, "what was decided here has no signature");
            } else {
                self.n_unsigned += 1;
            }
        }
    }

    /// Compares where the log ends with where it should.
    pub(super) fn end(&mut self, db: &Connection) -> Result<(), Fault> {
        let listed = head(db, self.id)?;
        if let Some(grave) = self.grave {
            if listed.is_none() && (self.doomed || self.n_events == 0) {
                self.buried(grave);
                return Ok(());
            }
            self.find(None, Problem::Deleted, "it was deleted, and yet it is there");
        }
        if self.doomed && (listed.is_some() || self.n_events > 0) {
            self.find(None, Problem::Deleted, "it is marked as deleted, but nobody deleted it");
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

    /// The session was deleted as a whole: what is left of it, and what is known of it, must agree
    /// with what was deleted.
    fn buried(&mut self, last: Link) {
        if self.any_kept {
            let detail = "it was deleted, and yet its signed heads are there";
            self.find(None, Problem::Deleted, detail);
        }
        let ends = [(self.last, false)].into_iter();
        let known = self.heads.values().flatten().map(|it| (it.0.link(), true));
        let known: Vec<_> = ends.chain(known).filter(|it| it.0.seq.0 > 0).collect();
        for (link, is_head) in known {
            if link.seq > last.seq {
                let missing = gap(last.seq.next(), link.seq);
                let detail = format!("{missing} missing at the log's end, which was then deleted");
                self.find(last.seq.next(), Problem::Cut, detail);
            } else if link.seq == last.seq && link.chain != last.chain {
                let detail = "the log that was deleted is not what was signed";
                self.find(link.seq, Problem::Rewritten, detail);
            } else {
                self.n_heads += u64::from(is_head);
            }
        }
    }
}
