//! The scripted model as a program: for demonstrations, and for tests that are not in Rust.

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use anyhow::{Context as _, bail};
use pilothouse_testkit::{ScriptedModel, model::DefaultScript};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    signal::unix::{SignalKind, signal},
};

const USAGE: &str = "\
Usage: scripted-model [--port N] [--codex-home DIR] [--default demo|hello]

Serves a Responses API on the loopback that plays the script of a prompt. Prints one line of JSON
that says where, then serves until its standard input ends or it gets SIGTERM. A line `open NAME`
on standard input opens a gate.
";

struct Arguments {
    port: u16,
    codex_home: Option<PathBuf>,
    default_script: DefaultScript,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let Some(arguments) = arguments(std::env::args().skip(1))? else {
        write!(io::stdout(), "{USAGE}")?;
        return Ok(());
    };
    let model = ScriptedModel::start_on(arguments.port).await?;
    model.set_default_script(arguments.default_script);
    let home = arguments.codex_home.unwrap_or_else(|| model.codex_home().to_owned());
    model.write_codex_home(&home)?;
    let mut terminate = signal(SignalKind::terminate())?;
    let place = json!({"baseUrl": model.base_url(), "codexHome": home});
    writeln!(io::stdout(), "{place}")?;

    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    loop {
        let line = tokio::select! {
            line = lines.next_line() => line?,
            _ = terminate.recv() => None,
        };
        let Some(line) = line else { return Ok(()) };
        if let Some(name) = line.strip_prefix("open ") {
            model.open_gate(name.trim());
        }
    }
}

/// `None` when only help is wanted.
fn arguments(mut given: impl Iterator<Item = String>) -> anyhow::Result<Option<Arguments>> {
    let mut res = Arguments { port: 0, codex_home: None, default_script: DefaultScript::default() };
    while let Some(name) = given.next() {
        if name == "--help" || name == "-h" {
            return Ok(None);
        }
        let value = given.next().with_context(|| format!("{name} needs a value\n\n{USAGE}"))?;
        match name.as_str() {
            "--port" => res.port = value.parse().context("--port needs a number")?,
            "--codex-home" => res.codex_home = Some(value.into()),
            "--default" => {
                res.default_script = match value.as_str() {
                    "demo" => DefaultScript::Demo,
                    "hello" => DefaultScript::Hello,
                    other => bail!("--default is demo or hello, not {other}"),
                }
            }
            other => bail!("no such option: {other}\n\n{USAGE}"),
        }
    }
    Ok(Some(res))
}
