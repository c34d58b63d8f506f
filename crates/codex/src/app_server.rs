//! The app-server dialect: one process, many threads, requests in both directions.

pub(crate) mod answers;
mod asks;
pub(crate) mod gathered;
mod incoming;
pub(crate) mod items;
pub mod methods;
mod outgoing;
mod params;
mod peer;
mod refusals;
mod rejoin;
mod requests;
mod responses;
mod seat;
mod strangers;
mod unasked;
pub(crate) mod versions;
pub(crate) mod wire;

use pilothouse_core::{AgentError, FromAgent};
use serde_json::Value;

pub use self::{
    peer::Peer,
    rejoin::{Missed, MissedTurn},
};

/// Our name for a session on one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u64);

/// The first version to which a session can come back while its turn goes on: what was missed can
/// be read from it under the names that were heard before.
const KEEP_FLOOR: versions::Version = versions::Version(0, 153, 0);

/// Whether a session can come back to a Codex of this version; one that doesn't say is today's.
pub fn can_be_kept(version: Option<&str>) -> bool {
    crate::dialect::parse(version) >= KEEP_FLOOR
}

/// Who we say we are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// A short name without spaces.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// Its version.
    pub version: String,
}

/// What talking to Codex leads to.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// A line to write, without its end. It may hold an answer that must not be shown.
    Line(String),
    /// What Codex said to one session.
    Said(Tag, FromAgent),
    /// The handshake is over.
    Up {
        /// Codex's version, if it told.
        version: Option<String>,
    },
    /// What came of [`Peer::request`].
    Answered {
        /// The name that the request was given.
        id: u64,
        /// What Codex answered.
        result: Result<Value, AgentError>,
    },
    /// The connection is of no use: end the process.
    Broken {
        /// Why.
        cause: String,
    },
}

/// The arguments that `codex` is started with.
///
/// Codex keeps a thread and its MCP servers for half an hour after its last client left. With no
/// delay [`Peer::detach`] ends them at once, and the thread stays in the user's history, which
/// archiving would hide it from.
pub fn app_server_args() -> Vec<&'static str> {
    vec!["app-server", "-c", "thread_unload_delay_secs=0"]
}

/// The same for one that is kept, and is spoken to over a socket. A thread whose turn goes on is not
/// unloaded although nobody listens to it.
pub fn kept_app_server_args(socket: &str) -> Vec<String> {
    let listen = ["--listen".to_owned(), format!("unix://{socket}")];
    app_server_args().into_iter().map(ToOwned::to_owned).chain(listen).collect()
}
