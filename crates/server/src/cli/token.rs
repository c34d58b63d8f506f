//! `pilothouse token`: what a script sends with its requests.

use std::io::{self, IsTerminal as _};

use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use secrecy::ExposeSecret as _;

use super::{ancestry, say};
use crate::{
    http::{Drawer, Keys},
    settings::Settings,
};

/// What `token` takes.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct TokenArgs {
    /// A token that speaks for you, so that a script of yours may answer as a person: for 90 days,
    /// and only from a terminal
    #[arg(long)]
    human: bool,
}

/// Prints a token.
pub async fn run(args: TokenArgs, settings: &Settings) -> anyhow::Result<()> {
    let keys = Keys::new(&settings.home);
    if !args.human {
        return say(keys.api_token().context("make the API token")?.expose_secret());
    }
    ancestry::refuse_agents("give out a person's token")?;
    ensure!(
        io::stdin().is_terminal(),
        "give out a person's token: this is no terminal, so there may be no person; run it in one"
    );
    settings.make_home()?;
    let store = settings.open_store().await?;
    let nodes = store.nodes().await.context("see who is there");
    store.close().await.context("close the store")?;
    ancestry::refuse_programs("give out a person's token", &nodes?)?;
    let token = keys.mint(Drawer::Humans, Timestamp::now()).context("make a person's token")?;
    say(token.expose_secret())
}
