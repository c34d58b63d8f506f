//! Codex spoken: lines in, [`FromAgent`](pilothouse_core::FromAgent) out;
//! [`ToAgent`](pilothouse_core::ToAgent) in, lines out.
//!
//! This crate performs no I/O, reads no clock and draws no random numbers. A [`Peer`] is our end
//! of one conversation with `codex app-server`. It is given lines and the time, and answers with
//! [`Output`]s: lines to write, and what was said to each session.
//!
//! In reading order: [`Peer`], [`Output`]; [`shell_line`], for those who show commands.

mod app_server;
mod shell;

pub use crate::{
    app_server::{Client, Output, Peer, Tag, app_server_args, methods},
    shell::shell_line,
};
