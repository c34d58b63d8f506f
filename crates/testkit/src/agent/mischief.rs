//! What goes wrong on cue: lines that are too long, floods, deaths, and processes left behind.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::process::{Signal, getpid, kill_process, setsid};
use serde_json::Value;
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{SignalKind, signal},
};

use super::SpawnChild;

/// An agent that hangs and a process left behind end by themselves after this, should a test
/// fail to end them.
const LONGEST_LIFE: Duration = Duration::from_mins(10);

/// The argument with which the program starts a process left behind, and exits.
pub const GRANDCHILD: &str = "--grandchild";

/// The argument with which the program is a process left behind.
pub const LEFT_BEHIND: &str = "--left-behind";

/// Pads a delta to a line of about `size` bytes.
pub(super) fn big_delta(thread: &str, turn: &str, size: usize) -> Value {
    delta(thread, turn, &"x".repeat(size))
}

/// A valid delta of the agent's message.
pub(super) fn delta(thread: &str, turn: &str, text: &str) -> Value {
    serde_json::json!({
        "method": "item/agentMessage/delta",
        "params": {"threadId": thread, "turnId": turn, "itemId": "msg_fake", "delta": text},
    })
}

/// Writes lines of 100 bytes to standard error.
pub(super) fn flood_stderr(n_bytes: usize) -> io::Result<()> {
    let line = [[b'e'; 99].as_slice(), b"\n"].concat();
    let mut stderr = io::stderr().lock();
    for position in (0..n_bytes).step_by(line.len()) {
        let end = line.len().min(n_bytes - position);
        stderr.write_all(&line[..end])?;
    }
    Ok(())
}

/// Dies of SIGKILL, as by the kernel out of memory.
pub(super) fn kill_self() -> io::Result<()> {
    Ok(kill_process(getpid(), Signal::KILL)?)
}

/// Does nothing any more.
pub(super) fn hang() {
    thread::sleep(LONGEST_LIFE);
}

/// Leaves a process behind that neither the process group nor the line of parents leads to.
pub(super) fn spawn_child(wanted: &SpawnChild) -> io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(GRANDCHILD).arg(&wanted.pid_file);
    if wanted.ignore_sigterm {
        command.arg("--ignore-sigterm");
    }
    if wanted.clear_env {
        command.env_clear();
    }
    detached(&mut command).status()?;
    Ok(())
}

/// Between the agent and the process left behind: makes a session, and orphans its child.
pub fn be_grandchild(arguments: &[String]) -> anyhow::Result<()> {
    setsid()?;
    let mut command = Command::new(std::env::current_exe()?);
    detached(command.arg(LEFT_BEHIND).args(arguments)).spawn()?;
    Ok(())
}

/// The process left behind: says who it is, and lives on.
pub fn be_left_behind(arguments: &[String]) -> anyhow::Result<()> {
    let (pid_file, ignores) = match arguments {
        [pid_file] => (Path::new(pid_file), false),
        [pid_file, _] => (Path::new(pid_file), true),
        _ => anyhow::bail!("{LEFT_BEHIND} needs a file"),
    };
    let _runtime = ignores.then(ignore_sigterm).transpose()?;
    write_pid(pid_file)?;
    thread::sleep(LONGEST_LIFE);
    Ok(())
}

/// Writes this process's id, whole or not at all: tests wait for the file.
pub fn write_pid(pid_file: &Path) -> io::Result<()> {
    let draft = pid_file.with_extension("draft");
    fs::write(&draft, std::process::id().to_string())?;
    fs::rename(draft, pid_file)
}

/// Ignores SIGTERM for as long as the process lives.
pub fn ignore_sigterm() -> io::Result<Runtime> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    // Having asked for the signal once is what keeps it from killing the process.
    runtime.block_on(async { signal(SignalKind::terminate()).map(drop) })?;
    Ok(runtime)
}

fn detached(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())
}

/// Exits with 0 at SIGTERM, as Codex does, unless told to ignore it.
pub(super) fn heed_sigterm() -> io::Result<Arc<AtomicBool>> {
    let ignored = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&ignored);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let mut terminate = {
        let _entered = runtime.enter();
        signal(SignalKind::terminate())?
    };
    thread::Builder::new().name("sigterm".into()).spawn(move || {
        runtime.block_on(async move {
            while terminate.recv().await.is_some() {
                if !seen.load(Ordering::Relaxed) {
                    leave(0);
                }
            }
        });
    })?;
    Ok(ignored)
}

#[expect(clippy::exit, reason = "the script says when the program ends, wherever it is")]
pub(super) fn leave(code: i32) -> ! {
    std::process::exit(code)
}
