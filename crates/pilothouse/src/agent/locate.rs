//! Find the native Codex: on `PATH`, behind npm's wrapper, or where one was told; and its version.
//!
//! What npm puts on `PATH` is a script for node that starts the native program. Starting the
//! native one ourselves saves 41 MiB and 50 ms, works where node is missing, and leaves no process
//! in between that a signal may stop at (CODEX section 1).

use std::{
    env,
    ffi::{OsStr, OsString},
    fmt,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    process::Stdio,
    str::FromStr,
    time::Duration,
};

use tokio::{io::AsyncReadExt, process::Command, time::timeout};

/// What Codex is called.
const PROGRAM: &str = "codex";

/// How long `--version` may take. It takes 0.05 s, but a machine may be busy or a disk cold.
const VERSION_LIMIT: Duration = Duration::from_secs(10);

/// As much as is read of what `--version` says.
const VERSION_BYTES: u64 = 4096;

/// As much as is read of a file to see whether it is a wrapper.
const HEAD_BYTES: u64 = 4096;

/// Where to look.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Places {
    /// A file, or a name to find on `path`; nothing else is looked at then.
    pub explicit: Option<PathBuf>,
    /// As in `PATH`.
    pub path: Option<OsString>,
}

impl Places {
    /// What the settings say, else `PILOTHOUSE_CODEX` or `CODEX_MCP_BINARY`, else `PATH`.
    pub fn from_env(explicit: Option<PathBuf>) -> Self {
        let named = || {
            ["PILOTHOUSE_CODEX", "CODEX_MCP_BINARY"]
                .into_iter()
                .filter_map(env::var_os)
                .find(|it| !it.is_empty())
                .map(PathBuf::from)
        };
        Self { explicit: explicit.or_else(named), path: env::var_os("PATH") }
    }
}

/// A Codex that can be started.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Located {
    /// What to start.
    pub path: PathBuf,
    /// What was found first, when that led to `path`: npm's wrapper, or a link to it.
    pub via: Option<PathBuf>,
    /// `path` is a script that needs node; there was no native file behind it.
    pub wrapper: bool,
}

/// There is no Codex that could be started. Each completes "Pilothouse could not …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocateError {
    /// Nothing of that name is on `PATH`.
    #[error(
        "find `{}` on PATH; install Codex with `npm install -g @openai/codex`, or set \
         PILOTHOUSE_CODEX to its file", name.display()
    )]
    NotOnPath {
        /// What was looked for.
        name: PathBuf,
    },
    /// The named file isn't there.
    #[error("find {}, which was named as the Codex to use; correct the path", path.display())]
    Missing {
        /// What was named.
        path: PathBuf,
    },
    /// It is a directory.
    #[error(
        "start {}: it is a directory; name the `codex` file in it", path.display()
    )]
    Directory {
        /// What was named.
        path: PathBuf,
    },
    /// It has no permission to be executed.
    #[error(
        "start {path}: it is not executable; make it so with `chmod +x {path}`, or install Codex \
         again", path = path.display()
    )]
    NotExecutable {
        /// What was found.
        path: PathBuf,
    },
    /// npm's wrapper without its native part, and no node to run it.
    #[error(
        "start Codex: found {} but its interpreter node is missing, and so is the native program \
         beside it; install it again with `npm install -g @openai/codex`, or put node on PATH",
        path.display()
    )]
    NoInterpreter {
        /// The wrapper.
        path: PathBuf,
    },
    /// It can't be looked at.
    #[error("read {}", path.display())]
    Unreadable {
        /// What was found.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Find the Codex to start.
pub fn locate(places: &Places) -> Result<Located, LocateError> {
    let path = places.path.as_deref();
    let found = match &places.explicit {
        Some(explicit) if explicit.components().count() > 1 || explicit.is_absolute() => {
            check(explicit)?;
            explicit.clone()
        }
        Some(name) => on_path(name.as_os_str(), path)?,
        None => on_path(OsStr::new(PROGRAM), path)?,
    };
    let Some(script) = wrapper_script(&found)? else {
        return Ok(Located { path: found, via: None, wrapper: false });
    };
    if let Some(native) = native_beside(&script) {
        return Ok(Located { path: native, via: Some(found), wrapper: false });
    }
    match on_path(OsStr::new("node"), path) {
        Ok(_) => Ok(Located { path: found, via: None, wrapper: true }),
        Err(_) => Err(LocateError::NoInterpreter { path: found }),
    }
}

/// As a shell does: the first executable file wins. One that is there but can't be executed is
/// remembered, as it is likely what was meant.
fn on_path(name: &OsStr, path: Option<&OsStr>) -> Result<PathBuf, LocateError> {
    let mut unusable = None;
    for directory in path.into_iter().flat_map(env::split_paths) {
        let candidate = directory.join(name);
        match check(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(error @ LocateError::NotExecutable { .. }) => unusable = unusable.or(Some(error)),
            Err(_) => {}
        }
    }
    Err(unusable.unwrap_or_else(|| LocateError::NotOnPath { name: name.into() }))
}

fn check(path: &Path) -> Result<(), LocateError> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(LocateError::Missing { path: path.into() });
        }
        Err(source) => return Err(LocateError::Unreadable { path: path.into(), source }),
    };
    if metadata.is_dir() {
        return Err(LocateError::Directory { path: path.into() });
    }
    if !is_executable(path, &metadata) {
        return Err(LocateError::NotExecutable { path: path.into() });
    }
    Ok(())
}

