//! A router with a broker and a scripted Codex behind it, and requests to it.

use std::{path::Path, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Request, StatusCode, header},
};
use futures_util::StreamExt as _;
use jiff::Timestamp;
use pilothouse::{
    Broker, Config,
    agent::process::GuardCommand,
    store::{Memory, MemoryWorld, NodeId, Sqlite, Store},
};
use pilothouse_server::http::{Drawer, Front, FrontConfig, router};
use pilothouse_testkit::{
    FakeAgent,
    agent::{Action, Ask, Rule},
};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

pub(crate) const HOST: &str = "127.0.0.1:7457";
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// Shared by all nodes of a store, and removed with the last of them.
pub(crate) type Home = Arc<tempfile::TempDir>;

pub(crate) struct Desk {
    pub(crate) front: Arc<Front>,
    pub(crate) broker: Broker,
    pub(crate) token: String,
    pub(crate) human: String,
    pub(crate) router: Router,
    home: Home,
}

pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
    pub(crate) text: String,
}

impl Desk {
    pub(crate) async fn open(agent: &FakeAgent) -> Self {
        Self::join(agent, Arc::new(tempfile::tempdir().unwrap())).await
    }

    /// On a store that never makes anybody wait, so that time may be paused.
    pub(crate) async fn in_memory(agent: &FakeAgent) -> Self {
        let store = Memory::open(&MemoryWorld::new(), NodeId("a".into()));
        Self::on(agent, Arc::new(tempfile::tempdir().unwrap()), store).await
    }

    /// One more node on the store of a home.
    pub(crate) async fn join(agent: &FakeAgent, home: Home) -> Self {
        let store = Sqlite::open(&home.path().join("pilothouse.db")).unwrap();
        Self::on(agent, home, store).await
    }

    async fn on(agent: &FakeAgent, home: Home, store: Arc<dyn Store>) -> Self {
        // Brokers of one name end the agents of all that are not of their store.
        let name = home.path().file_name().unwrap().to_str().unwrap();
        let mut config = Config::new(store, name, "serve");
        config.agent.binary = Some(agent.executable());
        config.agent.guard = Some(GuardCommand {
            program: Path::new(env!("CARGO_BIN_EXE_pilothouse")).into(),
            args: vec!["guard".into()],
        });
        let broker = Broker::open(config).await.unwrap();
        let front = Front::open(FrontConfig {
            broker: broker.clone(),
            home: home.path().into(),
            address: HOST.parse().unwrap(),
            answerers: pilothouse::core::Answerers::Caller,
            default_effort: None,
        })
        .await
        .unwrap();
        let token = front.keys().api_token().unwrap().expose_secret().to_owned();
        let human = front.keys().mint(Drawer::Humans, Timestamp::now()).unwrap();
        let human = human.expose_secret().to_owned();
        Self { router: router(Arc::clone(&front)), front, broker, token, human, home }
    }

    /// The home, for another node.
    pub(crate) fn home(&self) -> Home {
        Arc::clone(&self.home)
    }

    pub(crate) async fn close(self) {
        self.front.close().await;
        self.broker.stop().await;
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Reply {
        let (head, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        Reply { status: head.status, headers: head.headers, body, text }
    }

    /// As a program.
    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(request("GET", path, &self.token, None)).await
    }

    /// As a program.
    pub(crate) async fn post(&self, path: &str, body: Value) -> Reply {
        self.send(request("POST", path, &self.token, Some(body))).await
    }

    /// As a person.
    pub(crate) async fn get_as_human(&self, path: &str) -> Reply {
        self.send(request("GET", path, &self.human, None)).await
    }

    /// As a person.
    pub(crate) async fn post_as_human(&self, path: &str, body: Value) -> Reply {
        self.send(request("POST", path, &self.human, Some(body))).await
    }

    /// Holds a reply to what the description of the interface says: every field is named there,
    /// and of the right type.
    pub(crate) async fn is_described(&self, name: &str, value: &Value) {
        let document = self.get("/api/v1/openapi.json").await.body;
        let schemas = &document["components"]["schemas"];
        for field in value.as_object().unwrap().keys() {
            let known = schemas[name]["properties"].get(field);
            assert!(known.is_some(), "{name} has {field}, which is not described");
        }
        let schema = json!({
            "$ref": format!("#/components/schemas/{name}"),
            "components": document["components"],
        });
        let errors: Vec<_> = jsonschema::validator_for(&schema)
            .unwrap()
            .iter_errors(value)
            .map(|it| format!("{}: {it}", it.instance_path()))
            .collect();
        assert_eq!(errors, Vec::<String>::new(), "{value}");
    }

    /// Starts a session; gives its name.
    pub(crate) async fn start(&self) -> String {
        let reply = self.post("/api/v1/sessions", new_session()).await;
        assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.text);
        reply.body["sessionId"].as_str().unwrap().to_owned()
    }

