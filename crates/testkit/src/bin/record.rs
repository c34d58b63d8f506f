//! Records a conversation with a real Codex as a fixture.

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use anyhow::{Context as _, bail};
use pilothouse_testkit::{
    codex_binary,
    scenarios::{self, Scenario},
};

const USAGE: &str = "\
Usage: record SCENARIO [--codex PATH] [--out FILE]
       record --list

Plays a scenario with a real Codex and a scripted model, and writes what both sides said to FILE,
or to standard output.
";

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let mut given = std::env::args().skip(1);
    let name = given.next().with_context(|| format!("which scenario?\n\n{USAGE}"))?;
    let mut stdout = io::stdout();
    if name == "--help" || name == "-h" {
        return Ok(write!(stdout, "{USAGE}")?);
    }
    if name == "--list" {
        for scenario in Scenario::ALL {
            writeln!(stdout, "{scenario}")?;
        }
        return Ok(());
    }
    let scenario: Scenario = name.parse()?;
    let (mut codex, mut out) = (None, None);
    while let Some(name) = given.next() {
        let value = given.next().with_context(|| format!("{name} needs a value\n\n{USAGE}"))?;
        match name.as_str() {
            "--codex" => codex = Some(PathBuf::from(value)),
            "--out" => out = Some(PathBuf::from(value)),
            other => bail!("no such option: {other}\n\n{USAGE}"),
        }
    }
    // The agent runs in another folder, where a relative path would lead elsewhere.
    let codex = std::path::absolute(codex.map_or_else(codex_binary, Ok)?)?;
    let recording = scenarios::record(scenario, &codex).await?;
    recording.save(&out.unwrap_or_else(|| "/dev/stdout".into()))
}
