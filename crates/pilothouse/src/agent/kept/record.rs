//! What is known on disk of agents that are kept: a record each, and the sockets that lead to them.

use std::{
    env,
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write},
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
    time::Duration,
};

use pilothouse_core::SessionId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The version of the record's format.
const FORMAT: u32 = 1;
/// Most bytes of a record; real ones have some hundred.
const MAX_RECORD: u64 = 64 * 1024;
/// Most records that are looked at; each stands for a process.
const MAX_RECORDS: usize = 1_024;
/// After which time a record that was begun will not be finished.
const UNFINISHED: Duration = Duration::from_mins(1);
/// Longest path of a socket, without the zero at its end.
const MAX_ADDRESS: usize = 107;

/// A process that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    format: u32,
    /// Its name, which never comes again on this machine.
    pub(crate) name: String,
    /// The program.
    pub(crate) program: PathBuf,
    /// The program's version, if it told.
    pub(crate) version: Option<String>,
    /// What must be equal for new sessions to share it.
    pub(crate) likeness: String,
    /// The only session that it serves, if it is not shared.
    pub(crate) serves: Option<SessionId>,
    /// When it was started.
    pub(crate) started_at: String,
}

/// Where everything about a process is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Paths {
    pub(crate) record: PathBuf,
    /// The end of its stderr.
    pub(crate) stderr: PathBuf,
    /// Where its guard is spoken to.
    pub(crate) control: PathBuf,
    /// Where it is spoken to.
    pub(crate) socket: PathBuf,
}

impl Record {
    pub(crate) fn new(
        name: String,
        program: &Path,
        version: Option<String>,
        likeness: String,
        serves: Option<SessionId>,
    ) -> Self {
        let started_at = crate::clock::now().to_string();
        let program = program.to_owned();
        Self { format: FORMAT, name, program, version, likeness, serves, started_at }
    }

    /// Puts it where those who come later look.
    pub(crate) fn write(&self, paths: &Paths) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        let early = paths.record.with_extension("new");
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&early)?;
        file.write_all(&text)?;
        fs::rename(&early, &paths.record)
    }

    fn read(path: &Path) -> Option<Self> {
        if fs::metadata(path).ok()?.len() > MAX_RECORD {
            return None;
        }
        let record: Self = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        let named = path.file_stem().is_some_and(|it| it == record.name.as_str());
        (named && record.format == FORMAT).then_some(record)
    }
}

impl Paths {
    /// Of the process of a name. Its sockets are with its record, or in a directory of this user's
    /// under the system's temporary one if that is too long for a socket.
    pub(crate) fn of(folder: &Path, name: &str) -> io::Result<Self> {
        let fits = |it: &Path| {
            let longest = it.join(format!("{name}.sock"));
            longest.as_os_str().len() <= MAX_ADDRESS && longest.to_str().is_some()
        };
        let key = Sha256::digest(folder.as_os_str().as_bytes());
        let short = format!("pilothouse-{:02x}{:02x}{:02x}{:02x}", key[0], key[1], key[2], key[3]);
        let dirs =
            [folder.to_owned(), env::temp_dir().join(&short), Path::new("/tmp").join(&short)];
        let sockets = dirs.into_iter().find(|it| fits(it)).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "no directory has a name short enough")
        })?;
        let beside = |ending| folder.join(format!("{name}.{ending}"));
        Ok(Self {
            record: beside("json"),
            stderr: beside("err"),
            control: sockets.join(format!("{name}.ctl")),
            socket: sockets.join(format!("{name}.sock")),
        })
    }

    /// Makes the directories, for this user alone.
    pub(crate) fn make_dirs(&self) -> io::Result<()> {
        for dir in [self.record.parent(), self.socket.parent()].into_iter().flatten() {
            match DirBuilder::new().recursive(true).mode(0o700).create(dir) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            let metadata = fs::symlink_metadata(dir)?;
            let ours = metadata.uid() == rustix::process::geteuid().as_raw();
            if !metadata.is_dir() || !ours || metadata.mode() & 0o077 != 0 {
                let problem = format!(
                    "{} must be a directory of this user's alone; remove it",
                    dir.display()
                );
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
            }
        }
        Ok(())
    }

    /// Takes away what a process left that is gone.
    pub(crate) fn remove(&self) {
        for path in [&self.record, &self.stderr, &self.control, &self.socket] {
            fs::remove_file(path).ok();
        }
    }
}

/// The record of one process.
pub(crate) fn find(folder: &Path, name: &str) -> Option<(Record, Paths)> {
    // A name comes from a log, and becomes a path here.
    let plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.');
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        return None;
    }
    let paths = Paths::of(folder, name).ok()?;
    Some((Record::read(&paths.record)?, paths))
}

/// All records.
pub(crate) fn all(folder: &Path) -> Vec<(Record, Paths)> {
    let Ok(files) = fs::read_dir(folder) else { return vec![] };
    let records = files.flatten().map(|it| it.path());
    let records = records.filter(|it| it.extension().is_some_and(|it| it == "json"));
    let names = records.filter_map(|it| Some(it.file_stem()?.to_str()?.to_owned()));
    names.take(MAX_RECORDS).filter_map(|it| find(folder, &it)).collect()
}

/// Takes away the last words of agents that are gone, and what was never finished.
pub(crate) fn sweep(folder: &Path) {
    let Ok(files) = fs::read_dir(folder) else { return };
    for path in files.flatten().map(|it| it.path()) {
        let ending = path.extension().and_then(|it| it.to_str());
        let is_left = match ending {
            Some("err") => !path.with_extension("json").exists(),
            // Whoever writes one is done with it in a moment.
            Some("new") => is_old(&path),
            Some(_) | None => false,
        };
        if is_left {
            fs::remove_file(&path).ok();
        }
    }
}

fn is_old(path: &Path) -> bool {
    let age = fs::metadata(path).and_then(|it| it.modified()).map(|it| it.elapsed());
    age.is_ok_and(|it| it.is_ok_and(|it| it > UNFINISHED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_found_by_its_name_and_by_no_other() {
        let dir = tempfile::TempDir::new().unwrap();
        let folder = dir.path().join("agents");
        let record = Record::new("n-1".into(), Path::new("/codex"), None, "same".into(), None);
        let paths = Paths::of(&folder, "n-1").unwrap();
        paths.make_dirs().unwrap();
        record.write(&paths).unwrap();
        assert_eq!(find(&folder, "n-1"), Some((record, paths.clone())));
        assert_eq!(all(&folder).len(), 1);
        for name in ["n-2", "", "../agents/n-1", "n-1.json"] {
            assert_eq!(find(&folder, name), None, "{name}");
        }
        fs::copy(&paths.record, folder.join("other.json")).unwrap();
        assert_eq!(all(&folder).len(), 1, "a record of another name is none");
        fs::write(&paths.stderr, "last words").unwrap();
        sweep(&folder);
        assert!(paths.stderr.exists(), "it is kept");
        fs::remove_file(&paths.record).unwrap();
        sweep(&folder);
        assert!(!paths.stderr.exists(), "it is gone");
        assert_eq!(find(&folder, "n-1"), None);
    }

    #[test]
    fn a_path_too_long_for_a_socket_has_its_sockets_elsewhere() {
        let folder = Path::new("/").join("x".repeat(100));
        let paths = Paths::of(&folder, "n-1").unwrap();
        assert!(paths.record.starts_with(&folder));
        assert!(!paths.socket.starts_with(&folder));
        assert!(paths.socket.as_os_str().len() <= MAX_ADDRESS);
    }
}
