//! The proto dialect: a process a thread, submissions in and events out, up to Codex 0.42.
//!
//! [`args()`] says how the process is started, in the session's directory; a [`Peer`] is our end of
//! the conversation, shaped like the app-server's. A thread cannot be taken up again here, and on
//! Linux these versions' `codex proto` runs no command in a sandbox: one that needs it fails,
//! unless it was approved.

mod args;
mod base64;
pub(crate) mod events;
mod incoming;
mod items;
mod ops;
mod peer;

pub use self::{args::args, peer::Peer};
