//! Brokers with a scripted Codex: what is recorded, who is told, and who wins.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{sync::Arc, time::Duration};

use pilothouse::{
    Broker, Config, Error, FeedItem, Said, Start,
    core::{
        Actor, Answer, ApprovalPolicy, AskRef, Cursor, Decision, Event, Intent, Patience, Prompt,
        Refusal, Sandbox, Seq, SessionId, SessionView, Spec, Status, TurnStatus, WhenBusy,
    },
    store::{AskFilter, Memory, MemoryWorld, NodeId, SessionFilter},
};
use pilothouse_testkit::{
    FakeAgent,
    agent::{Action, Ask, Rule},
};
use serde_json::{Value, json};

const LONG: Duration = Duration::from_secs(50);

#[tokio::test]
async fn an_approval_is_recorded_answered_and_the_turn_ends() {
    let agent = asking("touch a");
    let broker = broker(&agent, &MemoryWorld::new(), "a").await;
    let id = broker.start(start("go")).await.unwrap();
    let ask = pending(&broker, id).await;
    let view = broker.ask(ask).await.unwrap();
    let answered = broker.answer(ask, accept(Some(view.digest)), &human()).await.unwrap();
    assert!(answered.settlement.is_some());
    let view = at_rest(&broker, id).await;
    assert_eq!(view.status, Status::Idle);
    assert_eq!(view.last_turn.unwrap().status, TurnStatus::Completed);
    assert_eq!(decisions(&agent), ["accept"]);
    assert_eq!(
        log(&broker, id).await,
        [
            "opened",
            "turnRequested",
            "attached",
            "turnStarted",
            "itemStarted userMessage",
            "itemCompleted userMessage",
            "itemStarted commandExecution",
            "askRaised",
            "askSettled answered",
            "itemCompleted commandExecution",
            "turnEnded completed",
        ]
    );
    broker.stop().await;
}

#[tokio::test]
async fn of_a_hundred_answers_at_once_one_reaches_the_agent_and_the_rest_hear_who_was_first() {
    let agent = asking("touch a");
    let world = MemoryWorld::new();
    let (here, there) = (broker(&agent, &world, "a").await, broker(&agent, &world, "b").await);
    let id = here.start(start("go")).await.unwrap();
    let ask = pending(&here, id).await;
    let answers = (0..100).map(|n| {
        let broker = if n % 2 == 0 { here.clone() } else { there.clone() };
        let by = Actor::Human { via: format!("surface {n}"), verified: true };
        async move { broker.answer(ask, accept(None), &by).await }
    });
    let results = futures_util::future::join_all(answers).await;
    let n_won = results.iter().filter(|it| it.is_ok()).count();
    let n_late = results
        .iter()
        .filter(|it| {
            matches!(it, Err(Error::Refused(Refusal::AlreadySettled { settlement: Some(_) })))
        })
        .count();
    assert_eq!((n_won, n_late), (1, 99), "{results:?}");
    at_rest(&here, id).await;
    assert_eq!(decisions(&agent), ["accept"]);
    here.stop().await;
    there.stop().await;
}

#[tokio::test]
async fn a_session_of_one_node_is_seen_and_answered_on_another() {
    let agent = asking("touch a");
    let world = MemoryWorld::new();
    let (here, there) = (broker(&agent, &world, "a").await, broker(&agent, &world, "b").await);
    let id = here.start(start("go")).await.unwrap();
    let ask = pending(&there, id).await;
    let listed = there.sessions(SessionFilter::default(), 10, None).await.unwrap();
    assert_eq!(listed.rows.iter().map(|it| it.session_id).collect::<Vec<_>>(), [id]);
    assert_eq!(listed.rows[0].node.as_deref(), Some("a"));
    there.answer(ask, accept(None), &human()).await.unwrap();
    assert_eq!(at_rest(&here, id).await.status, Status::Idle);
    here.stop().await;
    there.stop().await;
}

