//! One run of a command: without a terminal, with nothing to read, never longer than it may, and
//! with nothing left of it afterwards.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::ExitStatus,
    time::Duration,
};

use pilothouse_core::{CommandEnd, CommandResult};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    select,
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    CommandSpec, LineShell, MAX_COMMAND_OUTPUT, MAX_COMMAND_TIMEOUT,
    output::{Excerpt, fit},
    without_output,
};
use crate::agent::{
    process::{GuardCommand, Spawn},
    tree::{
        KILL_LIMIT, Marker,
        system::{self, Leash, Started},
    },
};

/// How long a command has to leave after SIGTERM.
const TERM_GRACE: Duration = Duration::from_millis(300);
/// How long its guard has to end everything after that.
const KILL_GRACE: Duration = Duration::from_secs(2);
/// How long after its end its output is still read: what holds it open is being ended.
const LINGER: Duration = Duration::from_millis(500);
/// How much is read at once.
const READ_BYTES: usize = 64 * 1024;

/// A program, or a line for a shell, and where it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    path: PathBuf,
    words: Vec<OsString>,
    cwd: PathBuf,
}

/// How far the ending of a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rung {
    /// It runs.
    None,
    /// It was told to leave.
    Term,
    /// Its guard was told to end it.
    Kill,
    /// It was searched for and killed.
    Hunt,
}

impl Program {
    pub(super) fn new(line: &str, argv: &[String], cwd: &Path) -> Self {
        let cwd = cwd.to_owned();
        match argv {
            [path, words @ ..] => {
                Self { path: path.into(), words: words.iter().map(OsString::from).collect(), cwd }
            }
            // A line may begin with a dash.
            [] => Self {
                path: LineShell::find().path,
                words: ["-c", "--", line].map(OsString::from).to_vec(),
                cwd,
            },
        }
    }

    /// Runs it to its end, which comes in any case.
    pub(super) async fn run(
        &self,
        spec: &CommandSpec,
        marker: Marker,
        guard: Option<GuardCommand>,
        leaving: &CancellationToken,
    ) -> CommandResult {
        if !self.cwd.is_dir() {
            let problem = format!("there is no directory {}", self.cwd.display());
            return not_started(problem);
        }
        let spawn = self.spawn(spec, marker.clone(), guard);
        let started = match system::start_without_input(&spawn).await {
            Ok(started) => started,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return not_started(format!("there is no program {}", self.path.display()));
            }
            Err(error) => return not_started(error.to_string()),
        };
        let limit = spec.max_output.min(MAX_COMMAND_OUTPUT);
        let (mut stdout, mut stderr) = (Excerpt::new(limit), Excerpt::new(limit));
        let end = watch(started, spec, leaving, marker, &mut stdout, &mut stderr).await;
        let (stdout, stderr, truncated) = fit(&stdout, &stderr, limit);
        CommandResult { end, stdout, stderr, truncated }
    }

    fn spawn(&self, spec: &CommandSpec, marker: Marker, guard: Option<GuardCommand>) -> Spawn {
        // Nothing of our own environment, which is this process's business.
        let ours = std::env::vars_os().map(|(name, _)| (name, None));
        let given = spec.env.iter().map(|(name, value)| (name.clone(), Some(value.clone())));
        let env: BTreeMap<_, _> = ours.chain(given).collect();
        let (args, cwd) = (self.words.clone(), Some(self.cwd.clone()));
        Spawn { args, env, cwd, guard, ..Spawn::new(self.path.clone(), marker) }
    }
}

fn not_started(problem: String) -> CommandResult {
    without_output(CommandEnd::NotStarted { problem })
}

async fn watch(
    started: Started,
    spec: &CommandSpec,
    leaving: &CancellationToken,
    marker: Marker,
    stdout: &mut Excerpt,
    stderr: &mut Excerpt,
) -> CommandEnd {
    let Started { mut child, leash, agent_pid: _ } = started;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let reading = async { tokio::join!(drain(out, stdout), drain(err, stderr)) };
    let mut reading = std::pin::pin!(reading);
    let mut is_read = false;

    let limit = spec.timeout.min(MAX_COMMAND_TIMEOUT);
    let mut next = Instant::now() + limit;
    let (mut rung, mut ended_as) = (Rung::None, None);
    let status = loop {
        let cause = select! {
            biased;
            status = child.wait() => break status.ok(),
            _ = &mut reading, if !is_read => {
                is_read = true;
                continue;
            }
            () = spec.taken_back.cancelled(), if rung == Rung::None => CommandEnd::TakenBack,
            () = leaving.cancelled(), if rung == Rung::None => CommandEnd::TakenBack,
            () = sleep_until(next) => {
                let after_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
                CommandEnd::TimedOut { after_ms }
            }
        };
        ended_as.get_or_insert(cause);
        let pid = child.id();
        match rung {
            Rung::None => {
                terminate(leash.as_ref(), pid);
                (rung, next) = (Rung::Term, Instant::now() + TERM_GRACE);
            }
            Rung::Term => {
                match &leash {
                    Some(leash) => leash.kill(),
                    None => hunt(marker.clone(), pid).await,
                }
                (rung, next) = (Rung::Kill, Instant::now() + KILL_GRACE);
            }
            Rung::Kill => {
                hunt(marker.clone(), pid).await;
                (rung, next) = (Rung::Hunt, Instant::now() + KILL_LIMIT);
            }
            Rung::Hunt => {
                tracing::warn!(?pid, "a command does not end; the system may hold it");
                break None;
            }
        }
    };
    // A guard that was itself killed says nothing, and then its own status is what we know.
    let status = leash.as_ref().and_then(Leash::agent_status).or(status);
    // What a guard could not end, or what was never under one.
    hunt(marker, None).await;
    if !is_read {
        timeout(LINGER, &mut reading).await.ok();
    }
    ended_as.unwrap_or_else(|| end_of(status))
}

fn terminate(leash: Option<&Leash>, pid: Option<u32>) {
    match (leash, pid) {
        (Some(leash), _) => leash.terminate(),
        (None, Some(pid)) => system::terminate(pid),
        (None, None) => {}
    }
}

fn end_of(status: Option<ExitStatus>) -> CommandEnd {
    match status {
        Some(status) => match (status.code(), status.signal()) {
            (Some(code), _) => CommandEnd::Exited { code },
            (None, Some(signal)) => CommandEnd::Signalled { signal },
            (None, None) => CommandEnd::Lost,
        },
        None => CommandEnd::Lost,
    }
}

async fn hunt(marker: Marker, root: Option<u32>) {
    let hunt = tokio::task::spawn_blocking(move || system::kill_marked(&marker, root, KILL_LIMIT));
    match hunt.await.map_err(io::Error::other).and_then(|it| it) {
        Ok(hunt) if hunt.left.is_empty() => {}
        Ok(hunt) => tracing::warn!(left = ?hunt.left, "some of a command's processes do not end"),
        Err(error) => tracing::warn!(%error, "a command's processes could not be searched for"),
    }
}

/// To its end, whatever it is: a pipe that nobody reads would hold up the command.
async fn drain(stream: Option<impl AsyncRead + Unpin>, excerpt: &mut Excerpt) {
    let Some(mut stream) = stream else { return };
    let mut bytes = vec![0; READ_BYTES];
    loop {
        match stream.read(&mut bytes).await {
            Ok(0) => return,
            Ok(n) => excerpt.push(&bytes[..n]),
            Err(error) => {
                tracing::debug!(%error, "a command's output could not be read");
                return;
            }
        }
    }
}
