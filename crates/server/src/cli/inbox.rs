//! `pilothouse inbox`: every question that waits for a person, and answering it, on a terminal.

mod answer;
mod card;
mod fields;
mod filling;
mod keyboard;
mod keys;
mod paint;
pub(super) mod person;
mod picking;
mod reading;
mod said;
mod watch;
mod words;

use std::io::{self, IsTerminal as _, Write as _};

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use pilothouse_core::{AskRef, AskView, display};
use pilothouse_store::AskFilter;
use serde_json::json;

use self::paint::Style;
pub(super) use self::words::ago;
use super::{Failure, say, written};
use crate::settings::{Settings, StoreChoice};

/// Asks that are read at once.
const PAGE: usize = 200;
/// Most asks that are listed.
const MAX_LISTED: usize = 10_000;
/// The command line is not understood.
const USAGE: u8 = 2;
/// The ask is settled already.
const SETTLED: u8 = 3;
/// There is no such ask.
const NO_SUCH_ASK: u8 = 4;

/// What `inbox` takes.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct InboxArgs {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// List what waits, the newest first; this is what happens without a command
    List(ListArgs),
    /// Show a question in full
    Show {
        /// Its name, such as `req_…_1`
        id: AskRef,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Answer a question. Exit code: 0 answered, 1 failed, 2 not understood, 3 settled already, 4 no
    /// such question
    Answer(answer::AnswerArgs),
    /// Show questions as they come and, on a terminal, answer them with keys
    Watch(person::WhoArgs),
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Does what was asked for.
pub async fn run(args: InboxArgs, settings: &Settings) -> anyhow::Result<()> {
    let InboxArgs { what, list: args } = args;
    if settings.store == StoreChoice::Memory {
        bail!(
            "look into the inbox: the store memory: is not shared between processes; use the same \
             sqlite: store as those who ask"
        );
    }
    match what.unwrap_or(What::List(args)) {
        What::List(ListArgs { json }) => list(json, settings).await,
        What::Show { id, json } => show(id, json, settings).await,
        What::Answer(args) => Box::pin(answer::run(args, settings)).await,
        What::Watch(args) => Box::pin(watch::run(&args, settings)).await,
    }
}

async fn list(json: bool, settings: &Settings) -> anyhow::Result<()> {
    let store = settings.open_store().await?;
    let mut asks: Vec<AskView> = vec![];
    let mut cursor = None;
    loop {
        let filter = AskFilter { pending: true, ..AskFilter::default() };
        let page = store.asks(filter, PAGE, cursor).await.context("list what waits")?;
        asks.extend(page.rows);
        cursor = page.next;
        if cursor.is_none() || asks.len() >= MAX_LISTED {
            break;
        }
    }
    store.close().await.context("close the store")?;
    if json {
        return say(&display::json(&json!({ "asks": asks }).to_string()));
    }
    if asks.is_empty() {
        return say("Nothing waits for an answer.");
    }
    let now = Timestamp::now();
    for ask in &asks {
        say(&card::row(ask, now))?;
    }
    if cursor.is_some() {
        say(&format!("There are more than these {}.", asks.len()))?;
    }
    Ok(())
}

async fn show(id: AskRef, json: bool, settings: &Settings) -> anyhow::Result<()> {
    let store = settings.open_store().await?;
    let ask = store.ask(id).await.context("show the question");
    store.close().await.context("close the store")?;
    let ask = ask?.ok_or_else(|| no_such_ask(id))?;
    if json {
        let text = serde_json::to_string(&ask).context("write the question")?;
        return say(&display::json(&text));
    }
    print(&card::card(&ask, Timestamp::now(), style()))
}

fn no_such_ask(id: AskRef) -> Failure {
    let problem = format!("find the question {id}; `pilothouse inbox` lists those that wait");
    Failure { code: NO_SUCH_ASK, problem }
}

/// What standard output can take.
fn style() -> Style {
    if !io::stdout().is_terminal() {
        return Style { colour: false, width: None };
    }
    let colour = std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty());
    Style { colour, width: keyboard::width() }
}

/// Prints a text that ends its own lines.
fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}
