//! What text from agents looks like when others read it.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod display;
mod redact;
