//! The Codex versions that tests and recordings use, under `.tools/codex/<version>`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    run::{self, Failure},
    workspace,
};

/// The version that Pilothouse is tested with.
pub(crate) fn pinned() -> Result<String, Failure> {
    let path = workspace::root().join("codex-version.txt");
    let text = workspace::read(&path)?;
    checked(text.trim())
}

/// What is tested beside the pinned one: an older app-server, and the last with `codex proto`.
pub(crate) const OLDER: [&str; 2] = ["0.125.0", "0.42.0"];

/// Only digits, letters, dots and dashes, because it becomes part of a path.
pub(crate) fn checked(version: &str) -> Result<String, Failure> {
    let plain = |it: char| it.is_ascii_alphanumeric() || it == '.' || it == '-';
    if version.starts_with(|it: char| it.is_ascii_digit()) && version.chars().all(plain) {
        Ok(version.to_owned())
    } else {
        Err(Failure::new(format!("`{version}` is not a version of Codex, such as 0.171.0")))
    }
}

/// The native program of a version, if it is installed.
pub(crate) fn native(version: &str) -> Option<PathBuf> {
    let packages = workspace::tools().join("codex").join(version).join("node_modules");
    let triple = triple()?;
    candidates(&packages, platform()?, triple).into_iter().find(|it| it.is_file())
}

/// The native program of a version, or how to get it.
pub(crate) fn required(version: &str) -> Result<PathBuf, Failure> {
    native(version).ok_or_else(|| {
        Failure::new(format!(
            "Codex {version} is not installed; run `cargo xtask install {version}`"
        ))
    })
}

/// Installs a version beside the others, whole or not at all.
pub(crate) fn install(version: &str) -> Result<PathBuf, Failure> {
    if let Some(program) = native(version) {
        return Ok(program);
    }
    let all = workspace::tools().join("codex");
    let partial = all.join(format!("{version}.partial"));
    let whole = all.join(version);
    // What an interrupted installation left.
    for stale in [&partial, &whole] {
        if stale.exists() {
            fs::remove_dir_all(stale).map_err(|error| {
                Failure::new(format!("could not remove {}: {error}", stale.display()))
            })?;
        }
    }
    workspace::make_dir(&partial)?;
    // Without a manifest of its own, npm would look for one in the folders above.
    workspace::write(&partial.join("package.json"), "{\"private\": true}\n")?;
    let package = format!("@openai/codex@{version}");
    run::quiet(
        run::npm(&partial)
            .args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"])
            .arg(&partial)
            .arg(package),
    )?;
    fs::rename(&partial, &whole).map_err(|error| {
        Failure::new(format!("could not rename {}: {error}", partial.display()))
    })?;
    native(version).ok_or_else(|| {
        Failure::new(format!(
            "npm installed Codex {version}, but no program for this machine came with it"
        ))
    })
}

/// Where the native program was put over time: its own package since 0.99.
fn candidates(packages: &Path, platform: &str, triple: &str) -> Vec<PathBuf> {
    let scope = packages.join("@openai");
    let own = scope.join(format!("codex-{platform}")).join("vendor").join(triple);
    let nested = scope
        .join("codex/node_modules/@openai")
        .join(format!("codex-{platform}"))
        .join("vendor")
        .join(triple);
    let inside = scope.join("codex");
    vec![
        own.join("bin/codex"),
        own.join("codex/codex"),
        nested.join("bin/codex"),
        nested.join("codex/codex"),
        inside.join("vendor").join(triple).join("codex/codex"),
        inside.join("bin").join(format!("codex-{triple}")),
    ]
}

fn platform() -> Option<&'static str> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Some("linux-x64"),
        ("linux", "aarch64") => Some("linux-arm64"),
        ("macos", "x86_64") => Some("darwin-x64"),
        ("macos", "aarch64") => Some("darwin-arm64"),
        _ => None,
    }
}

fn triple() -> Option<&'static str> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Some("x86_64-unknown-linux-musl"),
        ("linux", "aarch64") => Some("aarch64-unknown-linux-musl"),
        ("macos", "x86_64") => Some("x86_64-apple-darwin"),
        ("macos", "aarch64") => Some("aarch64-apple-darwin"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_cannot_lead_out_of_its_folder() {
        for bad in ["", "../0.1.0", "latest", "0.1/../..", "0.1 --registry"] {
            assert!(checked(bad).is_err(), "{bad:?}");
        }
        for good in ["0.171.0", "0.42.0", "0.172.0-alpha.1"] {
            assert_eq!(checked(good).ok().as_deref(), Some(good));
        }
    }

    #[test]
    fn the_pin_is_a_version() {
        let version = pinned().expect("codex-version.txt");
        assert!(version.split('.').count() >= 3, "{version}");
    }
}
