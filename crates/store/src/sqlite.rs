//! The store of one machine: a SQLite file that several processes share.
//!
//! One thread of each process writes, and what waits for it is written together with one sync; a few
//! threads read beside it; one listens to the other processes. None of them needs a runtime.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use jiff::Timestamp;
use pilothouse_core::{AskRef, AskView, Cursor, Seq, Session, SessionId, SessionView};
use rusqlite::Connection;
use tokio::sync::{broadcast, oneshot};
use uuid::Uuid;

use self::{
    fault::Fault,
    lane::{Job, Lane},
    lock::NodeLock,
    nudge::{Courier, Hints, Office},
    opened::Opened,
    writes::Draft,
};
use crate::{
    Append, AskFilter, Claim, Conclusion, Epoch, FeedPage, Later, Link, Listing, LiveDelta,
    MAX_BLOB, NodeId, NodeView, Nudge, Page, Posted, Presence, SessionFilter, Signer, Store,
    StoreError, check_key_name, digest,
};

pub mod audit;
mod fault;
mod lane;
mod ledger;
mod listen;
mod lock;
mod migrate;
mod nudge;
mod open;
mod opened;
mod reads;
mod removal;
mod upkeep;
mod writer;
mod writes;

/// How many threads read.
const READERS: usize = 3;

/// What may be chosen about a file.
#[derive(Debug, Clone)]
pub struct SqliteConfig {
    /// Where nodes meet: their locks and sockets. Else `run` beside the file. All nodes of a file
    /// must name the same.
    pub run_dir: Option<PathBuf>,
    /// How long to wait for another program that keeps the file locked.
    pub patience: Duration,
    /// Most pages of 4 KiB that the file may grow to.
    pub max_pages: Option<u32>,
    /// Who signs the heads of logs; else they are not signed.
    pub signer: Option<Arc<dyn Signer>>,
}

impl Default for SqliteConfig {
    fn default() -> Self {
        Self { run_dir: None, patience: Duration::from_secs(10), max_pages: None, signer: None }
    }
}

/// A node on a SQLite file. To drop it without [`Store::close`] is to die: its sessions stay its own
/// until another node claims them.
#[derive(Debug)]
pub struct Sqlite {
    path: Arc<Path>,
    run: Arc<Path>,
    config: SqliteConfig,
    office: Arc<Office>,
    writer: Lane,
    readers: Lane,
    interested: AtomicBool,
    stop: Arc<AtomicBool>,
    /// Given up last: who holds no lock is dead.
    place: Mutex<Option<Place>>,
}

#[derive(Debug)]
struct Place {
    readers: Vec<JoinHandle<()>>,
    writer: JoinHandle<()>,
    lock: NodeLock,
}

impl Sqlite {
    /// Opens a file, or makes it. Takes some milliseconds, in which it blocks.
    pub fn open(path: &Path) -> Result<Arc<Self>, StoreError> {
        Self::open_with(path, &SqliteConfig::default())
    }

    /// Opens a file with other than the usual choices.
    pub fn open_with(path: &Path, config: &SqliteConfig) -> Result<Arc<Self>, StoreError> {
        let (path, run) = open::directories(path, config)?;
        let path = path.as_path();
        let opening = lock::opening(&run)?;
        lock::sweep(&run, |node| listen::addresses(&run, node));
        let db = open::first(path, config)?;
        let io = |err| fault::io(path, &err);
        // In the order of their birth, which makes lists readable.
        let node = NodeId(Uuid::now_v7().simple().to_string());
        let lock = NodeLock::take(&run, &node).map_err(io)?;
        let (socket, address) = listen::bind(&run, &node)?;
        let (office, alarm) = Office::new(node, address).map_err(io)?;
        let office = Arc::new(office);
        let mut courier = Courier::new(Arc::clone(&office));
        let hints = join(&db, &run, &office, config.signer.as_deref())
            .map_err(|it| it.explain(path, "joining the other nodes of the store"))?;
        courier
            .refresh(&db)
            .map_err(|err| Fault::from(err).explain(path, "looking for other nodes"))?;
        courier.deliver(&hints);
        let mut opened = Opened::look(path)?;
        drop(opening);

        let path: Arc<Path> = path.into();
        let (writer, jobs) = Lane::new(&path);
        let its_writer = spawn("write", move || {
            writer::run(&db, &jobs, courier, &mut opened);
        })?;
        let (readers, jobs) = Lane::new(&path);
        let (jobs, mut threads) = (Arc::new(Mutex::new(jobs)), vec![]);
        for _ in 0..READERS {
            let (jobs, db) = (Arc::clone(&jobs), open::connect(&path, config)?);
            threads.push(spawn("read", move || read(&db, &jobs))?);
        }
        let stop = Arc::new(AtomicBool::new(false));
        let db = open::connect(&path, config)?;
        let (its_office, its_stop) = (Arc::clone(&office), Arc::clone(&stop));
        // Before anyone can subscribe: a thread may be slow to begin, and what others write until
        // then would count as seen.
        let seen = listen::Seen::now(&db, &office.me).unwrap_or_default();
        threads.push(spawn("hear", move || {
            listen::run(&socket, &alarm, &its_office, &db, &its_stop, seen);
        })?);
        Ok(Arc::new(Self {
            path,
            run: run.into(),
            config: config.clone(),
            office,
            writer,
            readers,
            interested: AtomicBool::new(false),
            stop,
            place: Mutex::new(Some(Place { readers: threads, writer: its_writer, lock })),
        }))
    }

