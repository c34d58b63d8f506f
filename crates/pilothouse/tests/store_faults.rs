//! A store that fails on cue: refused, slow, gone and back. Nothing acknowledged is lost.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;
use pilothouse::{
    Broker, Config, Error, Start,
    core::{
        Actor, AskRef, AskView, Cursor, Event, Intent, Prompt, Seq, Session, SessionId,
        SessionView, Spec, Status, WhenBusy,
    },
    store::{
        Append, AskFilter, Claim, Conclusion, Epoch, FeedPage, Later, Link, Listing, LiveDelta,
        Memory, MemoryWorld, NodeId, NodeView, Nudge, Page, Posted, Presence, SessionFilter, Store,
        StoreError,
    },
};
use pilothouse_testkit::{
    FakeAgent,
    agent::{Action, Rule},
};
use tokio::sync::broadcast;
use uuid::Uuid;

const LONG: Duration = Duration::from_secs(20);

macro_rules! pass_on {
    ($($name:ident($($arg:ident: $type:ty),*) -> $res:ty;)*) => {$(
        fn $name(&self, $($arg: $type),*) -> Later<'_, $res> {
            self.inner.$name($($arg),*)
        }
    )*};
}

/// A memory store whose next appends fail as a full disk would make them.
#[derive(Debug)]
struct Faulty {
    inner: Arc<Memory>,
    appends_to_fail: AtomicU32,
}

#[tokio::test]
async fn a_session_that_cannot_be_recorded_is_refused_and_the_next_one_is_taken() {
    let (broker, store, _agent) = broker(&[]).await;
    store.appends_to_fail.store(1, Ordering::SeqCst);
    let refused = broker.start(start()).await;
    assert!(matches!(refused, Err(Error::Store(StoreError::Full { .. }))), "{refused:?}");
    let id = broker.start(start()).await.unwrap();
    assert_eq!(at_rest(&broker, id).await.status, Status::Idle);
    let listed = broker.sessions(SessionFilter::default(), 10, None).await.unwrap().rows;
    assert_eq!(listed.iter().map(|it| it.session_id).collect::<Vec<_>>(), [id]);
    broker.stop().await;
}

#[tokio::test]
async fn a_prompt_that_cannot_be_recorded_never_reaches_the_agent_and_may_be_sent_again() {
    let (broker, store, agent) = broker(&[]).await;
    let id = broker.start(start()).await.unwrap();
    let before = at_rest(&broker, id).await;
    store.appends_to_fail.store(1, Ordering::SeqCst);
    let refused = broker.act(id, prompt("again"), &caller()).await;
    assert!(matches!(refused, Err(Error::Store(StoreError::Full { .. }))), "{refused:?}");
    assert_eq!(broker.session(id).await.unwrap(), before);
    assert_eq!(n_turns_told(&agent), 1);
    broker.act(id, prompt("again"), &caller()).await.unwrap();
    assert_eq!(at_rest(&broker, id).await.turns, 2);
    assert_eq!(n_turns_told(&agent), 2);
    broker.stop().await;
}

#[tokio::test]
async fn what_the_agent_says_while_the_store_is_gone_is_on_record_when_it_is_back() {
    let gate = tempfile::tempdir().unwrap();
    let open = gate.path().join("open");
    let actions = vec![
        Action::BeginTurn,
        Action::WaitFile(open.clone()),
        Action::Message("kept".to_owned()),
        Action::EndTurn("completed".to_owned()),
    ];
    let (broker, store, _agent) = broker(&[Rule::on("turn/start", actions)]).await;
    let id = broker.start(start()).await.unwrap();
    let started = |it: &SessionView| it.last_turn.as_ref().is_some_and(|it| it.turn_id.is_some());
    broker.wait_until(id, LONG, started).await.unwrap();
    store.appends_to_fail.store(3, Ordering::SeqCst);
    std::fs::write(&open, "").unwrap();
    let view = at_rest(&broker, id).await;
    assert_eq!(view.last_turn.unwrap().output.as_deref(), Some("kept"));
    assert_eq!(store.appends_to_fail.load(Ordering::SeqCst), 0, "it did fail meanwhile");
    let log = broker.events(id, Seq(0), 1_000).await.unwrap().events;
    for (n, envelope) in log.iter().enumerate() {
        assert_eq!(envelope.seq.0, n as u64 + 1);
    }
    let n_ends = log.iter().filter(|it| matches!(it.event, Event::TurnEnded { .. })).count();
    assert_eq!(n_ends, 1);
    broker.stop().await;
}

