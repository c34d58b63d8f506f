//! The fuzzer on the reader of shell: any bytes as a command line, for as long as it is given.
//!
//! libFuzzer comes as source with its crate, and the compiler's own flags instrument what it looks
//! at, so that neither cargo-fuzz nor a nightly compiler is needed. Those who have both can run
//! `cargo fuzz run shell` in `fuzz` as well, which finds faults of memory besides.

use std::process::Command;

use crate::{
    run::{self, Failure, Watched},
    workspace,
};

/// Coverage as libFuzzer wants it, which is what cargo-fuzz asks for too.
const INSTRUMENTED: &str = "-Cpasses=sancov-module -Ccodegen-units=1 --cfg fuzzing \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";
/// Longest line that is tried; faults of readers show in short ones.
const MAX_BYTES: u32 = 400;
/// Longest that one line may take, in seconds.
const MAX_SECONDS_EACH: u32 = 5;

/// Looks for so many seconds. What it finds lies in `fuzz/artifacts`, new inputs in `fuzz/found`.
pub(super) fn run(seconds: u64) -> Result<Watched, Failure> {
    let fuzz = workspace::root().join("fuzz");
    for dir in ["artifacts", "found"] {
        workspace::make_dir(&fuzz.join(dir))?;
    }
    let host = run::quiet(Command::new("rustc").args(["--print", "host-tuple"]))?;
    let mut command = run::cargo();
    command.current_dir(&fuzz).env("RUSTFLAGS", INSTRUMENTED);
    // With a target named, build scripts are not instrumented.
    command.args(["run", "--quiet", "--release", "--target", host.trim(), "--bin", "shell", "--"]);
    command.args(["found", "corpus/shell", "-artifact_prefix=artifacts/"]);
    command.arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-max_len={MAX_BYTES}"));
    command.arg(format!("-timeout={MAX_SECONDS_EACH}"));
    command.args(["-print_final_stats=1", "-verbosity=1"]);
    run::watched(&mut command)
}

/// What it came to.
pub(super) fn told(text: &str) -> Vec<String> {
    let last = |start: &str| {
        text.lines().rev().find_map(|it| it.trim().strip_prefix(start)).map(str::trim)
    };
    let mut told = vec![];
    if let Some(n_lines) = last("stat::number_of_executed_units:") {
        told.push(format!("{n_lines} lines read"));
    }
    if let Some(n_new) = last("stat::new_units_added:") {
        told.push(format!("{n_new} of them went where none had gone"));
    }
    let place = text.lines().rev().find_map(|it| it.split_once("Test unit written to "));
    if let Some((_, place)) = place {
        told.push(format!("**found** `fuzz/{}`", place.trim_start_matches("./")));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_and_what_was_found_is_told() {
        let text = "#2\tINITED cov: 1\nstat::number_of_executed_units: 12345\n\
                    stat::new_units_added:          67\n\
                    artifact_prefix='artifacts/'; Test unit written to artifacts/crash-1\n";
        assert_eq!(
            told(text),
            [
                "12345 lines read",
                "67 of them went where none had gone",
                "**found** `fuzz/artifacts/crash-1`",
            ]
        );
        assert!(told("").is_empty());
    }
}