#[cfg(unix)]
fn is_executable(path: &Path, _metadata: &fs::Metadata) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn is_executable(_path: &Path, metadata: &fs::Metadata) -> bool {
    metadata.is_file()
}

/// Where npm's `codex.js` is, if the file is that, a link to it, or a shell script that calls it.
fn wrapper_script(found: &Path) -> Result<Option<PathBuf>, LocateError> {
    let unreadable = |source| LocateError::Unreadable { path: found.into(), source };
    let real = fs::canonicalize(found).map_err(unreadable)?;
    let mut head = Vec::new();
    match File::open(&real).and_then(|it| it.take(HEAD_BYTES).read_to_end(&mut head)) {
        Ok(_) => {}
        // A program may be executable without being readable.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
        Err(source) => return Err(unreadable(source)),
    }
    if !head.starts_with(b"#!") {
        let is_script = real.extension().is_some_and(|it| it == "js" || it == "mjs");
        return Ok(is_script.then_some(real));
    }
    let text = String::from_utf8_lossy(&head);
    let shebang = text.lines().next().unwrap_or_default();
    let interprets = |program: &str| {
        shebang.trim_start_matches("#!").split([' ', '/']).any(|it| it.trim_end() == program)
    };
    if interprets("node") || interprets("bun") {
        return Ok(Some(real));
    }
    // pnpm writes a shell script that names the wrapper relative to itself.
    let directory = real.parent().unwrap_or(Path::new("/"));
    let target =
        text.split(['"', '\'', ' ']).filter(|it| it.ends_with("bin/codex.js")).find_map(|it| {
            let script = directory.join(it.trim_start_matches("$basedir/"));
            fs::canonicalize(script).ok()
        });
    Ok(target)
}