    /// Does something with the file in a thread of its own, for it may take long.
    async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection, &Path) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if self.stop.load(Ordering::Acquire) {
            return Err(StoreError::Shut);
        }
        let (path, config) = (Arc::clone(&self.path), self.config.clone());
        let (reply, res) = oneshot::channel();
        let thread = spawn("upkeep", move || {
            let res = open::connect(&path, &config).and_then(|db| work(&db, &path));
            // Whoever waited may have gone.
            reply.send(res).ok();
        })?;
        // It ends by itself; its result is what is waited for.
        drop(thread);
        res.await.map_err(|_| StoreError::Shut)?
    }

    /// Deletes what is left of sessions that are gone, in steps between which others write.
    async fn purge(&self) -> Result<(), StoreError> {
        while self.writer.call("deleting a session", |db, _| removal::purge(db)).await? {}
        Ok(())
    }

    /// Ends the threads once they have done what waits, and gives what is left.
    fn end(&self) -> Option<NodeLock> {
        let place = self.place.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        self.readers.close();
        self.stop.store(true, Ordering::Release);
        self.office.wake();
        let join = |thread: JoinHandle<()>| {
            if thread.join().is_err() {
                tracing::error!("a thread of the store panicked");
            }
        };
        place.readers.into_iter().for_each(join);
        // The last connection of all brings SQLite's log into the file. Of two that close at once
        // each takes the other for one that stays.
        self.writer.close();
        join(place.writer);
        self.office.close();
        Some(place.lock)
    }

    async fn secret(&self, posted: Posted) -> Result<(), StoreError> {
        let (run, office) = (Arc::clone(&self.run), Arc::clone(&self.office));
        let work = move |db: &Connection, _: &mut Hints| {
            let session = posted.session;
            let owner = writes::live_owner(db, &run, &office.me, session)?;
            if owner == office.me {
                let heard = office.tell(Nudge::Secret(Arc::new(posted.clone()))) > 0;
                return heard.then_some(()).ok_or(StoreError::NoOwner(session).into());
            }
            let socket = reads::socket(db, &owner)?.ok_or(StoreError::NoOwner(session))?;
            Ok(office.hand_over(&posted, Path::new(&socket))?)
        };
        self.readers.call("handing a secret over", work).await
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        drop(self.end());
    }
}

/// Takes the place of the dead, and says that this node is there.
fn join(
    db: &Connection,
    run: &Path,
    office: &Office,
    signer: Option<&dyn Signer>,
) -> Result<Hints, Fault> {
    let mut hints = Hints::default();
    db.execute_batch("BEGIN IMMEDIATE")?;
    let joined = writes::bury(db, run).and_then(|()| {
        // A name that is not UTF-8 is never used for a socket.
        let address = office.address.to_string_lossy();
        writes::join(db, &mut hints, &office.me, &address)?;
        signer.map_or(Ok(()), |it| ledger::begin(db, it))?;
        Ok(db.execute_batch("COMMIT")?)
    });
    if joined.is_err() {
        // The connection is given up anyway.
        db.execute_batch("ROLLBACK").ok();
    }
    joined.map(|()| hints)
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, StoreError> {
    let thread = thread::Builder::new().name(format!("store-{name}")).spawn(work);
    thread.map_err(|err| StoreError::Engine { doing: "starting a thread", source: Box::new(err) })
}

/// Reads until nobody is left who could want something read.
fn read(db: &Connection, jobs: &Mutex<mpsc::Receiver<Box<dyn Job>>>) {
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(mut job) = job else { return };
        let res = job.run(db, &mut Hints::default());
        job.done(res);
    }
}

impl Store for Sqlite {
    fn node(&self) -> &NodeId {
        &self.office.me
    }

