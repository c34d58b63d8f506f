//! The scripted Codex as a program, started in place of the real one.

use std::io::{self, Write as _};

use pilothouse_testkit::agent::{self, GRANDCHILD, LEFT_BEHIND};

const USAGE: &str = "\
Usage: codex app-server

Speaks the app-server protocol on stdio, by the script that FAKE_CODEX_SCRIPT names. What it hears
is appended to FAKE_CODEX_LOG.
";

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let first = arguments.first().map(String::as_str);
    match first {
        Some(GRANDCHILD) => agent::be_grandchild(&arguments[1..]),
        Some(LEFT_BEHIND) => agent::be_left_behind(&arguments[1..]),
        Some("--version" | "-V") => Ok(writeln!(io::stdout(), "codex-cli {}", agent::version())?),
        _ if arguments.iter().any(|it| it == "--help" || it == "-h") => {
            Ok(write!(io::stdout(), "{USAGE}")?)
        }
        // Options of Codex itself may come before and after.
        _ if arguments.iter().any(|it| it == "app-server") => agent::run(),
        _ => anyhow::bail!("this Codex only knows `app-server`\n\n{USAGE}"),
    }
}