/// Where npm puts the native program, for the wrapper `…/@openai/codex/bin/codex.js`.
fn native_beside(script: &Path) -> Option<PathBuf> {
    let (platform, triples) = platform()?;
    let package = script.parent()?.parent()?;
    // As node resolves a package: in each `node_modules` from here upwards. pnpm too puts it there.
    let platform_package = format!("node_modules/@openai/codex-{platform}");
    let above = package.ancestors().map(|it| it.join(&platform_package));
    let vendors: Vec<PathBuf> =
        above.chain([package.to_owned()]).map(|it| it.join("vendor")).collect();

    let in_vendor = vendors.iter().flat_map(|vendor| {
        triples.iter().flat_map(|triple| {
            // The second is the layout before the platform packages, and of the first of them.
            ["bin/codex", "codex/codex"].map(|program| vendor.join(triple).join(program))
        })
    });
    // The oldest packages have them all beside the wrapper.
    let beside = triples.iter().map(|triple| package.join(format!("bin/codex-{triple}")));
    in_vendor.chain(beside).find(|it| check(it).is_ok())
}

fn platform() -> Option<(&'static str, &'static [&'static str])> {
    match (env::consts::OS, env::consts::ARCH) {
        ("linux", "x86_64") => {
            Some(("linux-x64", &["x86_64-unknown-linux-musl", "x86_64-unknown-linux-gnu"]))
        }
        ("linux", "aarch64") => {
            Some(("linux-arm64", &["aarch64-unknown-linux-musl", "aarch64-unknown-linux-gnu"]))
        }
        ("macos", "x86_64") => Some(("darwin-x64", &["x86_64-apple-darwin"])),
        ("macos", "aarch64") => Some(("darwin-arm64", &["aarch64-apple-darwin"])),
        _ => None,
    }
}

/// A version of Codex. What follows a `-` or `+` is not looked at.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Version {
    /// The first number: 0, so far.
    pub major: u32,
    /// The second, which counts releases.
    pub minor: u32,
    /// The third.
    pub patch: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { major, minor, patch } = self;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// The text is no version.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("read a version: it is not three numbers with dots between")]
pub struct NoVersion;

impl FromStr for Version {
    type Err = NoVersion;

    fn from_str(text: &str) -> Result<Self, NoVersion> {
        let numbers = text.split(['-', '+']).next().unwrap_or_default();
        let mut numbers = numbers.splitn(3, '.').map(str::parse);
        match (numbers.next(), numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor)), Some(Ok(patch))) => Ok(Self { major, minor, patch }),
            _ => Err(NoVersion),
        }
    }
}

/// A Codex did not say its version. Each completes "Pilothouse could not …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VersionError {
    /// It could not be started.
    #[error("start {} to learn its version", path.display())]
    Start {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It said nothing in time.
    #[error("learn the version of {}: it did not answer in {} s", path.display(), VERSION_LIMIT.as_secs())]
    TimedOut {
        /// Which.
        path: PathBuf,
    },
    /// It said something else.
    #[error(
        "learn the version of {}: it says {said:?}; is it Codex? Set PILOTHOUSE_CODEX to the \
         right file", path.display()
    )]
    NotCodex {
        /// Which.
        path: PathBuf,
        /// The first line of what it said.
        said: String,
    },
}

/// Ask a Codex for its version.
pub async fn version(located: &Located) -> Result<Version, VersionError> {
    let path = &located.path;
    let failed = |source| VersionError::Start { path: path.clone(), source };
    let ask = async {
        let mut child = Command::new(path)
            .arg("--version")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let mut said = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            stdout.take(VERSION_BYTES).read_to_end(&mut said).await.map_err(failed)?;
        }
        Ok(String::from_utf8_lossy(&said).into_owned())
    };
    let said = timeout(VERSION_LIMIT, ask)
        .await
        .map_err(|_| VersionError::TimedOut { path: path.clone() })??;
    parse_version(&said).ok_or_else(|| VersionError::NotCodex {
        path: path.clone(),
        said: said.lines().next().unwrap_or_default().to_owned(),
    })
}

/// `codex-cli 0.171.0`, and `codex 0.…` in some builds; warnings may come before it.
fn parse_version(said: &str) -> Option<Version> {
    said.lines().find_map(|line| {
        let (name, version) = line.trim().split_once(' ')?;
        if name.starts_with(PROGRAM) { version.trim().parse().ok() } else { None }
    })
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
