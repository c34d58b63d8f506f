//! A process that never says which thread it is in: nobody waits for it for ever.

use std::{fs, os::unix::fs::PermissionsExt as _, sync::Arc, time::Duration};

use pilothouse_codex::{Dialect, Tag};
use pilothouse_core::{AgentError, FromAgent, Prompt, Spec, TurnId};
use tokio::sync::mpsc;

use super::{START_LIMIT, Turns};
use crate::{
    agent::{connection::Order, launch::Launch, mailbox::Mailbox},
    config::AgentConfig,
};

/// What a turn of a program comes to that says nothing, and how long that took by the clock of
/// timers.
async fn refused() -> (AgentError, Duration) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("codex");
    let text = "#!/bin/sh\nif [ \"$1\" = --version ]; then echo codex-cli 0.171.0; exit; fi\n\
                exec sleep 600\n";
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let config = AgentConfig {
        binary: Some(program),
        dialect: Some(Dialect::Exec),
        ..AgentConfig::default()
    };
    let store = format!("turns-{}", folder.path().display());
    let launch = Arc::new(Launch::new(config, store, "n".to_owned()));
    let program = launch.program().await.unwrap();
    let mailbox = Arc::new(Mailbox::default());
    let (orders, inbox) = mpsc::channel(1);
    let spec = Spec { cwd: folder.path().display().to_string(), ..Spec::default() };
    let turns = Turns::new(launch, program, spec, None, Arc::clone(&mailbox), inbox);
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    let mut running = tokio::task::JoinSet::new();
    running.spawn(turns.run(TurnId(1), Prompt::text("hello")));
    let error = loop {
        let said = mailbox.take(9).await;
        if let Some(FromAgent::TurnRefused { error }) = said.last() {
            break error.clone();
        }
    };
    let waited = began.elapsed();
    orders.send(Order::Detach { tag: Tag(1), forever: true }).await.unwrap();
    running.join_next().await.unwrap().unwrap();
    (error, waited)
}

#[tokio::test]
async fn a_process_that_names_no_thread_is_given_up() {
    let (error, waited) = refused().await;
    assert_eq!(error.detail["code"], "TIMEOUT", "{error:?}");
    assert!(error.message.ends_with("named no thread within 120 s"), "{error:?}");
    assert!(waited >= START_LIMIT, "{waited:?}");
}
