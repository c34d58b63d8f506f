//! Whether all that was signed in a store is still there, by the tallies of its keys.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::{Finding, Problem, Trust, log::Log};
use crate::{
    MAX_DELETED, PublicKey,
    sqlite::{fault::Fault, ledger},
};

/// What the logs have of signatures.
#[derive(Default)]
pub(super) struct Counts {
    /// The numbers of signed heads.
    numbers: BTreeMap<PublicKey, Vec<u64>>,
    /// How many deletions are signed.
    n_buried: u64,
}

impl Counts {
    pub(super) fn add(&mut self, log: &Log<'_>) {
        for (key, n) in &log.numbers {
            self.numbers.entry(*key).or_default().push(*n);
        }
        self.n_buried += u64::from(log.is_buried);
    }

    /// Compares what is there with what was counted when it was signed.
    pub(super) fn compare(
        mut self,
        db: &Connection,
        trust: &Trust,
        any_events: bool,
    ) -> Result<Vec<Finding>, Fault> {
        let mut res = vec![];
        let mut find = |problem, detail| {
            res.push(Finding { session: None, seq: None, problem, detail });
        };
        let tallies = ledger::tallies(db)?;
        if tallies.is_empty() && !trust.keys.is_empty() && any_events {
            let detail = "no key has counted what it signed here; either nobody signed, or it was \
                          taken away";
            find(Problem::Missing, detail.to_owned());
        }
        let (mut n_signed, mut n_removed, mut n_deleted, mut n_left) = (0_u64, 0_u64, 0_u64, 0_u64);
        let mut gaps = vec![];
        for tally in tallies {
            let key = tally.key;
            let mut numbers = self.numbers.remove(&key).unwrap_or_default();
            if !tally.is_genuine() {
                find(
                    Problem::Forged,
                    format!("the tally of the key {key} has no genuine signature"),
                );
                continue;
            }
            if !trust.keys.is_empty() && !trust.keys.contains(&key) {
                find(Problem::ForeignKey, format!("the unknown key {key} has signed here"));
                continue;
            }
            numbers.sort_unstable();
            n_left += numbers.len() as u64;
            n_signed = n_signed.saturating_add(tally.signed);
            n_removed = n_removed.saturating_add(tally.removed);
            n_deleted = n_deleted.saturating_add(tally.deleted);
            if let Some(n) = numbers.last().filter(|it| **it > tally.signed) {
                let counted = tally.signed;
                let detail =
                    format!("there is a signed head {n}, but only {counted} are counted as signed");
                find(Problem::Missing, detail);
            }
            if let Some([n, _]) = numbers.array_windows().find(|[n, next]| n == next) {
                find(Problem::Rewritten, format!("there are two signed heads {n}"));
            }
            gaps.extend(gap(&numbers, tally.signed));
        }
        for (key, numbers) in self.numbers {
            if trust.keys.is_empty() || trust.keys.contains(&key) {
                let n = numbers.len();
                let detail =
                    format!("{n} signed heads by the key {key} are there without its tally");
                find(Problem::Missing, detail);
            }
        }
        let expected = n_signed.saturating_sub(n_removed);
        // Else the numbers of what was deleted are missing, too.
        let gap = gaps.first().filter(|_| n_removed == 0);
        let first = gap.map(|n| format!("; the first that is missing is {n}")).unwrap_or_default();
        if n_left != expected {
            let detail = format!(
                "of {n_signed} signed heads {n_removed} went with deleted sessions, so {expected} \
                 should be left, but {n_left} are{first}"
            );
            find(Problem::Missing, detail);
        }
        let expected = n_deleted.min(MAX_DELETED as u64);
        if self.n_buried < expected {
            let left = self.n_buried;
            let detail = format!("{expected} deletions should be known, but {left} are");
            find(Problem::Missing, detail);
        }
        Ok(res)
    }
}

/// The first number, up to the last one that was given, that is not there.
fn gap(numbers: &[u64], last: u64) -> Option<u64> {
    let missing = (1..).zip(numbers).find_map(|(n, found)| (*found != n).then_some(n));
    missing.or_else(|| Some(numbers.len() as u64 + 1).filter(|n| *n <= last))
}
