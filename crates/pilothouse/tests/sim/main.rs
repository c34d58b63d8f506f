//! Several brokers over one store, in an order that a seed gives, with faults: whatever happens
//! when, nothing is lost, nothing is done twice, and everyone sees the same.
//!
//! The agent is played in memory, so the drivers here are not those of `driver.rs`, which start
//! processes: they follow the same rules (record, then act) step by step, so that anything may
//! happen between two steps. Sessions, store and feed are the real ones.
//!
//! To repeat a history: `PILOTHOUSE_SIM_SEED` as it was printed, and `PILOTHOUSE_SIM_SEEDS=1`.
#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test may panic, and most events are not what it looks for"
)]

mod agent;
mod driver;
mod errand;
mod truth;
mod world;

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use pilothouse_testkit::chance;

use crate::{truth::Count, world::World};

/// Histories in a run.
const SEEDS: u64 = 2_000;
/// In how many parts they are played, each short enough for a test.
const SHARES: u64 = 8;

macro_rules! histories {
    ($($name:ident)*) => {$(
        #[tokio::test(start_paused = true)]
        async fn $name() {
            let n_seeds = chance::times("PILOTHOUSE_SIM_SEEDS", SEEDS).div_ceil(SHARES);
            let first = chance::seed("PILOTHOUSE_SIM_SEED");
            println!("PILOTHOUSE_SIM_SEED={first} and the {n_seeds} from there on");
            let mut count = Count::default();
            for seed in (0..n_seeds).map(|it| first.wrapping_add(it)) {
                let history = AssertUnwindSafe(World::play(seed)).catch_unwind().await;
                let history = history.unwrap_or_else(|_| panic!("PILOTHOUSE_SIM_SEED={seed} fails"));
                count.add(&history);
            }
            println!("simulated: {first} {n_seeds} histories, {count}");
            // A simulator in which nothing happens would pass too.
            if n_seeds >= SEEDS / SHARES {
                count.is_worth_it();
            }
        }
    )*};
}

histories! {
    nothing_is_lost_or_done_twice_1
    nothing_is_lost_or_done_twice_2
    nothing_is_lost_or_done_twice_3
    nothing_is_lost_or_done_twice_4
    nothing_is_lost_or_done_twice_5
    nothing_is_lost_or_done_twice_6
    nothing_is_lost_or_done_twice_7
    nothing_is_lost_or_done_twice_8
}
