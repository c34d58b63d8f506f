//! The program under supervision: found, started, read from, and ended with all it started.

pub mod lines;
pub mod locate;
pub mod process;
pub mod profile;
pub mod tree;
