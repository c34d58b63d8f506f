//! `pilothouse guard`: the process between a broker and an agent. Started by Pilothouse alone.

use std::{ffi::OsString, process::ExitCode};

use pilothouse::agent::tree::guard;

/// Is a guard until its agent has left. To be called first thing in `main`.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    guard::run(args)
}
