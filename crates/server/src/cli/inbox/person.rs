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
#[derive(Debug, Clone, Default, clap::Args)]
pub(in super::super) struct WhoArgs {
    /// A file with what `pilothouse token --human` printed, for scripts without a terminal (else
    /// `PILOTHOUSE_HUMAN_TOKEN`)
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// Who is there.
pub(in super::super) enum Found {
    /// A person.
    Person(Actor),
    /// Nobody that can be told to be one, and why.
    Nobody(&'static str),
}

/// The person at this terminal, or whose token was given. `what` is what they want to do.
pub(super) async fn person(
    what: &str,
    args: &WhoArgs,
    settings: &Settings,
    broker: &Broker,
) -> anyhow::Result<Actor> {
    match find(what, args, settings, broker).await? {
        Found::Person(person) => Ok(person),
        Found::Nobody(why) => bail!("{what}: {why}; answer {}", elsewhere(broker).await?),
    }
}

/// Looks whether there is a person. A token that is none fails at once.
pub(in super::super) async fn find(
    what: &str,
    args: &WhoArgs,
    settings: &Settings,
    broker: &Broker,
) -> anyhow::Result<Found> {
    let person = Actor::Human { via: "cli".to_owned(), verified: true };
    if let Some(token) = token(args)? {
        if Keys::new(&settings.home).holds(Drawer::Humans, &token, Timestamp::now()) {
            return Ok(Found::Person(person));
        }
        bail!(
            "{what}: the token is not known or over; a person gets another one from `pilothouse \
             token --human`"
        );
    }
    Ok(if is_under_agent(broker).await? {
        Found::Nobody(
            "this command was started by an agent or by an MCP host, and those may not speak for \
             a person",
        )
    } else if !io::stdin().is_terminal() {
        Found::Nobody("this is no terminal, so there may be no person")
    } else {
        Found::Person(person)
    })
}

/// Whether an agent or an MCP host is among those who started this.
pub(super) async fn is_under_agent(broker: &Broker) -> anyhow::Result<bool> {
    let nodes = broker.nodes().await.context("see who is there")?;
    Ok(ancestry::is_under_program(&nodes))
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
