//! `pilothouse login`: another link into the console that is served already.

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use secrecy::ExposeSecret as _;

use super::{ancestry, say};
use crate::{
    http::{Drawer, Keys},
    settings::{Settings, StoreChoice},
};

/// Prints a link that works once, for a minute.
pub async fn run(settings: &Settings) -> anyhow::Result<()> {
    ancestry::refuse_agents("give out a login")?;
    if settings.store == StoreChoice::Memory {
        bail!(
            "find a running `pilothouse serve`: the store memory: is not shared between processes; \
             use the same sqlite: store for both"
        );
    }
    let store = settings.open_store().await?;
    let nodes = store.nodes().await.context("see who is there");
    store.close().await.context("close the store")?;
    let nodes = nodes?;
    ancestry::refuse_programs("give out a login", &nodes)?;
    let console = nodes
        .into_iter()
        .filter(|it| it.alive)
        .find_map(|it| it.presence.console)
        .context("find a running `pilothouse serve` on this store; start one")?;
    let code = Keys::new(&settings.home).mint(Drawer::Codes, Timestamp::now());
    let code = code.context("make a login code")?;
    say(&format!("{console}#code={}", code.expose_secret()))
}