#[tokio::test]
async fn an_owner_that_lost_its_session_stops_its_agent_and_records_nothing_more() {
    let actions = vec![Action::BeginTurn, Action::Expect("turn/interrupt".to_owned())];
    let agent = FakeAgent::new(&[Rule::on("turn/start", actions)]).unwrap();
    let world = MemoryWorld::new();
    let inner = Memory::open(&world, NodeId("old".to_owned()));
    let old = Broker::open(config(inner, &agent)).await.unwrap();
    let id = old.start(start()).await.unwrap();
    let started = |it: &SessionView| it.last_turn.as_ref().is_some_and(|it| it.turn_id.is_some());
    old.wait_until(id, LONG, started).await.unwrap();
    // As if its machine had slept, and others had thought it dead.
    world.kill(&NodeId("old".to_owned()));
    let next = Memory::open(&world, NodeId("next".to_owned()));
    let next = Broker::open(config(next, &agent)).await.unwrap();
    next.act(id, Intent::Rename { title: "mine".to_owned() }, &caller()).await.unwrap();
    let refused = old.act(id, Intent::Rename { title: "no, mine".to_owned() }, &caller()).await;
    assert!(matches!(refused, Err(Error::Store(_))), "{refused:?}");
    let view = next.session(id).await.unwrap();
    assert_eq!(view.title.as_deref(), Some("mine"));
    next.stop().await;
    old.stop().await;
}

impl Store for Faulty {
    fn append(&self, append: Append) -> Later<'_, Vec<Cursor>> {
        let failing = self
            .appends_to_fail
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |it| it.checked_sub(1));
        if failing.is_ok() {
            let error = StoreError::Full { path: PathBuf::from("store.db") };
            return Box::pin(async { Err(error) });
        }
        self.inner.append(append)
    }

    fn node(&self) -> &NodeId {
        self.inner.node()
    }

    fn subscribe(&self) -> broadcast::Receiver<Nudge> {
        self.inner.subscribe()
    }

    fn publish(&self, delta: LiveDelta) {
        self.inner.publish(delta);
    }

    pass_on! {
        claim(session: SessionId) -> Claim;
        release(session: SessionId, epoch: Epoch) -> ();
        owner(session: SessionId) -> Option<(NodeId, bool)>;
        chain(session: SessionId) -> Option<Link>;
        read(session: SessionId, after: Seq, limit: usize) -> Page;
        snapshot(session: SessionId) -> Option<Session>;
        feed(after: Cursor, limit: usize) -> FeedPage;
        head() -> Cursor;
        sessions(filter: SessionFilter, limit: usize, cursor: Option<String>)
            -> Listing<SessionView>;
        session(session: SessionId) -> Option<SessionView>;
        asks(filter: AskFilter, limit: usize, cursor: Option<String>) -> Listing<AskView>;
        ask(ask: AskRef) -> Option<AskView>;
        post(posted: Posted) -> ();
        inbox() -> Vec<Posted>;
        conclude(id: Uuid, conclusion: Conclusion) -> ();
        conclusion(id: Uuid) -> Option<Conclusion>;
        set_presence(presence: Presence) -> ();
        nodes() -> Vec<NodeView>;
        is_alive(node: NodeId) -> bool;
        set_interest(interested: bool) -> ();
        put_blob(bytes: Vec<u8>) -> String;
        blob(digest: String) -> Option<Vec<u8>>;
        key(name: String, fresh: [u8; 32]) -> [u8; 32];
        delete_session(session: SessionId) -> ();
        retire(before: Option<Timestamp>) -> u64;
        backup(to: PathBuf) -> ();
        check() -> Vec<String>;
        close() -> ();
    }
}

fn config(store: Arc<dyn Store>, agent: &FakeAgent) -> Config {
    // Tests run side by side, and brokers sweep what dead nodes of their store left.
    let store_name = format!("{}-{}", std::process::id(), agent.dir().display());
    let mut config = Config::new(store, &store_name.replace('/', "_"), "test");
    config.agent.binary = Some(agent.executable());
    config
}

async fn broker(rules: &[Rule]) -> (Broker, Arc<Faulty>, FakeAgent) {
    let agent = FakeAgent::new(rules).unwrap();
    let inner = Memory::open(&MemoryWorld::new(), NodeId("a".to_owned()));
    let store = Arc::new(Faulty { inner, appends_to_fail: AtomicU32::new(0) });
    let shared: Arc<dyn Store> = Arc::<Faulty>::clone(&store);
    let broker = Broker::open(config(shared, &agent)).await.unwrap();
    (broker, store, agent)
}

fn start() -> Start {
    let cwd = std::env::temp_dir().display().to_string();
    let spec = Spec { cwd, ..Spec::default() };
    Start { spec, prompt: Some(Prompt::text("go")), by: caller() }
}

fn prompt(text: &str) -> Intent {
    Intent::Prompt { prompt: Prompt::text(text), when_busy: WhenBusy::Refuse }
}

fn caller() -> Actor {
    Actor::Caller { id: "test".to_owned() }
}

async fn at_rest(broker: &Broker, id: SessionId) -> SessionView {
    let rests = |it: &SessionView| !matches!(it.status, Status::Running | Status::WaitingApproval);
    let view = broker.wait_until(id, LONG, rests).await.unwrap();
    assert!(rests(&view), "{view:?}");
    view
}

fn n_turns_told(agent: &FakeAgent) -> usize {
    agent.heard().unwrap().iter().filter(|it| it["method"] == "turn/start").count()
}