#[tokio::test]
async fn a_node_that_leaves_leaves_its_sessions_to_the_others() {
    let agent = asking("touch a");
    let world = MemoryWorld::new();
    let (here, there) = (broker(&agent, &world, "a").await, broker(&agent, &world, "b").await);
    let id = here.start(start("go")).await.unwrap();
    let ask = pending(&here, id).await;
    here.stop().await;
    let view = there.session(id).await.unwrap();
    assert_eq!(view.pending_request_count, 0, "{view:?}");
    let late = there.answer(ask, accept(None), &human()).await;
    assert!(matches!(late, Err(Error::Refused(Refusal::AlreadySettled { .. }))), "{late:?}");
    there.act(id, prompt("again"), &human()).await.unwrap();
    let ask = pending(&there, id).await;
    there.answer(ask, accept(None), &human()).await.unwrap();
    assert_eq!(at_rest(&there, id).await.turns, 2);
    let resumed = said(&agent, "thread/resume");
    assert_eq!(resumed.len(), 1, "the thread goes on, with its policy: {resumed:?}");
    assert_eq!(resumed[0]["params"]["approvalPolicy"], "untrusted");
    assert_eq!(resumed[0]["params"]["sandbox"], "workspace-write");
    there.stop().await;
}

#[tokio::test]
async fn an_agent_that_dies_in_mid_turn_loses_the_turn_and_the_next_prompt_goes_on() {
    let rules = [
        Rule::on_nth("turn/start", 1, vec![Action::BeginTurn, Action::KillSelf]),
        Rule::on_nth("thread/start", 2, vec![Action::Exit(3)]),
    ];
    let agent = FakeAgent::new(&rules).unwrap();
    let broker = broker(&agent, &MemoryWorld::new(), "a").await;
    let id = broker.start(start("go")).await.unwrap();
    let view = at_rest(&broker, id).await;
    assert_eq!(view.status, Status::Error);
    let turn = view.last_turn.unwrap();
    assert_eq!(turn.status, TurnStatus::Lost);
    assert!(turn.error.unwrap().message.contains("signal: 9"), "the cause is named");
    agent.set_rules(&[]).unwrap();
    broker.act(id, prompt("again"), &caller()).await.unwrap();
    let view = at_rest(&broker, id).await;
    assert_eq!((view.turns, view.status), (2, Status::Idle));
    assert_eq!(said(&agent, "thread/resume").len(), 1);
    broker.stop().await;
}

#[tokio::test]
async fn an_agent_that_is_not_there_or_will_not_start_is_a_clear_error() {
    let agent =
        FakeAgent::new(&[Rule::on("initialize", vec![Action::Stderr(20), Action::Exit(7)])])
            .unwrap();
    let world = MemoryWorld::new();
    let dying = broker(&agent, &world, "a").await;
    let id = dying.start(start("go")).await.unwrap();
    let view = at_rest(&dying, id).await;
    assert_eq!(view.status, Status::Error, "{view:?}");
    dying.stop().await;

    let mut config = config(&agent, &world, "b");
    config.agent.binary = Some("/nowhere/codex".into());
    let missing = Broker::open(config).await.unwrap();
    let id = missing.start(start("go")).await.unwrap();
    match missing.wait_ready(id, LONG).await {
        Err(Error::Agent(error)) => {
            assert_eq!(error.detail["code"], "APP_SERVER_START_FAILED");
            assert!(error.message.contains("/nowhere/codex"), "{}", error.message);
        }
        other => panic!("{other:?}"),
    }
    missing.stop().await;
}

#[tokio::test]
async fn three_sessions_share_a_process_and_one_interrupted_leaves_the_others() {
    let agent = asking("touch a");
    let broker = broker(&agent, &MemoryWorld::new(), "a").await;
    let mut ids = vec![];
    for _ in 0..3 {
        ids.push(broker.start(start("go")).await.unwrap());
    }
    let mut asks = vec![];
    for id in &ids {
        asks.push(pending(&broker, *id).await);
    }
    assert_eq!(broker.agent_pids().await.len(), 1);
    broker.act(ids[1], Intent::Interrupt, &caller()).await.unwrap();
    let view = at_rest(&broker, ids[1]).await;
    assert_eq!(view.last_turn.unwrap().status, TurnStatus::Interrupted);
    for n in [2, 0] {
        broker.answer(asks[n], accept(None), &caller()).await.unwrap();
        let view = at_rest(&broker, ids[n]).await;
        assert_eq!(view.last_turn.unwrap().status, TurnStatus::Completed);
    }
    broker.stop().await;
}

