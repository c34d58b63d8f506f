//! What goes wrong in the world: the rules' refusals, the store's failures, agents that don't come.

use pilothouse_core::{AgentError, AskRef, Refusal, SessionId};
use pilothouse_store::StoreError;

/// Something was not done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The rules said no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// No session of that name.
    #[error("there is no session {0}; list the sessions to see which there are")]
    NoSuchSession(SessionId),
    /// No ask of that name.
    #[error("there is no request {0}")]
    NoSuchAsk(AskRef),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No agent could be brought.
    #[error("{}", .0.message)]
    Agent(AgentError),
    /// It took too long.
    #[error("{doing} took more than {seconds} s; it may still happen")]
    TimedOut {
        /// What.
        doing: &'static str,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The session's owner could not do it.
    #[error("the node that runs the session could not do it: {0}")]
    Elsewhere(String),
    /// This broker is leaving.
    #[error("this Pilothouse is stopping")]
    Stopping,
}
