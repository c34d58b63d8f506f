//! A process that is killed in the middle of a command: nothing of it goes on, and nobody runs it
//! a second time.

use std::{
    io::Write,
    path::Path,
    process::Stdio,
    sync::Arc,
    time::{Duration, Instant},
};

use pilothouse::{
    core::{AskRef, CommandEnd},
    store::{Sqlite, Store},
};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Command,
};

use crate::desk::{alive, allowed, broker_on, caller, command, eventually, spec, token};

/// What must be gone after the process was killed.
const GONE_WITHIN: Duration = Duration::from_secs(2);
/// Tells this program that it is the process to kill: the folder, and the duration to sleep.
const VICTIM: &str = "PILOTHOUSE_TEST_VICTIM";

#[tokio::test]
async fn after_sigkill_nothing_runs_and_the_next_process_says_lost() {
    if let Ok(orders) = std::env::var(VICTIM) {
        return be_killed(&orders).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let token = token();
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "dying::after_sigkill_nothing_runs_and_the_next_process_says_lost"])
        .arg("--nocapture")
        .env(VICTIM, format!("{} {token}", folder.path().display()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let ask: AskRef = loop {
        let line = lines.next_line().await.unwrap().unwrap();
        if let Some(name) = line.strip_prefix("ask ") {
            break name.parse().unwrap();
        }
    };
    eventually("all of it runs", || alive(&token).len() >= 3).await;
    victim.start_kill().unwrap();
    victim.wait().await.unwrap();
    let killed = Instant::now();
    eventually("nothing runs", || alive(&token).is_empty()).await;
    assert!(killed.elapsed() < GONE_WITHIN, "{:?}", killed.elapsed());

    let next = broker_on(store(folder.path())).await;
    for _ in 0..2 {
        let result = next.run_command(ask, spec(), &caller()).await.unwrap();
        assert_eq!(result.end, CommandEnd::Lost);
    }
    assert_eq!(alive(&token), [""; 0]);
    assert!(!folder.path().join("second").exists(), "it began once");
    next.stop().await;
}

async fn be_killed(orders: &str) {
    let (folder, token) = orders.rsplit_once(' ').unwrap();
    let broker = broker_on(store(Path::new(folder))).await;
    let line = format!(
        "[ -e {folder}/first ] && touch {folder}/second; touch {folder}/first; trap '' TERM HUP; \
         (env -i setsid sh -c 'trap \"\" TERM HUP; sleep {token}; sleep {token}' &); sleep {token}; \
         sleep {token}"
    );
    let ask = allowed(&broker, command(&line)).await;
    // After a line that the test's own runner has begun.
    std::io::stdout().write_all(format!("\nask {ask}\n").as_bytes()).unwrap();
    broker.run_command(ask, spec(), &caller()).await.unwrap();
}

fn store(folder: &Path) -> Arc<dyn Store> {
    Sqlite::open(&folder.join("store.db")).unwrap()
}
