//! Programs that must not outlive the task that started them, however it ends.

#[cfg(unix)]
use std::os::unix::process::CommandExt;
use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
    process::{self, Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use crate::run::{self, Failure};

/// Ends a process when its own stdin closes, which happens even if this task is killed: asks first,
/// then insists after as many tenths of a second as its second argument says.
const LEASH: &str = "trap '' INT HUP TERM; read -r _
kill -TERM \"$1\" 2>/dev/null
n=0
while kill -0 \"$1\" 2>/dev/null && [ \"$n\" -lt \"$2\" ]; do sleep 0.1; n=$((n+1)); done
kill -KILL \"$1\" 2>/dev/null";

/// Twice what Pilothouse promises to need.
const GRACE: Duration = Duration::from_secs(4);

const LOG_LINES: usize = 20;

pub(crate) struct Child {
    name: String,
    process: process::Child,
    leash: process::Child,
    log: PathBuf,
}

impl Child {
    /// Starts a program and waits for the first line that it says.
    pub(crate) fn start(
        name: &str,
        command: &mut Command,
        logs: &Path,
        patience: Duration,
    ) -> Result<(Self, String), Failure> {
        Self::start_with(name, command, logs, patience, GRACE)
    }

    fn start_with(
        name: &str,
        command: &mut Command,
        logs: &Path,
        patience: Duration,
        grace: Duration,
    ) -> Result<(Self, String), Failure> {
        let failed = |error: io::Error| Failure::new(format!("could not start {name}: {error}"));
        let log = logs.join(format!("{}.log", name.replace(' ', "-")));
        let errors = File::create(&log).map_err(failed)?;
        // Some end when their stdin does, so it stays open as long as they are wanted.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        // Ctrl-C is for this task alone; the leash then asks each child once.
        #[cfg(unix)]
        command.process_group(0);
        let mut process = command.spawn().map_err(failed)?;
        let stdout = process.stdout.take();
        let mut leash = Command::new("sh");
        leash.args(["-c", LEASH, "leash"]).arg(process.id().to_string());
        leash.arg((grace.as_millis() / 100).to_string());
        leash.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        #[cfg(unix)]
        leash.process_group(0);
        let leash = leash.spawn().map_err(failed)?;
        let mut child = Self { name: name.to_owned(), process, leash, log };

        let (tx, rx) = mpsc::sync_channel(1);
        thread::spawn(move || {
            // Reads on after the first line, so that the child never waits for us.
            for line in stdout.map(BufReader::new).into_iter().flat_map(BufRead::lines) {
                let Ok(line) = line else { break };
                tx.try_send(line).ok();
            }
        });
        match rx.recv_timeout(patience) {
            Ok(line) => Ok((child, line)),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                Err(child.failure(&format!("said nothing within {} s", patience.as_secs())))
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                let status = child.process.wait().map_err(failed)?;
                Err(child.failure(&format!("ended without a word ({status})")))
            }
        }
    }

    /// Fails once the program has ended, which it should do only when told.
    pub(crate) fn check(&mut self) -> Result<(), Failure> {
        match self.status() {
            None => Ok(()),
            Some(status) => Err(self.failure(&format!("ended by itself ({status})"))),
        }
    }

    fn status(&mut self) -> Option<ExitStatus> {
        self.process.try_wait().ok().flatten()
    }

    fn failure(&self, what: &str) -> Failure {
        let Self { name, log, .. } = self;
        let said = fs::read_to_string(log).unwrap_or_default();
        let said = run::tail(&said, LOG_LINES);
        Failure::new(format!("{name} {what}; {} ends with\n{said}", log.display()))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.status().is_some() {
            // Its number may be another's by now: the leash must not pull.
            self.leash.kill().ok();
        } else {
            drop(self.leash.stdin.take());
            self.process.wait().ok();
        }
        self.leash.wait().ok();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::env;

    use super::*;

    fn start(script: &str) -> Result<(Child, String), Failure> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let name = format!("child {}", script.len());
        let (patience, grace) = (Duration::from_secs(10), Duration::from_millis(300));
        Child::start_with(&name, &mut command, &env::temp_dir(), patience, grace)
    }

    #[test]
    fn a_child_is_asked_to_end_when_it_is_let_go() {
        let file = env::temp_dir().join(format!("xtask-child-{}", process::id()));
        let script = format!(
            "trap 'echo asked > {}; exit 0' TERM; echo ready; while :; do sleep 0.05; done",
            file.display()
        );
        let (mut child, line) = start(&script).expect("it starts");
        assert_eq!(line, "ready");
        child.check().expect("it runs");
        drop(child);
        assert_eq!(fs::read_to_string(&file).expect("it was asked").trim(), "asked");
        fs::remove_file(&file).expect("it is ours");
    }

    #[test]
    fn a_child_that_does_not_listen_is_ended_all_the_same() {
        let (child, _) =
            start("trap '' TERM; echo ready; while :; do sleep 0.05; done").expect("ok");
        let id = child.process.id();
        drop(child);
        let mut alive = Command::new("sh");
        alive.args(["-c", "kill -0 \"$1\"", "alive"]).arg(id.to_string());
        assert!(run::quiet(&mut alive).is_err(), "{id} lives");
    }

    #[test]
    fn a_child_that_ends_first_is_quoted() {
        let message = start("echo sorry >&2; exit 4").err().expect("it ends").to_string();
        assert!(message.contains("sorry") && message.contains('4'), "{message}");
    }
}
