//! What makes a guard keep its agent when its broker goes: a door where the next broker knocks, and
//! a file for what the agent says on its stderr.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::{
        fs::{OpenOptionsExt, PermissionsExt},
        net::{UnixListener, UnixStream},
    },
    path::PathBuf,
    sync::mpsc::SyncSender,
    thread,
    time::Duration,
};

use super::Happening;
use crate::agent::tree::leash::KNOCK;

/// Most bytes that the file of the agent's stderr holds.
const MAX_STDERR: usize = 64 * 1024;
/// As many of them are left when it is full.
const STDERR_TAIL: usize = 16 * 1024;
/// How long one who comes to the door has to knock.
const KNOCK_LIMIT: Duration = Duration::from_secs(1);
/// Between two looks at a door that fails.
const DOOR_AGAIN: Duration = Duration::from_millis(200);

/// How an agent is kept.
#[derive(Clone, Debug)]
pub(super) struct Keep {
    /// How long it is kept while nobody holds it. The clock stands still while the machine sleeps.
    pub(super) patience: Duration,
    /// Says to those who come later that the agent is there; written by the broker.
    record: PathBuf,
    stderr: PathBuf,
    control: PathBuf,
    /// Where the agent itself listens.
    socket: PathBuf,
}

impl Keep {
    /// From the arguments after `--keep`.
    pub(super) fn parse(args: &mut impl Iterator<Item = OsString>) -> Option<Self> {
        let seconds = args.next()?.to_str()?.parse().ok()?;
        let mut path = || args.next().map(PathBuf::from);
        Some(Self {
            patience: Duration::from_secs(seconds),
            record: path()?,
            stderr: path()?,
            control: path()?,
            socket: path()?,
        })
    }

    /// Opens the door. The directory is this user's alone.
    pub(super) fn open_door(&self) -> io::Result<UnixListener> {
        let door = UnixListener::bind(&self.control)?;
        fs::set_permissions(&self.control, Permissions::from_mode(0o600))?;
        Ok(door)
    }

    /// Lets in those who knock, one after the other.
    pub(super) fn watch_door(
        door: UnixListener,
        happenings: SyncSender<Happening>,
    ) -> io::Result<()> {
        let watch = move || {
            loop {
                let Ok((caller, _)) = door.accept() else {
                    thread::sleep(DOOR_AGAIN);
                    continue;
                };
                // Some only look whether anybody is there.
                if knocks(&caller) && happenings.send(Happening::Caller(caller)).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("door".to_owned()).spawn(watch)?;
        Ok(())
    }

    /// Keeps the end of what the agent says on its stderr.
    pub(super) fn keep_stderr(&self, stderr: impl Read + Send + 'static) -> io::Result<()> {
        let options =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).clone();
        let file = options.open(&self.stderr)?;
        thread::Builder::new().name("stderr".to_owned()).spawn(move || copy(stderr, file))?;
        Ok(())
    }

    /// Nothing is left to come back to. What the agent said last is for the broker to remove.
    pub(super) fn forget(&self) {
        for path in [&self.record, &self.control, &self.socket] {
            fs::remove_file(path).ok();
        }
    }
}

fn knocks(caller: &UnixStream) -> bool {
    let mut byte = [0];
    let mut caller_ref = caller;
    let knocked = caller
        .set_read_timeout(Some(KNOCK_LIMIT))
        .and_then(|()| caller_ref.read_exact(&mut byte))
        .and_then(|()| caller.set_read_timeout(None));
    knocked.is_ok() && byte[0] == KNOCK
}

/// An agent that floods its stderr is never held up, and fills no disk.
fn copy(mut stderr: impl Read, mut file: File) {
    let mut chunk = vec![0; 8 * 1024];
    let mut kept: Vec<u8> = Vec::new();
    loop {
        let n_bytes = match stderr.read(&mut chunk) {
            Ok(0) => return,
            Ok(n_bytes) => n_bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        kept.extend_from_slice(&chunk[..n_bytes]);
        // A full disk is no reason to stop reading.
        if kept.len() > MAX_STDERR {
            kept.drain(..kept.len() - STDERR_TAIL);
            file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0))).ok();
            file.write_all(&kept).ok();
        } else {
            file.write_all(&chunk[..n_bytes]).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_leaves_its_end() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join("err");
        let lines: Vec<u8> = (0..100_000).flat_map(|it| format!("{it}\n").into_bytes()).collect();
        copy(&lines[..], File::create(&path).unwrap());
        let kept = fs::read(&path).unwrap();
        assert!(kept.len() <= MAX_STDERR && kept.len() >= STDERR_TAIL, "{}", kept.len());
        assert!(kept.ends_with(b"99998\n99999\n"));
    }
}
