//! A server in this process, with a store, clients, and a person who sits somewhere else.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use pilothouse::{
    Broker, Config, Error, Said,
    core::{Actor, Answer, AskRef, AskView, Decision, Event, Seq, Subject},
    store::{AskFilter, Memory, MemoryWorld, NodeId, Presence},
};
use pilothouse_server::mcp::{Options, Server, ToolSet};
use serde_json::{Value, json};

use crate::client::Client;

/// Bytes on their way to a client.
const PIPE: usize = 256 * 1024;

/// A node with its server.
pub(crate) struct Room {
    pub(crate) broker: Broker,
    pub(crate) server: Server,
    world: Arc<MemoryWorld>,
}

/// Nothing counts as too soon, and nothing as silence.
pub(crate) fn trusting() -> Options {
    let tools = vec![ToolSet::Codex, ToolSet::Choice, ToolSet::Form];
    Options { tools, reading: Duration::ZERO, silence: Duration::from_hours(1), ..options() }
}

/// Every no comes too soon to be a person's.
pub(crate) fn wary() -> Options {
    Options { reading: Duration::from_hours(1), ..trusting() }
}

fn options() -> Options {
    Options { cwd: "/".into(), ..Options::default() }
}

impl Room {
    pub(crate) async fn open(options: Options) -> Self {
        Self::join(MemoryWorld::new(), "a", options).await
    }

    /// One more node on the same store.
    pub(crate) async fn next(&self, node: &str, options: Options) -> Self {
        Self::join(Arc::clone(&self.world), node, options).await
    }

    async fn join(world: Arc<MemoryWorld>, node: &str, options: Options) -> Self {
        let store = Memory::open(&world, NodeId(node.to_owned()));
        let name = format!("asks-{}-{:p}", std::process::id(), Arc::as_ptr(&world));
        let broker = Broker::open(Config::new(store, &name, "mcp")).await.unwrap();
        let own = broker.clone();
        let server = Server::new(options, move || {
            let broker = own.clone();
            async move { Ok(broker) }
        });
        Self { broker, server, world }
    }

    /// A connection to the server.
    pub(crate) fn client(&self) -> Client {
        let (near, far) = tokio::io::duplex(PIPE);
        let server = self.server.clone();
        tokio::spawn(async move {
            let (read, write) = tokio::io::split(far);
            let running = Box::pin(rmcp::serve_server(server, (read, write))).await;
            if let Ok(running) = running {
                running.waiting().await.unwrap();
            }
        });
        let (read, write) = tokio::io::split(near);
        Client::over(read, write)
    }

    /// A client with a handshake that declares forms.
    pub(crate) async fn with_forms(&self, version: &str) -> Client {
        let mut client = self.client();
        client.connect(version, "editor", json!({"elicitation": {}})).await;
        client
    }

    /// A client without one.
    pub(crate) fn stateless(&self, able: Value) -> Client {
        let mut client = self.client();
        client.stateless("editor", able);
        client
    }

    /// A person looks at a console of another node.
    pub(crate) async fn someone_looks(&self) -> Broker {
        let store = Memory::open(&self.world, NodeId("console".to_owned()));
        let name = format!("asks-{}-{:p}", std::process::id(), Arc::as_ptr(&self.world));
        let broker = Broker::open(Config::new(store, &name, "serve")).await.unwrap();
        let console = Some("http://127.0.0.1:7457".to_owned());
        let presence = Presence { program: "serve".to_owned(), human_surfaces: 1, console };
        broker.set_presence(presence).await.unwrap();
        broker
    }

    /// The only question that waits, once there is one.
    pub(crate) async fn pending(&self) -> AskView {
        self.until(|asks| asks.first().cloned()).await
    }

    /// The only choice among what waits.
    pub(crate) async fn pending_choice(&self) -> AskView {
        let is_choice = |it: &&AskView| matches!(it.subject, Subject::Question { .. });
        self.until(|asks| asks.iter().find(is_choice).cloned()).await
    }

    async fn until<T>(&self, found: impl Fn(&[AskView]) -> Option<T>) -> T {
        let look = async {
            loop {
                let filter = AskFilter { session: None, opened_by: None, pending: true };
                let asks = self.broker.asks(filter, 10, None).await.unwrap().rows;
                if let Some(res) = found(&asks) {
                    return res;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(crate::client::LONG, look).await.unwrap()
    }

    /// How a question was settled, in a word, once it was.
    pub(crate) async fn settled(&self, ask: AskRef) -> AskView {
        let view = self.broker.wait_settled(ask, crate::client::LONG).await.unwrap();
        assert!(view.settlement.is_some(), "{view:?}");
        view
    }

    /// Why clients did not show a question, once one did not.
    pub(crate) async fn not_shown(&self, ask: AskRef) -> Vec<String> {
        let look = async {
            loop {
                let page = self.broker.events(ask.session, Seq(0), 100).await.unwrap();
                let each = page.events.into_iter().filter_map(|it| {
                    let Event::AskNotShown { ask: id, via, why } = it.event else { return None };
                    assert_eq!(via, "editor");
                    (id == ask.ask).then_some(why)
                });
                let found: Vec<_> = each.collect();
                if !found.is_empty() {
                    return found;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(crate::client::LONG, look).await.unwrap()
    }

    /// A person at the console answers.
    pub(crate) async fn person_says(&self, ask: &AskView, answer: Answer) -> AskView {
        person_says(&self.broker, ask, answer).await.unwrap()
    }

    pub(crate) async fn close(self) {
        self.server.close().await;
        self.broker.stop().await;
    }
}

pub(crate) async fn person_says(
    broker: &Broker,
    ask: &AskView,
    answer: Answer,
) -> Result<AskView, Error> {
    let by = Actor::Human { via: "console".to_owned(), verified: true };
    let said = Said { answer, digest: Some(ask.digest.clone()), reason: None, note: None };
    broker.answer(ask.request_id, said, &by).await
}

/// One question, red or blue.
pub(crate) fn colour() -> Value {
    json!({
        "message": "Paint the shed?",
        "questions": [{
            "id": "colour", "header": "Colour", "question": "Which colour?",
            "options": [
                {"id": "red", "label": "Red", "description": "As it was."},
                {"id": "blue", "label": "Blue", "description": "As the door is."},
            ],
        }],
    })
}

/// An option of it.
pub(crate) fn chosen(id: &str) -> Answer {
    Answer::chosen(BTreeMap::from([("colour".to_owned(), vec![id.to_owned()])]))
}

/// What choosing it comes to.
pub(crate) fn picked(id: &str, label: &str) -> Value {
    json!({
        "action": "accept",
        "answers": [{
            "questionId": "colour", "selectedId": id, "selectedLabel": label, "otherText": null,
        }],
    })
}

pub(crate) fn accept(content: Value) -> Value {
    let mut res = say("accept");
    res["content"] = content;
    res
}

pub(crate) fn say(action: &str) -> Value {
    json!({"action": action})
}

pub(crate) fn decline() -> Answer {
    Answer::plain(Decision::Decline)
}
