//! Raising a caller's ask, and waiting for what becomes of it.

use std::time::Duration;

use pilothouse::{
    Broker, Config,
    core::{
        Actor, Ask, AskId, AskState, Decision, Part, Policy, Rule, RuleOutcome, Settled,
        Settlement, Subject,
    },
    store::{Memory, MemoryWorld, NodeId},
};

use crate::desk::{LONG, broker, caller, command, decide, desk, request};

#[tokio::test]
async fn what_is_asked_again_while_it_waits_is_the_same_ask_and_afterwards_another() {
    let broker = broker(&MemoryWorld::new(), "a").await;
    let desk = desk(&broker).await;
    let raise = |key: &'static str| broker.raise(desk, request(key, command("touch a")), &WHO);
    let first = raise("a").await.unwrap();
    let other = raise("b").await.unwrap();
    assert_eq!((first.ask, other.ask), (AskId(1), AskId(2)));
    for _ in 0..40 {
        raise("c").await.unwrap();
        let last = broker.asks(pilothouse::store::AskFilter::default(), 1, None).await.unwrap();
        decide(&broker, last.rows[0].request_id, Decision::Decline).await;
    }
    assert_eq!(raise("a").await.unwrap(), first, "far back in the log, and still waiting");
    decide(&broker, first, Decision::Decline).await;
    assert_eq!(raise("a").await.unwrap().ask, AskId(43));
    broker.stop().await;
}

#[tokio::test]
async fn an_ask_that_a_rule_answered_at_once_has_its_name_too() {
    let store = Memory::open(&MemoryWorld::new(), NodeId("a".to_owned()));
    let mut config = Config::new(store, "commands", "test");
    let rule = Rule::new("no-touching", RuleOutcome::Refuse, |_, _| true);
    config.policy = Policy::of(vec![rule]).into();
    let broker = Broker::open(config).await.unwrap();
    let desk = desk(&broker).await;
    let ask = broker.raise(desk, request("a", command("touch a")), &WHO).await.unwrap();
    let view = broker.wait_settled(ask, LONG).await.unwrap();
    assert!(
        matches!(&view.settlement, Some(Settlement { how: Settled::Answered { by, .. }, .. })
            if *by == Actor::Policy { rule: "no-touching".to_owned() }),
        "{view:?}"
    );
    broker.stop().await;
}

#[tokio::test]
async fn whoever_waits_for_an_ask_hears_of_its_end_on_whichever_node_it_comes() {
    let world = MemoryWorld::new();
    let (here, there) = (broker(&world, "a").await, broker(&world, "b").await);
    let desk = desk(&here).await;
    // The desk's owner is the other node.
    let ask = there.raise(desk, request("a", command("touch a")), &WHO).await.unwrap();
    let view = there.wait_settled(ask, Duration::from_millis(20)).await.unwrap();
    assert_eq!(view.state, AskState::Pending);
    let (view, ()) =
        tokio::join!(there.wait_settled(ask, LONG), decide(&here, ask, Decision::Accept));
    assert_eq!(view.unwrap().state, AskState::Settled);
    here.stop().await;
    there.stop().await;
}

static WHO: std::sync::LazyLock<Actor> = std::sync::LazyLock::new(caller);

#[tokio::test]
async fn a_rule_of_the_program_says_yes_unless_one_of_the_settings_wants_a_person() {
    let store = Memory::open(&MemoryWorld::new(), NodeId("a".to_owned()));
    let mut config = Config::new(store, "commands", "test");
    let about_date = |ask: &Ask, _: &Part| matches!(&ask.subject, Subject::Command { command, .. } if command == "date");
    let rule = Rule::new("look-at-dates", RuleOutcome::Ask, about_date);
    config.policy = Policy::of(vec![rule]).into();
    let broker = Broker::open(config).await.unwrap();
    let desk = desk(&broker).await;
    for (line, expected) in [("ls", AskState::Settled), ("date", AskState::Pending)] {
        let ask = broker.raise(desk, request(line, command(line)), &WHO).await.unwrap();
        let view = broker.allow_command(ask, "reads-only").await.unwrap();
        assert_eq!(view.state, expected, "{line}");
        if let Some(Settlement { how, .. }) = view.settlement {
            assert!(
                matches!(&how, Settled::Answered { by, .. }
                    if *by == Actor::Policy { rule: "reads-only".to_owned() }),
                "{how:?}"
            );
        }
    }
    // What a person said already is not said again.
    let ask = broker.raise(desk, request("b", command("ls")), &WHO).await.unwrap();
    decide(&broker, ask, Decision::Decline).await;
    let view = broker.allow_command(ask, "reads-only").await.unwrap();
    assert!(format!("{:?}", view.settlement).contains("Decline"), "{view:?}");
    broker.stop().await;
}
