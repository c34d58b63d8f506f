//! Start coding agents, watch them, and answer what they ask.
//!
//! A [`Broker`] runs sessions on a [`Store`](pilothouse_store::Store) that several processes may
//! share. In reading order: [`Config`] and [`Broker`]; [`Feed`], which follows all sessions;
//! [`Error`]; [`shell`], which says what a command line would run; [`rules`], which answer without a
//! person; and [`agent`], which finds, starts and ends the program under supervision.

pub mod agent;
mod broker;
mod caller;
mod clock;
mod command;
mod config;
mod driver;
mod error;
mod feed;
mod live;
mod ownership;
mod rejoin;
pub mod rules;
pub mod shell;
mod spill;
mod upkeep;

pub use pilothouse_codex::Dialect;
pub use pilothouse_core as core;
pub use pilothouse_store as store;

pub use crate::{
    broker::{Broker, Said, Start},
    command::{COMMAND_TIMEOUT, CommandSpec, LineShell, MAX_COMMAND_OUTPUT, MAX_COMMAND_TIMEOUT},
    config::{AgentConfig, Config, Keep},
    error::Error,
    feed::{Feed, FeedItem},
    live::LiveItem,
    rules::PolicySource,
    shell::reading_of,
};
