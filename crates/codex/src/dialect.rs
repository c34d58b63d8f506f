//! Which dialect a version of Codex is spoken to in, and what can be done in it.

use std::{error, fmt, str::FromStr};

use crate::app_server::versions::{FLOOR, Feature, Version};

/// A way to speak to Codex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// `codex app-server`: one process, many threads, everything.
    AppServer,
    /// `codex exec --json`: one process a turn, and nobody is asked.
    Exec,
    /// `codex proto`: one process a thread, in versions that had no app-server.
    Proto,
}

/// What can be done in a dialect, beside taking turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// The agent asks before it does what needs a person's consent.
    pub approvals: bool,
    /// A thread can be copied.
    pub fork: bool,
    /// Something can be added to a turn that is under way.
    pub steer: bool,
    /// Text and output come piece by piece.
    pub deltas: bool,
    /// A thread can be taken up after its process is gone.
    pub resume: bool,
}

/// No dialect fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unspeakable {
    /// It is older than anything that was tried.
    TooOld {
        /// The version.
        version: String,
    },
    /// It does not have the dialect that was wanted.
    NotThere {
        /// The version.
        version: String,
        /// What was wanted.
        wanted: Dialect,
        /// What it does have.
        instead: Dialect,
    },
}

/// What a dialect cannot do although it was asked to: it is refused by name, not dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    /// The dialect.
    pub dialect: Dialect,
    /// The version of Codex, if it is known.
    pub version: Option<String>,
    /// The options by their names, each with the reason where it isn't plain.
    pub options: Vec<String>,
}

/// The first version of which `codex exec --json` was tried.
const EXEC_FLOOR: Version = Version(0, 40, 0);
/// The first version of which `codex proto` was tried.
const PROTO_FLOOR: Version = Version(0, 40, 0);
/// The first version that is known not to have it any more, or was not tried.
const PROTO_CEILING: Version = Version(0, 43, 0);
/// The first version whose `codex exec` says which thread it is in.
pub(crate) const EXEC_NAMES_THREAD: Version = Version(0, 42, 0);

/// What can be done in a dialect with a version of Codex; without one, with today's.
pub fn capabilities(dialect: Dialect, version: Option<&str>) -> Capabilities {
    let version = parse(version);
    match dialect {
        Dialect::AppServer => Capabilities {
            approvals: true,
            fork: version.has(Feature::Fork),
            steer: version.has(Feature::Steer),
            deltas: true,
            resume: true,
        },
        Dialect::Exec => Capabilities {
            approvals: false,
            fork: false,
            steer: false,
            deltas: false,
            resume: version >= EXEC_NAMES_THREAD,
        },
        Dialect::Proto => {
            Capabilities { approvals: true, fork: false, steer: true, deltas: true, resume: false }
        }
    }
}

/// The dialect for a version of Codex: the one that can do most, unless one is wanted. What is
/// wanted is taken or refused, and never becomes another.
pub fn choose(version: Option<&str>, forced: Option<Dialect>) -> Result<Dialect, Unspeakable> {
    let parsed = parse(version);
    let shown = || version.unwrap_or("of an unknown version").to_owned();
    let best = [Dialect::AppServer, Dialect::Proto, Dialect::Exec]
        .into_iter()
        .find(|it| is_there(*it, parsed))
        .ok_or_else(|| Unspeakable::TooOld { version: shown() })?;
    match forced {
        Some(wanted) if !is_there(wanted, parsed) => {
            Err(Unspeakable::NotThere { version: shown(), wanted, instead: best })
        }
        Some(wanted) => Ok(wanted),
        None => Ok(best),
    }
}

/// The version that a text names, with or without a program's name before it; today's if it names
/// none. Builds from source call themselves 0.0.0.
pub(crate) fn parse(version: Option<&str>) -> Version {
    let word = version.and_then(|it| it.split_whitespace().next_back());
    let parsed = word.and_then(|it| it.parse().ok()).unwrap_or(Version::NEWEST);
    if parsed == Version(0, 0, 0) { Version::NEWEST } else { parsed }
}

fn is_there(dialect: Dialect, version: Version) -> bool {
    match dialect {
        Dialect::AppServer => version >= FLOOR,
        Dialect::Exec => version >= EXEC_FLOOR,
        Dialect::Proto => (PROTO_FLOOR..PROTO_CEILING).contains(&version),
    }
}

impl Dialect {
    /// Its name, as settings spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::AppServer => "app-server",
            Self::Exec => "exec",
            Self::Proto => "proto",
        }
    }

    /// What can be done in it with a version of Codex; without one, with today's.
    pub fn can(self, version: Option<&str>) -> Capabilities {
        capabilities(self, version)
    }

    /// The dialect for a version of Codex, unless one is wanted; see [`choose`].
    pub fn of(version: Option<&str>, wanted: Option<Self>) -> Result<Self, Unspeakable> {
        choose(version, wanted)
    }

    /// The approval policies that mean something in it, with a version of Codex.
    pub fn policies(self, version: Option<&str>) -> Vec<&'static str> {
        let had_on_failure = !parse(version).has(Feature::NoOnFailure);
        match self {
            Self::AppServer | Self::Proto => {
                let all = ["untrusted", "on-failure", "on-request", "never"];
                all.into_iter().filter(|it| *it != "on-failure" || had_on_failure).collect()
            }
            // Whatever it is told, it asks nobody.
            Self::Exec => vec!["never"],
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that names no dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownDialect(pub String);

impl fmt::Display for UnknownDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no dialect of Codex; use app-server, exec or proto", self.0)
    }
}

