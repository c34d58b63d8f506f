//! A session that holds what its caller asks, on a broker of its own.

use std::{
    collections::BTreeMap,
    env,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use pilothouse::{
    Broker, CommandSpec, Config, Said, Start,
    agent::process::GuardCommand,
    core::{
        Actor, Answer, AskRef, CallerRequest, CommandResult, Decision, Patience, SessionId, Spec,
        Subject,
    },
    store::{Memory, MemoryWorld, NodeId, Store},
};

/// Long, as a machine may be busy: for what is expected to happen.
pub(crate) const LONG: Duration = Duration::from_secs(30);

pub(crate) async fn broker(world: &Arc<MemoryWorld>, node: &str) -> Broker {
    broker_on(Memory::open(world, NodeId(node.to_owned()))).await
}

/// A broker under whose guard its commands run.
pub(crate) async fn broker_on(store: Arc<dyn Store>) -> Broker {
    let mut config = Config::new(store, &format!("commands-{}", std::process::id()), "test");
    config.agent.guard = Some(guard());
    Broker::open(config).await.unwrap()
}

/// Cargo builds a package's examples with its tests, next to them.
fn guard() -> GuardCommand {
    let test = env::current_exe().unwrap();
    let program: PathBuf = test.parent().unwrap().with_file_name("examples").join("guard");
    assert!(program.exists(), "`cargo build -p pilothouse --examples` was not run");
    GuardCommand { program, args: vec![] }
}

pub(crate) async fn desk(broker: &Broker) -> SessionId {
    let spec = Spec { agentless: true, cwd: "/tmp".to_owned(), ..Spec::default() };
    broker.start(Start { spec, prompt: None, by: caller() }).await.unwrap()
}

pub(crate) fn request(key: &str, subject: Subject) -> CallerRequest {
    let patience = Patience::Forever;
    CallerRequest { key: key.to_owned(), subject, reason: None, patience }
}

pub(crate) fn command(line: &str) -> Subject {
    Subject::Command {
        command: line.to_owned(),
        argv: vec![],
        cwd: "/tmp".to_owned(),
        write_stdin: false,
        host: None,
    }
}

pub(crate) fn caller() -> Actor {
    Actor::Caller { id: "client".to_owned() }
}

pub(crate) fn person() -> Actor {
    Actor::Human { via: "console".to_owned(), verified: true }
}

pub(crate) async fn decide(broker: &Broker, ask: AskRef, decision: Decision) {
    let answer = Answer::plain(decision);
    let said = Said { answer, digest: None, reason: None, note: None };
    broker.answer(ask, said, &person()).await.unwrap();
}

/// How commands are run here: with a path to find programs by, and nothing else.
pub(crate) fn spec() -> CommandSpec {
    let path = env::var_os("PATH").unwrap();
    CommandSpec::new(BTreeMap::from([("PATH".into(), path)]))
}

/// A desk whose caller asked for a command that a person allowed.
pub(crate) async fn allowed(broker: &Broker, subject: Subject) -> AskRef {
    let desk = desk(broker).await;
    let ask = broker.raise(desk, request("a", subject), &caller()).await.unwrap();
    decide(broker, ask, Decision::Accept).await;
    ask
}

/// Runs a line that a person allowed.
pub(crate) async fn run(broker: &Broker, line: &str, spec: CommandSpec) -> CommandResult {
    let ask = allowed(broker, command(line)).await;
    broker.run_command(ask, spec, &caller()).await.unwrap()
}

/// A duration for `sleep` that no other process on this machine has.
pub(crate) fn token() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("8{}.{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Command lines of the processes that have the token in theirs.
pub(crate) fn alive(token: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = processes.filter_map(|it| {
        let line = std::fs::read(it.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    });
    lines.filter(|it| it.contains(token)).collect()
}

/// Waits until something is so.
pub(crate) async fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < until, "{what}: it never was so");
        tokio::task::yield_now().await;
    }
}
