//! Drives each Codex of the list through the same scenarios, and writes down what came of it.

use std::{path::PathBuf, process::Command};

use crate::{
    codex,
    install::{self, Tool},
    run::{self, Failure},
    workspace,
};

const USAGE: &str = "usage: cargo xtask matrix [CODEX_VERSION DIALECT]";
/// Where the whole table is.
const WHOLE: &str = "docs/versions.md";
/// Where it is too, between two marks.
const README: &str = "README.md";
const BEGIN: &str = "<!-- versions: written by `cargo xtask matrix` -->\n";
const END: &str = "<!-- end of versions -->";

/// Versions beside the pinned one, and what each is spoken to as.
const OLDER: [(&str, &str); 7] = [
    ("0.148.0", "app-server"),
    ("0.125.0", "app-server"),
    ("0.110.0", "app-server"),
    ("0.77.0", "app-server"),
    ("0.47.0", "exec"),
    ("0.42.0", "exec"),
    ("0.42.0", "proto"),
];

const LEGEND: &str = "\
`asks nobody`: `codex exec` has no approvals; the session says so in its dialect and in a warning. \
`refused`: the version has no way to, and the error says so by its code. Where nothing is forced \
by `PILOTHOUSE_MODE` or `CODEX_MCP_MODE`, a version with an app-server is spoken to as that, and \
an older one as proto, then as exec.
";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let pinned = codex::pinned()?;
    let mut cases: Vec<(String, String)> =
        ["app-server", "exec"].iter().map(|it| (pinned.clone(), (*it).to_owned())).collect();
    cases.extend(OLDER.map(|(version, dialect)| (version.to_owned(), dialect.to_owned())));
    let is_whole = match arguments {
        [] => true,
        [version, dialect] => {
            cases = vec![(codex::checked(version)?, dialect.clone())];
            false
        }
        _ => return Err(Failure::new(USAGE)),
    };
    let tools: Vec<Tool> = cases.iter().map(|(version, _)| Tool::Codex(version.clone())).collect();
    install::ensure(&tools)?;
    run::shown(run::cargo().args(["build", "--quiet", "-p", "pilothouse", "--examples"]))?;

    let mut rows = Vec::new();
    let mut failures = Vec::new();
    for (version, dialect) in cases {
        let played = run::step(&format!("Codex {version} as {dialect}"), || {
            run::quiet(Command::new(player()).args([&version, &dialect])).map(|it| parse(&it))
        })?;
        for (scenario, found) in &played {
            if let Found::Failed(why) = found {
                failures.push(format!("Codex {version} as {dialect}, {scenario}: {why}"));
            }
        }
        rows.push(Row { version, dialect, played });
    }
    let table = table(&rows);
    println!("\n{table}");
    if !failures.is_empty() {
        return Err(Failure::new(failures.join("\n")));
    }
    if is_whole {
        let whole = format!(
            "# Which Codex\n\nWritten by `cargo xtask matrix`: real Codex binaries from npm, each \
             driven through the same scenarios (`crates/pilothouse/tests/dialects`) with a \
             scripted model behind it.\n\n{table}\n{LEGEND}"
        );
        workspace::write(&workspace::root().join(WHOLE), &whole)?;
        let path = workspace::root().join(README);
        let text = workspace::read(&path)?;
        let text = put_between(&text, &table).ok_or_else(|| {
            Failure::new(format!("{README} has no place for the table: {BEGIN}…\n{END}"))
        })?;
        workspace::write(&path, &text)?;
        println!("written to {WHOLE} and {README}");
    }
    Ok(())
}

/// What one version came to in one dialect.
#[derive(Debug)]
struct Row {
    version: String,
    dialect: String,
    played: Vec<(String, Found)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Found {
    Works,
    /// Told as absent, in these words.
    Absent(String),
    Failed(String),
}

fn player() -> PathBuf {
    let mut path = workspace::built("matrix");
    let name = path.file_name().map(ToOwned::to_owned).unwrap_or_default();
    path.pop();
    path.join("examples").join(name)
}

/// Lines of a scenario, what came of it, and more about that, with tabs between.
fn parse(said: &str) -> Vec<(String, Found)> {
    let line = |line: &str| {
        let mut parts = line.splitn(3, '\t');
        let (scenario, found) = (parts.next()?, parts.next()?);
        let more = parts.next().unwrap_or_default().to_owned();
        let found = match found {
            "ok" => Found::Works,
            "absent" => Found::Absent(more),
            _ => Found::Failed(more),
        };
        Some((scenario.to_owned(), found))
    };
    said.lines().filter_map(line).collect()
}

fn table(rows: &[Row]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let names = first.played.iter().map(|(name, _)| name.as_str());
    let head: Vec<&str> = ["Codex", "spoken to as"].into_iter().chain(names).collect();
    let mut lines =
        vec![format!("| {} |", head.join(" | ")), format!("|{}", "---|".repeat(head.len()))];
    for Row { version, dialect, played } in rows {
        let cells: Vec<&str> = [version.as_str(), dialect.as_str()]
            .into_iter()
            .chain(played.iter().map(|(_, found)| match found {
                Found::Works => "ok",
                Found::Absent(told) if told == "no approvals" => "asks nobody",
                Found::Absent(_) => "refused",
                Found::Failed(_) => "**failed**",
            }))
            .collect();
        lines.push(format!("| {} |", cells.join(" | ")));
    }
    lines.into_iter().map(|it| it + "\n").collect()
}

/// The text with a table between the two marks, in place of what was there.
fn put_between(text: &str, table: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{table}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_row_for_each_version_and_says_what_is_absent() {
        let played = parse("start\tok\naccept\tabsent\tno approvals\nfork\tabsent\tX\n");
        let rows = [Row { version: "0.42.0".into(), dialect: "exec".into(), played }];
        let expected = "| Codex | spoken to as | start | accept | fork |\n|---|---|---|---|---|\n\
                        | 0.42.0 | exec | ok | asks nobody | refused |\n";
        assert_eq!(table(&rows), expected);
    }

    #[test]
    fn what_failed_is_not_taken_for_absent() {
        let failed = Found::Failed("a reason\twith a tab".to_owned());
        assert_eq!(
            parse("resume\tfailed\ta reason\twith a tab\nnoise\n"),
            [("resume".to_owned(), failed)]
        );
    }

    #[test]
    fn the_table_replaces_the_one_before_and_nothing_else() {
        let text = format!("before\n{BEGIN}old\n{END}\nafter\n");
        let expected = format!("before\n{BEGIN}new\n{END}\nafter\n");
        assert_eq!(put_between(&text, "new\n"), Some(expected));
        assert_eq!(put_between("no marks", "new\n"), None);
    }

    #[test]
    fn the_readme_has_a_place_for_the_table() {
        let text = workspace::read(&workspace::root().join(README)).expect("the README");
        assert!(put_between(&text, "").is_some());
    }

    #[test]
    fn what_tests_need_is_in_the_table() {
        for version in codex::OLDER {
            assert!(OLDER.iter().any(|(it, _)| *it == version), "{version}");
        }
    }
}
