//! The command line: one module for each subcommand, and what all of them end with.

pub mod ancestry;
pub mod audit;
pub mod guard;
pub mod inbox;
mod logging;
pub mod login;
pub mod mcp;
pub mod rules;
pub mod serve;
pub mod sessions;
pub mod store;
pub mod token;

use std::{
    ffi::OsString,
    io::{self, Write as _},
    process::ExitCode,
};

use clap::{Parser, Subcommand, error::ErrorKind};

use crate::settings::{Flags, Settings};

/// Something was not done.
const FAILED: u8 = 1;
/// The command line is not understood.
const USAGE: u8 = 2;
/// Whoever read what was printed has left: what a shell reports of a program that SIGPIPE ended.
const NOBODY_READS: u8 = 141;
/// Threads of the runtime. Agents do the work; this only hands it on.
const MAX_THREADS: usize = 4;

/// Something was not done, for a reason that scripts tell apart by the exit code.
#[derive(Debug, thiserror::Error)]
#[error("{problem}")]
pub(crate) struct Failure {
    code: u8,
    problem: String,
}

/// Whoever reads standard output wants no more of it, as `head` does: no failure to speak of.
#[derive(Debug, thiserror::Error)]
#[error("write to stdout: nobody reads it any more")]
struct NobodyReads;

/// The control room for coding agents: start them, watch them, answer what they ask.
#[derive(Debug, Parser)]
#[command(name = "pilothouse", version, about, propagate_version = false)]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the console, REST and the event feed on this machine
    Serve(serve::ServeArgs),
    /// Serve an MCP client on standard input and output
    Mcp(mcp::McpArgs),
    /// Show what waits for an answer, and answer it
    Inbox(inbox::InboxArgs),
    /// List the sessions
    Sessions(sessions::SessionsArgs),
    /// Print a link that logs a browser in at the running `pilothouse serve`
    Login,
    /// Print the token of the REST interface
    Token(token::TokenArgs),
    /// See whether the logs are what was recorded, and who decided what
    Audit(audit::AuditArgs),
    /// Copy the store, and compare it with itself
    Store(store::StoreArgs),
    /// See what is answered without a person, try it, and take it back
    Rules(rules::RulesArgs),
}

/// Runs a command line; gives the exit code: 0, 1 for failed, 2 for not understood.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers, not errors.
            let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            // There is nobody left to tell if this cannot be written.
            drop(error.print());
            return if asked { ExitCode::SUCCESS } else { ExitCode::from(USAGE) };
        }
    };
    match carry_out(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<NobodyReads>() => ExitCode::from(NOBODY_READS),
        Err(error) => {
            logging::tell(&error);
            ExitCode::from(error.downcast_ref::<Failure>().map_or(FAILED, |it| it.code))
        }
    }
}

/// Errors complete "Pilothouse could not …".
fn carry_out(cli: Cli) -> anyhow::Result<()> {
    let Cli { flags, command } = cli;
    let settings = Settings::load(&flags)?;
    logging::begin(&settings.log)?;
    settings.keep_others_out()?;
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(n_threads)
        .enable_all()
        .build()
        .map_err(|it| anyhow::anyhow!("begin: {it}"))?;
    let done = match command {
        Command::Serve(args) => runtime.block_on(serve::run(args, &settings)),
        Command::Mcp(args) => runtime.block_on(mcp::run(args, &settings)),
        Command::Inbox(args) => runtime.block_on(inbox::run(args, &settings)),
        Command::Sessions(args) => runtime.block_on(sessions::run(args, &settings)),
        Command::Login => runtime.block_on(login::run(&settings)),
        Command::Token(args) => runtime.block_on(token::run(args, &settings)),
        Command::Audit(args) => audit::run(args, &settings),
        Command::Store(args) => runtime.block_on(store::run(args, &settings)),
        Command::Rules(args) => runtime.block_on(rules::run(args, &settings)),
    };
    // A thread that is blocked in a read must not keep the program.
    runtime.shutdown_background();
    done
}

/// Prints what was asked for, on a line of its own.
fn say(line: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    written(writeln!(out, "{line}").and_then(|()| out.flush()))
}

/// What came of writing to standard output.
fn written(done: io::Result<()>) -> anyhow::Result<()> {
    done.map_err(|it| {
        if it.kind() == io::ErrorKind::BrokenPipe {
            NobodyReads.into()
        } else {
            anyhow::anyhow!("write to stdout: {it}")
        }
    })
}

/// So many of something that is counted by adding an s.
fn counted(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
