//! `pilothouse mcp`: serves one MCP client over standard input and output.

use std::{env, io::IsTerminal, sync::Arc};

use anyhow::bail;

use crate::{
    mcp::{self, Contract, Options, ToolSet},
    settings::Settings,
};

/// Leaves the effort to Codex's own configuration.
const FROM_CONFIG: &str = "config";
/// The effort of sessions that name none, unless the settings do.
const DEFAULT_EFFORT: &str = "low";

/// The arguments of `pilothouse mcp`.
#[derive(Debug, Clone, clap::Args)]
pub struct McpArgs {
    /// The sets of tools to offer
    #[arg(long, value_delimiter = ',', value_name = "SETS", default_value = "codex")]
    pub tools: Vec<ToolSet>,
    /// Offer the tools of another program's MCP server instead, as they were
    #[arg(long, value_name = "PROGRAM")]
    pub compat: Option<Compat>,
}

/// A program whose MCP server is taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Compat {
    /// `codex` and `codex-reply`, as `codex mcp-server` had them up to Codex 0.153.
    Codex,
}

/// Serves until the client is gone or a signal comes.
pub async fn run(McpArgs { tools, compat }: McpArgs, settings: &Settings) -> anyhow::Result<()> {
    look_at_terminals()?;
    let default_effort = match settings.default_effort.as_deref() {
        Some(FROM_CONFIG) => None,
        Some(effort) => Some(effort.to_owned()),
        None => Some(DEFAULT_EFFORT.to_owned()),
    };
    let contract = match compat {
        Some(Compat::Codex) => Contract::CodexServer,
        None => Contract::default(),
    };
    let answerers = settings.answerers;
    let mut tools = tools;
    if settings.command.enabled && !tools.contains(&ToolSet::Command) {
        tools.push(ToolSet::Command);
    }
    let command = settings.command.options.clone();
    let options =
        Options { default_effort, answerers, contract, tools, command, ..Options::default() };
    let settings = Arc::new(settings.clone());
    let serving = mcp::serve_stdio(options, move || {
        let settings = Arc::clone(&settings);
        async move { Ok(settings.open_broker("mcp").await?) }
    });
    Box::pin(serving).await
}

/// A person who starts this by hand waits for something that never comes.
fn look_at_terminals() -> anyhow::Result<()> {
    let mode = ["PILOTHOUSE_STDIO_MODE", "CODEX_MCP_STDIO_MODE"]
        .into_iter()
        .find_map(|it| env::var(it).ok())
        .unwrap_or_default();
    let mode = mode.trim().to_lowercase();
    if mode == "off" || !(std::io::stdin().is_terminal() || std::io::stdout().is_terminal()) {
        return Ok(());
    }
    if mode == "strict" {
        bail!(
            "serve MCP on a terminal; let an MCP client start \
             `pilothouse mcp`, or set PILOTHOUSE_STDIO_MODE=off"
        );
    }
    tracing::warn!("this speaks MCP on a terminal; an MCP client should start `pilothouse mcp`");
    Ok(())
}
