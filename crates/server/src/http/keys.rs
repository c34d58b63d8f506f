//! The secrets that open the door: the API token, login codes, logins, and people's own tokens.
//!
//! All but the API token are kept as hashes, one file each, so that no process needs to be told of
//! what another one made, and a restart forgets nothing.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret as _, SecretString};
use subtle::ConstantTimeEq as _;

use crate::{hex, settings::make_private_dir};

/// Longest secret that is looked at.
const MAX_SECRET: usize = 256;

/// Kinds of secret that are kept as hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawer {
    /// Gets a browser in, once.
    Codes,
    /// Keeps a browser in.
    Logins,
    /// Speaks for a person over the API.
    Humans,
}

impl Drawer {
    const fn folder(self) -> &'static str {
        match self {
            Self::Codes => "codes",
            Self::Logins => "logins",
            Self::Humans => "humans",
        }
    }

    const fn prefix(self) -> &'static str {
        match self {
            // Codes stand in an address, which is long enough.
            Self::Codes => "",
            Self::Logins => "phl_",
            Self::Humans => "phh_",
        }
    }

    /// How long a secret is good for.
    pub const fn lifetime(self) -> SignedDuration {
        match self {
            Self::Codes => SignedDuration::from_secs(60),
            Self::Logins => SignedDuration::from_hours(30 * 24),
            Self::Humans => SignedDuration::from_hours(90 * 24),
        }
    }

    /// How many there may be; the ones that end first make room.
    const fn limit(self) -> usize {
        match self {
            Self::Codes => 16,
            Self::Logins => 64,
            Self::Humans => 32,
        }
    }
}

/// Where the secrets are.
#[derive(Debug, Clone)]
pub struct Keys {
    home: PathBuf,
}

impl Keys {
    /// The secrets of a home.
    pub fn new(home: &Path) -> Self {
        Self { home: home.to_owned() }
    }

