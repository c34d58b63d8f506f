//! Plays a scenario to the real Codex and keeps both halves of what was said.

use std::{path::PathBuf, process::Command};

use crate::{
    codex,
    run::{self, Failure},
    workspace,
};

const USAGE: &str = "usage: cargo xtask record SCENARIO [--codex VERSION] [--out FILE], or --list";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    if arguments == ["--list"] {
        return run::shown(recorder().arg("--list"));
    }
    let request = parse(arguments, codex::pinned()?)?;
    codex::install(&request.version)?;
    let program = codex::required(&request.version)?;
    if let Some(folder) = request.out.parent() {
        workspace::make_dir(folder)?;
    }
    let mut command = recorder();
    command.arg(&request.scenario).arg("--codex").arg(program).arg("--out").arg(&request.out);
    run::shown(&mut command)?;
    println!("recorded {}", request.out.display());
    Ok(())
}

fn recorder() -> Command {
    let mut command = run::cargo();
    command.args(["run", "--quiet", "-p", "pilothouse-testkit", "--bin", "record", "--"]);
    command
}

#[derive(Debug, PartialEq, Eq)]
struct Request {
    scenario: String,
    version: String,
    out: PathBuf,
}

fn parse(arguments: &[String], pinned: String) -> Result<Request, Failure> {
    let (mut scenario, mut version, mut out) = (None, pinned, None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--codex" => {
                version = codex::checked(rest.next().ok_or_else(|| Failure::new(USAGE))?)?;
            }
            "--out" => {
                let path = rest.next().ok_or_else(|| Failure::new(USAGE))?;
                out = Some(PathBuf::from(path));
            }
            name if scenario.is_none() && is_name(name) => scenario = Some(name.to_owned()),
            _ => return Err(Failure::new(USAGE)),
        }
    }
    let scenario = scenario.ok_or_else(|| Failure::new(USAGE))?;
    let out = out.unwrap_or_else(|| {
        workspace::root()
            .join("fixtures")
            .join(format!("app-server-{version}"))
            .join(format!("{scenario}.jsonl"))
    });
    Ok(Request { scenario, version, out })
}

/// It becomes a file name.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_alphanumeric() || b"_-".contains(&it))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Request, Failure> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&arguments, "0.171.0".to_owned())
    }

    #[test]
    fn a_scenario_is_kept_under_the_version_that_it_was_played_to() {
        let request = parsed("steer --codex 0.125.0").expect("it is complete");
        assert_eq!(request.version, "0.125.0");
        assert!(request.out.ends_with("fixtures/app-server-0.125.0/steer.jsonl"));
    }

    #[test]
    fn what_is_not_a_scenario_is_refused() {
        for line in ["", "../steer", "a b", "steer --codex", "steer --codex ../..", "steer --out"] {
            assert!(parsed(line).is_err(), "{line:?}");
        }
    }
}
