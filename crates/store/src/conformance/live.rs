//! What isn't kept: deltas, and who is there.

use std::time::Duration;

use pilothouse_core::Stream;
use tokio::{sync::broadcast::error::RecvError, time};

use super::{
    PATIENCE, World,
    script::{Writer, fresh},
    wait,
};
use crate::{LiveDelta, Nudge, Presence, Store};

fn delta(text: &str) -> LiveDelta {
    let (session_id, kind) = (fresh(), Stream::Text);
    LiveDelta { session_id, item_id: "item".to_owned(), kind, text: text.to_owned() }
}

/// Publishes until a node that wants deltas gets them.
async fn until_known(from: &dyn Store, to: &dyn Store) {
    to.set_interest(true).await.unwrap();
    let mut hints = to.subscribe();
    let arrived = async {
        loop {
            from.publish(delta("are you there?"));
            let nudge = time::timeout(Duration::from_millis(50), async {
                while !matches!(hints.recv().await.unwrap(), Nudge::Delta(_)) {}
            });
            if nudge.await.is_ok() {
                break;
            }
        }
    };
    time::timeout(PATIENCE, arrived).await.expect("the interest became known");
}

/// And those on the same node, but nobody else.
pub async fn deltas_reach_those_who_care(world: &dyn World) {
    let (from, to, other) = (world.open(), world.open(), world.open());
    until_known(&*from, &*to).await;
    let mut hints = [from.subscribe(), to.subscribe()];
    let mut at_other = other.subscribe();
    let sent = delta("a piece");
    from.publish(sent.clone());
    for hints in &mut hints {
        wait(hints, |it| matches!(it, Nudge::Delta(it) if **it == sent)).await;
    }
    // What comes later has come, and no delta before it.
    Writer::open(&from, "a", "one").await;
    let nudge = wait(&mut at_other, |it| matches!(it, Nudge::Feed(_) | Nudge::Delta(_))).await;
    assert!(matches!(nudge, Nudge::Feed(_)), "{nudge:?}");
    let bytes = world.at_rest();
    assert!(!bytes.windows(7).any(|it| it == b"a piece"), "it is never kept");
}

/// In one piece or in several.
pub async fn a_long_delta_arrives_whole(world: &dyn World) {
    let (from, to) = (world.open(), world.open());
    until_known(&*from, &*to).await;
    let mut hints = to.subscribe();
    let text = "\u{1f980}\"\\\u{1}".repeat(20_000);
    let sent = delta(&text);
    from.publish(sent.clone());
    let mut arrived = String::new();
    while arrived.len() < text.len() {
        let nudge = wait(&mut hints, |it| matches!(it, Nudge::Delta(_))).await;
        let Nudge::Delta(piece) = nudge else { unreachable!("it was waited for") };
        if piece.session_id == sent.session_id {
            assert_eq!((&piece.item_id, piece.kind), (&sent.item_id, sent.kind));
            arrived.push_str(&piece.text);
        }
    }
    assert_eq!(arrived, text);
}

/// Some deltas may be lost then; the nudge may not.
pub async fn a_flood_of_deltas_hides_no_event(world: &dyn World) {
    let (from, to) = (world.open(), world.open());
    until_known(&*from, &*to).await;
    let mut hints = to.subscribe();
    let mut writer = Writer::open(&from, "a", "one").await;
    for _ in 0..5 {
        for _ in 0..2_000 {
            from.publish(delta("x"));
        }
        let last = *writer.remark(1).await.last().unwrap();
        let seen = async {
            while to.head().await.unwrap() < last {
                hints.recv().await.ok();
            }
            // A subscriber that lags reads again; one that keeps up is told.
            loop {
                match hints.recv().await {
                    Ok(Nudge::Feed(_)) | Err(RecvError::Lagged(_)) => break,
                    Ok(_) => {}
                    Err(RecvError::Closed) => panic!("the store closed"),
                }
            }
        };
        time::timeout(PATIENCE, seen).await.expect("the event was told");
    }
}

/// As it changes.
pub async fn presence_is_seen_by_others(world: &dyn World) {
    let (first, second) = (world.open(), world.open());
    let mut hints = second.subscribe();
    let presence = Presence {
        program: "serve".to_owned(),
        human_surfaces: 2,
        console: Some("http://127.0.0.1:1".to_owned()),
    };
    first.set_presence(presence.clone()).await.unwrap();
    wait(&mut hints, |it| matches!(it, Nudge::Presence)).await;
    let nodes = second.nodes().await.unwrap();
    assert_eq!(nodes.len(), 2);
    let node = nodes.iter().find(|it| it.node == *first.node()).unwrap();
    assert!(node.alive);
    assert_eq!((node.pid, &node.presence), (std::process::id(), &presence));
    let third = world.open();
    wait(&mut hints, |it| matches!(it, Nudge::Presence)).await;
    assert_eq!(second.nodes().await.unwrap().len(), 3);
    third.close().await.unwrap();
    wait(&mut hints, |it| matches!(it, Nudge::Presence)).await;
}

/// And not longer.
pub async fn the_dead_are_listed_while_they_own_something(world: &dyn World) {
    let (first, second, third) = (world.open(), world.open(), world.open());
    let id = Writer::open(&first, "a", "one").await.id;
    let name = first.node().clone();
    world.kill(first);
    world.kill(third);
    let nodes = second.nodes().await.unwrap();
    assert_eq!(nodes.len(), 2, "{nodes:?}");
    assert!(nodes.iter().any(|it| it.node == name && !it.alive));
    second.claim(id).await.unwrap();
    assert_eq!(second.nodes().await.unwrap().len(), 1);
}
