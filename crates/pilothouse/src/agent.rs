//! The program under supervision: found, started, read from, and ended with all it started.

mod connection;
mod conversation;
pub(crate) mod kept;
pub(crate) mod launch;
pub mod lines;
pub mod locate;
pub(crate) mod mailbox;
pub(crate) mod pool;
pub mod process;
pub mod profile;
pub mod tree;
mod turns;
