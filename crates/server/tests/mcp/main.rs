//! The program as MCP clients meet it: over its standard input and output.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod adopting;
mod arrives;
mod bad_input;
mod client;
mod contract;
mod faults;
mod keeps;
mod legacy;
mod life;
mod polling;
mod real_codex;
mod reports;
