//! Finds the programs that tests start: the pinned Codex, and the ones built from this crate.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use anyhow::{Context, bail, ensure};

/// Names a Codex to test with instead of the pinned one.
pub const CODEX_VARIABLE: &str = "PILOTHOUSE_TEST_CODEX";

/// The root of the source tree that this crate was built from.
pub fn workspace_root() -> PathBuf {
    let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_root.ancestors().nth(2).unwrap_or(crate_root).to_owned()
}

/// The version of Codex that the tests are pinned to.
pub fn codex_version() -> anyhow::Result<String> {
    let file = workspace_root().join("codex-version.txt");
    let text = std::fs::read_to_string(&file)
        .with_context(|| format!("Pilothouse could not read {}", file.display()))?;
    Ok(text.trim().to_owned())
}

/// The real Codex: what `PILOTHOUSE_TEST_CODEX` names, else the one that `cargo xtask test`
/// installed.
pub fn codex_binary() -> anyhow::Result<PathBuf> {
    if let Some(path) = env::var_os(CODEX_VARIABLE).map(PathBuf::from) {
        ensure!(
            path.is_file(),
            "Pilothouse could not find the Codex that {CODEX_VARIABLE} names, {}; unset it, or \
             name the native executable.",
            path.display()
        );
        return Ok(path);
    }
    installed_codex(&codex_version()?)
}

/// The real Codex of a version that `cargo xtask install` installed.
pub fn installed_codex(version: &str) -> anyhow::Result<PathBuf> {
    let packages = workspace_root().join(".tools/codex").join(version).join("node_modules/@openai");
    for package in [format!("codex-linux-{}", npm_arch()), "codex".to_owned()] {
        let vendor = packages.join(package).join("vendor");
        let triple = format!("{}-unknown-linux-musl", env::consts::ARCH);
        for folder in ["bin", "codex"] {
            let path = vendor.join(&triple).join(folder).join("codex");
            if path.is_file() {
                return Ok(path);
            }
        }
    }
    bail!(
        "Pilothouse could not find Codex {version} below {}; run `cargo xtask install {version}`.",
        packages.display()
    )
}

/// One of this crate's programs, such as `fake-codex`, beside the running test.
///
/// Cargo builds a crate's programs for that crate's own tests only, so the tests of the other
/// crates have them built on first use.
pub fn bin(name: &str) -> anyhow::Result<PathBuf> {
    let folder = target_folder()?;
    let path = folder.join(format!("{name}{}", env::consts::EXE_SUFFIX));
    build_bins(&folder)?;
    ensure!(
        path.is_file(),
        "Pilothouse could not find {}; run `cargo build -p pilothouse-testkit --bins`.",
        path.display()
    );
    Ok(path)
}

/// Builds this crate's programs once per process, if any is missing.
fn build_bins(folder: &Path) -> anyhow::Result<()> {
    static OUTCOME: OnceLock<Result<(), String>> = OnceLock::new();
    let outcome = OUTCOME.get_or_init(|| {
        let complete = BINS.iter().all(|name| folder.join(name).is_file());
        if complete { Ok(()) } else { cargo_build(folder).map_err(|it| format!("{it:#}")) }
    });
    outcome.clone().map_err(anyhow::Error::msg)
}

const BINS: [&str; 4] = ["fake-codex", "scripted-model", "record", "probe-mcp"];

fn cargo_build(folder: &Path) -> anyhow::Result<()> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "-p", "pilothouse-testkit", "--bins"]);
    if folder.file_name().is_some_and(|it| it == "release") {
        command.arg("--release");
    }
    if let Some(target) = folder.parent() {
        command.env("CARGO_TARGET_DIR", target);
    }
    let status = command
        .current_dir(workspace_root())
        .status()
        .context("Pilothouse could not start cargo to build the testkit's programs")?;
    ensure!(status.success(), "Pilothouse could not build the testkit's programs: {status}");
    Ok(())
}

/// `target/debug` or `target/release`, whichever the running test was built into.
fn target_folder() -> anyhow::Result<PathBuf> {
    let exe = env::current_exe().context("Pilothouse could not find the running test")?;
    let folder = exe.parent().context("the running test has no folder")?;
    // Tests live in `deps`, examples in `examples`, programs one higher.
    let nested = folder.file_name().is_some_and(|it| it == "deps" || it == "examples");
    let folder = if nested { folder.parent().unwrap_or(folder) } else { folder };
    Ok(folder.to_owned())
}

fn npm_arch() -> &'static str {
    match env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    }
}
