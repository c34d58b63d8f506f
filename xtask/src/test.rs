//! Everything that must hold before a commit is pushed, stage by stage, cheapest first.

mod tally;

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use tally::Tally;

use crate::{
    fmt, install, methods,
    run::{self, Failure, Watched},
    tidy, workspace,
};

const USAGE: &str = "usage: cargo xtask test [--fast] [--only STAGE]";

struct Stage {
    name: &'static str,
    /// Part of `--fast`.
    is_fast: bool,
    work: fn(&mut Tally) -> Result<(), Failure>,
}

/// In this order because each leaves what the next reuses: all features first for clippy, and
/// one feature set for building, testing and examples.
const STAGES: &[Stage] = &[
    Stage { name: "install", is_fast: true, work: |_| install::ensure(&install::everything()?) },
    Stage { name: "fmt", is_fast: true, work: |_| fmt::format(fmt::Mode::Check) },
    Stage { name: "tidy", is_fast: true, work: |_| tidy::run(&[]) },
    Stage { name: "clippy", is_fast: true, work: |_| clippy(&["--workspace", "--all-features"]) },
    Stage { name: "clippy-features", is_fast: false, work: |_| clippy_features() },
    Stage { name: "console", is_fast: true, work: console },
    Stage { name: "build", is_fast: true, work: |_| build() },
    Stage { name: "rust", is_fast: true, work: rust },
    Stage { name: "doctests", is_fast: false, work: doctests },
    Stage { name: "docs", is_fast: false, work: |_| docs() },
    Stage { name: "methods", is_fast: true, work: |_| methods::run(&[]) },
    Stage { name: "clients", is_fast: false, work: clients },
    Stage { name: "e2e", is_fast: false, work: end_to_end },
];

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let stages = match arguments {
        [] => STAGES.iter().collect(),
        [flag] if flag == "--fast" => STAGES.iter().filter(|it| it.is_fast).collect(),
        [flag, name] if flag == "--only" => vec![named(name)?],
        _ => return Err(Failure::new(USAGE)),
    };
    let begin = Instant::now();
    let mut tally = Tally::default();
    let mut timings = Vec::new();
    let mut outcome = Ok(());
    for stage in stages {
        println!("── {}", stage.name);
        let stage_begin = Instant::now();
        let res = (stage.work)(&mut tally);
        timings.push((stage.name, stage_begin.elapsed()));
        if let Err(failure) = res {
            // A stage that fails without a failed test must not leave a clean count behind.
            tally.failed = tally.failed.max(1);
            outcome = Err(failure_of(stage.name, &failure));
            break;
        }
    }
    println!("{}", summary(&timings, begin.elapsed()));
    if let Err(failure) = &outcome {
        println!("{failure}");
    }
    println!("{} passed, {} failed", tally.passed, tally.failed);
    // The count is the last line, for those who read only that.
    outcome.map_err(|_| Failure::told())
}

fn failure_of(stage: &str, failure: &Failure) -> Failure {
    Failure::new(format!(
        "stage `{stage}` failed: {failure}\nto run just that: cargo xtask test --only {stage}"
    ))
}

fn named(name: &str) -> Result<&'static Stage, Failure> {
    STAGES.iter().find(|it| it.name == name).ok_or_else(|| {
        let names: Vec<&str> = STAGES.iter().map(|it| it.name).collect();
        Failure::new(format!("the stages are {}", names.join(", ")))
    })
}

fn summary(timings: &[(&str, Duration)], whole: Duration) -> String {
    let all = timings.iter().copied().chain(Some(("total", whole)));
    let lines: Vec<String> =
        all.map(|(name, took)| format!("{name:>16} {:6.1} s", took.as_secs_f64())).collect();
    lines.join("\n")
}

/// One place for what all cargo calls of a test run share, so that they share artifacts too.
fn cargo() -> Command {
    let mut command = run::cargo();
    if env::var_os("CARGO_INCREMENTAL").is_none() {
        command.env("CARGO_INCREMENTAL", "0");
    }
    command.env("INSTA_UPDATE", "no").env("CARGO_TERM_COLOR", "never");
    command
}

/// Warnings are denied behind `--`: in RUSTFLAGS they would rebuild every dependency.
fn clippy(scope: &[&str]) -> Result<(), Failure> {
    run::shown(
        cargo()
            .arg("clippy")
            .arg("--quiet")
            .args(scope)
            .arg("--all-targets")
            .args(["--", "-D", "warnings"]),
    )
}

/// What those see who don't ask for all features, or for none.
fn clippy_features() -> Result<(), Failure> {
    clippy(&["--workspace"])?;
    for package in ["pilothouse-store", "pilothouse", "pilothouse-server"] {
        clippy(&["-p", package, "--no-default-features"])?;
    }
    Ok(())
}

fn console(tally: &mut Tally) -> Result<(), Failure> {
    let web = workspace::web();
    if !web.join("package.json").is_file() {
        return Err(Failure::new("web/ has no package.json, so there is no console to build"));
    }
    run::shown(run::npm(&web).args(["run", "--silent", "check"]))?;
    for tests in ["test", "test:stories", "test:planted"] {
        counted(tally, run::npm(&web).args(["run", "--silent", tests]).env("NO_COLOR", "1"))?;
    }
    run::shown(run::npm(&web).args(["run", "--silent", "build"]))
}

