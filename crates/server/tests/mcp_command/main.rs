//! `run_command` as MCP clients meet it, and the whole loop of model, tool, person and command.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[expect(dead_code, reason = "shared with tests that need more of it")]
#[path = "../mcp/client.rs"]
mod client;
mod serve;
mod tool;
mod whole_loop;
