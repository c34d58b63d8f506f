//! What a bare machine lacks, fetched through each tool's ordinary client.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    codex,
    run::{self, Failure},
    workspace,
};

const CHROMIUM: &str = "/usr/bin/chromium";

/// Something that a task can't do without.
#[derive(Debug)]
pub(crate) enum Tool {
    Codex(String),
    /// The npm packages of a folder of this repository.
    Packages(PathBuf),
    Chromium,
    /// Python's virtual environments, which Debian packs apart.
    Venv,
    /// A terminal for tests.
    Tmux,
    Redis,
    Nextest,
}

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut tools = everything()?;
    for argument in arguments {
        match argument.as_str() {
            "--redis" => tools.push(Tool::Redis),
            version => tools.push(Tool::Codex(codex::checked(version)?)),
        }
    }
    ensure(&tools)
}

/// What `cargo xtask test` needs.
pub(crate) fn everything() -> Result<Vec<Tool>, Failure> {
    let mut tools = vec![Tool::Codex(codex::pinned()?)];
    tools.extend(codex::OLDER.map(|it| Tool::Codex(it.to_owned())));
    for folder in ["web", "clients"] {
        let folder = workspace::root().join(folder);
        if folder.join("package-lock.json").is_file() {
            tools.push(Tool::Packages(folder));
        }
    }
    tools.extend([Tool::Chromium, Tool::Venv, Tool::Tmux, Tool::Nextest]);
    Ok(tools)
}

pub(crate) fn ensure(tools: &[Tool]) -> Result<(), Failure> {
    tools.iter().try_for_each(ensure_one)
}

fn ensure_one(tool: &Tool) -> Result<(), Failure> {
    match tool {
        Tool::Codex(version) => {
            if codex::native(version).is_some() {
                println!("Codex {version}: already there");
                return Ok(());
            }
            run::step(&format!("Codex {version}: npm install"), || {
                codex::install(version).map(drop)
            })
        }
        Tool::Packages(folder) => packages(folder),
        Tool::Chromium => {
            if let Some(named) = env::var_os("PILOTHOUSE_CHROMIUM").map(PathBuf::from) {
                if !named.is_file() {
                    return Err(Failure::new(format!(
                        "PILOTHOUSE_CHROMIUM names {}, which is not there; correct or unset it",
                        named.display()
                    )));
                }
                println!("Chromium: {} by PILOTHOUSE_CHROMIUM", named.display());
                return Ok(());
            }
            if Path::new(CHROMIUM).is_file() {
                println!("Chromium: already there");
                return Ok(());
            }
            run::step("Chromium: apt-get install", || {
                apt("chromium", "or set PILOTHOUSE_CHROMIUM to the program")
            })
        }
        Tool::Venv => {
            let probe = ["-c", "import ensurepip, venv"];
            if run::quiet(Command::new("python3").args(probe)).is_ok() {
                println!("Python with venv: already there");
                return Ok(());
            }
            run::step("Python with venv: apt-get install", || {
                apt("python3-venv", "so that `python3 -m venv` works")
            })
        }
        Tool::Tmux => {
            if run::exists("tmux") {
                println!("tmux: already there");
                return Ok(());
            }
            run::step("tmux: apt-get install", || apt("tmux", "so that it is on the PATH"))
        }
        Tool::Redis => {
            if run::exists("redis-server") {
                println!("Redis: already there");
                return Ok(());
            }
            run::step("Redis: apt-get install", || apt("redis-server", "so that it is on the PATH"))
        }
        Tool::Nextest => {
            if run::exists("cargo-nextest") {
                println!("cargo-nextest: already there");
                return Ok(());
            }
            println!("cargo-nextest: compiling it, which takes some minutes");
            run::step("cargo-nextest: cargo install", || {
                run::quiet(run::cargo().args(["install", "cargo-nextest", "--locked"])).map(drop)
            })
        }
    }
}

fn packages(folder: &Path) -> Result<(), Failure> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if !is_stale(&folder.join("package-lock.json"), &folder.join("node_modules/.package-lock.json"))
    {
        println!("npm packages of {name}/: already there");
        return Ok(());
    }
    if !run::exists("npm") {
        return Err(Failure::new(
            "npm is missing; install Node 20 or later, with npm, then run this again",
        ));
    }
    run::step(&format!("npm packages of {name}/: npm ci"), || {
        run::quiet(run::npm(folder).args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]))
            .map(drop)
    })
}

/// Whether the made is missing or older than what it is made from.
fn is_stale(source: &Path, made: &Path) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|it| it.modified()).ok();
    match (changed(source), changed(made)) {
        (Some(source), Some(made)) => source > made,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

fn apt(package: &str, otherwise: &str) -> Result<(), Failure> {
    let user = run::quiet(Command::new("id").arg("-u")).unwrap_or_default();
    if user.trim() != "0" || !run::exists("apt-get") {
        return Err(Failure::new(format!(
            "{package} is missing, and only root on a Debian-like system gets it from here; \
             install it, {otherwise}, then run this again"
        )));
    }
    let apt = |arguments: &[&str]| {
        run::quiet(Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    apt(&["update", "-qq"])?;
    apt(&["install", "-y", "-qq", "--no-install-recommends", package])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn packages_are_stale_when_the_lock_file_is_newer_or_they_are_missing() {
        let dir = env::temp_dir().join(format!("xtask-install-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("a folder");
        let (source, made) = (dir.join("source"), dir.join("made"));
        assert!(!is_stale(&source, &made), "nothing to make it from");
        let now = SystemTime::now();
        let touch = |path: &Path, at: SystemTime| {
            fs::File::create(path).and_then(|it| it.set_modified(at)).expect("a file");
        };
        touch(&source, now);
        assert!(is_stale(&source, &made), "not made yet");
        touch(&made, now + Duration::from_secs(1));
        assert!(!is_stale(&source, &made), "made after");
        touch(&made, now - Duration::from_secs(1));
        assert!(is_stale(&source, &made), "made before");
        fs::remove_dir_all(&dir).expect("the folder is ours");
    }
}
