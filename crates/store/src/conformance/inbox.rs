//! Intents on their way to the owner, and what became of them.

use std::sync::Arc;

use pilothouse_core::{Actor, AskId, Intent, Refusal, Seq, SessionId};
use uuid::Uuid;

use super::{
    World,
    script::{Writer, chosen, fresh, secret_question, settled},
    wait,
};
use crate::{Conclusion, Nudge, Posted, StoreError};

fn posted(session: SessionId, title: &str) -> Posted {
    Posted {
        id: Uuid::now_v7(),
        session,
        intent: Intent::Rename { title: title.to_owned() },
        by: Actor::Human { via: "console".to_owned(), verified: true },
        secret: false,
    }
}

/// The whole way there and back.
pub async fn an_intent_reaches_the_owner_and_its_end_the_poster(world: &dyn World) {
    let (owner, poster) = (world.open(), world.open());
    let (mut at_owner, mut at_poster) = (owner.subscribe(), poster.subscribe());
    let writer = Writer::open(&owner, "a", "one").await;
    let sent = [posted(writer.id, "1"), posted(writer.id, "2")];
    for it in &sent {
        poster.post(it.clone()).await.unwrap();
        wait(&mut at_owner, |it| matches!(it, Nudge::Inbox)).await;
    }
    assert_eq!(owner.inbox().await.unwrap(), sent, "oldest first");
    assert_eq!(poster.inbox().await.unwrap(), []);
    assert_eq!(poster.conclusion(sent[0].id).await.unwrap(), None);
    for (it, conclusion) in
        sent.iter().zip([Conclusion::Done(Seq(7)), Conclusion::Refused(Refusal::Busy)])
    {
        owner.conclude(it.id, conclusion.clone()).await.unwrap();
        wait(&mut at_poster, |nudge| matches!(nudge, Nudge::Concluded(id) if *id == it.id)).await;
        assert_eq!(poster.conclusion(it.id).await.unwrap(), Some(conclusion));
    }
    assert_eq!(owner.inbox().await.unwrap(), []);
}

/// If the first one died before it concluded.
pub async fn an_intent_waits_for_the_next_owner(world: &dyn World) {
    let (first, second) = (world.open(), world.open());
    let id = Writer::open(&first, "a", "one").await.id;
    let sent = posted(id, "1");
    second.post(sent.clone()).await.unwrap();
    assert_eq!(first.inbox().await.unwrap().len(), 1);
    world.kill(first);
    let mut hints = second.subscribe();
    assert_eq!(second.inbox().await.unwrap(), []);
    second.claim(id).await.unwrap();
    wait(&mut hints, |it| matches!(it, Nudge::Inbox)).await;
    assert_eq!(second.inbox().await.unwrap(), [sent]);
}

/// So that who wanted it claims the session.
pub async fn an_intent_for_nobody_is_refused(world: &dyn World) {
    let (first, second) = (world.open(), world.open());
    let refused = second.post(posted(fresh(), "1")).await;
    assert!(matches!(refused, Err(StoreError::NotFound(_))), "{refused:?}");
    let writer = Writer::open(&first, "a", "one").await;
    let (id, epoch) = (writer.id, writer.claim.epoch);
    first.release(id, epoch).await.unwrap();
    let refused = second.post(posted(id, "1")).await;
    assert!(matches!(refused, Err(StoreError::NoOwner(it)) if it == id), "{refused:?}");
    first.claim(id).await.unwrap();
    drop(writer);
    world.kill(first);
    for secret in [false, true] {
        let refused = second.post(Posted { secret, ..posted(id, "1") }).await;
        assert!(matches!(refused, Err(StoreError::NoOwner(it)) if it == id), "{refused:?}");
    }
}

/// However often it is sent; and what became of it is what was said first.
pub async fn an_intent_is_there_once(world: &dyn World) {
    let (owner, poster) = (world.open(), world.open());
    let writer = Writer::open(&owner, "a", "one").await;
    let sent = posted(writer.id, "1");
    for _ in 0..3 {
        poster.post(sent.clone()).await.unwrap();
    }
    assert_eq!(owner.inbox().await.unwrap().len(), 1);
    owner.conclude(sent.id, Conclusion::Done(Seq(1))).await.unwrap();
    owner.conclude(sent.id, Conclusion::Failed("late".to_owned())).await.unwrap();
    poster.post(sent.clone()).await.unwrap();
    assert_eq!(owner.inbox().await.unwrap(), []);
    assert_eq!(poster.conclusion(sent.id).await.unwrap(), Some(Conclusion::Done(Seq(1))));
}

/// Nor anybody else.
pub async fn a_secret_reaches_the_owner_and_no_disk(world: &dyn World) {
    let (owner, poster, other) = (world.open(), world.open(), world.open());
    let mut writer = Writer::open(&owner, "a", "one").await;
    let ask = writer.ask(secret_question()).await;
    let secret = "xyzzy-plugh-12345";
    let intent =
        Intent::Answer { ask, answer: chosen(secret), digest: None, reason: None, note: None };
    let sent = Posted { secret: true, intent, ..posted(writer.id, "") };
    let (mut at_owner, mut at_other) = (owner.subscribe(), other.subscribe());
    poster.post(sent.clone()).await.unwrap();
    let nudge = wait(&mut at_owner, |it| matches!(it, Nudge::Secret(_))).await;
    assert!(matches!(nudge, Nudge::Secret(it) if *it == sent));
    assert_eq!(owner.inbox().await.unwrap(), []);
    // To itself it is the same.
    owner.post(sent.clone()).await.unwrap();
    wait(&mut at_owner, |it| matches!(it, Nudge::Secret(_))).await;
    let mut at_poster = poster.subscribe();
    writer.record(vec![settled(AskId(ask.0), pilothouse_core::Answer::Redacted)]).await.unwrap();
    owner.conclude(sent.id, Conclusion::Done(writer.session.seq())).await.unwrap();
    wait(&mut at_poster, |it| matches!(it, Nudge::Concluded(id) if *id == sent.id)).await;
    assert!(poster.conclusion(sent.id).await.unwrap().is_some());
    let leak = wait(&mut at_other, |it| matches!(it, Nudge::Feed(_) | Nudge::Secret(_))).await;
    assert!(matches!(leak, Nudge::Feed(_)), "{leak:?}");
    let bytes = world.at_rest();
    let kept = |text: &str| bytes.windows(text.len()).any(|it| it == text.as_bytes());
    assert!(kept("What is the word?"), "this looks at the right place");
    assert!(!kept(secret));
    drop((Arc::clone(&owner), poster));
}