#[tokio::test]
async fn nobody_answers_and_the_agent_hears_that_it_was_no_refusal() {
    let agent = asking("touch a");
    let broker = broker(&agent, &MemoryWorld::new(), "a").await;
    let mut start = start("go");
    start.spec.patience = Patience::Ms(30);
    let id = broker.start(start).await.unwrap();
    at_rest(&broker, id).await;
    let log = log(&broker, id).await;
    assert!(log.contains(&"askSettled expired".to_owned()), "{log:?}");
    assert!(decisions(&agent).is_empty(), "an error is not a decision");
    let steered = said(&agent, "turn/steer");
    assert_eq!(steered.len(), 1, "{:#?}", agent.heard());
    let words = steered[0]["params"]["input"][0]["text"].as_str().unwrap();
    assert!(words.contains("no refusal") || words.contains("not a refusal"), "{words}");
    broker.stop().await;
}

#[tokio::test]
async fn a_session_can_be_interrupted_at_any_moment_and_goes_on() {
    let agent = FakeAgent::new(&[]).unwrap();
    let broker = broker(&agent, &MemoryWorld::new(), "a").await;
    for _ in 0..30 {
        let id = broker.start(start("go")).await.unwrap();
        match broker.act(id, Intent::Interrupt, &caller()).await {
            Ok(_) | Err(Error::Refused(Refusal::Idle)) => {}
            Err(other) => panic!("{other}"),
        }
        let view = at_rest(&broker, id).await;
        assert_ne!(view.last_turn.unwrap().status, TurnStatus::Failed);
        broker.act(id, prompt("again"), &caller()).await.unwrap();
        let view = at_rest(&broker, id).await;
        assert_eq!(view.last_turn.as_ref().unwrap().status, TurnStatus::Completed, "{view:#?}");
    }
    broker.stop().await;
}

#[tokio::test]
async fn the_feed_tells_everything_once_from_any_place_on() {
    let agent = FakeAgent::new(&[]).unwrap();
    let world = MemoryWorld::new();
    let broker = broker(&agent, &world, "a").await;
    let mut following = broker.feed(Some(Cursor(0))).await.unwrap();
    let (mut seen, mut ids) = (vec![], vec![]);
    for _ in 0..5 {
        ids.push(broker.start(start("go")).await.unwrap());
    }
    for id in &ids {
        at_rest(&broker, *id).await;
    }
    let head = broker.feed(None).await.unwrap().cursor();
    while following.cursor() < head {
        if let FeedItem::Event(entry) = following.next().await.unwrap() {
            seen.push(*entry);
        }
    }
    for id in ids {
        let of_session: Vec<_> =
            seen.iter().filter(|it| it.session_id == id).map(|it| it.envelope.clone()).collect();
        let log = broker.events(id, Seq(0), 1_000).await.unwrap().events;
        assert_eq!(of_session, log);
    }
    for n in [0, seen.len() / 2, seen.len() - 1] {
        let mut later = broker.feed(Some(seen[n].cursor)).await.unwrap();
        for expected in &seen[n + 1..] {
            let item = later.next().await.unwrap();
            assert_eq!(item, FeedItem::Event(Box::new(expected.clone())));
        }
        assert_eq!(later.next().await.unwrap(), FeedItem::Live(head));
    }
    broker.stop().await;
}

#[tokio::test]
async fn nobody_hears_of_an_items_text_before_the_item() {
    let ids = json!({"threadId": "$threadId", "turnId": "$turnId"});
    let about = |method: &str, name: &str, value: Value| {
        let mut params = ids.clone();
        params[name] = value;
        params["itemId"] = json!("m1");
        Action::Send(json!({"method": method, "params": params}))
    };
    let item = json!({"type": "agentMessage", "id": "m1", "text": ""});
    let rule = Rule::on(
        "turn/start",
        vec![
            Action::BeginTurn,
            about("item/started", "item", item),
            about("item/agentMessage/delta", "delta", json!("hello")),
            Action::Expect("turn/interrupt".to_owned()),
        ],
    );
    let agent = FakeAgent::new(&[rule]).unwrap();
    let broker = broker(&agent, &MemoryWorld::new(), "a").await;
    let mut feed = broker.feed(Some(Cursor(0))).await.unwrap();
    broker.start(start("go")).await.unwrap();
    let mut known = false;
    loop {
        match feed.next().await.unwrap() {
            FeedItem::Event(entry) => {
                known |= word(&entry.envelope.event) == "itemStarted agentMessage";
            }
            FeedItem::Delta(delta) => {
                assert!(known, "{delta:?}");
                assert_eq!(delta.text, "hello");
                break;
            }
            FeedItem::Live(_) | FeedItem::Reset(_) => {}
        }
    }
    broker.stop().await;
}

