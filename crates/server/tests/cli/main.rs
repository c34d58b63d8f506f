//! What a person sees in a terminal, and what is logged: the program itself, under tmux.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod filling;
mod inbox;
mod place;
mod secrets;
mod terminal;
