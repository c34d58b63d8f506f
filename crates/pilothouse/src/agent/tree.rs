//! End an agent and all that it started.
//!
//! Codex gives every command a session of its own, so a process group reaches none of them.
//! Three things do: the marker that every agent carries in its environment, the walk from parent
//! to child, and the guard, which adopts what would otherwise get away (ARCHITECTURE section 1.6).

use std::{fmt, io, str::FromStr, time::Duration};

#[cfg(target_os = "linux")]
pub mod guard;
#[cfg(target_os = "linux")]
mod leash;
#[cfg(target_os = "linux")]
pub(crate) mod linux;
#[cfg(target_os = "linux")]
pub(crate) use linux as system;

#[cfg(not(target_os = "linux"))]
pub(crate) mod unsupported;
#[cfg(not(target_os = "linux"))]
pub(crate) use unsupported as system;
#[cfg(not(target_os = "linux"))]
pub use unsupported::guard;

/// The variable that every agent carries, and what it starts inherits.
pub const MARKER_VARIABLE: &str = "PILOTHOUSE_AGENT";

/// How long a search may go on finding more. Only a process that the kernel won't end, or
/// something that starts processes faster than they are ended, takes this long.
pub(crate) const KILL_LIMIT: Duration = Duration::from_secs(2);

/// Whose agent a process is: `<store>/<node>/<process>`.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Marker {
    /// The store that its sessions are in.
    pub store: String,
    /// The broker that started it.
    pub node: String,
    /// Which of that broker's processes it is.
    pub process: String,
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { store, node, process } = self;
        write!(f, "{store}/{node}/{process}")
    }
}

/// The text is no marker.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("read an agent's marker: it is not <store>/<node>/<process>")]
pub struct NoMarker;

impl FromStr for Marker {
    type Err = NoMarker;

    fn from_str(text: &str) -> Result<Self, NoMarker> {
        // From the right, so that a store may be named by a path.
        let mut parts = text.rsplitn(3, '/');
        let (process, node, store) = (parts.next(), parts.next(), parts.next());
        match (store, node, process) {
            (Some(store), Some(node), Some(process))
                if !store.is_empty() && !node.is_empty() && !process.is_empty() =>
            {
                Ok(Self {
                    store: store.to_owned(),
                    node: node.to_owned(),
                    process: process.to_owned(),
                })
            }
            _ => Err(NoMarker),
        }
    }
}

/// How long each rung of the ladder is given before the next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ladder {
    /// After its stdin was closed. Codex leaves within 0.1 s, or 3 s with a command running.
    pub close_stdin: Duration,
    /// After SIGTERM.
    pub term: Duration,
    /// After its guard was told to end everything.
    pub kill: Duration,
}

impl Default for Ladder {
    fn default() -> Self {
        Self {
            close_stdin: Duration::from_secs(3),
            term: Duration::from_secs(1),
            kill: Duration::from_secs(2),
        }
    }
}

impl Ladder {
    /// For an end that may not take long: the host is leaving, and waits for us.
    pub const BRIEF: Self = Self {
        close_stdin: Duration::from_millis(500),
        term: Duration::from_millis(300),
        kill: Duration::from_millis(700),
    };
}

/// A rung of the ladder.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rung {
    /// It had left before anything was done.
    Gone,
    /// It left when its stdin was closed.
    CloseStdin,
    /// It left at SIGTERM.
    Term,
    /// It was ended, with everything below it.
    Kill,
}

/// What a search for processes came to.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Hunt {
    /// How many processes were ended.
    pub n_killed: usize,
    /// The ones that were told to end and still have not.
    pub left: Vec<u32>,
}

/// End what the dead nodes of a store left behind.
///
/// `is_alive` says whether a marker's process is still looked after: its node's lock is held, or
/// it was kept on purpose. Blocks for a few milliseconds per few hundred processes.
pub fn sweep(store: &str, is_alive: impl Fn(&Marker) -> bool) -> io::Result<Hunt> {
    let mut res = Hunt::default();
    for marker in system::markers()? {
        if marker.store == store && !is_alive(&marker) {
            let Hunt { n_killed, left } = system::kill_marked(&marker, None, KILL_LIMIT)?;
            tracing::info!(n_killed, n_left = left.len(), %marker, "ended what a dead node left");
            res.n_killed += n_killed;
            res.left.extend(left);
        }
    }
    Ok(res)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_survives_being_written_down() {
        for (store, node, process) in [("s", "n", "1"), ("/a/path/db", "node-7", "12")] {
            let marker = Marker { store: store.into(), node: node.into(), process: process.into() };
            assert_eq!(marker.to_string().parse(), Ok(marker));
        }
        for text in ["", "a", "a/b", "//", "a//c", "/b/c", "a/b/"] {
            assert_eq!(text.parse::<Marker>(), Err(NoMarker), "{text}");
        }
    }
}
