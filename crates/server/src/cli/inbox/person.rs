//! Whether it is a person who answers here.

use std::{
    env, fs,
    io::{self, IsTerminal as _, Read as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use pilothouse::Broker;
use pilothouse_core::Actor;

use super::super::ancestry;
use crate::{
    http::{Drawer, Keys},
    settings::Settings,
};

/// The token of a person, for scripts of theirs.
const TOKEN_VARIABLE: &str = "PILOTHOUSE_HUMAN_TOKEN";
/// Longest file with a token that is read.
const MAX_TOKEN_FILE: u64 = 4_096;

/// Who answers.
#[derive(Debug, Default, clap::Args)]
pub(super) struct WhoArgs {
    /// A file with what `pilothouse token --human` printed, for scripts without a terminal (else
    /// `PILOTHOUSE_HUMAN_TOKEN`)
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// The person at this terminal, or whose token was given. `what` is what they want to do.
pub(super) async fn person(
    what: &str,
    args: &WhoArgs,
    settings: &Settings,
    broker: &Broker,
) -> anyhow::Result<Actor> {
    let person = Actor::Human { via: "cli".to_owned(), verified: true };
    if let Some(token) = token(args)? {
        if Keys::new(&settings.home).holds(Drawer::Humans, &token, Timestamp::now()) {
            return Ok(person);
        }
        bail!(
            "{what}: the token is not known or over; a person gets another one from `pilothouse \
             token --human`"
        );
    }
    let why = if is_under_agent(broker).await? {
        "this command was started by an agent or by an MCP host, and those may not speak for a \
         person"
    } else if !io::stdin().is_terminal() {
        "this is no terminal, so there may be no person"
    } else {
        return Ok(person);
    };
    let place = elsewhere(broker).await?;
    bail!("{what}: {why}; answer {place}")
}

/// Whether an agent or an MCP host is among those who started this.
pub(super) async fn is_under_agent(broker: &Broker) -> anyhow::Result<bool> {
    if ancestry::is_under_agent() {
        return Ok(true);
    }
    let nodes = broker.nodes().await.context("see who is there")?;
    let servers = nodes.iter().filter(|it| it.alive && it.presence.program == "mcp");
    let pids: Vec<u32> = servers.map(|it| it.pid).collect();
    Ok(ancestry::is_under_host_of(&pids))
}

/// Where a person can answer.
async fn elsewhere(broker: &Broker) -> anyhow::Result<String> {
    let nodes = broker.nodes().await.context("see who is there")?;
    let console = nodes.into_iter().filter(|it| it.alive).find_map(|it| it.presence.console);
    let terminal = "with `pilothouse inbox` in a terminal of your own, or with `--token-file`";
    Ok(match console {
        Some(console) => {
            format!("in the console at {console}, which `pilothouse login` opens, {terminal}")
        }
        None => format!("in the console, which `pilothouse serve` opens, {terminal}"),
    })
}

fn token(args: &WhoArgs) -> anyhow::Result<Option<String>> {
    if let Some(path) = &args.token_file {
        return read(path).with_context(|| format!("read {}", path.display())).map(Some);
    }
    let given = env::var(TOKEN_VARIABLE).ok().map(|it| it.trim().to_owned());
    Ok(given.filter(|it| !it.is_empty()))
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    fs::File::open(path)?.take(MAX_TOKEN_FILE).read_to_string(&mut text)?;
    Ok(text.trim().to_owned())
}
