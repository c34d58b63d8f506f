//! What each happening leads to in each state, as tables: a new case is a line.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod adopting;
mod answers;
mod asks;
mod attaching;
mod callers;
mod forms;
mod glance;
mod policy;
mod rejoining;
mod stage;
mod turns;
