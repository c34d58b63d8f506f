//! The control room: the program `pilothouse`, and its parts for those who mount them.
//!
//! In reading order: [`settings`]; [`http`], which is REST, the event feed and the console;
//! [`cli`], one module for each subcommand.

pub mod cli;
mod console;
mod hex;
pub mod http;
pub mod mcp;
mod node_key;
pub mod settings;