    /// The token of programs, made at its first use. It is readable, because a script reads it;
    /// whoever removes the file has a new one made.
    pub fn api_token(&self) -> io::Result<SecretString> {
        let path = self.home.join("token");
        match fs::read_to_string(&path) {
            Ok(token) if !token.trim().is_empty() => return Ok(token.trim().into()),
            Ok(_) => {
                let problem = format!("{} is empty; remove it", path.display());
                return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        make_private_dir(&self.home)?;
        let token = format!("pht_{}", hex::secret());
        let new = write_new(&self.home, &token)?;
        // Unlike a rename this fails if another process was first.
        let linked = fs::hard_link(&new, &path);
        fs::remove_file(&new)?;
        match linked {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.api_token(),
            Err(error) => Err(error),
            Ok(()) => Ok(token.into()),
        }
    }

    /// Whether this is the token of programs.
    pub fn is_api_token(&self, given: &str) -> bool {
        if given.is_empty() || given.len() > MAX_SECRET {
            return false;
        }
        let Ok(token) = fs::read_to_string(self.home.join("token")) else { return false };
        // Hashes are of one length, which a comparison in constant time needs.
        let (given, token) = (hex::sha256(given.as_bytes()), hex::sha256(token.trim().as_bytes()));
        given.as_bytes().ct_eq(token.as_bytes()).into()
    }

    /// Makes a secret.
    pub fn mint(&self, drawer: Drawer, now: Timestamp) -> io::Result<SecretString> {
        let folder = self.folder(drawer);
        make_private_dir(&folder)?;
        make_room(&folder, drawer.limit(), now)?;
        let secret = format!("{}{}", drawer.prefix(), hex::secret());
        let expiry = now + drawer.lifetime();
        let new = write_new(&folder, &expiry.to_string())?;
        fs::rename(new, folder.join(hex::sha256(secret.as_bytes())))?;
        Ok(secret.into())
    }

    /// Whether a secret was made here and is still good.
    pub fn holds(&self, drawer: Drawer, secret: &str, now: Timestamp) -> bool {
        self.file(drawer, secret).is_some_and(|it| expiry(&it).is_some_and(|it| now < it))
    }

    /// Uses a secret up. Of several who try at the same time one succeeds.
    pub fn take(&self, drawer: Drawer, secret: &str, now: Timestamp) -> bool {
        let Some(file) = self.file(drawer, secret) else { return false };
        let Some(expiry) = expiry(&file) else { return false };
        fs::remove_file(file).is_ok() && now < expiry
    }

    /// Where a secret would be. Its hash is its name, so nothing is learnt from how long it takes
    /// to find that there is none.
    fn file(&self, drawer: Drawer, secret: &str) -> Option<PathBuf> {
        let plausible = !secret.is_empty() && secret.len() <= MAX_SECRET;
        plausible.then(|| self.folder(drawer).join(hex::sha256(secret.as_bytes())))
    }

    fn folder(&self, drawer: Drawer) -> PathBuf {
        self.home.join("run").join(drawer.folder())
    }
}

/// For the header that sets a cookie, and for what is printed.
pub(crate) fn expose(secret: &SecretString) -> &str {
    secret.expose_secret()
}

fn expiry(file: &Path) -> Option<Timestamp> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// Removes what is over, and if that is not enough, what will be first.
fn make_room(folder: &Path, limit: usize, now: Timestamp) -> io::Result<()> {
    let mut good = vec![];
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        // What another process is just writing has no hash for a name yet.
        let Some(name) = path.file_name().and_then(|it| it.to_str()) else { continue };
        if !hex::is_sha256(name) {
            continue;
        }
        match expiry(&path) {
            Some(expiry) if now < expiry => good.push((expiry, path)),
            Some(_) | None => {
                fs::remove_file(path).ok();
            }
        }
    }
    good.sort();
    let n_over = (good.len() + 1).saturating_sub(limit);
    for (_, path) in good.into_iter().take(n_over) {
        fs::remove_file(path).ok();
    }
    Ok(())
}

/// A new file that only this user can read, under a name of its own.
fn write_new(folder: &Path, text: &str) -> io::Result<PathBuf> {
    let path = folder.join(format!(".new-{}", uuid::Uuid::new_v4().simple()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&path)?;
    file.write_all(text.as_bytes())?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn keys() -> (tempfile::TempDir, Keys) {
        let home = tempfile::tempdir().unwrap();
        let keys = Keys::new(home.path());
        (home, keys)
    }

    #[test]
    fn a_code_works_once() {
        let (_home, keys) = keys();
        let code = keys.mint(Drawer::Codes, NOW).unwrap();
        let code = expose(&code);
        assert!(!keys.take(Drawer::Codes, "", NOW));
        assert!(!keys.take(Drawer::Codes, &code[1..], NOW));
        assert!(!keys.take(Drawer::Logins, code, NOW));
        assert!(keys.take(Drawer::Codes, code, NOW));
        assert!(!keys.take(Drawer::Codes, code, NOW));
    }

    #[test]
    fn a_code_works_for_a_minute() {
        let (_home, keys) = keys();
        let [in_time, late] = [0, 1].map(|_| keys.mint(Drawer::Codes, NOW).unwrap());
        assert!(keys.take(Drawer::Codes, expose(&in_time), NOW + SignedDuration::from_secs(59)));
        let over = NOW + SignedDuration::from_secs(60);
        assert!(!keys.take(Drawer::Codes, expose(&late), over));
        // Nor can the clock be set back to use it then.
        assert!(!keys.take(Drawer::Codes, expose(&late), NOW));
    }

    #[test]
    fn the_api_token_stays_and_is_told_apart() {
        let (_home, keys) = keys();
        assert!(!keys.is_api_token("x"));
        let token = keys.api_token().unwrap();
        assert_eq!(expose(&token), expose(&keys.api_token().unwrap()));
        assert!(keys.is_api_token(expose(&token)));
        for other in ["", "pht_", &expose(&token)[1..], &format!("{}0", expose(&token))] {
            assert!(!keys.is_api_token(other), "{other}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_can_read_them_and_no_secret_is_in_the_files() {
        use std::os::unix::fs::PermissionsExt as _;

        let (home, keys) = keys();
        keys.api_token().unwrap();
        let login = keys.mint(Drawer::Logins, NOW).unwrap();
        let folder = home.path().join("run/logins");
        let mode = |it: &Path| fs::metadata(it).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&home.path().join("token")), 0o600);
        assert_eq!(mode(&folder), 0o700);
        let files: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
        assert_eq!(files.len(), 1);
        assert_eq!(mode(&files[0]), 0o600);
        let text = format!("{}{}", files[0].display(), fs::read_to_string(&files[0]).unwrap());
        assert!(!text.contains(expose(&login).trim_start_matches("phl_")), "{text}");
        let left = fs::read_dir(home.path()).unwrap().count();
        assert_eq!(left, 2, "the token and `run`, no file half made");
    }

    #[test]
    fn old_secrets_make_room() {
        let (home, keys) = keys();
        let first = keys.mint(Drawer::Codes, NOW).unwrap();
        for n in 1..=i64::try_from(Drawer::Codes.limit()).unwrap() {
            keys.mint(Drawer::Codes, NOW + SignedDuration::from_millis(n)).unwrap();
        }
        let count = || fs::read_dir(home.path().join("run/codes")).unwrap().count();
        assert_eq!(count(), Drawer::Codes.limit());
        assert!(!keys.holds(Drawer::Codes, expose(&first), NOW));
        keys.mint(Drawer::Codes, NOW + SignedDuration::from_hours(1)).unwrap();
        assert_eq!(count(), 1);
    }
}
