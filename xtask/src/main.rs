//! What the project does with itself: `cargo xtask TASK`, one file per task.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task talks to the person who started it"
)]

mod codex;
mod demo;
mod fmt;
mod install;
mod matrix;
mod methods;
mod record;
mod run;
mod soak;
mod test;
mod tidy;
mod workspace;

use std::{env, process::ExitCode};

use run::Failure;

const USAGE: &str = "\
cargo xtask TASK

  test     everything that must hold before a commit is pushed
             [--fast]        leave out what takes long and seldom breaks
             [--only STAGE]  one stage; `--only list` names them
  demo     from a fresh clone to a question that waits for your answer
             [--port N] [--scripted] [--no-open] [--exit-after-ready]
  install  what a bare machine lacks
             [--redis] [CODEX_VERSION ...]
  fmt      format every crate  [--check]
  tidy     the rules that no compiler holds
  record   SCENARIO            play a scenario to the real Codex and keep what was said
             [--codex VERSION] [--out FILE]; `--list` names them
  soak     the long versions of what `test` does briefly; writes docs/soak.md
             [--kills N] [--sim-seeds N]
  methods  compare the methods we know with those of the installed Codex
             [--codex VERSION]
  matrix   drive each Codex that people have through the same scenarios, and write the table
             [CODEX_VERSION DIALECT]
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let Some((task, rest)) = arguments.split_first() else {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    };
    let res = match task.as_str() {
        "test" => test::run(rest),
        "demo" => demo::run(rest),
        "install" => install::run(rest),
        "fmt" => fmt::run(rest),
        "tidy" => tidy::run(rest),
        "record" => record::run(rest),
        "soak" => soak::run(rest),
        "methods" => methods::run(rest),
        "matrix" => matrix::run(rest),
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            Ok(())
        }
        other => Err(Failure::new(format!("there is no task `{other}`\n\n{USAGE}"))),
    };
    match res {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.is_told() {
                eprintln!("xtask: {failure}");
            }
            ExitCode::FAILURE
        }
    }
}