    fn claim(&self, session: SessionId) -> Later<'_, Claim> {
        let (run, office) = (Arc::clone(&self.run), Arc::clone(&self.office));
        Box::pin(self.writer.call("claiming a session", move |db, hints| {
            writes::claim(db, hints, &run, &office.me, session)
        }))
    }

    fn release(&self, session: SessionId, epoch: Epoch) -> Later<'_, ()> {
        let office = Arc::clone(&self.office);
        Box::pin(self.writer.call("giving a session up", move |db, _| {
            writes::release(db, &office.me, session, epoch)
        }))
    }

    fn owner(&self, session: SessionId) -> Later<'_, Option<(NodeId, bool)>> {
        let (run, office) = (Arc::clone(&self.run), Arc::clone(&self.office));
        Box::pin(self.readers.call("looking for a session's owner", move |db, _| {
            let owner = reads::owner(db, session)?;
            Ok(owner.map(|it| {
                let alive = it == office.me || lock::is_alive(&run, &it);
                (it, alive)
            }))
        }))
    }

    fn append(&self, append: Append) -> Later<'_, Vec<Cursor>> {
        let office = Arc::clone(&self.office);
        let doing = "appending events";
        Box::pin(async move {
            let draft = Draft::new(append).map_err(|it| it.explain(&self.path, doing))?;
            let signer = self.config.signer.clone();
            let work = move |db: &Connection, hints: &mut Hints| {
                writes::append(db, hints, &office.me, signer.as_deref(), &draft)
            };
            self.writer.call(doing, work).await
        })
    }

    fn chain(&self, session: SessionId) -> Later<'_, Option<Link>> {
        Box::pin(self.readers.call("reading a log's head", move |db, _| {
            Ok(writes::held(db, session)?.map(|it| it.last).filter(|it| it.seq.0 > 0))
        }))
    }

    fn read(&self, session: SessionId, after: Seq, limit: usize) -> Later<'_, Page> {
        Box::pin(
            self.readers.call("reading a session's log", move |db, _| {
                reads::read(db, session, after, limit)
            }),
        )
    }

    fn snapshot(&self, session: SessionId) -> Later<'_, Option<Session>> {
        Box::pin(self.readers.call("reading a snapshot", move |db, _| reads::snapshot(db, session)))
    }

    fn feed(&self, after: Cursor, limit: usize) -> Later<'_, FeedPage> {
        Box::pin(self.readers.call("reading the feed", move |db, _| reads::feed(db, after, limit)))
    }

    fn head(&self) -> Later<'_, Cursor> {
        Box::pin(self.readers.call("looking for the feed's end", |db, _| reads::head(db)))
    }

    fn subscribe(&self) -> broadcast::Receiver<Nudge> {
        self.office.subscribe()
    }

    fn sessions(
        &self,
        filter: SessionFilter,
        limit: usize,
        cursor: Option<String>,
    ) -> Later<'_, Listing<SessionView>> {
        Box::pin(self.readers.call("listing sessions", move |db, _| {
            reads::sessions(db, &filter, limit, cursor.as_deref())
        }))
    }

    fn session(&self, session: SessionId) -> Later<'_, Option<SessionView>> {
        Box::pin(self.readers.call("reading a session", move |db, _| reads::session(db, session)))
    }

    fn asks(
        &self,
        filter: AskFilter,
        limit: usize,
        cursor: Option<String>,
    ) -> Later<'_, Listing<AskView>> {
        Box::pin(self.readers.call("listing requests", move |db, _| {
            reads::asks(db, &filter, limit, cursor.as_deref())
        }))
    }

    fn ask(&self, ask: AskRef) -> Later<'_, Option<AskView>> {
        Box::pin(self.readers.call("reading a request", move |db, _| reads::ask(db, ask)))
    }

    fn post(&self, posted: Posted) -> Later<'_, ()> {
        if posted.secret {
            return Box::pin(self.secret(posted));
        }
        let (run, office) = (Arc::clone(&self.run), Arc::clone(&self.office));
        Box::pin(self.writer.call("posting an intent", move |db, hints| {
            writes::post(db, hints, &run, &office.me, &posted)
        }))
    }

    fn inbox(&self) -> Later<'_, Vec<Posted>> {
        let office = Arc::clone(&self.office);
        Box::pin(self.readers.call("reading the inbox", move |db, _| reads::inbox(db, &office.me)))
    }

    fn conclude(&self, id: Uuid, conclusion: Conclusion) -> Later<'_, ()> {
        Box::pin(self.writer.call("concluding an intent", move |db, hints| {
            writes::conclude(db, hints, id, &conclusion)
        }))
    }

    fn conclusion(&self, id: Uuid) -> Later<'_, Option<Conclusion>> {
        Box::pin(self.readers.call("reading a conclusion", move |db, _| reads::conclusion(db, id)))
    }

    fn set_presence(&self, presence: Presence) -> Later<'_, ()> {
        let office = Arc::clone(&self.office);
        Box::pin(self.writer.call("saying who is there", move |db, hints| {
            writes::set_presence(db, hints, &office.me, &presence)
        }))
    }

    fn nodes(&self) -> Later<'_, Vec<NodeView>> {
        let (run, office) = (Arc::clone(&self.run), Arc::clone(&self.office));
        Box::pin(
            self.readers
                .call("looking who is there", move |db, _| reads::nodes(db, &run, &office.me)),
        )
    }

    fn is_alive(&self, node: NodeId) -> Later<'_, bool> {
        Box::pin(async move {
            if self.stop.load(Ordering::Acquire) {
                return Err(StoreError::Shut);
            }
            Ok(node == self.office.me || lock::is_alive(&self.run, &node))
        })
    }

    fn set_interest(&self, interested: bool) -> Later<'_, ()> {
        Box::pin(async move {
            if self.interested.swap(interested, Ordering::AcqRel) == interested {
                return Ok(());
            }
            let office = Arc::clone(&self.office);
            let work = move |db: &Connection, hints: &mut Hints| {
                writes::set_interest(db, hints, &office.me, interested)
            };
            let res = self.writer.call("asking for deltas", work).await;
            if res.is_err() {
                self.interested.store(!interested, Ordering::Release);
            }
            res
        })
    }

    fn publish(&self, delta: LiveDelta) {
        if !self.stop.load(Ordering::Acquire) {
            self.office.publish(delta);
        }
    }

    fn put_blob(&self, bytes: Vec<u8>) -> Later<'_, String> {
        Box::pin(async move {
            if bytes.len() > MAX_BLOB {
                return Err(StoreError::TooMuch { what: "a blob's size", limit: MAX_BLOB });
            }
            let (digest, office) = (digest(&bytes), Arc::clone(&self.office));
            let work = move |db: &Connection, _: &mut Hints| {
                writes::put_blob(db, &office.me, &digest, &bytes)?;
                Ok(digest.clone())
            };
            self.writer.call("keeping a blob", work).await
        })
    }

    fn blob(&self, digest: String) -> Later<'_, Option<Vec<u8>>> {
        Box::pin(self.readers.call("reading a blob", move |db, _| reads::blob(db, &digest)))
    }

    fn key(&self, name: String, fresh: [u8; 32]) -> Later<'_, [u8; 32]> {
        Box::pin(async move {
            check_key_name(&name)?;
            let work = move |db: &Connection, _: &mut Hints| writes::key(db, &name, &fresh);
            self.writer.call("keeping a shared key", work).await
        })
    }

    fn delete_session(&self, session: SessionId) -> Later<'_, ()> {
        Box::pin(async move {
            let signer = self.config.signer.clone();
            let work = move |db: &Connection, hints: &mut Hints| {
                removal::doom(db, hints, session, signer.as_deref())
            };
            self.writer.call("deleting a session", work).await?;
            self.purge().await
        })
    }

    fn retire(&self, before: Option<Timestamp>) -> Later<'_, u64> {
        Box::pin(async move {
            self.purge().await?;
            let mut res = 0;
            if let Some(before) = before {
                loop {
                    let signer = self.config.signer.clone();
                    let work = move |db: &Connection, hints: &mut Hints| {
                        removal::retire(db, hints, before, signer.as_deref())
                    };
                    if !self.writer.call("deleting old sessions", work).await? {
                        break;
                    }
                    res += 1;
                    self.purge().await?;
                }
            }
            Ok(res)
        })
    }

    fn backup(&self, to: PathBuf) -> Later<'_, ()> {
        Box::pin(self.apart(move |db, _| upkeep::backup(db, &to)))
    }

    fn check(&self) -> Later<'_, Vec<String>> {
        Box::pin(self.apart(|db, path| {
            upkeep::check(db).map_err(|it| it.explain(path, "comparing the store with its logs"))
        }))
    }

    fn close(&self) -> Later<'_, ()> {
        Box::pin(async move {
            let office = Arc::clone(&self.office);
            let work =
                move |db: &Connection, hints: &mut Hints| writes::leave(db, hints, &office.me);
            let left = match self.writer.call("leaving the store", work).await {
                Err(StoreError::Shut) => return Ok(()),
                left => left,
            };
            if let Some(lock) = self.end() {
                listen::unbind(&self.run, &self.office.address);
                lock.remove();
            }
            left
        })
    }
}
