//! The other end of a node's socket: what arrives is told to the subscribers of this process.

use std::{
    env, fs,
    fs::DirBuilder,
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, MetadataExt, PermissionsExt},
        net::UnixDatagram,
    },
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rusqlite::{Connection, OptionalExtension, params};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use uuid::Uuid;

use super::{
    fault::{self, unusable},
    lock,
    nudge::{Datagram, MAX_DATAGRAM, Office},
};
use crate::{NodeId, Nudge, StoreError, digest};

/// How often to look while somebody waits: a hint is lost only if its sender died before it was sent.
const POLL: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
/// Longest path of a socket, without the zero at its end.
const MAX_ADDRESS: usize = 107;

/// Binds a node's socket, in the store's directory or, if its name is too long for a socket, in a
/// directory of this user's under the system's temporary one.
pub(super) fn bind(run: &Path, node: &NodeId) -> Result<(UnixDatagram, PathBuf), StoreError> {
    let fits = |it: &PathBuf| it.as_os_str().len() <= MAX_ADDRESS && it.to_str().is_some();
    let address = addresses(run, &node.0).into_iter().find(fits);
    let problem = "its path is too long for a socket; use a shorter one";
    let address = address.ok_or_else(|| unusable(run, problem))?;
    let dir = address.parent().filter(|it| *it != run);
    let bind = || {
        if let Some(dir) = dir {
            own_dir(dir)?;
        }
        Ok::<_, StoreError>(UnixDatagram::bind(&address))
    };
    let bound = match bind()? {
        // The last node there has just left, and took the directory along.
        Err(err) if err.kind() == io::ErrorKind::NotFound => bind()?,
        bound => bound,
    };
    let ready = bound.and_then(|socket| {
        socket.set_nonblocking(true)?;
        fs::set_permissions(&address, fs::Permissions::from_mode(0o600))?;
        Ok(socket)
    });
    ready.map_err(|err| fault::io(&address, &err)).map(|it| (it, address.clone()))
}

/// Takes a node's socket away, and the directory made for it if nobody else is there.
pub(super) fn unbind(run: &Path, address: &Path) {
    // What is left is swept by the next node that opens.
    fs::remove_file(address).ok();
    if let Some(dir) = address.parent().filter(|it| *it != run) {
        fs::remove_dir(dir).ok();
    }
}

/// Where a node may listen, best first.
pub(super) fn addresses(run: &Path, node: &str) -> Vec<PathBuf> {
    let name = format!("{node}.sock");
    let key = digest(run.as_os_str().as_bytes());
    let short = format!("pilothouse-{}", &key[..16]);
    let elsewhere = [env::temp_dir(), PathBuf::from("/tmp")];
    let dirs = [run.to_owned()].into_iter().chain(elsewhere.iter().map(|it| it.join(&short)));
    dirs.map(|it| it.join(&name)).collect()
}

/// Makes sure that a directory where others may write too is ours: not a link, not theirs.
fn own_dir(dir: &Path) -> Result<(), StoreError> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => Ok(()),
        Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {
            let metadata = fs::symlink_metadata(dir).map_err(|err| fault::io(dir, &err))?;
            let mine = metadata.uid() == rustix::process::geteuid().as_raw();
            if metadata.is_dir() && mine && !lock::is_shared(&metadata) {
                Ok(())
            } else {
                let problem = "it must be a directory of this user's alone; remove it, or give the \
                               store a shorter path";
                Err(unusable(dir, problem))
            }
        }
        Err(err) => Err(fault::io(dir, &err)),
    }
}

