//! The rules of this repository that no compiler holds.

mod crates;
mod packages;
mod text;

use std::{fmt, path::Path, process::Command};

use serde_json::Value;

use crate::{
    run::{self, Failure},
    workspace,
};

/// A place where a rule is broken, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    place: String,
    rule: String,
}

impl Finding {
    fn new(place: impl Into<String>, rule: impl Into<String>) -> Self {
        Self { place: place.into(), rule: rule.into() }
    }

    fn at(path: &str, line: usize, rule: impl Into<String>) -> Self {
        Self::new(format!("{path}:{line}"), rule)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, rule } = self;
        write!(f, "{place}: {rule}")
    }
}

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    if !arguments.is_empty() {
        return Err(Failure::new("usage: cargo xtask tidy"));
    }
    let root = workspace::root();
    let paths = tracked(&root)?;
    let metadata = metadata(&root)?;
    let known = workspace::read(&root.join(packages::KNOWN_DUPLICATES))?;

    let mut findings: Vec<Finding> =
        paths.iter().flat_map(|path| text::check_file(&root, path)).collect();
    findings.extend(crates::check(&metadata));
    findings.extend(packages::check_licences(&metadata));
    let duplicates = packages::duplicates(&metadata, &known);
    findings.extend(duplicates.findings);
    for note in &duplicates.notes {
        println!("{note}");
    }
    if findings.is_empty() {
        println!("tidy: {} files, nothing to mend", paths.len());
        return Ok(());
    }
    for finding in &findings {
        println!("{finding}");
    }
    Err(Failure::new(format!("tidy: {} to mend, listed above", findings.len())))
}

/// What git has, or would have after `git add`.
fn tracked(root: &Path) -> Result<Vec<String>, Failure> {
    let listed = run::quiet(
        Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root),
    )?;
    let mut paths: Vec<String> =
        listed.split('\0').filter(|it| !it.is_empty()).map(str::to_owned).collect();
    paths.sort();
    paths.dedup();
    Ok(paths)
}

fn metadata(root: &Path) -> Result<Value, Failure> {
    let text = run::quiet(
        run::cargo()
            .args(["metadata", "--format-version", "1", "--all-features"])
            .current_dir(root),
    )?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::new(format!("could not read cargo metadata: {error}")))
}
