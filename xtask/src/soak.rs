//! The long versions of what the test command does briefly, and their last result in `docs/soak.md`.

mod fuzz;

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    codex,
    run::{self, Failure, Watched},
    workspace,
};

const USAGE: &str = "usage: cargo xtask soak [--kills N] [--sim-seeds N] [--fuzz-seconds N]";
/// Kills of Pilothouse; of Codex there are half as many.
const KILLS: u64 = 200;
/// Histories of the simulator.
const SIM_SEEDS: u64 = 100_000;
/// How long the fuzzer looks.
const FUZZ_SECONDS: u64 = 600;

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let wanted = Wanted::parse(arguments)?;
    let commit = commit()?;
    let mut report = format!(
        "# Soak\n\nThe last run of `cargo xtask soak --kills {} --sim-seeds {} --fuzz-seconds {}`, on \
         {}, at commit {commit}.\n",
        wanted.kills,
        wanted.sim_seeds,
        wanted.fuzz_seconds,
        today()?
    );
    let kills = Part {
        title: "Kills",
        package: "pilothouse-server",
        test: "kills",
        times: ("PILOTHOUSE_KILLS", wanted.kills),
        read: told_of_kills,
    };
    let histories = Part {
        title: "Simulated histories",
        package: "pilothouse",
        test: "sim",
        times: ("PILOTHOUSE_SIM_SEEDS", wanted.sim_seeds),
        read: told_of_histories,
    };
    let mut outcome = Ok(());
    for part in [kills, histories] {
        let begin = Instant::now();
        let Watched { text, outcome: part_outcome } = part.run()?;
        let told = (part.read)(&text);
        report.push_str(&section(part.title, &told, &text, part_outcome.is_ok(), begin.elapsed()));
        outcome = outcome.and(part_outcome);
    }
    let begin = Instant::now();
    let Watched { text, outcome: fuzzed } = fuzz::run(wanted.fuzz_seconds)?;
    let told = fuzz::told(&text);
    report.push_str(&section("Fuzzed lines", &told, &text, fuzzed.is_ok(), begin.elapsed()));
    outcome = outcome.and(fuzzed);
    // A failure is a result too, and the one that is looked for.
    workspace::make_dir(&workspace::root().join("docs"))?;
    workspace::write(&workspace::root().join("docs/soak.md"), &report)?;
    println!("wrote docs/soak.md");
    outcome
}

struct Wanted {
    kills: u64,
    sim_seeds: u64,
    fuzz_seconds: u64,
}

impl Wanted {
    fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut res = Self { kills: KILLS, sim_seeds: SIM_SEEDS, fuzz_seconds: FUZZ_SECONDS };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let number = rest.next().and_then(|it| it.parse().ok()).filter(|it| *it > 0);
            let number = number.ok_or_else(|| Failure::new(USAGE))?;
            match argument.as_str() {
                "--kills" => res.kills = number,
                "--sim-seeds" => res.sim_seeds = number,
                "--fuzz-seconds" => res.fuzz_seconds = number,
                _ => return Err(Failure::new(USAGE)),
            }
        }
        Ok(res)
    }
}

struct Part {
    title: &'static str,
    package: &'static str,
    test: &'static str,
    times: (&'static str, u64),
    read: fn(&str) -> Vec<String>,
}

impl Part {
    /// By `cargo test`: nextest would end what takes longer than a test may.
    fn run(&self) -> Result<Watched, Failure> {
        let mut command = run::cargo();
        command.args(["test", "--quiet", "-p", self.package, "--test", self.test, "--"]);
        command.args(["--nocapture", "--test-threads=2"]);
        command.env(self.times.0, self.times.1.to_string());
        run::watched(&mut command)
    }
}

fn section(title: &str, told: &[String], text: &str, is_passed: bool, took: Duration) -> String {
    let verdict = if is_passed { "passed" } else { "**failed**" };
    let mut res = format!("\n## {title}\n\n{verdict} in {} s.\n\n", took.as_secs());
    for line in told {
        // Writing to a string cannot fail.
        writeln!(res, "- {line}").ok();
    }
    if !is_passed {
        let said = text.lines().filter(|it| it.contains("panicked") || it.contains(" fails"));
        for line in said {
            writeln!(res, "- {line}").ok();
        }
    }
    res
}

/// How many kills came to what, and with which seeds.
fn told_of_kills(text: &str) -> Vec<String> {
    let mut came_to = BTreeMap::<(String, String), u64>::new();
    let mut seeds = BTreeMap::<String, (u64, u64)>::new();
    for line in text.lines().filter_map(|it| it.split_once("killed: ").map(|it| it.1)) {
        let mut words = line.splitn(3, ' ');
        let (Some(name), Some(seed), Some(what)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let Ok(seed) = seed.parse() else { continue };
        let who = name.split('_').next().unwrap_or(name).to_owned();
        *came_to.entry((who, what.to_owned())).or_default() += 1;
        seeds.entry(name.to_owned()).or_insert((seed, 0)).1 += 1;
    }
    let outcomes = came_to.iter().map(|((who, what), n)| format!("{who} killed: {n} × {what}"));
    let seeds =
        seeds.iter().map(|(name, (first, n))| format!("`{name}`: {n} seeds from {first} on"));
    outcomes.chain(seeds).collect()
}

fn told_of_histories(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|it| it.split_once("simulated: ").map(|it| it.1));
    lines.map(|it| format!("seeds from {it}")).collect()
}

fn today() -> Result<String, Failure> {
    Ok(run::quiet(Command::new("date").args(["-u", "+%Y-%m-%d"]))?.trim().to_owned())
}

/// The commit, and whether what ran was something else.
fn commit() -> Result<String, Failure> {
    let git = |arguments: &[&str]| {
        run::quiet(Command::new("git").args(arguments).current_dir(workspace::root()))
    };
    let hash = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changes = git(&["status", "--porcelain", "--untracked-files=no"])?;
    let note = if changes.is_empty() { "" } else { " with changes" };
    let codex = codex::pinned()?;
    Ok(format!("{}{note}, with Codex {codex}", hash.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_are_counted_by_what_they_came_to() {
        let text = "PILOTHOUSE_KILL_SEED=7\nkilled: codex_dies_1 7 turn lost\nnoise\n\
                    test killed: codex_dies_1 8 turn lost\nkilled: pilothouse_dies_2 1 usable, no turn";
        assert_eq!(
            told_of_kills(text),
            [
                "codex killed: 2 × turn lost",
                "pilothouse killed: 1 × usable, no turn",
                "`codex_dies_1`: 2 seeds from 7 on",
                "`pilothouse_dies_2`: 1 seeds from 1 on",
            ]
        );
    }

    #[test]
    fn a_number_that_is_none_is_refused() {
        for line in ["--kills", "--kills none", "--kills 0", "--seeds 3"] {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert!(Wanted::parse(&arguments).is_err(), "{line}");
        }
        let arguments = ["--kills".to_owned(), "4".to_owned()];
        assert_eq!(Wanted::parse(&arguments).map(|it| it.kills).ok(), Some(4));
    }
}
