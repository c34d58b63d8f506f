//! Which nodes are alive: each holds a lock on a file of its own for as long as its process lives.
//!
//! The system gives a lock back when its holder is gone, however it went, so no clock is needed.
//! The files are closed on exec, so no agent carries a lock on.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use super::fault::{self, unusable};
use crate::{NodeId, StoreError};

/// A node's sign of life.
#[derive(Debug)]
pub(super) struct NodeLock {
    path: PathBuf,
    _file: File,
}

impl NodeLock {
    /// Takes the lock. It appears under its name only once it is held, so that nobody can see the
    /// node and think it dead.
    pub(super) fn take(run: &Path, node: &NodeId) -> io::Result<Self> {
        let (early, path) = (run.join(format!("{node}.new")), file(run, node));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&early)?;
        file.try_lock().map_err(|err| match err {
            TryLockError::Error(err) => err,
            TryLockError::WouldBlock => io::ErrorKind::WouldBlock.into(),
        })?;
        fs::rename(&early, &path)?;
        Ok(Self { path, _file: file })
    }

    /// Leaves no trace.
    pub(super) fn remove(&self) {
        // What is left is swept by the next node that opens.
        fs::remove_file(&self.path).ok();
    }
}

fn file(run: &Path, node: &NodeId) -> PathBuf {
    run.join(format!("{node}.lock"))
}

/// Whether a node's process lives. In doubt it does: nobody may take its sessions then.
pub(super) fn is_alive(run: &Path, node: &NodeId) -> bool {
    is_held(&file(run, node))
}

fn is_held(path: &Path) -> bool {
    match File::open(path) {
        // Shared, so that two who look at once don't see each other.
        Ok(file) => !matches!(file.try_lock_shared(), Ok(())),
        Err(err) => err.kind() != io::ErrorKind::NotFound,
    }
}

/// Removes what dead nodes left in the directory. To be called by one at a time.
pub(super) fn sweep(run: &Path, sockets: impl Fn(&str) -> Vec<PathBuf>) {
    let Ok(files) = fs::read_dir(run) else { return };
    for path in files.flatten().map(|it| it.path()) {
        let known = path.extension().is_some_and(|it| it == "lock" || it == "new");
        if known && !is_held(&path) {
            let node = path.file_stem().map(|it| it.to_string_lossy().into_owned());
            for socket in sockets(&node.unwrap_or_default()) {
                fs::remove_file(socket).ok();
            }
            fs::remove_file(path).ok();
        }
    }
}

/// Makes a directory that is this user's alone.
pub(super) fn private_dir(dir: &Path) -> Result<(), StoreError> {
    if !dir.is_dir() {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.map_err(|err| fault::io(dir, &err))?;
    }
    Ok(())
}

/// Whether others than its user may do something with a file or directory.
pub(super) fn is_shared(metadata: &fs::Metadata) -> bool {
    metadata.permissions().mode() & OTHERS != 0
}

const OTHERS: u32 = 0o077;

/// Takes away what a file or directory allows others.
pub(super) fn make_private(path: &Path) -> Result<(), StoreError> {
    let io = |err: io::Error| fault::io(path, &err);
    let metadata = fs::metadata(path).map_err(io)?;
    if is_shared(&metadata) {
        let mut permissions = metadata.permissions();
        permissions.set_mode(permissions.mode() & !OTHERS);
        fs::set_permissions(path, permissions).map_err(io)?;
    }
    Ok(())
}

/// How long to wait for others that are opening.
const OPENING: Duration = Duration::from_secs(10);

/// Waits until no other process is opening a store here, and keeps others from it.
pub(super) fn opening(run: &Path) -> Result<File, StoreError> {
    let path = run.join("opening");
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
    let file = file.map_err(|err| fault::io(&path, &err))?;
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(err)) => return Err(fault::io(&path, &err)),
            Err(TryLockError::WouldBlock) if start.elapsed() > OPENING => {
                let problem = "another Pilothouse is opening the store and does not finish; end it";
                return Err(unusable(&path, problem));
            }
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(2)),
        }
    }
}