/// Programs and examples that tests spawn, with the features that the tests are built with.
fn build() -> Result<(), Failure> {
    run::shown(cargo().args([
        "build",
        "--quiet",
        "--workspace",
        "--all-features",
        "--bins",
        "--examples",
    ]))
}

fn rust(tally: &mut Tally) -> Result<(), Failure> {
    let mut groups = OsString::from("xtask:");
    groups.push(workspace::root().join(".config/nextest-workspace.toml"));
    let mut command = cargo();
    command.args(["nextest", "run", "--workspace", "--all-features", "--profile", "ci"]);
    counted(tally, command.arg("--tool-config-file").arg(groups))
}

fn doctests(tally: &mut Tally) -> Result<(), Failure> {
    counted(tally, cargo().args(["test", "--quiet", "--doc", "--workspace", "--all-features"]))
}

fn docs() -> Result<(), Failure> {
    run::shown(
        cargo()
            .args(["doc", "--quiet", "--no-deps", "--workspace", "--all-features"])
            .arg("--document-private-items")
            .env("RUSTDOCFLAGS", "-Dwarnings"),
    )
}

/// Clients of the official MCP SDKs, which check every result against its schema.
fn clients(tally: &mut Tally) -> Result<(), Failure> {
    let folder = workspace::root().join("clients");
    if !folder.is_dir() {
        println!("there is no clients/ folder, so no client was tried");
        return Ok(());
    }
    let scripts = ending(&folder, ".test.mjs")?;
    if !scripts.is_empty() {
        let mut command = Command::new("node");
        command.args(["--test", "--test-timeout=120000"]).args(&scripts).current_dir(&folder);
        counted(tally, programs(&mut command))?;
    }
    if ending(&folder, "_test.py")?.is_empty() {
        return Ok(());
    }
    let python = python(&folder)?;
    let mut command = Command::new(python);
    command.args(["-m", "unittest", "discover", "-s", ".", "-p", "*_test.py"]).current_dir(&folder);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    counted(tally, programs(&mut command))
}

fn end_to_end(tally: &mut Tally) -> Result<(), Failure> {
    let mut command = run::npm(&workspace::web());
    counted(tally, programs(command.args(["run", "--silent", "e2e"]).env("NO_COLOR", "1")))
}

/// Tells a test that isn't Rust where the programs are.
fn programs(command: &mut Command) -> &mut Command {
    let pinned = crate::codex::pinned().ok().and_then(|it| crate::codex::native(&it));
    if let Some(codex) = pinned {
        command.env("PILOTHOUSE_CODEX", codex);
    }
    command.env(
        "PILOTHOUSE_BIN_DIR",
        workspace::built("pilothouse").parent().unwrap_or(Path::new(".")),
    )
}

/// A Python with the packages of `requirements.txt`, kept as long as that file stays the same.
fn python(folder: &Path) -> Result<PathBuf, Failure> {
    let home = workspace::tools().join("python");
    let python = home.join("bin/python");
    let wanted = workspace::read(&folder.join("requirements.txt"))?;
    let installed = home.join("requirements.txt");
    if fs::read_to_string(&installed).is_ok_and(|it| it == wanted) {
        return Ok(python);
    }
    run::step("Python packages: pip install", || {
        run::quiet(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home))?;
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]);
        run::quiet(pip.arg(folder.join("requirements.txt")))?;
        workspace::write(&installed, &wanted)
    })?;
    Ok(python)
}

fn ending(folder: &Path, end: &str) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(folder)
        .map_err(|error| Failure::new(format!("could not list {}: {error}", folder.display())))?;
    let mut res: Vec<PathBuf> = entries
        .filter_map(|it| it.ok().map(|it| it.path()))
        .filter(|it| it.to_string_lossy().ends_with(end))
        .collect();
    res.sort();
    Ok(res)
}

/// Runs tests and counts them; that none were found is a failure, because it hides all others.
fn counted(tally: &mut Tally, command: &mut Command) -> Result<(), Failure> {
    let Watched { text, outcome } = run::watched(command)?;
    let found = Tally::read(&text);
    tally.passed += found.passed;
    tally.failed += found.failed;
    outcome?;
    match found {
        Tally { failed: 1.., .. } => Err(Failure::new("tests failed")),
        Tally { passed: 0, .. } => Err(Failure::new("no test was run")),
        Tally { .. } => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_stage_says_how_to_run_just_that() {
        let message = failure_of("docs", &Failure::new("a link is broken")).to_string();
        assert!(message.contains("a link is broken"), "{message}");
        assert!(message.contains("cargo xtask test --only docs"), "{message}");
    }

    #[test]
    fn an_unknown_stage_is_answered_with_the_names() {
        let message = named("everything").map(|it| it.name).expect_err("no such stage").to_string();
        for stage in STAGES {
            assert!(message.contains(stage.name), "{} in {message}", stage.name);
        }
    }

    #[test]
    fn a_run_without_a_test_fails() {
        let echo = |text: &str| {
            let mut command = Command::new("echo");
            command.arg(text);
            let mut tally = Tally::default();
            (counted(&mut tally, &mut command).is_ok(), tally)
        };
        assert!(!echo("# pass 0").0);
        assert!(!echo("nothing").0);
        let (is_ok, tally) = echo("# pass 2");
        assert!(is_ok);
        assert_eq!(tally, Tally { passed: 2, failed: 0 });
        assert!(!echo("Summary [ 0.1s] 2 tests run: 1 passed, 1 failed, 0 skipped").0);
    }
}