#[tokio::test]
async fn a_flood_of_deltas_is_live_only_and_loses_no_fact() {
    let rule = Rule::on(
        "turn/start",
        vec![
            Action::BeginTurn,
            Action::Flood(200_000),
            Action::Message("whole".to_owned()),
            Action::EndTurn("completed".to_owned()),
        ],
    );
    let agent = FakeAgent::new(&[rule]).unwrap();
    let broker = broker(&agent, &MemoryWorld::new(), "a").await;
    let id = broker.start(start("go")).await.unwrap();
    let view = at_rest(&broker, id).await;
    assert_eq!(view.last_turn.as_ref().unwrap().output.as_deref(), Some("whole"));
    assert!(view.last_seq.0 < 20, "deltas are not on record: {:?}", log(&broker, id).await);
    broker.stop().await;
}

#[tokio::test]
async fn a_broken_line_a_huge_line_and_an_unknown_request_do_not_stop_the_session() {
    let rule = Rule::on(
        "turn/start",
        vec![
            Action::BeginTurn,
            Action::Raw("[warn] this is no JSON\n".to_owned()),
            Action::RawBytes(b"{\"method\":\"\xff\xfe\"}\n".to_vec()),
            Action::BigLine(8_000_000),
            Action::Send(
                json!({"id": 0, "method": "made/up", "params": {"threadId": "$threadId"}}),
            ),
            Action::ExpectReply(json!(0)),
            Action::EndTurn("completed".to_owned()),
        ],
    );
    let agent = FakeAgent::new(&[rule]).unwrap();
    let broker = broker(&agent, &MemoryWorld::new(), "a").await;
    let id = broker.start(start("go")).await.unwrap();
    assert_eq!(at_rest(&broker, id).await.status, Status::Idle);
    let reply = agent.heard().unwrap().into_iter().find(|it| it["error"].is_object()).unwrap();
    assert_eq!(reply["error"]["code"], -32601);
    assert!(log(&broker, id).await.contains(&"requestRefused".to_owned()));
    broker.stop().await;
}

#[tokio::test]
async fn a_fork_is_a_session_of_its_own_and_a_closed_session_takes_nothing() {
    let agent = FakeAgent::new(&[]).unwrap();
    let broker = broker(&agent, &MemoryWorld::new(), "a").await;
    let id = broker.start(start("go")).await.unwrap();
    let source = at_rest(&broker, id).await;
    let fork = broker.fork(id, &caller()).await.unwrap();
    let view = broker.wait_ready(fork, LONG).await.unwrap();
    assert_ne!(view.thread_id, source.thread_id);
    assert_eq!(view.status, Status::Idle);
    let close = Intent::Close { reason: "done".to_owned() };
    broker.act(id, close.clone(), &caller()).await.unwrap();
    broker.act(id, close, &caller()).await.unwrap();
    let refused = broker.act(id, prompt("more"), &caller()).await;
    assert!(matches!(refused, Err(Error::Refused(Refusal::Closed { .. }))), "{refused:?}");
    broker.act(fork, prompt("more"), &caller()).await.unwrap();
    assert_eq!(at_rest(&broker, fork).await.turns, 1);
    broker.stop().await;
}

#[tokio::test]
async fn a_name_that_nobody_gave_is_no_session() {
    let agent = FakeAgent::new(&[]).unwrap();
    let broker = broker(&agent, &MemoryWorld::new(), "a").await;
    let nobody: SessionId = "sess_00000000000070008000000000000000".parse().unwrap();
    let refused = broker.act(nobody, prompt("hello"), &caller()).await;
    assert!(matches!(refused, Err(Error::NoSuchSession(_))), "{refused:?}");
    assert!(broker.sessions(SessionFilter::default(), 10, None).await.unwrap().rows.is_empty());
    broker.stop().await;
}

