//! The one thread that writes: whatever waits is written together, with one sync.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::Duration,
};

use rusqlite::Connection;

use super::{
    fault::Fault,
    lane::Job,
    nudge::{Courier, Hints},
    opened::Opened,
};

/// Most pieces of work in one transaction.
const MAX_BATCH: usize = 256;
/// How soon a nudge that did not fit is tried again.
const AGAIN: Duration = Duration::from_millis(5);

/// Writes until nobody is left who could want something written.
pub(super) fn run(
    db: &Connection,
    jobs: &Receiver<Box<dyn Job>>,
    mut courier: Courier,
    opened: &mut Opened,
) {
    loop {
        let job = if courier.owes() {
            jobs.recv_timeout(AGAIN)
        } else {
            jobs.recv().map_err(|_| RecvTimeoutError::Disconnected)
        };
        match job {
            Ok(job) => {
                let mut batch = vec![job];
                batch.extend(jobs.try_iter().take(MAX_BATCH - 1));
                write(db, batch, &mut courier, opened);
            }
            Err(RecvTimeoutError::Timeout) => courier.try_again(),
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn write(
    db: &Connection,
    mut batch: Vec<Box<dyn Job>>,
    courier: &mut Courier,
    opened: &mut Opened,
) {
    let mut hints = Hints::default();
    let lost_before = opened.is_lost();
    let attempted =
        if lost_before { Ok(vec![]) } else { attempt(db, &mut batch, &mut hints, courier) };
    // After the sync, and before anyone is told: what reached a file without a name is lost.
    if let Err(err) = opened.check() {
        if !lost_before {
            tracing::error!(%err, "nothing more is written");
        }
        for job in batch {
            // The same for each, and cheap.
            job.done(opened.check().map_err(Fault::from));
        }
        return;
    }
    let fault = match attempted {
        Ok(results) => {
            for (job, res) in batch.into_iter().zip(results) {
                job.done(res);
            }
            courier.deliver(&hints);
            return;
        }
        Err(fault) => fault,
    };
    if batch.len() > 1 {
        // One that is too large for the disk must not fail the others.
        for job in batch {
            write(db, vec![job], courier, opened);
        }
    } else if let Some(job) = batch.pop() {
        job.done(Err(fault));
    }
}

/// Does all of it in one transaction, or none; each piece succeeds or fails on its own.
fn attempt(
    db: &Connection,
    batch: &mut [Box<dyn Job>],
    hints: &mut Hints,
    courier: &Courier,
) -> Result<Vec<Result<(), Fault>>, Fault> {
    let sql = |it: &str| db.prepare_cached(it)?.execute([]);
    sql("BEGIN IMMEDIATE")?;
    let undone = Undo(db);
    courier.refresh(db)?;
    let mut results = Vec::with_capacity(batch.len());
    for job in batch {
        sql("SAVEPOINT job")?;
        let mut its_hints = Hints::default();
        let res = job.run(db, &mut its_hints);
        match &res {
            Ok(()) => hints.merge(its_hints),
            // When the disk is full SQLite may have undone everything, the others too.
            Err(_) if db.is_autocommit() => return res.map(|()| vec![]),
            Err(_) => {
                sql("ROLLBACK TO job")?;
            }
        }
        sql("RELEASE job")?;
        results.push(res);
    }
    sql("COMMIT")?;
    drop(undone);
    Ok(results)
}

/// Leaves no transaction open, whatever happens.
struct Undo<'a>(&'a Connection);

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit() {
            // If this fails too, the next transaction says why.
            self.0.execute_batch("ROLLBACK").ok();
        }
    }
}
