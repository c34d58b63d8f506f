//! Plays the scenarios of the test `dialects` with one installed Codex, for `cargo xtask matrix`:
//! `matrix VERSION DIALECT` prints a line for each, the scenario and what came of it.

#[path = "../tests/dialects/room.rs"]
mod room;
#[path = "../tests/dialects/scenarios.rs"]
mod scenarios;

use std::io::{self, Write as _};

use anyhow::Context as _;
use room::Case;
use scenarios::{Found, Scenario};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let version = arguments.next().context("name a version, such as 0.171.0")?;
    let dialect = arguments.next().context("name a dialect, such as app-server")?.parse()?;
    let case = Case::new(version.leak(), dialect);
    for scenario in Scenario::ALL {
        let found = match scenario.play(case).await {
            Ok(Found::Works) => "ok".to_owned(),
            Ok(Found::Absent(told)) => format!("absent\t{told}"),
            Err(error) => format!("failed\t{}", format!("{error:#}").replace(['\n', '\t'], " ")),
        };
        writeln!(io::stdout(), "{}\t{found}", scenario.name())?;
    }
    Ok(())
}