/// Listens until told to stop.
pub(super) fn run(
    socket: &UnixDatagram,
    alarm: &UnixDatagram,
    office: &Office,
    db: &Connection,
    stop: &AtomicBool,
    mut seen: Seen,
) {
    let mut buffer = vec![0; MAX_DATAGRAM];
    while !stop.load(Ordering::Acquire) {
        // Nobody polls when nobody waits.
        let timeout = (office.listeners() > 0).then_some(&POLL);
        let mut ends = [PollFd::new(socket, PollFlags::IN), PollFd::new(alarm, PollFlags::IN)];
        match poll(&mut ends, timeout) {
            // What can't be read now is read a second later.
            Ok(0) => drop(seen.catch_up(office, db)),
            Ok(_) => {
                while let Ok(length) = socket.recv(&mut buffer) {
                    hear(&buffer[..length], office, db);
                    if stop.load(Ordering::Acquire) {
                        return;
                    }
                }
                while alarm.recv(&mut buffer).is_ok() {}
            }
            Err(Errno::INTR) => {}
            Err(err) => {
                tracing::warn!(error = %err, "a node can't hear others any more");
                return;
            }
        }
    }
}

fn hear(bytes: &[u8], office: &Office, db: &Connection) {
    match serde_json::from_slice(bytes) {
        Ok(Datagram::Letter(letter)) => {
            for nudge in letter.nudges() {
                if matches!(nudge, Nudge::Presence)
                    && let Err(err) = office.refresh(db)
                {
                    tracing::debug!(error = %err, "the nodes can't be read");
                }
                office.tell(nudge);
            }
        }
        Ok(Datagram::Secret(posted)) => {
            if office.tell(Nudge::Secret(posted.into())) == 0 {
                tracing::warn!("a secret answer came, and nobody was there to take it");
            }
        }
        Ok(Datagram::Delta(delta)) => {
            office.tell(Nudge::Delta(Arc::new(delta)));
        }
        // The error may quote what it could not read, so it is not shown.
        Err(_) => tracing::debug!(length = bytes.len(), "a datagram makes no sense"),
    }
}

/// How far everything was at the last look.
#[derive(Debug, Default)]
pub(super) struct Seen {
    data: i64,
    head: i64,
    inbox: i64,
    concluded: i64,
}

impl Seen {
    pub(super) fn now(db: &Connection, me: &NodeId) -> Result<Self, rusqlite::Error> {
        let data = db.pragma_query_value(None, "data_version", |row| row.get(0))?;
        let last = "SELECT seq FROM sqlite_sequence WHERE name = ?1";
        let last =
            |table: &str| db.prepare_cached(last)?.query_row([table], |row| row.get(0)).optional();
        let inbox = "SELECT coalesce(max(n), 0) FROM inbox
                     JOIN sessions ON sessions.id = inbox.session WHERE owner = ?1";
        let inbox = db.prepare_cached(inbox)?.query_row([&me.0], |row| row.get(0))?;
        let (head, concluded) = (last("events")?, last("conclusions")?);
        Ok(Self { data, head: head.unwrap_or(0), inbox, concluded: concluded.unwrap_or(0) })
    }

    fn catch_up(&mut self, office: &Office, db: &Connection) -> Result<(), rusqlite::Error> {
        let data: i64 = db.pragma_query_value(None, "data_version", |row| row.get(0))?;
        if data == self.data {
            return Ok(());
        }
        let now = Self::now(db, &office.me)?;
        if office.refresh(db)? {
            office.tell(Nudge::Presence);
        }
        if now.head > self.head {
            office.tell(Nudge::Feed(None));
        }
        if now.inbox > self.inbox {
            office.tell(Nudge::Inbox);
        }
        let ids = "SELECT id FROM conclusions WHERE n > ?1 ORDER BY n DESC LIMIT ?2";
        let mut ids = db.prepare_cached(ids)?;
        let ids = ids.query_map(params![self.concluded, MAX_CAUGHT], |row| row.get(0))?;
        for id in ids {
            office.tell(Nudge::Concluded(Uuid::from_bytes(id?)));
        }
        *self = now;
        Ok(())
    }
}

/// Most conclusions that one look tells of.
const MAX_CAUGHT: i64 = 100;
