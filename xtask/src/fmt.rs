//! Formats every crate, with the import grouping that rustfmt.toml can't ask stable for.

use crate::run::{self, Failure};

const IMPORTS: &str = "imports_granularity=Crate,group_imports=StdExternalCrate";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    match arguments {
        [] => format(Mode::Write),
        [only] if only == "--check" => format(Mode::Check),
        _ => Err(Failure::new("usage: cargo xtask fmt [--check]")),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Write,
    Check,
}

pub(crate) fn format(mode: Mode) -> Result<(), Failure> {
    let mut command = run::cargo();
    command.args(["fmt", "--all", "--"]);
    if mode == Mode::Check {
        command.arg("--check");
    }
    run::shown(command.args(["--config", IMPORTS]))
}
