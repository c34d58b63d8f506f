//! Codex spoken: lines in, [`FromAgent`](pilothouse_core::FromAgent) out;
//! [`ToAgent`](pilothouse_core::ToAgent) in, lines out.
//!
//! This crate performs no I/O, reads no clock and draws no random numbers. A [`Peer`] is our end
//! of one conversation with `codex app-server`. It is given lines and the time, and answers with
//! [`Output`]s: lines to write, and what was said to each session.
//!
//! Codex has two other dialects: [`exec`] is `codex exec --json`, a process a turn, and [`proto`]
//! is what versions had before there was an app-server. [`choose`] says which to speak.
//!
//! In reading order: [`Peer`], [`Output`]; [`Dialect`], [`choose`], [`capabilities`]; [`exec`],
//! [`proto`]; [`shell_line`], for those who show commands.

mod app_server;
mod dialect;
pub mod exec;
mod garble;
pub mod proto;
mod shell;

pub use crate::{
    app_server::{
        Client, Missed, MissedTurn, Output, Peer, Tag, app_server_args, can_be_kept,
        kept_app_server_args, methods,
    },
    dialect::{
        Capabilities, Dialect, UnknownDialect, Unspeakable, Unsupported, capabilities, choose,
    },
    shell::shell_line,
};
