//! What was posted to an owner that is gone: whoever comes next must not do it a second time.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;

use pilothouse::{
    Broker, Config,
    core::{
        Actor, Envelope, Event, FORMAT, Intent, Prompt, Seq, Session, SessionId, Spec, WhenBusy,
    },
    store::{Append, Conclusion, Memory, MemoryWorld, NodeId, Posted, Store},
};
use uuid::Uuid;

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

/// A session whose owner has just begun it.
async fn begin(store: &dyn Store, id: SessionId) {
    let (format, spec) = (FORMAT, Spec::default());
    let event = Event::Opened { format, spec, by: person(), fork_of: None };
    let at = "2026-01-01T00:00:00Z".parse().unwrap();
    let envelope = Envelope { seq: Seq(1), at, event };
    let mut session = Session::default();
    session.apply(&envelope);
    let claim = store.claim(id).await.unwrap();
    let append = Append {
        session: id,
        epoch: claim.epoch,
        expected: Seq(0),
        events: vec![envelope],
        view: session.view(id).unwrap(),
        snapshot: None,
    };
    store.append(append).await.unwrap();
}

fn person() -> Actor {
    Actor::Human { via: "cli".to_owned(), verified: true }
}
