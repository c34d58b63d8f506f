//! Licences of what we build on, and packages that come in more than one version.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Finding;

/// Packages that are known to come twice, with the reason for each.
pub(crate) const KNOWN_DUPLICATES: &str = "xtask/duplicates.txt";

/// The same list stands in deny.toml.
const ALLOWED: [&str; 7] =
    ["Apache-2.0", "BSD-3-Clause", "BSL-1.0", "MIT", "MIT-0", "Unicode-3.0", "Zlib"];

pub(crate) fn check_licences(metadata: &Value) -> Vec<Finding> {
    packages(metadata)
        .filter_map(|package| {
            let name = package["name"].as_str().unwrap_or_default();
            match package["license"].as_str() {
                Some(expression) if is_allowed(expression) => None,
                Some(expression) => Some(Finding::new(
                    name,
                    format!("its licence is not on our list: {expression}"),
                )),
                None => Some(Finding::new(name, "it names no licence")),
            }
        })
        .collect()
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Duplicates {
    pub(crate) findings: Vec<Finding>,
    pub(crate) notes: Vec<String>,
}

pub(crate) fn duplicates(metadata: &Value, known: &str) -> Duplicates {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages(metadata) {
        if let (Some(name), Some(version)) = (package["name"].as_str(), package["version"].as_str())
        {
            versions.entry(name).or_default().insert(version);
        }
    }
    versions.retain(|_, it| it.len() > 1);
    let known: BTreeMap<&str, &str> = known
        .lines()
        .filter(|it| !it.starts_with('#'))
        .filter_map(|it| it.trim().split_once(' '))
        .collect();

    let mut res = Duplicates::default();
    for (name, versions) in &versions {
        let listed = versions.iter().copied().collect::<Vec<_>>().join(" and ");
        match known.get(name) {
            Some(why) => res.notes.push(format!("twice: {name} {listed} ({})", why.trim())),
            None => res.findings.push(Finding::new(
                *name,
                format!("comes as {listed}; make it one, or say why not in {KNOWN_DUPLICATES}"),
            )),
        }
    }
    for name in known.keys().filter(|it| !versions.contains_key(*it)) {
        res.notes.push(format!("no longer twice, take it off {KNOWN_DUPLICATES}: {name}"));
    }
    res
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default().iter()
}

/// Whether an SPDX expression can be met by allowed licences; the old `/` means `OR`.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    let res = any_of(&mut rest);
    res && rest.is_empty()
}

fn any_of(rest: &mut &[&str]) -> bool {
    let mut res = all_of(rest);
    while let [first, after @ ..] = *rest
        && *first == "OR"
    {
        *rest = after;
        let next = all_of(rest);
        res = res || next;
    }
    res
}

fn all_of(rest: &mut &[&str]) -> bool {
    let mut res = one(rest);
    while let [first, after @ ..] = *rest
        && *first == "AND"
    {
        *rest = after;
        let next = one(rest);
        res = res && next;
    }
    res
}

fn one(rest: &mut &[&str]) -> bool {
    match *rest {
        ["(", after @ ..] => {
            *rest = after;
            let res = any_of(rest);
            match *rest {
                [")", after @ ..] => {
                    *rest = after;
                    res
                }
                _ => false,
            }
        }
        // An exception only ever allows more.
        [name, "WITH", _, after @ ..] | [name, after @ ..] => {
            let res = ALLOWED.contains(name);
            *rest = after;
            res
        }
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn expressions_are_met_or_not() {
        for good in [
            "MIT",
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "Unlicense OR MIT",
            "MIT OR Apache-2.0 OR LGPL-2.1-or-later",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-3.0",
            "MIT AND BSD-3-Clause",
            "GPL-3.0 OR (MIT AND Zlib)",
        ] {
            assert!(is_allowed(good), "{good}");
        }
        for bad in [
            "",
            "GPL-3.0",
            "MPL-2.0",
            "MIT AND MPL-2.0",
            "(MIT OR Apache-2.0) AND MPL-2.0",
            "MIT AND (GPL-3.0 OR MPL-2.0)",
            "(MIT",
            "MIT Apache-2.0",
            "mit",
        ] {
            assert!(!is_allowed(bad), "{bad}");
        }
    }

    #[test]
    fn cargo_deny_is_told_the_same_licences() {
        let text =
            crate::workspace::read(&crate::workspace::root().join("deny.toml")).expect("text");
        let (_, after) = text.split_once("\nallow = [").expect("a list of licences");
        let (list, _) = after.split_once(']').expect("its end");
        let listed: Vec<&str> = list
            .lines()
            .filter_map(|it| it.trim().strip_suffix("\",").and_then(|it| it.strip_prefix('"')))
            .collect();
        assert_eq!(listed, ALLOWED);
    }

    #[test]
    fn a_package_without_a_licence_is_found() {
        let metadata = json!({"packages": [
            {"name": "a", "license": "MIT"},
            {"name": "b", "license": null},
            {"name": "c", "license": "MPL-2.0"},
        ]});
        let places: Vec<String> =
            check_licences(&metadata).into_iter().map(|it| it.place).collect();
        assert_eq!(places, ["b", "c"]);
    }

    #[test]
    fn a_duplicate_is_found_unless_it_is_known() {
        let metadata = json!({"packages": [
            {"name": "syn", "version": "2.0.0"},
            {"name": "syn", "version": "3.0.0"},
            {"name": "sha2", "version": "0.10.0"},
            {"name": "sha2", "version": "0.11.0"},
            {"name": "serde", "version": "1.0.0"},
        ]});
        let res = duplicates(&metadata, "# name why\nsyn two generations\ngone it went\n");
        assert_eq!(res.findings.len(), 1);
        assert_eq!(res.findings[0].place, "sha2");
        assert!(res.findings[0].rule.contains("0.10.0 and 0.11.0"));
        assert!(res.notes.iter().any(|it| it.contains("syn 2.0.0 and 3.0.0 (two generations)")));
        assert!(res.notes.iter().any(|it| it.contains("no longer twice") && it.contains("gone")));
    }
}
