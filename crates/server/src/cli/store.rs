//! `pilothouse store`: copies the store's file, and compares it with itself.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use serde_json::json;

use super::{counted, say};
use crate::settings::{Settings, StoreChoice};

/// What `store` takes.
#[derive(Debug, clap::Args)]
pub struct StoreArgs {
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Debug, clap::Subcommand)]
enum StoreCommand {
    /// Copy everything to a new file, while others go on
    Backup {
        /// The file to make; one that is there is not replaced
        file: PathBuf,
    },
    /// Compare what is listed with the logs, and these with their chains
    Check {
        /// Print one JSON object instead of lines
        #[arg(long)]
        json: bool,
    },
}

/// Does what was asked for.
pub async fn run(args: StoreArgs, settings: &Settings) -> anyhow::Result<()> {
    let path = file(settings)?;
    ensure!(path.is_file(), "find the store {}; name it with --store", path.display());
    let store = settings.open_store().await?;
    let done = match args.command {
        StoreCommand::Backup { file } => {
            let to = std::path::absolute(&file).context("find its own directory")?;
            let made = store.backup(to.clone()).await;
            made.with_context(|| format!("copy the store to {}", file.display()))
                .and_then(|()| say(&format!("copied {} to {}", path.display(), to.display())))
        }
        StoreCommand::Check { json } => store
            .check()
            .await
            .context("check the store")
            .and_then(|findings| report(path, &findings, json)),
    };
    let closed = store.close().await.context("close the store");
    done.and(closed)
}

/// The store's file; there is nothing to do for a store without one.
pub(super) fn file(settings: &Settings) -> anyhow::Result<&Path> {
    match &settings.store {
        StoreChoice::Sqlite(path) => Ok(path),
        StoreChoice::Memory => {
            bail!("find a file: the store memory: has none; name a sqlite: store with --store")
        }
    }
}

fn report(path: &Path, findings: &[String], json: bool) -> anyhow::Result<()> {
    if json {
        say(&json!({ "clean": findings.is_empty(), "findings": findings }).to_string())?;
    } else {
        for finding in findings {
            say(finding)?;
        }
        if findings.is_empty() {
            say(&format!("{}: clean, all of its parts agree", path.display()))?;
        }
    }
    ensure!(
        findings.is_empty(),
        "vouch for {}: not all of its parts agree ({}, as listed); restore a backup, or keep the \
         file and begin a new one",
        path.display(),
        counted(findings.len() as u64, "finding")
    );
    Ok(())
}
