//! Which crate may depend on which, and on what from outside.

use std::{collections::BTreeMap, fs};

use serde_json::Value;

use super::Finding;

/// What each crate may use of ours; the arrows of ARCHITECTURE.md point up.
const DIRECTION: [(&str, &[&str]); 7] = [
    ("pilothouse-core", &[]),
    ("pilothouse-codex", &["pilothouse-core"]),
    ("pilothouse-store", &["pilothouse-core"]),
    ("pilothouse", &["pilothouse-core", "pilothouse-codex", "pilothouse-store"]),
    ("pilothouse-server", &["pilothouse-core", "pilothouse-store", "pilothouse"]),
    ("pilothouse-testkit", &["pilothouse-core", "pilothouse-codex", "pilothouse-store"]),
    ("xtask", &[]),
];
/// Every crate's tests may use it, no crate's code.
const TEST_ONLY: &str = "pilothouse-testkit";
/// Crates that do nothing may use only what does nothing.
const FROM_OUTSIDE: [(&str, &[&str]); 3] =
    [("pilothouse-core", PURE), ("pilothouse-codex", PURE), ("xtask", &["serde_json"])];
const PURE: &[&str] = &["jiff", "serde", "serde_json", "sha2", "thiserror", "uuid"];

pub(crate) fn check(metadata: &Value) -> Vec<Finding> {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    // Packages from a registry have a source, ours have none.
    let ours = packages.iter().filter(|it| it["source"].is_null());
    ours.flat_map(|package| {
        let mut findings = dependencies(package);
        findings.extend(lints(package));
        findings
    })
    .collect()
}

fn dependencies(package: &Value) -> Vec<Finding> {
    let name = text(&package["name"]);
    let direction: BTreeMap<&str, &[&str]> = DIRECTION.into();
    let outside: BTreeMap<&str, &[&str]> = FROM_OUTSIDE.into();
    let Some(may_use) = direction.get(name) else {
        return vec![Finding::new(name, "a new crate needs its place in xtask/src/tidy/crates.rs")];
    };
    let mut findings = Vec::new();
    for dependency in package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let wanted = text(&dependency["name"]);
        let is_dev = dependency["kind"] == "dev";
        let is_ours = direction.contains_key(wanted);
        let is_right = if is_ours {
            // A crate's tests may ask for more of its own features.
            may_use.contains(&wanted) || (is_dev && [TEST_ONLY, name].contains(&wanted))
        } else {
            is_dev || outside.get(name).is_none_or(|it| it.contains(&wanted))
        };
        if !is_right {
            findings.push(Finding::new(name, format!("may not depend on {wanted}")));
        }
    }
    findings
}

fn lints(package: &Value) -> Option<Finding> {
    let manifest = text(&package["manifest_path"]);
    let content = fs::read_to_string(manifest).unwrap_or_default();
    (!inherits_lints(&content)).then(|| {
        Finding::new(text(&package["name"]), "its manifest lacks `lints.workspace = true`")
    })
}

fn inherits_lints(manifest: &str) -> bool {
    let mut in_lints = false;
    manifest.lines().map(|it| it.split('#').next().unwrap_or_default().trim()).any(|line| {
        if line.starts_with('[') {
            in_lints = line == "[lints]";
        }
        let compact: String = line.split_whitespace().collect();
        compact == "lints.workspace=true" || (in_lints && compact == "workspace=true")
    })
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> Value {
        let dependencies: Vec<Value> =
            dependencies.iter().map(|(name, kind)| json!({"name": name, "kind": kind})).collect();
        json!({"name": name, "dependencies": dependencies, "source": null})
    }

    #[test]
    fn arrows_point_one_way() {
        for (name, wanted, kind, is_right) in [
            ("pilothouse-core", "serde", None, true),
            ("pilothouse-core", "tokio", None, false),
            ("pilothouse-core", "tokio", Some("build"), false),
            ("pilothouse-core", "proptest", Some("dev"), true),
            ("pilothouse-core", "pilothouse-codex", None, false),
            ("pilothouse-codex", "pilothouse-core", None, true),
            ("pilothouse-codex", "rand", None, false),
            ("pilothouse-codex", "pilothouse-store", None, false),
            ("pilothouse-store", "rusqlite", None, true),
            ("pilothouse-store", "pilothouse", None, false),
            ("pilothouse-store", "pilothouse-store", Some("dev"), true),
            ("pilothouse", "pilothouse-server", None, false),
            ("pilothouse", "pilothouse-testkit", None, false),
            ("pilothouse", "pilothouse-testkit", Some("dev"), true),
            ("pilothouse-server", "pilothouse", None, true),
            ("xtask", "serde_json", None, true),
            ("xtask", "clap", None, false),
            ("xtask", "pilothouse-core", None, false),
            ("newcomer", "serde", None, false),
        ] {
            let findings = dependencies(&package(name, &[(wanted, kind)]));
            assert_eq!(findings.is_empty(), is_right, "{name} on {wanted}: {findings:?}");
        }
    }

    #[test]
    fn packages_from_a_registry_are_not_ours_to_judge() {
        let mut theirs = package("newcomer", &[("tokio", None)]);
        theirs["source"] = json!("registry");
        assert_eq!(check(&json!({"packages": [theirs]})), []);
    }

    #[test]
    fn lints_are_inherited_in_either_spelling() {
        for good in ["[lints]\nworkspace = true\n", "[package]\nlints.workspace = true # all\n"] {
            assert!(inherits_lints(good), "{good}");
        }
        for bad in
            ["", "[lints]\n", "[dependencies]\nworkspace = true\n", "# lints.workspace = true"]
        {
            assert!(!inherits_lints(bad), "{bad}");
        }
    }
}
