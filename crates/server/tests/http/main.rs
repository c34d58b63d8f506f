//! REST and the feed over the router: who comes in, what they can do, and what they hear.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod callers;
mod desk;
mod door;
mod feed;
mod golden;
mod sessions;
