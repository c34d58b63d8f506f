//! The conversation with a process that stays, whichever of the two dialects it is in.

use jiff::Timestamp;
use pilothouse_codex::{Client, Missed, Output, Peer, Tag, proto};
use pilothouse_core::{Attach, Fault, Spec, ToAgent};
use serde_json::Value;

/// Our end of it.
#[derive(Debug)]
pub(crate) enum Conversation {
    AppServer(Box<Peer>),
    Proto(Box<proto::Peer>),
}

macro_rules! with {
    ($peer:ident in $conversation:expr => $call:expr) => {
        match $conversation {
            Conversation::AppServer($peer) => $call,
            Conversation::Proto($peer) => $call,
        }
    };
}

impl Conversation {
    /// With `codex app-server`.
    pub(crate) fn app_server(process: &str) -> Self {
        let client = Client {
            name: "pilothouse".to_owned(),
            title: "Pilothouse".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        Self::AppServer(Box::new(Peer::new(client, process.to_owned())))
    }

    /// With `codex proto`.
    pub(crate) fn proto(process: &str, version: Option<String>) -> Self {
        Self::Proto(Box::new(proto::Peer::new(process.to_owned(), version)))
    }

    pub(crate) fn hello(&mut self, now: Timestamp) -> Vec<Output> {
        with!(it in self => it.hello(now))
    }

    pub(crate) fn attach(
        &mut self,
        now: Timestamp,
        tag: Tag,
        how: &Attach,
        spec: &Spec,
    ) -> Vec<Output> {
        with!(it in self => it.attach(now, tag, how, spec))
    }

    /// Only a process that is kept can be come back to, and that is an app-server.
    pub(crate) fn rejoin(
        &mut self,
        now: Timestamp,
        tag: Tag,
        missed: Missed,
        spec: &Spec,
    ) -> Vec<Output> {
        match self {
            Self::AppServer(peer) => peer.rejoin(now, tag, missed, spec),
            Self::Proto(peer) => {
                let how = Attach::Resume { thread: missed.thread };
                peer.attach(now, tag, &how, spec)
            }
        }
    }

    pub(crate) fn receive(&mut self, now: Timestamp, line: &str) -> Vec<Output> {
        with!(it in self => it.receive(now, line))
    }

    pub(crate) fn tell(&mut self, now: Timestamp, tag: Tag, message: ToAgent) -> Vec<Output> {
        with!(it in self => it.tell(now, tag, message))
    }

    pub(crate) fn detach(&mut self, now: Timestamp, tag: Tag, forever: bool) -> Vec<Output> {
        with!(it in self => it.detach(now, tag, forever))
    }

    pub(crate) fn request(
        &mut self,
        now: Timestamp,
        tag: Option<Tag>,
        id: u64,
        method: &str,
        params: Value,
    ) -> Vec<Output> {
        with!(it in self => it.request(now, tag, id, method, params))
    }

    pub(crate) fn exited(&mut self, cause: &str, fault: Option<Fault>) -> Vec<Output> {
        with!(it in self => it.exited(cause, fault))
    }

    pub(crate) fn next_deadline(&self) -> Option<Timestamp> {
        with!(it in self => it.next_deadline())
    }

    pub(crate) fn on_tick(&mut self, now: Timestamp) -> Vec<Output> {
        with!(it in self => it.on_tick(now))
    }
}
