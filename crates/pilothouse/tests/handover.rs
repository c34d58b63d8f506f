//! What was posted to an owner that is gone: whoever comes next must not do it a second time.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{sync::Arc, time::Duration};

use pilothouse::{
    Broker, Config, Said,
    core::{
        Actor, Answer, Ask, AskId, AskRef, Decision, Envelope, Event, FORMAT, Facts, Intent, Offer,
        OnExpiry, Prompt, Reach, Seq, Session, SessionId, Spec, Status, Subject, TurnId,
        TurnStatus, WhenBusy,
    },
    store::{Append, Conclusion, Memory, MemoryWorld, NodeId, Posted, Store},
};
use uuid::Uuid;

const LONG: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_prompt_that_a_dead_owner_may_have_carried_out_is_refused_and_not_carried_out_again() {
    let world = MemoryWorld::new();
    let node = |name: &str| Memory::open(&world, NodeId(name.to_owned()));
    let (old, other) = (node("old"), node("other"));
    let (id, posted) = (SessionId(Uuid::from_u128(1)), Uuid::from_u128(2));
    begin(&*old, id).await;
    let prompt =
        Intent::Prompt { prompt: Prompt::text("pay the bill"), when_busy: WhenBusy::Queue };
    let wanted = Posted { id: posted, session: id, intent: prompt, by: person(), secret: false };
    other.post(wanted).await.unwrap();
    world.kill(&NodeId("old".to_owned()));

    let store: Arc<dyn Store> = node("next");
    let next = Broker::open(Config::new(store, "handover", "test")).await.unwrap();
    next.act(id, Intent::Rename { title: "mine".to_owned() }, &person()).await.unwrap();
    let conclusion = other.conclusion(posted).await.unwrap();
    assert!(matches!(conclusion, Some(Conclusion::Failed(_))), "{conclusion:?}");
    next.stop().await;
    let log = other.read(id, Seq(0), 100).await.unwrap().events;
    let prompted = |it: &Envelope| {
        matches!(it.event, Event::TurnRequested { .. } | Event::PromptQueued { .. })
    };
    assert!(!log.iter().any(prompted), "{log:?}");
}

#[tokio::test]
async fn what_a_dead_node_left_unfinished_is_put_on_record_by_the_next() {
    let world = MemoryWorld::new();
    let node = |name: &str| Memory::open(&world, NodeId(name.to_owned()));
    let old = node("old");
    let (turn, question) = (SessionId(Uuid::from_u128(1)), SessionId(Uuid::from_u128(2)));
    let at_work = vec![
        Event::Attached { thread: "t".to_owned(), facts: Facts::default() },
        Event::TurnRequested {
            turn: TurnId(1),
            prompt: Prompt::text("go"),
            by: person(),
            queued: false,
        },
    ];
    record(&*old, turn, Spec::default(), at_work).await;
    let asked = vec![Event::AskRaised { ask: Box::new(choice()) }];
    record(&*old, question, Spec { agentless: true, ..Spec::default() }, asked).await;
    world.kill(&NodeId("old".to_owned()));

    let store: Arc<dyn Store> = node("next");
    let next = Broker::open(Config::new(store, "reconcile", "test")).await.unwrap();
    let lost =
        next.wait_until(turn, LONG, |it| it.status == Status::Error && !it.attached).await.unwrap();
    assert_eq!(lost.last_turn.unwrap().status, TurnStatus::Lost);
    // What a caller asked waits on, and the next node answers for it.
    let ask = AskRef { session: question, ask: AskId(1) };
    let decline = Answer::plain(Decision::Decline);
    let said = Said { answer: decline, digest: None, reason: None, note: None };
    next.answer(ask, said, &person()).await.unwrap();
    next.stop().await;
}

fn choice() -> Ask {
    let subject = Subject::Question { questions: vec![] };
    Ask {
        id: AskId(1),
        key: "k".to_owned(),
        turn: None,
        item: None,
        digest: subject.digest(),
        subject,
        offers: vec![Offer::plain(Decision::Decline, Reach::Once)],
        reason: None,
        params: serde_json::Value::Null,
        agent: None,
        asked_by: Some(Actor::Caller { id: "mcp-1".to_owned() }),
        raised_at: "2026-01-01T00:00:00Z".parse().unwrap(),
        expires_at: None,
        on_expiry: OnExpiry::default(),
    }
}

/// A session whose owner has just begun it.
async fn begin(store: &dyn Store, id: SessionId) {
    record(store, id, Spec::default(), vec![]).await;
}

/// A session that its owner brought so far.
async fn record(store: &dyn Store, id: SessionId, spec: Spec, more: Vec<Event>) {
    let opened = Event::Opened { format: FORMAT, spec, by: person(), fork_of: None };
    let mut session = Session::default();
    let mut events = vec![];
    for (seq, event) in (1..).zip([opened].into_iter().chain(more)) {
        let at = "2026-01-01T00:00:00Z".parse().unwrap();
        let envelope = Envelope { seq: Seq(seq), at, event };
        session.apply(&envelope);
        events.push(envelope);
    }
    let claim = store.claim(id).await.unwrap();
    let append = Append {
        session: id,
        epoch: claim.epoch,
        expected: Seq(0),
        events,
        view: session.view(id).unwrap(),
        snapshot: None,
    };
    store.append(append).await.unwrap();
}

fn person() -> Actor {
    Actor::Human { via: "cli".to_owned(), verified: true }
}
