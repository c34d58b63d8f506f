//! Rules in a broker: what is changed or taken back holds for the next ask.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use pilothouse::{
    Broker, Config, PolicySource, Start,
    core::{
        Actor, ApprovalPolicy, Intent, Patience, Prompt, Sandbox, SessionId, Settled, Spec, Status,
        WhenBusy,
    },
    rules::Rules,
    store::{AskFilter, Memory, MemoryWorld, NodeId},
};
use pilothouse_testkit::{
    FakeAgent,
    agent::{Action, Ask, Rule},
};

use crate::{command, rules};

const LONG: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_rule_that_is_taken_back_answers_no_more() {
    let agent = asking("make all");
    let current = Arc::new(Mutex::new(rules(&command("make", r#""make""#, "allow"))));
    let source = Arc::clone(&current);
    let broker = broker(
        &agent,
        PolicySource::new(move |scene| Arc::new(source.lock().unwrap().policy(scene))),
    )
    .await;
    let id = broker.start(start("go")).await.unwrap();
    rest(&broker, id).await;
    assert_eq!(settled(&broker, id).await, ["make"]);
    assert_eq!(decisions(&agent), ["accept"]);

    *current.lock().unwrap() = Rules::default();
    broker.act(id, again(), &caller()).await.unwrap();
    let waits = |it: &pilothouse::core::SessionView| it.pending_request_count > 0;
    assert!(waits(&broker.wait_until(id, LONG, waits).await.unwrap()));
    assert_eq!(decisions(&agent), ["accept"]);

    broker.act(id, Intent::Interrupt, &caller()).await.unwrap();
    rest(&broker, id).await;
    *current.lock().unwrap() = rules(&command("no make", r#""make""#, "refuse"));
    broker.act(id, again(), &caller()).await.unwrap();
    let done = |it: &pilothouse::core::SessionView| it.turns == 3 && it.status == Status::Idle;
    assert!(done(&broker.wait_until(id, LONG, done).await.unwrap()));
    assert_eq!(settled(&broker, id).await, ["no make", "make"]);
    assert_eq!(decisions(&agent), ["accept", "decline"]);
    broker.stop().await;
}

#[tokio::test]
async fn a_rule_holds_in_the_directory_of_the_session_and_in_no_other() {
    let agent = asking("make all");
    let here = tempfile::tempdir().unwrap();
    let text = format!(
        "{}workspace = {:?}\n",
        command("make", r#""make""#, "allow"),
        here.path().display().to_string()
    );
    let broker = broker(&agent, rules(&text).into()).await;
    let elsewhere = broker.start(start("go")).await.unwrap();
    let waits = |it: &pilothouse::core::SessionView| it.pending_request_count > 0;
    assert!(waits(&broker.wait_until(elsewhere, LONG, waits).await.unwrap()));
    assert!(settled(&broker, elsewhere).await.is_empty());
    broker.stop().await;
}

#[tokio::test]
async fn what_is_explained_of_a_line_is_what_happens_when_an_agent_asks() {
    let reads = rules("[[rules]]\nname = \"reads\"\nreads_only = true\noutcome = \"allow\"\n");
    for (line, is_allowed) in [
        ("ls", true),
        ("ls | head -n 5", true),
        ("/bin/bash -lc ls", false),
        ("bash -c 'ls | head'", false),
        ("/bin/bash -lc 'bash -c ls'", false),
        ("./bash -c ls", false),
        ("/tmp/w/bash -lc 'cargo --version'", false),
        ("bin/sh -c ls", false),
        ("bash -lc ls x", false),
        ("env bash -c ls", false),
    ] {
        let explained = crate::said(&reads, line);
        assert_eq!(explained == "allowed by reads", is_allowed, "{line}: {explained}");
        let agent = asking(line);
        let broker = broker(&agent, reads.clone().into()).await;
        let id = broker.start(start("go")).await.unwrap();
        if is_allowed {
            rest(&broker, id).await;
        } else {
            let waits = |it: &pilothouse::core::SessionView| it.pending_request_count > 0;
            assert!(waits(&broker.wait_until(id, LONG, waits).await.unwrap()), "{line}");
        }
        let expected: &[&str] = if is_allowed { &["reads"] } else { &[] };
        assert_eq!(settled(&broker, id).await, expected, "{line}");
        broker.stop().await;
    }
}

fn asking(command: &str) -> FakeAgent {
    let ask = Ask { command: command.to_owned(), ..Ask::default() };
    let actions =
        vec![Action::BeginTurn, Action::Ask(ask), Action::EndTurn("completed".to_owned())];
    FakeAgent::new(&[Rule::on("turn/start", actions)]).unwrap()
}

async fn broker(agent: &FakeAgent, policy: PolicySource) -> Broker {
    let world = MemoryWorld::new();
    let store = Memory::open(&world, NodeId("a".to_owned()));
    let store_name = format!("rules-{}-{:p}", std::process::id(), Arc::as_ptr(&world));
    let mut config = Config::new(store, &store_name, "test");
    config.agent.binary = Some(agent.executable());
    config.policy = policy;
    Broker::open(config).await.unwrap()
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

fn again() -> Intent {
    Intent::Prompt { prompt: Prompt::text("again"), when_busy: WhenBusy::Refuse }
}

fn caller() -> Actor {
    Actor::Caller { id: "c".to_owned() }
}

async fn rest(broker: &Broker, id: SessionId) {
    let rests = |it: &pilothouse::core::SessionView| it.status == Status::Idle && it.turns > 0;
    let view = broker.wait_until(id, LONG, rests).await.unwrap();
    assert!(rests(&view), "{view:?}");
}

/// The rules that settled the session's asks, the last one first.
async fn settled(broker: &Broker, id: SessionId) -> Vec<String> {
    let filter = AskFilter { session: Some(id), ..AskFilter::default() };
    let asks = broker.asks(filter, 10, None).await.unwrap().rows;
    let mut rules = vec![];
    for how in asks.into_iter().filter_map(|it| Some(it.settlement?.how)) {
        if let Settled::Answered { by: Actor::Policy { rule }, .. } = how {
            rules.push(rule);
        }
    }
    rules
}

fn decisions(agent: &FakeAgent) -> Vec<String> {
    let heard = agent.heard().unwrap();
    let decided = heard.iter().filter_map(|it| it["result"]["decision"].as_str());
    decided.map(str::to_owned).collect()
}