impl error::Error for UnknownDialect {}

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(text: &str) -> Result<Self, UnknownDialect> {
        [Self::AppServer, Self::Exec, Self::Proto]
            .into_iter()
            .find(|it| it.name() == text)
            .ok_or_else(|| UnknownDialect(text.chars().take(80).collect()))
    }
}

impl fmt::Display for Unspeakable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooOld { version } => write!(
                f,
                "speak to Codex {version}, which is too old; install {EXEC_FLOOR} or later, \
                 best today's"
            ),
            Self::NotThere { version, wanted, instead } => {
                write!(f, "speak {wanted} to Codex {version}, which does not have it; ")?;
                match wanted {
                    Dialect::AppServer => write!(f, "install {FLOOR} or later")?,
                    Dialect::Exec => write!(f, "install {EXEC_FLOOR} or later")?,
                    Dialect::Proto => write!(f, "its last version was 0.42.0")?,
                }
                write!(f, ", or use {instead}")
            }
        }
    }
}

impl error::Error for Unspeakable {}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.version.as_deref().map(|it| format!(" {it}")).unwrap_or_default();
        write!(
            f,
            "Pilothouse could not do what was asked: Codex{version}, spoken to as {}, does not \
             take {}; leave that out, or use a Codex that is spoken to as app-server",
            self.dialect,
            self.options.join(", ")
        )
    }
}

impl error::Error for Unsupported {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dialect_that_can_do_most_is_chosen() {
        use Dialect::{AppServer, Exec, Proto};
        let check = |version: Option<&str>, expected: Option<Dialect>| {
            assert_eq!(choose(version, None).ok(), expected, "{version:?}");
        };
        check(Some("0.171.0"), Some(AppServer));
        check(Some("codex-cli 0.171.0"), Some(AppServer));
        check(Some("0.172.0-alpha.1"), Some(AppServer));
        check(Some("0.59.0"), Some(AppServer));
        check(Some("0.58.0"), Some(Exec));
        check(Some("0.44.0"), Some(Exec));
        check(Some("0.43.0"), Some(Exec));
        check(Some("0.42.0"), Some(Proto));
        check(Some("0.40.0"), Some(Proto));
        check(Some("0.39.9"), None);
        check(Some("0.0.0"), Some(AppServer));
        check(Some("what"), Some(AppServer));
        check(None, Some(AppServer));
    }

    #[test]
    fn what_is_wanted_is_taken_or_refused() {
        use Dialect::{AppServer, Exec, Proto};
        let check = |version: &str, wanted: Dialect, expected: Result<Dialect, &str>| {
            let chosen = choose(Some(version), Some(wanted)).map_err(|it| it.to_string());
            assert_eq!(chosen, expected.map_err(ToOwned::to_owned), "{version}");
        };
        check("0.171.0", Exec, Ok(Exec));
        check("0.42.0", Exec, Ok(Exec));
        check(
            "0.171.0",
            Proto,
            Err(
                "speak proto to Codex 0.171.0, which does not have it; its last version was 0.42.0, or use app-server",
            ),
        );
        check(
            "0.42.0",
            AppServer,
            Err(
                "speak app-server to Codex 0.42.0, which does not have it; install 0.59.0 or later, or use proto",
            ),
        );
        check(
            "0.20.0",
            Exec,
            Err("speak to Codex 0.20.0, which is too old; install 0.40.0 or later, best today's"),
        );
    }

    #[test]
    fn capabilities_follow_dialect_and_version() {
        let check = |dialect, version, expected: &str| {
            let it = capabilities(dialect, Some(version));
            let words = [
                (it.approvals, "approvals"),
                (it.fork, "fork"),
                (it.steer, "steer"),
                (it.deltas, "deltas"),
                (it.resume, "resume"),
            ];
            let words: Vec<_> = words.iter().filter(|it| it.0).map(|it| it.1).collect();
            assert_eq!(words.join(" "), expected, "{dialect} {version}");
        };
        check(Dialect::AppServer, "0.171.0", "approvals fork steer deltas resume");
        check(Dialect::AppServer, "0.77.0", "approvals deltas resume");
        check(Dialect::Exec, "0.171.0", "resume");
        check(Dialect::Exec, "0.40.0", "");
        check(Dialect::Proto, "0.42.0", "approvals steer deltas");
    }

    #[test]
    fn names_read_as_they_are_written() {
        for dialect in [Dialect::AppServer, Dialect::Exec, Dialect::Proto] {
            assert_eq!(dialect.name().parse(), Ok(dialect));
        }
        let error = "mcp".parse::<Dialect>().map_err(|it| it.to_string());
        assert_eq!(
            error,
            Err("\"mcp\" is no dialect of Codex; use app-server, exec or proto".to_owned())
        );
    }
}
