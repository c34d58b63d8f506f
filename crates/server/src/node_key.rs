//! The key that signs the heads of logs: one for each home, made when it is first needed.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use pilothouse_store::{Bytes, Ed25519};

use crate::hex;

/// Its file in the home: 64 hexadecimal digits, for this user's eyes only.
const FILE: &str = "audit.key";
/// Most bytes that the file has.
const MAX_FILE: u64 = 1_024;

/// Where a home's key is.
pub(crate) fn path(home: &Path) -> PathBuf {
    home.join(FILE)
}

/// The home's key, if there is one.
pub(crate) fn read(home: &Path) -> io::Result<Option<Ed25519>> {
    let path = path(home);
    let length = match fs::metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        metadata => metadata?.len(),
    };
    let text = if length <= MAX_FILE { fs::read_to_string(&path)? } else { String::new() };
    let Ok(Bytes(secret)) = text.trim().parse() else {
        let problem = "it holds no key; put the right one back, or move it away to begin a new one";
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    };
    Ok(Some(Ed25519::new(&secret)))
}

/// The home's key, made now if there is none. The home must be there.
pub(crate) fn read_or_make(home: &Path) -> io::Result<Ed25519> {
    if let Some(key) = read(home)? {
        return Ok(key);
    }
    let new = home.join(format!(".new-{}", uuid::Uuid::new_v4().simple()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&new)?;
    // All 32 bytes depend on each of the random ones.
    let written = writeln!(file, "{}", hex::sha256(hex::secret().as_bytes()));
    // Whole or not at all, and of several processes the first one's: a link replaces nothing.
    let linked = written.and_then(|()| file.sync_all()).and_then(|()| {
        match fs::hard_link(&new, path(home)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        }
    });
    fs::remove_file(&new).ok();
    linked?;
    read(home)?.ok_or_else(|| io::ErrorKind::NotFound.into())
}

#[cfg(test)]
mod tests {
    use pilothouse_store::Signer as _;

    use super::*;

    #[test]
    fn a_key_is_made_once_and_stays() {
        let home = tempfile::tempdir().unwrap();
        assert!(read(home.path()).unwrap().is_none());
        let key = read_or_make(home.path()).unwrap().key();
        assert_eq!(read_or_make(home.path()).unwrap().key(), key);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1, "no file half made");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;

            let mode = fs::metadata(path(home.path())).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn what_is_no_key_is_not_replaced() {
        let home = tempfile::tempdir().unwrap();
        for text in ["", "0123", &"g".repeat(64), &"0".repeat(2_000)] {
            fs::write(path(home.path()), text).unwrap();
            let refused = read_or_make(home.path()).unwrap_err();
            assert!(refused.to_string().contains("holds no key"), "{refused}");
            assert_eq!(fs::read_to_string(path(home.path())).unwrap(), text);
        }
    }
}
