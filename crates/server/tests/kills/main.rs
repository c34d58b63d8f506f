//! Sudden deaths at random moments of a session with the real Codex, of Pilothouse and of Codex:
//! nothing acknowledged is lost, nothing is done twice, nothing is left running.
//!
//! To repeat a kill: `PILOTHOUSE_KILL_SEED` as it was printed, and `PILOTHOUSE_KILLS=1`.
#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test may panic, and most events are not what it looks for"
)]

mod checks;
mod client;
mod codex_dies;
mod pilothouse_dies;
mod stage;

use pilothouse_testkit::{Chance, chance};

/// Kills of Pilothouse in four tests; of Codex there are half as many, in two.
const KILLS: u64 = 20;
/// In how many parts they are done, each short enough for a test.
const SHARES: u64 = 4;

macro_rules! kills {
    ($($name:ident: $kill:path;)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            let n_kills = chance::times("PILOTHOUSE_KILLS", KILLS).div_ceil(SHARES);
            let first = chance::seed("PILOTHOUSE_KILL_SEED");
            for seed in (0..n_kills).map(|it| first.wrapping_add(it)) {
                println!("PILOTHOUSE_KILL_SEED={seed}");
                let came_to = $kill(Chance::new(seed)).await;
                println!("killed: {} {seed} {came_to}", stringify!($name));
            }
        }
    )*};
}

kills! {
    pilothouse_dies_1: pilothouse_dies::once;
    pilothouse_dies_2: pilothouse_dies::once;
    pilothouse_dies_3: pilothouse_dies::once;
    pilothouse_dies_4: pilothouse_dies::once;
    codex_dies_1: codex_dies::once;
    codex_dies_2: codex_dies::once;
}
