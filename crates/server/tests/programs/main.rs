//! The programs as people run them: several on one home, with the real Codex, and what is left
//! when they end.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod nodes;
mod processes;
mod room;
