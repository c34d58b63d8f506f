//! Any bytes as a command line for the reader of shell.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../checks.rs"]
mod checks;

fuzz_target!(|bytes: &[u8]| checks::shell(bytes));
