//! One owner at a time, and who may become it.

use std::sync::Arc;

use pilothouse_core::Seq;
use tokio::task::JoinSet;

use super::{
    World,
    script::{Writer, fresh, noted},
};
use crate::{Epoch, NodeId, StoreError};

/// A session is made by claiming it.
pub async fn a_new_session_begins_with_the_first_epoch(world: &dyn World) {
    let node = world.open();
    let id = fresh();
    assert_eq!(node.owner(id).await.unwrap(), None);
    let claim = node.claim(id).await.unwrap();
    assert_eq!((claim.epoch, claim.last_seq), (Epoch(1), Seq(0)));
    assert_eq!(node.owner(id).await.unwrap(), Some((node.node().clone(), true)));
    assert_eq!(node.session(id).await.unwrap(), None, "nothing happened in it yet");
    // To claim what one owns is to begin anew.
    assert_eq!(node.claim(id).await.unwrap().epoch, Epoch(2));
}

/// And again once it has given the session up.
pub async fn a_session_is_refused_while_its_owner_lives(world: &dyn World) {
    let (first, second) = (world.open(), world.open());
    assert_ne!(first.node(), second.node());
    let writer = Writer::open(&first, "a", "one").await;
    match second.claim(writer.id).await {
        Err(StoreError::Held { session, node }) => {
            assert_eq!((session, &node), (writer.id, first.node()));
        }
        other => panic!("{other:?}"),
    }
    first.release(writer.id, writer.claim.epoch).await.unwrap();
    assert_eq!(second.claim(writer.id).await.unwrap().epoch, Epoch(2));
}

/// At once: nothing has to run out.
pub async fn a_dead_owners_session_can_be_claimed(world: &dyn World) {
    let (first, second) = (world.open(), world.open());
    let mut writer = Writer::open(&first, "a", "one").await;
    writer.remark(3).await;
    let (id, name) = (writer.id, first.node().clone());
    drop(writer);
    world.kill(first);
    assert_eq!(second.owner(id).await.unwrap(), Some((name, false)));
    let claim = second.claim(id).await.unwrap();
    assert_eq!((claim.epoch, claim.last_seq), (Epoch(2), Seq(4)));
    assert_eq!(second.owner(id).await.unwrap(), Some((second.node().clone(), true)));
}

/// The others are told who did.
pub async fn of_many_claims_at_once_one_wins(world: &dyn World) {
    let nodes: Vec<_> = (0..4).map(|_| world.open()).collect();
    for _ in 0..10 {
        let id = fresh();
        let mut claims = JoinSet::new();
        for node in &nodes {
            let node = Arc::clone(node);
            claims.spawn(async move { node.claim(id).await.is_ok() });
        }
        assert_eq!(claims.join_all().await.into_iter().filter(|it| *it).count(), 1);
    }
}

/// Whatever it believes.
pub async fn a_former_owner_is_fenced(world: &dyn World) {
    let (first, second) = (world.open(), world.open());
    let mut old = Writer::open(&first, "a", "one").await;
    first.release(old.id, old.claim.epoch).await.unwrap();
    let mut new = Writer::claim(&second, old.id).await;
    let refused = old.record(vec![noted("mine")]).await;
    assert!(matches!(refused, Err(StoreError::Fenced(id)) if id == old.id), "{refused:?}");
    // Its claim is over: giving it up again gives up nothing.
    first.release(old.id, old.claim.epoch).await.unwrap();
    new.remark(1).await;
    // The right number in the wrong hands.
    old.claim = new.claim;
    old.session = new.session.clone();
    assert!(matches!(old.record(vec![noted("mine")]).await, Err(StoreError::Fenced(_))));
}

/// Until it is claimed again.
pub async fn a_given_up_session_is_free_and_takes_nothing(world: &dyn World) {
    let node = world.open();
    let mut writer = Writer::open(&node, "a", "one").await;
    node.release(writer.id, Epoch(7)).await.unwrap();
    writer.remark(1).await;
    node.release(writer.id, writer.claim.epoch).await.unwrap();
    assert_eq!(node.owner(writer.id).await.unwrap(), None);
    assert!(matches!(writer.record(vec![noted("no")]).await, Err(StoreError::Fenced(_))));
    // Nor is a session that never was.
    writer.id = fresh();
    assert!(matches!(writer.record(vec![noted("no")]).await, Err(StoreError::Fenced(_))));
}

/// Twice is as good as once.
pub async fn a_node_that_closes_gives_up_its_sessions_and_says_no_more(world: &dyn World) {
    let (first, second) = (world.open(), world.open());
    let writer = Writer::open(&first, "a", "one").await;
    let mut hints = first.subscribe();
    first.close().await.unwrap();
    first.close().await.unwrap();
    assert!(matches!(first.head().await, Err(StoreError::Shut)));
    assert!(matches!(first.claim(fresh()).await, Err(StoreError::Shut)));
    while hints.recv().await.is_ok() {}
    assert!(first.subscribe().recv().await.is_err());
    assert_eq!(second.owner(writer.id).await.unwrap(), None);
    assert!(second.nodes().await.unwrap().iter().all(|it| it.node != *first.node()));
    second.claim(writer.id).await.unwrap();
}

/// Also for one that never heard of it.
pub async fn a_node_is_alive_until_it_ends(world: &dyn World) {
    let (first, second, third) = (world.open(), world.open(), world.open());
    let names = [&first, &second, &third].map(|it| it.node().clone());
    for node in [&first, &second, &third] {
        for name in &names {
            assert!(node.is_alive(name.clone()).await.unwrap(), "{name}");
        }
    }
    assert!(!first.is_alive(NodeId("nobody".to_owned())).await.unwrap());
    world.kill(second);
    third.close().await.unwrap();
    let [_, killed, closed] = names;
    assert!(!first.is_alive(killed).await.unwrap());
    assert!(!first.is_alive(closed).await.unwrap());
    assert!(matches!(third.is_alive(third.node().clone()).await, Err(StoreError::Shut)));
}
