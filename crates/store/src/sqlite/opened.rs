//! Whether a file is still the one that was opened: its name may come to mean another, or none.
//!
//! SQLite goes on writing to a file that was removed, and whoever opens that name next begins with
//! an empty one. What was written is then nowhere to be found, so nobody may be told that it is.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::fault::{self, unusable};
use crate::StoreError;

/// The files of a store as they were when it was opened.
#[derive(Debug)]
pub(super) struct Opened {
    files: [(PathBuf, Identity); 2],
    /// Once it is, it stays so: what was refused meanwhile is missing from a file that came back.
    lost: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl Opened {
    /// To be called when something was written, since SQLite makes its log then, and while no other
    /// process is opening the store.
    pub(super) fn look(path: &Path) -> Result<Self, StoreError> {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let known = |path: PathBuf| match identity(&path) {
            Ok(identity) => Ok((path, identity)),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Err(unusable(&path, LOST)),
            Err(err) => Err(fault::io(&path, &err)),
        };
        Ok(Self { files: [known(path.to_owned())?, known(log.into())?], lost: false })
    }

    /// Fails from the moment on when a file has lost its name.
    pub(super) fn check(&mut self) -> Result<(), StoreError> {
        // Both names can be asked for in some microseconds, a sync takes some hundred at best.
        let is_there = |(path, known): &(PathBuf, Identity)| match identity(path) {
            Ok(found) => found == *known,
            Err(_) => false,
        };
        self.lost = self.lost || !self.files.iter().all(is_there);
        let [(path, _), _] = &self.files;
        if self.lost { Err(unusable(path, LOST)) } else { Ok(()) }
    }

    /// Whether it was found to be lost already.
    pub(super) fn is_lost(&self) -> bool {
        self.lost
    }
}

/// What to do about it.
const LOST: &str = "the file was removed or replaced while in use; restart Pilothouse, and first put \
                    the file back if its sessions are wanted";

fn identity(path: &Path) -> io::Result<Identity> {
    let metadata = fs::metadata(path)?;
    Ok(Identity { device: metadata.dev(), inode: metadata.ino() })
}
