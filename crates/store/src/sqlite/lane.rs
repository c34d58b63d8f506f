//! Work that waits its turn for a connection, in a queue with an end.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError, mpsc},
};

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::{fault::Fault, nudge::Hints};
use crate::StoreError;

/// Most pieces of work that may wait for the writer, or for the readers.
pub(super) const QUEUE: usize = 1_024;

/// A piece of work that can be done, undone and done again, until it is told that it is done.
pub(super) trait Job: Send {
    /// Does it; what it gives is kept.
    fn run(&mut self, db: &Connection, hints: &mut Hints) -> Result<(), Fault>;
    /// Tells whoever waits, if anyone still does.
    fn done(self: Box<Self>, res: Result<(), Fault>);
}

/// The way to a worker.
#[derive(Debug)]
pub(super) struct Lane {
    path: Arc<Path>,
    room: Arc<Semaphore>,
    jobs: Mutex<Option<mpsc::Sender<Box<dyn Job>>>>,
}

impl Lane {
    /// A lane, and its other end.
    pub(super) fn new(path: &Arc<Path>) -> (Self, mpsc::Receiver<Box<dyn Job>>) {
        // The channel has no bound of its own, because to wait for room in it would block a thread;
        // the semaphore is its bound.
        let (jobs, waiting) = mpsc::channel();
        let room = Arc::new(Semaphore::new(QUEUE));
        (Self { path: Arc::clone(path), room, jobs: Mutex::new(Some(jobs)) }, waiting)
    }

    /// Has something done. It is done even if nobody waits for it any more.
    pub(super) async fn call<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnMut(&Connection, &mut Hints) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let room = Arc::clone(&self.room).acquire_owned().await.map_err(|_| StoreError::Shut)?;
        let (reply, res) = oneshot::channel();
        let job = Box::new(Work { how: work, res: None, reply, _room: room });
        {
            let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
            let sent = jobs.as_ref().map(|it| it.send(job));
            sent.and_then(Result::ok).ok_or(StoreError::Shut)?;
        }
        let res = res.await.map_err(|_| StoreError::Shut)?;
        res.map_err(|it| it.explain(&self.path, doing))
    }

    /// Takes nothing more; what waits is done.
    pub(super) fn close(&self) {
        self.room.close();
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

struct Work<T, F> {
    how: F,
    res: Option<T>,
    reply: oneshot::Sender<Result<T, Fault>>,
    _room: OwnedSemaphorePermit,
}

impl<T, F> Job for Work<T, F>
where
    T: Send,
    F: FnMut(&Connection, &mut Hints) -> Result<T, Fault> + Send,
{
    fn run(&mut self, db: &Connection, hints: &mut Hints) -> Result<(), Fault> {
        self.res = Some((self.how)(db, hints)?);
        Ok(())
    }

    fn done(self: Box<Self>, res: Result<(), Fault>) {
        let Self { how: _, res: done, reply, _room } = *self;
        let res = res.and_then(|()| done.ok_or(Fault::Refused(StoreError::Shut)));
        // Whoever waited may have gone.
        reply.send(res).ok();
    }
}
