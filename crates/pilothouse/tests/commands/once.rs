//! However often a command is collected, and wherever, it runs once.

use std::{path::PathBuf, sync::Arc};

use pilothouse::{
    Broker, Error,
    core::{CommandEnd, Decision, Refusal},
    store::MemoryWorld,
};

use crate::desk::{allowed, broker, caller, command, decide, desk, request, run, spec};

#[tokio::test]
async fn a_hundred_retries_at_once_on_two_nodes_get_the_one_run() {
    let world = MemoryWorld::new();
    let (here, there) = (broker(&world, "a").await, broker(&world, "b").await);
    let folder = tempfile::tempdir().unwrap();
    let line = format!("echo ran >> {0}; wc -l < {0}", folder.path().join("runs").display());
    let ask = allowed(&here, command(&line)).await;
    let who = caller();
    let calls = (0..100).map(|n| {
        let broker = if n % 2 == 0 { &here } else { &there };
        broker.run_command(ask, spec(), &who)
    });
    for result in futures_util::future::join_all(calls).await {
        let result = result.unwrap();
        assert_eq!((result.end, &*result.stdout), (CommandEnd::Exited { code: 0 }, "1\n"));
    }
    let again = there.run_command(ask, spec(), &who).await.unwrap();
    assert_eq!(again.stdout, "1\n", "what was recorded");
    here.stop().await;
    there.stop().await;
}

#[tokio::test]
async fn what_nobody_allowed_does_not_run() {
    let broker = broker(&MemoryWorld::new(), "a").await;
    let folder = tempfile::tempdir().unwrap();
    let file: PathBuf = folder.path().join("ran");
    let touch = command(&format!("touch {}", file.display()));
    let desk = desk(&broker).await;
    let ask = broker.raise(desk, request("a", touch), &caller()).await.unwrap();
    let refused = |result| matches!(result, Err(Error::Refused(Refusal::NotAccepted)));
    assert!(refused(broker.run_command(ask, spec(), &caller()).await), "while it waits");
    decide(&broker, ask, Decision::Decline).await;
    assert!(refused(broker.run_command(ask, spec(), &caller()).await), "after a no");
    assert!(!file.exists());
    broker.stop().await;
}

#[tokio::test]
async fn a_node_that_does_not_own_the_session_runs_it_too() {
    let world = MemoryWorld::new();
    let (here, there) = (broker(&world, "a").await, broker(&world, "b").await);
    let ask = allowed(&here, command("echo elsewhere")).await;
    let result = there.run_command(ask, spec(), &caller()).await.unwrap();
    assert_eq!(result.stdout, "elsewhere\n");
    assert_eq!(here.run_command(ask, spec(), &caller()).await.unwrap(), result);
    here.stop().await;
    there.stop().await;
}

#[tokio::test]
async fn a_runner_that_is_gone_while_the_owner_lives_leaves_a_command_that_is_lost() {
    let world: Arc<MemoryWorld> = MemoryWorld::new();
    let owner = broker(&world, "owner").await;
    let ask = allowed(&owner, command("echo never")).await;
    start_as(&owner, ask, "client on dead").await;
    // On record as running, by a node that is not there.
    let result = owner.run_command(ask, spec(), &caller()).await.unwrap();
    assert_eq!((result.end, &*result.stdout), (CommandEnd::Lost, ""));
    // So it is for one of this node that no longer runs.
    let ask = allowed(&owner, command("echo never")).await;
    start_as(&owner, ask, "client on owner").await;
    let result = owner.run_command(ask, spec(), &caller()).await.unwrap();
    assert_eq!((result.end, &*result.stdout), (CommandEnd::Lost, ""));
    assert_eq!(run(&owner, "echo next", spec()).await.stdout, "next\n");
    owner.stop().await;
}

async fn start_as(broker: &Broker, ask: pilothouse::core::AskRef, runner: &str) {
    use pilothouse::core::{Actor, Intent};
    let by = Actor::Caller { id: runner.to_owned() };
    broker.act(ask.session, Intent::StartCommand { ask: ask.ask }, &by).await.unwrap();
}