#[tokio::test]
async fn a_shared_key_is_the_same_on_all_nodes_and_another_by_another_name() {
    let (agent, world) = (asking("ls"), MemoryWorld::new());
    let first = broker(&agent, &world, "a").await;
    let second = broker(&agent, &world, "b").await;
    let key = first.shared_key("one").await.unwrap();
    assert_ne!(key, [0; 32]);
    assert_eq!(second.shared_key("one").await.unwrap(), key);
    assert_ne!(second.shared_key("two").await.unwrap(), key);
    first.stop().await;
    second.stop().await;
}

fn asking(command: &str) -> FakeAgent {
    let ask = Ask { command: command.to_owned(), ..Ask::default() };
    let actions =
        vec![Action::BeginTurn, Action::Ask(ask), Action::EndTurn("completed".to_owned())];
    FakeAgent::new(&[Rule::on("turn/start", actions)]).unwrap()
}

fn config(agent: &FakeAgent, world: &Arc<MemoryWorld>, node: &str) -> Config {
    let store = Memory::open(world, NodeId(node.to_owned()));
    // Tests run side by side, and brokers sweep what dead nodes of their store left.
    let store_name = format!("{}-{:p}", std::process::id(), Arc::as_ptr(world));
    let mut config = Config::new(store, &store_name, "test");
    config.agent.binary = Some(agent.executable());
    config
}

async fn broker(agent: &FakeAgent, world: &Arc<MemoryWorld>, node: &str) -> Broker {
    Broker::open(config(agent, world, node)).await.unwrap()
}

fn start(text: &str) -> Start {
    let spec = Spec {
        cwd: std::env::temp_dir().display().to_string(),
        approval_policy: Some(ApprovalPolicy::Untrusted),
        sandbox: Some(Sandbox::WorkspaceWrite),
        patience: Patience::Forever,
        ..Spec::default()
    };
    Start { spec, prompt: Some(Prompt::text(text)), by: caller() }
}

fn prompt(text: &str) -> Intent {
    Intent::Prompt { prompt: Prompt::text(text), when_busy: WhenBusy::Refuse }
}

fn caller() -> Actor {
    Actor::Caller { id: "test".to_owned() }
}

fn human() -> Actor {
    Actor::Human { via: "test".to_owned(), verified: true }
}

fn accept(digest: Option<String>) -> Said {
    Said { answer: Answer::plain(Decision::Accept), digest, reason: None, note: None }
}

async fn pending(broker: &Broker, id: SessionId) -> AskRef {
    let view = broker.wait_until(id, LONG, |it| it.pending_request_count > 0).await.unwrap();
    assert_eq!(view.pending_request_count, 1, "{view:?}");
    let filter = AskFilter { session: Some(id), pending: true, opened_by: None };
    broker.asks(filter, 10, None).await.unwrap().rows[0].request_id
}

async fn at_rest(broker: &Broker, id: SessionId) -> SessionView {
    let rests = |it: &SessionView| !matches!(it.status, Status::Running | Status::WaitingApproval);
    let view = broker.wait_until(id, LONG, rests).await.unwrap();
    assert!(rests(&view), "{view:?}");
    view
}

async fn log(broker: &Broker, id: SessionId) -> Vec<String> {
    let events = broker.events(id, Seq(0), 1_000).await.unwrap().events;
    events.iter().map(|it| word(&it.event)).collect()
}

/// The kind of an event, and what matters about it.
fn word(event: &Event) -> String {
    let json = serde_json::to_value(event).unwrap();
    let more = ["/kind", "/how/type", "/outcome/type"];
    let more = more.iter().find_map(|it| json.pointer(it)?.as_str());
    [json["type"].as_str(), more].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn said(agent: &FakeAgent, method: &str) -> Vec<Value> {
    agent.heard().unwrap().into_iter().filter(|it| it["method"] == method).collect()
}

fn decisions(agent: &FakeAgent) -> Vec<String> {
    let heard = agent.heard().unwrap();
    let decided = heard.iter().filter_map(|it| it["result"]["decision"].as_str());
    decided.map(str::to_owned).collect()
}
