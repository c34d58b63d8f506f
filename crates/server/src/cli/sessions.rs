//! `pilothouse sessions`: every session of this machine, on a terminal.

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use pilothouse_core::{
    SessionView, Status,
    display::{self, Room, line, show_within},
};
use pilothouse_store::SessionFilter;
use serde_json::json;

use super::say;
use crate::settings::{Settings, StoreChoice};

/// Sessions that are read at once.
const PAGE: usize = 200;
/// Longest title, in letters.
const MAX_TITLE: usize = 72;

/// What `sessions` takes.
#[derive(Debug, clap::Args)]
pub struct SessionsArgs {
    /// As JSON
    #[arg(long)]
    json: bool,
    /// At most so many, the one that was active last first
    #[arg(long, value_name = "NUMBER", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    limit: u16,
}

/// Lists them.
pub async fn run(args: SessionsArgs, settings: &Settings) -> anyhow::Result<()> {
    if settings.store == StoreChoice::Memory {
        bail!(
            "list the sessions: the store memory: is not shared between processes; use the same \
             sqlite: store as those who run them"
        );
    }
    let limit = usize::from(args.limit);
    let store = settings.open_store().await?;
    let mut rows: Vec<SessionView> = vec![];
    let mut cursor = None;
    while rows.len() < limit {
        let n_wanted = PAGE.min(limit - rows.len());
        let page = store.sessions(SessionFilter::default(), n_wanted, cursor).await;
        let page = page.context("list the sessions")?;
        rows.extend(page.rows);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    store.close().await.context("close the store")?;
    if args.json {
        return say(&display::json(&json!({ "sessions": rows }).to_string()));
    }
    if rows.is_empty() {
        return say("There is no session yet.");
    }
    let now = Timestamp::now();
    for row in &rows {
        say(&described(row, now))?;
    }
    if cursor.is_some() {
        say("There are more; --limit lists them.")?;
    }
    Ok(())
}

fn described(view: &SessionView, now: Timestamp) -> String {
    let status = match view.status {
        Status::Running => "running",
        Status::WaitingApproval => "waiting for an answer",
        Status::Idle => "idle",
        Status::Error => "failed",
        Status::Cancelled => "closed",
    };
    let words = view.title.as_deref().or(view.last_turn.as_ref().map(|it| it.prompt.as_str()));
    let words = words.map(|it| show_within(it, Room::Line, MAX_TITLE).text).unwrap_or_default();
    let idle = super::inbox::ago(view.last_active_at, now);
    format!("{}  {status}  {idle}  {}\n    {words}", view.session_id, line(&view.cwd))
}
