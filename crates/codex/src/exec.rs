//! The exec dialect: a process a turn, which asks nobody.
//!
//! [`command()`] says how a turn's process is started, a [`Reader`] what it says. A thread has no
//! name before its first process runs, and that one needs a prompt. So who drives a session starts
//! the process of a turn that waits when the session wants its agent, hands on what the reader
//! says, and passes over the [`ToAgent::StartTurn`] that [`FromAgent::Ready`] leads to. The
//! process of any later turn is started for its own `StartTurn`, with the thread's name.
//!
//! A turn ends when its process has: until then Codex writes to the thread, and the next process
//! could not take it up. [`Reader::is_over`] says that it has nothing left to do.
//!
//! [`ToAgent::StartTurn`]: pilothouse_core::ToAgent::StartTurn
//! [`FromAgent::Ready`]: pilothouse_core::FromAgent::Ready

mod command;
mod exit;
mod items;
mod reader;
pub(crate) mod toml;

pub(crate) use self::items::camel;
pub use self::{
    command::{Invocation, MAX_ARGUMENT, Stdin, command},
    exit::Exit,
    reader::Reader,
};
