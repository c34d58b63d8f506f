//! A home, a folder to work in, a model, the script that is played, and the moment of death.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use pilothouse_testkit::{Chance, ScriptedModel, codex_binary};
use serde_json::{Value, json};
use tokio::{process::Command, sync::watch};

use crate::client::{Client, Told};

/// Lines that the program says in the scenario, about; the moment is after one of them.
const LINES: u64 = 22;
/// The longest time after that line, as a power of two in microseconds.
const MAX_DELAY_LOG2: u64 = 19;
/// How long whatever was running may take to be gone.
const GONE: Duration = Duration::from_secs(5);

pub(crate) struct Stage {
    pub(crate) model: ScriptedModel,
    pub(crate) home: tempfile::TempDir,
    pub(crate) folder: tempfile::TempDir,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        let model = ScriptedModel::start().await.unwrap();
        let (home, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        Self { model, home, folder }
    }

    pub(crate) fn program(&self) -> Client {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pilothouse"));
        command
            .arg("mcp")
            .envs(self.model.env())
            .env("HOME", self.model.codex_home())
            .env("PILOTHOUSE_HOME", self.home.path())
            .env("PILOTHOUSE_CODEX", codex_binary().unwrap())
            .current_dir(self.folder.path());
        Client::spawn(command)
    }

    /// Begins a session and follows it to its rest.
    pub(crate) async fn begin(&self, client: &mut Client, told: &mut Told, script: &Value) {
        let arguments = json!({
            "prompt": format!("go\nSCRIPT:{script}"),
            "approvalPolicy": "untrusted",
            "sandbox": "workspace-write",
            "cwd": self.folder.path(),
            "advanced": {"approvalTimeoutMs": 0},
        });
        let started = client.call("codex", arguments).await;
        let session = started["structuredContent"]["sessionId"].as_str();
        told.session = Some(session.unwrap_or_else(|| panic!("{started}")).to_owned());
        client.follow(told).await;
    }

    /// How often the command of the script has run.
    pub(crate) fn n_runs(&self) -> usize {
        let text = std::fs::read_to_string(self.folder.path().join("ran")).unwrap_or_default();
        text.lines().count()
    }

    pub(crate) fn is_patched(&self) -> bool {
        self.folder.path().join("patched").exists()
    }
}

/// Words as they are said, a command, a change, and the end.
pub(crate) fn script() -> Value {
    let patch = "*** Begin Patch\n*** Add File: patched\n+hello\n*** End Patch\n";
    json!([
        [{"words": 40, "phase": "commentary"}, {"cmd": "echo again >> ran"}],
        [{"patch": patch}],
        [{"msg": "finished", "phase": "final_answer"}],
    ])
}

/// A moment: after so many lines of the program, and so long after.
pub(crate) struct Moment {
    lines: u64,
    delay: Duration,
}

impl Moment {
    pub(crate) fn draw(chance: &mut Chance) -> Self {
        let scale = 1 + chance.below(MAX_DELAY_LOG2);
        let delay = chance.below(1 << scale);
        Self { lines: chance.below(LINES), delay: Duration::from_micros(delay) }
    }

    /// Returns when it has come, or never if the program has died before.
    pub(crate) async fn come(&self, mut said: watch::Receiver<u64>) {
        let before = *said.borrow();
        if said.wait_for(|it| *it >= before + self.lines).await.is_err() {
            std::future::pending::<()>().await;
        }
        self.pause().await;
    }

    /// The time after the line.
    pub(crate) async fn pause(&self) {
        let begin = Instant::now();
        // A timer would round to milliseconds, and this is about moments between them.
        while begin.elapsed() < self.delay {
            tokio::task::yield_now().await;
        }
    }
}

/// Waits until all of these processes are gone, and all that have the folder in their environment.
pub(crate) async fn all_gone(pids: &[u32], folder: Option<&Path>) {
    let begin = Instant::now();
    loop {
        let mut left: Vec<u32> = pids.iter().copied().filter(|it| is_alive(*it)).collect();
        left.extend(folder.into_iter().flat_map(marked));
        if left.is_empty() {
            return;
        }
        assert!(
            begin.elapsed() < GONE,
            "left running: {:?}",
            left.iter().map(|it| name(*it)).collect::<Vec<_>>()
        );
        tokio::task::yield_now().await;
    }
}

/// All processes below one, with the names of their programs.
pub(crate) fn below(pid: u32) -> Vec<(u32, String)> {
    let mut res = vec![];
    let mut open = vec![pid];
    while let Some(pid) = open.pop() {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
        for task in tasks.into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(task.path().join("children"));
            for child in children.unwrap_or_default().split_whitespace() {
                let child: u32 = child.parse().unwrap();
                res.push((child, name(child)));
                open.push(child);
            }
        }
    }
    res
}

fn marked(folder: &Path) -> Vec<u32> {
    let mark = folder.as_os_str().as_encoded_bytes();
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok());
    let has_mark = |pid: &u32| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.windows(mark.len()).any(|it| it == mark)
    };
    pids.filter(|pid| has_mark(pid) && is_alive(*pid)).collect()
}

fn name(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

/// A zombie is no longer alive; its parent may just not have looked yet.
fn is_alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|it| it.rsplit(')').next().is_some_and(|it| !it.trim().starts_with('Z')))
}