    /// Waits until a session is as wanted.
    pub(crate) async fn session_until(&self, id: &str, status: &str) -> Value {
        let parsed = id.parse().unwrap();
        let wanted = |it: &pilothouse::core::SessionView| {
            serde_json::to_value(it.status).unwrap() == json!(status)
        };
        let view = self.broker.wait_until(parsed, LONG, wanted).await.unwrap();
        assert!(wanted(&view), "not {status}: {view:?}");
        self.get_as_human(&format!("/api/v1/sessions/{id}")).await.body
    }

    /// Waits until a session asks; gives the ask.
    pub(crate) async fn asked(&self, id: &str) -> Value {
        self.session_until(id, "waiting_approval").await;
        let path = format!("/api/v1/asks?state=pending&scope=all&sessionId={id}");
        self.get(&path).await.body["asks"][0].clone()
    }

    pub(crate) async fn follow(&self, secret: &str, query: &str, last: Option<&str>) -> Stream {
        let mut request = request("GET", &format!("/api/v1/feed{query}"), secret, None);
        if let Some(last) = last {
            request.headers_mut().insert("last-event-id", last.parse().unwrap());
        }
        let res = self.router.clone().oneshot(request).await.unwrap();
        assert_eq!(res.status(), StatusCode::OK);
        assert_eq!(res.headers()[header::CONTENT_TYPE], "text/event-stream");
        Stream { body: res.into_body().into_data_stream(), read: String::new() }
    }
}

pub(crate) fn request(
    method: &str,
    path: &str,
    secret: &str,
    body: Option<Value>,
) -> Request<Body> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::HOST, HOST)
        .header(header::AUTHORIZATION, format!("Bearer {secret}"));
    match body {
        Some(body) => request
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_string()))
            .unwrap(),
        None => request.body(Body::empty()).unwrap(),
    }
}

pub(crate) fn new_session() -> Value {
    json!({ "prompt": "go", "approvalPolicy": "untrusted", "sandbox": "workspace-write" })
}

/// A Codex whose turns ask whether they may run a command.
pub(crate) fn asking() -> FakeAgent {
    let ask = Ask { command: "touch a".into(), ..Ask::default() };
    let actions = vec![Action::BeginTurn, Action::Ask(ask), Action::EndTurn("completed".into())];
    FakeAgent::new(&[Rule::on("turn/start", actions)]).unwrap()
}

/// What a reader of the feed hears.
pub(crate) struct Stream {
    body: axum::body::BodyDataStream,
    read: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Heard {
    pub(crate) name: String,
    pub(crate) id: Option<String>,
    pub(crate) data: Value,
}

impl Stream {
    /// The next event; nothing when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Heard> {
        loop {
            while let Some(end) = self.read.find("\n\n") {
                let heard = parse(&self.read[..end]);
                self.read.drain(..end + 2);
                if heard.is_some() {
                    return heard;
                }
            }
            let chunk = tokio::time::timeout(LONG, self.body.next()).await.unwrap()?.unwrap();
            self.read.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// All until one is wanted, with that one.
    pub(crate) async fn until(&mut self, mut wanted: impl FnMut(&Heard) -> bool) -> Vec<Heard> {
        let mut res = vec![];
        let all = async {
            while let Some(heard) = self.next().await {
                let last = wanted(&heard);
                res.push(heard);
                if last {
                    return true;
                }
            }
            false
        };
        // The stream itself never falls silent.
        let found = tokio::time::timeout(LONG, all).await;
        assert_eq!(found, Ok(true), "not among {res:?}");
        res
    }
}

fn parse(block: &str) -> Option<Heard> {
    let (mut name, mut id, mut data) = (None, None, None);
    for line in block.lines() {
        match line.split_once(": ") {
            Some(("event", value)) => name = Some(value.to_owned()),
            Some(("id", value)) => id = Some(value.to_owned()),
            Some(("data", value)) => data = Some(serde_json::from_str(value).unwrap()),
            _ => assert!(line.starts_with(':') || line.starts_with("retry: "), "{line}"),
        }
    }
    Some(Heard { name: name?, id, data: data? })
}
