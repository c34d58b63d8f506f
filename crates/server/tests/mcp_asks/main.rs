//! What clients of each era and ability get to see when people are asked through them.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod client;
mod connected;
mod golden;
mod programs;
mod races;
mod returning;
mod room;
mod shapes;
mod wrong;
