//! What callers ask people themselves, and the commands that they run when they may.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod asking;
mod desk;
mod dying;
mod once;
mod running;
