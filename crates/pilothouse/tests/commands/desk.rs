//! A session that holds what its caller asks, on a broker of its own.

use std::time::Duration;

use pilothouse::{
    Broker, Config, Said, Start,
    core::{Actor, Answer, AskRef, CallerRequest, Decision, Patience, SessionId, Spec, Subject},
    store::{Memory, MemoryWorld, NodeId},
};

/// Long, as a machine may be busy: for what is expected to happen.
pub(crate) const LONG: Duration = Duration::from_secs(30);

pub(crate) async fn broker(world: &std::sync::Arc<MemoryWorld>, node: &str) -> Broker {
    let store = Memory::open(world, NodeId(node.to_owned()));
    Broker::open(Config::new(store, "commands", "test")).await.unwrap()
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
