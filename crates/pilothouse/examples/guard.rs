//! A program that is nothing but a guard, for tests and for embedders to begin with.

use std::{env, process::ExitCode};

use pilothouse::agent::tree::guard;

fn main() -> ExitCode {
    guard::run(env::args_os().skip(1))
}
